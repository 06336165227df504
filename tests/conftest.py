"""What all tests share."""

import signal

import pytest
from hypothesis import settings

from tablut import compilation

# Read by the checker alone: it is full of mistakes.
collect_ignore = ["typing/user_code.py"]

# A test asks whether something is right, not whether the machine is quick today.
settings.register_profile("unhurried", deadline=None)
# Twenty times the examples (`tests.support.effort`): pytest --hypothesis-profile=thorough
settings.register_profile("thorough", deadline=None, max_examples=2000)
settings.load_profile("unhurried")


@pytest.fixture(autouse=True, scope="session")
def _own_cache(tmp_path_factory):
    """Keep what is read from afar out of the user's folder."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TABLUT_CACHE_DIR", str(tmp_path_factory.mktemp("segments")))
        yield


@pytest.fixture(autouse=True, scope="session")
def _hearing_interrupts():
    """Let this process and those that it starts hear interrupts, which a shell may have told it to ignore."""
    ignored = signal.getsignal(signal.SIGINT) == signal.SIG_IGN
    if ignored:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    if ignored:
        signal.signal(signal.SIGINT, signal.SIG_IGN)


@pytest.fixture(autouse=True)
def _compiling_in_silence():
    """Keep standard error free of what depends on the state of the kernel cache; its own tests run in processes."""
    with compilation.quiet():
        yield

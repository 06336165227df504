"""What all tests share."""

import pytest
from hypothesis import settings

from tablut import compilation

# A test asks whether something is right, not whether the machine is quick today.
settings.register_profile("unhurried", deadline=None)
settings.load_profile("unhurried")


@pytest.fixture(autouse=True)
def _compiling_in_silence():
    """Keep standard error free of what depends on the state of the kernel cache; its own tests run in processes."""
    with compilation.quiet():
        yield

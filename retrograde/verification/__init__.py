"""Verification: every stored value proved anew out of those of its children, and games played out by the naive rules.

`verify` is the front door. It shares the move generator and the tier index with the
solver, and none of its passes.
"""

from typing import TYPE_CHECKING

from tablut.lazy import lazy_exports

if TYPE_CHECKING:
    from retrograde.verification.findings import Verification
    from retrograde.verification.verifying import verify
else:
    __getattr__, __dir__ = lazy_exports(
        __name__,
        {"Verification": "retrograde.verification.findings", "verify": "retrograde.verification.verifying"},
    )

__all__ = ["Verification", "verify"]

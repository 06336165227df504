"""One sealed store on a file system: folders with one writer, records with digests, and the files they bind."""

from typing import TYPE_CHECKING

from tablut.lazy import lazy_exports

if TYPE_CHECKING:
    from tablut.store.records import DamagedError, StoreError, TooNewError, TooOldError
else:
    __getattr__, __dir__ = lazy_exports(__name__)

__all__ = ["DamagedError", "StoreError", "TooNewError", "TooOldError"]

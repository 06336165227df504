from .sealed_records import (
    DamagedError as DamagedError,
    StoreError as StoreError,
    TooNewError as TooNewError,
    TooOldError as TooOldError,
)

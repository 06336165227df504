from .findings import Verification as Verification
from .verifying import verify as verify

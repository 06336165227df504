from .verifying import Verification as Verification
from .verifying import verify as verify

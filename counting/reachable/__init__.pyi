from .certificate_checker import check_file as check_file
from .estimation import estimate as estimate

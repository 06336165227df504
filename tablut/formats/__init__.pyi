from . import bologna as bologna, opentafl as opentafl

"""Parameters that many commands share, so that they read alike everywhere."""

from typing import Annotated

import typer

__all__ = ["VariantOption"]

VariantOption = Annotated[
    str, typer.Option("--variant", "-v", metavar="NAME|FILE", help="A shipped rule set, or a TOML file.")
]

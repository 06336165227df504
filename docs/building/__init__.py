"""Tools for building the documentation: generated pages, pictures, notebooks and formulas."""

"""The solver's compiled passes; they see arrays and tables, neither files nor names."""

"""Pages that render what the other packages computed; `reports/rendered/` holds the last rendering."""

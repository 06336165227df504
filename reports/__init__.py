"""Pages that present the other packages' results. The latest rendered version is in `reports/rendered/`."""

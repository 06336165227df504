"""Pages that present the results of the other packages. The latest rendered version is in `reports/rendered/`."""

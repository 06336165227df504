"""Pages that present the results of the other packages. The latest rendering is in `reports/rendered/`."""

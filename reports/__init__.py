"""Pages that present the results of the other packages; the latest rendering is in `reports/rendered/`."""

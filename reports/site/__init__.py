"""The site: documentation, results, and pages to play on, in one folder of HTML that opens from the file system."""

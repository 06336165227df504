"""The site: documentation, results and playable pages, as a folder of HTML that can be opened without a server."""

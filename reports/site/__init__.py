"""The site: documentation, results and playable pages, as a folder of HTML files that needs no server."""

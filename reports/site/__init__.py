"""The site: the report as one folder of HTML that opens from the file system, with puzzles to be solved in the browser.

`site_files` returns every file of it; `reports.site.folder` writes them.
"""

from typing import TYPE_CHECKING

from tablut.lazy import lazy_exports

if TYPE_CHECKING:
    from reports.site.pages import site_files
else:
    __getattr__, __dir__ = lazy_exports(__name__, {"site_files": "reports.site.pages"})

__all__ = ["site_files"]

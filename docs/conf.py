"""Sphinx makes a site with a search of these pages: `make site`, into build/docs."""

from __future__ import annotations

import re
from typing import Any

from perfvcs import __version__

project = "perfvcs"
author = "the maintainers of perfvcs"
version = release = __version__
extensions = ["myst_parser"]
exclude_patterns = ["recorded"]
myst_heading_anchors = 4
man_pages = [("cli", "perfvcs", "performance history beside git", [author], 1)]
html_theme = "furo"
html_title = "perfvcs"
html_static_path = html_css_files = ["print.css"]
html_copy_source = False
html_show_sphinx = False
html_show_copyright = False


def add_contents(_: Any, page: str, source: list[str]) -> None:
    """The lists of links on the first page are also the site's contents: a caption per heading, so
    that they are written once.
    """
    if page != "index":
        return
    for heading, links in re.findall(r"^## (.+)\n((?:\n|- .*\n)+)", source[0], flags=re.MULTILINE):
        entries = "\n".join(
            f"{title} <{target}>"
            for title, target in re.findall(r"^- \[(.+?)\]\((.+?)\)", links, flags=re.MULTILINE)
        )
        source[0] += f"\n```{{toctree}}\n:hidden:\n:caption: {heading}\n\n{entries}\n```\n"


def setup(app: Any) -> None:
    app.connect("source-read", add_contents)

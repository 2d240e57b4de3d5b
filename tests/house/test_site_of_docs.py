"""docs/ becomes a site with a search; a page or a link that is missing is an error."""

from __future__ import annotations

import re
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest
from conftest import ROOT, lack

pytestmark = pytest.mark.slow

# other flags have it read all documents again
SPHINX = [sys.executable, "-m", "sphinx", "-q", "-n", "-W", "--keep-going"]


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    if not all(map(find_spec, ("sphinx", "myst_parser", "furo"))):
        lack("sphinx, myst-parser and furo")
    folder = tmp_path_factory.mktemp("site")
    command = [
        *SPHINX,
        "-d",
        str(folder / "doctrees"),
        "-b",
        "html",
        str(ROOT / "docs"),
        str(folder / "html"),
    ]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    return folder / "html"


def test_every_document_is_a_page_in_the_contents(site: Path) -> None:
    contents = set(
        re.findall(
            r'<li class="toctree-l1[^"]*"><a class="reference internal" href="([^"#]+)"',
            (site / "index.html").read_text(),
        )
    )
    documents = {
        page.relative_to(ROOT / "docs").with_suffix(".html")
        for page in (ROOT / "docs").rglob("*.md")
    }
    assert {str(page) for page in documents} - {"index.html"} == contents


def test_the_search_finds_a_word_of_a_document(site: Path) -> None:
    assert "degrad" in (site / "searchindex.js").read_text()  # the stem


def test_all_commands_are_a_manual_page(site: Path) -> None:
    folder = site.parent
    command = [
        *SPHINX,
        "-d",
        str(folder / "doctrees"),
        "-b",
        "man",
        str(ROOT / "docs"),
        str(folder / "man"),
    ]
    subprocess.run(command, check=True)
    assert "perf check" in (folder / "man" / "perfvcs.1").read_text()

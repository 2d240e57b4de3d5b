"""The examples in docstrings."""

import doctest
from importlib import import_module

from cases import each
from conftest import ROOT

FOLDERS = ("perfvcs", "collectors", "postprocessors", "views")
SHOWN = [
    ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")
    for folder in FOLDERS
    for path in sorted((ROOT / folder).rglob("*.py"))
    if "inside" not in path.parts and ">>> " in path.read_text()
]


@each("name", sorted({name if name.startswith("perfvcs") else f"perfvcs.{name}" for name in SHOWN}))
def test_examples_show_what_happens(name: str) -> None:
    result = doctest.testmod(import_module(name), optionflags=doctest.NORMALIZE_WHITESPACE)
    assert result.attempted > 0
    assert result.failed == 0

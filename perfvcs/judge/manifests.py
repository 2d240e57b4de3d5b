"""What a project's manifest says of how its benchmarks and tests are run, beside all that it says
of the program: pyproject.toml, setup.cfg, package.json, Cargo.toml and go.mod.
"""

from __future__ import annotations

import json
import re
import tomllib
from configparser import ConfigParser
from configparser import Error as ConfigError
from typing import TYPE_CHECKING, Any

from perfvcs.git.blobs import CommittedFiles, Unreadable

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping

LARGEST = 1_000_000  # bytes of a manifest that is compared
SECTION = "tool:pytest"  # of setup.cfg
# what of a program's manifest decides nothing that a benchmark does: what it needs, what it is
# called, and how it is compiled
OF_PROGRAMS = {
    "package.json": ("version", "description", "keywords", "author", "license", "homepage"),
    "Cargo.toml": ("profile",),
}
NEEDS = "dependencies"
REQUIRED = re.compile(r"^require[ \t]*(?:\(([^)]*)\)|([^\n(]+))", re.MULTILINE)


def runs_the_same(
    files: CommittedFiles, base: str, commit: str, path: str, spoken: Collection[str]
) -> bool:
    """Whether a file is a manifest that says the same in both commits of how to run benchmarks,
    whose texts hold the ``spoken`` words: what these need decides, too.
    """
    reader = READERS.get(path.rpartition("/")[2])
    if reader is None:
        return False
    try:
        old, new = (reader(files.text(at, path, LARGEST) or "", spoken) for at in (base, commit))
    except (Unreadable, ValueError, RecursionError, ConfigError):
        return False
    return bool(old == new)


def _pyproject(text: str, _: Collection[str]) -> object:
    tools = tomllib.loads(text).get("tool", {})
    return tools.get("pytest") if isinstance(tools, dict) else None


def _setup(text: str, _: Collection[str]) -> object:
    parser = ConfigParser(interpolation=None, strict=False)
    parser.read_string(text)
    return dict(parser[SECTION]) if parser.has_section(SECTION) else None


def _package(text: str, spoken: Collection[str]) -> object:
    return _rest(json.loads(text), OF_PROGRAMS["package.json"], spoken)


def _cargo(text: str, spoken: Collection[str]) -> object:
    table = _rest(tomllib.loads(text), OF_PROGRAMS["Cargo.toml"], spoken)
    package = table.get("package")
    return table | {"package": _rest(package, ("version",), spoken)}


def _rest(table: Any, left_out: Collection[str], spoken: Collection[str]) -> dict[str, Any]:
    """A table without some keys, and of what the program needs only what is spoken of. Raises
    ValueError where it is none.
    """
    if not isinstance(table, dict):
        raise ValueError("it is no table")
    rest = {key: value for key, value in table.items() if key not in left_out}
    needs = rest.get(NEEDS)
    if isinstance(needs, dict):
        rest[NEEDS] = {name: value for name, value in needs.items() if _is_among(name, spoken)}
    return rest


def _is_among(name: str, spoken: Collection[str]) -> bool:
    """Whether a package is spoken of: by its name, or as a language of programs writes that."""
    return name in spoken or name.replace("-", "_") in spoken


def _go(text: str, spoken: Collection[str]) -> object:
    needed = [
        tuple(line.split("//")[0].split())
        for several, one in REQUIRED.findall(text)
        for line in (several or one).splitlines()
    ]
    asked = sorted(words for words in needed if words and _is_among(words[0], spoken))
    return REQUIRED.sub("", text).split(), asked


READERS: Mapping[str, Callable[[str, Collection[str]], object]] = {
    "pyproject.toml": _pyproject,
    "setup.cfg": _setup,
    "package.json": _package,
    "Cargo.toml": _cargo,
    "go.mod": _go,
}

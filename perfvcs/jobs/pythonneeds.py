"""What a project in Python needs to be measured: the interpreter, the extra of its tests, and what
else they require.
"""

from __future__ import annotations

import re
import shutil
import sys
import tomllib
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

from perfvcs.jobs.ownfiles import file_text, own_files

EXTRAS = ("test", "tests", "testing", "dev")  # what projects call what their tests need
TEST_REQUIREMENTS = (
    "requirements-test.txt",
    "requirements-tests.txt",
    "test-requirements.txt",
    "tests/requirements.txt",
    "requirements/test.txt",
    "requirements/tests.txt",
    "requirements/testing.txt",
)
OLDEST, NEWEST = 8, 30  # minor versions of Python 3 that are looked for
CLAUSE = re.compile(r"(~=|==|!=|<=|>=|<|>)?\s*(\d+(?:\.\d+)*)(\.\*)?")
NAME = re.compile(r"[A-Za-z0-9][\w.-]*")
# files with a requirement in each line, then those with some among others
LISTS = re.compile(
    r"(?:.*/)?[\w.-]*(?:requirements|constraints)[\w.-]*\.(?:txt|in)|(?:.*/)?requirements/[\w.-]+"
)
SETTINGS = re.compile(r"tox\.ini|setup\.cfg|environment\.ya?ml|Pipfile")
SCRIPTS = re.compile(r"setup\.py|noxfile\.py")
# distributions that are not called as what they install
CALLED = {
    "attr": "attrs",
    "bs4": "beautifulsoup4",
    "cv2": "opencv-python",
    "dateutil": "python-dateutil",
    "pil": "pillow",
    "pkg-resources": "setuptools",
    "sklearn": "scikit-learn",
    "yaml": "pyyaml",
}
HARNESSES = ("pyperf", "pytest-benchmark")  # of benchmarks, whose packages are known
PYTHON_REQUIRES = re.compile(
    r"^[ \t]{0,99}python_requires[ \t]{0,99}=[ \t]{0,99}['\"]?([^'\"\n#]{0,200})", re.MULTILINE
)
SEPARATORS = re.compile(r"[-_.]+")
REQUIREMENT = re.compile(
    r"([\w.-]{1,200})(?:\[[\w,-]{1,80}\])?"
    r"(?:[ \t]{0,9}[=<>~!]{1,3}[ \t]{0,9}[\w.*+!-]{1,40},?){0,5}"
)


class AskedFor(NamedTuple):
    """A requirement with its pin, and the file that asks for it."""

    requirement: str
    file: str


def interpreters(root: Path) -> tuple[str, ...]:
    """The version of Python to name in perf.toml; none where perfvcs's own fits.

    It is the newest on PATH that ``requires-python`` allows; the oldest that it allows where there
    is none, so that what is missing is named.
    """
    wanted = required_python(root)
    if allows(wanted, sys.version_info[:2]):
        return ()
    allowed = [minor for minor in range(OLDEST, NEWEST) if allows(wanted, (3, minor))]
    there = [minor for minor in allowed if shutil.which(f"python3.{minor}")]
    if not allowed:
        return ()
    return (f"3.{there[-1] if there else allowed[0]}",)


def required_python(root: Path) -> str:
    """The versions of Python that a project allows, as it writes them; empty for any."""
    table = _pyproject(root).get("project", {})
    wanted = table.get("requires-python", "") if isinstance(table, dict) else ""
    if isinstance(wanted, str) and wanted:
        return wanted
    texts = (file_text(root / name) for name in ("setup.cfg", "setup.py"))
    found = (match[1] for text in texts if (match := PYTHON_REQUIRES.search(text)))
    return next(found, "")


def allows(wanted: str, version: tuple[int, int]) -> bool:
    """Whether some release of a minor version fits all clauses such as ``>=3.9,<4``.

    >>> allows(">=3.9, !=3.10.*", (3, 10)), allows(">=3.11.4", (3, 11)), allows("<3.12", (3, 12))
    (False, True, False)
    """
    for clause in wanted.split(","):
        match = CLAUSE.fullmatch(clause.strip())
        if match and not _fits(match[1] or "==", match[2], version, is_series=match[3] is not None):
            return False
    return True


def _fits(operator: str, text: str, version: tuple[int, int], *, is_series: bool) -> bool:
    """Whether some release of a minor version fits one clause."""
    parts = [int(part) for part in text.split(".")[:3]]
    minor = (parts[0], parts[1] if len(parts) > 1 else 0)
    if operator in (">=", ">"):
        return version >= minor
    if operator == "<=":
        return version <= minor
    if operator == "<":  # 3.12.5 leaves some of 3.12
        return version < minor or (len(parts) > 2 and version == minor)
    if operator == "!=":
        return version != minor or not (is_series and len(parts) == 2)
    if len(parts) == 1:  # ==3.*
        return version[0] == parts[0]
    if operator == "~=" and len(parts) == 2:
        return version[0] == minor[0] and version >= minor
    return version == minor


def needed_by_tests(root: Path) -> tuple[str, tuple[str, ...]]:
    """The extra that tests need, and requirements that are not in one."""
    table = _pyproject(root)
    project, groups = table.get("project", {}), table.get("dependency-groups", {})
    extras = project.get("optional-dependencies", {}) if isinstance(project, dict) else {}
    extra = next((name for name in EXTRAS if isinstance(extras, dict) and name in extras), "")
    group: list[object] = next(
        (
            groups[name]
            for name in EXTRAS
            if isinstance(groups, dict) and isinstance(groups.get(name), list)
        ),
        [],
    )
    needed = [word for word in group if isinstance(word, str)]
    files = [f"-r{name}" for name in TEST_REQUIREMENTS if (root / name).is_file()]
    return extra, (*needed, *files[:1])


def once_each(requirements: Iterable[str]) -> tuple[str, ...]:
    """The requirements, each package once: as it is pinned, where it is.

    >>> once_each(["pytest", "Pytest>=8", "-rtests.txt"])
    ('Pytest>=8', '-rtests.txt')
    """
    chosen: dict[str, str] = {}
    for requirement in requirements:
        key = normalized(requirement)
        if len(requirement) > len(chosen.get(key, "")):
            chosen[key] = requirement
    return tuple(chosen.values())


def normalized(requirement: str) -> str:
    """The name by which an index knows a requirement; what is no name stays as it is."""
    match = NAME.match(requirement)
    return SEPARATORS.sub("-", match[0]).lower() if match else requirement


def asked_for(root: Path, module: str) -> AskedFor | None:
    """What installs a module, as the project itself asks for it; None if it does so nowhere, but
    for a harness of benchmarks.

    Of a list of requirements that is the whole list: what is missing is seldom one package.
    """
    name = SEPARATORS.sub("-", module).lower()
    name = CALLED.get(name, name)
    for asked in _lines(root):
        line = asked.requirement.partition("#")[0].partition(";")[0].strip()
        match = REQUIREMENT.fullmatch(line)
        if match and SEPARATORS.sub("-", match[1]).lower() == name:
            is_list = LISTS.fullmatch(asked.file)
            return AskedFor(f"-r{asked.file}" if is_list else re.sub(r"\s+", "", line), asked.file)
    return AskedFor(name, "the benchmark") if name in HARNESSES else None


def _lines(root: Path) -> Iterator[AskedFor]:
    """What may be a requirement in the project's files."""
    files = own_files(root)
    for name in filter(LISTS.fullmatch, files):
        yield from (AskedFor(line, name) for line in file_text(root / name).split("\n"))
    yield from (AskedFor(word, "pyproject.toml") for word in _listed(_pyproject(root)))
    for name in filter(SETTINGS.fullmatch, files):
        for line in file_text(root / name).split("\n"):
            yield AskedFor(line.partition("deps =")[2] or line.strip().lstrip("- "), name)
    for name in filter(SCRIPTS.fullmatch, files):
        for match in re.finditer(
            r"['\"]([^'\"\n]{2,100}[=<>~][^'\"\n]{1,40})['\"]", file_text(root / name)
        ):
            yield AskedFor(match[1], name)


def _listed(table: dict[str, Any]) -> Iterator[str]:
    """The requirements in a pyproject.toml: of the project, extras, groups and the build."""
    project, build = table.get("project"), table.get("build-system")
    project = project if isinstance(project, dict) else {}
    extras, groups = project.get("optional-dependencies"), table.get("dependency-groups")
    lists = [
        project.get("dependencies"),
        build.get("requires") if isinstance(build, dict) else None,
        *(extras.values() if isinstance(extras, dict) else ()),
        *(groups.values() if isinstance(groups, dict) else ()),
    ]
    for entry in lists:
        yield from (
            (word for word in entry if isinstance(word, str)) if isinstance(entry, list) else ()
        )


def _pyproject(root: Path) -> dict[str, Any]:
    with suppress(ValueError, RecursionError):
        return tomllib.loads(file_text(root / "pyproject.toml"))
    return {}

"""Where a project's tests begin: pytest looks for its settings upwards, out of a checkout into the project around it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

CONFIGURATION_FILES = ("pytest.ini", ".pytest.ini", "pytest.toml", ".pytest.toml")
TABLES = {"pyproject.toml": "[tool.pytest", "tox.ini": "[pytest]", "setup.cfg": "[tool:pytest]"}
LARGEST_FILE = 1_000_000  # characters of a file that are searched
PYTEST_OPTIONS = ("-c", "--config-file", "--rootdir")


def options(argv: Sequence[str], root: Path, folder: Path) -> list[str]:
    """What keeps pytest in ``root`` where neither the command nor the project says where it is; an empty file of settings is in ``folder``.

    Otherwise a revision without settings would have those of the project around its checkout, its ``conftest.py``, and other names of
    its tests than the working tree has.
    """
    if any(word == own or word.startswith(f"{own}=") for word in argv for own in PYTEST_OPTIONS):
        return []
    if any(_settings(place) for place in _places(argv, root)):
        return []
    empty = folder / "pytest.ini"
    empty.write_text("[pytest]\n", encoding="utf-8")
    return ["-c", str(empty), f"--rootdir={root}", f"--confcutdir={root}"]


def _places(argv: Sequence[str], root: Path) -> Iterator[Path]:
    """The folders of the project in which pytest looks: those of its arguments, and what is above them."""
    yield root
    for word in argv[1:]:
        path = root / word.partition("::")[0]
        if not word.startswith("-") and path.exists():
            yield from (place for place in (path, *path.parents) if place.is_relative_to(root) and place.is_dir())


def _settings(folder: Path) -> bool:
    if any((folder / name).is_file() for name in CONFIGURATION_FILES):
        return True
    return any(table in _start(folder / name) for name, table in TABLES.items())


def _start(path: Path) -> str:
    try:
        with path.open(encoding="utf-8", errors="replace") as file:
            return file.read(LARGEST_FILE)
    except OSError:
        return ""

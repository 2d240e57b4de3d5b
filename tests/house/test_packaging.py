"""What an installation gets: every file that the package needs is in setup.cfg."""

from __future__ import annotations

import subprocess
from configparser import ConfigParser
from fnmatch import fnmatch
from pathlib import Path, PurePosixPath
from textwrap import dedent

import pytest
from conftest import ROOT

FAMILIES = ("collectors", "postprocessors", "views")
SETUP = ConfigParser()
SETUP.read(ROOT / "setup.cfg")


def shipped() -> list[PurePosixPath]:
    """The files of the package in git, as paths inside an installation."""
    said = subprocess.run(["git", "ls-files", "perfvcs", *FAMILIES], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    paths = [PurePosixPath(line) for line in said.splitlines()]
    inside = [path if path.parts[0] == "perfvcs" else "perfvcs" / path for path in paths]
    return [path for path in inside if path.parent != PurePosixPath("perfvcs") or path.name not in FAMILIES]  # the links


def package(path: PurePosixPath) -> PurePosixPath:
    """The innermost folder around a file that is a package."""
    return next(folder for folder in path.parents if (ROOT / folder / "__init__.py").exists())


def test_every_module_is_in_a_package() -> None:
    folders = {folder for path in shipped() if path.suffix == ".py" for folder in list(path.parents)[:-1]}
    assert not [str(folder) for folder in folders if not (ROOT / folder / "__init__.py").exists()]


def test_every_file_that_is_no_module_is_data_of_its_package() -> None:
    data = SETUP["options.package_data"]

    def is_data(path: PurePosixPath) -> bool:
        owner = package(path)
        patterns = dedent(data.get("*", "") + data.get(".".join(owner.parts), "")).split()
        return any(fnmatch(str(path.relative_to(owner)), pattern) for pattern in patterns)

    others = [path for path in shipped() if path.suffix not in (".py", ".md")]
    assert len(others) > 20 and not [str(path) for path in others if not is_data(path)]


@pytest.mark.parametrize("folder", sorted((ROOT / "collectors").glob("*/inside/python")), ids=lambda folder: folder.parts[-3])
def test_what_goes_on_the_path_of_other_programs_hides_no_module_of_theirs(folder: Path) -> None:
    names = {path.name for path in folder.iterdir()} - {"__init__.py", "sitecustomize.py", "__pycache__"}
    assert names and all(name.startswith("perfvcs_") and name.endswith(".py") for name in names)


def test_the_plugin_is_registered_with_pytest() -> None:
    assert "perfvcs = perfvcs.pytestplugin" in SETUP["options.entry_points"]["pytest11"]

"""Members of families are seen wherever Python looks for installed packages."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from importlib.machinery import ModuleSpec
from importlib.metadata import Distribution, DistributionFinder, PathDistribution
from pathlib import Path
from zipfile import ZipFile

import pytest

from perfvcs.plugins import find, foreign, names

MODULE = """
from dataclasses import dataclass


@dataclass(frozen=True)
class Tally:
    suffixes = (".tally",)

    def recognises(self, name, head):
        return name.endswith(".tally")

    def decode(self, document, stem=""):
        raise NotImplementedError
"""
ENTRY_POINTS = "[console_scripts]\ntally = tally:main\n\n[perfvcs.formats]\ntally = tally:Tally\n"
METADATA = "Metadata-Version: 2.1\nName: tally\nVersion: 1.0\n"


def package(folder: Path, about: str, metadata: str) -> Path:
    """A folder with the module and what an installer writes about it."""
    (folder / about).mkdir(parents=True)
    (folder / "tally.py").write_text(MODULE)
    (folder / about / metadata).write_text(METADATA)
    (folder / about / "entry_points.txt").write_text(ENTRY_POINTS)
    return folder


def zipped(folder: Path, file: Path) -> Path:
    """The same in one file."""
    with ZipFile(file, "w") as archive:
        for path in sorted(folder.rglob("*")):
            archive.write(path, path.relative_to(folder))
    return file


def unpacked(folder: Path) -> Path:
    """As pip installs it."""
    return package(folder / "site", "tally-1.0.dist-info", "METADATA")


def in_egg_info(folder: Path) -> Path:
    """As `setup.py develop` left it."""
    return package(folder / "site", "tally.egg-info", "PKG-INFO")


def in_zip(folder: Path) -> Path:
    """As an application in one file has it."""
    return zipped(unpacked(folder), folder / "application.pyz")


def in_egg(folder: Path) -> Path:
    """As `easy_install` unpacked it."""
    return package(folder / "tally-1.0-py3.egg", "EGG-INFO", "PKG-INFO")


def in_zipped_egg(folder: Path) -> Path:
    """As `easy_install` left it."""
    return zipped(package(folder / "made", "EGG-INFO", "PKG-INFO"), folder / "tally-1.0-py3.egg")


@pytest.fixture(autouse=True)
def _forgets_the_module() -> Iterator[None]:
    yield
    sys.modules.pop("tally", None)


@pytest.mark.parametrize("installed", [unpacked, in_egg_info, in_zip, in_egg, in_zipped_egg])
def test_a_member_is_seen_in_whatever_form_its_package_is_installed(
    installed: Callable[[Path], Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert "tally" not in names("formats")
    monkeypatch.syspath_prepend(str(installed(tmp_path)))
    assert foreign("formats")["tally"].value == "tally:Tally"
    assert "tally" in names("formats")
    assert find("formats", "tally").__module__ == "tally"
    assert "tally" not in names("views"), "it belongs to one family"


def test_a_member_is_seen_that_only_another_finder_offers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    site = unpacked(tmp_path)

    class Finder(DistributionFinder):
        def find_spec(self, *_: object) -> ModuleSpec | None:
            return None

        def find_distributions(self, *_: object, **__: object) -> Iterator[Distribution]:
            yield PathDistribution(site / "tally-1.0.dist-info")

    assert "tally" not in names("formats"), "also where it was asked before"
    monkeypatch.setattr(sys, "meta_path", [*sys.meta_path, Finder()])
    assert foreign("formats")["tally"].value == "tally:Tally"


def test_packages_that_bring_nothing_are_not_asked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    site = unpacked(tmp_path)
    (site / "tally-1.0.dist-info" / "entry_points.txt").write_text(
        "[console_scripts]\ntally = tally:main\n"
    )
    monkeypatch.setattr(sys, "path", [str(site)])
    paths = [finder for finder in sys.meta_path if getattr(finder, "__name__", "") == "PathFinder"]
    monkeypatch.setattr(sys, "meta_path", paths)

    def asked(**_: object) -> None:
        raise AssertionError("a package is asked for members that has none")

    monkeypatch.setattr("importlib.metadata.entry_points", asked)
    assert foreign("formats") == {}

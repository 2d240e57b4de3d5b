"""What is built from a checkout: an sdist without links, and a wheel with everything that the
families have.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest
from conftest import ROOT, Project, released

FAMILIES = ("collectors", "postprocessors", "views")
BUILD = (
    "import sys; from setuptools import build_meta; getattr(build_meta, sys.argv[1])(sys.argv[2])"
)


def checkout(folder: Path, *, links: bool) -> Path:
    """What is tracked of this checkout, as it is now, in a folder; links as git leaves them where
    the file system has none.
    """
    for name in subprocess.run(
        ["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout.splitlines():
        source, target = ROOT / name, folder / name
        if name.startswith(("tests/", "docs/", "benchmarks/", "changelog/")) or not (
            source.exists() or source.is_symlink()
        ):
            continue
        target.parent.mkdir(parents=True, exist_ok=True)
        if source.is_symlink() and links:
            target.symlink_to(source.readlink())
        elif source.is_symlink():
            target.write_text(str(source.readlink()))
        else:
            target.write_bytes(source.read_bytes())
    return folder


def build(folder: Path, what: str, into: Path) -> Path:
    """The file that setuptools builds."""
    into.mkdir()
    subprocess.run(
        [sys.executable, "-c", BUILD, f"build_{what}", str(into)],
        cwd=folder,
        capture_output=True,
        check=True,
    )
    (built,) = into.iterdir()
    return built


def unpack(sdist: Path, folder: Path) -> Path:
    """What is in an sdist, by tar: Debian 12's tarfile knows no filters, and later ones warn
    without one.
    """
    folder.mkdir(exist_ok=True)
    subprocess.run(["tar", "-xf", sdist, "-C", folder], check=True)
    return folder


@pytest.fixture(scope="module")
def sdist(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("build")
    return build(checkout(folder / "checkout", links=True), "sdist", folder / "sdist")


@pytest.mark.slow
def test_an_sdist_has_no_links(sdist: Path) -> None:
    with tarfile.open(sdist) as archive:
        assert [member.name for member in archive if member.issym() or member.islnk()] == []


@pytest.mark.slow
def test_a_wheel_from_the_sdist_has_every_file_of_the_families(sdist: Path, tmp_path: Path) -> None:
    (unpacked,) = unpack(sdist, tmp_path).iterdir()
    with zipfile.ZipFile(build(unpacked, "wheel", tmp_path / "wheel")) as wheel:
        held = set(wheel.namelist())
    suffixes = {".py", ".c", ".h"}
    there = [
        path
        for family in FAMILIES
        for path in (ROOT / family).rglob("*")
        if path.suffix in suffixes
    ]
    assert len(there) > 100
    assert [str(path) for path in there if f"perfvcs/{path.relative_to(ROOT)}" not in held] == []


@pytest.mark.slow
def test_a_wheel_names_the_commit_that_it_was_built_from(tmp_path: Path) -> None:
    folder = checkout(tmp_path / "checkout", links=True)
    commit = Project(folder).commit("everything")
    with zipfile.ZipFile(build(folder, "wheel", tmp_path / "wheel")) as wheel:
        assert f'COMMIT = "{commit}"' in wheel.read("perfvcs/_built.py").decode()
    (unpacked,) = unpack(build(folder, "sdist", tmp_path / "sdist"), tmp_path / "source").iterdir()
    with zipfile.ZipFile(build(unpacked, "wheel", tmp_path / "again")) as wheel:
        assert f'COMMIT = "{commit}"' in wheel.read("perfvcs/_built.py").decode()


@pytest.mark.slow
def test_what_is_built_twice_from_one_commit_is_the_same_byte_for_byte(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for who in ("AUTHOR", "COMMITTER"):
        monkeypatch.setenv(f"GIT_{who}_DATE", "2026-11-23T00:00:00Z")
    found = []
    for number, mask in enumerate((0o022, 0o077)):
        folder = checkout(tmp_path / f"checkout-{number}", links=True)
        Project(folder).commit("everything")
        before = os.umask(mask)
        try:
            found.append(
                [
                    build(folder, what, tmp_path / f"{what}-{number}").read_bytes()
                    for what in ("sdist", "wheel")
                ]
            )
        finally:
            os.umask(before)
    assert found[0] == found[1]


@pytest.mark.slow
def test_a_checkout_without_links_is_refused_with_the_cure(tmp_path: Path) -> None:
    folder = checkout(tmp_path / "checkout", links=False)
    done = subprocess.run(
        [sys.executable, "setup.py", "--name"],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 1
    assert (
        done.stderr.strip()
        == "perfvcs/collectors is a file and not a link to collectors/: check out with `git -c"
        " core.symlinks=true`, or build from the sdist"
    )


def test_the_citation_names_the_newest_release() -> None:
    assert f"\nversion: {released()}\n" in (ROOT / "CITATION.cff").read_text()


INSTALLED = re.compile(
    r"""pip[x3]?["']? install(?: [\w.'"<>=\[\]-]+)*? ["']?perfvcs(?:\[[\w,]+\])?["']?(?! @ )(?:[\s`"']|$)"""
)
ADDRESS = re.compile(r"perfvcs(?:\[[\w,]+\])? @ (git\+[^\s\"'`]+)")
ACTION = re.compile(r"(?:uses: |https://github\.com/)([^\s/]+)/perfvcs\b")


def said() -> dict[str, str]:
    """What users read or copy: documents, actions, scripts and messages, by their names."""
    listed = subprocess.run(
        ["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout.split("\0")
    endings = (".md", ".py", ".yml", ".yaml", ".toml", ".cfg", ".sh", "Makefile")
    past = ("CHANGELOG.md", "changelog/", "docs/evaluation", "tests/")
    names = [name for name in listed if name.endswith(endings) and not name.startswith(past)]
    return {
        name: (ROOT / name).read_text()
        for name in names
        if (ROOT / name).is_file() and not (ROOT / name).is_symlink()
    }


def test_nobody_is_told_to_install_what_a_stranger_may_publish() -> None:
    """No index has perfvcs: whoever copied `pip install perfvcs` would run what somebody else puts
    there.
    """
    assert INSTALLED.search("  - pip install perfvcs\n") and INSTALLED.search(
        "`pip install --quiet 'perfvcs[arrow]'`"
    )
    assert not INSTALLED.search('pip install "perfvcs @ git+https://x"') and not INSTALLED.search(
        'install "$TEMP/perfvcs"'
    )
    texts = said()
    assert len(texts) > 500
    assert {
        name: found[0] for name, text in texts.items() if (found := INSTALLED.search(text))
    } == {}
    # nobody can be called that at GitHub
    readme = f"git+https://github.com/<OWNER>/perfvcs@v{released()}"
    assert {found for text in texts.values() for found in ADDRESS.findall(text)} == {readme}
    assert {found for text in texts.values() for found in ACTION.findall(text)} == {"<OWNER>"}

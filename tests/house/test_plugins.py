"""The template of a package of plugins is installed with pip, and all four of its plugins work."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import pytest
from browsing import documents
from conftest import ROOT, Project, lack


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with examples/plugin installed, without an index."""
    try:
        if int(version("setuptools").partition(".")[0]) < 71:
            lack("setuptools 71")
    except PackageNotFoundError:
        lack("setuptools 71")
    folder = tmp_path_factory.mktemp("plugin")
    shutil.copytree(ROOT / "examples" / "plugin", folder / "source")
    options = (
        "--quiet",
        "--no-index",
        "--no-deps",
        "--no-build-isolation",
        "--disable-pip-version-check",
    )
    command = [
        sys.executable,
        "-m",
        "pip",
        "install",
        *options,
        "--target",
        str(folder / "site"),
        str(folder / "source"),
    ]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return folder / "site"


def test_a_collector_a_view_a_method_and_a_format_of_another_package_work(
    installed: Path, project: Project
) -> None:
    def perf(*args: str) -> str:
        command = [sys.executable, "-m", "perfvcs", *args]
        env = os.environ | {"PYTHONPATH": str(installed)}
        done = subprocess.run(
            command, cwd=project.root, env=env, capture_output=True, text=True, check=False
        )
        assert done.returncode in (0, 3), done.stderr
        return done.stdout

    project.configure('cmd = "sh work.sh"\ncollectors = [{ name = "lines", blank = false }]')
    project.commit("three lines", **{"work.sh": "echo a; echo; echo b; echo c\n"})
    project.commit("four lines", **{"work.sh": "echo a; echo; echo b; echo c; echo d\n"})
    perf("collect", "HEAD~1", "HEAD")
    judged = perf("check", "HEAD~1", "HEAD", "--method", "fastest")
    assert "+33.3 %" in judged and "3 -> 4" in judged, "empty lines do not count"
    perf("show", "HEAD", "--view", "dots", "--no-open", "-o", "page.html")
    assert "work: lines" in json.dumps(documents((project.root / "page.html").read_text())), (
        "the view's own title"
    )
    project.write("nightly.seconds", "0.5\n0.6\n")
    assert "stored 1 profile" in perf("import", "nightly.seconds", "--commit", "HEAD")
    assert "nightly" in perf("log", "HEAD")


def test_a_wrong_line_is_named_by_the_format_of_another_package(
    installed: Path, project: Project
) -> None:
    project.commit("first")
    project.write("nightly.seconds", "0.5\nslow\n")
    command = [sys.executable, "-m", "perfvcs", "import", "nightly.seconds", "--commit", "HEAD"]
    env = os.environ | {"PYTHONPATH": str(installed)}
    done = subprocess.run(
        command, cwd=project.root, env=env, capture_output=True, text=True, check=False
    )
    assert done.returncode
    assert "nightly.seconds: line 2: `slow` is not a number" in done.stderr

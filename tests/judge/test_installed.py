"""What runs in a candidate's virtual environment: what dependencies brought, and what its build
wrote, into lists of files, too.
"""

from __future__ import annotations

import json
import shutil
import zipfile
from collections.abc import Callable, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from conftest import Project as Repository
from conftest import Said
from judged import WORK

from perfvcs.git.project import Project
from perfvcs.judge.installed import NOTHING, Installed, installed
from perfvcs.measure.pythons import InstallError

Perf = Callable[..., Said]

PYTHON = "python bench.py"
SHELL = "sh bench.sh"


PACKAGES = "lib/python3.11/site-packages"
COMPILED = f"{PACKAGES}/__pycache__/tiny.cpython-311.pyc"
UNLIKE = Installed([], [], ["__pycache__/tiny.cpython-311.pyc"])


def table(command: str) -> dict[str, Any]:
    return {"job": [{"name": "x", "cmd": command}]}


def nowhere(names: Sequence[str], folder: Path) -> None:
    raise InstallError(f"{names} are not to be had for {folder}")


def test_what_an_installation_lets_run_unasked_or_in_the_place_of_a_program(
    project: Repository, tmp_path: Path
) -> None:
    text = "for n in $(seq 9); do work; python -c 'import new_of_package'; done\n"
    base = project.commit("Base", **{"bench.sh": text})
    environments = [tmp_path / name for name in ("base", "own")]
    for version, environment in enumerate(environments):
        packages = environment / "lib" / "python3.11" / "site-packages"
        (packages / "work-1.dist-info").mkdir(parents=True)
        finder = (
            f"import __editable___work_{version}_finder; __editable___work_{version}_finder.x()"
        )
        (packages / f"__editable__.work-{version}.pth").write_text(finder)
        (environment / "bin").mkdir()
        (environment / "bin" / "work").touch()
    own = environments[1]
    candidate: Any = SimpleNamespace(base=base, table=table(SHELL), changed=[])
    repository = Project.find(project.root)
    for name in ("other", "new_of_package"):
        (own / "bin" / name).touch()
    (packages / "folders.pth").write_text("/a/folder\n")
    entries = "[console_scripts]\na = b\n[pytest11]\nfast = fast\n[other]\nx = y\n"
    (packages / "work-1.dist-info" / "entry_points.txt").write_text(entries)
    assert installed(repository, candidate, *environments, nowhere) == NOTHING
    (packages / "pytest").mkdir()
    (own / "bin" / "seq").touch()
    (packages / "fast.pth").write_text("/a/folder\nimport fast\n")
    (packages / "sitecustomize.py").write_text("")
    made = ["bin/seq", "fast.pth", "sitecustomize.py", "work-1.dist-info/entry_points.txt"]
    found = installed(repository, candidate, *environments, nowhere)
    assert found == Installed(made, [], [])
    assert installed(repository, candidate, own, own, nowhere) == NOTHING


STARTS, PLUGIN = "cover.pth", "cover_tool-2.dist-info/entry_points.txt"
FOLDER = '{"url": "file:///x", "dir_info": {}}'
ADDRESS = '{"url": "https://x/cover.whl", "archive_info": {}}'


@pytest.mark.parametrize(
    ("origin", "also", "changed", "made"),
    [
        ("", "", [], []),
        ("", "", ["requirements.txt", "wheels/cover-2-py3-none-any.whl"], []),
        (FOLDER, "", [], [STARTS, PLUGIN]),
        (ADDRESS, "", [], [STARTS, PLUGIN]),
        ("", "", ["wheels/Cover_Tool-2-py3-none-any.whl"], [STARTS, PLUGIN]),
        ("", "", ["wheels/cover-tool-2.tar.gz"], [STARTS, PLUGIN]),
        ("", f"{STARTS},sha256=x,9\n", [], [STARTS]),
        ("", f"{PLUGIN},,\n{STARTS},,\n", [], [STARTS, PLUGIN]),
    ],
)
def test_what_a_dependency_brings_is_not_the_changes(
    project: Repository, tmp_path: Path, origin: str, also: str, changed: list[str], made: list[str]
) -> None:
    """Unless it comes from a folder or an address, from an archive of the change, or the project
    brings the same file: so it could pretend to be a dependency.
    """
    base = project.commit("Base", **{"bench.py": ""})
    environments = [tmp_path / name for name in ("base", "own")]
    for environment in environments:
        packages = environment / "lib" / "python3.11" / "site-packages"
        own = packages / "work-1.dist-info"
        own.mkdir(parents=True)
        (own / "direct_url.json").write_text(FOLDER)
        (own / "RECORD").write_text(f"work.py,,\n{also}")
        (packages / "pytest").mkdir()
    dependency = packages / "cover_tool-2.dist-info"
    dependency.mkdir()
    if origin:
        (dependency / "direct_url.json").write_text(origin)
    (packages / STARTS).write_text("import cover; cover.start()\n")
    (packages / PLUGIN).write_text("[pytest11]\ncover = cover.plugin\n")
    (dependency / "RECORD").write_text(f"{STARTS},,\n{PLUGIN},,\n")
    candidate: Any = SimpleNamespace(base=base, table=table(PYTHON), changed=changed)
    repository = Project.find(project.root)
    brought = [name for name in (STARTS, PLUGIN) if name not in made]

    def bring(names: Sequence[str], folder: Path) -> None:
        assert [*names] == ["cover_tool==2"]
        shutil.copytree(packages, folder, dirs_exist_ok=True)

    found = installed(repository, candidate, *environments, bring)
    assert found == Installed(made, brought, [])
    (packages / "left.pth").write_text("import other\n")
    found = installed(repository, candidate, *environments, bring)
    assert found == Installed(sorted([*made, "left.pth"]), brought, [])


@pytest.fixture
def environments(tmp_path: Path) -> tuple[Path, Path]:
    """The virtual environments of a base and of a candidate, which have the same dependency."""
    for name in ("base", "own"):
        environment = tmp_path / name
        packages = environment / "lib" / "python3.11" / "site-packages"
        metadata = packages / "tiny-1.dist-info"
        metadata.mkdir(parents=True)
        (packages / "tiny.py").write_text("x = 1\n")
        (packages / "fast.so").write_bytes(b"\0" + b"")
        (environment / "bin").mkdir()
        (environment / "bin" / "python").symlink_to("/usr/bin/python3")
        (environment / "bin" / "tiny").write_text(f"#!{environment}/bin/python\n")
        (environment / "pyvenv.cfg").write_text(f"home = /usr/bin\ncommand = venv {environment}\n")
        (packages / "__pycache__").mkdir()
        (environment / COMPILED).write_bytes(b"magi\0\0\0\0whensizedo it")
        (metadata / "uv_cache.json").write_text(name)  # when and how it was installed
        listed = (
            "tiny.py",
            "fast.so",
            "../../../bin/tiny",
            "tiny-1.dist-info/uv_cache.json",
            "__pycache__/tiny.cpython-311.pyc",
        )
        (metadata / "RECORD").write_text("".join(f"{path},,\n" for path in listed))
    return tmp_path / "base", tmp_path / "own"


@pytest.mark.parametrize(
    ("path", "content", "expected"),
    [
        (f"{PACKAGES}/tiny.py", b"x = 2\n", Installed(["tiny.py"], [], [])),
        (f"{PACKAGES}/tiny.py", None, Installed(["tiny.py"], [], [])),
        ("bin/tiny", b"#!/bin/sh\n", Installed(["../../../bin/tiny"], [], [])),
        ("bin/python", b"#!/bin/sh\n", Installed(["bin/python"], [], [])),
        ("pyvenv.cfg", b"home = /elsewhere\n", Installed(["pyvenv.cfg"], [], [])),
        (f"{PACKAGES}/tiny.abi3.so", b"\0", Installed(["tiny.abi3.so"], [], [])),
        (f"{PACKAGES}/tiny/x.py", b"", Installed(["tiny/x.py"], [], [])),
        (f"{PACKAGES}/fast.so", b"\0other", Installed([], [], ["fast.so"])),  # another build of it
        (f"{PACKAGES}/other.py", b"", NOTHING),
        (f"{PACKAGES}/tiny.pyi", b"", NOTHING),
        (COMPILED, b"magi\0\0\0\0timesizedo it", NOTHING),
        (COMPILED, b"magi\0\0\0\0whensizeleave it", UNLIKE),
        (COMPILED, b"magi\1\0\0\0whensizedo it", UNLIKE),
    ],
)
def test_a_build_leaves_what_the_base_has_too_as_it_is(
    project: Repository,
    environments: tuple[Path, Path],
    path: str,
    content: bytes | None,
    expected: Installed,
) -> None:
    base = project.commit("Base", **{"bench.py": ""})
    candidate: Any = SimpleNamespace(base=base, table=table(PYTHON), changed=[])
    repository = Project.find(project.root)
    assert installed(repository, candidate, *environments, nowhere) == NOTHING
    file = environments[1] / path
    file.parent.mkdir(exist_ok=True)
    file.unlink(missing_ok=True)
    if content is not None:
        file.write_bytes(content)
    assert installed(repository, candidate, *environments, nowhere) == expected


def test_what_comes_from_a_folder_now_may_be_another(
    project: Repository, environments: tuple[Path, Path]
) -> None:
    """It is no forgery, and proves nothing; so a build gains nothing by claiming that."""
    base = project.commit("Base", **{"bench.py": ""})
    candidate: Any = SimpleNamespace(base=base, table=table(PYTHON), changed=[])
    packages = environments[1] / PACKAGES
    (packages / "tiny.py").write_text("x = 2\n")
    (packages / "tiny-1.dist-info" / "direct_url.json").write_text(FOLDER)
    found = installed(Project.find(project.root), candidate, *environments, nowhere)
    assert found == Installed([], [], ["tiny.py"])
    assert found.check.word == "doubted"


BACKEND = """\
import glob
import os
import zipfile


def build_wheel(folder, config_settings=None, metadata_directory=None):
    info = "work-1.dist-info"
    with zipfile.ZipFile(f"{folder}/work-1-py3-none-any.whl", "w") as file:
        file.write("work.py")
        file.writestr(f"{info}/METADATA", "Metadata-Version: 2.1\\nName: work\\nVersion: 1\\n")
        file.writestr(
            f"{info}/WHEEL",
            "Wheel-Version: 1.0\\nGenerator: x\\nRoot-Is-Purelib: true\\nTag: py3-none-any\\n",
        )
        file.writestr(f"{info}/RECORD", "")
    return "work-1-py3-none-any.whl"
"""
FORGED = """

for place in glob.glob(os.path.join(os.getcwd().split("/worktrees/")[0], "python/py*/")):
    if os.path.exists(f"{place}.complete"):
        continue
    for packages in glob.glob(f"{place}lib/python3*/site-packages"):
        with open(f"{packages}/fast.pth", "w") as file:
            file.write("import os; os.environ.setdefault('ROUNDS', '1')\\n")
        os.makedirs(f"{packages}/{NAME}.dist-info", exist_ok=True)
        with open(f"{packages}/{NAME}.dist-info/METADATA", "a") as file:
            file.write("Metadata-Version: 2.1\\nName: {}\\nVersion: {}\\n".format(*NAME.split("-")))
        with open(f"{packages}/{NAME}.dist-info/RECORD", "a") as file:
            file.write("fast.pth,,\\n")
"""
BENCH = """\
import os

import tiny
import work

for _ in range(int(os.environ.get("ROUNDS", "8"))):
    last = work.total(100_000)
print(last)
"""


def wheel(folder: Path, name: str, **files: str) -> None:
    """A distribution of version 1 in a folder that installers look into."""
    info = f"{name}-1.dist-info"
    with zipfile.ZipFile(folder / f"{name}-1-py3-none-any.whl", "w") as file:
        for path, text in files.items():
            file.writestr(path, text)
        file.writestr(f"{info}/METADATA", f"Metadata-Version: 2.1\nName: {name}\nVersion: 1\n")
        file.writestr(
            f"{info}/WHEEL",
            "Wheel-Version: 1.0\nGenerator: x\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
        )
        file.writestr(f"{info}/RECORD", "")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("owner", "word"),
    [
        ("tiny-1", "rejected"),  # which the base has, too
        ("other-1", "rejected"),  # which there is, without that file
        ("invented-1", "doubted"),
        ("cover-1", "warning"),  # which does have it
    ],
)
def test_a_build_that_forges_a_list_of_files(
    project: Repository, perf: Perf, tmp_path: Path, owner: str, word: str
) -> None:
    index = tmp_path / "index"
    index.mkdir()
    wheel(index, "tiny", **{"tiny.py": ""})
    wheel(index, "other", **{"other.py": ""})
    starts = "import os; os.environ.setdefault('ROUNDS', '1')\n"
    wheel(index, "cover", **{"cover.py": "", "fast.pth": starts})
    files = {
        "work.py": WORK,
        "bench.py": BENCH,
        "backend.py": BACKEND,
        "pyproject.toml": '[build-system]\nrequires = []\nbuild-backend = "backend"\n'
        'backend-path = ["."]\n[project]\nname = "work"\nversion = "1"\n',
        "perf.toml": f'[[job]]\nname = "total"\ncmd = "{PYTHON}"\n[python]\ninstall = ["."]\n'
        f'requires = ["tiny", "--no-index", "--find-links={index}"]\n',
    }
    project.commit("Base", **files)
    project.write("backend.py", f"{BACKEND}\n\nNAME = {owner!r}\n{FORGED}")
    said = json.loads(perf("judge", "--json", "--budget", "60s", code=None).out)
    guard = said["guard"]
    found = "benchmark_files" if word == "rejected" else "installed"
    assert guard[found]["word"] == word, said
    assert "fast.pth" in guard[found]["said"]
    assert said["verdict"] != "proved" or word == "warning"

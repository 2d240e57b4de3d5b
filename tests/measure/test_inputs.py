"""What an installation reads decides whether an environment is reused: files, variables and builds
before it.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest
from conftest import Project, Said
from test_interpreter import ENV, FAKE_UV

from perfvcs.measure.buildinputs import is_editable, named, options, variables
from perfvcs.measure.interpreter import find
from perfvcs.measure.recipe import Recipe
from perfvcs.measure.virtualenv import environment
from perfvcs.repository import Repository

BACKEND = """
import os, zipfile
def build_wheel(folder, settings=None, metadata=None):
    name, info = 'demo-1-py3-none-any.whl', 'demo-1.dist-info/'
    with zipfile.ZipFile(os.path.join(folder, name), 'w') as wheel:
        wheel.writestr('demo.py', open('demo.py').read().replace('FACTOR', os.environ.get('CFLAGS', '1')))
        wheel.writestr(info + 'METADATA', 'Metadata-Version: 2.1\\nName: demo\\nVersion: 1\\n')
        wheel.writestr(info + 'WHEEL', 'Wheel-Version: 1.0\\nGenerator: b\\nRoot-Is-Purelib: true\\nTag: py3-none-any\\n')
        wheel.writestr(info + 'entry_points.txt', '[console_scripts]\\ndemo = demo:main\\n')
        wheel.writestr(info + 'RECORD', '')
    return name
build_editable = build_wheel
"""
PYPROJECT = (
    '[build-system]\nrequires = []\nbuild-backend = "b"\nbackend-path = ["."]\n[project]\nname ='
    ' "demo"\nversion = "1"\n'
)
DEMO = "def main():\n    print(sum(i * i for i in range({} * FACTOR)))\n"
JOB = 'cmd = "demo"\ncollectors = ["bytecode"]\nexecutions = 1'


def demo(project: Project, top: str, **files: str) -> str:
    """A commit of a package that is built without a network, and of the settings that install
    it.
    """
    project.configure(JOB, top=top)
    made = {"pyproject.toml": PYPROJECT, "b.py": BACKEND, "demo.py": DEMO.format(2000)}
    return project.commit("demo", **made | files)


def counts(commit: str) -> list[float]:
    """The executed bytecodes of a commit in each session, the newest first."""
    repository = Repository.find()
    profiles = list(repository.profiles(repository.index.headers([commit])))
    profiles.sort(key=lambda profile: profile.collected.ended, reverse=True)
    return [sum(filter(None, profile.resources.metrics["bytecodes"])) for profile in profiles]


@pytest.mark.parametrize("requires", ['["-r", "requirements.txt"]', '["."]'])
def test_what_requirements_lead_to_in_a_checkout_is_installed_for_each_revision(
    requires: str, project: Project, perf: Callable[..., Said]
) -> None:
    demo(project, f"[python]\ninstall = []\nrequires = {requires}", **{"requirements.txt": "./\n"})
    project.commit("100 times slower", **{"demo.py": DEMO.format(200_000)})
    perf("collect", "-q", "HEAD~1", "HEAD")
    assert "work became worse" in perf("check", "HEAD~1", "HEAD", code=3).out


def test_other_variables_and_other_builds_are_installed_anew(
    project: Project, perf: Callable[..., Said]
) -> None:
    commit = demo(project, 'env = { CFLAGS = "1" }\n[python]')
    perf("collect", "-q", commit)
    (before,) = counts(commit)
    project.configure(JOB, top='env = { CFLAGS = "3" }\n[python]')
    later = project.commit("only perf.toml")
    perf("collect", "-q", commit, later)
    assert counts(commit)[0] == counts(later)[0] != before
    for factor in "13":
        project.configure(JOB, top=f'build = ["sed -i s/FACTOR/{factor}/ demo.py"]\n[python]')
        perf("collect", "-q", commit)
    again, first, *_ = counts(commit)
    assert [first, again] == [before, counts(later)[0]]


@pytest.mark.parametrize("way", ["a list", "a variable"])
def test_an_editable_install_that_no_word_asks_for_is_refused_or_made_a_copy(
    way: str, project: Project, perf: Callable[..., Said], monkeypatch: pytest.MonkeyPatch
) -> None:
    if way == "a variable":
        monkeypatch.setenv("PIP_EDITABLE", "./")
        demo(project, "[python]")
        assert "stored 1 profile" in perf("collect").out
        return
    demo(
        project,
        '[python]\ninstall = []\nrequires = ["-r", "requirements.txt"]',
        **{"requirements.txt": "-e ./\n"},
    )
    assert (
        "demo in a virtual environment is an editable install: an editable install would"
        in perf("collect", code=5).err
    )


@pytest.mark.parametrize(
    "words", [["-e."], ["--edit", "."], ["-qe", "."], ["-e ."], ["--pre", "--editable=."]]
)
def test_every_way_to_say_editable_is_known(words: Sequence[str]) -> None:
    assert any(is_editable(option) for option, _ in options(words))


@pytest.mark.parametrize(
    "words", [["--extra-index-url", "e"], ["e"], ["--extra=e"], ["-re"], ["./-e"], ["-r", "x-e"]]
)
def test_what_only_looks_like_editable_is_not(words: Sequence[str]) -> None:
    assert not any(is_editable(option) for option, _ in options(words))


INSIDE = [
    [["."], ""],
    [["./sub"], ""],
    [["sub"], ""],
    [["sub[fast]"], ""],
    [["-rlist.txt"], ""],
    [["-r", "list.txt"], ""],
    [["--req=list.txt"], ""],
    [["-c", "list.txt"], ""],
    [["--find-links=sub"], ""],
    [["lib @ file:{top}/sub"], ""],
    [["lib@file://{top}/sub"], ""],
    [["lib @ git+file://{top}/sub@main"], ""],
    [["-r", "{out}/list.txt"], "-e {top}/sub"],
    [["-r", "{out}/list.txt"], "--hash \\\n  {top}/sub # x"],
    [["-r", "{out}/list.txt"], "-r ${HERE}/list.txt"],
]


@pytest.mark.parametrize(("words", "text"), INSIDE)
def test_a_word_that_leads_into_the_checkout_is_seen(
    words: list[str], text: str, tmp_path: Path
) -> None:
    top, out = tmp_path / "top", tmp_path / "out"
    for folder in (top / "sub", out):
        folder.mkdir(parents=True)
    (top / "list.txt").write_text("numpy==2.0\n")
    (out / "list.txt").write_text(text.replace("{top}", str(top)))
    asked = [word.replace("{top}", str(top)).replace("{out}", str(out)) for word in words]
    assert named(asked, top, {"HERE": str(top), "HOME": str(out)}).checkout


@pytest.mark.parametrize(
    "words",
    [
        ["numpy==2.0"],
        ["numpy ~= 2.0; python_version > '3'"],
        ["--index-url", "https://h/sub"],
        ["--pre"],
        ["~=", "\0", ""],
    ],
)
def test_names_and_addresses_read_no_checkout(words: Sequence[str], tmp_path: Path) -> None:
    (tmp_path / "sub").mkdir()
    assert not named(words, tmp_path, {}).checkout


def test_files_elsewhere_are_known_by_their_stamps(tmp_path: Path) -> None:
    top, out = tmp_path / "top", tmp_path / "out"
    (out / "lib/.git").mkdir(parents=True)
    top.mkdir()
    (out / "list.txt").write_text("../out/lib\n")
    (out / "lib/a.py").write_text("1")
    (out / "loop").symlink_to("loop")
    env = {"PIP_CONSTRAINT": str(out / "list.txt"), "HOME": str(out)}

    def state() -> object:
        return named([str(out / "loop")], top, env)

    before = state()
    assert not named([], top, env).checkout and before == state()
    (out / "lib/.git/index").touch()
    assert before == state()
    (out / "lib/a.py").write_text("2")
    changed = state()
    assert changed != before
    (out / ".config/pip").mkdir(parents=True)
    (out / ".config/pip/pip.conf").write_text("[install]\nconstraint = x\n")
    assert changed != state()


@pytest.mark.slow
def test_a_folder_elsewhere_is_installed_again_when_it_has_changed(tmp_path: Path) -> None:
    env = ENV | {"PATH": f"{script_of_uv(tmp_path)}{os.pathsep}{ENV['PATH']}"}
    library, work, python = (
        tmp_path / "library",
        tmp_path / "work",
        find(f"{sys.version_info.major}.{sys.version_info.minor}"),
    )
    for folder in (library, work):
        folder.mkdir()
    recipe = Recipe(python, work, requires=(str(library),), content=None, env=env)
    folders = []
    for text in ("1", "1", "2"):
        if not folders or text == "2":
            (library / "library.py").write_text(text)
        with environment(tmp_path / "envs", recipe) as made:
            folders.append(made.folder)
    assert folders[0] == folders[1] != folders[2]


def script_of_uv(folder: Path) -> Path:
    """The folder of a uv that installs nothing."""
    place = folder / "tools"
    place.mkdir()
    (place / "uv").write_text(FAKE_UV)
    (place / "uv").chmod(0o755)
    return place


def test_variables_of_a_terminal_or_a_job_decide_nothing() -> None:
    assert variables(
        {"TERM": "x", "GITHUB_RUN_ID": "1", "CFLAGS": "-O1", "ANY": "1"}, {"TERM": "dumb"}
    ) == {"ANY": "1", "CFLAGS": "-O1", "TERM": "dumb"}

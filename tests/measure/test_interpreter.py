"""Finding Pythons, and making virtual environments of real packages without a network."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path

import psutil
import pytest
from disks import mounted
from waiting import happens

from perfvcs.environment import clean
from perfvcs.errors import UsageError
from perfvcs.measure.held import COMPLETE
from perfvcs.measure.interpreter import Interpreter, find, probe
from perfvcs.measure.pythons import EnvironmentBusy, InstallError, prune, taken
from perfvcs.measure.recipe import Recipe
from perfvcs.measure.virtualenv import VirtualEnvironment, environment

HERE = f"{sys.version_info.major}.{sys.version_info.minor}"
ENV = clean(os.environ)

# a build backend inside the package itself: it needs neither setuptools nor an index
BACKEND = """
import zipfile


def build_wheel(folder, settings=None, metadata=None):
    name = "tiny-@VERSION@-py3-none-any.whl"
    info = "tiny-@VERSION@.dist-info/"
    with zipfile.ZipFile(folder + "/" + name, "w") as wheel:
        wheel.writestr("tiny.py", "VERSION = '@VERSION@'\\n")
        wheel.writestr(info + "METADATA", "Metadata-Version: 2.1\\nName: tiny\\nVersion: @VERSION@\\n")
        wheel.writestr(info + "WHEEL", "Wheel-Version: 1.0\\nGenerator: test\\nRoot-Is-Purelib: true\\nTag: py3-none-any\\n")
        wheel.writestr(info + "entry_points.txt", "[console_scripts]\\ntiny = tiny:main\\n")
        wheel.writestr(info + "RECORD", "")
    return name
"""
PYPROJECT = (
    '[build-system]\nrequires = []\nbuild-backend = "backend"\nbackend-path ='
    ' ["."]\n[project]\nname = "tiny"\nversion = "@"\n'
)


def package(folder: Path, version: str) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "backend.py").write_text(BACKEND.replace("@VERSION@", version))
    (folder / "pyproject.toml").write_text(PYPROJECT.replace("@", version))
    # Python takes what it compiled of the version before for this one's: as long, and of the same
    # second.
    shutil.rmtree(folder / "__pycache__", ignore_errors=True)
    return folder


def script(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    path.chmod(0o755)
    return path


def pretend(path: Path, version: str, real: str = "/opt/python") -> Path:
    """A command that answers the question for its version as a Python would."""
    return script(path, f"#!/bin/sh\necho '{json.dumps([real, version, 'CPython'])}'\n")


@pytest.fixture(scope="module")
def interpreter() -> Interpreter:
    return find(HERE)


@pytest.fixture
def work(tmp_path: Path) -> Path:
    return package(tmp_path / "a work tree", "1.0")


def make(
    folder: Path,
    interpreter: Interpreter,
    work: Path,
    install: Sequence[str] = (".",),
    content: str | None = "tree",
    env: Mapping[str, str] = ENV,
    requires: Sequence[str] = (),
    timeout: float = 300,
    stack: ExitStack | None = None,
) -> VirtualEnvironment:
    """An environment, held as long as ``stack``, or not at all."""
    recipe = Recipe(
        interpreter,
        work,
        tuple(install),
        tuple(requires),
        content=content,
        env=env,
        timeout=timeout,
    )
    asked = environment(folder, recipe)
    if stack is not None:
        return stack.enter_context(asked)
    with asked as made:
        return made


@pytest.fixture
def stack() -> Iterator[ExitStack]:
    """What is held in it is released after the test."""
    with ExitStack() as found:
        yield found


def installed_version(made: VirtualEnvironment) -> str:
    code = "import tiny; print(tiny.VERSION)"
    return subprocess.run(
        ["python", "-c", code], env=made.activate(ENV), capture_output=True, text=True, check=True
    ).stdout.strip()


def test_the_running_version_is_found_outside_its_virtual_environment(
    interpreter: Interpreter,
) -> None:
    assert (
        interpreter.version.startswith(HERE)
        and interpreter.label == f"CPython {interpreter.version}"
    )
    code = "import sys; print(sys.prefix == sys.base_prefix)"
    assert (
        subprocess.run(
            [interpreter.path, "-c", code], capture_output=True, text=True, check=True
        ).stdout
        == "True\n"
    )
    assert find(interpreter.version) == interpreter


def test_a_virtual_environment_leads_to_the_interpreter_it_was_made_from() -> None:
    assert find(sys.executable) == probe(Path(os.path.realpath(sys.executable)))


def test_a_version_hides_behind_several_names_and_the_most_exact_is_asked_first(
    tmp_path: Path,
) -> None:
    pretend(tmp_path / "a/python3", "3.98.1", "/a")
    pretend(tmp_path / "b/python3.98", "3.98.2", "/b")
    pretend(tmp_path / "b/python", "3.97.0", "/c")
    env = {"PATH": f"{tmp_path}/a:{tmp_path}/b:/bin", "HOME": str(tmp_path)}
    assert find("3.98", env) == Interpreter(Path("/b"), "3.98.2")
    assert find("3.98.1", env).path == Path("/a")
    assert find("3.97", env).path == Path("/c")
    assert find("python3", env).path == Path("/a")


def test_a_shim_that_does_not_answer_is_passed_over_for_pyenvs_own_folder(tmp_path: Path) -> None:
    script(
        tmp_path / "shims/python3.98", "#!/bin/sh\necho 'pyenv: command not found' >&2\nexit 127\n"
    )
    for version in ("3.98.9", "3.98.10"):
        pretend(tmp_path / f"pyenv/versions/{version}/bin/python", version)
    assert (
        find("3.98", {"PATH": f"{tmp_path}/shims:/bin", "PYENV_ROOT": f"{tmp_path}/pyenv"}).version
        == "3.98.10"
    )


def test_uv_is_asked_last(tmp_path: Path) -> None:
    python = pretend(tmp_path / "kept/python", "3.98.4")
    script(tmp_path / "bin/uv", f"#!/bin/sh\necho {python}\n")
    env = {"PATH": f"{tmp_path}/bin:/bin", "HOME": str(tmp_path)}
    assert find("3.98", env).version == "3.98.4"
    script(tmp_path / "bin/uv", "#!/bin/sh\nexit 2\n")
    with pytest.raises(UsageError, match="no Python"):
        find("3.98", env)


def test_a_free_threaded_build_is_only_taken_when_asked_for(tmp_path: Path) -> None:
    pretend(tmp_path / "python3.98", "3.98.0t")
    env = {"PATH": f"{tmp_path}:/bin", "HOME": str(tmp_path)}
    assert find("3.98t", env).version == "3.98.0t"
    with pytest.raises(UsageError, match=r"there is no Python 3\.98 here"):
        find("3.98", env)
    assert Interpreter(Path("/x"), "3.99.0rc1").fits("3.99") and not Interpreter(
        Path("/x"), "3.99.0"
    ).fits("3.9")


@pytest.mark.slow
def test_a_missing_version_names_what_is_there_and_the_cure(interpreter: Interpreter) -> None:
    with pytest.raises(
        UsageError, match=r"there is no Python 3\.1 here \(there is .*uv python install 3\.1`"
    ) as caught:
        find("3.1")
    assert interpreter.version in str(caught.value) and "\n" not in str(caught.value)


@pytest.mark.parametrize("version", ["/no/such/python", "nopython3", "", "three"])
def test_something_that_is_no_python_is_refused(version: str) -> None:
    with pytest.raises(UsageError, match="is not a working Python"):
        find(version)


@pytest.mark.slow
def test_a_project_is_installed_and_found_again_without_its_worktree(
    envs: Path, interpreter: Interpreter, work: Path
) -> None:
    made = make(envs, interpreter, work)
    assert "tiny==1.0" in made.installed
    for path in work.iterdir():
        path.unlink() if path.is_file() else None
    assert installed_version(made) == "1.0"
    assert made.python.with_name("tiny").exists() and made.python.exists()
    # the worktree could not even be built any more
    assert make(envs, interpreter, work).folder == made.folder


@pytest.mark.slow
def test_another_content_gets_another_environment(
    tmp_path: Path, interpreter: Interpreter, work: Path
) -> None:
    uv = script(tmp_path / "tools/uv", FAKE_UV)
    env = {**ENV, "PATH": f"{uv.parent}:{ENV['PATH']}"}
    one = make(tmp_path / "envs", interpreter, work, env=env)
    two = make(tmp_path / "envs", interpreter, work, env=env, content="other")
    three = make(tmp_path / "envs", interpreter, work, env=env, requires=["numpy"])
    bare = make(tmp_path / "envs", interpreter, work, env=env, install=[], content=None)
    assert len({made.folder for made in (one, two, three, bare)}) == 4
    assert (
        make(tmp_path / "envs", interpreter, work, env=env, install=[], content="whatever").folder
        == bare.folder
    )


# makes the folder, and writes down what it was asked to install
FAKE_UV = """#!/bin/sh
case "$1" in
  venv) for last; do :; done; mkdir -p "$last/bin"; ln -s "$(command -v python3)" "$last/bin/python" ;;
  pip)
    shift 6; place="${1%/bin/python}"; shift; echo "$PIP_USER $*" >> "$place/asked"
    [ ! -e fail ] || { cat fail >&2; exit 3; }
    [ ! -e hang ] || exec sleep 60 ;;
esac
"""


@pytest.fixture
def fake(tmp_path: Path) -> dict[str, str]:
    uv = script(tmp_path / "tools/uv", FAKE_UV)
    return {**ENV, "PATH": f"{uv.parent}:{ENV['PATH']}"}


def test_uv_installs_requirements_first_and_passes_options_on(
    tmp_path: Path, interpreter: Interpreter, work: Path, fake: dict[str, str]
) -> None:
    made = make(
        tmp_path / "envs",
        interpreter,
        work,
        [".", "--no-build-isolation"],
        requires=["numpy==2.0"],
        env=fake,
    )
    asked = (made.folder / "asked").read_text().splitlines()
    assert asked == ["0 numpy==2.0", "0 numpy==2.0 . --no-build-isolation"]


def test_a_dirty_worktree_is_installed_anew(
    tmp_path: Path, interpreter: Interpreter, work: Path, fake: dict[str, str]
) -> None:
    with ExitStack() as stack:
        first = make(tmp_path / "envs", interpreter, work, content=None, env=fake, stack=stack)
        second = make(tmp_path / "envs", interpreter, work, content=None, env=fake, stack=stack)
        assert second.folder != first.folder and (second.folder / "asked").exists()
    assert not list((tmp_path / "envs").glob("p*/"))  # nobody can use it again


@pytest.mark.slow
def test_the_remains_of_a_kill_are_not_used(
    tmp_path: Path, interpreter: Interpreter, work: Path, fake: dict[str, str]
) -> None:
    (work / "hang").touch()
    code = (
        "import sys, json; from pathlib import Path; from perfvcs.measure.virtualenv import"
        " environment\nfrom perfvcs.measure.recipe import Recipe\nfrom perfvcs.measure.interpreter import *\nenvs, python, version, work, env"
        " = json.loads(sys.argv[1])\npython = Interpreter(Path(python), version)\nwith"
        " environment(Path(envs), Recipe(python, Path(work), ('.',), content='tree', env=env)): pass"
    )
    given = [str(tmp_path / "envs"), str(interpreter.path), interpreter.version, str(work), fake]
    process = subprocess.Popen([sys.executable, "-c", code, json.dumps(given)])
    assert happens(
        lambda: list((tmp_path / "envs").glob("py*/asked")) or process.poll() is not None
    )
    assert process.poll() is None
    with pytest.raises(EnvironmentBusy, match="another process is making"):
        make(tmp_path / "envs", interpreter, work, env=fake, timeout=0.1)
    assert prune(tmp_path / "envs", keep=0) == []
    installers = psutil.Process(process.pid).children(recursive=True)
    process.kill()
    process.wait()
    # nobody writes any more
    assert happens(lambda: not any(installer.is_running() for installer in installers))
    (half,) = (tmp_path / "envs").glob("py*/")
    (work / "hang").unlink()
    made = make(tmp_path / "envs", interpreter, work, env=fake)
    assert (made.folder / "asked").read_text() == "0 .\n" and made.folder != half
    assert prune(tmp_path / "envs", keep=1) == [half]


def test_an_environment_that_several_want_at_once_is_made_once(
    tmp_path: Path, interpreter: Interpreter, work: Path, fake: dict[str, str]
) -> None:
    with ThreadPoolExecutor(4) as pool:
        made = list(
            pool.map(lambda _: make(tmp_path / "envs", interpreter, work, env=fake), range(4))
        )
    assert (
        len({one.folder for one in made}) == 1 and (made[0].folder / "asked").read_text() == "0 .\n"
    )


def test_a_failed_installation_is_reported_in_one_line_and_leaves_nothing(
    tmp_path: Path, interpreter: Interpreter, work: Path, fake: dict[str, str]
) -> None:
    (work / "fail").write_text("Collecting tiny\nERROR: no \x1b[31mmatching\x1b[0m distribution\n")
    with pytest.raises(
        InstallError,
        match=r"uv pip install .* exited with status 3: .*no .*matching.* distribution",
    ) as caught:
        make(tmp_path / "envs", interpreter, work, env=fake)
    assert (
        caught.value.exit_code == 5
        and "\n" not in str(caught.value)
        and "\x1b" not in str(caught.value)
    )
    assert [path.suffix for path in (tmp_path / "envs").iterdir()] == [".log"]


@pytest.mark.slow
def test_an_installation_that_hangs_is_ended(
    tmp_path: Path, interpreter: Interpreter, work: Path, fake: dict[str, str]
) -> None:
    (work / "hang").touch()
    with pytest.raises(InstallError, match=r"was stopped after 3 s"):
        make(tmp_path / "envs", interpreter, work, env=fake, timeout=3)


def test_an_environment_whose_interpreter_is_gone_is_made_again(
    tmp_path: Path, interpreter: Interpreter, work: Path, fake: dict[str, str]
) -> None:
    made = make(tmp_path / "envs", interpreter, work, env=fake)
    made.python.unlink()
    assert make(tmp_path / "envs", interpreter, work, env=fake).python.exists()


def test_a_missing_venv_module_names_debians_package(tmp_path: Path, work: Path) -> None:
    python = script(
        tmp_path / "python3",
        "#!/bin/sh\necho 'The virtual environment was not created: ensurepip is not"
        " available'\nexit 1\n",
    )
    env = {**ENV, "PATH": "/usr/bin:/bin"}
    with pytest.raises(InstallError, match="apt install python3-venv"):
        make(tmp_path / "envs", Interpreter(python, "3.98.0"), work, env=env)


@pytest.mark.parametrize("install", [["-e", "."], ["-e ."], ["--editable=."]])
def test_an_editable_installation_is_refused(
    tmp_path: Path, interpreter: Interpreter, work: Path, install: list[str]
) -> None:
    with pytest.raises(UsageError, match="leave -e out"):
        make(tmp_path / "envs", interpreter, work, install)


def test_a_folder_that_cannot_be_written_gets_one_line(
    tmp_path: Path, interpreter: Interpreter, work: Path
) -> None:
    (tmp_path / "envs").write_text("a file")
    with pytest.raises(
        InstallError, match=r"no virtual environment can be made in .*make it writable"
    ):
        make(tmp_path / "envs", interpreter, work)


def test_activation_sets_what_the_activate_script_sets(
    tmp_path: Path, interpreter: Interpreter, work: Path, fake: dict[str, str]
) -> None:
    made = make(tmp_path / "envs", interpreter, work, env=fake)
    env = made.activate({"PATH": "/bin", "PYTHONHOME": "/x", "VIRTUAL_ENV": "/mine", "A": "b"})
    assert env == {"PATH": f"{made.folder}/bin:/bin", "VIRTUAL_ENV": f"{made.folder}", "A": "b"}


@pytest.mark.slow
def test_pruning_keeps_the_most_recently_used(
    tmp_path: Path, interpreter: Interpreter, work: Path, fake: dict[str, str]
) -> None:
    made = [
        make(tmp_path / "envs", interpreter, work, env=fake, content=str(number))
        for number in range(3)
    ]
    for age, one in enumerate(made):
        os.utime(one.folder / COMPLETE, (1e9 - age, 1e9 - age))
    make(tmp_path / "envs", interpreter, work, env=fake, content="2")
    (tmp_path / "envs/py-crashed").mkdir()
    removed = prune(tmp_path / "envs", keep=2)
    assert {path.name for path in removed} == {made[1].folder.name, "py-crashed"}
    assert made[0].folder.exists() and made[2].folder.exists() and not made[1].folder.exists()
    assert prune(tmp_path / "nothing", keep=0) == []


def without_uv() -> dict[str, str]:
    """Variables with a PATH on which there is no uv, wherever it is installed."""
    return {
        **ENV,
        "PATH": os.pathsep.join(
            place for place in ENV["PATH"].split(os.pathsep) if not Path(place, "uv").exists()
        ),
    }


@pytest.fixture
def envs(tmp_path: Path) -> Path:
    """A folder for environments."""
    return tmp_path / "envs"


@pytest.mark.slow
def test_revisions_that_install_the_same_share_an_environment(
    envs: Path, tmp_path: Path, interpreter: Interpreter, work: Path
) -> None:
    first = make(envs, interpreter, work, content="one")
    second = make(envs, interpreter, work, content="two: its documents changed")
    assert second.folder == first.folder
    third = make(envs, interpreter, package(work, "2.0"), content="three")
    assert third.folder != first.folder
    assert installed_version(third) == "2.0"
    assert len(list(envs.glob("py*/"))) == 2
    assert (
        make(envs, interpreter, tmp_path / "gone", content="two: its documents changed").folder
        == first.folder
    )
    os.utime(third.folder / COMPLETE, (1e9, 1e9))
    assert prune(envs, keep=1) == [third.folder]
    os.utime(first.folder / COMPLETE, (1e9, 1e9))
    package(work, "3.0")
    make(envs, interpreter, work, content="four")
    assert prune(envs, keep=1) == [first.folder]
    assert len(list(envs.glob("py*.same"))) == 1
    again = make(envs, interpreter, package(work, "1.0"), content="two: its documents changed")
    assert installed_version(again) == "1.0"


@pytest.mark.slow
def test_what_a_dirty_worktree_installed_is_shared_with_nobody(
    envs: Path, interpreter: Interpreter, work: Path, stack: ExitStack
) -> None:
    dirty = make(envs, interpreter, work, content=None, stack=stack)
    clean = make(envs, interpreter, work, content="tree", stack=stack)
    assert clean.folder != dirty.folder
    make(envs, interpreter, package(work, "2.0"), content=None, stack=stack)
    assert installed_version(clean) == "1.0"


@pytest.mark.slow
def test_a_link_to_somewhere_else_is_not_followed(
    envs: Path, interpreter: Interpreter, work: Path
) -> None:
    first = make(envs, interpreter, work, content="one")
    shared = make(envs, interpreter, work, content="two")
    assert shared.folder == first.folder
    for link in envs.glob("py*.same"):
        link.write_text("../elsewhere")
    assert make(envs, interpreter, work, content="two").folder.parent == envs.absolute()


def test_each_interpreter_keeps_its_own(tmp_path: Path) -> None:
    for name in (
        "py3.11.7-a",
        "py3.11.7-b",
        "py3.12.1-a",
        "py3.12.1-b",
        "pip3.12.1-a",  # of older versions
    ):
        (tmp_path / "python" / name).mkdir(parents=True)
        (tmp_path / "python" / name / COMPLETE).write_text('{"bytes": 1000}')
    for age, name in enumerate(("py3.11.7-a", "py3.12.1-a", "py3.12.1-b", "py3.11.7-b")):
        os.utime(tmp_path / "python" / name / COMPLETE, (1e9 - age, 1e9 - age))
    assert taken(tmp_path) == (4, 4000)
    assert {path.name for path in prune(tmp_path / "python", keep=1)} == {
        "py3.12.1-b",
        "py3.11.7-b",
    }
    assert taken(tmp_path) == (2, 2000)
    assert not (tmp_path / "python" / "pip3.12.1-a").exists()


@pytest.mark.slow
@pytest.mark.needs("mount")
def test_a_full_disk_is_one_line_with_the_cure_and_leaves_nothing(
    tmp_path: Path, interpreter: Interpreter, work: Path
) -> None:
    with mounted(tmp_path / "disk", "size=3m") as disk:
        with pytest.raises(
            InstallError,
            match=r"the disk is full: free some space|No space left on device: make room",
        ) as caught:
            make(disk / "envs", interpreter, work, env=without_uv())
        assert "\n" not in str(caught.value)
        assert not list((disk / "envs").glob("p*/"))


@pytest.mark.slow
def test_what_is_at_the_top_of_a_project_is_imported_by_no_installer(
    tmp_path: Path, interpreter: Interpreter, work: Path
) -> None:
    for name in (
        "venv.py",
        "pip.py",
        "logging/__init__.py",
        "types/__init__.py",
        "select/__init__.py",
    ):
        (work / name).parent.mkdir(exist_ok=True)
        (work / name).write_text("raise SystemExit('imported')\n")
    made = make(tmp_path / "envs", interpreter, work, env=without_uv())
    assert {name.partition("==")[0] for name in made.installed} - {"setuptools"} == {"pip", "tiny"}


@pytest.mark.needs("uv")
def test_the_real_uv_installs_a_project(
    tmp_path: Path, interpreter: Interpreter, work: Path
) -> None:
    made = make(tmp_path / "envs", interpreter, work)
    assert installed_version(made) == "1.0" and made.installed == ["tiny==1.0"]


@pytest.mark.needs("uv")
def test_uv_does_not_obey_the_settings_of_the_working_tree(
    tmp_path: Path, interpreter: Interpreter
) -> None:
    """They lie above all checkouts, and may not be in the revision that is installed."""
    (tmp_path / "uv.toml").write_text("no-such-setting = 1\n")
    checkout = package(tmp_path / ".perf" / "worktrees" / "one", "1.0")
    made = make(tmp_path / ".perf" / "python", interpreter, checkout)
    assert installed_version(made) == "1.0"
    (tmp_path / ".perf" / "uv.toml").write_text("no-such-setting = 1\n")  # as a build may do
    assert make(tmp_path / ".perf" / "python", interpreter, checkout, content="later")
    (checkout / "uv.toml").write_text("no-such-setting = 1\n")
    with pytest.raises(InstallError, match="exited with status 2"):
        make(tmp_path / ".perf" / "python", interpreter, checkout, content="another")


@pytest.mark.needs("mount")
@pytest.mark.parametrize("option", ["size=4k", "ro"])
def test_a_home_folder_that_takes_no_cache_is_done_without(
    option: str, tmp_path: Path, interpreter: Interpreter, work: Path
) -> None:
    """It is full, or may only be read; the disk of the environments has room."""
    home, tools = tmp_path / "home", tmp_path / "tools"
    cache = '[ "$UV_NO_CACHE" ] || head -c 9000 /dev/zero > "$HOME/cache" || exit 2\n'
    script(tools / "uv", FAKE_UV.replace("\n", "\n" + cache, 1))
    with mounted(home, option):
        env = {**ENV, "PATH": f"{tools}{os.pathsep}{ENV['PATH']}", "HOME": str(home)}
        made = make(tmp_path / "envs", interpreter, work, env=env)
        assert (made.folder / "asked").read_text() == "0 .\n"

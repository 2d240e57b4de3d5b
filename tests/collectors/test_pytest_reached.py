"""Which functions run for a test, from the measured interpreter to the stored profile; and the
front door of the collector.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given, strategies
from samples import sample_profile

import perfvcs
from perfvcs.collectors._shared.testing.pluginnotes import MAX_FILES, ReachedFunction, read_notes
from perfvcs.collectors._shared.testing.suite import qualified
from perfvcs.collectors.pytest import Pytest
from perfvcs.measure.interpreter import find
from perfvcs.plugins.collector import CollectError, Run
from perfvcs.profile import Reached
from perfvcs.profile.decoding import decode
from perfvcs.profile.validity import Malformed
from perfvcs.repository import Repository
from perfvcs.repository.lookup import paths_of

pytestmark = pytest.mark.slow

NEEDED = ("pytest", "_pytest", "py.py", "pluggy", "iniconfig", "packaging", "pygments")

LIBRARY = """
def work(n):
    return sum(square(i) for i in range(n))

def square(i):
    return i * i

class Counter:
    def add(self):
        def inner():
            return square(2)
        return (lambda: inner())()
"""
TESTS = """
import threading
import pytest, lib

@pytest.fixture(scope="module")
def shared():
    return lib.square(1)

@pytest.fixture
def own():
    return lib.work(1)

def test_work(): lib.work(3)
def test_counter(): lib.Counter().add()
def test_own(own): pass
def test_shared(shared): pass
def test_shared_too(shared): pass
def test_thread():
    thread = threading.Thread(target=lib.square, args=(1,))
    thread.start()
    thread.join()
def test_nothing(): pass
"""


def interpreter(version: str, tmp_path: Path) -> tuple[str, str]:
    """A Python of that version, and a folder with nothing but pytest for its PYTHONPATH; skipped
    where there is none.
    """
    if sys.version_info[:2] == tuple(map(int, version.split("."))):
        return sys.executable, ""
    try:
        python = str(find(version).path)
    except perfvcs.errors.UsageError:
        pytest.skip(f"no Python {version} here")
    folder = tmp_path / "packages"
    folder.mkdir()
    for name in NEEDED:
        (folder / name).symlink_to(Path(pytest.__file__).parents[1] / name)
    return python, str(folder)


@pytest.mark.parametrize("version", ["3.11", "3.12", "3.13"])
def test_the_functions_of_each_test_are_known(tmp_path: Path, version: str) -> None:
    python, packages = interpreter(version, tmp_path)
    root, scratch = tmp_path / "project", tmp_path / "scratch"
    for folder in (root / "src", scratch):
        folder.mkdir(parents=True)
    (root / "src" / "lib.py").write_text(LIBRARY)
    (root / "test_lib.py").write_text(TESTS)
    path = os.pathsep.join(filter(None, (str(root / "src"), packages)))
    env = {"PATH": os.environ["PATH"], "PYTHONPATH": path, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    found = Pytest(repeat=1).collect(
        Run((python, "-m", "pytest", "-q"), root, env, scratch, "tests", timeout=300.0)
    )
    assert found.reached is not None and not found.warnings
    ran = {
        name.partition("::")[2]: (
            {found.reached.functions[number] for number in numbers}
            - {f"test_lib.py:{name.partition('::')[2]}"}
        )
        for name, numbers in found.reached.units.items()
    }
    square = "src/lib.py:square"
    assert ran.pop("") == {"src/lib.py:<module>", "src/lib.py:Counter", "test_lib.py:<module>"}
    assert ran == {
        "test_work": {"src/lib.py:work", square},
        "test_counter": {"src/lib.py:Counter.add", "src/lib.py:Counter.add.<locals>.inner", square},
        "test_own": {"test_lib.py:own", "src/lib.py:work", square},
        "test_shared": {"test_lib.py:shared", square},
        "test_shared_too": {"test_lib.py:shared", square},
        "test_thread": {square},
        "test_nothing": set(),
    }


PROCESSES = """
import concurrent.futures, multiprocessing, os, subprocess, sys
import pytest

@pytest.fixture(scope="module")
def server():
    subprocess.run(["true"])

def test_command(): subprocess.run([sys.executable, "-c", "pass"])
def test_server(server): pass
def test_server_too(server): pass
def test_fork():
    child = os.fork() or os._exit(0)
    os.waitpid(child, 0)
def test_shell(): os.system("true")
def test_spawned(): os.waitpid(os.posix_spawn("/bin/true", ["true"], {}), 0)
@pytest.mark.parametrize("method", multiprocessing.get_all_start_methods())
def test_worker(method):
    worker = multiprocessing.get_context(method).Process(target=int)
    worker.start()
    worker.join()
def test_pool():
    with concurrent.futures.ProcessPoolExecutor(1) as pool: pool.submit(int).result()
def test_alone(): import xml.dom.minidom
def test_thread():
    with concurrent.futures.ThreadPoolExecutor(1) as pool: pool.submit(int).result()
"""


@pytest.mark.parametrize("version", ["3.11", "3.12", "3.13"])
def test_a_test_that_starts_processes_is_marked(tmp_path: Path, version: str) -> None:
    python, packages = interpreter(version, tmp_path)
    root, scratch = tmp_path / "project", tmp_path / "scratch"
    root.mkdir()
    scratch.mkdir()
    (root / "test_lib.py").write_text(PROCESSES)
    env = {
        "PATH": os.environ["PATH"],
        "PYTHONPATH": packages,
        "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",
    }
    found = Pytest(repeat=0).collect(
        Run((python, "-m", "pytest", "-q"), root, env, scratch, "tests", timeout=300.0)
    )
    assert found.reached is not None
    number = found.reached.functions.index("(processes)")
    unmarked = {
        name.partition("::")[2] for name, some in found.reached.units.items() if number not in some
    }
    assert unmarked == {"", "test_alone", "test_thread"} and len(found.reached.units) == 13


def test_functions_of_an_installed_package_are_those_of_its_sources(tmp_path: Path) -> None:
    root, scratch = tmp_path / "project", tmp_path / "scratch"
    packages = root / ".venv" / "lib" / "site-packages"
    for folder in (root / "src" / "pkg", packages / "pkg", packages / "foreign", scratch):
        folder.mkdir(parents=True)
    for place in (root / "src" / "pkg", packages / "pkg", packages / "foreign"):
        (place / "__init__.py").write_text("def work(): return 1\n")
    (root / "test_a.py").write_text(
        "import foreign, pkg\ndef test_a(): pkg.work() and foreign.work()\n"
    )
    env = {"PATH": os.environ["PATH"], "PYTHONPATH": str(packages)}
    found = Pytest(repeat=1).collect(
        Run(
            (sys.executable, "-m", "pytest", "-q", "-p", "no:hypothesispytest"),
            root,
            env,
            scratch,
            "tests",
        )
    )
    assert found.reached is not None
    package = "src/pkg/__init__.py"
    assert found.reached.functions == [
        f"{package}:<module>",
        f"{package}:work",
        "test_a.py:<module>",
        "test_a.py:test_a",
    ]


def test_functions_need_not_be_recorded(tmp_path: Path) -> None:
    root = tmp_path / "project"
    root.mkdir()
    (tmp_path / "scratch").mkdir()
    (root / "test_a.py").write_text("def test_a(): pass\n")
    run = Run(
        (sys.executable, "-m", "pytest", "-p", "no:hypothesispytest"),
        root,
        {"PATH": os.environ["PATH"]},
        tmp_path / "scratch",
        "tests",
    )
    assert Pytest(repeat=1, functions=False).collect(run).reached is None


def test_what_older_interpreters_tell_is_named_by_the_sources(tmp_path: Path) -> None:
    (tmp_path / "lib.py").write_text(LIBRARY)
    (tmp_path / "broken.py").write_text("def f(:\n")
    told = {
        ("lib.py", "", 2): "lib.py:work",
        ("lib.py", "", 9): "lib.py:Counter.add",
        ("lib.py", "", 10): "lib.py:Counter.add.<locals>.inner",
        ("lib.py", "", 99): "lib.py:<module>",
        ("broken.py", "", 1): "broken.py:<module>",
        ("../lib.py", "", 2): "../lib.py:<module>",
        ("gone.py", "", 2): "gone.py:<module>",
        ("new.py", "f.<locals>.<genexpr>", 2): "new.py:f",
        ("new.py", "<lambda>", 2): "new.py:<module>",
        ("new\n.py", "f", 2): "new?.py:f",
    }
    for function, name in told.items():
        assert qualified([ReachedFunction(*function)], tmp_path) == {name}


def test_a_profile_keeps_what_was_reached_and_refuses_what_cannot_be() -> None:
    reached = Reached(["lib.py:work", "lib.py:square"], {"test_a": [0, 1], "": []})
    assert decode(sample_profile(reached=reached).encode()).reached == reached
    for wrong, message in (
        (Reached(["a:b"], {"test_a": [1]}), "points outside"),
        (Reached(["a:b"], {"test_a": [-1]}), "points outside"),
        (Reached(["a" * 10_001], {}), "over 10000 characters"),
    ):
        with pytest.raises(Malformed, match=message):
            sample_profile(reached=wrong).encode()


# what the tests could have written instead of the plugin

LINES = (
    b'{"kind": "started", "version": "9", "python": "3.11"}\n',
    b'{"kind": "function", "file": "a.py", "name": "f", "line": 1}\n',
    b'{"kind": "reached", "id": "t", "functions": [0]}\n',
    b'{"kind": "test", "id": "t", "outcome": "passed", "runs": [[1, 2, null]]}\n',
)


@given(
    strategies.lists(strategies.sampled_from(LINES) | strategies.binary(max_size=30), max_size=6)
)
def test_any_file_is_read_or_refused_in_one_line(
    tmp_path_factory: pytest.TempPathFactory, lines: list[bytes]
) -> None:
    folder = tmp_path_factory.mktemp("notes")
    (folder / "notes-1.jsonl").write_bytes(b"".join(lines))
    try:
        assert len(read_notes(folder).tests) <= len(lines)
    except CollectError as error:
        assert "\n" not in str(error) and "leave" in str(error)


def test_files_that_are_none_too_many_and_too_large_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    os.mkfifo(tmp_path / "notes-1.jsonl")
    with pytest.raises(CollectError, match="no longer a file"):
        read_notes(tmp_path)
    (tmp_path / "notes-1.jsonl").unlink()
    (tmp_path / "notes-1.jsonl").write_bytes(LINES[2])
    with pytest.raises(CollectError, match="functions of t are unknown"):
        read_notes(tmp_path)
    monkeypatch.setattr("perfvcs.collectors._shared.testing.pluginnotes.MAX_NOTES", 10)
    with pytest.raises(CollectError, match="measure fewer tests"):
        read_notes(tmp_path)
    for number in range(MAX_FILES + 1):
        (tmp_path / f"notes-{number}.jsonl").touch()
    with pytest.raises(CollectError, match="processes ran pytest"):
        read_notes(tmp_path)


# the front door

CONFIG = (
    'cmd = "python -m pytest -q -p no:hypothesispytest"\ncollectors = [{ name = "pytest", repeat ='
    ' 2 }]\nexecutions = 5\nenv = { PYTHONPATH = ".", PYTEST_DISABLE_PLUGIN_AUTOLOAD = "1" }'
)
SLOW = "import time\n\ndef work():\n    time.sleep({})\n\ndef other():\n    time.sleep(0.01)\n"
USES = (
    "import lib\ndef test_work(): lib.work()\ndef test_both(): lib.other(), lib.work()\ndef"
    " test_other(): lib.other()\n"
)


@pytest.fixture
def path(monkeypatch: pytest.MonkeyPatch) -> None:
    """``python`` is the one that has pytest."""
    monkeypatch.setenv("PATH", f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}")


@pytest.mark.usefixtures("path")
def test_a_slower_function_is_found_in_the_tests_that_run_it_and_nowhere_else(project, perf):
    project.configure(CONFIG)
    project.commit("a library", **{"lib.py": SLOW.format("0.01"), "test_lib.py": USES})
    project.commit("slower", **{"lib.py": SLOW.format("0.1")})
    said = perf("collect", "HEAD~1", "HEAD", "--json")
    assert len(said.document["stored"]) == 2 and project.git("status", "--porcelain") == ""
    report = perf("check", "HEAD~1", "HEAD", "--json", code=3).document
    slower = {
        change["uid"]
        for change in report["changes"]
        if (change["word"], change["metric"]) == ("degradation", "wall")
        if change["effect"] > 1  # not what a busy machine adds to a time
    }
    assert slower == {"test_lib.py::test_work", "test_lib.py::test_both"}
    repository = Repository.find()
    ((_, profile),) = repository.store.read_many(paths_of(repository, "HEAD"))
    assert profile.reached is not None
    number = profile.reached.functions.index("lib.py:work")
    assert {name for name, some in profile.reached.units.items() if number in some} == slower


@pytest.mark.usefixtures("path")
def test_a_command_that_fails_stores_nothing_and_exits_with_5(project, perf):
    project.configure(CONFIG)
    project.commit("broken", **{"test_lib.py": "import no_such_module\n"})
    said = perf("collect", code=5)
    assert (
        "test_lib.py: ModuleNotFoundError: No module named 'no_such_module'" in said.err
        and "nothing stored" in said.err
    )


def option(root: Path, *words: str) -> subprocess.CompletedProcess[str]:
    """``pytest --perf`` as people start it, whether or not the plugin is registered where these
    tests run.
    """
    command = (
        sys.executable,
        "-m",
        "pytest",
        "-p",
        "no:perfvcs",
        "-p",
        "perfvcs.pytestplugin",
        "-p",
        "no:cacheprovider",
        "--perf",
    )
    return subprocess.run(
        [*command, *words], cwd=root, capture_output=True, text=True, check=False, timeout=300
    )


def test_pytest_itself_measures_with_an_option(project):
    project.commit(
        "tests",
        **{
            "test_a.py": "def test_a(): pass\ndef test_b(): assert 0\n",
            ".gitignore": "__pycache__/\n",
        },
    )
    done = option(project.root, "--perf-executions", "2", "-k", "test_a or test_b")
    assert done.returncode == 1 and "1 failed, 1 passed" in done.stdout, (
        "the tests' own outcome stays"
    )
    told = done.stdout.partition("performance")[2]
    assert "test_a.py::test_a" in told and "stored 1 profile" in told
    assert "1 test failed and is not measured: test_a.py::test_b" in " ".join(told.split())
    repository = Repository.find(project.root)
    ((_, profile),) = repository.store.read_many(paths_of(repository, "HEAD"))
    assert profile.design.executions == 2 and profile.job.collector == "pytest"
    assert "--perf" not in profile.job.cmd and profile.job.cmd.endswith("-k 'test_a or test_b'")


@pytest.mark.parametrize("word", ["--collect-only", "--setup-plan", "--fixtures"])
def test_the_option_measures_nothing_where_no_test_runs(project, word):
    project.commit("tests", **{"test_a.py": "def test_a(): pass\n"})
    done = option(project.root, word)
    assert (
        done.returncode == 0
        and "measuring the tests" not in done.stdout
        and " performance =" not in done.stdout
    )


@pytest.mark.parametrize(
    ("words", "code", "message"),
    [
        (
            ["--perf-executions=0"],
            1,
            "perf: --perf-executions: give a number of processes, such as 5",
        ),
        (["-k", "nothing"], 5, "nothing is measured, since the tests did not run to their end"),
        (["--rootdir=.."], 1, "from the project's own folder: run pytest --perf in"),
    ],
)
def test_the_option_says_why_nothing_is_measured(project, words, code, message):
    project.commit("tests", **{"inner/test_a.py": "def test_a(): pass\n"})
    folder = project.root / "inner" if "--rootdir=.." in words else project.root
    done = option(folder, *words)
    assert done.returncode == code and message in done.stdout

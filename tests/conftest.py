"""Fixtures shared by all tests: real git repositories in temporary folders, isolated from the
user's own settings.
"""

from __future__ import annotations

import contextlib
import copy
import fcntl
import gc
import importlib.util
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import sysconfig
import time
from collections import Counter
from collections.abc import Callable, Generator, Iterator
from importlib import import_module
from pathlib import Path
from pkgutil import walk_packages
from types import ModuleType
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, TypeVar

import psutil
import pytest
from hypothesis import HealthCheck, settings

if TYPE_CHECKING:
    from forges import Service

    from perfvcs.index import Index
    from perfvcs.store import Store

# the threads of several workers would wait for each other; os.environ stays as it is
os.putenv("OPENBLAS_NUM_THREADS", "1")
import_module("numpy")
os.unsetenv("OPENBLAS_NUM_THREADS")

# searching for cycles as often as usual takes a third of the time of collecting these tests
gc.set_threshold(20_000, 20, 20)

# Others may use the machine too. A change is judged by the same examples each time; `make explore`
# looks for new ones.
LOADED = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow], derandomize=True)
settings.register_profile("same", LOADED)
settings.register_profile("explore", LOADED, derandomize=False, print_blob=True)
settings.load_profile(os.environ.get("PERFVCS_EXAMPLES", "same"))

TESTS = Path(__file__).resolve().parent
ROOT = TESTS.parent  # of the repository
EXITING = 0x4  # PF_EXITING of the kernel, among the flags of /proc/PID/stat
# how the reason begins of a test that is skipped for what the machine lacks
LACK = "missing here: "
COMPILERS = {"cc", "gcc", "g++", "clang", "clang++", "go", "cargo", "javac"}
SLOW_TOOLS = COMPILERS | {"chromium", "chromedriver", "valgrind", "/usr/bin/perf"}
SLOW_FIXTURES = {"browser", "project"}
Once = Callable[[str, Callable[[Path], object]], Path]
Made = TypeVar("Made")
# set in many containers, or by some people: what Python does, how programs print, where shells look
UNUSUAL = {
    "PYTHONUNBUFFERED",
    "PYTHONDONTWRITEBYTECODE",
    "FORCE_COLOR",
    "CLICOLOR_FORCE",
    "LANGUAGE",
    "TZ",
    "CDPATH",
}


def released() -> str:
    """The newest version of CHANGELOG.md: the one that users can install by its tag."""
    text = (ROOT / "CHANGELOG.md").read_text()
    return re.findall(r"^## (\d+\.\d+\.\d+) \(", text, re.MULTILINE)[0]


def script(path: Path) -> ModuleType:
    """A script as a module, named after its folder and itself."""
    spec = importlib.util.spec_from_file_location(f"{path.parent.name}_{path.stem}", path)
    assert spec and spec.loader
    # dataclasses look themselves up there
    module = sys.modules[spec.name] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


class Project:
    """A real git repository in a folder; ``commit`` writes files and returns the new commit's id.

    ``empty``: the git folder of a repository without commits, as git made it; a copy takes a sixth
    of another ``git init``.
    """

    empty: ClassVar[Path]
    begun: ClassVar[dict[Path, Any]] = {}

    def __init__(self, root: Path) -> None:
        self.root = root
        root.mkdir(parents=True, exist_ok=True)
        if not (root / ".git").exists():
            shutil.copytree(self.empty, root / ".git")

    def git(self, *args: str, check: bool = True) -> str:
        done = subprocess.run(
            ["git", *args], cwd=self.root, capture_output=True, text=True, check=False
        )
        if check and done.returncode:
            raise AssertionError(f"git {' '.join(args)}: {done.stderr}")
        return done.stdout.strip()

    def write(self, name: str, text: str, *, executable: bool = False) -> Path:
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        if executable:
            path.chmod(0o755)
        return path

    def configure(self, text: str = 'cmd = "sh work.sh"', *, top: str = "") -> None:
        """Write a perf.toml with one job ``work``, few executions, and these lines."""
        counts = "" if "executions" in text else "executions = 2\n"
        job = f'[[job]]\nname = "work"\n{counts}warmup = 0\n{text}\n'
        self.write("perf.toml", f"{top}\n{job}")

    def commit(self, message: str = "change", **files: str) -> str:
        """Write ``files`` and commit everything."""
        for name, text in files.items():
            self.write(name, text)
        self.git("add", "--all")
        self.git(
            "-c",
            "maintenance.auto=false",
            "commit",
            "--quiet",
            "--allow-empty",
            "--message",
            message,
        )
        head = self.root / ".git/refs/heads/main"  # as a rule; without another process
        on_main = (self.root / ".git/HEAD").is_file() and (
            self.root / ".git/HEAD"
        ).read_text() == "ref: refs/heads/main\n"
        return (
            head.read_text().strip()
            if on_main and head.is_file()
            else self.git("rev-parse", "HEAD")
        )

    def begin(self, name: str, make: Callable[[], Made]) -> Made:
        """What ``make`` does to the empty repository, and gives: done the first time in this
        process, copied from then on.

        With it come the profiles that it stored; what it gives must not depend on where the
        repository is.
        """
        kept = self.root.parents[1] / f"begun {name}"  # beside the folders of the tests
        if kept in self.begun:
            shutil.copytree(
                kept, self.root, symlinks=True, dirs_exist_ok=True, copy_function=replaced
            )
        else:
            self.begun[kept] = make()
            shutil.copytree(self.root, kept, symlinks=True)
        found: Made = copy.deepcopy(self.begun[kept])
        return found


def replaced(source: str, target: str) -> str:
    """Copy a file over one that may not be written, as git's objects."""
    Path(target).unlink(missing_ok=True)
    return shutil.copy2(source, target)


class Said(NamedTuple):
    """How a command ended and what it printed."""

    code: int
    out: str
    err: str

    @property
    def document(self) -> Any:
        """What it printed as JSON."""
        return json.loads(self.out)

    @property
    def flat(self) -> str:
        """What it printed, on one line."""
        return " ".join(self.out.split())


Perf = Callable[..., Said]  # runs a command, and checks its exit code


def children() -> set[int]:
    """The processes that this one started and that are there, ended ones that nobody waited for
    too.
    """
    return {process.pid for process in psutil.Process().children()}


@pytest.fixture
def perf() -> Callable[..., Said]:
    """Run a command of the group in this process: ``perf("log", "-n1")``; a traceback fails the
    test.
    """
    from click.testing import CliRunner

    from perfvcs.cli import group

    def run(*args: str, code: int | None = 0) -> Said:
        done = CliRunner().invoke(group, list(args), prog_name="perf")
        if done.exception is not None and not isinstance(done.exception, SystemExit):
            raise done.exception
        said = Said(done.exit_code, done.stdout, done.stderr)
        assert code is None or said.code == code, said
        return said

    return run


def bare_python(folder: Path) -> Path:
    """A folder with ``python`` and ``python3`` of an environment with nothing installed, whatever
    the machine's Python imports.

    A version manager puts a shell script there, and a package's .pth file may import half the
    standard library: ten times the start.
    """
    real = Path(sys._base_executable)  # type: ignore[attr-defined]
    (folder / "bin").mkdir()
    for name in ("python", "python3"):
        (folder / "bin" / name).symlink_to(real)
    (folder / "pyvenv.cfg").write_text(
        f"home = {real.parent}\ninclude-system-site-packages = false\n"
    )
    return folder / "bin"


@pytest.fixture(scope="session", autouse=True)
def isolated(tmp_path_factory: pytest.TempPathFactory) -> None:
    """No global git settings, a fixed identity, a cache folder of the test run's own, and signals
    as in a terminal.
    """
    # what a shell starts with & ignores it, and hands that on
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.signal(signal.SIGHUP, signal.SIG_DFL)  # as does nohup with this one
    home = tmp_path_factory.getbasetemp() / "home"
    home.mkdir(exist_ok=True)
    # git copies its own into each new repository: 14 examples of hooks
    template = home / "template"
    for folder in ("hooks", "info"):
        (template / folder).mkdir(parents=True, exist_ok=True)
    bare = bare_python(tmp_path_factory.mktemp("bare"))
    for name in [
        name for name in os.environ if name.startswith(("GIT_", "LC_")) or name in UNUSUAL
    ]:
        del os.environ[name]
    if os.environ.pop("COVERAGE_IN_PROCESS", None):
        # this process is measured already; what it starts is not
        os.environ.pop("COVERAGE_PROCESS_START", None)
    time.tzset()
    os.environ.update(
        HOME=str(home),
        XDG_CACHE_HOME=str(home / "cache"),
        GIT_CONFIG_GLOBAL=str(home / "gitconfig"),
        GIT_CONFIG_NOSYSTEM="1",
        GIT_AUTHOR_NAME="Ada",
        GIT_AUTHOR_EMAIL="ada@example.org",
        GIT_COMMITTER_NAME="Ada",
        GIT_COMMITTER_EMAIL="ada@example.org",
        GIT_TEMPLATE_DIR=str(template),
        NO_COLOR="1",
        COLUMNS="80",
        LANG="C.UTF-8",
        PATH=f"{bare}{os.pathsep}{os.environ['PATH']}",
        # of a pytest that a test starts: it would remove what earlier runs left, for half a minute
        PYTEST_DEBUG_TEMPROOT=str(home),
    )
    Project.empty = home / "empty" / ".git"
    subprocess.run(
        ["git", "init", "--quiet", "--initial-branch=main", Project.empty.parent], check=True
    )


@pytest.fixture
def commits(project: Project) -> list[str]:
    """Forty commits of a project with an empty store."""
    from histories import begun

    return begun(project, 40)


@pytest.fixture
def store(tmp_path: Path) -> Store:
    from perfvcs.store import Store

    return Store.create(tmp_path / "store", "Ada <ada@example.org>")


@pytest.fixture
def index(store: Store, tmp_path: Path) -> Iterator[Index]:
    from perfvcs.index import Index

    with contextlib.closing(Index(store, tmp_path / "index.db")) as index:
        yield index


@pytest.fixture
def service() -> Iterator[Service]:
    """A forge on this machine."""
    from forges import serving

    with serving() as service:
        yield service


@pytest.fixture(scope="session")
def once(tmp_path_factory: pytest.TempPathFactory) -> Once:
    """What one worker makes and all read: ``once("name", make)`` gives the folder that ``make``
    filled, here or in another worker.
    """
    base = tmp_path_factory.getbasetemp()
    top = (base.parent if "PYTEST_XDIST_WORKER" in os.environ else base) / "once"
    top.mkdir(exist_ok=True)

    def folder(name: str, make: Callable[[Path], object]) -> Path:
        found = top / name
        with (top / f"{name}.lock").open("a") as lock:  # of the kernel: whoever dies gives it back
            fcntl.flock(lock, fcntl.LOCK_EX)
            if not os.fstat(lock.fileno()).st_size:
                shutil.rmtree(found, ignore_errors=True)
                found.mkdir()
                make(found)
                lock.write("made\n")
        return found

    return folder


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Project:
    """An empty git repository that is the working directory."""
    found = Project(tmp_path / "project")
    monkeypatch.chdir(found.root)
    return found


def lack(what: str) -> None:
    """Skip a test for what this machine lacks; where PERFVCS_NO_SKIP is 1 it fails instead."""
    if os.environ.get("PERFVCS_NO_SKIP") == "1":
        pytest.fail(f"{LACK}{what}, and skipping is forbidden")
    pytest.skip(f"{LACK}{what}")


def need(*tools: str) -> None:
    """Skip a test unless these are here: commands, or headers of Python such as ``Python.h``."""
    for tool in tools:
        found = (
            Path(sysconfig.get_path("include"), tool).exists()
            if tool.endswith(".h")
            else shutil.which(tool)
        )
        if not found:
            lack(tool)


def emulated() -> str | None:
    """What is missing where qemu runs the programs of another processor: it forks where a program
    is to be spawned, so that nobody learns that it is not there and that its memory begins with
    the caller's, and refuses to make a process the reaper of its descendants.
    """
    try:
        child = os.posix_spawn("/no/such/program", ["none"], {})
    except OSError:
        return None
    os.waitpid(child, 0)
    return "a processor that is not emulated"


class Branches:
    """Measures branches in the tests whose ids begin in one of these ways: in all others it would
    take time for nothing.

    Of a test with parameters it measures the first ones: the others took a seventh of the time, for
    one percent. Tests by examples (hypothesis) are left out, too: they took a third of what
    measuring costs, for a sixth of a percent.
    """

    UNMEASURED = ("simulation", "hypothesis")

    def __init__(self, measured: tuple[str, ...]) -> None:
        from coverage import Coverage

        self.coverage, self.measured = Coverage.current(), measured
        # from the start of the process: what is imported counts
        self.running = self.coverage is not None
        for name in self.coverage.get_option("run:source") or () if self.coverage else ():
            for module in walk_packages(getattr(import_module(name), "__path__", ()), f"{name}."):
                # else one that a test in between imports would count as not run
                import_module(module.name)

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Generator[None, bool, bool]:
        parameters = getattr(item, "callspec", None)
        first = parameters is None or not any(parameters.indices.values())
        left_out = any(item.get_closest_marker(mark) for mark in self.UNMEASURED)
        wanted = item.nodeid.startswith(self.measured) and first and not left_out
        if self.coverage is not None and wanted != self.running:
            (self.coverage.start if wanted else self.coverage.stop)()
            self.running = wanted
        return (yield)


def pytest_configure(config: pytest.Config) -> None:
    if measured := os.environ.get("COVERAGE_IN_PROCESS"):
        config.pluginmanager.register(Branches(tuple(measured.split())))


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark ``slow`` every test that draws by lot for seconds, or has a tool or a fixture that takes
    long: a compiler, a browser, a repository. The others that are slow say so themselves.
    """
    for item in items:
        tools = {tool for mark in item.iter_markers("needs") for tool in mark.args}
        drawn = item.get_closest_marker("simulation") is not None
        if drawn or tools & SLOW_TOOLS or SLOW_FIXTURES & set(getattr(item, "fixturenames", ())):
            item.add_marker("slow")


@pytest.hookimpl(trylast=True)
def pytest_collection_finish() -> None:
    """All that was imported and collected stays to the end: it is not searched for cycles again and
    again.
    """
    gc.freeze()


def pytest_runtest_setup(item: pytest.Item) -> None:
    for mark in item.iter_markers("needs"):
        need(*mark.args)
    for mark in item.iter_markers("unless"):
        if mark.args[0]:
            lack(mark.args[0])


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Say in one line for each reason how much was skipped; `make test` learns it too, whose bound
    of coverage is for a whole run.
    """
    reports = [
        report.longrepr
        for report in terminalreporter.stats.get("skipped", [])
        if isinstance(report.longrepr, tuple)
    ]
    reasons = Counter(reason.removeprefix("Skipped: ") for _, _, reason in reports)
    for reason, count in reasons.most_common():
        terminalreporter.write_line(f"SKIPPED [{count}] {reason}")
    lacking = sum(count for reason, count in reasons.items() if reason.startswith(LACK))
    if lacking and "COVERAGE_FILE" in os.environ:
        Path(f"{os.environ['COVERAGE_FILE']}-skipped").write_text(f"{lacking}\n")


# Forks twice into a session of its own, lets go of all that would show where it comes from, and
# does not end when it is asked to.
HIDDEN_DAEMON = """
import os, signal, sys
reading, writing = os.pipe()
if os.fork() == 0:
    os.setsid()
    if os.fork():
        os._exit(0)
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    os.chdir("/")
    with open(sys.argv[1], "w") as file:
        file.write(str(os.getpid()))
    os.closerange(0, 1024)
    os.execve("/bin/sleep", ["sleep", "960.0719"], {})
os.close(writing)
os.read(reading, 1)  # ends when the daemon has closed its end
"""


def processes_in(folder: Path) -> list[list[str]]:
    """The command lines of all other processes that work below a folder, but of those that are
    killed and about to end.
    """
    found = []
    for process in psutil.process_iter():
        with contextlib.suppress(psutil.Error, OSError):
            below = f"{process.cwd()}/".startswith(f"{folder}/")
            if process.pid != os.getpid() and below and not ending(process.pid):
                found.append(process.cmdline())
    return found


def ending(pid: int) -> bool:
    """Whether a process is killed, or has ended but for what the kernel tidies up."""
    pending = re.findall(
        r"^S\w+Pnd:\s*(\w+)$", Path(f"/proc/{pid}/status").read_text(), flags=re.MULTILINE
    )
    flags = int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[6])
    return bool(flags & EXITING) or any(
        int(signals, 16) & 1 << signal.SIGKILL - 1 for signals in pending
    )


@pytest.fixture(scope="session")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """A headless Chromium with a profile folder of its own."""
    from selenium import webdriver

    options = webdriver.ChromeOptions()
    options.binary_location = "/usr/bin/chromium"
    flags = (
        "headless no-sandbox disable-gpu disable-quic no-first-run disable-background-networking"
        " disable-component-update"
    )
    for flag in [
        *flags.split(),
        "disable-sync",
        "disable-dev-shm-usage",
        f"user-data-dir={tmp_path_factory.mktemp('chromium')}",
    ]:
        options.add_argument(f"--{flag}")
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    driver = webdriver.Chrome(
        options=options, service=webdriver.ChromeService("/usr/bin/chromedriver")
    )
    driver.set_script_timeout(300)
    yield driver
    driver.quit()


@pytest.fixture
def no_compiler(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[None]:
    """A machine whose PATH has nothing, for a launcher that was not prepared yet."""
    from perfvcs import launcher

    monkeypatch.setenv("PATH", str(tmp_path))
    launcher._prepared.cache_clear()
    yield
    launcher._prepared.cache_clear()

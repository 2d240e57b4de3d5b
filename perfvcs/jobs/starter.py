"""The first perf.toml of a project: commented, and made from a proposal of what to measure."""

from __future__ import annotations

import re
import shlex
from collections.abc import Collection, Iterator
from contextlib import suppress
from math import ceil
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from perfvcs.profile.rules import LARGEST_RULES
from perfvcs.system.foreign import beginning

TEMPLATE = """\
# What perfvcs measures. It is versioned with the project; the results in .perf/ are not.
# {found}

{build}
# The benchmark's own files. Every revision is measured with the newest ones:
{overlay}
# Untracked files that no job reads, as in .gitignore; all others make HEAD count as changed:
# dirty = {{ ignore = ["scratch/", "*.log"] }}

{python}# One job of the matrix: cmd x args x workloads x collectors. The command is run without a shell
# in the folder of the measured revision (`shell = true` if it needs one).
{jobs}"""
JOB = """\
[[job]]
name = {name}
cmd = {cmd}
{reads}{hints}{collectors}
executions = {executions:<8} # processes per revision; five is the least for a verdict, ten is better
warmup = 1            # warm-up executions; their results are discarded
timeout = {timeout:<11} # for one execution
"""
READS = "# Each benchmark that the command reports is measured by itself (docs/harnesses.md):\n"
HINTS = """\
# args = ["", "--reverse"]
# workloads = ["data/1k.txt", {{ integers = [1000, 10000] }}, {{ files = ["1kB", "1MB"] }}]
""".replace("{{", "{").replace("}}", "}")
EXACT = 'exact = "auto"        # counts work beside time where that is cheap; or "always", "never"'
# seconds of an execution from which on fewer are proposed, and the numbers
LONG, FEW, MANY = 5.0, 5, 10
USUAL_TIMEOUT, TIMES = 60.0, 6  # seconds; and how much longer than it took an execution may take
# where suites keep their configuration
SUITE_FOLDERS = ("", "benchmarks", "asv_bench", "asv_benchmarks", "benchmark", "bench")
RUNNER = "python -m perfvcs_asv"
# or a string, which may hold slashes
COMMENT = re.compile(r'("(?:[^"\\\n]|\\.)*")|//[^\n]*|/\*.*?\*/', re.DOTALL)
BENCHMARK = re.compile(r"^[ \t]*(?:async )?def (?:time|track|peakmem)_\w", re.MULTILINE)
MOST_MODULES = 3  # proposed one by one, in case the whole suite takes too long


class Proposal(Struct, frozen=True):
    """A command to measure and what builds it; ``found`` says why.

    ``collector`` is a TOML value, empty for time; so is ``reads``, empty where no harness reports.
    ``beside`` are further commands, by the names of
    their jobs. ``copied`` are those commands, also of the build, that are text of a file of the
    project, each behind the file.

    ``python`` lists what pip installs, None for no environment; ``requires`` lists what else it
    installs, ``versions`` the interpreters, if not perfvcs's own.
    """

    found: str
    cmd: str
    name: str
    build: tuple[str, ...] = ()
    overlay: str = ""
    python: tuple[str, ...] | None = None
    requires: tuple[str, ...] = ()
    versions: tuple[str, ...] = ()
    collector: str = ""
    beside: tuple[tuple[str, str], ...] = ()
    reads: str = ""
    copied: tuple[tuple[str, str], ...] = ()

    @property
    def commands(self) -> dict[str, str]:
        """All commands by the names of their jobs."""
        return {self.name: self.cmd, **dict(self.beside)}

    @property
    def preparation(self) -> tuple[str, ...]:
        """What runs before the command, as people would type it."""
        if self.python is None:
            return self.build
        version = f"python{self.versions[0]} -m " if self.versions else ""
        words = dict.fromkeys((*self.requires, *self.python))
        return (f"{version}pip install {shlex.join(words)}", *self.build)

    def only(self, names: Collection[str]) -> Proposal:
        """The proposal with these jobs alone."""
        kept = [(name, cmd) for name, cmd in self.commands.items() if name in names]
        (name, cmd), *beside = kept
        return replace(self, name=name, cmd=cmd, beside=tuple(beside))

    def within(self, folder: str) -> Proposal:
        """The proposal of a project in a ``folder`` of the repository."""
        there = f"env -C {shlex.quote(folder)} "
        return replace(
            self,
            found=f"{self.found}, in {folder}/",
            cmd=f"{there}{self.cmd}",
            build=tuple(f"{there}{line}" for line in self.build),
            overlay=self.overlay and f"{folder}/{self.overlay}",
            beside=tuple((name, f"{there}{cmd}") for name, cmd in self.beside),
            reads=self.reads.replace('file = "', f'file = "{folder}/'),
            copied=tuple((f"{folder}/{path}", f"{there}{cmd}") for path, cmd in self.copied),
        )

    def toml(self, seconds: float | None = None) -> str:
        """The commented configuration; ``seconds`` is the time of one execution of all jobs, if it
        was tried.
        """
        build = 'build = []  # such as ["make -j2"], in every revision'
        if self.build:
            build = f"build = {_listed(self.build)}"
        overlay = '# overlay = ["bench/"]'
        if self.overlay:
            overlay = f"overlay = [{quoted(self.overlay)}]"
        python = ""
        if self.python is not None:
            versions = '# versions = ["3.11"]'
            if self.versions:
                versions = f"versions = {_listed(self.versions)}"
            python = (
                f"# One virtual environment per revision:\n[python]\n{versions}\n"
                f"install = {_listed(self.python)}\nrequires = {_listed(self.requires)}\n"
            )
        return TEMPLATE.format(
            found=self.found,
            build=build,
            overlay=f"{overlay}\n",
            python=f"{python}\n" if python else "",
            jobs="\n".join(self._job(name, seconds) for name in self.commands),
        )

    def _job(self, name: str, seconds: float | None) -> str:
        """The table of a job; what may be added is said in the first."""
        collectors = '# collectors = ["time"]'
        if self.collector:
            collectors = f"collectors = [{self.collector}]"
        timeout = max(USUAL_TIMEOUT, TIMES * (seconds or 0.0))
        return JOB.format(
            name=quoted(name),
            cmd=quoted(self.commands[name]),
            hints=HINTS if name == self.name else "",
            executions=self.executions(seconds),
            timeout=f'"{ceil(timeout)}s"',
            collectors=f"{collectors}\n{EXACT}",
            reads=f"{READS}reads = {self.reads}\n" if self.reads else "",
        )

    def executions(self, seconds: float | None) -> int:
        """How many executions to propose, given the ``seconds`` of one."""
        return FEW if seconds is not None and seconds > LONG else MANY


def _listed(words: tuple[str, ...]) -> str:
    return f"[{', '.join(map(quoted, words))}]"


def quoted(text: str) -> str:
    """A TOML string."""
    import msgspec

    return re.sub("\x7f", "\\\\u007f", msgspec.json.encode(text).decode())


def proposals(root: Path) -> Iterator[Proposal]:
    """The whole suite of a project, then some of its modules, each with what the configuration
    requires and without.
    """
    for path in (root / folder / "asv.conf.json" for folder in SUITE_FOLDERS):
        text = beginning(path, LARGEST_RULES)
        if not text:
            continue
        name, required = _configured(text)
        folder = (path.parent / name).resolve()
        if not folder.is_dir() or root.resolve() not in folder.parents:
            continue
        inside = folder.relative_to(root.resolve()).as_posix()
        names = [
            path.stem
            for path in sorted(folder.glob("*.py"))
            if BENCHMARK.search(beginning(path, LARGEST_RULES))
        ]
        for chosen in ("", *names[:MOST_MODULES]):
            cmd = shlex.join([*RUNNER.split(), inside, *([chosen] if chosen else [])])
            part = f": {chosen}" if chosen else ""
            for requires in dict.fromkeys((required, ())):
                yield Proposal(
                    f"a suite of asv, whose files run without it{part}",
                    cmd,
                    "asv",
                    overlay=f"{inside}/",
                    python=(".",),
                    requires=requires,
                )
        return


def _configured(text: str) -> tuple[str, tuple[str, ...]]:
    """The folder of the benchmarks, beside the configuration, and what pip has to install for
    them.
    """
    import msgspec

    class Configuration(msgspec.Struct):
        benchmark_dir: str = "benchmarks"
        matrix: dict[str, object] = {}

    configuration = Configuration()
    plain = COMMENT.sub(lambda match: match[1] or "", text)
    with suppress(msgspec.DecodeError, RecursionError):
        configuration = msgspec.json.decode(
            re.sub(r",(\s*[}\]])", r"\1", plain), type=Configuration
        )
    matrix = configuration.matrix
    # older suites have no "req"
    table = matrix.get("req", {} if {"env", "env_nobuild"} & set(matrix) else matrix)
    return configuration.benchmark_dir, tuple(
        _requirements(table) if isinstance(table, dict) else ()
    )


def _requirements(table: dict[str, object]) -> Iterator[str]:
    """One version of each package; an empty or missing one stands for the newest."""
    for name, versions in table.items():
        package = name.removeprefix("pip+")
        if not re.fullmatch(r"\w[\w.\[\]-]*", package):
            continue
        listed = versions if isinstance(versions, list) else []
        pinned = [version for version in listed if isinstance(version, str)]
        has_version = pinned and re.fullmatch(r"[\w.*]+", pinned[-1])
        yield f"{package}=={pinned[-1]}" if has_version else package

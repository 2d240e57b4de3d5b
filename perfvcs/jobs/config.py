"""perf.toml: what to measure and how, validated with the cure for every mistake."""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, Literal

import msgspec

from perfvcs.errors import UsageError
from perfvcs.jobs.harness import checked
from perfvcs.plugins.collector import Reads
from perfvcs.profile.rules import LARGEST_RULES, RULES_FILE, Rule, Rules
from perfvcs.system.executionresult import verified
from perfvcs.system.foreign import content, toml
from perfvcs.text.mistakes import in_file

DEFAULT = 10  # executions
MAX_COMMAND = 20_000  # characters
KEEP, MOST_KEPT = 3, 1000  # virtual environments of each interpreter
MOST_PATTERNS = 30_000  # characters of all patterns; git takes them as arguments
INDEX_NAME = r"^(?:[A-Za-z0-9][A-Za-z0-9._-]{0,200}(?:\[[A-Za-z0-9,._ -]{1,200}\])?)?$"
_UNITS = {"ms": 0.001, "s": 1.0, "min": 60.0, "m": 60.0, "h": 3600.0}

NamedOptions = str | dict[str, Any]


class BadConfig(UsageError):
    """perf.toml cannot be used; the message names the place and the cure."""


class PythonTable(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    """``[python]``: one virtual environment per revision and interpreter.

    ``released``: the project's name in the package index, from which `perf collect --released`
    installs; it stands with its version where a release is measured.
    """

    versions: tuple[str, ...] = ()
    install: tuple[str, ...] = (".",)
    requires: tuple[str, ...] = ()
    released: Annotated[str, msgspec.Meta(pattern=INDEX_NAME)] = ""
    keep: int = KEEP

    @property
    def release(self) -> str:
        """What is installed in place of ``install``, where a release is measured; else empty."""
        return self.released if "==" in self.released else ""


class KnobsTable(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    """``[knobs]``: settings of the machine that need no root; each is recorded."""

    pin: str = "none"
    aslr: bool = True
    padding: bool = True


class DirtyTable(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    """``[dirty]``: untracked files that no job sees, by patterns as in .gitignore."""

    ignore: tuple[str, ...] = ()


class HookTable(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    """``[hook]``: how long a push waits for the measurement of what it brings; whether what a hook
    measured is pushed.

    ``select``: the hook leaves out what a commit cannot touch.
    """

    wait: str | int | float = "5min"
    push: bool = False
    select: bool = False

    @property
    def seconds(self) -> float:
        """The time in seconds; 0 lets every push through at once."""
        return (
            0.0
            if re.fullmatch(r"\s*+0+(\.0*)?\s*+[a-z]*\s*+", str(self.wait))
            else seconds(self.wait, "[hook] wait")
        )


class HostsTable(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    """``[hosts]``: where ``--scheduler ssh`` starts workers, certificates, and how long is waited
    for what.

    ``stalled``: a process that neither computes nor waits for input, output or a timer for so long
    is ended. ``patience``: how long without a single worker, before the session ends. ``variables``
    of the environment travel to the hosts. ``python``: the interpreter that SSH starts there;
    empty: the path of this one.
    """

    ssh: tuple[str, ...] = ()
    python: str = ""
    tls_ca: str = ""
    tls_cert: str = ""
    tls_key: str = ""
    stalled: str | int | float = "60s"
    patience: str | int | float = "60s"
    variables: tuple[str, ...] = ()


class JudgeTable(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    """``[judge]``: the commands that `perf judge` has a change pass before it is measured."""

    correct: tuple[str, ...] = ()


class AutoTable(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    """``executions = { find = "5%" }``: as many, between ``least`` and ``most``, as find a change
    of that size.
    """

    find: str = "2%"
    least: int = 5
    most: int = 30

    @property
    def effect(self) -> float:
        """The change to be found, as a share: 0.02 is 2 %."""
        return percent(self.find)


class JobTable(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    """One ``[[job]]``: a row of the matrix."""

    cmd: str | tuple[str, ...]
    name: str = ""
    formerly: tuple[str, ...] = ()
    args: tuple[str, ...] = ("",)
    workloads: tuple[NamedOptions, ...] | None = None
    collectors: tuple[NamedOptions, ...] = ("time",)
    postprocessors: tuple[NamedOptions, ...] = ()
    executions: int | str | AutoTable = DEFAULT
    warmup: int = 1
    binaries: int = 1
    exact: Literal["auto", "always", "never"] = "auto"
    retries: int = 2
    timeout: str | int | float = "300s"
    shell: bool = False
    env: dict[str, str] = {}
    hosts: str = ""
    output: tuple[str, ...] | bool = ()
    same_output: bool = False
    normalise: str = ""
    isolate: bool = False
    reads: str | Reads | None = None


class Config(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    """The whole of perf.toml."""

    job: tuple[JobTable, ...] = ()
    build: tuple[str, ...] = ()
    build_timeout: str | int | float = "30min"
    overlay: tuple[str, ...] = ()
    submodules: bool | tuple[str, ...] = True
    env: dict[str, str] = {}
    python: PythonTable | None = None
    knobs: KnobsTable = KnobsTable()
    dirty: DirtyTable = DirtyTable()
    hook: HookTable = HookTable()
    hosts: HostsTable = HostsTable()
    judge: JudgeTable = JudgeTable()
    check: tuple[Rule, ...] = ()
    check_rules: Literal["first", "all"] = "first"

    @property
    def rules(self) -> Rules:
        """The ``[[check]]`` tables, and whether the first that fits or all judge."""
        return Rules(self.check, self.check_rules)


def seconds(value: object, path: str) -> float:
    """A time such as ``"60s"``, ``"5min"``, ``"500ms"`` or a number, in seconds."""
    match = re.fullmatch(r"\s*+(\d+(?:\.\d*)?)\s*+([a-z]*)\s*+", str(value))
    if match and (match[2] or "s") in _UNITS and float(match[1]) > 0:
        return float(match[1]) * _UNITS[match[2] or "s"]
    raise BadConfig(f'{path}: {value!r} is not a time; write it like "60s", "5min" or "500ms"')


def words(command: str, path: str, *, program: bool = True) -> list[str]:
    """A command split as a shell would; the first word is a ``program``, unless these are only
    arguments. Raises BadConfig.
    """
    if len(command) > MAX_COMMAND:  # splitting it takes a time quadratic in its words
        raise BadConfig(
            f"{path}: it has over {MAX_COMMAND:,} characters: put the command into a script"
        )
    try:
        parts = shlex.split(command)
    except ValueError as error:
        raise BadConfig(
            f"{path}: {command!r} cannot be split into words ({str(error).lower()}): check its"
            " quotes"
        ) from None
    if program and not any(parts[:1]):
        raise BadConfig(f"{path}: {command!r} names no program: write one, or take it out")
    return parts


def load(path: Path) -> Config:
    """Read perf.toml; raises BadConfig."""
    try:
        text = content(path, LARGEST_RULES + 1).decode("utf-8")
        if len(text) > LARGEST_RULES:
            raise BadConfig(
                f"{path.name} has more than {LARGEST_RULES:,} bytes: keep data in files of"
                " their own"
            )
        return read(toml(text, lambda why: BadConfig(f"{path.name} is not TOML: {why}")), path.name)
    except FileNotFoundError:
        raise BadConfig(
            f"there is no {path.name}: make one with `perf init`, or measure one command: perf"
            " collect -- CMD"
        ) from None
    except UnicodeDecodeError as error:
        raise BadConfig(f"{path.name} is not TOML: {error}") from None
    except OSError as error:
        raise BadConfig(f"{path.name} cannot be read: {error.strerror}") from None


def installs(config: Config) -> tuple[str, ...]:
    """What ``[python]`` puts into every virtual environment."""
    return (*config.python.requires, *config.python.install) if config.python else ()


def kept(root: Path) -> int:
    """The number of virtual environments that a project keeps: perf.toml's, or the default if it
    cannot be read.
    """
    try:
        table = load(root / RULES_FILE).python
    except BadConfig:
        return KEEP
    return KEEP if table is None else table.keep


def read(table: Mapping[str, Any], name: str = RULES_FILE) -> Config:
    """The configuration in a parsed table; raises BadConfig with a suggestion for a wrong key."""
    if key := _with_nul(table):
        raise BadConfig(
            f"{name}: {key} has a NUL character, which no command, path or variable can hold: take"
            " it out"
        )
    try:
        config = msgspec.convert(table, Config)
    except msgspec.ValidationError as error:
        raise BadConfig(f"{name}: {in_file(str(error), Config)}") from None
    seconds(config.build_timeout, "build_timeout")
    if config.python and not 1 <= config.python.keep <= MOST_KEPT:
        raise BadConfig(
            f"{name}: [python] keep is {config.python.keep}: give a number of environments from 1"
            f" to {MOST_KEPT:,}"
        )
    assert config.hook.seconds >= 0  # raises where it is not a time
    seconds(config.hosts.stalled, "[hosts] stalled")
    seconds(config.hosts.patience, "[hosts] patience")
    for number, job in enumerate(config.job, 1):
        _check_executions(job, f"{name}: [[job]] no. {number}, executions")
        _check_output(job, f"{name}: [[job]] no. {number}")
        try:
            checked(job.reads)
        except UsageError as error:
            raise BadConfig(f"{name}: [[job]] no. {number}, reads: {error}") from None
    for command in config.build:
        words(command, "build")
    for path in config.submodules if isinstance(config.submodules, tuple) else ():
        if (
            not path
            or path.startswith(("/", "./"))
            or path.endswith("/")
            or ".." in path.split("/")
        ):
            raise BadConfig(
                f"{name}: submodules: {path!r} is not the path of a submodule: write it as `git"
                " submodule status` does"
            )
    if sum(map(len, config.dirty.ignore)) > MOST_PATTERNS:
        raise BadConfig(
            f"{name}: dirty.ignore has over {MOST_PATTERNS:,} characters: write patterns such as"
            " `scratch/`, not files"
        )
    if config.check:
        from perfvcs.check.assignment import verify
    for number, rule in enumerate(config.check, 1):
        try:
            verify(rule)
        except UsageError as error:
            raise BadConfig(f"{name}: [[check]] no. {number}: {error}") from None
    return config


def percent(text: str) -> float:
    """A share written as ``"2%"`` or ``"0.5 %"``; raises ValueError unless it is above 0 and at
    most 1,000 %.
    """
    share = re.fullmatch(r"\s*(\d+(?:\.\d*)?)\s*%\s*", text)
    if not share or not 0 < float(share[1]) <= 1000:
        raise ValueError(f'{text!r} is not a size of a change; write it like "2%"')
    return float(share[1]) / 100


def _check_executions(job: JobTable, path: str) -> None:
    """Raises BadConfig for a word that is not ``auto``, and for a plan that cannot be made."""
    asked = job.executions
    if isinstance(asked, int):
        return
    if isinstance(asked, str) and asked != "auto":
        raise BadConfig(
            f'{path}: {asked!r} is not known: give a whole number, "auto", or a table such as'
            ' { find = "5%", most = 50 }'
        )
    if job.binaries > 1:
        raise BadConfig(
            f"{path}: with several builds these are what counts: give a number; `perf plan` says"
            " how many builds"
        )
    if isinstance(asked, AutoTable):
        try:
            percent(asked.find)
        except ValueError as error:
            raise BadConfig(f"{path}, find: {error}") from None
        if not 1 <= asked.least <= asked.most <= 1_000_000:
            raise BadConfig(
                f"{path}: `least` is {asked.least} and `most` {asked.most}: give 1 <= least <= most"
                " <= 1,000,000"
            )


def _check_output(job: JobTable, path: str) -> None:
    """Raises BadConfig for what cannot be read as output, and for a pattern that could take for
    ever.
    """
    if job.output is True:
        raise BadConfig(f'{path}, output: name files such as ["out/*.json"], or write false')
    if job.output is False and (job.same_output or job.normalise):
        raise BadConfig(f"{path}: `output = false` reads nothing: take that or the others out")
    for pattern in job.output or ():
        if not pattern or pattern.startswith("/") or {"..", "**"} & set(pattern.split("/")):
            raise BadConfig(
                f"{path}, output: {pattern!r} does not mean files below the folder that the job"
                ' runs in: write it like "out/*.json"'
            )
    if job.normalise and (problem := verified(job.normalise)):
        raise BadConfig(f"{path}, normalise: {problem}")


def _with_nul(value: object, key: str = "") -> str:
    """The key below which a string has a NUL; empty when none has."""
    if isinstance(value, Mapping):
        return next(
            filter(
                None,
                (_with_nul(name, name) or _with_nul(inner, name) for name, inner in value.items()),
            ),
            "",
        )
    if isinstance(value, list):
        return next(filter(None, (_with_nul(inner, key) for inner in value)), "")
    return repr(key) if isinstance(value, str) and "\0" in value else ""


def single(command: Sequence[str], settings: JobTable | None = None) -> Config:
    """The configuration of one ad-hoc command; its ``settings`` name no command."""
    try:
        "".join(command).encode()
    except UnicodeEncodeError:
        raise BadConfig(
            "the command has bytes that are not UTF-8, which a profile cannot hold: rename the"
            " file, or use a link"
        ) from None
    job = msgspec.structs.replace(settings or JobTable(""), cmd=shlex.join(command))
    return Config(job=(job,))

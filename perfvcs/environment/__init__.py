"""The machine and toolchain as a profile records them, and the knobs and variables under which
measured processes run.
"""

from __future__ import annotations

import os
import platform
import re
import shlex
import subprocess
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct

from perfvcs.environment import noise
from perfvcs.environment.noise import ROOT_FOLDER, Noise, read
from perfvcs.environment.variables import without_secrets
from perfvcs.errors import UsageError
from perfvcs.profile import Environment, buildidentity
from perfvcs.system.children import processors

if TYPE_CHECKING:
    from random import Random

PADDING, HEAP = "PERFVCS_PADDING", "PERFVCS_SHUFFLE"
# as hyperfine: a page, so that the stack's place within its page is spread evenly
MAX_PADDING = 4096
MAX_VALUE = 200

# Variables that change how fast the same program is; nothing else of the environment is ever
# stored.
RECORDED = (
    "GLIBC_TUNABLES",
    "GOGC",
    "GOMAXPROCS",
    "LD_BIND_NOW",
    "LD_PRELOAD",
    "MALLOC_ARENA_MAX",
    "MKL_NUM_THREADS",
    "OMP_NUM_THREADS",
    "OMP_PROC_BIND",
    "OPENBLAS_NUM_THREADS",
    "PYTHONDONTWRITEBYTECODE",
    "PYTHONHASHSEED",
    "PYTHONMALLOC",
    "PYTHONOPTIMIZE",
    "PYTHON_GIL",
    "PYTHON_JIT",
    "RAYON_NUM_THREADS",
)

_GIT_KEPT = (
    r"GIT_(SSH.*|SSL_.*|PROXY_.*|ASKPASS|TERMINAL_PROMPT|CONFIG_(GLOBAL|SYSTEM|NOSYSTEM)"
    r"|(AUTHOR|COMMITTER)_(NAME|EMAIL))"
)
_DROPPED = (
    r"GIT_.*|PERFVCS_.*|COV_CORE_.*|COVERAGE_PROCESS_.*|LC_.*|LANG|LANGUAGE|PWD|OLDPWD|_|__PYVENV_LAUNCHER__|"
    r"PYTHON(PATH|HOME|STARTUP|EXECUTABLE|HASHSEED|INSPECT|PROFILEIMPORTTIME|FAULTHANDLER|TRACEMALLOC|WARNINGS|DEVMODE)"
)


class Knobs(Struct, frozen=True):
    """Settings of measured processes that need no root.

    ``pin``: ``none``, ``auto`` (one processor is chosen) or a list such as ``0,2-3``. ``aslr``:
    False switches address space randomisation off. ``padding``: a variable of random length is
    added to the environment, which moves the stack, and the heap of Python is shuffled. Raises
    UsageError for a ``pin`` of another form.
    """

    pin: str = "none"
    aslr: bool = True
    padding: bool = True

    def __post_init__(self) -> None:
        if self.pin not in ("none", "auto"):
            parse_cpus(self.pin)

    def cpus(self, root: Path = ROOT_FOLDER) -> tuple[int, ...]:
        """The processors to pin to, empty for none; raises UsageError for one that this process may
        not use.
        """
        if self.pin == "none" or (self.pin == "auto" and not hasattr(os, "sched_setaffinity")):
            return ()
        available = processors()
        if self.pin == "auto":
            return _choose(available, root)
        wanted = parse_cpus(self.pin)
        missing = sorted(set(wanted) - set(available))
        if missing:
            raise UsageError(
                f'pin = "{self.pin}": there is no processor {missing[0]} here; choose from'
                f' {_ranges(available)}, or "auto"'
            )
        return wanted

    def fields(self, root: Path = ROOT_FOLDER) -> dict[str, str]:
        """What is recorded of the knobs, and compared: ``pin``, ``aslr`` and ``padding``."""
        randomized = self.aslr and read(root / "proc/sys/kernel/randomize_va_space") != "0"
        return {
            "pin": _ranges(self.cpus(root)) or "none",
            "aslr": _switch(on=randomized),
            "padding": _switch(on=self.padding),
        }

    def padded(self, env: Mapping[str, str], random: Random) -> dict[str, str]:
        """The environment of one execution: with ``padding``, one variable more, of 0 to 4096
        characters.
        """
        return {**env, PADDING: "x" * random.randint(0, MAX_PADDING)} if self.padding else dict(env)

    def shuffled(self, env: Mapping[str, str], seed: int, version: int) -> dict[str, str]:
        """The environment of one execution of a version: with ``padding``, the seed by which Python
        shuffles its heap, and none with the seed 0, where executions are to be equal.

        Each version of a block has another one. What differs only by where objects lie then differs
        anew in each block, and is a part of the interval.
        """
        from random import Random

        if not (self.padding and seed):
            return dict(env)
        return {HEAP: str(Random(f"{seed} heap {version}").getrandbits(31)), **env}


def parse_cpus(text: str) -> tuple[int, ...]:
    """The processor numbers of a list such as ``0,2-3``, sorted; raises UsageError."""
    cpus: set[int] = set()
    for part in text.split(","):
        numbers = re.fullmatch(r"\s*(\d{1,5})\s*(?:-\s*(\d{1,5})\s*)?", part)
        if not numbers or int(numbers[2] or numbers[1]) < int(numbers[1]):
            raise UsageError(
                f'pin = "{text}" is not a list of processors: write "none", "auto", or numbers such'
                ' as "0,2-3"'
            )
        cpus.update(range(int(numbers[1]), int(numbers[2] or numbers[1]) + 1))
    return tuple(sorted(cpus))


def _switch(*, on: bool) -> str:
    return "on" if on else "off"


def _ranges(cpus: Sequence[int]) -> str:
    parts: list[list[int]] = []
    for cpu in cpus:
        if parts and parts[-1][-1] == cpu - 1:
            parts[-1].append(cpu)
        else:
            parts.append([cpu])
    return ",".join(f"{part[0]}-{part[-1]}" if len(part) > 1 else str(part[0]) for part in parts)


def _choose(available: Sequence[int], root: Path) -> tuple[int, ...]:
    """One processor: of the isolated ones if there are any, of the fastest kind, and the last, as
    interrupts prefer the first.
    """
    if len(available) < 2:
        return ()
    cpus = root / "sys/devices/system/cpu"
    isolated = read(cpus / "isolated")
    free = set(parse_cpus(isolated)) & set(available) if isolated else set()
    capacity = {cpu: int(read(cpus / f"cpu{cpu}/cpu_capacity") or 0) for cpu in free or available}
    return (max(capacity, key=lambda cpu: (capacity[cpu], cpu)),)


def clean(environ: Mapping[str, str], extra: Mapping[str, str] | None = None) -> dict[str, str]:
    """The environment of a measured process: the caller's without what would mislead it, then
    ``extra``.

    Dropped: what git tells its hooks, a CI service's tokens, Python's search paths and hash seed,
    coverage's and our own variables, the shell's place, and the locale, which becomes C.UTF-8
    unless ``extra`` names one: a hook, a terminal and a CI machine measure the same.
    """
    given = dict(extra or {})
    open_ones = without_secrets(environ).items()
    harmless = {
        name: value
        for name, value in open_ones
        if re.fullmatch(_GIT_KEPT, name) or not re.fullmatch(_DROPPED, name)
    }
    if not any(name == "LANG" or name.startswith("LC_") for name in given):
        harmless["LC_ALL"] = "C.UTF-8"
    return harmless | given


def describe(
    knobs: Knobs,
    environ: Mapping[str, str],
    *,
    python: str = "",
    built: bool = False,
    build: Sequence[str] = (),
    requires: Sequence[str] = (),
    python_build: str = "",
    drawn: Mapping[str, str] | None = None,
    before: Noise | None = None,
    after: Noise | None = None,
    root: Path = ROOT_FOLDER,
) -> Environment:
    """What a profile records of machine and toolchain.

    ``environ`` is that of the measured processes, ``python`` the label of the interpreter that the
    job was given and ``python_build`` how that was built, ``built`` whether a build was run (the C
    compiler is then part of it) by the commands ``build``, ``requires`` what was installed,
    ``drawn`` what is drawn at random in each execution or build and changes what it costs,
    ``before`` and ``after`` the noise around the session.
    """
    compiled = built or bool(requires)
    fields = _machine(root) | knobs.fields(root) | recorded(environ, built=compiled)
    fields |= buildidentity.stated(build, requires)
    fields |= drawn or {}
    for name, command in buildidentity.versions(build):
        if said := _version(command, buildidentity.search_path(environ)):
            fields[name] = said
    if python:
        fields["python"] = python
    if python_build:
        fields[buildidentity.PYTHON_BUILD] = python_build
    if built and (version := compiler(environ.get("CC", "cc"), environ.get("PATH", os.defpath))):
        fields["compiler"] = version
    remarks, notes = [], dict(_notes(root))
    if before is not None and after is not None:
        remarks, notes = noise.warnings(before, after), notes | noise.notes(before, after)
    return Environment(dict(sorted(fields.items())), fingerprint(fields), notes, remarks)


def recorded(environ: Mapping[str, str], *, built: bool) -> dict[str, str]:
    """The variables of an environment that profiles record; those of compilers only where a build
    was run.
    """
    found = {name: environ[name][:MAX_VALUE] for name in RECORDED if environ.get(name)}
    return found | (buildidentity.variables(environ) if built else {})


def fingerprint(fields: Mapping[str, str]) -> str:
    """12 hex digits of the SHA-256 of the canonical JSON of the fields."""
    import hashlib
    import json

    canonical = json.dumps(dict(fields), sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return hashlib.sha256(canonical.encode("utf-8", "surrogateescape")).hexdigest()[:12]


@cache
def compiler(command: str, path: str) -> str:
    """The first line of the C compiler's ``--version``, empty when there is none; asked once per
    process.
    """
    try:
        return _first_line([*shlex.split(command), "--version"], path)
    except ValueError:  # unbalanced quotes in CC, on which a build fails by itself
        return ""


@cache
def _version(command: tuple[str, ...], path: str) -> str:
    """What a toolchain says of its version; asked once per process."""
    return _first_line(command, path)


def _first_line(argv: Sequence[str], path: str) -> str:
    try:
        environ = {"PATH": path, "LC_ALL": "C"}
        done = subprocess.run(
            argv,
            env=environ,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=10,
            check=True,
            text=True,
        )
    except (OSError, ValueError, subprocess.SubprocessError):
        return ""
    return done.stdout.partition("\n")[0].strip()[:MAX_VALUE]


@cache
def _machine(root: Path) -> dict[str, str]:
    """What no session changes: processor, kernel, C library."""
    names = os.uname()
    numbers = re.match(r"\d+(\.\d+){0,2}", names.release)
    fields = {
        "cpu": processor(root) or names.machine,
        "processors": str(len(processors())),
        "quota": _quota(root),
        "machine": names.machine,
        "kernel": numbers[0] if numbers else names.release,
        "system": names.sysname,
        "libc": _libc(),
    }
    return {name: value for name, value in fields.items() if value}


def processor(root: Path) -> str:
    """The processor's model; on ARM the numbers of its maker and part."""
    properties: dict[str, str] = {}
    for line in (read(root / "proc/cpuinfo") or "").splitlines():
        name, _, value = line.partition(":")
        properties.setdefault(name.strip().lower(), " ".join(value.split()))
    for name in ("model name", "cpu model", "cpu", "uarch"):
        if properties.get(name):
            return properties[name][:MAX_VALUE]
    parts = [
        properties[name]
        for name in ("cpu implementer", "cpu part", "cpu variant", "cpu revision")
        if properties.get(name)
    ]
    return " ".join(["ARM", *parts]) if parts else ""


def memory(root: Path) -> int:
    """The memory of the machine in bytes; 0 where that is unknown."""
    total = re.search(r"^MemTotal:\s+(\d+) kB", read(root / "proc/meminfo") or "", re.M)
    return int(total[1]) * 1024 if total else 0


def _quota(root: Path) -> str:
    """How many processors' time the control group allows, empty without a limit."""
    folder = noise.group(root)
    text = read(folder / "cpu.max") if folder else None
    words = (text or "").split()
    if len(words) != 2 or not all(word.isdigit() for word in words):
        return ""
    microseconds, period = map(int, words)
    return f"{microseconds / period:g}"


def _libc() -> str:
    try:
        return os.confstr("CS_GNU_LIBC_VERSION") or ""
    except (ValueError, OSError):
        return " ".join(platform.libc_ver()).strip()


@cache
def _notes(root: Path) -> dict[str, str]:
    """What is recorded of the machine but not compared."""
    released = dict(
        line.partition("=")[::2] for line in (read(root / "etc/os-release") or "").splitlines()
    )
    hugepages = read(root / "sys/kernel/mm/transparent_hugepage/enabled") or ""
    chosen = re.findall(r"\[(\w+)\]", hugepages)[:1]
    size = memory(root)
    notes = {
        "host": os.uname().nodename,
        "os": released.get("PRETTY_NAME", "").strip('"'),
        "kernel": os.uname().release,
        "memory": f"{size / 1024**3:.1f} GiB" if size else "",
        "hugepages": "".join(chosen),
        "virtual": _virtual(root),
        "git": (
            _first_line(["git", "--version"], os.environ.get("PATH", os.defpath)).removeprefix(
                "git version "
            )
        ),
        "perfvcs python": platform.python_version(),
    }
    return {name: value[:MAX_VALUE] for name, value in notes.items() if value}


def _virtual(root: Path) -> str:
    """The virtual machine's name as its firmware gives it, ``yes`` when only the processor shows
    it, empty on real hardware.
    """
    if not re.search(r"^flags\s*:.*\bhypervisor\b", read(root / "proc/cpuinfo") or "", re.M):
        return ""
    names = (read(root / "sys/class/dmi/id" / name) for name in ("sys_vendor", "product_name"))
    return " ".join(name for name in names if name) or "yes"

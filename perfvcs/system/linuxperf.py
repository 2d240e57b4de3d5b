"""Linux perf, the kernel's tool: our console script ``perf`` stands before it on PATH, so what only
it can do is handed to it.
"""

from __future__ import annotations

import os
import re
import signal
import sys
from collections.abc import Callable, Sequence
from typing import NoReturn

from perfvcs.errors import UsageError

# `perf help` of Linux 6.1 to 6.12. Missing on purpose: `check` (since Linux 6.10), `help` and
# `version`, which are ours, see `owns`.
_NAMES = (
    "annotate archive bench buildid-cache buildid-list c2c config daemon data diff evlist ftrace"
    " inject iostat kallsyms kmem kvm kwork list lock mem probe record report sched script stat"
    " test timechart top trace"
)
COMMANDS = frozenset(_NAMES.split())
# pid=path of every hand-over so far, to see a loop over wrappers such as pyenv's shims
TRIED = "PERFVCS_LINUX_PERF"
MAX_HANDOVERS = 16  # programs called perf that hand the command on
HEAD_BYTES = 8192  # bytes of a script in which the name of our package is looked for
_OURS = rb"perfvcs\.(?:entry|cli)|-m perfvcs\b|['\"]perfvcs['\"=]"


class NoLinuxPerf(UsageError):
    """A command of Linux perf was asked for, and Linux perf cannot be found."""


def owns(args: Sequence[str], is_here: Callable[[str], bool]) -> bool:
    """Whether these arguments (command first) are for Linux perf.

    Three commands are ours and theirs: ``help`` is theirs with one of their commands, ``version``
    with options other than a request for help, and ``check feature NAME`` unless something here is
    called ``feature``, as ``is_here`` says of files and revisions.
    """
    name, *rest = args
    if name == "help":
        return bool(rest) and rest[0] in COMMANDS
    if name == "version":
        options = rest and all(word.startswith("-") for word in rest)
        return bool(options) and not {"-h", "--help"} & set(rest)
    if name == "check":
        words = [word for word in rest if word not in ("-q", "--quiet")]
        return len(words) == 2 and words[0] == "feature" and not is_here("feature")
    return name in COMMANDS


def hand_over(args: Sequence[str]) -> NoReturn:
    """Become Linux perf with these arguments, untouched.

    Raises NoLinuxPerf when there is none on PATH, or when the programs called ``perf`` only call
    each other.
    """
    handed = [entry for entry in os.environ.get(TRIED, "").split(os.pathsep) if entry]
    if len(handed) >= MAX_HANDOVERS:
        raise NoLinuxPerf(
            "the programs called `perf` on PATH only call each other; the last was"
            f" {handed[-1].partition('=')[2]}: remove it"
        )
    mine = f"{os.getpid()}="
    tried = {entry.removeprefix(mine) for entry in handed if entry.startswith(mine)}
    for path in _candidates():
        if path in tried:
            continue
        handed.append(mine + path)
        os.environ[TRIED] = os.pathsep.join(handed)
        for ignored_by_python in (signal.SIGPIPE, signal.SIGXFSZ):
            signal.signal(ignored_by_python, signal.SIG_DFL)
        try:
            os.execv(path, ["perf", *args])
        except OSError:  # not a program for this machine: the next one may be
            continue
    name = "check feature" if args[0] == "check" else args[0]
    raise NoLinuxPerf(
        f"`{name}` belongs to Linux perf, which is not on PATH: apt install linux-perf (Ubuntu:"
        " linux-tools-generic)"
    )


def find(path: str | None = None) -> str | None:
    """Linux perf on the search path ``path`` (by default $PATH), or None."""
    return next(iter(_candidates(path)), None)


def _candidates(path: str | None = None) -> list[str]:
    """Every program called ``perf`` on PATH, in its order, that is not this program under whatever
    name.
    """
    import shutil

    folders = (os.environ.get("PATH", os.defpath) if path is None else path).split(os.pathsep)
    programs = [shutil.which("perf", path=folder) for folder in dict.fromkeys(folders) if folder]
    return [path for path in programs if path and not _is_ours(path)]


def _is_ours(path: str) -> bool:
    """Whether a program is the console script of an installed perfvcs: this one, or one of another
    environment.
    """
    try:
        if os.path.samefile(path, sys.argv[0]):  # noqa: PTH121
            return True
    except OSError:
        pass  # started as `python -c`, or deleted since
    try:
        with open(path, "rb") as file:
            head = file.read(HEAD_BYTES)
    except OSError:
        return False  # executable but not readable: not a script
    return head.startswith(b"#!") and re.search(_OURS, head) is not None

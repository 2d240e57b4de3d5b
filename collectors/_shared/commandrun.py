"""One execution of a run's command, with the run's limits; every way in which it can go wrong is a
CollectError.
"""

from __future__ import annotations

import mmap
import os
import re
import stat
from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING

from perfvcs.plugins.collector import CollectError, Run
from perfvcs.system.foreign import at_most

if TYPE_CHECKING:
    from perfvcs.launcher import Execution, LaunchOptions

INTERPRETER_NAME = re.compile(r"(python|pypy)[\d.]*t?(-dbg)?")
SHEBANG_BYTES = 512  # bytes of a script's first line
# by the name of a runtime: the variable that it takes options from, and those that are added
RUNTIMES = {
    "node": ("NODE_OPTIONS", "--perf-basic-prof --interpreted-frames-native-stack"),
    "java": (
        "JDK_JAVA_OPTIONS",
        "-XX:+PreserveFramePointer -XX:+UnlockDiagnosticVMOptions -XX:+DumpPerfMapAtExit",
    ),
}
# the programs that are one, or start it
RUNTIME_NAMES = {
    **dict.fromkeys(("node", "nodejs", "npm", "npx", "pnpm", "yarn"), "node"),
    **dict.fromkeys(("java", "mvn", "gradle", "gradlew", "ant"), "java"),
}
OPTION_OF_ENV = re.compile(r"-.*|[A-Za-z_]\w*=.*", re.DOTALL)
WITH_A_WORD = ("-C", "--chdir", "-u", "--unset")  # options of env


def read_at_most(path: Path, most: int) -> bytes:
    """The first ``most`` bytes and one more; raises CollectError."""
    return read_part(path, 0, most + 1)


def read_part(path: Path, start: int, size: int) -> bytes:
    """At most ``size`` bytes, beginning at ``start``; raises CollectError."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError as error:
        raise CollectError(
            f"{path.name} cannot be read: {error.strerror}: the program must leave it alone"
        ) from None
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise CollectError(f"{path.name} is no longer a file: the program must leave it alone")
    with open(descriptor, "rb") as file:
        file.seek(start)
        return at_most(file, size)


def python_path(env: Mapping[str, str], *folders: Path) -> str:
    """A PYTHONPATH with some folders before those that an environment has."""
    return os.pathsep.join(filter(None, (*map(str, folders), env.get("PYTHONPATH"))))


def is_python(program: str) -> bool:
    """Whether it runs in Python: an interpreter, a ``.py`` file, or a script whose first line names
    one.
    """
    if INTERPRETER_NAME.fullmatch(Path(program).name) or program.endswith(".py"):
        return True
    return any(INTERPRETER_NAME.fullmatch(Path(word).name) for word in shebang(program) or ())


def shebang(program: str) -> list[str] | None:
    """The words of a script's first line behind ``#!``; none of another file, and None for one that
    cannot be read.
    """
    try:
        with open(program, "rb") as file:
            first = file.readline(SHEBANG_BYTES)
    except OSError:
        return None
    return os.fsdecode(first[2:]).split() if first.startswith(b"#!") else []


def mentions(program: str, names: Sequence[bytes]) -> bool:
    """Whether any of some names stands in a compiled program."""
    try:
        with (
            Path(program).open("rb") as file,
            mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as content,
        ):
            return content[:4] == b"\x7fELF" and any(content.find(name) >= 0 for name in names)
    except (OSError, ValueError):  # ValueError: it is empty
        return False


def launched(
    run: Run,
    argv: Sequence[str] | None = None,
    *,
    env: Mapping[str, str] | None = None,
    options: LaunchOptions | None = None,
) -> Execution:
    """Execute the run's command, or ``argv`` around it; raises CollectError where that could not
    start.

    ``env`` replaces the run's environment, ``options`` its processors and ASLR.
    """
    from perfvcs import launcher

    options = (options or launcher.LaunchOptions(run.cpus, run.aslr))._replace(within=run.within)
    if run.result is not None:
        run.result.begin()
        if run.result.reads and options.output is None and options.errors is None:
            options = options._replace(take=run.result.take)
    try:
        with nullcontext() if run.stdin is None else run.stdin.open("rb") as file:
            execution = launcher.launch(
                run.argv if argv is None else argv,
                cwd=run.cwd,
                env=run.env if env is None else env,
                timeout=run.timeout,
                options=options if file is None else options._replace(stdin=file.fileno()),
            )
        if run.result is not None:
            run.result.left, run.result.wall = execution.left, execution.wall
        return execution
    except launcher.LaunchError as error:
        raise CollectError(str(error), lasting=error.lasting) from None


def executed(
    run: Run,
    argv: Sequence[str] | None = None,
    *,
    env: Mapping[str, str] | None = None,
    options: LaunchOptions | None = None,
) -> Execution:
    """Execute as ``launched`` does; raises CollectError where the command failed, too."""
    from perfvcs.launcher.execution import failure

    execution = launched(run, argv, env=env, options=options)
    if run.may_fail and not execution.timed_out:
        return execution
    if reason := failure(run.argv, execution, run.timeout):
        raise CollectError(reason, lasting=execution.timed_out)
    return execution


def behind_env(words: Sequence[str]) -> list[str]:
    """The words of a command without ``env`` and what is for that: its own program comes first."""
    left = list(words)
    if not left or PurePosixPath(left[0]).name != "env":
        return left
    del left[0]
    while left and OPTION_OF_ENV.fullmatch(left[0]):
        del left[: 2 if left[0] in WITH_A_WORD else 1]
    return left


def runtime(words: Sequence[str]) -> str:
    """The runtime that a command's program is, that it is a package of, or that its first line
    names: ``node``, ``java``; empty for any other.
    """
    program = next(iter(behind_env(words)), "")
    path = PurePosixPath(program)
    if known := RUNTIME_NAMES.get(path.name):
        return known
    if "node_modules" in path.parts:
        return "node"
    words = shebang(program) or ()
    return next(filter(None, (RUNTIME_NAMES.get(PurePosixPath(word).name) for word in words)), "")


def environment(name: str, env: Mapping[str, str]) -> dict[str, str]:
    """The environment in which a runtime writes the names of its functions."""
    variable, options = RUNTIMES[name]
    return {**env, variable: " ".join(filter(None, (env.get(variable, ""), options)))}

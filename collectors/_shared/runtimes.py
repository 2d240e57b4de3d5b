"""Runtimes that compile a program while it runs, and how they tell which functions they made."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import PurePosixPath

from perfvcs.collectors._shared.commandrun import shebang

# by the name of a runtime: the variable that it takes options from, and those that are added
RUNTIMES = {
    "node": ("NODE_OPTIONS", "--perf-basic-prof --interpreted-frames-native-stack"),
    "java": (
        "JDK_JAVA_OPTIONS",
        "-XX:+PreserveFramePointer -XX:+UnlockDiagnosticVMOptions -XX:+DumpPerfMapAtExit",
    ),
}
NAMES = {"node": "node", "nodejs": "node", "npm": "node", "npx": "node", "java": "java"}


def runtime(program: str) -> str:
    """The runtime that a command's first word is, or that its first line names: ``node``, ``java``;
    empty for any other.
    """
    if known := NAMES.get(PurePosixPath(program).name):
        return known
    words = shebang(program) or ()
    return next(filter(None, (NAMES.get(PurePosixPath(word).name) for word in words)), "")


def environment(name: str, env: Mapping[str, str]) -> dict[str, str]:
    """The environment in which a runtime writes the names of its functions."""
    variable, options = RUNTIMES[name]
    return {**env, variable: " ".join(filter(None, (env.get(variable, ""), options)))}

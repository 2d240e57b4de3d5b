"""The first perf.toml of a project: commented, and made from a proposal of what to measure."""

from __future__ import annotations

import re
from dataclasses import dataclass
from math import ceil

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
[[job]]
name = {name}
cmd = {cmd}
# args = ["", "--reverse"]
# workloads = ["data/1k.txt", {{ integers = [1000, 10000] }}, {{ files = ["1kB", "1MB"] }}]
{collectors}
executions = {executions:<8} # processes per revision; five is the least for a verdict, ten is better
warmup = 1            # warm-up executions; their results are discarded
timeout = {timeout:<11} # for one execution
"""
LONG, FEW, MANY = 5.0, 5, 10  # seconds of an execution from which on fewer are proposed, and the numbers
USUAL_TIMEOUT, TIMES = 60.0, 6  # seconds; and how much longer than it took an execution may take


@dataclass(frozen=True)
class Proposal:
    """A command to measure and what builds it; ``found`` says why. ``collector`` is a TOML value, empty for time.

    ``python`` lists what pip installs, None for no environment; ``requires`` lists what else it installs.
    """

    found: str
    cmd: str
    name: str
    build: tuple[str, ...] = ()
    overlay: str = ""
    python: tuple[str, ...] | None = None
    requires: tuple[str, ...] = ()
    collector: str = ""

    def toml(self, seconds: float | None = None) -> str:
        """The commented configuration; ``seconds`` is the time of one execution, if it was tried."""
        build = f"build = {_listed(self.build)}" if self.build else 'build = []  # such as ["make -j2"], in every revision'
        overlay = f"overlay = [{quoted(self.overlay)}]" if self.overlay else '# overlay = ["bench/"]'
        python = ""
        if self.python is not None:
            python = (
                "# One virtual environment per revision:\n[python]\n# versions = [\"3.11\"]\n"
                f"install = {_listed(self.python)}\nrequires = {_listed(self.requires)}\n"
            )  # fmt: skip
        timeout = max(USUAL_TIMEOUT, TIMES * (seconds or 0.0))
        return TEMPLATE.format(
            found=self.found, build=build, overlay=f"{overlay}\n", python=f"{python}\n" if python else "",
            name=quoted(self.name), cmd=quoted(self.cmd), executions=self.executions(seconds), timeout=f'"{ceil(timeout)}s"',
            collectors=f"collectors = [{self.collector}]" if self.collector else '# collectors = ["time"]',
        )  # fmt: skip

    def executions(self, seconds: float | None) -> int:
        """How many executions to propose if one takes so long."""
        return FEW if seconds is not None and seconds > LONG else MANY


def _listed(words: tuple[str, ...]) -> str:
    return f"[{', '.join(map(quoted, words))}]"


def quoted(text: str) -> str:
    """A TOML string."""
    import msgspec

    return re.sub("\x7f", "\\\\u007f", msgspec.json.encode(text).decode())

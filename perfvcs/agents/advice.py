"""Advice for coding agents in AGENTS.md, which they read before they begin: a part of the file
between two marks, written and removed by `perf init`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from perfvcs.errors import UsageError, system_reason
from perfvcs.system.disk import write as write_file

if TYPE_CHECKING:
    from pathlib import Path

FILE = "AGENTS.md"
BEGIN, END = "<!-- perfvcs: begin -->", "<!-- perfvcs: end -->"
LARGEST = 10_000_000  # bytes
ADVICE = """\
## Performance

This repository measures its performance with perfvcs. `perf mcp` serves it as tools.

- Before you optimise: `perf status` says what is measured, `perf plan` what can be detected.
- After a change: `perf judge --expect faster` (or `not-slower`). It measures the working tree
  against HEAD in turns, and ends with 0 (proved), 3 (refuted), 4 (not decided), 5 (failed) or
  6 (rejected). `--json` gives all figures.
- Never quote a number that `perf judge` did not print.
- `not decided` is not a gain: raise `--budget`, or give it up.
- Revert a change that two attempts did not prove. One that is rejected is wrong, or unfair.
- Leave benchmarks, tests and perf.toml alone: `perf judge` measures with those of HEAD.
- Measure one thing at a time, and build or test nothing meanwhile.
"""


def write(folder: Path) -> bool:
    """Write the advice, or renew it; returns whether that changed the file. Raises UsageError."""
    text = _text(folder)
    before, after = _around(text)
    part = f"{BEGIN}\n{ADVICE}{END}\n"
    gap = ""
    if (
        before and BEGIN not in text
    ):  # an empty line above, whether the last line has its end or not
        gap = "\n" * (2 - (len(before) - len(before.rstrip("\n"))))
    return _replaced(folder, text, f"{before}{gap}{part}{after}")


def remove(folder: Path) -> bool:
    """Remove the advice; returns whether there was any. Raises UsageError."""
    text = _text(folder)
    before, after = _around(text)
    rest = f"{before.rstrip()}\n{after}" if before.strip() else after.lstrip("\n")
    if BEGIN in text and not rest.strip():
        (folder / FILE).unlink()
        return True
    return _replaced(folder, text, rest) if BEGIN in text else False


def _text(folder: Path) -> str:
    try:
        return (folder / FILE).read_bytes()[:LARGEST].decode("utf-8")
    except FileNotFoundError:
        return ""
    except UnicodeDecodeError:
        raise UsageError(f"{FILE} is not UTF-8: convert it, or write the advice by hand") from None
    except OSError as error:
        raise UsageError(f"{FILE}: {system_reason(error)}") from None


def _around(text: str) -> tuple[str, str]:
    """What stands before and behind the part between the marks; all of it before, without one."""
    before, begin, rest = text.partition(BEGIN)
    if not begin:
        return text, ""
    _, end, after = rest.partition(END)
    if not end:
        raise UsageError(f"{FILE} has `{BEGIN}` without `{END}`: add that where our part ends")
    return before, after.removeprefix("\n")


def _replaced(folder: Path, before: str, after: str) -> bool:
    if before == after:
        return False
    try:
        write_file(folder / FILE, after.encode())
    except OSError as error:
        raise UsageError(f"{FILE}: {system_reason(error)}") from None
    return True

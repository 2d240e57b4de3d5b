"""Names and lines of addresses in programs and libraries: from ``addr2line`` where there is one, else read here."""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Iterable
from functools import cache
from pathlib import Path

from perfvcs.collectors._shared.recording import printable
from perfvcs.text.lines import source_lines

CodePlace = tuple[str, str, int]  # function, source file, line (0: not known)
READING_SECONDS = 120.0  # seconds for one file
LARGEST_FILE = 1 << 31  # bytes of a file that is read here
DISCRIMINATOR = re.compile(r" \(discriminator \d+\)$")
FileIdentity = tuple[str, int, int]  # path, size, time

_known: dict[FileIdentity, dict[int, list[CodePlace]]] = {}


def resolve(path: str, addresses: Iterable[int]) -> dict[int, list[CodePlace]]:
    """The functions at some addresses of a file, the innermost inlined one first; empty lists if nothing is known."""
    try:
        about = Path(path).stat()
    except OSError:
        return {address: [] for address in addresses}
    known = _known.setdefault((path, about.st_size, about.st_mtime_ns), {})
    wanted = list(addresses)
    missing = sorted({address for address in wanted if address not in known})
    if missing:
        found = _asked(path, missing)
        if found is None:
            from perfvcs.collectors._shared.debuginfo import look_up

            found = look_up(path, missing) if about.st_size <= LARGEST_FILE else {}
        known.update({address: found.get(address, []) for address in missing})
    return {address: known[address] for address in wanted}


@cache
def _tool() -> str | None:
    return shutil.which("addr2line")


def _asked(path: str, addresses: list[int]) -> dict[int, list[CodePlace]] | None:
    """The answers of addr2line; None where there is none, or none in time."""
    tool = _tool()
    if tool is None:
        return None
    try:
        done = subprocess.run(
            [tool, "-a", "-f", "-i", "-C", "-e", path],
            input="".join(f"{address:#x}\n" for address in addresses).encode(),
            capture_output=True,
            timeout=READING_SECONDS,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    return None if done.returncode else _parsed(done.stdout.decode(errors="replace"))


def _parsed(said: str) -> dict[int, list[CodePlace]]:
    """Answers are a line with the address, then two lines per function."""
    found: dict[int, list[CodePlace]] = {}
    places: list[CodePlace] = []
    lines = iter(source_lines(said))
    for line in lines:
        if re.fullmatch(r"0x[0-9a-f]+", line):
            places = found.setdefault(int(line, 16), [])
            continue
        where = DISCRIMINATOR.sub("", next(lines, "??:0"))
        file, _, number = where.rpartition(":")
        if line != "??":
            places.append((printable(line), "" if file == "??" else printable(file), int(number) if number.isdecimal() else 0))
    return found

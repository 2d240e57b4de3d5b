"""Stands before the assembler of a C or C++ compiler, and lays the code out as a seed says:
``assembler.py SEED MARK ASSEMBLER ARGUMENT...``.

With ``-ffunction-sections`` each function is a section of its own. Its section gets a name by which
GNU ld sorts (``.text.sorted.*``, since binutils 2.36), and some bytes before its first one; both
follow from the seed and the function's name, so that two versions of a program built with one seed
differ in their layout only as much as they differ in their functions. Where another linker leaves
the order as it is, the padding moves the code. Once something was laid out, the file MARK is there.
"""

from __future__ import annotations

import hashlib
import os
import re
import subprocess
import sys
import tempfile

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

# a function's section: with its name, or one of those that linkers put together by their names
SECTION = re.compile(r'^(\s*\.section\s+)(\.text\.[^\s,"]+)(\s*,.*)$')
GROUPED = (".text.unlikely", ".text.exit", ".text.startup", ".text.hot", ".text.sorted")
MOST_PADDING = 256  # bytes before a function, which its alignment rounds up
LARGEST = 1 << 28  # bytes of a source in assembler that is laid out; a larger one stays as it is


def laid_out(text: str, seed: str) -> str:
    """The source in assembler with its functions' sections renamed and padded.

    >>> laid_out('.section .text.main,"ax",@progbits', "7").split(".")[1:4]
    ['section ', 'text', 'sorted']
    """
    lines: list[str] = []
    padded: set[str] = set()
    for line in text.split("\n"):
        match = SECTION.match(line)
        if match is None:
            lines.append(line)
            continue
        before, name, rest = match.groups()
        drawn = hashlib.blake2b(f"{seed} {name}".encode(), digest_size=8).digest()
        shown = name
        if not name.startswith(GROUPED):
            shown = f".text.sorted.{drawn[:6].hex()}{name[5:]}"
        lines.append(f"{before}{shown}{rest}")
        if name not in padded:
            padded.add(name)
            lines.append(f"\t.skip {int.from_bytes(drawn[6:], 'big') % MOST_PADDING}, 0x90")
    return "\n".join(lines)


def assemble(seed: str, mark: str, command: Sequence[str]) -> int:
    """Runs the assembler on what it was given, laid out; its exit status.

    What has no file, as with ``-pipe``, is read from standard input.
    """
    sources = [word for word in command[1:] if word.endswith((".s", ".S")) and os.path.isfile(word)]  # noqa: PTH113
    if len(sources) == 1 and os.path.getsize(sources[0]) <= LARGEST:  # noqa: PTH202
        with open(sources[0], encoding="utf-8", errors="surrogateescape") as file:
            text = file.read()
    elif not sources and ("-" in command or not _names_a_file(command)):
        text = sys.stdin.buffer.read().decode("utf-8", "surrogateescape")
    else:
        return subprocess.call(command)
    changed = laid_out(text, seed)
    with tempfile.NamedTemporaryFile(
        "w", suffix=".s", encoding="utf-8", errors="surrogateescape"
    ) as file:
        file.write(changed)
        file.flush()
        words = [file.name if word in (*sources, "-") else word for word in command]
        status = subprocess.call(words if file.name in words else [*words, file.name])
    if changed != text and not status:
        with open(mark, "w", encoding="utf-8"):
            pass
    return status


def _names_a_file(command: Sequence[str]) -> bool:
    """Whether a word that is no option, nor the value of ``-o`` or ``-I``, stands there."""
    return any(
        not word.startswith("-") and before not in ("-o", "-I", "--defsym", "-MD")
        for before, word in zip(command, command[1:])  # noqa: B905, RUF007 - any Python
    )


if __name__ == "__main__":
    sys.exit(assemble(sys.argv[1], sys.argv[2], sys.argv[3:]))

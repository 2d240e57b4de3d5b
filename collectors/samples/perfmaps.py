"""Functions that a runtime compiles while its program runs: Node and the JVM write their names to
``/tmp/perf-PID.map`` where they are told to, and Linux perf reads them there.

Both keep frame pointers then, since what they compile has no unwinding tables.
"""

from __future__ import annotations

import os
import re
from contextlib import suppress
from pathlib import Path

from perfvcs.collectors._shared.frames import UNKNOWN_FRAME, function, place

MAP = re.compile(r"/tmp/perf-[0-9]{1,10}\.map")
# how V8 compiled it, the function's name, its file, line and column
OF_NODE = re.compile(r"(?:JS|LazyCompile|Function|Script|Eval|Builtin):[~^*+']?(.{,500})")
PATH = re.compile(r" (?=/|file://|node:)")
LINE = re.compile(r":[0-9]{1,10}:[0-9]{1,10}$")
OF_JAVA = re.compile(r"(?:[\w.$\[\]]{1,500} )?([\w.$]{1,500})\.([\w$<>]{1,200})\(.{,2000}\)")


def compiled(symbol: str, image: str, cwd: str) -> str:
    """The frame of a function that a runtime compiled: its name, and the file as far as that is
    known; empty for what is not in such a map.

    >>> compiled("JS:*count /home/me/index.js:3:15", "/tmp/perf-1.map", "/home/me")
    'count (index.js)'
    >>> compiled("int letters.Count.most(java.lang.String)", "/tmp/perf-1.map", "/home/me")
    'Count.most (letters/Count.java)'
    >>> compiled("main", "/home/me/a.out", "/home/me")
    ''
    """
    if not MAP.fullmatch(image):
        return ""
    if match := OF_NODE.fullmatch(symbol):
        return _of_node(match[1], cwd)
    if match := OF_JAVA.fullmatch(symbol):
        return _of_java(match[1], match[2])
    return f"{function(symbol.partition(' ')[0])} (runtime)"


def _of_node(text: str, cwd: str) -> str:
    name, *rest = PATH.split(text, maxsplit=1)
    file = "".join(rest)
    if not LINE.search(file):
        return f"{function(text.strip())} (node)" if text.strip() else UNKNOWN_FRAME
    path = LINE.sub("", file).removeprefix("file://")
    where = path if path.startswith("node:") else place(path, cwd)
    return f"{name.strip() or '<module>'} ({where})"


def _of_java(holder: str, method: str) -> str:
    """A method with its class, and the file that a class of this name is usually in."""
    package, _, classes = holder.rpartition(".")
    outer = classes.partition("$")[0]
    folder = f"{package.replace('.', '/')}/" if package else ""
    name = outer.rpartition(".")[2] if method == "<init>" else method
    return f"{classes.replace('$', '.')}.{name} ({folder}{outer}.java)"


def remove(images: set[str]) -> None:
    """Take away maps that were read, which nobody else does."""
    for image in images:
        place = Path(image)
        with suppress(OSError):
            if MAP.fullmatch(image) and place.lstat().st_uid == os.geteuid():
                place.unlink()

"""Remotes that somebody has prepared: each function makes one of a sound bare repository, and its
docstring names it.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from pathlib import Path

from perfvcs.store import STORE_FORMAT

from ..repositories import git
from .forge import REFERENCE, importing

MANY_FILES = 2_000_000  # more than the bound
GIGABYTES = 10  # of a file that is too large
CUT = f"""\
#!{sys.executable}
import os, subprocess, sys
left = 100_000
with subprocess.Popen(["git-upload-pack", *sys.argv[1:]], stdout=subprocess.PIPE) as process:
    while left > 0 and (part := os.read(process.stdout.fileno(), left)):
        os.write(1, part)
        left -= len(part)
    process.kill()
"""


def tree(shared: Path, *entries: tuple[str, str, str]) -> str:
    """A tree that git itself might not make."""
    content = b"".join(
        f"{mode} {name}".encode() + b"\0" + bytes.fromhex(found) for mode, name, found in entries
    )
    return git(shared, "hash-object", "-t", "tree", "-w", "--stdin", "--literally", data=content)


def pointed(shared: Path, top: str) -> None:
    """Let the reference have a tree with a store's mark."""
    mark = git(shared, "hash-object", "-w", "--stdin", data=STORE_FORMAT)
    entries = sorted([("40000", "8c", top), ("100644", "format", mark)], key=lambda entry: entry[1])
    git(
        shared,
        "update-ref",
        REFERENCE,
        git(shared, "commit-tree", tree(shared, *entries), "-m", "mine"),
    )


def blob(shared: Path, content: bytes = b"x") -> str:
    return git(shared, "hash-object", "-w", "--stdin", data=content)


def dotted(shared: Path) -> None:
    """A path with two dots."""
    pointed(shared, tree(shared, ("40000", "..", tree(shared, ("100644", "evil", blob(shared))))))


def wrong(shared: Path) -> None:
    """A hundred documents that hash to other names."""
    commit = "8c" + "0" * 38
    with importing(shared) as stream:
        for number in range(100):
            content = b"{}" * (number + 1)
            stream.write(
                b"M 100644 inline %s\n" % f"8c/{commit}/time-x-{number:012x}.json".encode()
            )
            stream.write(b"data %d\n%s\n" % (len(content), content))


def crowded(shared: Path) -> None:
    """As many files (`--files`), none of which is a profile."""
    found, folders = blob(shared), []
    for folder in range(256):
        names = (
            f"time-x-{number:012x}.json"
            for number in range(folder * MANY_FILES // 256, (folder + 1) * MANY_FILES // 256)
        )
        folders.append(
            (
                "40000",
                f"8c{folder:038x}",
                tree(shared, *(("100644", name, found) for name in names)),
            )
        )
    pointed(shared, tree(shared, *folders))


def bomb(shared: Path) -> None:
    """Ten levels of ten equal folders."""
    inner = tree(shared, *(("100644", f"f{number}", blob(shared)) for number in range(10)))
    for _ in range(10):
        inner = tree(shared, *(("40000", f"d{number}", inner) for number in range(10)))
    pointed(shared, inner)


def huge(shared: Path) -> None:
    """A file of 10 GB (`--gigabytes`), at a profile's place."""
    path = shared.parent / "huge"
    path.touch()
    os.truncate(path, GIGABYTES << 30)
    found = git(
        shared,
        "-c",
        "core.bigFileThreshold=1m",
        "-c",
        "core.compression=1",
        "hash-object",
        "-w",
        "--no-filters",
        str(path),
    )
    path.unlink()
    pointed(
        shared,
        tree(
            shared,
            ("40000", "8c" + "0" * 38, tree(shared, ("100644", "time-x-000000000000.json", found))),
        ),
    )


def special(mode: str) -> Callable[[Path], None]:
    def make(shared: Path) -> None:
        found = (
            git(shared, "rev-parse", "main") if mode == "160000" else blob(shared, b"/etc/passwd")
        )
        pointed(
            shared,
            tree(
                shared,
                ("40000", "8c" + "0" * 38, tree(shared, (mode, "time-x-000000000000.json", found))),
            ),
        )

    make.__doc__ = {"120000": "A symbolic link", "160000": "A submodule"}[
        mode
    ] + " at a profile's place."
    return make


def configured(shared: Path) -> None:
    """A configuration with programs, hooks, and a store's mark."""
    for key in (
        "core.fsmonitor",
        "core.sshCommand",
        "uploadpack.packObjectsHook",
        "core.gitProxy",
        "core.pager",
    ):
        git(shared, "config", key, f"touch {shared.parent}/sprung")
    with importing(shared):
        pass


def odd(shared: Path) -> None:
    """The reference is a file, not a commit."""
    git(shared, "update-ref", REFERENCE, blob(shared))


def cut(shared: Path) -> None:
    """A connection that ends half-way."""
    with importing(shared) as stream:
        for number in range(200):
            content = os.urandom(5000)
            stream.write(
                b"M 100644 inline %s\ndata %d\n%s\n"
                % (f"8c/{number}".encode(), len(content), content)
            )
    script = shared.parent / "cut"
    script.write_text(CUT)
    script.chmod(0o755)


ALL = (
    dotted,
    wrong,
    special("120000"),
    special("160000"),
    configured,
    odd,
    cut,
    bomb,
    crowded,
    huge,
)

"""Linux namespaces around an execution: empty shared folders and memory, a disk that is read-only
beside its own folders, and a layer over one of these in which all that is written vanishes with it.

See unshare(1) and mount_namespaces(7). They are made before the launcher starts, so that they take
none of the time that it measures.
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

SHARED = (Path("/tmp"), Path("/var/tmp"), Path("/dev/shm"))
KERNELS = ("/proc", "/sys", "/dev")  # mounts that hold no files of a disk
OCTAL = re.compile(r"\\([0-7]{3})")
TRIED = 10  # seconds
LAYER = "layer"


def around(
    scratch: Path,
    kept: Sequence[Path],
    writable: Sequence[Path],
    *,
    network: bool = True,
    layered: Path | None = None,
) -> tuple[str, ...]:
    """The words of a command that starts another one in namespaces of its own.

    The shared folders are empty there, but for the folders that are ``kept`` (if they exist) and
    those of PATH; what they get lies in ``scratch``. Only the ``writable`` folders can be written,
    and the one that is ``layered``: what it gets lies in the folder ``layer(scratch)``.
    """
    kinds = ["--user", "--map-root-user", "--mount", "--ipc", *([] if network else ["--net"])]
    there = filter(Path.is_dir, [*kept, *map(Path, os.get_exec_path())])
    steps = [
        *([] if layered is None else _layer_steps(scratch, layered)),
        *_steps(scratch, list(there), writable),
    ]
    # the folder that it is in is that below the new mounts
    script = " && ".join([*steps, 'cd "$PWD"', 'exec "$@"'])
    return (_found("unshare"), *kinds, "--", "/bin/sh", "-c", script, "namespaces")


def layer(scratch: Path) -> Path:
    """The folder with what an execution wrote into the one that was layered."""
    return scratch / LAYER / "upper"


@cache
def lacking() -> str:
    """Why no namespaces can be made here; empty where they can."""
    if sys.platform != "linux":
        return "namespaces need Linux"
    return _tried(layers=False)


@cache
def lacking_layers() -> str:
    """Why no folder can be layered here; empty where one can."""
    return lacking() or _tried(layers=True)


def _tried(*, layers: bool) -> str:
    tools = [name for name in ("unshare", "mount") if shutil.which(name) is None]
    if tools:
        return f"{tools[0]} is missing: install util-linux"
    with tempfile.TemporaryDirectory(prefix="perfvcs-") as folder:
        below = Path(folder) / "below"
        below.mkdir()
        words = around(
            Path(folder),
            [Path(folder)],
            [Path(folder)],
            network=False,
            layered=below if layers else None,
        )
        try:
            done = subprocess.run(
                [*words, "/bin/true"],
                cwd=folder,
                capture_output=True,
                text=True,
                check=False,
                timeout=TRIED,
            )
        except (OSError, subprocess.TimeoutExpired) as error:
            return str(error)
    if done.returncode:
        last = (done.stderr.strip().splitlines() or ["unshare failed"])[-1]
        if layers:
            return f"no layer can be laid over a folder here ({last})"
        return f"the system allows no namespaces of one's own ({last})"
    return ""


def _layer_steps(scratch: Path, folder: Path) -> Iterator[str]:
    """The commands that lay a layer over a folder, by short names: options are parted by commas."""
    place, mount = scratch.resolve() / LAYER, shlex.quote(_found("mount"))
    for name in ("lower", "upper", "work"):
        (place / name).mkdir(parents=True)
    yield f"{mount} --bind {_quoted(folder)} {_quoted(place / 'lower')}"
    options = "lowerdir=lower,upperdir=upper,workdir=work"
    yield (f"(cd {_quoted(place)} && {mount} -t overlay overlay -o {options} {_quoted(folder)})")


def _steps(scratch: Path, kept: Sequence[Path], writable: Sequence[Path]) -> Iterator[str]:
    """The commands that lay out the namespaces.

    1. Folders that can be written become mounts of their own, which the third step spares.
    2. What is kept of a shared folder is mounted in its place in an empty one.
    3. The mounts that were there before become read-only.
    4. The empty folders take the places of the shared ones.
    """
    mount = shlex.quote(_found("mount"))
    top = scratch.resolve() / "shared"
    top.mkdir(exist_ok=True)

    def shared_folder(place: Path) -> Path:
        return top / "-".join(place.parts[1:])

    shared = [place for place in SHARED if place.is_dir() and not place.is_symlink()]
    shared.sort(key=top.is_relative_to)  # the one that hides the others comes last
    inside = _outermost([*writable, top])
    for path in inside:
        yield f"{mount} --rbind {_quoted(path)} {_quoted(path)}"
    for place in shared:
        empty = shared_folder(place)
        empty.mkdir(parents=True, exist_ok=True)
        for path in _outermost([path for path in kept if path.resolve().is_relative_to(place)]):
            there = empty / path.relative_to(place)
            there.mkdir(parents=True, exist_ok=True)
            yield f"{mount} --rbind {_quoted(path)} {_quoted(there)}"
            if path not in inside:
                yield f"{mount} -o remount,bind,ro {_quoted(there)}"
    for point in _mounted():
        yield f"{mount} -o remount,bind,ro {_quoted(point)}"
    for place in shared:
        empty = shared_folder(place)
        yield f"{mount} --rbind {_quoted(empty)} {_quoted(place)}"


def _outermost(paths: Sequence[Path]) -> list[Path]:
    """The paths without those that lie in others."""
    distinct = sorted({path.resolve() for path in paths})
    return [path for path in distinct if not any(other in path.parents for other in distinct)]


def _mounted() -> list[Path]:
    """The folders at which file systems are mounted now, but for the kernel's own."""
    points = []
    for line in Path("/proc/self/mountinfo").read_text().splitlines():
        text = OCTAL.sub(lambda found: chr(int(found[1], 8)), line.split()[4])
        is_kernels = any(text == top or text.startswith(f"{top}/") for top in KERNELS)
        if not is_kernels and Path(text).is_dir():
            points.append(Path(text))
    return list(dict.fromkeys(points))


def _found(tool: str) -> str:
    return shutil.which(tool) or tool


def _quoted(path: Path) -> str:
    return shlex.quote(str(path))

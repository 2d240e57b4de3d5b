"""Python interpreters on this machine, found by version."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

import msgspec

from perfvcs.errors import UsageError

# works from Python 2.7 on, so that an old interpreter is named and not taken for a broken one; sys._base_executable leads out of
# a virtual environment, which may vanish
_PROBE = """
import json, os, platform, sys
path = getattr(sys, "_base_executable", None) or sys.executable
flags = getattr(sys, "abiflags", "")
print(json.dumps([os.path.realpath(path), platform.python_version() + flags.replace("m", ""), platform.python_implementation()]))
"""


class Interpreter(msgspec.Struct, frozen=True):
    """One interpreter: its real path outside any virtual environment, and its full version (``3.13.0``, ``3.13.0t``)."""

    path: Path
    version: str
    implementation: str = "CPython"

    @property
    def label(self) -> str:
        """Implementation and version, as profiles record them."""
        return f"{self.implementation} {self.version}"

    def fits(self, wanted: str) -> bool:
        """Whether this is the wanted version: ``3.11`` is any 3.11.x, a ``t`` at the end asks for a free-threaded build."""
        numbers = re.sub(r"[^\d.].*", "", self.version)
        return self.version.endswith("t") == wanted.endswith("t") and f"{numbers}.".startswith(f"{wanted.rstrip('t')}.")


def find(version: str, environ: Mapping[str, str] | None = None) -> Interpreter:
    """The interpreter of a version (``3.11``, ``3.11.7``, ``3.13t``), or at a path, or of a command's name (``pypy3.10``).

    A version is looked for on PATH, in perfvcs's own interpreter, in pyenv's folder, and through uv. Raises UsageError.
    """
    env = os.environ if environ is None else environ
    if not re.fullmatch(r"\d+(\.\d+){0,2}t?", version):
        command = version if "/" in version else shutil.which(version, path=env.get("PATH", os.defpath))
        if command and (found := probe(Path(command), env)):
            return found
        raise UsageError(f"[python] versions: `{version}` is not a working Python: name a version such as 3.11, or a path")
    seen: dict[str, Interpreter] = {}
    for path in _candidates(version, env):
        if found := probe(path, env):
            if found.fits(version):
                return found
            seen[found.version] = found
    there = f" (there is {', '.join(sorted(seen))})" if seen else ""
    raise UsageError(
        f"[python] versions: there is no Python {version} here{there}: `uv python install {version}`, `pyenv install {version}`, "
        "or take it out of perf.toml"
    )


def probe(path: Path, environ: Mapping[str, str] | None = None) -> Interpreter | None:
    """Ask an executable what Python it is; None when it does not answer."""
    env = {**(os.environ if environ is None else environ)}
    for name in ("PYTHONHOME", "PYTHONPATH", "__PYVENV_LAUNCHER__"):
        env.pop(name, None)
    try:
        done = subprocess.run(
            [path, "-E", "-s", "-S", "-c", _PROBE], env=env, stdin=subprocess.DEVNULL, capture_output=True, timeout=20, check=True
        )
        real, version, implementation = json.loads(done.stdout)
    except (OSError, ValueError, subprocess.SubprocessError):
        return None
    return Interpreter(Path(real), version, implementation)


def _candidates(version: str, env: Mapping[str, str]) -> Iterator[Path]:
    """The paths of a version, likely ones first; each path once, and each place is searched only when needed."""
    major, short = version.partition(".")[0], ".".join(version.rstrip("t").split(".")[:2])
    tried: set[Path] = set()
    folders = [Path(folder) for folder in env.get("PATH", os.defpath).split(os.pathsep) if folder]
    suffix = "t" if version.endswith("t") else ""
    named = [
        folder / name for name in (f"python{short}{suffix}", f"python{short}", f"python{major}", "python") for folder in folders
    ]
    for path in [*named, Path(sys.executable)]:
        if path not in tried and os.access(path, os.X_OK) and path.is_file():
            tried.add(path)
            yield path
    kept = Path(env.get("PYENV_ROOT") or Path(env.get("HOME", "~")).expanduser() / ".pyenv") / "versions"
    yield from sorted(kept.glob(f"{short}*{suffix}/bin/python"), key=lambda path: _numbers(path.parent.parent.name), reverse=True)
    if uv := shutil.which("uv", path=env.get("PATH", os.defpath)):
        asked = [uv, "python", "find", "--no-python-downloads", "--no-project", version]
        try:
            done = subprocess.run(asked, env=dict(env), capture_output=True, timeout=30, check=True, text=True)
        except (OSError, subprocess.SubprocessError):
            return
        yield Path(done.stdout.strip())


def _numbers(version: str) -> list[int]:
    return [int(number) for number in re.findall(r"\d+", version)]

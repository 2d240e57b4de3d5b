"""The first perf.toml of a project: commented, and fitted to what the project is."""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from perfvcs.foreign import content
from perfvcs.rules import LARGEST_FILE

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
# collectors = ["time"]
executions = 10       # processes per revision; five is the least for a verdict, ten is better
warmup = 1            # executions before those, which are dropped
timeout = "60s"       # for one execution
"""


@dataclass(frozen=True)
class ProjectKind:
    """What a project is: how it is built and what could be measured."""

    found: str
    cmd: str
    name: str
    build: tuple[str, ...] = ()
    overlay: str = ""
    python: bool = False

    def toml(self) -> str:
        """The commented configuration."""
        build = (
            f"build = [{', '.join(map(quoted, self.build))}]"
            if self.build
            else 'build = []  # such as ["make -j2"], in every revision'
        )
        overlay = f"overlay = [{quoted(self.overlay)}]" if self.overlay else '# overlay = ["bench/"]'
        python = ""
        if self.python:
            python = (
                "\n# One virtual environment per revision:\n[python]\n# versions = [\"3.11\"]\n"
                'install = ["."]\nrequires = []\n'
            )  # fmt: skip
        return TEMPLATE.format(
            found=self.found, build=build, overlay=f"{overlay}\n", python=f"{python}\n" if python else "",
            name=quoted(self.name), cmd=quoted(self.cmd),
        )  # fmt: skip


def quoted(text: str) -> str:
    """A TOML string."""
    import msgspec

    return msgspec.json.encode(text).decode()


def detect(root: Path) -> ProjectKind:
    """What the project in a folder is, by its files."""
    overlay, script = _benchmark(root)
    for look in LOOKS:
        if kind := look(root, script):
            return ProjectKind(kind.found, kind.cmd, kind.name, kind.build, kind.overlay or overlay, kind.python)
    if script:
        return ProjectKind(f"found the benchmark {script}", _interpreted(script), Path(script).stem, overlay=overlay)
    return ProjectKind("no build system was recognised: name the command to measure below", "./benchmark", "benchmark")


def _benchmark(root: Path) -> tuple[str, str]:
    """The folder of benchmarks, as an overlay entry, and a script in it (or beside it); empty where there is none."""
    for folder in ("bench", "benches", "benchmark", "benchmarks", "perf"):
        if (root / folder).is_dir():
            scripts = sorted(
                path.name
                for path in (root / folder).iterdir()
                if path.suffix in (".py", ".sh") and path.stem != "__init__" and path.name.isprintable()
            )
            return f"{folder}/", f"{folder}/{scripts[0]}" if scripts else ""
    scripts = sorted(path.name for path in root.glob("*.py") if re.match(r"(bench|perf)", path.name) and path.name.isprintable())
    return (scripts[0], scripts[0]) if scripts else ("", "")


def _interpreted(script: str) -> str:
    return f"{'python' if script.endswith('.py') else 'sh'} {shlex.quote(script)}"


def _named(root: Path) -> str:
    """The folder's name, as far as a TOML file can hold it."""
    return root.name if root.name.isprintable() else "benchmark"


def _python(root: Path, script: str) -> ProjectKind | None:
    if not any((root / name).exists() for name in ("pyproject.toml", "setup.py", "setup.cfg")):
        return None
    folders = [path.parent.name for path in sorted([*root.glob("*/__init__.py"), *root.glob("src/*/__init__.py")])]
    package = next((name for name in folders if name.isidentifier() and not re.match(r"(tests?|docs?|examples?)$", name)), "")
    if script:
        return ProjectKind("a Python project with a benchmark", _interpreted(script), Path(script).stem, python=True)
    words = f"import {package}" if package else "pass"
    return ProjectKind("a Python project: measure something better than its import", f'python -c "{words}"', words,
                python=True)  # fmt: skip


def _text(path: Path) -> str:
    """The beginning of a file that anybody may have written; empty where it cannot be read."""
    try:
        return content(path, LARGEST_FILE).decode("utf-8", "replace")
    except OSError:
        return ""


def _rust(root: Path, script: str) -> ProjectKind | None:
    if not (root / "Cargo.toml").is_file():
        return None
    name = re.search(r'^name\s*=\s*"([^"]+)"', _text(root / "Cargo.toml"), re.M)
    binary = name[1] if name else _named(root)
    return ProjectKind(
        "a Rust project",
        _interpreted(script) if script else shlex.quote(f"target/release/{binary}"),
        binary,
        ("cargo build --release",),
    )


def _go(root: Path, script: str) -> ProjectKind | None:
    if not (root / "go.mod").exists():
        return None
    return ProjectKind(
        "a Go project", _interpreted(script) if script else "./benchmark", _named(root), ("go build -o benchmark .",)
    )


def _cmake(root: Path, script: str) -> ProjectKind | None:
    if not (root / "CMakeLists.txt").exists():
        return None
    build = ("cmake -S . -B build -DCMAKE_BUILD_TYPE=Release", "cmake --build build -j2")
    return ProjectKind("a CMake project", _interpreted(script) if script else "build/benchmark", "benchmark", build)


def _make(root: Path, script: str) -> ProjectKind | None:
    if not any((root / name).exists() for name in ("Makefile", "makefile", "GNUmakefile")):
        return None
    return ProjectKind("a project with a Makefile", _interpreted(script) if script else "./benchmark", "benchmark", ("make -j2",))


def _node(root: Path, script: str) -> ProjectKind | None:
    if not (root / "package.json").exists():
        return None
    return ProjectKind(
        "a Node project", _interpreted(script) if script else "node benchmark.js", "benchmark", ("npm ci --no-audit",)
    )


LOOKS: tuple[Callable[[Path, str], ProjectKind | None], ...] = (_python, _rust, _go, _cmake, _make, _node)

"""Real projects, each as a repository with its sources, a benchmark of some tenths of a second, and
a perf.toml.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from perfvcs.locate.sources import language
from perfvcs.locate.sources.outline import outline, plain, unit
from perfvcs.locate.sources.parts import MODULE
from perfvcs.plugins.collector import Run

from ..repositories import git, repository

BENCHES = Path(__file__).parent / "benches"
PYTHON = Path(sys.executable).resolve()
CONFIG = """{build}overlay = ["{bench}"]

[[job]]
name = "work"
cmd = "{command}"
collectors = ["time"]
timeout = "120s"
"""
JANSSON = (
    "dump error hashtable hashtable_seed load memory pack_unpack strbuffer strconv utf value"
    " version"
)
ZLIB = "adler32 crc32 compress uncompr deflate inflate inffast inftrees trees zutil"


@dataclass(frozen=True)
class Project:
    """A project by its name: of the package index where it has a ``version``, else of GitHub at a
    revision, with how it is built.
    """

    name: str
    version: str = ""
    repository: str = ""
    revision: str = ""
    build: str = ""

    @property
    def python(self) -> bool:
        """Whether it is one of Python."""
        return bool(self.version)

    def prepare(self, folder: Path) -> Path:
        """Its repository in a folder, and in a file beside it what its benchmark runs."""
        place, known = folder / self.name, folder / f"{self.name}.json"
        if known.exists():
            return place
        shutil.rmtree(place, ignore_errors=True)
        place.mkdir(parents=True)
        if self.python:
            self._install(place)
        else:
            self._clone(place)
        bench = next(BENCHES.glob(f"{self.name}.*"))
        shutil.copy(bench, place / f"bench{bench.suffix}")
        command = f"{PYTHON} bench.py" if self.python else "./bench"
        build = f"build = [{json.dumps(self.build)}]\n" if self.build else ""
        config = CONFIG.format(build=build, bench=f"bench{bench.suffix}", command=command)
        ignored = "__pycache__\n*.pyc\n/bench\n"
        repository(place, {"perf.toml": config, ".gitignore": ignored}, "base")
        known.write_text(json.dumps(self._costs(place)))
        return place

    def _install(self, place: Path) -> None:
        options = ["--quiet", "--no-deps", "--no-compile", "--target", str(place)]
        subprocess.run(
            [sys.executable, "-m", "pip", "install", *options, f"{self.name}=={self.version}"],
            check=True,
        )
        for other in place.glob("*.dist-info"):
            shutil.rmtree(other)

    def _clone(self, place: Path) -> None:
        git(place, "clone", "-q", "--no-checkout", f"https://github.com/{self.repository}", ".")
        git(place, "checkout", "-q", self.revision)
        shutil.rmtree(place / ".git")
        # whose lines end with CR LF
        for path in (place / name for name in ("tinyxml2.cpp", "tinyxml2.h")):
            if path.exists():
                path.write_text(path.read_text())
        if self.name == "jansson":  # what its configure script writes
            (place / "android" / "jansson_private_config.h").write_text(
                "#define HAVE_STDINT_H 1\n#define HAVE_UNISTD_H 1\n"
            )

    def _costs(self, place: Path) -> dict[str, Any]:
        """What the benchmark executes in all, and per function that it runs its calls and its share
        with all that it calls.
        """
        scratch = place.parent / f"{self.name}-scratch"
        scratch.mkdir(exist_ok=True)
        environment = {"PATH": "/usr/bin:/bin", "PYTHONHASHSEED": "0"}
        try:
            if self.python:
                return self._python_costs(
                    Run((str(PYTHON), "bench.py"), place, environment, scratch, "work")
                )
            subprocess.run(self.build, cwd=place, shell=True, check=True)
            return self._native_costs(
                Run((str(place / "bench"),), place, environment, scratch, "work")
            )
        finally:
            shutil.rmtree(scratch)

    def _python_costs(self, run: Run) -> dict[str, Any]:
        from perfvcs.collectors.bytecode import Bytecode

        seen = Bytecode(least=0).collect(run)
        total, functions = seen.values["bytecodes"][0] or 1.0, {}
        for uid, calls, whole in zip(
            seen.uid, seen.values["calls"], seen.values["inclusive"], strict=True
        ):
            name, file = unit(uid)
            if (
                calls
                and name != MODULE
                and file.startswith(f"{self.name}/")
                and "<locals>" not in uid
            ):
                functions[f"{file}:{name}"] = [calls, (whole or 0.0) / total]
        return {"total": total, "functions": functions}

    def _native_costs(self, run: Run) -> dict[str, Any]:
        from perfvcs.collectors.instructions import Instructions

        seen = Instructions(tool="callgrind", repeat=0, least=1e-5).collect(run)
        reached = {plain(uid.rpartition(" (")[0] or uid) for uid in seen.uid}
        functions = {}
        for path in git(run.cwd, "ls-files").splitlines():
            found = (
                outline(path, (run.cwd / path).read_text("utf-8", "replace"))
                if language(path) == "c"
                else None
            )
            for one in found.definitions if found and not path.startswith("bench.") else ():
                if one.name in reached:
                    functions[f"{path}:{one.name}"] = [1, 0.0]
        return {"total": seen.values["instructions"][0], "functions": functions}


PROJECTS = {
    one.name: one
    for one in (
        Project("sqlparse", "0.5.0"),
        Project("tinydb", "4.8.0"),
        Project("mistune", "3.0.2"),
        Project("toolz", "0.12.1"),
        Project("markdown", "3.6"),
        Project("pyparsing", "3.1.2"),
        Project(
            "cJSON",
            "",
            "DaveGamble/cJSON",
            "v1.7.18",
            "gcc -O2 -g bench.c cJSON.c cJSON_Utils.c -o bench -lm",
        ),
        Project(
            "jansson",
            "",
            "akheron/jansson",
            "v2.14",
            "gcc -O2 -g -DHAVE_STDINT_H -Iandroid -Isrc bench.c"
            f" {' '.join(f'src/{one}.c' for one in JANSSON.split())} -o bench -lm",
        ),
        Project(
            "tinyxml2",
            "",
            "leethomason/tinyxml2",
            "10.0.0",
            "g++ -O2 -g bench.cpp tinyxml2.cpp -o bench",
        ),
        Project(
            "zlib",
            "",
            "madler/zlib",
            "v1.3.1",
            f"gcc -O2 -g bench.c {' '.join(f'{one}.c' for one in ZLIB.split())} -o bench",
        ),
        Project("inih", "", "benhoyt/inih", "r58", "gcc -O2 -g bench.c ini.c -o bench"),
        Project(
            "tinyexpr",
            "",
            "codeplea/tinyexpr",
            "9907207e5def0fabdb60c443517b0d9e9d521393",
            "gcc -O2 -g bench.c tinyexpr.c -o bench -lm",
        ),
    )
}

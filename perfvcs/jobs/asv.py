"""Commands that run the files of an asv suite without asv, by its asv.conf.json."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from perfvcs.foreign import beginning
from perfvcs.jobs.starter import Proposal
from perfvcs.rules import LARGEST_RULES

SUITE_FOLDERS = ("", "benchmarks", "asv_bench", "asv_benchmarks", "benchmark", "bench")  # where suites keep their configuration
CONFIGURATION_FILE = "asv.conf.json"
RUNNER = "python -m perfvcs_asv"
SUITE_FOUND = "a suite of asv, whose files run without it"
COMMENT = re.compile(r'("(?:[^"\\\n]|\\.)*")|//[^\n]*|/\*.*?\*/', re.DOTALL)  # or a string, which may hold slashes
BENCHMARK = re.compile(r"^[ \t]*(?:async )?def (?:time|track|peakmem)_\w", re.MULTILINE)
MOST_MODULES = 3  # proposed one by one, in case the whole suite takes too long


def proposals(root: Path) -> Iterator[Proposal]:
    """The whole suite of a project, then some of its modules, each with what the configuration requires and without."""
    for path in (root / folder / CONFIGURATION_FILE for folder in SUITE_FOLDERS):
        text = beginning(path, LARGEST_RULES)
        if not text:
            continue
        name, required = _configured(text)
        folder = (path.parent / name).resolve()
        if not folder.is_dir() or root.resolve() not in folder.parents:
            continue
        inside = folder.relative_to(root.resolve()).as_posix()
        names = [path.stem for path in sorted(folder.glob("*.py")) if BENCHMARK.search(beginning(path, LARGEST_RULES))]
        for chosen in ("", *names[:MOST_MODULES]):
            cmd = shlex.join([*RUNNER.split(), inside, *([chosen] if chosen else [])])
            part = f": {chosen}" if chosen else ""
            for requires in dict.fromkeys((required, ())):
                yield Proposal(SUITE_FOUND + part, cmd, "asv", overlay=f"{inside}/", python=(".",), requires=requires)
        return


def _configured(text: str) -> tuple[str, tuple[str, ...]]:
    """The folder of the benchmarks, beside the configuration, and what pip has to install for them."""
    import msgspec

    class Configuration(msgspec.Struct):
        benchmark_dir: str = "benchmarks"
        matrix: dict[str, object] = {}

    configuration = Configuration()
    plain = COMMENT.sub(lambda match: match[1] or "", text)
    with suppress(msgspec.DecodeError, RecursionError):
        configuration = msgspec.json.decode(re.sub(r",(\s*[}\]])", r"\1", plain), type=Configuration)
    matrix = configuration.matrix
    table = matrix.get("req", {} if {"env", "env_nobuild"} & set(matrix) else matrix)  # older suites have no "req"
    return configuration.benchmark_dir, tuple(_requirements(table) if isinstance(table, dict) else ())


def _requirements(table: dict[str, object]) -> Iterator[str]:
    """One version of each package; an empty or missing one stands for the newest."""
    for name, versions in table.items():
        known = [one for one in versions if isinstance(one, str)] if isinstance(versions, list) else []
        package = name.removeprefix("pip+")
        if re.fullmatch(r"\w[\w.\[\]-]*", package):
            yield f"{package}=={known[-1]}" if known and re.fullmatch(r"[\w.*]+", known[-1]) else package

"""Benchmark harnesses: which format each one's job may name, and the options by which it runs one
benchmark, or each only once.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise
from pathlib import PurePosixPath

from msgspec import Struct

from perfvcs.errors import UsageError
from perfvcs.plugins.collector import EVERY_UNIT, Reads

BY_REGEX = "log"  # the format that takes the expression of a job
# in a regular expression of ECMAScript, POSIX, Go, Java, Python and Rust alike
SPECIAL = re.compile(r"[][\\^$.|?*+(){}]")
COMMAND_END = "--"  # what cargo and npm pass on stands behind it
PASSES_ON = re.compile(r"(?:cargo|npm|pnpm)$")


class Harness(Struct, frozen=True):
    """The options of one harness: ``only`` makes those that run one unit; ``once`` are those with
    which each benchmark runs once, which is what can be counted. ``beside``: others that the unit
    stands together with run, too.
    """

    only: Callable[[str], list[str]] | None = None
    once: tuple[str, ...] = ()
    beside: bool = False


def checked(reads: str | Reads | None) -> Reads | None:
    """What a job reads, in full; raises UsageError with the cure."""
    if reads is None:
        return None
    reads = Reads(reads) if isinstance(reads, str) else reads
    from perfvcs.formats import members
    from perfvcs.plugins import find

    if bool(reads.format) == bool(reads.regex):
        raise UsageError(
            'name a format, such as reads = "go" or { format = "jmh", file = "out.json" }, or give'
            " a regex"
        )
    if reads.regex:
        from perfvcs.formats.log import Log

        Log(reads.regex)  # raises where it cannot be used
        reads = Reads(BY_REGEX, reads.file, reads.regex)
    if reads.format == BY_REGEX and not reads.regex:
        raise UsageError("the format `log` needs its regex: reads = { regex = '...' }")
    if not hasattr(find("formats", reads.format), "decode"):
        raise UsageError(
            f"the format `{reads.format}` can only be written: choose one of"
            f" {', '.join(members('decode'))}"
        )
    path = PurePosixPath(reads.file)
    if path.is_absolute() or ".." in path.parts:
        raise UsageError(
            f"file is {reads.file!r}, but must be in the checkout: write a path below it, such as"
            ' "out.json"'
        )
    return reads


def can_choose(reads: Reads | None) -> bool:
    """Whether the job's harness can run one unit alone."""
    return reads is not None and _harness(reads).only is not None


def runs_alone(reads: Reads | None) -> bool:
    """Whether the job's harness then runs nothing else."""
    return reads is not None and can_choose(reads) and not _harness(reads).beside


def chosen(argv: Sequence[str], reads: Reads, unit: str, *, once: bool = False) -> list[str]:
    """The words of a command that runs one unit, as far as its harness can; ``once``: for
    counting. Without a unit, or behind the words of a shell, nothing is added.

    >>> chosen(["go", "test", "-bench", "."], Reads("go"), "example.org/m.Sort cpus=8")
    ['go', 'test', '-bench', '.', '-bench', '^BenchmarkSort$']
    """
    harness = _harness(reads)
    only = harness.only(unit) if harness.only and unit != EVERY_UNIT else []
    options = [*only, *(harness.once if once else ())]
    if not unit or not options or argv[1:2] == ["-c"]:
        return [*argv]
    argv = _without(argv, harness.once) if once else argv
    if reads.format == "go" and PurePosixPath(argv[0]).name != "go":
        options = [re.sub(r"^-(?=[a-z])", "-test.", option) for option in options]
    passing = PASSES_ON.search(argv[0]) and COMMAND_END not in argv
    return [*argv, *([COMMAND_END] if passing else []), *options]


def fits_to_clock(reads: Reads | None) -> bool:
    """Whether the job's harness runs one unit alone, and always as often as the clock allows, so
    that no count of its work repeats.
    """
    return can_choose(reads) and reads is not None and not _harness(reads).once


def _without(argv: Sequence[str], options: Sequence[str]) -> list[str]:
    """The words without the options that others replace, and their values: Catch2 refuses an option
    that is given twice.

    >>> _without(["bench", "--samples", "20", "--quick", "--all"], ["--samples", "1", "--quick"])
    ['bench', '--all']
    """
    has_value = {
        option: not following.startswith("-")
        for option, following in pairwise([*options, "-"])
        if option.startswith("-")
    }
    kept, words = list[str](), iter(argv)
    for word in words:
        if re.split("[=:]", word, maxsplit=1)[0] not in has_value:
            kept.append(word)
        elif has_value.get(word):
            next(words, None)
    return kept


def _harness(reads: Reads) -> Harness:
    return HARNESSES.get(reads.format.replace("_", "-"), Harness())


def _exactly(text: str) -> str:
    return SPECIAL.sub(r"\\\g<0>", text)


def _bare(unit: str) -> str:
    """A unit's name without what a reader put behind it: parameters, threads, a label."""
    return re.split(r"\(| \[| threads=| cpus=", unit, maxsplit=1)[0]


def _go(unit: str) -> list[str]:
    """The function, then its sub-benchmarks, each level by itself (``go help testflag``).

    A number that is the size is missing in the unit's name, and may be at any level. A pattern with
    more levels than a benchmark has reports nothing of it, one with fewer all that is below.
    """
    function, bracket, inside = unit.partition(" cpus=")[0].rpartition("/")[2].partition("(")
    levels = [f"^Benchmark{_exactly(function.rpartition('.')[2])}$"]
    parts = [_exactly(part) for part in inside.removesuffix(")").split(", ")] if bracket else []
    for number in range(len(parts)):
        either = [*parts[max(0, number - 1) : number + 1], "(.*=)?[-+.0-9eE]+"]
        levels.append(f"^({'|'.join(either)})$")
    return ["-bench", "/".join(levels)]


def _google(unit: str) -> list[str]:
    return [f"--benchmark_filter=^{_exactly(_bare(unit))}([(/ ].*)?$"]


def _catch2(unit: str) -> list[str]:
    """The test case: benchmarks inside it have no filter."""
    case = unit.partition(" > ")[0]
    return [re.sub(r"[][,~\\\"*]", r"\\\g<0>", case)]


def _criterion(unit: str) -> list[str]:
    return [f"^{_exactly(unit)}(/.*)?$"]


def _jmh(unit: str) -> list[str]:
    return [f"^{_exactly(_bare(unit))}$"]


def _pytest(unit: str) -> list[str]:
    function = unit.rpartition("::")[2].partition("[")[0].partition("(")[0]
    return ["-k", function]


def _vitest(unit: str) -> list[str]:
    return ["-t", _exactly(unit.rpartition(" > ")[2])]


def _dotnet(unit: str) -> list[str]:
    return ["--filter", f"*{_bare(unit)}*"]


# By the format that a job reads. What is not here has no such options: nanobench, mitata,
# tinybench, hyperfine, pyperf, k6 and Locust run all, and the unit's values are taken.
HARNESSES: Mapping[str, Harness] = {
    "go": Harness(_go, ("-benchtime", "1x", "-count", "1")),
    "google-benchmark": Harness(_google, ("--benchmark_min_time=0", "--benchmark_repetitions=1")),
    "catch2": Harness(
        _catch2,
        ("--benchmark-samples", "1", "--benchmark-warmup-time", "0", "--benchmark-no-analysis"),
        beside=True,
    ),
    "criterion": Harness(_criterion, ("--test",)),
    "libtest": Harness(lambda unit: [unit]),
    "jmh": Harness(_jmh, ("-f", "1", "-bm", "ss", "-wi", "0", "-i", "1")),
    "pytest-benchmark": Harness(_pytest, ("--benchmark-disable",)),
    "vitest": Harness(_vitest),
    "benchmark-dotnet": Harness(_dotnet),
}

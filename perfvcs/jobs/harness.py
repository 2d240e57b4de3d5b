"""Benchmark harnesses: which format each one's job may name, and the options by which it runs one
benchmark, each only once, or so many times.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise
from pathlib import PurePosixPath

from msgspec import Struct

from perfvcs.errors import UsageError
from perfvcs.native import native_folder
from perfvcs.plugins.collector import EVERY_UNIT, Reads

BY_REGEX = "log"  # the format that takes the expression of a job
# in a regular expression of ECMAScript, POSIX, Go, Java, Python and Rust alike
SPECIAL = re.compile(r"[][\\^$.|?*+(){}]")
COMMAND_END = "--"  # what cargo and npm pass on stands behind it
PASSES_ON = re.compile(r"(?:cargo|npm|pnpm)$")
COMPILERS = ("go", "cargo")


class Harness(Struct, frozen=True):
    """The options of one harness: ``only`` makes those that run one unit; ``once`` are those with
    which each benchmark runs once, which is what can be counted. ``often`` gives those with which
    each runs so many times, and ``steady`` the variables with which it then does the same each
    time. ``sized`` makes it run a unit at one of its sizes. ``bounded``: it is known when each of
    its units begins and ends. ``beside``: others that the unit stands together with run, too.
    ``loads`` is what of ``native/`` Node loads first into its programs.
    """

    only: Callable[[str], list[str]] | None = None
    sized: Callable[[str, float], list[str]] | None = None
    once: tuple[str, ...] = ()
    often: Callable[[int], list[str]] | None = None
    steady: Mapping[str, str] = {}
    bounded: bool = False
    beside: bool = False
    loads: str = ""


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
    options = _as_taken(argv, reads, options)
    passing = PASSES_ON.search(program_of(argv)) and COMMAND_END not in argv
    return [*argv, *([COMMAND_END] if passing else []), *options]


def undivided(words: Sequence[str], reads: Reads) -> str:
    """Why the benchmarks that a command's ``words`` run cannot be counted one by one, with the cure
    where there is one; empty where they can.
    """
    if _harness(reads).bounded or repeats(words, reads):
        return ""
    if _harness(reads).often is not None:
        return (
            "a benchmark is counted where the command is the compiled program, without a shell:"
            " compile it in `build`"
        )
    return (
        f"it reads `{reads.format}`, which neither says when a benchmark begins nor runs one as"
        " often as it is asked to"
    )


def repeats(words: Sequence[str], reads: Reads | None) -> bool:
    """Whether the harness that a command's ``words`` start runs one unit alone, and as often as it
    is asked to: behind the words of a shell nothing can be added, and what compiles a benchmark
    would be counted with it.
    """
    if reads is None or not runs_alone(reads) or _harness(reads).often is None:
        return False
    return words[1:2] != ["-c"] and not any(PurePosixPath(word).name in COMPILERS for word in words)


def repeated(
    argv: Sequence[str], reads: Reads, unit: str, size: float | None, often: int
) -> list[str]:
    """The words of a command that runs one unit so many times, at its size where it has one.

    >>> repeated(["./sort.test"], Reads("go"), "Sort", None, 1000)[1:5]
    ['-test.bench', '^BenchmarkSort$', '-test.benchtime', '1000x']
    """
    harness = _harness(reads)
    assert harness.only is not None and harness.often is not None
    only = harness.only(unit)
    if size is not None and harness.sized is not None:
        only = harness.sized(unit, size)
    options = [*only, *harness.often(often)]
    return [*argv, *_as_taken(argv, reads, options)]


def steady(reads: Reads) -> Mapping[str, str]:
    """The variables with which a harness that repeats a unit does the same each time."""
    return _harness(reads).steady


def loading(reads: Reads, env: Mapping[str, str]) -> dict[str, str]:
    """The environment in which a harness gets what it lacks: Benchmark.js a time to take."""
    loads = _harness(reads).loads
    if not loads:
        return dict(env)
    required = f'--require "{native_folder() / loads}"'
    return {**env, "NODE_OPTIONS": " ".join(filter(None, (required, env.get("NODE_OPTIONS"))))}


def _as_taken(argv: Sequence[str], reads: Reads, options: list[str]) -> list[str]:
    """Options of Go's tool as a compiled test has them."""
    if reads.format != "go" or PurePosixPath(program_of(argv)).name == "go":
        return options
    return [re.sub(r"^-(?=[a-z])", "-test.", option) for option in options]


def program_of(argv: Sequence[str]) -> str:
    """The program of a command, also behind ``env -C FOLDER``, as `perf init` writes it."""
    return argv[3] if [*argv[:2]] == ["env", "-C"] and len(argv) > 3 else argv[0]


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


def _go(unit: str, size: float | None = None) -> list[str]:
    """The function, then its sub-benchmarks, each level by itself (``go help testflag``).

    A number that is the size is missing in the unit's name, and may be at any level. A pattern with
    more levels than a benchmark has reports nothing of it, one with fewer all that is below, so
    that a size that is known is a level more.

    >>> _go("m.Sort", 100)
    ['-bench', '^BenchmarkSort$/^((.*=)?[+]?0*100([.]0*)?)$']
    """
    number = "(.*=)?[-+.0-9eE]+"
    if size is not None and size == int(size):
        sign = "-" if size < 0 else "[+]?"
        number = f"(.*=)?{sign}0*{abs(int(size))}([.]0*)?"
    function, bracket, inside = unit.partition(" cpus=")[0].rpartition("/")[2].partition("(")
    levels = [f"^Benchmark{_exactly(function.rpartition('.')[2])}$"]
    parts = [_exactly(part) for part in inside.removesuffix(")").split(", ")] if bracket else []
    for level in range(len(parts) + (size is not None)):
        either = [*parts[max(0, level - 1) : level + 1], number]
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
    "go": Harness(
        _go,
        sized=_go,
        once=("-benchtime", "1x", "-count", "1"),
        often=lambda often: ["-benchtime", f"{often}x", "-count", "1", "-cpu", "1"],
        # collected is only what would take too much memory: when, and how much, is chance
        steady={"GOGC": "off", "GOMEMLIMIT": "512MiB"},
    ),
    "google-benchmark": Harness(
        _google, once=("--benchmark_min_time=0", "--benchmark_repetitions=1"), bounded=True
    ),
    "catch2": Harness(
        _catch2,
        once=(
            *("--benchmark-samples", "1"),
            *("--benchmark-warmup-time", "0"),
            "--benchmark-no-analysis",
        ),
        bounded=True,
        beside=True,
    ),
    "criterion": Harness(_criterion, once=("--test",)),
    "libtest": Harness(lambda unit: [unit]),
    "jmh": Harness(_jmh, once=("-f", "1", "-bm", "ss", "-wi", "0", "-i", "1")),
    "pytest-benchmark": Harness(_pytest, once=("--benchmark-disable",), bounded=True),
    "vitest": Harness(_vitest),
    "benchmark-dotnet": Harness(_dotnet),
    "benchmark-js": Harness(loads="benchmarkjs.js"),
}

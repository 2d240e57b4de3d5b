"""What a Makefile offers to `perf init`: programs that are benchmarks, and targets that run one."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from pathlib import Path

from msgspec.structs import replace

from perfvcs.jobs.makefile import Makefile
from perfvcs.jobs.starter import Proposal
from perfvcs.text.words import listed

BENCHMARKS = ("bench", "benchmark", "benchmarks", "perf")
TESTS = ("check", "test", "tests", "run_tests", "runtests")
FOLDERS = ("bench", "benchmark", "benchmarks", "perf", "test", "tests", "src")  # with a Makefile
WHOLE = ("make -j2",)
MOST_PROGRAMS = 5
IS_BENCHMARK = re.compile(r"(?:.*[-_./])?(?:bench|perf|speed)[\w.-]*|[\w./-]*[-_]bench\w*")
IS_TEST = re.compile(r"(?:.*[-_./])?tests?(?:[-_.].*)?|.*[-_]tests?")


def offers(root: Path) -> Iterator[Proposal]:
    """Benchmarks, then tests: of each a program that the Makefile makes, then a target that it
    runs; first those of the Makefile at the top, then those of the ones in folders.
    """
    makefiles = {folder: Makefile(root / folder) for folder in ("", *FOLDERS)}
    for targets, called in ((BENCHMARKS, IS_BENCHMARK), (TESTS, IS_TEST)):
        for folder, makefile in makefiles.items():
            for offer in _offers(makefile, targets, called) if makefile.rules else ():
                yield _inside(folder, offer) if folder else offer


def _inside(folder: str, offer: Proposal) -> Proposal:
    """What the Makefile of a folder offers, run from the top."""
    enter = f"env -C {folder}"
    return replace(
        offer,
        found=f"{offer.found}, in {folder}/",
        cmd=f"{enter} {offer.cmd}",
        build=tuple(f"{enter} {command}" for command in offer.build),
        beside=tuple((name, f"{enter} {cmd}") for name, cmd in offer.beside),
        copied=tuple((f"{folder}/{name}", text) for name, text in offer.copied),
    )


def _offers(
    makefile: Makefile, targets: tuple[str, ...], called: re.Pattern[str]
) -> Iterator[Proposal]:
    kind = "benchmarks" if targets is BENCHMARKS else "tests"
    there = [target for target in targets if target in makefile.rules]
    for target in there:
        yield from _of_target(makefile, target)
    by_default = makefile.programs(makefile.first)
    others = [name for name in makefile.rules if name not in by_default and makefile.makes(name)]
    # the shortest name is that of all of them: rax-test, not rax-oom-test
    named = sorted(
        (name for name in [*by_default, *others] if called.fullmatch(name)),
        key=lambda name: (name not in by_default, len(name)),
    )
    for name in [name for name in named if name not in there][:MOST_PROGRAMS]:
        program = "the default target" if name in by_default else "a target"
        yield Proposal(
            f"a Makefile, of which {program} makes the program {name} of {kind}",
            f"./{name}",
            name.rpartition("/")[2],
            (shlex.join(["make", name]),),
        )
    if targets is TESTS:
        others = [name for name in makefile.rules if name not in there]
        run = [name for name in others if _runs_itself(makefile, name)][:MOST_PROGRAMS]
        yield from _compiled(makefile, run, listed(run))


def _runs_itself(makefile: Makefile, target: str) -> bool:
    return not IS_BENCHMARK.fullmatch(target) and makefile.compiles_and_runs(target) is not None


def _of_target(makefile: Makefile, target: str) -> Iterator[Proposal]:
    """The program that a target is, or runs; else what make does for it, after the whole build and
    without one.
    """
    rule = makefile.rules[target]
    parts = [target] if rule.recipe else list(dict.fromkeys(rule.needs))[:MOST_PROGRAMS]
    yield from _compiled(makefile, parts, target)
    make = f"make {target}"
    if makefile.makes(target):  # to make it again does nothing
        yield Proposal(
            f"a project with a Makefile: the program {target}", f"./{target}", target, (make,)
        )
        return
    if found := makefile.runs(target):
        program, command = found
        yield Proposal(
            f"a project with a Makefile: what {make} runs",
            command,
            target,
            (shlex.join(["make", program]),),
            copied=((rule.recipe[0].path, command),),
        )
    # as the last part of `all`
    runs_it = target != makefile.first and target in dict(makefile.reached(makefile.first))
    for build in ((),) if runs_it else (WHOLE, ()):
        yield Proposal(f"a project with a Makefile: {make}", make, target, build)


def _compiled(makefile: Makefile, parts: list[str], called: str) -> Iterator[Proposal]:
    """The programs that each of some targets compiles and runs: compiled once for each revision,
    and not in each execution. None where one does anything else.
    """
    found = {name: makefile.compiles_and_runs(name) for name in parts}
    both = {name: pair for name, pair in found.items() if pair is not None}
    if not both or len(both) < len(parts):
        return
    (name, (_, cmd)), *others = both.items()
    paths = {name: makefile.rules[name].recipe[0].path for name in both}
    yield Proposal(
        f"a project with a Makefile: what make {called} compiles and runs",
        cmd,
        name,
        tuple(compiled for compiled, _ in both.values()),
        beside=tuple((other, run) for other, (_, run) in others),
        copied=tuple((paths[name], text) for name, pair in both.items() for text in pair),
    )

"""Runs benchmarks: ``python -m benchmarks NAME... [--quick] [--json FILE] [--record]``."""

from __future__ import annotations

import json
import os
import sys
import time
from argparse import ArgumentParser, RawDescriptionHelpFormatter
from inspect import Parameter
from itertools import groupby, takewhile
from pathlib import Path
from typing import Any

from . import documents
from .figures import RECORDED, Row, lines, plain, record, write
from .registry import Benchmark, Wrong, benchmarks

COMMON = {"quick", "json", "record", "docs"}
USAGE = "python -m benchmarks NAME... [--quick] [--json FILE] [--record] [--seed N...] [options]"


def main(words: list[str]) -> None:
    """Run what is named, or list everything; raises SystemExit where one is unknown or fails."""
    known = benchmarks()
    names = list(takewhile(lambda word: not word.startswith("-"), words))
    unknown = [name for name in names if name not in known]
    if unknown:
        sys.exit(f"no benchmark is called {unknown[0]}: python -m benchmarks lists them")
    chosen = [known[name] for name in names]
    given = _options(chosen, words[len(names) :])
    if given["docs"]:
        print(*documents.write(), sep="\n")
    if not chosen:
        print("" if given["docs"] else listing(known))
        return
    failed: list[str] = []
    records = [_run(one, given, failed) for one in chosen]
    if given["json"]:
        given["json"].write_text(json.dumps(records, ensure_ascii=False) + "\n")
    if failed:
        sys.exit("\n".join(failed))


def listing(known: dict[str, Benchmark]) -> str:
    """Every benchmark with what it answers, by page of docs/evaluation."""
    found = [USAGE]
    for page, members in groupby(known.values(), key=lambda one: one.page):
        found.append(f"\n{page}")
        for one in members:
            needs = f" (needs {', '.join(one.needs)})" if one.needs else ""
            found.append(f"  {one.name:22} {one.answers}{needs}")
    return "\n".join(found)


def _options(chosen: list[Benchmark], words: list[str]) -> dict[str, Any]:
    """The options that are given."""
    parser = ArgumentParser(
        usage=USAGE,
        description="\n\n".join(one.about for one in chosen),
        formatter_class=RawDescriptionHelpFormatter,
    )
    parser.add_argument("--quick", action="store_true", help="a small size, in seconds")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the figures there")
    parser.add_argument("--record", action="store_true", help=f"write them to {RECORDED.name}/")
    parser.add_argument("--docs", action="store_true", help="write recorded tables into the docs")
    for one in chosen:
        one.add_options(parser)
    return vars(parser.parse_args(words))


def _run(one: Benchmark, given: dict[str, Any], failed: list[str]) -> dict[str, Any]:
    """Print the rows of a benchmark as they come, and note what is wrong; their record."""
    options = {
        name: value
        for name, value in given.items()
        if name not in COMMON and name in one.options and value is not Parameter.empty
    }
    if given["quick"] and isinstance(one.quick, str):
        sys.exit(f"{one.name} has no quick size: {one.quick}")
    if given["quick"] and not isinstance(one.quick, str):
        options = {**one.quick, **options}
    wanting = [f"--{name} is required" for name in one.required if name not in options]
    for reason in one.missing + wanting:
        sys.exit(f"{one.name}: {reason}")
    rows: list[Row] = []
    began, before = time.monotonic(), _cpu()
    print(f"-- {one.name}", flush=True)
    try:
        for line in lines(_kept(one.run(options), rows)):
            print(line, flush=True)
    except Wrong as error:
        failed.append(f"{one.name}: {error}")
    found = record(one.name, options, rows, time.monotonic() - began, _cpu() - before)
    if given["record"]:
        write(RECORDED / f"{one.name}.json", found)
    return found


def _cpu() -> float:
    """Seconds of the processors that this process and those that it waited for have used."""
    return sum(os.times()[:4])


def _kept(found: Any, rows: list[Row]) -> Any:
    for row in map(plain, found):
        rows.append(row)
        yield row


if __name__ == "__main__":
    main(sys.argv[1:])

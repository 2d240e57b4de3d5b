"""The files of a job: every report, the page, and a bundle of the profiles."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from perfvcs import wholefile
from perfvcs.check.text import revision
from perfvcs.ci.codequality import code_quality
from perfvcs.ci.junit import junit
from perfvcs.ci.openmetrics import open_metrics
from perfvcs.ci.sarif import sarif
from perfvcs.ci.summary import summary
from perfvcs.ci.verdict import CiVerdict, decode
from perfvcs.descriptors import plain
from perfvcs.environment.secrets import hidden
from perfvcs.errors import NO_SPACE, PerfError, UsageError
from perfvcs.foreign import at_most
from perfvcs.text.characters import escaped
from perfvcs.validity import Malformed

if TYPE_CHECKING:
    from perfvcs.reports.check import Check

DOCUMENT, PAGE = "report.json", "index.html"
LARGEST_ARTIFACT = 1 << 26  # bytes of a document that is read


def document(verdict: CiVerdict) -> bytes:
    """The verdict as JSON, with what follows from it."""
    follows = {"headline": verdict.headline(), "status": verdict.status, "receipt_lines": verdict.receipt.lines()}
    found = msgspec.json.encode(msgspec.structs.asdict(verdict) | follows)
    return escaped(msgspec.json.format(found).decode()).encode()


REPORTS: Mapping[str, Callable[[CiVerdict], bytes]] = {
    DOCUMENT: document,
    "report.md": lambda verdict: summary(verdict).encode(),
    "junit.xml": junit,
    "report.sarif": sarif,
    "gl-code-quality-report.json": code_quality,
    "metrics.txt": open_metrics,
}


def write(folder: Path, verdict: CiVerdict, check: Check) -> None:
    """Write all reports and the page; raises UsageError if they cannot be written."""
    pages = {PAGE: page(verdict, check).encode("utf-8", "replace")}
    files = {name: render(verdict) for name, render in REPORTS.items()} | pages
    try:
        folder.mkdir(parents=True, exist_ok=True)
        wholefile.write(folder / ".gitignore", b"*\n")  # the next measurement is not of a changed working tree
        for name, text in files.items():
            wholefile.write(folder / name, hidden(text.decode("utf-8", "replace"), os.environ).encode())
    except OSError as error:
        if error.errno in NO_SPACE:
            raise
        raise UsageError(f"{folder} cannot be written ({error.strerror}): name another folder with --out") from None


def page(verdict: CiVerdict, check: Check) -> str:
    """The page of what was just measured, in one file."""
    from perfvcs.page import render
    from perfvcs.subject import Subject

    profiles = check.outcome.profiles if check.outcome else []
    sides = [[one for one in profiles if bool(one.design.version) == later] for later in (False, True)]
    names = [revision(name) for name in (verdict.report.baseline, verdict.report.target)]
    notes = [f"{verdict.headline()}.", *verdict.receipt.lines(), *verdict.notes]
    return render(Subject(f"{names[0]} → {names[1]}", sides[1], sides[0], verdict.report, notes=notes))


def read(folder: Path) -> CiVerdict:
    """The verdict in a folder of reports, which another job has written; raises UsageError, NotPlain."""
    path = folder / DOCUMENT
    try:
        with open(path, "rb", opener=plain) as file:
            return decode(at_most(file, LARGEST_ARTIFACT))
    except OSError as error:
        raise UsageError(f"{path} cannot be read ({error.strerror}): name the folder that `perf ci --out` wrote") from None
    except Malformed as error:
        raise UsageError(f"{path}: {error}") from None


def append(path: Path, verdict: CiVerdict) -> str:
    """Add the verdict to the summary of a step, as far as there is room; what went wrong, in a sentence."""
    from perfvcs.ci.summary import SUMMARY

    try:
        with path.open("ab") as file:
            room = SUMMARY - file.tell() - 1
            text = hidden(summary(verdict, room), os.environ).encode() if room > 0 else b""
            file.write(text[:room] + b"\n" if room > 0 else b"")
    except OSError as error:
        return f"the summary of this step was not written: {error.strerror}"
    return ""


def bundle(path: Path, check: Check) -> str:
    """Write the profiles of both commits into a file for another job to import; what came of it, in a sentence."""
    from perfvcs.exchange.bundle import write as write_bundle

    try:
        count = write_bundle(
            check.repository, tuple(dict.fromkeys((check.baseline.commit, check.target.commit))), (), path, force=True
        )
    except UsageError as error:
        return f"no bundle: {error}"
    except PerfError as error:
        return f"no bundle: {hidden(str(error), os.environ)}"
    return f"wrote {count} profiles to {path}"

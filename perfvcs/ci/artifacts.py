"""The files of a job: every report, the page, and a bundle of the profiles."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import msgspec

from perfvcs.check.answer import criteria
from perfvcs.check.markdown import escape, markdown
from perfvcs.check.screen import screen
from perfvcs.check.text import revision, wrap
from perfvcs.ci.civerdict import CiVerdict, CiWord, decode
from perfvcs.ci.findings import code_quality, sarif
from perfvcs.ci.suites import junit, open_metrics
from perfvcs.environment.variables import hidden
from perfvcs.errors import NO_SPACE, PerfError, UsageError
from perfvcs.git.changes import OWN_GITIGNORE
from perfvcs.profile.validity import Malformed
from perfvcs.reports.check import Check
from perfvcs.system import disk
from perfvcs.system.disk import plain
from perfvcs.system.foreign import at_most
from perfvcs.text.characters import COLUMNS, shorten
from perfvcs.text.document import json_text
from perfvcs.text.quantity import duration

COMMENT = 65_536  # characters that GitHub takes; no text has more of them than bytes
SUMMARY = 1 << 20  # bytes of a step
HEADLINE = 1000  # characters of the sentence in it
SAFE_NAME = re.compile(r"[\w.-]{1,60}", re.ASCII)
BANNERS: dict[CiWord, str] = {
    "degraded": "CAUTION",
    "failed": "CAUTION",
    "unsettled": "WARNING",
    "untouched": "NOTE",
    "fine": "TIP",
}
# nothing changed as far as it is settled, or by a judge that the change touches
PARTLY = "IMPORTANT"
CUT = "\n\nThe rest does not fit here: the page and `report.json` have it.\n"
LARGEST_ARTIFACT = 1 << 26  # bytes of a document that is read
DOCUMENT, PAGE = "report.json", "index.html"


def marker(name: str) -> str:
    """The invisible marker at the start of a comment; ``name`` distinguishes several comments on
    one pull request.
    """
    return f"<!-- perfvcs-ci {name} -->"


def comment(verdict: CiVerdict, name: str) -> str:
    """The comment, at most ``COMMENT`` bytes."""
    return _joined(verdict, f"{marker(name)}\n", COMMENT, verbose=False)


def summary(verdict: CiVerdict, most: int = SUMMARY) -> str:
    """The same with a table of every comparison, at most so many bytes."""
    return _joined(verdict, "", most, verbose=True)


def _joined(verdict: CiVerdict, top: str, most: int, *, verbose: bool) -> str:
    """Banner, report, receipt and notes; cuts the report where not all of it fits."""
    partly = (
        verdict.receipt.settled < verdict.receipt.comparisons
        or not verdict.report.judged_by.is_plain
    )
    banner = PARTLY if partly and verdict.word in ("fine", "untouched") else BANNERS[verdict.word]
    pair = " → ".join(
        escape(revision(name)) for name in (verdict.report.baseline, verdict.report.target)
    )
    sentences = [
        shorten(verdict.sentence(), HEADLINE),
        criteria(verdict.report.judged_by, whole=verbose),
    ]
    headline = escape(". ".join(filter(None, sentences)))
    head = f"{top}> [!{banner}]\n> **perf ci** {pair}: {headline}.\n\n"
    body = ""
    if verdict.report.changes:
        whole = markdown(
            verdict.report,
            causes=verdict.causes_by_unit,
            following=verdict.following,
            verbose=verbose,
        )
        body = whole.partition("\n\n")[2]  # its first paragraph is the sentence
    receipt = "".join(f"- {line}\n" for line in verdict.receipt.lines())
    why = [] if verdict.word == "failed" else verdict.why[1:]
    notes = "".join(f"\nNote: {escape(note)}\n" for note in (*why, *verdict.notes))
    took = f"\n<sub>took {duration(verdict.seconds)}</sub>\n"
    end = f"\n\n{receipt}{notes}{took}"
    room = most - len((head + CUT + took).encode())
    end = end if len(end.encode()) <= room // 2 else f"{_cut(end, room // 2)}{took}"
    body = _cut(body, room - len(end.encode()))
    return f"{head}{body}{end}"


def _cut(text: str, room: int) -> str:
    """The first lines of a text, in so many bytes."""
    whole = text.encode()
    if len(whole) <= room:
        return text
    return whole[: max(0, room)].rpartition(b"\n")[0].decode() + CUT


def lines(verdict: CiVerdict, width: int = COLUMNS) -> list[str]:
    """The report as `perf check` prints it, or why there is none, and the error receipt."""
    report: list[str] = []
    if verdict.report.changes:
        report += [
            screen(
                verdict.report,
                causes=verdict.causes_by_unit,
                following=verdict.following,
                width=width,
            ),
            "",
        ]
    if not verdict.report.changes or verdict.word in ("failed", "unsettled"):
        pair = f"{revision(verdict.report.baseline)} -> {revision(verdict.report.target)}"
        summary = verdict.sentence() if verdict.report.changes else verdict.headline()
        report += wrap(f"{pair}: {summary}", width, subsequent_indent="  ")
    for line in verdict.receipt.lines():
        report += wrap(line, width, subsequent_indent="  ")
    for note in verdict.notes:
        report += wrap(f"note: {note}", width, subsequent_indent="  ")
    return [*report, f"took {duration(verdict.seconds)}"]


def document(verdict: CiVerdict) -> bytes:
    """The verdict as JSON, with what follows from it."""
    follows = {
        "headline": verdict.headline(),
        "status": verdict.status,
        "receipt_lines": verdict.receipt.lines(),
    }
    return json_text(msgspec.structs.asdict(verdict) | follows).encode()


REPORTS: Mapping[str, Callable[[CiVerdict], bytes]] = {
    DOCUMENT: document,
    "report.md": lambda verdict: summary(verdict).encode(),
    "junit.xml": junit,
    "report.sarif": sarif,
    "gl-code-quality-report.json": code_quality,
    "metrics.txt": open_metrics,
}


def begin(folder: Path) -> None:
    """Remove the reports of an earlier run, which say nothing of this one; raises UsageError if
    they cannot be removed.
    """
    if folder.is_dir():
        with _written(folder):
            disk.write(folder / ".gitignore", OWN_GITIGNORE)
            for name in (*REPORTS, PAGE):
                (folder / name).unlink(missing_ok=True)


def write(folder: Path, verdict: CiVerdict, check: Check) -> None:
    """Write all reports and the page; raises UsageError if they cannot be written."""
    pages = {PAGE: page(verdict, check).encode("utf-8", "replace")}
    files = {name: render(verdict) for name, render in REPORTS.items()} | pages
    with _written(folder):
        folder.mkdir(parents=True, exist_ok=True)
        # the next measurement is not of a changed working tree
        disk.write(folder / ".gitignore", OWN_GITIGNORE)
        for name, text in files.items():
            disk.write(folder / name, hidden(text.decode("utf-8", "replace"), os.environ).encode())


@contextmanager
def _written(folder: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        if error.errno in NO_SPACE:
            raise
        raise UsageError(
            f"{folder} cannot be written ({error.strerror}): name another folder with --out"
        ) from None


def page(verdict: CiVerdict, check: Check) -> str:
    """The page of what was just measured, in one file."""
    from perfvcs.check.subject import Subject
    from perfvcs.reports.page import render

    profiles = check.outcome.profiles if check.outcome else []
    sides = [
        [profile for profile in profiles if bool(profile.design.version) == later]
        for later in (False, True)
    ]
    names = [revision(name) for name in (verdict.report.baseline, verdict.report.target)]
    notes = [f"{verdict.headline()}.", *verdict.receipt.lines(), *verdict.notes]
    return render(
        Subject(f"{names[0]} → {names[1]}", sides[1], sides[0], verdict.report, notes=notes)
    )


def read(folder: Path) -> CiVerdict:
    """The verdict in a folder of reports, which another job has written; raises UsageError,
    NotPlain.
    """
    path = folder / DOCUMENT
    try:
        with open(path, "rb", opener=plain) as file:
            return decode(at_most(file, LARGEST_ARTIFACT))
    except OSError as error:
        raise UsageError(
            f"{path} cannot be read ({error.strerror}): name the folder that `perf ci --out` wrote"
        ) from None
    except Malformed as error:
        raise UsageError(f"{path}: {error}") from None


def append(path: Path, verdict: CiVerdict) -> str:
    """Add the verdict to the summary of a step, as far as there is room; what went wrong, in a
    sentence.
    """

    try:
        with path.open("ab") as file:
            room = SUMMARY - file.tell() - 1
            text = hidden(summary(verdict, room), os.environ).encode() if room > 0 else b""
            file.write(text[:room] + b"\n" if room > 0 else b"")
    except OSError as error:
        return f"the summary of this step was not written: {error.strerror}"
    return ""


def bundle(path: Path, check: Check) -> str:
    """Write the profiles of both commits into a file for another job to import; what came of it, in
    a sentence.
    """
    from perfvcs.exchange.delivery import write_bundle
    from perfvcs.profile.benchmarkfilter import EVERYTHING

    try:
        count = write_bundle(
            check.repository,
            tuple(dict.fromkeys((check.baseline.commit, check.target.commit))),
            EVERYTHING,
            path,
            force=True,
        )
    except UsageError as error:
        return f"no bundle: {error}"
    except PerfError as error:
        return f"no bundle: {hidden(str(error), os.environ)}"
    return f"wrote {count} profiles to {path}"

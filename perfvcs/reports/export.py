"""The forms of a page: files of every kind, characters for a terminal, and JSON."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import chain, islice
from pathlib import Path
from typing import Any

import msgspec

from perfvcs import plugins
from perfvcs.check.markdown import CheckDocument
from perfvcs.check.markdown import document as report_document
from perfvcs.check.screen import screen
from perfvcs.check.subject import Series, Subject
from perfvcs.errors import UsageError, nearest
from perfvcs.profile import Profile
from perfvcs.reports.head import facts, warnings
from perfvcs.reports.pieces import Drawable, choose, configured, fitting, nothing
from perfvcs.system.disk import is_stream
from perfvcs.text.characters import COLUMNS, shorten, wrapped
from perfvcs.text.document import filled, json_text

FORMAT = "perfvcs-subject/1"
# the first of these that fits comes before the table
FIRST_VIEWS = ("history", "effects", "scatter")
TABLE = "table"
LONGEST_TITLE = 10_000  # characters of a title
PICTURES = (".png", ".svg")
TABLES = (".md", ".csv", ".tex")
PAGE_SUFFIX, TEXT = ".html", ".txt"
FILE_ENDINGS = (PAGE_SUFFIX, *PICTURES, ".json", TEXT, *TABLES)


class SubjectDocument(msgspec.Struct, frozen=True, kw_only=True):
    """What `perf show -o FILE.json` writes: profiles, report and series of a subject."""

    format: str = FORMAT
    title: str
    facts: dict[str, Sequence[str]]
    warnings: Sequence[str]
    notes: Sequence[str]
    baseline: list[msgspec.Raw]
    target: list[msgspec.Raw]
    report: CheckDocument | None
    history: Sequence[Series]


def document(subject: Subject) -> str:
    """The document of a subject; a number that is not finite is null."""
    report = subject.report
    return json_text(
        filled(
            SubjectDocument,
            subject,
            facts={fact.term: fact.values for fact in facts(subject)},
            warnings=warnings(subject),
            baseline=_profiles(subject.baseline),
            target=_profiles(subject.target),
            report=None if report is None else report_document(report),
        ),
        indent=0,
    )


def _profiles(profiles: Sequence[Profile]) -> list[msgspec.Raw]:
    return [msgspec.Raw(profile.encode()) for profile in profiles]


def render(name: str, **values: Any) -> str:
    """The page of a template in this folder; ``title`` and ``said`` are among its values."""
    from jinja2 import Environment, FileSystemLoader

    environment = Environment(
        loader=FileSystemLoader(Path(__file__).parent), autoescape=True, trim_blocks=True
    )
    return environment.get_template(name).render(values)


def text(
    subject: Subject,
    view: str | None = None,
    options: Mapping[str, str] | None = None,
    width: int = COLUMNS,
) -> str:
    """The view that is named, else the most telling one with the table below it; lines of at most
    ``width`` columns.

    Raises UsageError as ``choose`` does, and where the view cannot be drawn with characters.
    """
    if view is None:
        chosen = configured(subject, _telling(subject), options or {})
    else:
        chosen = choose(subject, view, options)
    drawn = [
        drawing
        for drawable in chosen
        if (drawing := drawable.view.text(drawable.data, width)) is not None
    ]
    if view is not None and not drawn:
        every = fitting(subject, plugins.names("views"))
        able = [
            drawable.name
            for drawable in every
            if drawable.view.text(drawable.data, width) is not None
        ]
        raise UsageError(
            f"view `{view}` cannot be drawn with characters; these can: {', '.join(able) or 'none'}"
        )
    head = "\n".join(wrapped([shorten(subject.title, LONGEST_TITLE), *subject.notes], width))
    return "\n\n".join([head, *_answer(subject, width), *(drawn or [nothing(subject)])])


def _answer(subject: Subject, width: int) -> list[str]:
    """The report of two revisions, as `perf check` prints it."""
    if subject.report is None:
        return []
    return [screen(subject.report, causes=subject.causes, following=subject.following, width=width)]


def _telling(subject: Subject) -> Iterator[Drawable]:
    """The most telling view, and the table, which of a history would be a row per commit."""
    yield from islice(chain.from_iterable(fitting(subject, [name]) for name in FIRST_VIEWS), 1)
    if not subject.history:
        yield from fitting(subject, [TABLE])


def ending(path: Path) -> str:
    """The kind of a file, by the ending of its name; a pipe or a device gets a page.

    Raises UsageError for an ending that means nothing, for a folder, and for a name that the system
    does not take.
    """
    try:
        folder, stream = path.is_dir(), is_stream(path)
    except OSError as error:
        raise UsageError(
            f"cannot write {path.name:.80} ({error.strerror}): choose another -o"
        ) from None
    if folder:
        raise UsageError(f"{path} is a folder: name a file in it, such as {path / 'page.html'}")
    suffix = path.suffix.lower()
    if suffix not in FILE_ENDINGS and stream:
        return PAGE_SUFFIX
    if suffix not in FILE_ENDINGS:
        if suffix:
            what = f"`{suffix:.20}` is not an ending that `perf show` writes"
        else:
            what = f"{path.name:.80} has no ending"
        raise UsageError(f"{what}{nearest(suffix, FILE_ENDINGS)}")
    return suffix


def export(
    subject: Subject, kind: str, view: str | None = None, options: Mapping[str, str] | None = None
) -> bytes:
    """The content of a file with the ending ``kind``.

    Raises UsageError as ``choose`` does, where a view has no such form, and where a picture needs a
    browser that is not there.
    """
    if kind == PAGE_SUFFIX:
        from perfvcs.reports.page import render

        return render(subject, view, options).encode()
    if kind in PICTURES:
        from perfvcs.reports.screenshot import png, svg

        return (png if kind == ".png" else svg)(subject, view, options)
    if kind == ".json":
        if view is not None or options:
            # all is written, but nothing that is asked for is passed over
            choose(subject, view, options)
        return f"{document(subject)}\n".encode()
    if kind == TEXT:
        return f"{text(subject, view, options)}\n".encode()
    return f"{_table(subject, kind, view, options)}\n".encode()


def _table(subject: Subject, kind: str, view: str | None, options: Mapping[str, str] | None) -> str:
    from perfvcs.pictures import writing
    from perfvcs.pictures.listing import Listing

    if view not in (None, "table"):
        choose(subject, view, options)
        raise UsageError(
            f"a {kind} file holds a table: use `--view table`, or one of {PAGE_SUFFIX},"
            f" {', '.join(PICTURES)}"
        )
    ((_, _, table),) = choose(subject, "table", options)
    forms: dict[str, Callable[[Listing], str]] = {
        ".md": writing.markdown,
        ".csv": writing.separated,
        ".tex": writing.latex,
    }
    return forms[kind](table)

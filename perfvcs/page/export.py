"""The files that `perf show -o` writes; what each is, its ending says."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

from perfvcs.errors import UsageError, nearest
from perfvcs.page.choice import choose
from perfvcs.page.terminal import text
from perfvcs.subject import Subject
from perfvcs.wholefile import is_stream

PAGE_SUFFIX, TEXT = ".html", ".txt"
PICTURES = (".png", ".svg")
TABLES = (".md", ".csv", ".tex")
FILE_ENDINGS = (PAGE_SUFFIX, *PICTURES, ".json", TEXT, *TABLES)


def ending(path: Path) -> str:
    """The kind of a file, by the ending of its name; a pipe or a device gets a page.

    Raises UsageError for an ending that means nothing, for a folder, and for a name that the system does not take.
    """
    try:
        folder, stream = path.is_dir(), is_stream(path)
    except OSError as error:
        raise UsageError(f"cannot write {path.name:.80} ({error.strerror}): choose another -o") from None
    if folder:
        raise UsageError(f"{path} is a folder: name a file in it, such as {path / 'page.html'}")
    found = path.suffix.lower()
    if found not in FILE_ENDINGS and stream:
        return PAGE_SUFFIX
    if found not in FILE_ENDINGS:
        what = f"`{found:.20}` is not an ending that `perf show` writes" if found else f"{path.name:.80} has no ending"
        raise UsageError(f"{what}{nearest(found, FILE_ENDINGS)}")
    return found


def export(subject: Subject, kind: str, view: str | None = None, options: Mapping[str, str] | None = None) -> bytes:
    """The content of a file with the ending ``kind``.

    Raises UsageError as ``choose`` does, where a view has no such form, and where a picture needs a browser that is not there.
    """
    if kind == PAGE_SUFFIX:
        from perfvcs.page import render

        return render(subject, view, options).encode()
    if kind in PICTURES:
        from perfvcs.page.picture import png, svg

        return (png if kind == ".png" else svg)(subject, view, options)
    if kind == ".json":
        from perfvcs.page.document import document

        if view is not None or options:
            choose(subject, view, options)  # all is written, but nothing that is asked for is passed over
        return f"{document(subject)}\n".encode()
    if kind == TEXT:
        return f"{text(subject, view, options)}\n".encode()
    return f"{_table(subject, kind, view, options)}\n".encode()


def _table(subject: Subject, kind: str, view: str | None, options: Mapping[str, str] | None) -> str:
    """The complete table, all of its rows."""
    from perfvcs.drawing.tables import writing
    from perfvcs.drawing.tables.listing import Listing

    if view not in (None, "table"):
        choose(subject, view, options)
        raise UsageError(f"a {kind} file holds a table: use `--view table`, or one of {PAGE_SUFFIX}, {', '.join(PICTURES)}")
    ((_, _, table),) = choose(subject, "table", options)
    forms: dict[str, Callable[[Listing], str]] = {
        ".md": writing.markdown, ".csv": writing.separated, ".tex": writing.latex,
    }  # fmt: skip
    return forms[kind](table)

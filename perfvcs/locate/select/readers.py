"""The readers of what changed: who names a file, lists files, reads texts, or looks names up."""

from __future__ import annotations

from collections.abc import Collection, Iterator

from perfvcs.locate.select.changereach import ToldChange
from perfvcs.locate.select.reached import MODULE
from perfvcs.locate.sources import language
from perfvcs.locate.sources.differences import Changes
from perfvcs.locate.sources.imports import BY_FILE, is_build, is_document
from perfvcs.locate.sources.parts import FOLDERS, SOURCES, ending
from perfvcs.locate.sources.uses import Sources

# what lists files in C and C++
LISTING_IN_C = (
    "opendir",
    "readdir",
    "scandir",
    "nftw",
    "ftw",
    "fts_open",
    "glob",
    "directory_iterator",
    "recursive_directory_iterator",
)


def data_readers(sources: Sources, changes: Changes) -> Iterator[tuple[str, str, str]]:
    """The files that may read a changed one as data: path, the name that stands there, and reason.

    Any file is data for whoever names it or its ending; a document for whoever lists files, and
    docstrings for whoever asks.
    """
    names: dict[str, str] = {}
    for file in changes.files:
        reason = f"{file.path} changed"
        name = file.path.rpartition("/")[2]
        names |= dict.fromkeys(filter(None, (name, ending(name))), reason)
        if file.document or file.why == BY_FILE:
            names |= dict.fromkeys((FOLDERS, *LISTING_IN_C), reason)
    if not names:
        return
    programs = [path for path in sources.blobs if not (is_build(path) or is_document(path))]
    for path in sources.naming(names, programs):
        for name, reason in names.items():
            if name not in LISTING_IN_C or language(path) == "c":
                yield path, name, reason


def text_readers(sources: Sources, changes: Changes) -> ToldChange | None:
    """Those who read docstrings and the like that changed, where the file is imported; None where
    nobody does.
    """
    python_files = [file for file in changes.files if language(file.path) == "python"]
    marks = {mark: file.path for file in python_files for mark in (*file.told, SOURCES)}
    readers: dict[str, str] = {}
    for path in sources.naming(marks) if marks else ():
        parts = sources.parts(path)
        if parts is None:
            continue
        for mark, changed in marks.items():
            reason = f"reads the texts of functions, and those of {changed} changed"
            for name, function in parts.functions.items():
                if mark in function.mentions:
                    readers.setdefault(f"{path}:{name}", f"{name} {reason}")
            if any(mark in statement.mentions for statement in parts.statements):
                readers.setdefault(f"{path}:{MODULE}", f"{path} {reason}")
    if not readers:
        return None
    users = (sources.users(file.path) for file in python_files)
    return ToldChange(readers, frozenset().union(*users))


def lookups(sources: Sources, names: Collection[str]) -> Iterator[str]:
    """The functions, as ``file:qualified name``, that mention any of some ``names``: those that
    look names up, and those that only an object's class can give a meaning.
    """
    looked_up = frozenset(names)
    for path in sources.naming(looked_up):
        parts = sources.parts(path)
        for name, function in parts.functions.items() if parts else ():
            if not looked_up.isdisjoint(function.mentions):
                yield f"{path}:{name}"

"""What a change can reach: functions that changed, functions that name what changed, and files
whose loading may change anything; and whether a benchmark runs any of it.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass, field

from perfvcs.locate.select.reached import MODULE, Reach, outer
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


@dataclass(frozen=True)
class ToldChange:
    """Docstrings, annotations or comments that changed: ``readers`` of such texts, as
    ``file:qualified name``, with the reason.

    They can see them in a process with any of some files: ``users``, which import what changed.
    """

    readers: dict[str, str]
    users: frozenset[str]


@dataclass
class ChangeReach:
    """What a change can reach, with the reason for each.

    ``everything``: files that anything may notice. ``functions``: by ``file:qualified name``.
    ``classes``: beginnings of such names. ``loading``: files whose loading may change anything in
    the process. ``loaded``: files that load in another way, which matters where loading is
    measured; ``programs``: the same of what a file runs only as the program. ``computed``:
    functions and classes (by their beginnings) that matter to those who also run one of
    ``computing``, which looks up names that stand nowhere. ``told``: docstrings and the like that
    changed. ``unread``: programs in languages of which only files are known.
    """

    everything: dict[str, str] = field(default_factory=dict)
    functions: dict[str, str] = field(default_factory=dict)
    classes: dict[str, str] = field(default_factory=dict)
    loading: dict[str, str] = field(default_factory=dict)
    loaded: dict[str, str] = field(default_factory=dict)
    programs: dict[str, str] = field(default_factory=dict)
    unread: list[str] = field(default_factory=list)
    told: ToldChange | None = None
    computed: ChangeReach | None = None
    computing: frozenset[str] = frozenset()

    @property
    def empty(self) -> bool:
        """Whether it reaches nothing at all."""
        return not (
            self.told
            or self.unread
            or self.everything
            or self.functions
            or self.classes
            or self.loading
            or self.loaded
            or self.programs
        )


def touches(reach: Reach, change: ChangeReach) -> str:
    """How a change can touch what a benchmark runs, in one sentence; empty where it cannot."""
    if reach.processes:
        return "it starts processes whose functions are not known"
    functions = {outer(function) for function in reach.functions}
    if reason := _among(functions, change):
        return f"runs {reason}"
    if reason := _loads(reach, change):
        return reason
    if change.told is not None and (reason := _reads(reach, change.told)):
        return reason
    if (
        change.computed is not None
        and not functions.isdisjoint(change.computing)
        and (reason := _among(functions, change.computed))
    ):
        return f"looks names up, and runs {reason}"
    return ""


def stale(reach: Reach, change: ChangeReach) -> str:
    """How something that changed after a benchmark was recorded can touch it, in one sentence;
    empty where it cannot.
    """
    if change.everything:
        path, why = next(iter(change.everything.items()))
        return f"{path} changed: {why}"
    if change.unread:
        return f"{change.unread[0]} changed, which is known by file only"
    return touches(reach, change)


def _among(functions: Iterable[str], change: ChangeReach) -> str:
    for function in sorted(functions):
        if reason := change.functions.get(function, ""):
            return f"{function}: {reason}"
    if change.classes:
        beginnings = tuple(change.classes)
        for function in sorted(functions):
            if function.startswith(beginnings):
                beginning = next(
                    candidate for candidate in beginnings if function.startswith(candidate)
                )
                return f"{function}: {change.classes[beginning]}"
    return ""


def _reads(reach: Reach, told: ToldChange) -> str:
    """How a benchmark may read docstrings and the like that changed; empty where what it runs does
    not import their file.
    """
    files = {function.partition(":")[0] for function in reach.functions}
    reader = next(
        (function for function in sorted(reach.functions) if outer(function) in told.readers), ""
    )
    if not reader or files.isdisjoint(told.users):
        return ""
    return f"runs {reader}: {told.readers[outer(reader)]}"


def _loads(reach: Reach, change: ChangeReach) -> str:
    """What the benchmark's process loads differs, where that is measured or may change anything."""
    for path, reason in change.loading.items():
        if f"{path}:{MODULE}" in reach.functions or f"{path}:{MODULE}" in reach.outside:
            return f"its process loads {path}: {reason}"
    for several in (change.loaded, change.programs):
        for path, reason in several.items():
            if f"{path}:{MODULE}" in reach.functions:
                return f"loads {path}: {reason}"
    return ""


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

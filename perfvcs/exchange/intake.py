"""``perf import``: files become profiles of the store, in one commit; one that is broken does not
stop the others.
"""

from __future__ import annotations

import hashlib
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from perfvcs.errors import PerfError, UsageError
from perfvcs.exchange.importedturn import ImportedTurn, StoredTurns
from perfvcs.exchange.sources import FORMAT, STDIN, ImportSources, Source, session_of
from perfvcs.formats import UNKNOWN, NoResults, UnreadableFile, content, decode_all, read_all
from perfvcs.formats.criterion import joined
from perfvcs.git.ancestry import OBJECT_ID, CommitDates
from perfvcs.profile.validity import MAX_PROFILE, Malformed
from perfvcs.store.removal import path_of
from perfvcs.text.characters import shorten
from perfvcs.text.words import counted

if TYPE_CHECKING:
    from perfvcs.measure.progress import Progress
    from perfvcs.profile import Profile
    from perfvcs.repository import Repository

MOST_NAMED = 5  # commits or names in a message


@dataclass
class Intake:
    """Reads files one by one and reports the outcome afterwards.

    ``commits`` are those that the profiles belong to, whatever their files say: one for all files,
    or one for each; where there are none it is what a file says, or HEAD where it says nothing.
    ``name`` is the job's, whatever a file says. ``in_turns``: the files were measured together, run
    by run, so that they are one session. ``renamed`` are the present ids of commits by their former
    ones, as files have them. ``options`` are those of the format. Of versions of one measurement,
    as `perf process` makes them, the one that is stored stays, else the first one comes; what is
    stored already stays as it was imported. Memory
    holds one profile at a time. ``defect`` is the first error that no reader may raise: the other
    files are stored anyway, then the caller raises it.
    """

    repository: Repository
    commits: Sequence[str] = ()
    format_name: str | None = None
    options: Mapping[str, Any] = field(default_factory=dict)
    name: str = ""
    in_turns: bool = False
    renamed: Mapping[str, str] = field(default_factory=dict)
    paths: list[str] = field(default_factory=list)
    known: int = 0
    versions: int = 0
    first_error: PerfError | None = None
    defect: Exception | None = None
    placed: int = 0
    moved: int = 0
    empty: int = 0
    titles: set[str] = field(default_factory=set)
    notes: dict[str, list[str]] = field(default_factory=dict)
    _first: dict[tuple[str, str], str] = field(default_factory=dict)
    _turns: dict[tuple[str, str], Path] = field(default_factory=dict)

    def store(self, files: Sequence[Path], progress: Progress, show: Callable[[str], None]) -> None:
        """Store the profiles in files, folders (``-`` is standard input); broken ones are reported
        by ``show`` and skipped.

        Raises UsageError where the commits do not fit the files.
        """
        if len(self.commits) not in (0, 1, len(files)):
            raise UsageError(
                f"these are {len(files)} files and {len(self.commits)} commits: name one commit, or"
                " one for each file"
            )
        if self.in_turns and (len(set(self.commits)) < 2 or STDIN in files):
            raise UsageError(
                "measurements in turns need two or more commits: name all files in one call, with a"
                " --commit for each"
            )
        commits = (
            self.commits
            if len(self.commits) == len(files)
            else [next(iter(self.commits), None)] * len(files)
        )
        given = [(Path(file), commit) for file, commit in zip(files, commits, strict=True)]
        sources = ImportSources(self.format_name, lambda error: self._failed(error, show))
        wanted = list(
            dict.fromkeys(source for file, commit in given for source in sources.of(file, commit))
        )
        progress.begin(len(wanted))
        what = counted(len(wanted), "file")
        session = session_of(wanted) if self.in_turns else ""
        try:
            paths = self.repository.store.add(
                self._profiles(wanted, session, progress, show), f"Import {what}"
            )
        finally:
            self._dates.close()
        self.paths = [path for path in dict.fromkeys(paths) if not self._stored.had(path)]
        self.known = len(paths) - len(self.paths)

    def lines(self) -> list[str]:
        """What came of it, for people."""
        count = len(self.paths)
        lines = [
            f"stored {counted(count, 'profile')}"
            + (f", {self.known} already stored" if self.known else "")
        ]
        lines += self._stored.lines()
        if self.versions:
            lines.append(
                f"left out {self.versions}: the same measurement is stored in another version, see"
                " `perf process`"
            )
        if self.empty:
            lines.append(f"left out {counted(self.empty, 'file')} without results")
        if self.placed:
            lines.append(
                f"{_named(self.placed)} no commit: stored for HEAD; choose another with --commit"
            )
        if self.moved:
            lines.append(f"{_named(self.moved)} another commit than --commit")
        if self.titles:
            names = ", ".join(
                shorten(name) for name in sorted(self.titles)[:MOST_NAMED]
            ) + ", ..." * (len(self.titles) > MOST_NAMED)
            lines.append(
                f"named after the file: {names}; only benchmarks of one name are compared, --name"
                " gives it"
            )
        lines += [
            f"{paths[0] if len(paths) == 1 else counted(len(paths), 'file')}: {note}"
            for note, paths in list(self.notes.items())[:MOST_NAMED]
        ]
        if len(self.notes) > MOST_NAMED:
            lines.append(f"... and {len(self.notes) - MOST_NAMED:,} other remarks on files")
        foreign = [commit for commit, when in self._dates.known.items() if when is None]
        if foreign:
            more = f" and {len(foreign) - MOST_NAMED:,} more" if len(foreign) > MOST_NAMED else ""
            lines.append(
                "not commits of this repository:"
                f" {', '.join(commit[:10] for commit in foreign[:MOST_NAMED])}{more}"
            )
        return lines

    def _profiles(
        self,
        sources: Sequence[Source],
        session: str,
        progress: Progress,
        show: Callable[[str], None],
    ) -> Iterator[Profile]:
        for source in sources:
            try:
                for profile in self._read(source):
                    own = self._in_session(profile, session, source) if session else profile
                    # what cannot be stored is this file's error, not the end of all
                    document = _encoded(own, source)
                    placed, document = self._stored.as_stored(own, document)
                    if self._is_another_version(placed, document):
                        self.versions += 1
                    else:
                        yield placed
            except NoResults as error:
                self.empty += 1
                if len(sources) == 1:
                    self._failed(error, show)
            except PerfError as error:
                self._failed(error, show)
            except Exception as error:
                self._failed(self._unexpected(error, source), show)
            progress.step(shorten(source.path.name))

    def _unexpected(self, error: Exception, source: Source) -> PerfError:
        """The message for a file that exposed a defect of perfvcs; the error is kept."""
        error.add_note(f"while importing {source.path}")
        self.defect = self.defect or error
        return UnreadableFile(
            f"{source.path}: perfvcs failed to read it ({type(error).__name__}): its traceback"
            " follows, please report it"
        )

    def _is_another_version(self, profile: Profile, document: bytes) -> bool:
        """Whether the store has, or gets from an earlier file, the same measurement before or after
        another postprocessor.

        With both, verdicts would count it twice.
        """
        path = path_of(profile, document)
        if self._stored.had(path):
            return False
        first = profile.origin or hashlib.sha256(document).hexdigest()
        if self._first.setdefault((profile.commit, first), path) != path:
            return True
        folder, _, name = path.rpartition("/")
        unprocessed = f"{folder}/{name.rpartition('-')[0]}-{first[:12]}.json"
        return self._stored.had(unprocessed, first)

    def _read(self, source: Source) -> Iterator[Profile]:
        if source.parts:
            profiles = decode_all(
                joined(source.parts), str(source.path), FORMAT, self.options, name=self.name
            )
        elif source.path == STDIN:
            document = sys.stdin.buffer.read(MAX_PROFILE + 1)
            if len(document) > MAX_PROFILE:
                raise UnreadableFile(f"standard input has over {MAX_PROFILE:,} bytes: split it")
            profiles = decode_all(document, "stdin", self.format_name, self.options, name=self.name)
        else:
            profiles = read_all(source.path, self.format_name, self.options, name=self.name)
        return (self._placed(profile, source) for profile in profiles)

    def _placed(self, profile: Profile, source: Source) -> Profile:
        """The profile of the commit that it belongs to, and of that commit's time where it names
        none.
        """
        named = source.origin or (profile.commit if profile.commit != UNKNOWN else "")
        named = self.renamed.get(named, named)
        commit = source.commit or named or self._head
        self.placed += not (source.commit or named)
        self.moved += bool(named) and commit != named
        # our own document of one names its commit
        table = profile.job.engine == "csv" and profile.commit == UNKNOWN
        if table and not (self.name or self.options.get("name")):
            self.titles.add(profile.job.name)
        if profile.collected.is_foreign:
            for note in profile.environment.warnings:
                self.notes.setdefault(note, []).append(shorten(source.path.name))
        # it stands for the unknown time of the measurement: the same file always becomes the same
        # profile
        when = self._dates.of(commit)
        when = source.written or when
        profile = msgspec.structs.replace(profile, commit=commit)
        if not profile.collected.started and when:
            collected = msgspec.structs.replace(profile.collected, started=when, ended=when)
            profile = msgspec.structs.replace(profile, collected=collected)
        return profile

    def _in_session(self, profile: Profile, session: str, source: Source) -> Profile:
        """The profile as a part of one session, whose versions are the commits."""
        first = self._turns.setdefault((profile.commit, profile.job.key), source.path)
        if first != source.path:
            raise UsageError(
                f"{source.path}: {first} is of the same benchmark and commit: put the runs of both"
                " into one file, or import them in a call of their own"
            )
        versions = tuple(dict.fromkeys(self.commits))
        version = versions.index(profile.commit)
        return ImportedTurn(session, "interleaved", version, versions).in_session(profile)

    @cached_property
    def _stored(self) -> StoredTurns:
        return StoredTurns(self.repository.index)

    @cached_property
    def _head(self) -> str:
        return self.repository.project.resolve("HEAD")

    @cached_property
    def _dates(self) -> CommitDates:
        return CommitDates(self.repository.project.root)

    def _failed(self, error: PerfError, show: Callable[[str], None]) -> None:
        self.first_error = self.first_error or error
        show(str(error))


def _encoded(profile: Profile, source: Source) -> bytes:
    """The document; raises Malformed that names the file."""
    try:
        return profile.encode()
    except Malformed as error:
        cure = "" if str(source.path).isprintable() else ": rename the file, or give --name"
        raise Malformed(f"{source.path}: {error}{cure}") from None


def renamings(path: Path) -> dict[str, str]:
    """The present ids of commits by their former ones, a pair in each line, as git filter-repo
    writes them; raises UsageError.
    """
    present = {}
    for number, line in enumerate(content(path).decode("utf-8", "replace").split("\n"), 1):
        words = line.split()
        if words in ([], ["old", "new"]) or line.startswith("#"):
            continue
        if len(words) != 2 or not all(map(OBJECT_ID.fullmatch, words)):
            raise UsageError(
                f"{path}, line {number}: write two full commit ids, the former and the present one"
            )
        if words[1].strip("0"):  # otherwise the commit no longer exists
            present[words[0]] = words[1]
    return present


def _named(count: int) -> str:
    return f"{counted(count, 'profile')} {'names' if count == 1 else 'name'}"

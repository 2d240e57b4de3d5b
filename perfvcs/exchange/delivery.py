"""Profiles that become files: documents, tables and bundles."""

from __future__ import annotations

import mmap
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path, PurePosixPath
from tempfile import TemporaryFile
from typing import IO, Any

from perfvcs.check.narrowing import only
from perfvcs.errors import NO_SPACE, UsageError
from perfvcs.formats import NoStacks, encode, encode_all, suffixes, together
from perfvcs.profile import Profile
from perfvcs.profile.benchmarkfilter import EVERYTHING, BenchmarkFilter
from perfvcs.repository import Repository
from perfvcs.repository.lookup import paths_of
from perfvcs.system import disk
from perfvcs.text.characters import disarmed, shorten
from perfvcs.text.words import counted

TEXTS = (
    "commit",
    "dirty",
    "started",
    "session",
    "version",
    "job",
    "collector",
    "environment",
    "uid",
    "metric",
    "unit",
)
WHOLE = ("binary", "execution", "iteration", "mark")
COLUMNS = (*TEXTS[:-2], "size", *WHOLE, "metric", "value", "unit")
FILE_ENDINGS = (".csv", ".jsonl", ".parquet", ".arrow")
ROWS_AT_ONCE = 50_000  # rows that are in memory as arrow's
NEEDS_PYARROW = "tables in {} need pyarrow: pip install pyarrow; .csv and .jsonl need nothing"


def documents(
    repository: Repository,
    paths: Sequence[str],
    format_name: str,
    options: Mapping[str, Any],
    benchmarks: BenchmarkFilter = EVERYTHING,
) -> Iterator[tuple[str, bytes]]:
    """Name and content of the file of each profile, one in memory at a time; of some
    ``benchmarks``, only their rows.

    A name is made of the profile's place in the store, ``<commit>-<collector>-<workload>-<id>``,
    which nothing foreign can shape. A format that has files for several profiles together names
    them itself. Of several, those without the stacks that the format is about are left out; raises
    NoStacks where none has any.
    """
    if together(format_name):
        in_order = sorted(paths)  # those of a commit follow each other
        profiles = (profile for _, profile in _read(repository, in_order, benchmarks))
        yield from encode_all(profiles, format_name, options)
        return
    suffix = suffixes(format_name)[0]
    lacking, count = None, 0
    for path, profile in _read(repository, paths, benchmarks):
        try:
            document = encode(profile, format_name, options)
        except NoStacks as error:
            lacking = error
            continue
        count += 1
        yield f"{profile.commit[:10]}-{PurePosixPath(path).stem}{suffix}", document
    if lacking is not None and not count:
        raise lacking


def _read(
    repository: Repository, paths: Sequence[str], benchmarks: BenchmarkFilter
) -> Iterator[tuple[str, Profile]]:
    """The profiles at some paths, with the rows of some benchmarks, where they have any."""
    for path, profile in repository.store.read_many(paths, at=repository.index.head):
        if not benchmarks:
            yield path, profile
        elif len((narrow := only(repository.former.profile(profile), benchmarks)).resources):
            yield path, narrow


def into_folder(folder: Path, files: Iterator[tuple[str, bytes]], *, force: bool) -> int:
    """Writes each file into a folder, which is made if it is missing; returns how many there were.

    Raises UsageError where one is there already, and where the folder cannot be written to.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except (FileExistsError, NotADirectoryError):
        raise UsageError(f"{folder} is a file: name a folder for several profiles") from None
    except OSError as error:
        raise unwritable(folder, error) from None
    written = 0
    for name, document in files:
        (folder / name).parent.mkdir(exist_ok=True)
        into_file(folder / name, document, force=force)
        written += 1
    return written


def into_file(path: Path, document: bytes | mmap.mmap, *, force: bool) -> None:
    """Write a file, whole or not at all.

    Raises UsageError where it is there already, unless ``force`` holds, and where it cannot be
    written.
    """
    try:
        if disk.is_stream(path):
            path.write_bytes(document)
            return
        if not force and path.exists():
            raise UsageError(f"{path} already exists: --force overwrites it")
        disk.write(path, document)
    except OSError as error:
        raise unwritable(path, error) from None


def unwritable(path: Path, error: OSError) -> UsageError:
    """The error about a file that cannot be written; raises OSError where the disk is full, which
    no other name would cure.
    """
    if error.errno in NO_SPACE:  # no wrong name
        raise OSError(error.errno, error.strerror, str(path)) from None
    return UsageError(
        f"cannot write {shorten(str(path), 200)}: {error.strerror or error}: choose another -o"
    )


def write_bundle(
    repository: Repository,
    names: tuple[str, ...],
    benchmarks: BenchmarkFilter,
    path: Path,
    *,
    force: bool,
) -> int:
    """Write the profiles of revisions, or those that the usual remote was never seen to have, into
    a bundle; how many.

    Raises UsageError where there are none, where the file is there already, unless ``force`` holds,
    and where it cannot be written.
    """
    from perfvcs.exchange.mirror import Mirror

    if path.exists() and not force:
        raise UsageError(f"{path} already exists: --force overwrites it")
    blobs = _chosen(repository, names, benchmarks)
    part = path.with_name(f".{path.name[:60]}.part")
    try:
        part.unlink(missing_ok=True)
        part.touch()
        with Mirror.opened(repository.home, repository.store) as mirror:
            mirror.bundle(
                part.absolute(),
                blobs,
                repository.store.who,
                int(time.time()),
                f"Hand over {counted(len(blobs), 'profile')}",
            )
        part.replace(path)
    except OSError as error:
        raise unwritable(path, error) from None
    finally:
        part.unlink(missing_ok=True)
    return len(blobs)


def _chosen(
    repository: Repository, names: tuple[str, ...], benchmarks: BenchmarkFilter
) -> Mapping[str, str]:
    """The blobs of the profiles that are to be handed over, by their paths."""
    from perfvcs.exchange.sharing import unpushed

    if not names and not benchmarks:
        if not (blobs := unpushed(repository)):
            raise UsageError(
                "nothing to export: the remote has everything; name revisions to export them anyway"
            )
        return blobs
    wanted = {
        path for name in names or ("HEAD",) for path in paths_of(repository, name, benchmarks)
    }
    return {
        entry.path: entry.new
        for entry in repository.store.entries(*sorted(wanted))
        if entry.new and entry.path in wanted
    }


def write_table(
    repository: Repository,
    names: Sequence[str],
    benchmarks: BenchmarkFilter,
    path: Path,
    *,
    force: bool,
) -> int:
    """Write all values of some benchmarks in the profiles that are named, else in all that are
    stored; how many.

    Memory holds one profile at a time.

    ``names`` are revisions, ranges ``A..B``, or single profiles; the ending of ``path`` says what
    is written. Raises UsageError.
    """
    if path.suffix not in FILE_ENDINGS:
        raise UsageError(
            f"{path.name}: a table is a file with the ending {', '.join(FILE_ENDINGS)}"
        )
    profiles = (
        profile
        for _, profile in _read(repository, _selected(repository, names, benchmarks), benchmarks)
    )
    with TemporaryFile(dir=repository.home) as file:
        count = _WRITERS[path.suffix](file, (row for profile in profiles for row in rows(profile)))
        file.flush()
        if not file.tell():
            into_file(path, b"", force=force)
        else:
            with mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as content:
                into_file(path, content, force=force)
    return count


def rows(profile: Profile) -> Iterator[tuple[Any, ...]]:
    """A profile's values in the order of ``COLUMNS``, metric by metric; rows without a value are
    left out.
    """
    resources, collected = profile.resources, profile.collected
    origin = (
        profile.commit,
        profile.dirty,
        collected.started,
        collected.session,
        _version(profile),
        profile.job.label,
        profile.job.collector,
        profile.environment.fingerprint,
    )
    sizes = resources.size if resources.size is not None else [None] * len(resources)
    numbers = [resources.integers(name) for name in WHOLE]
    for name, metric in profile.metrics.items():
        for code, size, value, *row in zip(
            resources.uid, sizes, resources.metrics[name], *numbers, strict=True
        ):
            if value is not None:
                yield (*origin, resources.names[code], size, *row, name, value, metric.unit)


def _version(profile: Profile) -> str | None:
    """Which of the versions that were measured in turns it is: two of the same commit are an A/A
    measurement.
    """
    design = profile.design
    return design.versions[design.version] if design.version < len(design.versions) else None


def _selected(
    repository: Repository, names: Sequence[str], benchmarks: BenchmarkFilter
) -> list[str]:
    """The paths of the profiles, those of ranges and of the whole store by the time of their
    measurement.
    """
    if not names:
        return _of(repository, None, benchmarks)
    paths: list[str] = []
    for name in names:
        paths += (
            _of(repository, repository.project.range(name), benchmarks)
            if ".." in name
            else paths_of(repository, name, benchmarks)
        )
    return list(dict.fromkeys(paths))


def _of(
    repository: Repository, commits: Sequence[str] | None, benchmarks: BenchmarkFilter
) -> list[str]:
    """The profiles of the jobs of some benchmarks on some commits, or on all."""
    headers = repository.index.headers(commits)
    if not headers:
        raise UsageError(
            "none of these commits is measured"
            if commits
            else "nothing is stored yet: `perf collect` measures HEAD"
        )
    jobs = ((header, header.job) for header in headers)
    chosen = [header for header, job in jobs if benchmarks.has_job(job.label, job.collector)]
    return [
        header.path
        for header in sorted(chosen, key=lambda header: (header.collected.started, header.path))
    ]


def _csv(file: IO[bytes], table: Iterable[tuple[Any, ...]]) -> int:
    import csv
    import io

    text = io.TextIOWrapper(
        file, encoding="utf-8", errors="backslashreplace", newline="", write_through=True
    )
    writer = csv.writer(text, lineterminator="\r\n")
    writer.writerow(COLUMNS)
    count = 0
    for count, row in enumerate(table, 1):  # noqa: B007 - counts
        writer.writerow([disarmed(value) if isinstance(value, str) else value for value in row])
    text.detach()
    return count


def _jsonl(file: IO[bytes], table: Iterable[tuple[Any, ...]]) -> int:
    import msgspec

    encode, count = msgspec.json.Encoder().encode, 0
    for count, row in enumerate(table, 1):  # noqa: B007 - counts
        file.write(encode(dict(zip(COLUMNS, row, strict=True))))
        file.write(b"\n")
    return count


def _parquet(file: IO[bytes], table: Iterable[tuple[Any, ...]]) -> int:
    try:
        from pyarrow import parquet
    except ImportError:
        raise UsageError(NEEDS_PYARROW.format("Parquet")) from None
    with parquet.ParquetWriter(file, _schema(), compression="zstd") as writer:
        return _batches(table, writer.write_batch)


def _arrow(file: IO[bytes], table: Iterable[tuple[Any, ...]]) -> int:
    try:
        import pyarrow
    except ImportError:
        raise UsageError(NEEDS_PYARROW.format("Arrow")) from None
    with pyarrow.ipc.new_file(
        file, _schema(), options=pyarrow.ipc.IpcWriteOptions(compression="zstd")
    ) as writer:
        return _batches(table, writer.write_batch)


def _schema() -> Any:
    import pyarrow

    kinds = dict.fromkeys(TEXTS, pyarrow.string()) | dict.fromkeys(WHOLE, pyarrow.int64())
    return pyarrow.schema([(name, kinds.get(name, pyarrow.float64())) for name in COLUMNS])


def _batches(table: Iterable[tuple[Any, ...]], write_batch: Any) -> int:
    from itertools import islice

    import pyarrow

    schema, rest, count = _schema(), iter(table), 0
    while batch := list(islice(rest, ROWS_AT_ONCE)):
        columns = zip(*batch, strict=True)
        arrays = [
            pyarrow.array(column, kind) for column, kind in zip(columns, schema.types, strict=True)
        ]
        write_batch(pyarrow.record_batch(arrays, schema=schema))
        count += len(batch)
    return count


_WRITERS = {".csv": _csv, ".jsonl": _jsonl, ".parquet": _parquet, ".arrow": _arrow}

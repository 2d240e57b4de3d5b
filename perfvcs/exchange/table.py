"""``perf export --table``: the values of many profiles as one file, a row each, for pandas, R, a database or a spreadsheet."""

from __future__ import annotations

import mmap
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from tempfile import TemporaryFile
from typing import IO, TYPE_CHECKING, Any

from perfvcs.errors import UsageError
from perfvcs.exchange.delivery import into_file
from perfvcs.lookup import series_of
from perfvcs.text.characters import disarmed

if TYPE_CHECKING:
    from perfvcs.profile import Profile
    from perfvcs.repository import Repository

TEXTS = ("commit", "dirty", "started", "session", "version", "job", "collector", "environment", "uid", "metric", "unit")
WHOLE = ("binary", "execution", "iteration", "mark")
COLUMNS = (*TEXTS[:-2], "size", *WHOLE, "metric", "value", "unit")
FILE_ENDINGS = (".csv", ".jsonl", ".parquet", ".arrow")
ROWS_AT_ONCE = 50_000  # rows that are in memory as arrow's
NEEDS_PYARROW = "tables in {} need pyarrow: pip install pyarrow; .csv and .jsonl need nothing"


def write(repository: Repository, names: Sequence[str], jobs: Sequence[str], path: Path, *, force: bool) -> int:
    """Write all values of the profiles that are named, else of all that are stored; how many. Memory holds one profile at a time.

    ``names`` are revisions, ranges ``A..B``, or single profiles; the ending of ``path`` says what is written. Raises UsageError.
    """
    if path.suffix not in FILE_ENDINGS:
        raise UsageError(f"{path.name}: a table is a file with the ending {', '.join(FILE_ENDINGS)}")
    profiles = (
        profile for _, profile in repository.store.read_many(_selected(repository, names, jobs), at=repository.index.head)
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
    """A profile's values in the order of ``COLUMNS``, metric by metric; rows without a value are left out."""
    found, collected = profile.resources, profile.collected
    about = (
        profile.commit, profile.dirty, collected.started, collected.session, _version(profile), profile.job.label,
        profile.job.collector, profile.environment.fingerprint,
    )  # fmt: skip
    sizes = found.size if found.size is not None else [None] * len(found)
    numbers = [found.integers(name) for name in WHOLE]
    for name, metric in profile.metrics.items():
        for code, size, value, *row in zip(found.uid, sizes, found.metrics[name], *numbers, strict=True):
            if value is not None:
                yield (*about, found.names[code], size, *row, name, value, metric.unit)


def _version(profile: Profile) -> str | None:
    """Which of the versions that were measured in turns it is: two of the same commit are an A/A measurement."""
    design = profile.design
    return design.versions[design.version] if design.version < len(design.versions) else None


def _selected(repository: Repository, names: Sequence[str], jobs: Sequence[str]) -> list[str]:
    """The paths of the profiles, those of ranges and of the whole store by the time of their measurement."""
    if not names:
        return _of(repository, None, jobs)
    found: list[str] = []
    for name in names:
        found += _of(repository, repository.project.range(name), jobs) if ".." in name else repository.select(name, jobs)
    return list(dict.fromkeys(found))


def _of(repository: Repository, commits: Sequence[str] | None, jobs: Sequence[str]) -> list[str]:
    """Of those commits, or of all, what belongs to one of the jobs."""
    headers = repository.index.headers(commits)
    if not headers:
        raise UsageError(
            "none of these commits is measured" if commits else "nothing is stored yet: `perf collect` measures HEAD"
        )
    keys = series_of(repository.index, jobs)
    chosen = [one for one in headers if not jobs or one.job.key in keys]
    return [one.path for one in sorted(chosen, key=lambda one: (one.collected.started, one.path))]


def _csv(file: IO[bytes], table: Iterable[tuple[Any, ...]]) -> int:
    import csv
    import io

    text = io.TextIOWrapper(file, encoding="utf-8", errors="backslashreplace", newline="", write_through=True)
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
    with pyarrow.ipc.new_file(file, _schema(), options=pyarrow.ipc.IpcWriteOptions(compression="zstd")) as writer:
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
        arrays = [pyarrow.array(column, kind) for column, kind in zip(columns, schema.types, strict=True)]
        write_batch(pyarrow.record_batch(arrays, schema=schema))
        count += len(batch)
    return count


_WRITERS = {".csv": _csv, ".jsonl": _jsonl, ".parquet": _parquet, ".arrow": _arrow}

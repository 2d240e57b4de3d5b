"""What a command's own harness reports of one execution, read by the format that its job names."""

from __future__ import annotations

import os
import re
import stat
from collections import defaultdict
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec.structs import replace

from perfvcs.collectors._shared.commandrun import executed, launched, read_at_most
from perfvcs.errors import nearest
from perfvcs.launcher import LaunchOptions
from perfvcs.launcher.execution import STDERR_TAIL, Execution, failure, name_command
from perfvcs.launcher.samples import (
    SAMPLES_VARIABLE,
    MalformedSamples,
    ReportedSamples,
    read_samples,
)
from perfvcs.plugins.collector import CollectError, Reads, Run
from perfvcs.profile.validity import Malformed
from perfvcs.system.foreign import printable

if TYPE_CHECKING:
    from perfvcs.plugins.format import Format
    from perfvcs.profile import Metric, Profile

MOST_PRINTED = 64 << 20  # bytes of one execution
# bytes that are read in vain after lines that look like the beginning of a document
MOST_LOOKED_THROUGH = 4 * MOST_PRINTED
SHOWN = 100  # characters of what a command printed
# where a document may begin: `[12:00]` and `{ok}` of a log are none
BEGINNING = re.compile(rb"^(?:<\?xml|[{\[]\s{0,100}[{\[\"\]}])", re.MULTILINE)
BEGINNING_OF_XML = re.compile(rb"^<[A-Za-z]", re.MULTILINE)  # without a declaration
ELEMENT = re.compile(rb"<([A-Za-z_][\w.-]{0,100})")
CLOSING = {b"{": b"}", b"[": b"]"}
ALONE = {b"}": re.compile(rb"^\}\r?$", re.MULTILINE), b"]": re.compile(rb"^\]\r?$", re.MULTILINE)}
# One execution of these starts processes of its own, whose values are iterations of ours. Of the
# others a unit that occurs in two runs is printed by two programs.
OF_SEVERAL_PROCESSES = {"hyperfine", "jmh", "pyperf", "benchmark-dotnet", "csv", "perfvcs", "perun"}
OF_LINES = {"criterion", "go-test"}  # each line of these is a document of its own
Stamp = tuple[int, int, int]  # of a file: inode, size, time of the last change (ns)


def reporting(
    run: Run, options: LaunchOptions, samples: Path, metrics: Mapping[str, Metric]
) -> tuple[Execution, ReportedSamples]:
    """One execution, and what its harness reported, or the program itself into the file
    ``samples``, where ``metrics`` have their units; raises CollectError.
    """
    if run.reads is not None:
        done = HarnessRun.of(run, run.reads).execute(options)
        return done.execution, done.samples()
    env = {**run.env, SAMPLES_VARIABLE: str(samples)}
    execution = executed(run, env=env, options=options)
    try:
        return execution, read_samples(samples, metrics, run.uid)
    except MalformedSamples as error:
        raise CollectError(f"{name_command(run.argv)}: {error}") from None


@dataclass(frozen=True)
class HarnessRun:
    """A run whose harness reports; ``before`` has the stamps of the files that it is to write."""

    run: Run
    reads: Reads
    before: Mapping[Path, Stamp]

    @classmethod
    def of(cls, run: Run, reads: Reads) -> HarnessRun:
        """What is there before the command runs, which are results of another execution."""
        if reads.format == "pyperf" and reads.file:  # it refuses to write over them
            with suppress(OSError):
                (run.cwd / reads.file).unlink()
        return cls(run, reads, dict(_stamps(run, reads)))

    def execute(self, options: LaunchOptions) -> HarnessExecution:
        """Execute once; raises CollectError where the command fails, or prints too much."""
        with (
            open(self.run.scratch / "output", "w+b") as output,
            open(self.run.scratch / "errors", "w+b") as errors,
        ):

            def watch() -> None:
                if any(os.fstat(file.fileno()).st_size > MOST_PRINTED for file in (output, errors)):
                    raise CollectError(
                        f"{name_command(self.run.argv)} was stopped after printing over"
                        f" {MOST_PRINTED >> 20} MiB: have it log less, or write its results to a"
                        ' file: reads = { format = "...", file = "..." }',
                        lasting=True,
                    )

            files = options._replace(output=output.fileno(), errors=errors.fileno(), watch=watch)
            execution = launched(self.run, options=files)
            watch()
            said = _end(errors.fileno()) or _end(output.fileno())
            execution = replace(execution, stderr=execution.stderr or said)
            if reason := failure(self.run.argv, execution, self.run.timeout):
                raise CollectError(reason, lasting=execution.timed_out)
            output.seek(0)
            printed = output.read()
        return HarnessExecution(self, execution, self._document(printed))

    def _document(self, printed: bytes) -> bytes:
        """What the format is to read."""
        if not self.reads.file:
            return printed
        written = [
            path for path, stamp in _stamps(self.run, self.reads) if self.before.get(path) != stamp
        ]
        if not written:
            raise CollectError(
                f"{name_command(self.run.argv)} did not write {self.reads.file}: give it the option"
                " that does, or correct `file` in reads",
                lasting=True,
            )
        if self.reads.format != "criterion" or (self.run.cwd / self.reads.file).is_file():
            return read_at_most(written[0], MOST_PRINTED)
        from perfvcs.formats.criterion import joined

        return joined([path.parent for path in written])


@dataclass(frozen=True)
class HarnessExecution:
    """An execution and the ``document`` that came of it."""

    of: HarnessRun
    execution: Execution
    document: bytes

    def samples(self) -> ReportedSamples:
        """The values of the units; of the run's unit alone where it names one. Raises CollectError
        with the cure.
        """
        run, reads = self.of.run, self.of.reads
        profile = _profile(run, reads, self.document)
        _require_one_program(run, reads, profile)
        if profile.stacks is not None:
            raise CollectError(
                f"the format `{reads.format}` holds stacks, not results of benchmarks: `perf"
                " import` reads it",
                lasting=True,
            )
        rows = profile.resources
        units = [rows.names[number] for number in rows.uid]
        kept = [
            place
            for place, unit in enumerate(units)
            if unit == run.unit or (not run.unit and unit not in run.left_out)
        ]
        if run.unit and not kept:
            raise CollectError(
                f"{run.unit} is not among the benchmarks that {name_command(run.argv)}"
                f" reports{nearest(run.unit, dict.fromkeys(units))}",
                lasting=True,
            )
        if "" in units:
            raise CollectError(
                f"a benchmark that {name_command(run.argv)} reports has no name: give it one",
                lasting=True,
            )
        if run.uid in units:
            raise CollectError(
                f"{run.uid!r} is the name of the job and of a benchmark in it: give the job another"
                " `name`",
                lasting=True,
            )
        samples = ReportedSamples(
            uid=[units[place] for place in kept],
            size=[rows.size[place] if rows.size else None for place in kept],
            values={
                name: [column[place] for place in kept] for name, column in rows.metrics.items()
            },
            metrics=dict(profile.metrics),
            notes=list(profile.environment.warnings),
            mark=[rows.mark[place] if rows.mark else 0 for place in kept],
        )
        counts: defaultdict[tuple[str, float | None], int] = defaultdict(int)
        for key in zip(samples.uid, samples.size, strict=True):
            samples.iteration.append(counts[key])
            counts[key] += 1
        return samples


def _profile(run: Run, reads: Reads, document: bytes) -> Profile:
    """The document as the format's profile; raises CollectError."""
    from perfvcs.formats import HEAD_BYTES, NoResults, decode, recognising
    from perfvcs.plugins import build

    command = name_command(run.argv)
    options = {"regex": reads.regex} if reads.regex else {}
    member: Format = build("formats", reads.format, options, "reads")
    part = document if document.endswith(b"\n") else document + b"\n"
    if not reads.file:
        found = documents_in(part, member)
        if len(found) > 1 and reads.format.replace("_", "-") not in OF_LINES:
            raise CollectError(
                f"{command} prints {len(found)} documents of `{reads.format}`: have it print one,"
                " or give each program a job of its own",
                lasting=True,
            )
        # a log may be in any encoding
        part = b"".join(found) or part.decode(errors="replace").encode()
    source = reads.file or f"what {command} printed"
    try:
        return decode(part, source, reads.format, options)
    except Malformed as error:
        asked = reads.format.replace("_", "-")
        wanted = "what the regex finds" if reads.regex else f"`{asked}`"
        others = [name for name in recognising(part[:HEAD_BYTES]) if name != asked]
        cure = ""
        if others:
            other = f'"{others[0]}"'
            if reads.file:
                other = f'{{ format = {other}, file = "{reads.file}" }}'
            cure = f": it looks like {others[0]}: write reads = {other}"
        elif isinstance(error, NoResults):
            cure = f": {_shown(document)}: see that it runs benchmarks, and prints {wanted}"
        elif reads.file:
            cure = f": have {command} write {wanted} as docs/exchange/{asked}.md says"
        else:
            cure = (
                f": {_shown(document)}: have it print {wanted} as docs/exchange/{asked}.md says,"
                " without logs in the middle, or name the file that it writes"
            )
        reason = str(error).replace(f"{source}: ", "", 1).removesuffix(": copy it again")
        raise CollectError(
            f"{source} is not {wanted} ({reason}){cure}",
            lasting=bool(others) or isinstance(error, NoResults),
        ) from None


def documents_in(output: bytes, member: Format) -> list[bytes]:
    """The documents of a format in JSON or XML that stand between lines of a log; empty where none
    begins.
    """
    from perfvcs.formats import HEAD_BYTES

    for beginning in (BEGINNING, BEGINNING_OF_XML):
        documents = list[bytes]()
        place, left = 0, MOST_LOOKED_THROUGH
        while left > 0 and (match := beginning.search(output, place)):
            start = match.start()
            end = _ending(output, start)
            if member.recognises("", output[start : min(end, start + HEAD_BYTES)]):
                documents.append(output[start:end] + b"\n")
                place = end
            else:
                left -= end - start
                place = match.end()
        if documents:
            return documents
    return []


def _ending(output: bytes, start: int) -> int:
    """Where a document ends: with the line that it begins with, with the first line that is its
    closing bracket or tag alone, or with the last bracket.
    """
    line = output[start : output.find(b"\n", start)].rstrip()
    if line[:1] == b"<":
        element = ELEMENT.search(output, start)
        closing = b"</%s>" % (element[1] if element else b"")
        place = output.find(closing, start)
        return len(output) if place < 0 else place + len(closing) + 1
    closing = CLOSING[line[:1]]
    if len(line) > 2 and line.endswith(closing):
        return start + len(line)
    if alone := ALONE[closing].search(output, start):
        return alone.end()
    return output.rfind(closing, start) + 1 or len(output)


def _require_one_program(run: Run, reads: Reads, profile: Profile) -> None:
    """Raises CollectError where two programs in one command report a benchmark of one name."""
    rows = profile.resources
    if profile.design.executions < 2 or reads.format in OF_SEVERAL_PROCESSES:
        return
    executions: dict[int, int] = {}
    for unit, execution in zip(rows.uid, rows.execution, strict=True):
        if executions.setdefault(unit, execution) != execution:
            raise CollectError(
                f"two programs of {name_command(run.argv)} report the benchmark"
                f" {rows.names[unit]}: give each program a job of its own",
                lasting=True,
            )


def _stamps(run: Run, reads: Reads) -> Iterator[tuple[Path, Stamp]]:
    """The files that hold results: the one that the job names; in a folder of Criterion, those of
    the newest run.
    """
    if not reads.file:
        return
    path = run.cwd / reads.file
    files = [path]
    if path.is_dir() and reads.format == "criterion":
        from perfvcs.formats.criterion import newest

        files = newest(path)
    for file in files:
        try:
            status = file.stat(follow_symlinks=False)
        except OSError:
            continue
        if stat.S_ISREG(status.st_mode):
            yield file, (status.st_ino, status.st_size, status.st_mtime_ns)


def _end(descriptor: int) -> str:
    """The end of what was printed, as text."""
    size = os.fstat(descriptor).st_size
    return os.pread(descriptor, STDERR_TAIL, max(0, size - STDERR_TAIL)).decode(errors="replace")


def _shown(document: bytes) -> str:
    """The beginning of what was printed, for a message."""
    words = " ".join(document[: 4 * SHOWN].decode(errors="replace").split())
    return f"it printed “{printable(words, SHOWN)}”" if words else "it printed nothing"

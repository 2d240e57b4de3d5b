"""What is known of the cause of a change: the functions that changed inside a job, and the files
that changed between two revisions.
"""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING, NamedTuple

import msgspec

from perfvcs.check.movement import JobUnit, entries
from perfvcs.profile import REPEATED
from perfvcs.profile.naming import is_whole
from perfvcs.system.numeric import Flags, Floats, np
from perfvcs.text.characters import shorten
from perfvcs.text.quantity import difference, percent
from perfvcs.text.words import counted

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from perfvcs.check.change import Report
    from perfvcs.profile import Profile
    from perfvcs.profile.summary import Header
    from perfvcs.repository import Repository
    from perfvcs.repository.state import State

    Profiles = Callable[[Sequence[Header]], Sequence[Profile]]


MOST_EXPLAINED = 5  # changes whose causes are looked for
NAMED_FUNCTIONS = 2  # that are named
MOST_NAMED_FILES = 3
NAME_CHARACTERS = 40  # characters of a function's name
LARGEST_DIFF = 300  # files from which on nobody asks how many lines changed in each
FALSE_ALARM_RATE = 0.0027  # of a normal value beyond three standard errors
SMALLEST_SHARE = 0.01  # of the job's total: what changed by less is not named


class Kind(NamedTuple):
    """A metric of functions: what they do, its ``name`` in words; of ``shares`` only the part of
    the total means something.
    """

    metric: str
    verb: str
    name: str
    shares: bool = False


CAUSE_KINDS = (
    Kind("exclusive", "executes", "instructions"),
    Kind("site_bytes", "allocates", ""),
    Kind("part_bytes", "has", ""),
    Kind("samples", "has", "of the samples", shares=True),
)


class FunctionChange(msgspec.Struct, frozen=True):
    """What one function had in the mean execution of ``baseline`` and ``target``, in the ``unit``
    of the metric, and the job's totals.
    """

    function: str
    kind: Kind
    unit: str
    baseline: float
    target: float
    totals: tuple[float, float]

    def __str__(self) -> str:
        name = shorten(self.function, NAME_CHARACTERS)
        if self.kind.shares:
            old, new = (
                100 * value / total
                for value, total in zip((self.baseline, self.target), self.totals, strict=True)
            )
            return f"{name}: {old:.1f} -> {new:.1f} % of the samples"
        moved = difference(self.target - self.baseline, None, None, self.unit)
        return f"{name} {self.kind.verb} {moved} {self.kind.name}".rstrip() + f" ({self._share})"

    @property
    def _share(self) -> str:
        """The relative change; ``new`` or ``gone`` where one side has nothing."""
        if not self.baseline:
            return "new"
        return percent(self.target / self.baseline - 1) if self.target else "gone"


def causes(
    before: Sequence[Header], after: Sequence[Header], read: Profiles, report: Report
) -> dict[JobUnit, list[str]]:
    """The functions that changed inside the jobs whose changes matter most, in words, for the job
    as a whole, else its first change.

    ``before`` and ``after`` are the profiles of both sides, which ``read`` opens.
    """
    first: dict[str, JobUnit] = {}
    for entry in sorted(
        entries(report)[:MOST_EXPLAINED], key=lambda entry: not is_whole(*entry.unit)
    ):
        first.setdefault(entry.first.job, entry.unit)
    words: dict[JobUnit, list[str]] = {}
    for job, unit in first.items():
        changes = [
            change
            for kind in CAUSE_KINDS
            for change in functions(
                read(_having(before, job, kind)), read(_having(after, job, kind)), kind
            )
            if change.function != unit[1]
        ]
        if changes:
            words[unit] = ["inside: " + "; ".join(map(str, changes[:NAMED_FUNCTIONS]))]
    return words


def _having(headers: Sequence[Header], job: str, kind: Kind) -> list[Header]:
    """The newest profiles of a job in which functions have a metric."""
    wanted = [
        header for header in headers if header.job.label == job and kind.metric in header.metrics
    ]
    newest = max((header.collected.started for header in wanted), default="")
    session = {header.collected.session for header in wanted if header.collected.started == newest}
    return [header for header in wanted if header.collected.session in session]


def functions(
    baseline: Sequence[Profile], target: Sequence[Profile], kind: Kind
) -> list[FunctionChange]:
    """The functions whose amount changed beyond chance and by 1 % of the total at least, the
    largest change first.
    """
    if not baseline or not target:
        return []
    sides = [_amounts(profiles, kind.metric) for profiles in (baseline, target)]
    names = list(dict.fromkeys([*sides[0], *sides[1]]))
    if not names:
        return []
    first, second = (_table(side, names) for side in sides)
    totals = float(first.mean(axis=1).sum()), float(second.mean(axis=1).sum())
    if not all(totals):
        return []
    scales = totals if kind.shares else (max(totals), max(totals))
    scaled = first / scales[0], second / scales[1]
    sure = _sure(*scaled)
    moved = scaled[1].mean(axis=1) - scaled[0].mean(axis=1)
    unit = target[0].metrics[kind.metric].unit
    order = [
        place
        for place in np.argsort(-np.abs(moved), kind="stable").tolist()
        if sure[place] and abs(moved[place]) >= SMALLEST_SHARE
    ]
    return [
        FunctionChange(
            names[place],
            kind,
            unit,
            float(first[place].mean()),
            float(second[place].mean()),
            totals,
        )
        for place in order
    ]


def _sure(first: Floats, second: Floats) -> Flags:
    """Whether each row's means differ by more than chance; of single executions, which show no
    chance, whether they differ.
    """
    from perfvcs.statistics.difference import welch

    if min(first.shape[1], second.shape[1]) < 2:
        return np.asarray(first.mean(axis=1) != second.mean(axis=1))
    sure: Flags = welch(first, second).p <= FALSE_ALARM_RATE
    return sure


def _table(amounts: Mapping[str, Floats], names: Sequence[str]) -> Floats:
    """What functions had in each execution of a side, shape (functions, executions)."""
    nothing = np.zeros(next(iter(amounts.values())).shape if amounts else 1)
    return np.array([amounts.get(name, nothing) for name in names])


def _amounts(profiles: Sequence[Profile], metric: str) -> dict[str, Floats]:
    """What each function had in each execution, of all profiles of a side one after the other."""
    parts: list[dict[str, Floats]] = []
    for profile in profiles:
        rows = profile.resources
        values = rows.array(metric)
        used = (
            (np.asarray(rows.integers("mark"), np.int64) != REPEATED)
            & np.isfinite(values)
            & (values > 0)
        )
        keys = np.stack(
            [np.asarray(rows.integers(name), np.int64) for name in ("binary", "execution")]
        )
        executions, place = np.unique(keys, axis=1, return_inverse=True)
        count = executions.shape[1]
        codes = np.asarray(rows.uid, np.int64)[used] * count + place.ravel()[used]
        sums = np.bincount(codes, weights=values[used], minlength=len(rows.names) * count).astype(
            np.float64
        )
        table = sums.reshape(len(rows.names), count)
        parts.append({name: row for name, row in zip(rows.names, table, strict=True) if row.any()})
    widths = [next(iter(part.values())).shape[0] if part else 0 for part in parts]
    columns_by_name: dict[str, list[Floats]] = defaultdict(list)
    for name in dict.fromkeys(name for part in parts for name in part):
        columns_by_name[name] = [
            part.get(name, np.zeros(width)) for part, width in zip(parts, widths, strict=True)
        ]
    return {name: np.concatenate(columns) for name, columns in columns_by_name.items()}


def files(repository: Repository, baseline: State, target: State) -> list[str]:
    """The paths of the files that differ between two commits, those with the most changed lines
    first.
    """
    compare = (
        "diff-tree",
        "-r",
        "-z",
        "--no-renames",
        "--no-ext-diff",
        "--no-textconv",
        "-O/dev/null",
    )
    if baseline.commit == target.commit:
        return []
    pair = (baseline.commit, target.commit)
    names = [
        name for name in repository.project.git(*compare, "--name-only", *pair).split("\0") if name
    ]
    if not 1 < len(names) <= LARGEST_DIFF:
        return names
    rows = [
        row.split("\t", 2)
        for row in repository.project.git(*compare, "--numstat", *pair).split("\0")
        if row
    ]
    lines = {
        name: sum(int(count) for count in counts if count.isdecimal()) for *counts, name in rows
    }
    return sorted(names, key=lambda name: -lines.get(name, 0))


def changed_files(names: Sequence[str]) -> str:
    """The files in a sentence; empty where there are none."""
    if not names:
        return ""
    shown = ", ".join(shorten(name, NAME_CHARACTERS) for name in names[:MOST_NAMED_FILES])
    more = f" and {len(names) - MOST_NAMED_FILES:,} more" if len(names) > MOST_NAMED_FILES else ""
    return f"{counted(len(names), 'file')} differ{'s' if len(names) == 1 else ''}: {shown}{more}."

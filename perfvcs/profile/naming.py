"""How benchmarks are called, wherever they are printed."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Sequence
from typing import Literal, NamedTuple

from perfvcs.text.characters import ISOLATED, shorten
from perfvcs.text.words import metric_name

Kind = Literal["benchmark", "job", "unit", "metric"]
ONCE = " (once)"  # behind the name of a test that a version could not repeat
LABEL_CHARACTERS = 60  # characters of a name in a message


class Benchmark(NamedTuple):
    """What can be named: a job (its ``name`` and ``label``) under a collector, a unit of it, that
    at a size, and a metric of it; empty: as a whole.

    ``environment`` is what the environment is called, where there are several.
    """

    name: str
    label: str
    collector: str = ""
    uid: str = ""
    size: float | None = None
    metric: str = ""
    environment: str = ""

    @property
    def title(self) -> str:
        """The name of the unit in full, as reports print it."""
        return labelled(self.label, self.uid, self.size)


class Spelling(NamedTuple):
    """How a benchmark is written: ``names`` as they are printed, from the coarsest (a job) to the
    finest (its unit at a size); ``also`` aliases, which are accepted whole.
    """

    names: Sequence[str]
    also: Sequence[str] = ()


def labelled(job: str, uid: str, size: float | None) -> str:
    """The job's label, with the unit where that says more, and the size where the label does not
    end in it.

    >>> labelled("sort", "sort", 1e6), labelled("sort 200", "sort", 200.0)
    ('sort [1000000]', 'sort 200')
    >>> labelled("sort", "insert", None)
    'sort: insert'
    """
    name = job if is_whole(job, uid) else f"{job}: {uid}"
    return sized(name, size)


def sized(name: str, size: float | None) -> str:
    """A name with a size behind it, where the name does not end in it.

    >>> sized("insert", 200.0), sized("insert", None), sized("sort 200", 200.0)
    ('insert [200]', 'insert', 'sort 200')
    """
    text = "" if size is None else f"{size:.10g}"
    return f"{name} [{text}]" if text and name.rpartition(" ")[2] != text else name


def is_whole(job: str, uid: str) -> bool:
    """Whether a unit is the whole of what a job measures, by the job's label."""
    return not uid or job == uid or job.startswith(f"{uid} ")


def drawn(job: str, uid: str, size: float | None) -> str:
    """The name on a page, where figures have room.

    >>> drawn("sort", "insert", 1000.0), drawn("sort 200", "sort", 200.0)
    ('sort · insert · size 1,000', 'sort 200')
    """
    name = job if is_whole(job, uid) else f"{job} · {uid}"
    stated = size is None or name.rpartition(" ")[2] == f"{size:.10g}"
    return name if stated else f"{name} · size {size:,.10g}"


def brief(name: str) -> str:
    """A name in an error, which is isolated from its neighbours as a whole."""
    return plain(shorten(name, LABEL_CHARACTERS))


def plain(name: str) -> str:
    """A name without what isolates it from its neighbours."""
    return name.replace(ISOLATED[0], "").replace(ISOLATED[1], "")


def typed(name: str) -> str:
    """A name as it can be typed in a shell: quoted, a long one with an ellipsis.

    >>> typed("sort"), typed("tests: test_core.py::test_count")
    ('sort', "'tests: test_core.py::test_count'")
    """
    return shlex.quote(brief(name))


def spelling(kind: Kind) -> Callable[[Benchmark], Spelling]:
    return {"benchmark": _of_benchmark, "job": _of_job, "unit": _of_unit, "metric": _of_metric}[
        kind
    ]


def _of_benchmark(item: Benchmark) -> Spelling:
    names = (item.name, item.label, labelled(item.label, item.uid, None), item.title)
    also = (
        item.uid,
        sized(item.uid, item.size),
        f"{item.label}: {item.uid}",
        drawn(item.label, item.uid, None),
        drawn(item.label, item.uid, item.size),
    )
    return Spelling(tuple(dict.fromkeys(names)), also if item.uid else ())


def _of_job(item: Benchmark) -> Spelling:
    return Spelling(tuple(dict.fromkeys((item.name, item.label))))


def _of_unit(item: Benchmark) -> Spelling:
    names = tuple(dict.fromkeys((item.uid, sized(item.uid, item.size))))
    return Spelling(names, (labelled(item.label, item.uid, None), item.title))


def _of_metric(item: Benchmark) -> Spelling:
    return Spelling((metric_name(item.metric),), (item.metric,))

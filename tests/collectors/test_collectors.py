"""The contract of the collectors, over every member of the family: a new file in collectors/ is
held to it as it stands.
"""

from __future__ import annotations

import os
import pickle
import re
import sys
from collections.abc import Callable
from dataclasses import FrozenInstanceError, asdict, fields, is_dataclass, replace
from pathlib import Path
from types import MappingProxyType
from typing import NamedTuple

import pytest
from conftest import ROOT, Once, Project, Said, lack, need
from samples import observed

from perfvcs import plugins
from perfvcs.errors import UsageError
from perfvcs.plugins.collector import CollectError, Collector, Observations, Run
from perfvcs.profile import DELAYED, FINE, REPEATED, Metric
from perfvcs.profile.decoding import decode
from perfvcs.profile.validity import METRIC_NAME, RESERVED
from perfvcs.repository import Repository

pytestmark = pytest.mark.slow

DOCS = ROOT / "docs"


@pytest.fixture(params=plugins.names("collectors"))
def name(request: pytest.FixtureRequest) -> str:
    """Each member of the family, by the name of its file."""
    return str(request.param)


@pytest.fixture
def collector(name: str) -> Collector:
    """A member with its options as they are by default, from where a configuration takes it."""
    made: Collector = plugins.build("collectors", name, {}, "job `contract`")
    return made


@pytest.fixture
def working(collector: Collector) -> Collector:
    """A member that can run here; the others are skipped with their own reason, where that is
    allowed.
    """
    if reason := collector.available():
        lack(reason)
    return collector


TESTED = """
def test_work():
    assert work(1000)


if __name__ == "__main__":
    import pytest

    raise SystemExit(pytest.main([__file__, "-p", "no:hypothesispytest"]))  # whose start takes longer than all else
"""


Prepare = Callable[..., Run]


def preparing(name: str, folder: Path) -> Prepare:
    """Prepares runs of a small Python program, which every collector can measure, in a folder of
    their own.
    """
    scratch, cwd = folder / "scratch", folder / "revision"
    scratch.mkdir()
    cwd.mkdir()

    def prepare(script: str = "print(work(1000))", **changed: object) -> Run:
        program = cwd / "program.py"
        program.write_text(
            "def work(n):\n    return"
            f" sum(range(n))\n\n\nwork(10)\n{script}\n{TESTED * (name == 'pytest')}"
        )
        env = MappingProxyType({"PATH": os.environ["PATH"], "LC_ALL": "C.UTF-8"})
        alone = ["-S"] * (name == "instructions")  # what site imports would run under valgrind, too
        prepared = Run(
            (sys.executable, *alone, str(program)), cwd, env, scratch, "whole", timeout=300.0
        )
        return replace(prepared, **changed)  # type: ignore[arg-type]

    return prepare


@pytest.fixture
def run(name: str, tmp_path: Path) -> Prepare:
    return preparing(name, tmp_path)


class Executed(NamedTuple):
    """What a member saw of two equal executions, and all that lay in the folders around the program
    after them.
    """

    uid: str
    first: Observations
    second: Observations
    left: set[str]


@pytest.fixture
def executed(name: str, working: Collector, once: Once) -> Executed:
    """Two executions of size 12 by a member, made once for all tests that look at them: some run
    under valgrind.
    """

    def make(folder: Path) -> None:
        (folder / "runs").mkdir()
        prepare = preparing(name, folder / "runs")
        (folder / "runs" / "again").mkdir()
        prepared = prepare(size=12.0)
        first, second = (
            working.collect(prepared),
            working.collect(prepare(size=12.0, scratch=folder / "runs" / "again")),
        )
        left = {
            str(path.relative_to(folder / "runs"))
            for top in (".", "revision")
            for path in (folder / "runs" / top).iterdir()
        }
        (folder / "executed").write_bytes(pickle.dumps(Executed(prepared.uid, first, second, left)))

    made: Executed = pickle.loads((once(f"executed-{name}", make) / "executed").read_bytes())
    return made


def test_it_is_a_frozen_dataclass_with_a_docstring_whose_options_all_have_defaults(
    name: str, collector: Collector
) -> None:
    assert is_dataclass(collector) and not isinstance(collector, type)
    assert collector == plugins.find("collectors", name)() and hash(collector) == hash(
        plugins.find("collectors", name)()
    )
    assert (type(collector).__doc__ or "").strip() and not (
        type(collector).__doc__ or ""
    ).startswith(f"{type(collector).__name__}(")
    with pytest.raises((FrozenInstanceError, AttributeError)):
        collector.engine = "another"  # type: ignore[misc]


def test_its_options_are_those_of_perf_toml_and_each_is_documented(
    name: str, collector: Collector
) -> None:
    options = asdict(collector)  # type: ignore[call-overload]
    assert plugins.build("collectors", name, options, "here") == collector
    with pytest.raises(
        UsageError, match=f"here: collector `{name}` has no option `no_such_option`"
    ):
        plugins.build("collectors", name, {"no_such_option": 1}, "here")
    pages = "".join(page.read_text() for page in DOCS.glob("*.md"))
    for option in fields(collector):  # type: ignore[arg-type]
        assert f"``{option.name}``" in (type(collector).__doc__ or ""), (
            f"the docstring does not say what {option.name} is"
        )
        assert re.search(rf"`{option.name}`|\b{option.name} = ", pages), (
            f"no page of docs/ says what {option.name} is"
        )


def test_it_says_in_one_line_why_it_cannot_run(collector: Collector) -> None:
    reason = collector.available()
    assert reason is None or (
        reason.strip() == reason != "" and "\n" not in reason and ": " in reason
    )


def test_its_engine_is_a_name_with_a_number_and_stays(
    name: str, working: Collector, executed: Executed
) -> None:
    assert re.fullmatch(r"[a-z][\w.+-]*/\d+", working.engine)
    assert working.engine == plugins.find("collectors", name)().engine
    assert re.fullmatch(r"([a-z][\w.+-]*/\d+)?", executed.first.engine)


def test_its_metrics_are_well_formed_and_documented(working: Collector) -> None:
    pages = "".join(page.read_text() for page in DOCS.glob("*.md"))
    assert any(metric.better != "none" for metric in working.metrics.values()), (
        "nothing that it measures is ever judged"
    )
    for metric, meaning in working.metrics.items():
        assert METRIC_NAME.fullmatch(metric) and metric not in RESERVED
        assert isinstance(meaning, Metric) and meaning.better in ("lower", "higher", "none")
        assert f"`{metric}`" in pages, f"no page of docs/ says what {metric} is"


def test_an_execution_gives_columns_of_equal_length_that_can_be_stored(
    working: Collector, executed: Executed
) -> None:
    found = executed.first
    rows = len(found.uid)
    assert rows and {executed.uid, "program:work", "program.py::test_work"} & set(found.uid)
    assert len(found.size) == len(found.iteration) == len(found.mark) == rows
    assert len(found.trace) in (0, rows)
    assert found.values.keys() == found.metrics.keys() >= set(working.metrics)
    assert {metric: found.metrics[metric] for metric in working.metrics} == dict(working.metrics)
    assert {len(column) for column in found.values.values()} == {rows}
    assert set(found.mark) <= {FINE, DELAYED, REPEATED}
    whole = [row for row, uid in enumerate(found.uid) if uid == executed.uid]
    assert all(found.size[row] == 12.0 for row in whole)
    assert any(value is not None for column in found.values.values() for value in column)
    profile = decode(observed(found).encode())  # checks all that the format asks for
    assert profile.resources.metrics == found.values and profile.metrics == found.metrics


def test_two_executions_have_the_same_metrics(executed: Executed) -> None:
    assert executed.first.metrics == executed.second.metrics


def test_it_leaves_nothing_where_the_program_runs(executed: Executed) -> None:
    assert executed.left == {"revision", "revision/program.py", "scratch", "again"}


def executes(name: str) -> bool:
    """Whether a member executes the command, and does not only look at files."""
    return name != "size"


def test_a_failing_command_is_one_line_with_its_status_and_what_it_said(
    name: str, working: Collector, run: Prepare
) -> None:
    if not executes(name):
        assert working.collect(run("import sys; sys.exit(3)")).uid
        return
    with pytest.raises(CollectError, match=r"status 3.*it broke") as caught:
        working.collect(run("import sys; print('it broke', file=sys.stderr); sys.exit(3)"))
    assert caught.value.exit_code == 5 and "\n" not in str(caught.value)


def test_a_command_that_takes_too_long_is_stopped_and_named(
    name: str, working: Collector, run: Prepare
) -> None:
    if not executes(name):
        assert working.collect(run("import time; time.sleep(973.5)", timeout=0.5)).uid
        return
    with pytest.raises(CollectError, match=r"time-out of 0\.5 s") as caught:
        working.collect(run("import time; time.sleep(973.5)", timeout=0.5))
    assert "\n" not in str(caught.value)


def test_a_command_that_cannot_be_started_is_one_line(
    name: str, working: Collector, run: Prepare
) -> None:
    # they ask for these first
    need(*{"complexity": ["cc"], "memory": ["cc"], "samples": ["/usr/bin/perf"]}.get(name, []))
    with pytest.raises(CollectError, match="/no/such/program") as caught:
        working.collect(run(argv=("/no/such/program",)))
    assert "\n" not in str(caught.value)


def test_several_on_one_job_give_a_profile_and_a_series_each(
    project: Project, perf: Callable[..., Said]
) -> None:
    project.write(
        "work.py",
        "def f(n): return sum(range(n))\nfor n in range(50): f(n)\nimport time; time.sleep(0.3)\n",
    )
    project.write(
        "perf.toml",
        '[[job]]\nname = "w"\ncmd = "python work.py"\nexecutions = 2\nwarmup = 0\n'
        'collectors = ["time", { name = "complexity", functions = ["work:f=n"] }, "counters"]\n',
    )
    project.commit("work")
    perf("init")
    assert "stored 3 profiles" in perf("collect").out
    repository = Repository.find(project.root)
    repository.refresh()
    headers = repository.index.headers()
    assert sorted(header.job.collector for header in headers) == ["complexity", "counters", "time"]
    assert len({header.job.key for header in headers}) == 3

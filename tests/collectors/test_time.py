"""The ``time`` collector: rows, marks, failures, and what a program reports of itself."""

from __future__ import annotations

import json
import math
import os
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import msgspec
import pytest
from conftest import emulated
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from samples import sample_profile

from perfvcs import launcher, plugins
from perfvcs.collectors import time as module
from perfvcs.collectors.time import Time
from perfvcs.errors import PerfError
from perfvcs.launcher import samples
from perfvcs.launcher.execution import Execution
from perfvcs.launcher.samples import MalformedSamples, read_samples
from perfvcs.plugins.collector import CollectError, Observations, Reads, Run
from perfvcs.profile import Metric
from perfvcs.profile.summary import summarise
from perfvcs.profile.validity import METRIC_NAME, RESERVED

pytestmark = pytest.mark.needs("cc")


@pytest.fixture
def run(tmp_path: Path) -> Callable[..., Run]:
    """A prepared run of a shell script."""
    scratch = tmp_path / "scratch"
    scratch.mkdir()

    def prepare(script: str, **fields: object) -> Run:
        prepared = Run(
            ("/bin/sh", "-c", script),
            tmp_path,
            {"PATH": "/usr/bin:/bin"},
            scratch,
            "whole",
            timeout=300.0,
        )
        return replace(prepared, **fields)  # type: ignore[arg-type]

    return prepare


def report(*lines: str) -> str:
    """A script that reports these lines."""
    return "\n".join(f"echo '{line}' >> \"$PERFVCS_SAMPLES\"" for line in lines)


def check_shape(found: Observations) -> None:
    rows = len(found.uid)
    assert len(found.size) == len(found.iteration) == len(found.mark) == rows
    assert found.values.keys() == found.metrics.keys()
    assert all(len(column) == rows for column in found.values.values())
    assert all(METRIC_NAME.fullmatch(name) and name not in RESERVED for name in found.metrics)


def test_an_execution_is_one_row(run: Callable[..., Run]) -> None:
    found = Time().collect(run("exit 0", size=12.0))
    check_shape(found)
    assert (found.uid, found.size, found.iteration) == (["whole"], [12.0], [0])
    assert found.metrics == Time().metrics
    assert found.warnings == []
    # it may be too short for that
    assert [name for name, column in found.values.items() if column[0] is None] in ([], ["pace"])
    assert found.values["maxrss"][0] is not None
    assert found.values["maxrss"][0] > 100_000


def test_a_program_of_some_time_has_the_machines_pace_beside_it(run: Callable[..., Run]) -> None:
    pace = (
        Time().collect(run("i=0; while [ $i -lt 300000 ]; do i=$((i+1)); done")).values["pace"][0]
    )
    assert pace is not None and 2e-7 < pace < 1e-3


def test_only_time_and_memory_are_judged() -> None:
    judged = {
        name: metric.unit for name, metric in Time().metrics.items() if metric.better != "none"
    }
    assert judged == {"wall": "s", "cpu": "s", "maxrss": "B"}
    assert all(
        metric.better in ("lower", "none") and metric.kind == "sampled"
        for metric in Time().metrics.values()
    )


@pytest.mark.usefixtures("no_compiler")
def test_without_a_compiler_memory_is_not_among_the_metrics(run: Callable[..., Run]) -> None:
    assert Time().engine == "wait4/1"
    found = Time().collect(run("exit 0"))
    check_shape(found)
    assert found.metrics.keys() == Time().metrics.keys()
    assert not {"maxrss", "wake_delay"} & found.metrics.keys()
    assert all(column[0] is not None for column in found.values.values())


def test_it_runs_on_unix_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    assert Time().available() is None
    assert Time().engine == "launcher/1"
    monkeypatch.setattr(sys, "platform", "darwin")
    assert Time().available() is None
    monkeypatch.setattr(os, "name", "nt")
    assert "Linux or macOS" in (Time().available() or "")


@pytest.mark.parametrize(
    ("script", "message"),
    [
        ("echo oops >&2; echo; echo 'no luck' >&2; exit 3", "exited with status 3: oops | no luck"),
        ("exit 127", "exited with status 127: it wrote nothing to standard error"),
        ("kill -SEGV $$", "was killed by SIGSEGV"),
        ("kill -KILL $$", "was killed by SIGKILL (out of memory?)"),
        ("printf '\\033[31mred\\377' >&2; exit 1", ": red\N{REPLACEMENT CHARACTER}"),
        ("printf '\\033[2Jred' >&2; exit 1", "?[2Jred"),
        ("seq 1000 >&2; exit 1", "... | 9"),
    ],
)
def test_a_command_that_fails_is_named_with_the_end_of_what_it_said(
    run: Callable[..., Run], script: str, message: str
) -> None:
    with pytest.raises(CollectError) as caught:
        Time().collect(run(script))
    text = str(caught.value)
    assert message.replace("... | 9", "") in text
    assert text.startswith("/bin/sh -c ")
    assert "\n" not in text
    assert len(text) < 700
    assert caught.value.exit_code == 5


@pytest.mark.unless(emulated())
def test_what_is_left_running_is_a_warning(run: Callable[..., Run]) -> None:
    found = Time().collect(run("sleep 972.5 & exit 0"))
    assert len(found.warnings) == 1
    assert "left 1 process running" in found.warnings[0]


@pytest.fixture
def delays(monkeypatch: pytest.MonkeyPatch) -> Callable[[list[float]], None]:
    """Real executions of 0.1 s, whose run-queue delays are those given: nobody can order a busy
    machine.
    """

    def order(seconds: list[float]) -> None:
        left = iter(seconds)
        real = launcher.launch

        def delayed(*args: object, **options: object) -> Execution:
            return msgspec.structs.replace(
                real(*args, **options), wall=0.1, run_delay=next(left), wake_delay=0.0
            )  # type: ignore[arg-type]

        monkeypatch.setattr(launcher, "launch", delayed)

    return order


def test_a_delayed_execution_is_marked(
    run: Callable[..., Run], delays: Callable[[list[float]], None]
) -> None:
    delays([0.0019, 0.0021, 0.0021])
    assert Time().collect(run("exit 0")).mark == [0]
    assert Time().collect(run("exit 0")).mark == [1]
    assert Time(delay=0.03).collect(run("exit 0")).mark == [0]


def test_a_delayed_execution_is_repeated_as_often_as_allowed(
    run: Callable[..., Run], delays: Callable[[list[float]], None]
) -> None:
    delays([0.05, 0.05, 0.0, 0.05, 0.05])
    sample = report('{"uid": "part", "wall": 1}')
    first = Time(repeat=2).collect(run(sample))
    check_shape(first)
    assert first.uid == ["whole", "part"] * 3
    assert first.mark == [2, 2, 2, 2, 0, 0]
    assert first.iteration == [0] * 6
    for file in run("").scratch.iterdir():
        file.unlink()
    assert Time(repeat=1).collect(run(sample)).mark == [2, 2, 1, 1]


def test_an_attempt_that_changes_a_unit_is_an_error(
    run: Callable[..., Run], delays: Callable[[list[float]], None]
) -> None:
    delays([0.05, 0.0])
    declare = (
        'echo "{\\"metric\\": \\"x\\", \\"unit\\": \\"${PERFVCS_SAMPLES##*/}\\"}" >>'
        ' "$PERFVCS_SAMPLES"'
    )
    script = report('{"uid": "a", "x": 1}') + "\n" + declare
    with pytest.raises(CollectError, match="x has another unit"):
        Time(repeat=1).collect(run(script))


def test_waiting_less_than_half_a_millisecond_is_not_a_delay() -> None:
    took = Execution(
        wall=0.001,
        cpu=0.0005,
        run_delay=0.0004,
        minor_faults=0,
        major_faults=0,
        voluntary_switches=0,
        involuntary_switches=0,
        blocks_in=0,
        blocks_out=0,
    )
    assert not Time()._delayed(took)
    assert Time()._delayed(msgspec.structs.replace(took, wake_delay=0.0002))
    assert not Time()._delayed(msgspec.structs.replace(took, run_delay=None))


@pytest.mark.parametrize(
    "options",
    [{"repeat": -1}, {"repeat": 1.5}, {"repeat": True}, {"delay": math.nan}, {"delay": "2 %"}],
)
def test_impossible_options_are_refused(options: dict[str, object]) -> None:
    with pytest.raises(PerfError, match=f"time`?: {next(iter(options))}( is .*)?: give"):
        plugins.build("collectors", "time", options, "here")


# What a program reports of itself


def test_samples_are_rows_of_their_own(run: Callable[..., Run]) -> None:
    lines = (
        '{"uid": "parse", "size": 10, "wall": 0.5, "cpu": 0.25}',
        '{"uid": "parse", "size": 20, "wall": 0.75}',
        "",
        '{"uid": "parse", "size": 10, "wall": 0.5, "hits": 3, "misses": null}',
        '{"uid": "pärse </script>", "throughput": 1e6}',
        '{"metric": "throughput", "unit": "op/s", "better": "higher"}',
    )
    found = Time().collect(run(report(*lines)))
    check_shape(found)
    assert found.uid == ["whole", "parse", "parse", "parse", "pärse </script>"]
    assert found.size == [None, 10, 20, 10, None]
    assert found.iteration == [0, 0, 0, 1, 0]
    assert found.values["wall"][1:] == [0.5, 0.75, 0.5, None]
    assert found.values["cpu"][1:] == [0.25, None, None, None]
    assert found.values["hits"] == [None, None, None, 3, None]
    assert found.values["throughput"] == [None, None, None, None, 1e6]
    assert found.metrics["hits"] == Metric("", "lower")
    assert found.metrics["throughput"] == Metric("op/s", "higher")
    assert "misses" not in found.metrics


def test_a_profile_with_samples_can_be_stored_and_summarised(run: Callable[..., Run]) -> None:
    found = Time().collect(
        run(report('{"uid": "parse", "wall": 0.5}', '{"uid": "parse", "wall": 0.7}'))
    )
    profile = sample_profile(metrics=found.metrics)
    rows = profile.resources
    rows.names, rows.uid, rows.execution = ["whole", "parse"], [0, 1, 1], [0, 0, 0]
    rows.iteration, rows.mark, rows.size, rows.metrics = (
        found.iteration,
        found.mark,
        found.size,
        found.values,
    )
    profile.encode()
    assert [summary.medians for summary in summarise(profile) if summary.uid == "parse"] == [(0.6,)]


def test_processes_and_threads_may_report_at_once(run: Callable[..., Run]) -> None:
    one = (
        'i=0; while [ $i -lt 100 ]; do echo \'{"uid": "a", "wall": 1}\' >> $PERFVCS_SAMPLES;'
        " i=$((i+1)); done"
    )
    found = Time().collect(run(f"({one}) & ({one}) & ({one}) & wait"))
    assert found.iteration[1:] == list(range(300))


def test_the_callers_own_samples_file_does_not_leak(
    run: Callable[..., Run], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    outer = tmp_path / "outer"
    monkeypatch.setenv("PERFVCS_SAMPLES", str(outer))
    prepared = run(
        report('{"uid": "a", "wall": 1}'),
        env={"PATH": "/usr/bin:/bin", "PERFVCS_SAMPLES": str(outer)},
    )
    assert len(Time().collect(prepared).uid) == 2
    assert not outer.exists()


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ('{"uid": "a", "wall": "1"}', "wall is not a number"),
        ('{"uid": "a", "wall": true}', "got bool"),
        ('{"uid": "a", "wall": [1]}', "got array"),
        ("[1]", "Expected object"),
        ('{"uid": "a", "wall": NaN}', "not JSON"),
        ('{"uid": "a", "wall": 1e999}', "out of range"),
        ('{"uid": "a", "wall": 1' + "0" * 400 + "}", "not finite|out of range"),
        ('{"uid": "a", "size": "big", "wall": 1}', "size is not a number"),
        ('{"wall": 1}', "uid is not a string"),
        ('{"uid": 5, "wall": 1}', "uid is not a string"),
        ('{"uid": "", "wall": 1}', "uid is not a string"),
        ('{"uid": "a"}', "no metric"),
        ('{"uid": "a", "wall": null}', "no metric"),
        ('{"uid": "a", "execution": 1}', "'execution' is reserved"),
        ('{"uid": "a", "unit": 1}', "'unit' is reserved"),
        ('{"uid": "a", "two words": 1}', "'two words' cannot name a metric"),
        (
            '{"uid": "whole", "wall": 1}',
            "'whole' is the uid of the whole process: choose another one",
        ),
        ('{"metric": "mark"}', "'mark' is reserved"),
        ('{"metric": 1}', "metric is not a string"),
        ('{"metric": "x", "unit": 1}', "unit is not a string"),
        ('{"metric": "x", "unit": "a\\nb"}', "unit is not a string"),
        ('{"metric": "x", "better": "faster"}', "better is not one of lower, higher, none"),
        ('{"metric": "x", "better": 1}', "better is not one of"),
        (
            '{"metric": "x", "uid": "a"}',
            "a declaration has metric, unit, better and deterministic, not 'uid'",
        ),
        ('{"metric": "x", "deterministic": 1}', "deterministic is neither true nor false"),
        ('{"metric": "wall", "unit": "s", "deterministic": true}', "wall is measured by perfvcs"),
        ('{"metric": "wall", "unit": "ms"}', "wall is in 's' with better lower already"),
        ("nonsense", "not JSON"),
        ("[" * 5000, "not JSON|Expected"),
    ],
)
def test_garbage_is_named_with_its_line(tmp_path: Path, line: str, reason: str) -> None:
    file = tmp_path / "samples"
    file.write_text(f'{{"uid": "fine", "wall": 1}}\n{line}\n{{"uid": "fine", "wall": 1}}\n')
    with pytest.raises(MalformedSamples, match=rf"PERFVCS_SAMPLES line 2: .*({reason})") as caught:
        read_samples(file, module.METRICS, "whole")
    assert "\n" not in str(caught.value)
    assert len(str(caught.value)) < 400


def test_garbage_names_the_command_too(run: Callable[..., Run]) -> None:
    with pytest.raises(CollectError, match=r"^/bin/sh -c .*: PERFVCS_SAMPLES line 1: not JSON"):
        Time().collect(run(report("nonsense")))


def test_bad_utf8_is_named_with_its_line(tmp_path: Path) -> None:
    (tmp_path / "samples").write_bytes(b'{"uid": "\xff", "wall": 1}\n')
    with pytest.raises(MalformedSamples, match=r"line 1: (not valid UTF-8|not JSON)"):
        read_samples(tmp_path / "samples", {}, "")


def test_a_cut_off_last_line_is_named(tmp_path: Path) -> None:
    (tmp_path / "samples").write_text('{"uid": "a", "wall": 1}\n{"uid": "a", "wal')
    with pytest.raises(MalformedSamples, match="line 2: the last line is cut off"):
        read_samples(tmp_path / "samples", {}, "")
    (tmp_path / "samples").write_text('{"uid": "a", "wall": 1}\n{"uid": "a", "wall": 2}')
    assert read_samples(tmp_path / "samples", {}, "").values == {"wall": [1, 2]}


def test_declarations_that_disagree_are_an_error(tmp_path: Path) -> None:
    same, other = '{"metric": "x", "unit": "B"}\n', '{"metric": "x", "unit": "kB"}\n'
    (tmp_path / "samples").write_text(same + same)
    assert read_samples(tmp_path / "samples", {}, "").metrics == {}
    (tmp_path / "samples").write_text(same + other)
    with pytest.raises(MalformedSamples, match="line 2: x is in 'B' with better lower already"):
        read_samples(tmp_path / "samples", {}, "")


def test_the_first_notes_of_a_program_become_warnings(run: Callable[..., Run]) -> None:
    notes = "".join(
        json.dumps({"note": f"part {number}:\n\x1b[1mnot measured"}) + "\n" for number in range(8)
    )
    found = Time(repeat=0).collect(run(f"cat >> $PERFVCS_SAMPLES <<'END'\n{notes}END\n"))
    assert found.warnings == [
        *(f"part {number}: ?[1mnot measured" for number in range(5)),
        "and 3 more notes",
    ]
    assert len(found.uid) == 1


@pytest.mark.parametrize("note", ["3", '" "', "null"])
def test_a_note_is_a_text(tmp_path: Path, note: str) -> None:
    (tmp_path / "samples").write_text(f'{{"note": {note}}}\n')
    with pytest.raises(MalformedSamples, match="line 1: note is not a text"):
        read_samples(tmp_path / "samples", {}, "")


def test_a_metric_may_be_called_note(tmp_path: Path) -> None:
    (tmp_path / "samples").write_text('{"uid": "a", "note": 2}\n')
    assert read_samples(tmp_path / "samples", {}, "").values == {"note": [2]}


def test_the_number_of_lines_bytes_and_metrics_is_bounded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "samples"
    file.write_text(
        "".join(json.dumps({"uid": "a", f"m{number}": 1}) + "\n" for number in range(33))
    )
    with pytest.raises(MalformedSamples, match="line 33: over 32 metrics"):
        read_samples(file, {}, "")
    file.write_text("".join(json.dumps({"metric": f"m{number}"}) + "\n" for number in range(33)))
    with pytest.raises(MalformedSamples, match="line 33: over 32 metrics"):
        read_samples(file, {}, "")
    monkeypatch.setattr(samples, "MAX_LINES", 2)
    file.write_text('{"uid": "a", "wall": 1}\n' * 2)
    assert read_samples(file, {}, "").iteration == [0, 1]
    file.write_text('{"uid": "a", "wall": 1}\n' * 3)
    with pytest.raises(MalformedSamples, match="over 2 lines"):
        read_samples(file, {}, "")
    with file.open("wb") as sparse:
        sparse.truncate((64 << 20) + 1)
    with pytest.raises(MalformedSamples, match="over 64 MiB"):
        read_samples(file, {}, "")


def test_only_a_plain_file_is_read(tmp_path: Path) -> None:
    assert read_samples(tmp_path / "absent", {}, "").uid == []
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(MalformedSamples, match="is no longer a file"):
        read_samples(tmp_path / "pipe", {}, "")
    (tmp_path / "link").symlink_to("/dev/zero")
    with pytest.raises(MalformedSamples, match="cannot be read"):
        read_samples(tmp_path / "link", {}, "")
    (tmp_path / "folder").mkdir()
    with pytest.raises(MalformedSamples, match=r"is no longer a file|cannot be read"):
        read_samples(tmp_path / "folder", {}, "")


@pytest.mark.slow
@settings(
    max_examples=300, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(data=st.binary(max_size=60), cut=st.integers(0, 70), place=st.integers(0, 60))
def test_whatever_is_in_the_file_gives_rows_or_one_line(
    tmp_path: Path, data: bytes, cut: int, place: int
) -> None:
    valid = b'{"uid": "a", "size": 1, "wall": 0.5}\n{"metric": "x", "unit": "B"}\n'
    (tmp_path / "samples").write_bytes(valid[:place] + data + valid[place:][:cut])
    try:
        found = read_samples(tmp_path / "samples", module.METRICS, "whole")
    except MalformedSamples as error:
        assert "\n" not in str(error)
    else:
        assert all(len(column) == len(found.uid) for column in found.values.values())


def test_what_failed_did_not_end_well(run: Callable[..., Run]) -> None:
    (failed,) = Time().collect(run("no-such-tool; exit 3", may_fail=True)).warnings
    assert "exited with status 3" in failed
    (ended,) = Time().collect(run("no-such-tool; exit 0", may_fail=True)).warnings
    assert "it ended well, but a part of it failed: " in ended and "no-such-tool" in ended


def test_results_that_pyperf_would_not_write_over_are_removed(
    run: Callable[..., Run], tmp_path: Path
) -> None:
    results = (
        '{"version": "1.0", "benchmarks": [{"metadata": {"name": "x"}, "runs": [{"values": [2]}]}]}'
    )
    (tmp_path / "out.json").write_text("of another execution")
    script = f"set -C; echo '{results}' > out.json"
    assert Time().collect(run(script, reads=Reads("pyperf", "out.json"))).uid == ["whole", "x"]
    (tmp_path / "folder").mkdir()
    with pytest.raises(CollectError, match="exited with status"):
        Time().collect(run("echo > folder", reads=Reads("pyperf", "folder")))

from typing import Any

import pytest

from perfvcs.jobs import knobs, matrix
from perfvcs.jobs.cell import Cell
from perfvcs.jobs.config import BadConfig, read, single


def cells(**job: Any) -> list[Cell]:
    return matrix(read({"job": [job]}))


def test_the_matrix_is_every_combination() -> None:
    found = cells(
        cmd=["./a", "./b"], args=["", "-r"], workloads=["x", "y", "z"], collectors=["time"]
    )
    assert len(found) == 12
    assert {cell.label for cell in found} >= {"a x", "a -r x", "b -r z"}


def test_interpreters_are_a_dimension_of_the_matrix() -> None:
    found = matrix(
        read(
            {"job": [{"name": "j", "cmd": "python x.py"}], "python": {"versions": ["3.11", "3.12"]}}
        )
    )
    assert [cell.params for cell in found] == [{"python": "3.11"}, {"python": "3.12"}]
    assert found[0].label == "j python=3.11"


def test_a_workload_is_the_last_argument_unless_it_is_mentioned() -> None:
    assert cells(cmd="./sort -q", workloads=["a b.txt"])[0].argv("a b.txt") == [
        "./sort",
        "-q",
        "a b.txt",
    ]
    assert cells(cmd="./sort {workload} -q", workloads=["a"])[0].argv("a") == ["./sort", "a", "-q"]
    assert cells(cmd="./sort", args=["--in={file} -q"], workloads=["a"])[0].argv("/t/a") == [
        "./sort",
        "--in=/t/a",
        "-q",
    ]
    assert cells(cmd="./sort -n {n}", workloads=[{"integers": [7]}])[0].argv("7") == [
        "./sort",
        "-n",
        "7",
    ]
    assert cells(cmd="./sort", workloads=[{"integers": [7]}])[0].argv("7") == ["./sort", "7"]


def test_other_braces_stay_as_they_are() -> None:
    assert cells(cmd="""python -c "print({1: 2}, '{other}')" """)[0].argv("") == [
        "python",
        "-c",
        "print({1: 2}, '{other}')",
    ]


def test_in_a_shell_the_workload_is_quoted() -> None:
    found = cells(cmd="sort {workload} | wc -l", workloads=["a; rm -r b"], shell=True)[0]
    assert found.argv("a; rm -r b") == ["/bin/sh", "-c", "sort 'a; rm -r b' | wc -l"]
    assert cells(cmd="sort", workloads=["a b"], shell=True)[0].argv("a b") == [
        "/bin/sh",
        "-c",
        "sort 'a b'",
    ]


def test_names_come_from_the_command_or_the_script_behind_an_interpreter() -> None:
    assert cells(cmd="./bin/sort -q")[0].name == "sort"
    assert cells(cmd="python3.11 -O bench/run.py")[0].name == "run.py"
    assert [cell.name for cell in cells(name="s", cmd=["./a", "./b"])] == ["s a", "s b"]


def test_what_changes_the_measurement_changes_the_series_and_the_design_does_not() -> None:
    plain = cells(cmd="./a")[0].job({})
    assert plain.key == cells(cmd="./a", executions=99, warmup=5, timeout="1s")[0].job({}).key
    others = [
        cells(cmd="./a", env={"X": "1"}),
        cells(cmd="./a", shell=True),
        cells(cmd="./a -O", name="a"),
    ]
    assert len({plain.key, *(found[0].job({}).key for found in others)}) == 4
    assert plain.key != cells(cmd="./a")[0].job({"bench/": "0" * 16}).key


def test_a_collector_has_its_own_executions_which_are_no_part_of_the_series() -> None:
    entry = {"name": "instructions", "executions": 1, "warmup": 0}
    time, own = cells(cmd="./a", executions="auto", warmup=3, collectors=["time", entry])
    assert (time.executions, time.warmup, time.auto is not None) == (10, 3, True)
    assert (own.executions, own.warmup, own.auto) == (1, 0, None)
    assert own.options == cells(cmd="./a", collectors=["instructions"])[0].options == {}


@pytest.mark.parametrize(
    ("entry", "expected"),
    [
        ({"executions": 0}, "`executions` is 0, but must be 1 to 1,000,000"),
        ({"executions": "auto"}, "`executions` is 'auto', but must be a whole number"),
        ({"warmup": True}, "`warmup` is True, but must be a whole number"),
    ],
)
def test_the_executions_of_a_collector_are_a_number(entry: dict[str, Any], expected: str) -> None:
    with pytest.raises(BadConfig, match=f"job `./a`, collectors: {expected}"):
        cells(cmd="./a", collectors=[{"name": "time", **entry}])


def test_a_collector_in_brackets_means_all_its_jobs() -> None:
    both = ["time", "instructions"]
    config = read({"job": [{"cmd": "./a", "collectors": both}, {"cmd": "./b", "collectors": both}]})
    found = [(cell.name, cell.collector_name) for cell in matrix(config, ["(instructions)"])]
    assert found == [("a", "instructions"), ("b", "instructions")]


def test_only_the_jobs_named_are_taken() -> None:
    config = read(
        {"job": [{"name": "a", "cmd": "./a"}, {"name": "b", "cmd": "./b", "args": ["1", "2"]}]}
    )
    assert [cell.label for cell in matrix(config, ["b"])] == ["b 1", "b 2"]


def test_an_operator_needs_a_shell_only_where_it_stands_bare() -> None:
    assert cells(cmd="grep '|' file")[0].argv("") == ["grep", "|", "file"]
    assert cells(cmd="sh -c 'a | b'", args=["''"])[0].argv("") == ["sh", "-c", "a | b", ""]
    with pytest.raises(BadConfig, match="needs a shell"):
        cells(cmd="a | b")


def test_an_ad_hoc_command_is_one_job_with_its_words_kept() -> None:
    cell = matrix(single(["./my sort", "a b"]))[0]
    assert (cell.name, cell.argv("")) == ("my sort", ["./my sort", "a b"])


def test_knobs_are_those_of_the_configuration() -> None:
    assert knobs(read({"knobs": {"aslr": False, "pin": "0"}})).fields()["aslr"] == "off"

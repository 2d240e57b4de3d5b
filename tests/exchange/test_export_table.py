"""`perf export --table`: all values in one file, whatever reads it."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import pytest
from conftest import Perf, Project

from perfvcs.exchange.delivery import COLUMNS


@pytest.fixture
def stored(project: Project, perf: Perf, tmp_path: Path) -> list[str]:
    """Two commits with a job ``nightly``, the second with a job ``sizes`` too; their ids."""
    commits = [project.commit("one"), project.commit("two")]
    table = tmp_path / "table.csv"
    for number, commit in enumerate(commits):
        table.write_text(
            f"uid,execution,wall [ms],rate\nparse,0,{1.5 + number},7\n=lex,1,{2.5 + number},\n"
        )
        perf("init") if not number else None
        perf("import", str(table), "--commit", commit, "--name", "nightly")
    table.write_text("uid,size,wall [s]\nsort,10,1\nsort,20,2\n")
    perf("import", str(table), "--name", "sizes")
    return commits


def rows(path: Path) -> list[dict[str, str]]:
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


def test_every_value_is_a_row(stored: list[str], perf: Perf) -> None:
    assert perf("export", "--table", "all.csv").out == "wrote 8 values to all.csv\n"
    found = rows(Path("all.csv"))
    assert tuple(found[0]) == COLUMNS
    assert {row["commit"] for row in found} == set(stored)
    assert [
        (row["uid"], row["size"], row["value"], row["unit"])
        for row in found
        if row["job"] == "sizes"
    ] == [("sort", "10.0", "1.0", "s"), ("sort", "20.0", "2.0", "s")]
    assert [
        (row["uid"], row["execution"], row["metric"], row["value"])
        for row in found
        if row["commit"] == stored[0]
    ] == [
        ("parse", "0", "wall", "1.5"),
        ("'=lex", "1", "wall", "2.5"),
        ("parse", "0", "rate", "7.0"),
    ]


def test_lines_of_json_hold_names_as_they_are(stored: list[str], perf: Perf) -> None:
    perf("export", "--table", "all.jsonl", stored[0])
    found = [json.loads(line) for line in Path("all.jsonl").read_text().splitlines()]
    assert [row["uid"] for row in found] == ["parse", "=lex", "parse"]
    assert found[0]["size"] is None and found[0]["value"] == 1.5


@pytest.mark.parametrize("ending", ["parquet", "arrow"])
def test_columns_of_arrow_are_those_of_the_table(
    ending: str,
    stored: list[str],  # noqa: ARG001
    perf: Perf,
) -> None:
    pyarrow = pytest.importorskip("pyarrow")
    perf("export", "--table", f"all.{ending}")
    perf("export", "--table", "all.jsonl")
    if ending == "parquet":
        from pyarrow import parquet

        found = parquet.read_table("all.parquet")
    else:
        assert pyarrow is not None
        with pyarrow.memory_map("all.arrow") as file:
            found = pyarrow.ipc.open_file(file).read_all()
    assert found.to_pylist() == [
        json.loads(line) for line in Path("all.jsonl").read_text().splitlines()
    ]


def test_ranges_and_jobs_choose(stored: list[str], perf: Perf) -> None:
    perf("export", "--table", "some.csv", f"{stored[0]}..{stored[1]}", "--job", "nightly")
    assert {(row["commit"], row["job"]) for row in rows(Path("some.csv"))} == {
        (stored[1], "nightly")
    }


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["all.xlsx"], "a table is a file with the ending .csv, .jsonl, .parquet, .arrow"),
        (["all.csv", "--job", "nightyl"], "no job is called `nightyl`; did you mean `nightly`?"),
        (["all.csv", "--format", "perun"], "--table and --bundle name their own file and format"),
        (["all.csv", "main..main"], "holds no commits"),
        (["nowhere/all.csv"], "No such file or directory"),
        (["there.csv"], "there.csv already exists: --force overwrites it"),
    ],
)
def test_what_cannot_be_written_is_said_in_a_line(
    arguments: list[str],
    message: str,
    stored: list[str],  # noqa: ARG001
    perf: Perf,
) -> None:
    Path("there.csv").write_text("mine")
    said = perf("export", "--table", *arguments, code=2)
    assert message in said.err and said.err.count("\n") == 1
    assert Path("there.csv").read_text() == "mine"


def test_without_pyarrow_the_cure_is_named(
    stored: list[str],  # noqa: ARG001
    perf: Perf,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(__import__("sys").modules, "pyarrow", None)
    assert "pip install pyarrow" in perf("export", "--table", "all.parquet", code=2).err
    assert not Path("all.parquet").exists()

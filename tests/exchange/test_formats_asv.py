"""Results of asv: files that it wrote, and what else its two versions may hold."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from cases import each
from conftest import TESTS, Perf, Project
from samples import format_of

from perfvcs import formats
from perfvcs.formats.asv import Asv
from perfvcs.profile import Profile
from perfvcs.profile.validity import Malformed
from perfvcs.repository import Repository

RESULTS = TESTS / "data" / "asv" / "results"
FILE = RESULTS / "lab" / "158ec25c-existing-py_python3.json"
COMMIT = "158ec25cbd3bb4422f469713185a360ff7387a18"


def document(results: dict[str, Any], **more: Any) -> bytes:
    """A file of version 2 with three columns."""
    fields = {
        "commit_hash": COMMIT,
        "result_columns": ["result", "params", "version"],
        "params": {"machine": "lab"},
        "version": 2,
    }
    return json.dumps({**fields, "results": results, **more}).encode()


def values(profile: Profile) -> dict[tuple[str, float | None], list[float]]:
    """The values of each unit and size."""
    rows, found = profile.resources, {}
    for row, code in enumerate(rows.uid):
        size = rows.size[row] if rows.size else None
        here = [column[row] for column in rows.metrics.values() if column[row] is not None]
        found.setdefault((rows.names[code], size), []).extend(here)
    return found


def test_what_asv_wrote_is_read_with_its_samples_parameters_and_kinds() -> None:
    assert format_of(FILE) == "asv"
    profile = formats.read(FILE)
    assert profile.commit == COMMIT
    assert profile.environment.fields == {"python": "python3"}
    assert profile.environment.notes == {"host": "lab"}
    assert profile.environment.warnings == ["1 unit without a value: bench.time_skipped"]
    assert profile.collected.started.startswith("2026-11-23T")
    assert {name: about.unit for name, about in profile.metrics.items()} == {
        "wall": "s",
        "memory": "B",
        "maxrss": "B",
        "value": "",
    }
    found = values(profile)
    sums = {key: taken for key, taken in found.items() if key[0].startswith("bench.Suite.time_sum")}
    assert {(name, size): len(taken) for (name, size), taken in sums.items()} == {
        ("bench.Suite.time_sum @e37306f5('list')", 100.0): 6,
        ("bench.Suite.time_sum @e37306f5('tuple')", 100.0): 6,
        ("bench.Suite.time_sum @e37306f5('list')", 1000.0): 6,
    }
    assert sums["bench.Suite.time_sum @e37306f5('list')", 100.0][0] == 1.3620010577142239e-06
    assert found["bench.track_length @41bb745d", None] == [42.0]
    assert set(profile.resources.execution) == {0}
    assert profile.resources.iteration is not None
    assert max(profile.resources.iteration) == 5


def test_a_benchmark_whose_code_changed_is_another_one_unless_asked() -> None:
    one = document({"b.time_x": [[1.0], [], "a" * 64]})
    other = document({"b.time_x": [[2.0], [], "b" * 64]})
    assert Asv().decode(one).resources.names != Asv().decode(other).resources.names
    assert (
        Asv(versions="together").decode(one).resources.names
        == Asv(versions="together").decode(other).resources.names
        == ["b.time_x"]
    )


def test_files_of_version_1_are_read() -> None:
    results = {
        "time_a": 1.5,
        "time_b": None,
        "time_c": {"result": [1.0, None], "params": [["10", "20"]]},
    }
    old = json.dumps(
        {"commit_hash": COMMIT, "results": results, "params": {"ram": 8}, "version": 1}
    ).encode()
    profile = Asv().decode(old)
    assert values(profile) == {("time_a", None): [1.5], ("time_c", 10.0): [1.0]}
    assert profile.environment.notes == {"memory": "8"}


def test_two_parameters_that_are_numbers_are_no_size() -> None:
    profile = Asv().decode(document({"b.time_x": [[1.0, 2.0], [["1"], ["2", "3"]]]}))
    assert values(profile) == {("b.time_x(1, 2)", None): [1.0], ("b.time_x(1, 3)", None): [2.0]}


@each(
    "broken said",
    [
        (b'{"commit_hash": "x"', "it was cut off: copy it again"),
        (b'{"commit_hash": 5, "results": {}}', "commit_hash"),
        (document({}, commit_hash="main"), "not a full commit id"),
        (document({"time_x": [["a"], []]}), "time_x"),
        (document({"time_x": [[1.0], [["1", "2"]]]}), "1 values, which is not one for each"),
        (document({"time_x": [[1.0], [["1"] * 1000] * 1000]}), "each combination"),
        (document({"time_x": [[1.0], [[["nested"]]]]}), "time_x"),
        (b'{"commit_hash": ' + b"[" * 100_000, "nested"),
        (document({}), "no results"),
        (document({"time_x": [[None], []]}), "no results"),
        (document({"time_x": float("nan")}), "no results"),
    ],
)
def test_what_is_broken_is_refused_with_its_place(broken: bytes, said: str) -> None:
    with pytest.raises(Malformed, match=said):
        Asv().decode(broken)


def test_every_beginning_of_a_file_is_refused() -> None:
    whole = FILE.read_bytes()
    for end in range(1, len(whole) - 2, 50):
        with pytest.raises(Malformed):
            Asv().decode(whole[:end])


def test_a_folder_of_results_is_imported_with_commits_that_nobody_has(
    project: Project, perf: Perf, tmp_path: Path
) -> None:
    project.commit()
    said = perf("import", str(RESULTS))
    remark = "1 unit without a value: bench.time_skipped"
    assert said.out.startswith("stored 1 profile\n")
    assert said.out.endswith(f": {remark}\nnot commits of this repository: 158ec25cbd\n")
    assert said.err == ""
    (tmp_path / "empty.json").write_bytes(document({}))
    (tmp_path / "again.json").write_bytes(FILE.read_bytes())
    assert (
        perf("import", str(tmp_path / "empty.json"), str(tmp_path / "again.json")).out
        == "stored 0 profiles, 1 already stored\nleft out 1 file without results\n"
        f"again.json: {remark}\nnot commits of this repository: 158ec25cbd\n"
    )
    assert "no results" in perf("import", str(tmp_path / "empty.json"), code=12).err


def test_commits_of_a_rewritten_history_are_found_by_a_map(
    project: Project, perf: Perf, tmp_path: Path
) -> None:
    now = project.commit()
    renamed = tmp_path / "commit-map"
    renamed.write_text(
        f"old                                      new\n{COMMIT} {now}\n{'1' * 40} {'0' * 40}\n"
    )
    assert perf("import", "--map", str(renamed), str(RESULTS)).out.startswith("stored 1 profile\n")
    assert Repository.find().store.paths(now)
    renamed.write_text(f"{COMMIT} HEAD\n")
    assert (
        "line 1: write two full commit ids"
        in perf("import", "--map", str(renamed), str(RESULTS), code=2).err
    )
    assert (
        "cannot read" in perf("import", "--map", str(tmp_path / "none"), str(RESULTS), code=2).err
    )


def test_commits_that_are_here_give_their_dates(project: Project, perf: Perf) -> None:
    now = project.commit()
    project.write("old.json", document({"time_x": [[1.0], []]}, commit_hash=now).decode())
    perf("import", "old.json")
    (path,) = Repository.find().store.paths(now)
    started = Repository.find().store.read(path).collected.started
    assert started == project.git(
        "log", "-1", "--date=format-local:%Y-%m-%dT%H:%M:%SZ", "--format=%ad"
    )


def test_a_folder_of_results_is_written_as_asv_looks_for_it(project: Project, perf: Perf) -> None:
    commits = [project.commit(title) for title in ("one", "two")]
    for commit in commits:
        for job, rows in {
            "sort": "sort,1,0.5\nsort,2,0.75\n",
            "parse": "parse.words,,0.25\n",
        }.items():
            Path("data.csv").write_text(f"uid,size,wall [s]\n{rows}")
            perf("import", "data.csv", "--commit", commit, "--name", job)
    assert (
        perf("export", *commits, "--format", "asv", "-o", "results").out
        == "wrote 4 profiles into results\n"
    )
    described = json.loads(Path("results/benchmarks.json").read_text())
    assert described.pop("version") == 2
    assert set(described) == {"time_sort", "parse.parse.time_words"}
    for name, about in described.items():
        assert (about["name"], about["type"], about["unit"]) == (name, "time", "seconds")
        assert len(about["params"]) == len(about["param_names"])
    assert described["time_sort"]["params"] == [["1", "2"]]
    (machine,) = [path.parent.name for path in Path("results").glob("*/machine.json")]
    assert json.loads(Path(f"results/{machine}/machine.json").read_text())["machine"] == machine
    for commit in commits:
        (path,) = Path(f"results/{machine}").glob(f"{commit[:8]}-perfvcs*.json")
        written = json.loads(path.read_text())
        assert (written["commit_hash"], written["params"]["machine"]) == (commit, machine)
        assert isinstance(written["date"], int)
        assert set(written["results"]) == set(described)
        assert written["results"]["time_sort"][:2] == [[0.5, 0.75], [["1", "2"]]]
    other = project.commit("three")
    assert other
    assert perf("import", "results").out == "stored 2 profiles\n"


def test_what_asv_wrote_is_described_with_its_versions() -> None:
    files = {
        name: json.loads(content)
        for name, content in formats.encode_all([formats.read(FILE)], "asv")
    }
    theirs, ours = (
        json.loads((RESULTS / "benchmarks.json").read_text()),
        files.pop("benchmarks.json"),
    )
    assert files.pop("lab/machine.json")["machine"] == "lab"
    ((path, written),) = files.items()
    assert path.startswith(f"lab/{COMMIT[:8]}-")
    assert ours.pop("version") == 2
    for name, about in ours.items():
        assert theirs[name]["version"].startswith(about["version"])
        assert about["type"] == theirs[name]["type"]
        # asv leaves out results of another version
        assert written["results"][name][2] == about["version"]

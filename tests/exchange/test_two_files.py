"""``perf check`` and ``perf show`` of files of profiles, without a repository and inside one."""

from __future__ import annotations

import gzip
import os
import re
import shutil
from pathlib import Path

import pytest
from conftest import ROOT, Perf, Project
from samples import interleaved, noisy, sample_profile

from perfvcs import formats
from perfvcs.profile import Environment
from perfvcs.repository import Repository

COMMITS = ("a" * 40, "b" * 40)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder that is not inside a repository."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


def in_turns(folder: Path, format_name: str = "perfvcs", suffix: str = ".json") -> None:
    """``old`` and ``new``, measured in turns, the new one 10 % slower."""
    for name, profile in zip(
        ("old", "new"), interleaved(COMMITS, [noisy(0.010), noisy(0.011, seed=2)]), strict=True
    ):
        (folder / f"{name}{suffix}").write_bytes(formats.encode(profile, format_name))


def table(path: Path, *values: float) -> None:
    rows = [f"parse,{run},{value}" for run, value in enumerate(values)]
    path.write_text("\n".join(["name,run,wall [ms]", *rows, ""]))


def test_two_files_are_compared_without_a_repository(folder: Path, perf: Perf) -> None:
    in_turns(folder)
    said = perf("check", "old.json", "new.json", code=3)
    assert said.out.startswith("old.json -> new.json: sort became slower: wall time +10.0 % [")
    assert "Next: draw both: perf show old.json new.json" in said.out
    assert "accept" not in said.out, "nothing stored could be accepted"
    assert sorted(path.name for path in folder.iterdir()) == ["new.json", "old.json"]


def test_the_better_of_the_two_first_is_an_improvement(folder: Path, perf: Perf) -> None:
    in_turns(folder)
    assert "sort became faster" in perf("check", "new.json", "old.json").out


def test_every_form_of_a_report_is_there(folder: Path, perf: Perf) -> None:
    in_turns(folder)
    found = perf("check", "old.json", "new.json", "--json", code=3).document
    assert (found["baseline"], found["target"]) == ("old.json", "new.json")
    assert (
        perf("check", "old.json", "new.json", "-q", code=3).out
        == "2 degradations; 2 of 2 comparisons settled\n"
    )
    assert (
        "**degradation** | sort" in perf("check", "old.json", "new.json", "--markdown", code=3).out
    )
    assert "wall time" in perf("check", "old.json", "new.json", "-v", code=3).out
    perf("check", "old.json", "new.json", "--delta", "30")
    perf("check", "old.json", "new.json", "--gate", code=3)


@pytest.mark.parametrize(
    ("format_name", "suffix"),
    [("perfvcs", ".json"), ("csv", ".csv"), ("csv", ".out.csv"), ("perun", ".perf")],
)
def test_any_format_that_can_be_imported_is_read(
    folder: Path, perf: Perf, format_name: str, suffix: str
) -> None:
    in_turns(folder, format_name, suffix)
    assert "wall time +10.0 %" in perf("check", f"old{suffix}", f"new{suffix}", code=None).out


def test_results_of_asv_are_read(folder: Path, perf: Perf) -> None:
    stored = next(
        path
        for path in (ROOT / "tests/data/asv").rglob("*.json")
        if path.name not in ("benchmarks.json", "machine.json")
    )
    for name in ("old.json", "new.json"):
        shutil.copy(stored, folder / name)
    assert "the same measurement on both sides" in re.sub(
        r"\s+", " ", perf("check", "old.json", "new.json", code=4).out
    )


def test_a_compressed_file_and_one_of_another_format_are_compared(folder: Path, perf: Perf) -> None:
    table(folder / "old.csv", *(10.0 + run / 10 for run in range(7)))
    (folder / "new.csv.gz").write_bytes(
        gzip.compress((folder / "old.csv").read_bytes().replace(b",10", b",15"))
    )
    said = perf("check", "old.csv", "new.csv.gz")
    assert "benchmark: parse may have become slower: wall time +48" in said.flat
    assert "measure in turns (`perf import --in-turns`)" in said.out


def test_tables_are_named_after_what_their_names_have_in_common(folder: Path, perf: Perf) -> None:
    table(folder / "nightly-old.csv", 1.0, 1.1, 1.2)
    table(folder / "nightly-new.csv", 1.0, 1.1, 1.3)
    assert {
        change["job"]
        for change in perf("check", "nightly-old.csv", "nightly-new.csv", "--json").document[
            "changes"
        ]
    } == {"nightly"}


def test_files_of_two_machines_are_not_comparable(folder: Path, perf: Perf) -> None:
    in_turns(folder)
    elsewhere = sample_profile(
        noisy(0.01), environment=Environment(fields={"cpu": "other"}, fingerprint="ba9876543210")
    )
    (folder / "new.json").write_bytes(elsewhere.encode())
    assert "cpu test -> other" in perf("check", "old.json", "new.json", code=4).out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("old.json",), "1 file is named: name two, the baseline and the target"),
        (("old.json", "new.json", "old.json"), "3 files are named: name two"),
        (("old.json", "none.json"), "cannot read none.json: No such file or directory"),
        (("../none.json", "new.json"), "cannot read ../none.json: No such file or directory"),
        (("old.json", "broken.json"), "broken.json has none of the formats known here"),
        (("old.json", "folder"), "cannot read folder: Is a directory"),
        (("old.json", "new.json", "--measure"), "two files are compared without measuring"),
        (("old.json", "new.json", "-n", "5"), "two files are compared without measuring"),
        (("old.json", "new.json", "--method", "nonsense"), "there is no method `nonsense`"),
    ],
)
def test_what_cannot_be_compared_is_one_line(
    folder: Path, perf: Perf, arguments: tuple[str, ...], message: str
) -> None:
    in_turns(folder)
    (folder / "broken.json").write_text('{"neither": 1}')
    (folder / "folder").mkdir()
    said = perf("check", *arguments, code=2)
    assert message in said.err
    assert said.err.count("\n") == 1


def test_a_pipe_keeps_nobody_waiting(folder: Path, perf: Perf) -> None:
    in_turns(folder)
    os.mkfifo("pipe")
    assert "pipe is not a regular file" in perf("check", "old.json", "pipe", code=2).err


def test_inside_a_repository_files_are_compared_and_nothing_is_made(
    project: Project, perf: Perf
) -> None:
    project.commit()
    in_turns(project.root)
    assert "sort became slower" in perf("check", "old.json", "new.json", code=3).out
    assert not (project.root / ".perf").exists()


def test_a_file_beside_a_revision_is_refused_with_the_way_out(project: Project, perf: Perf) -> None:
    project.commit()
    in_turns(project.root)
    said = perf("check", "old.json", "HEAD", code=2)
    assert "old.json is a file and `HEAD` is a revision" in said.err
    assert "perf import old.json --commit REVISION" in said.err


def test_a_revision_precedes_a_file_of_its_name(project: Project, perf: Perf) -> None:
    one, two = project.commit("one"), project.commit("two")
    for name, commit in (("old", one), ("new", two)):
        project.git("branch", name, commit)
        project.write(name, "not a profile")
    Repository.find(create=True).store.add(
        interleaved([one, two], [noisy(0.010), noisy(0.011, seed=2)]), "test"
    )
    assert perf("check", "old", "new", code=3).out.startswith(f"{one[:10]} -> {two[:10]}")


def test_two_files_are_drawn(folder: Path, perf: Perf) -> None:
    in_turns(folder)
    assert "old.json → new.json" in perf("show", "old.json", "new.json", "--text").out
    written = re.fullmatch(r"wrote (.*)\n", perf("show", "old.json", "new.json", "--no-open").out)
    assert written
    path = Path(written[1])
    assert path.name == "old-new.html"
    assert path.parent == Path(os.environ["XDG_CACHE_HOME"], "perfvcs", "pages")
    assert "old.json → new.json" in path.read_text()
    perf("show", "old.json", "new.json", "-o", "page.json")
    assert '"title":"old.json → new.json"' in Path("page.json").read_text()


def test_one_file_is_drawn(folder: Path, perf: Perf) -> None:
    in_turns(folder)
    assert "10 ms" in perf("show", "old.json", "--text").out
    assert "3 files are named" in perf("show", "old.json", "new.json", "old.json", code=2).err


def test_a_benchmark_precedes_a_file_of_its_name(project: Project, perf: Perf) -> None:
    commit = project.commit()
    Repository.find(create=True).store.add([sample_profile(commit=commit)], "test")
    project.write("sort", "#!/bin/sh\n", executable=True)
    assert "sort: history" in perf("show", "sort", "--text").out

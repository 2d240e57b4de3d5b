"""`perf judge --tournament`: several candidates in one session."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from conftest import Perf, Project
from judged import HALF, HARMLESS, SETTINGS, WORK

BENCH = "import work\n\nprint(work.total(int(open('size.txt').read())))\n"


@pytest.fixture
def worked(project: Project) -> Project:
    files = {"work.py": WORK, "bench_total.py": BENCH, "size.txt": "1200000\n"}
    project.commit("Work", **files, **{"perf.toml": SETTINGS})
    return project


def patch(worked: Project, name: str, text: str) -> str:
    """A file with the patch that makes work.py this text, which stays as it is."""
    worked.write("work.py", text)
    Path(name).write_text(worked.git("diff") + "\n")
    worked.git("checkout", "--quiet", "work.py")
    return name


def test_candidates_are_ranked_and_ties_are_said(worked: Project, perf: Perf) -> None:
    worked.git("checkout", "--quiet", "-b", "other")
    tenth = WORK.replace("range(count)", "range(count // 10)")
    worked.commit("A tenth", **{"work.py": tenth, "README": "A tenth of the work.\n"})
    worked.git("checkout", "--quiet", "main")
    names = []
    for name, text in (("same", HARMLESS), ("tenth", tenth)):
        worked.write("work.py", text)
        Path(f"{name}.patch").write_text(worked.git("diff") + "\n")
        names.append(f"{name}.patch")
    worked.git("checkout", "--quiet", "work.py")
    said = perf("judge", "--tournament", "other", *names, "--budget", "60s", "--json", code=None)
    standings = said.document
    found = [(row["place"], row["ruling"]["target"]) for row in standings["places"]]
    assert sorted(found[:2]) == [(1, "other"), (1, "tenth.patch")]
    assert found[2] == (3, "same.patch")
    assert standings["format"] == "perfvcs-tournament/1"


def test_what_is_wrong_has_no_place(worked: Project, perf: Perf) -> None:
    for name, text in (("half", HALF), ("same", HARMLESS)):
        worked.write("work.py", text)
        Path(f"{name}.patch").write_text(worked.git("diff") + "\n")
    worked.git("checkout", "--quiet", "work.py")
    check = 'test "$(python3 bench_total.py)" = 3599994'
    options = ("--tournament", "half.patch", "same.patch", "--correct", check)
    said = perf("judge", *options, "--budget", "30s", code=None)
    lines = said.out.splitlines()
    assert lines[1].startswith(" 1. same.patch: ")
    assert lines[2].startswith("  - half.patch: rejected: it fails `test")


@pytest.mark.parametrize("names", [[], ["HEAD"], ["HEAD"] * 8])
@pytest.mark.usefixtures("worked")
def test_how_many_take_part(perf: Perf, names: list[str]) -> None:
    assert "2 to 7 candidates" in perf("judge", "--tournament", *names, code=2).err


def test_the_budget_holds_however_many_take_part(worked: Project, perf: Perf) -> None:
    worked.commit("Long", **{"size.txt": "6000000\n"})
    names = [patch(worked, f"{number}.patch", HARMLESS + f"# {number}\n") for number in range(6)]
    said = perf("judge", "--tournament", *names, "--budget", "4s", "--json", code=4)
    standings = said.document
    # sites are made, and what runs when the budget ends comes to its end
    assert standings["cost"]["seconds"] < 4 + 10
    assert {row["ruling"]["verdict"] for row in standings["places"]} == {"not decided"}


def test_a_command_that_hangs_for_one_leaves_time_for_the_others(
    worked: Project, perf: Perf
) -> None:
    names = [patch(worked, "hangs.patch", WORK + "# hangs\n"), patch(worked, "half.patch", HALF)]
    check = "! grep -q hangs work.py || sleep 100"
    options = ("--correct", check, "--budget", "40s", "--json")
    said = perf("judge", "--tournament", *names, *options, code=None)
    verdicts = {
        row["ruling"]["target"]: row["ruling"]["verdict"] for row in said.document["places"]
    }
    assert verdicts["hangs.patch"] == "rejected"
    assert verdicts["half.patch"] in ("proved", "not decided")


def test_hidden_files_are_laid_over_the_base_and_all_candidates(
    worked: Project, perf: Perf
) -> None:
    knowing = WORK.replace(
        "value = 0\n", "value = 0\n    if count == 1200000:\n        return 3599994\n"
    )
    names = [patch(worked, "knowing.patch", knowing), patch(worked, "half.patch", HALF)]
    hidden = worked.root.parent / "size.txt"
    hidden.write_text("1300000\n")
    options = ("--hidden", str(hidden), "--budget", "60s", "--json")
    said = perf("judge", "--tournament", *names, *options, code=None)
    rulings = {row["ruling"]["target"]: row["ruling"] for row in said.document["places"]}
    assert rulings["knowing.patch"]["decided_by"]["effect"] > -0.2
    assert rulings["half.patch"]["decided_by"]["effect"] < -0.2


def test_fewer_take_part_beside_hidden_files(worked: Project, perf: Perf) -> None:
    hidden = worked.root.parent / "size.txt"
    hidden.write_text("1300000\n")
    said = perf("judge", "--tournament", *["HEAD"] * 7, "--hidden", str(hidden), code=2)
    assert "beside --hidden has 2 to 6 candidates" in said.err


def test_what_is_interrupted_leaves_nothing_to_continue(
    worked: Project, perf: Perf, tmp_path: Path
) -> None:
    names = [patch(worked, "half.patch", HALF), patch(worked, "same.patch", HARMLESS)]
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    process = subprocess.Popen(
        [sys.executable, "-P", "-m", "perfvcs", "judge", "--tournament", *names],
        env=os.environ | {"TMPDIR": str(temporary)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    assert process.stderr is not None
    for line in process.stderr:
        if " %  " in line:  # a block has been measured
            break
    process.send_signal(signal.SIGINT)
    _, said = process.communicate(timeout=60)
    assert process.returncode == 130
    assert "--continue" not in said
    assert perf("collect", "--continue", code=2).err.startswith("perf: no session is unfinished")
    assert not [*temporary.iterdir()]
    assert not [*worked.root.glob(".perf/worktrees/*-[1-9]-*")]


def test_one_that_changes_the_copy_of_the_base_is_rejected_alone(
    worked: Project, perf: Perf
) -> None:
    meddling = (
        "import glob, os\n\nif 'PERFVCS_SEED' in os.environ:\n"
        "    for path in glob.glob('../*/bench_total.py'):\n"
        "        if not os.path.samefile(path, 'bench_total.py'):\n"
        "            os.utime(path)\n"
    )
    names = [
        patch(worked, "meddling.patch", meddling + WORK),
        patch(worked, "same.patch", HARMLESS),
    ]
    said = perf("judge", "--tournament", *names, "--budget", "30s", "--json", code=None)
    rulings = {row["ruling"]["target"]: row["ruling"] for row in said.document["places"]}
    assert rulings["meddling.patch"]["guard"]["folders"]["word"] == "rejected"
    assert rulings["same.patch"]["guard"]["folders"]["word"] == "passed"

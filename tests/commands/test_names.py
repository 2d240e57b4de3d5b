"""Benchmarks, jobs and metrics are named as they are printed, or by a part, in every command that
takes a name.
"""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
from conftest import Perf, Project
from samples import interleaved, noisy, sample_profile
from test_completion import offered

from perfvcs.profile import Environment, Job, Resources
from perfvcs.repository import Repository

LONG = "n" * 9_990 + "-the-end"
UIDS = ("ascii", "kanji", "two words", "a:b [c]", LONG)


@pytest.fixture
def measured(project: Project) -> list[str]:
    """Two commits of the jobs ``run`` with five units, and ``load``; everything is twice as slow on
    the second.
    """
    commits = [project.commit("one"), project.commit("two")]
    found = []
    for job in ("run", "load"):
        uids = UIDS if job == "run" else (job,)
        for profile in interleaved(
            commits,
            [noisy(0.01), noisy(0.02, seed=2)],
            job=Job(job, "time", f"./{job}", engine="launcher/1"),
        ):
            wall = profile.resources.metrics["wall"]
            rows = Resources(
                names=list(uids),
                uid=[unit for unit in range(len(uids)) for _ in wall],
                execution=[run for _ in uids for run in range(len(wall))],
                metrics={"wall": wall * len(uids)},
            )
            metrics = {"wall": profile.metrics["wall"]}
            found.append(
                sample_profile(
                    (),
                    commit=profile.commit,
                    job=profile.job,
                    collected=profile.collected,
                    design=profile.design,
                    metrics=metrics,
                    resources=rows,
                )
            )
    Repository.find(create=True).store.add(found, "test")
    return commits


@pytest.mark.parametrize(
    "name",
    ["run: ascii", "ascii", "asci", "run: two words", "two w", "a:b [c]", "a:b", LONG, "the-end"],
)
def test_show_draws_the_unit_that_is_named(measured: list[str], perf: Perf, name: str) -> None:  # noqa: ARG001
    drawn = perf("show", name, "-o", "page.json")
    assert drawn.code == 0
    from pathlib import Path

    series = json.loads(Path("page.json").read_text())["history"]
    assert len(series) == 1
    assert name in f"run: {series[0]['uid']}"


def test_a_job_stands_for_all_of_its_units(measured: list[str], perf: Perf) -> None:  # noqa: ARG001
    assert "ascii" in perf("show", "run", "--text").out
    assert "kanji" in perf("show", "run", "--text").out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("show", "i"), "`i` matches "),
        (("history", "ad", "HEAD", "-m", "nonsense"), "no metric is called `nonsense`"),
        (
            ("history", "nobody", "HEAD"),
            "nor is it a benchmark; there are: load, run, 'run: ascii'",
        ),
        (("history", "nobody"), "nor is it a benchmark"),
        (("show", "nobody"), "nor is it a benchmark"),
        (("show", "x" * 10_000), "nor is it a benchmark"),
        (("plan", "-j", "nobody"), "no job is called `nobody`; there are: load, run"),
        (("export", "HEAD", "-j", "nobody"), "no job is called `nobody`; there are: load, run"),
        (("rm", "HEAD", "-j", "ru"), "no job is called `ru`; did you mean `run`?"),
        (("accept", "-r", "why", "nobody"), "no degradation is called `nobody`"),
        (("accept", "-r", "why", "i:wall"), "`i:wall` matches "),
        (
            ("accept", "-r", "why", "run:wall"),
            "`run:wall` is 5 degradations, name them by their ids",
        ),
    ],
)
def test_what_no_single_thing_is_called_is_one_line(
    measured: list[str],  # noqa: ARG001
    perf: Perf,
    arguments: tuple[str, ...],
    message: str,
) -> None:
    perf("check", code=3)
    said = perf(*arguments, code=2)
    assert message in said.err
    assert said.err.count("\n") == 1
    assert len(said.err) < 2_100


def test_candidates_are_listed(measured: list[str], perf: Perf) -> None:  # noqa: ARG001
    said = perf("show", "i", code=2).err
    listed = said.partition("benchmarks: ")[2].partition(": write more of the name")[0]
    assert shlex.split(listed.replace(",", ""))[:2] == ["run: ascii", "run: kanji"]


def test_history_takes_a_unit_a_part_and_a_metric_as_printed(
    measured: list[str],  # noqa: ARG001
    perf: Perf,
) -> None:
    for name in ("run: ascii", "asc", "two words"):
        assert perf("history", name, "--json").document["series"] == 1
    assert perf("history", "run", "-m", "wall time", "--json").document["series"] == len(UIDS)


def test_jobs_are_named_by_a_part(measured: list[str], perf: Perf) -> None:  # noqa: ARG001
    assert [one["job"] for one in perf("plan", "-j", "loa", "--json").document["jobs"]] == ["load"]
    assert perf("export", "HEAD", "-j", "loa").out.count('"name":"load"') == 1


def test_profiles_are_removed_by_the_whole_name_of_a_job_only(
    measured: list[str],  # noqa: ARG001
    perf: Perf,
) -> None:
    perf("rm", "HEAD", "-j", "loa", code=2)
    assert perf("rm", "HEAD", "-j", "load").out.count("removed") == 1
    assert "has no profiles of `load`" in perf("rm", "HEAD", "-j", "load", code=2).err


@pytest.mark.parametrize(
    "name", ["run: ascii:wall", "run: ascii:wall time", "ascii", "asci:wall", "a:b [c]:wall", "a:b"]
)
def test_a_degradation_is_accepted_by_a_part_of_its_name(
    measured: list[str],  # noqa: ARG001
    perf: Perf,
    name: str,
) -> None:
    perf("check", code=3)
    perf("accept", "-r", "why", name)
    (accepted,) = perf("accept", "--list", "--json").document
    assert accepted["uid"] == ("ascii" if "asc" in name else "a:b [c]")


def test_jobs_of_the_configuration_are_named_by_a_part(project: Project, perf: Perf) -> None:
    project.write(
        "perf.toml",
        "".join(
            f'[[job]]\nname = "{name}"\ncmd = "true"\nexecutions = 2\n'
            for name in ("sort small", "sort big")
        ),
    )
    project.commit("one")
    project.commit("two")
    assert (
        "`sort` matches 2 jobs: 'sort small', 'sort big'"
        in perf("collect", "-j", "sort", code=2).err
    )
    assert "no job is called `nobody`" in perf("collect", "-j", "nobody", code=2).err
    assert "stored 1 profile" in perf("collect", "-j", "small").out
    assert "sort small" in perf("select", "HEAD~1..HEAD", "--explain", "smal").out


def test_a_shell_completes_names_everywhere(
    measured: list[str],  # noqa: ARG001
    project: Project,
    perf: Perf,
) -> None:
    perf("check", code=3)
    project.write("perf.toml", '[[job]]\nname = "run"\ncmd = "true"\n')
    assert r"run:\ two\ words" in offered("show", r"run:\ two")
    assert r"run:\ ascii" in offered("history", "asc"), "a part is completed, too"
    assert offered("bisect", "-u", "asc") == ["ascii"]
    assert offered("bisect", "-m", "w") == ["wall"]
    assert offered("blame", "ru")[0] == "run"
    for command in ("check", "plan", "bisect", "log", "status", "export", "mutate"):
        assert offered(command, "run:\\ asc") == [r"run:\ ascii"]
    assert offered("export", "-j", "lo") == ["load"]
    assert offered("select", "--explain", r"run:\ as") == [r"run:\ ascii"]
    assert r"run:\ ascii:wall" in offered("accept", r"run:\ as")
    project.write("old.json", "{}")
    assert offered("check", "old") == ["old.json"]


def test_outside_of_a_repository_a_shell_gets_nothing_and_little_is_imported(
    tmp_path: Path,
) -> None:
    env = os.environ | {
        "_PERF_COMPLETE": "bash_complete",
        "COMP_WORDS": "perf show ",
        "COMP_CWORD": "2",
    }
    env.pop("GIT_DIR", None)
    code = (
        "import sys; sys.argv[0] = 'perf'; from perfvcs.entry import main\ntry: main()\nfinally:"
        " print(*sys.modules, file=sys.stderr)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=tmp_path,
        env=env,
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stdout.strip()) == (0, "")
    assert "perfvcs.commands._completion" in done.stderr.split()
    assert not {"perfvcs.repository", "msgspec", "sqlite3", "subprocess"} & set(done.stderr.split())


def test_rows_of_two_environments_name_them(project: Project, perf: Perf) -> None:
    commits = [project.commit(str(number)) for number in range(24)]
    places = [
        Environment({"cpu": "x", "python": version}, version * 3) for version in ("3.12", "3.13")
    ]
    centres = [0.01] * 12 + [0.02] * 12
    Repository.find(create=True).store.add(
        [
            sample_profile(noisy(centre * (1 + which), seed=turn), commit=commit, environment=place)
            for which, place in enumerate(places)
            for turn, (commit, centre) in enumerate(zip(commits, centres, strict=True))
        ],
        "test",
    )
    said = perf("history").out
    assert said.count("in 3.12\n") == said.count("in 3.13\n") == 1
    logged = perf("log", "-n", "24").out
    rows = [line for line in logged.splitlines() if line.startswith("sort (3.1")]
    assert [row.split()[1] for row in rows] == ["(3.12)", "(3.13)"]
    assert "20 ms" in rows[0] or "19.9" in rows[0] or "20.0" in rows[0]
    assert "40" in rows[1] or "39.9" in rows[1], "one row holds one environment"
    assert "(in 3.12)" in logged


@pytest.mark.parametrize("words", ["--measure", "--audit"])
def test_a_method_that_is_not_there_is_said_before_anything_is_measured(
    project: Project, perf: Perf, words: str
) -> None:
    project.configure('cmd = "touch ../measured"')
    project.commit("one")
    project.commit("two")
    assert (
        "there is no method `nonsense`" in perf("check", words, "--method", "nonsense", code=2).err
    )
    assert not (project.root.parent / "measured").exists()

"""Executions that fail are repeated, counted and reported; what fails for good is missing, and all
else is stored.
"""

import json
import sys
from pathlib import Path

import msgspec
import pytest
from conftest import Perf, Project, lack
from histories import stored

from perfvcs.profile import Collected, Design, Job, Metric, Profile, Resources
from perfvcs.profile.decoding import decode

# fails in the turns that a file names, counted over all executions
FLAKY = (
    'n=$(($(cat "$TURNS/count" 2>/dev/null || echo 0) + 1)); echo $n > "$TURNS/count"; echo "$PWD"'
    ' >> "$TURNS/order"; {then}\n'
)
FAILING = 'case " $(cat "$TURNS/failing") " in *" $n "*) echo connection reset >&2; exit 1;; esac'


@pytest.fixture
def turns(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder in which the program counts its executions, and finds which of them have to fail."""
    folder = tmp_path / "turns"
    folder.mkdir()
    (folder / "failing").touch()
    monkeypatch.setenv("TURNS", str(folder))
    return folder


def seeds(profile: Profile) -> list[int]:
    assert profile.turns is not None
    return profile.turns.seed


def test_a_failed_execution_is_repeated_at_once_and_counted(
    project: Project, perf: Perf, turns: Path
) -> None:
    project.configure('cmd = "sh work.sh"\nexecutions = 3')
    project.commit("one", **{"work.sh": FLAKY.format(then=FAILING)})
    project.commit("two", other="x")
    (turns / "failing").write_text("2")
    said = perf("collect", "HEAD~1", "HEAD")
    order = (turns / "order").read_text().splitlines()
    assert len(order) == 2 * 3 + 1
    assert order[1] == order[2] != order[0], "the same version again, in the same block"
    (old,), (new,) = stored("HEAD~1"), stored("HEAD")
    assert sorted((old.design.failed, new.design.failed)) == [0, 1]
    assert old.resources.execution == new.resources.execution == [0, 1, 2]
    assert seeds(old) == seeds(new)
    assert "1 execution failed and had to be repeated" in said.flat


def test_before_the_last_repetition_the_block_begins_again_with_another_seed(
    project: Project, perf: Perf, turns: Path
) -> None:
    project.configure('cmd = "sh work.sh"\nexecutions = 3')
    work = FLAKY.replace('"$PWD"', '"$PWD/$PERFVCS_SEED/$PERFVCS_PADDING"').format(then=FAILING)
    project.commit("one", **{"work.sh": work})
    project.commit("two", other="x")
    (turns / "failing").write_text("2 3")
    said = perf("collect", "HEAD~1", "HEAD", "--seed", "4")
    ran = [line.split("/")[-3:] for line in (turns / "order").read_text().splitlines()]
    versions = [name for name, *_ in ran]
    assert len(ran) == 2 * 3 + 3
    assert versions[1] == versions[2] == versions[4] != versions[0] == versions[3], (
        "both versions, in the same order"
    )
    draws = [tuple(drawn) for _, *drawn in ran]
    assert draws[0] == draws[1] == draws[2] != draws[3] == draws[4], (
        "what failed shares its seed and padding with nothing that counts"
    )
    (old,), (new,) = stored("HEAD~1"), stored("HEAD")
    assert sorted((old.design.failed, new.design.failed)) == [0, 2]
    assert seeds(old) == seeds(new) == [int(ran[place][1]) for place in (3, 5, 7)]
    assert old.resources.execution == new.resources.execution == [0, 1, 2]
    assert said.err.count("connection reset") == 1
    assert "2 executions failed and had to be repeated" in said.flat
    assert "profiles" in perf("fsck").out


def test_what_fails_too_often_is_missing_and_the_other_version_is_stored(
    project: Project, perf: Perf, turns: Path
) -> None:
    project.configure('cmd = "sh work.sh"\nretries = 1\nexecutions = 3')
    project.commit("good", **{"work.sh": FLAKY.format(then="true")})
    bad = project.commit("bad", **{"work.sh": FLAKY.format(then="exit 9")})
    said = perf("collect", "--json", "HEAD~1", "HEAD", code=5)
    found = said.document
    assert [(row["executions"], row["failed"]) for row in found["stored"]] == [(3, 0)]
    (failure,) = found["failed"]
    assert (failure["job"], failure["version"]) == ("work", bad[:10])
    assert "status 9" in failure["reason"]
    assert failure["reason"].endswith("(failed 2 times in a row)")
    assert stored("HEAD") == []
    assert (turns / "order").read_text().count(bad[:12]) == 2, (
        "the version that was given up is not run again"
    )


def test_a_version_that_was_given_up_is_left_out_when_the_block_begins_again(
    project: Project, perf: Perf, turns: Path
) -> None:
    project.configure('cmd = "sh work.sh"\nexecutions = 3')
    for number in range(3):
        project.commit(
            f"{number}",
            **{
                "work.sh": FLAKY.format(
                    then=FAILING if number == 1 else "exit 9" if number else "true"
                )
            },
        )
    (turns / "failing").write_text(" ".join(map(str, range(2, 8))))
    said = perf("collect", "--json", "HEAD~2", "HEAD~1", "HEAD", "--seed", "6", code=5)
    found = said.document
    assert [failure["reason"].rpartition("(")[2] for failure in found["failed"]] == [
        "failed 3 times in a row)"
    ] * len(found["failed"])
    assert (
        1 <= len({failure["version"] for failure in found["failed"]}) == len(found["failed"]) <= 2
    ), "each is given up once"
    (old,) = stored("HEAD~2")
    assert old.turns is not None and len(old.turns.place) == 3


@pytest.mark.needs("cc")  # the recorder of memory
@pytest.mark.usefixtures("turns")
def test_notes_of_several_collectors_say_whose_they_are(project: Project, perf: Perf) -> None:
    project.configure('cmd = "sh work.sh"\ncollectors = ["time", "memory"]\nexecutions = 2')
    project.commit(
        **{
            "work.sh": FLAKY.format(
                then='if mkdir "$TURNS/odd" 2>/dev/null; then exit 1; fi; rmdir "$TURNS/odd"'
            )
        }
    )
    said = perf("collect")
    for name in ("work (time)", "work (memory)"):
        assert said.err.count(f"repeated: {name} on ") == 2
        assert f"note: {name} on " in said.out
    project.commit(**{"work.sh": "exit 1"})
    said = perf("collect", "--json", code=5)
    assert {line.split(" on ")[0] for line in said.err.splitlines()[:-1]} == {
        "failed: work (time)",
        "failed: work (memory)",
    }
    found = {(row["job"], row["collector"]) for row in said.document["failed"]}
    assert found == {("work", "time"), ("work", "memory")}


def test_what_is_given_up_is_not_waited_for(project: Project, perf: Perf, turns: Path) -> None:
    project.configure('cmd = "sh work.sh"\nretries = 0\nexecutions = 10')
    project.commit("good", **{"work.sh": FLAKY.format(then="true")})
    project.commit("bad", **{"work.sh": FLAKY.format(then="exit 9")})
    assert "100 %" in perf("collect", "HEAD~1", "HEAD", code=5).err
    assert len((turns / "order").read_text().splitlines()) == 11


def test_retries_can_be_switched_off_for_a_job(project: Project, perf: Perf, turns: Path) -> None:
    project.configure('cmd = "sh work.sh"\nretries = 0')
    project.commit(**{"work.sh": FLAKY.format(then=FAILING)})
    (turns / "failing").write_text("1")
    said = perf("collect", code=5)
    assert "connection reset" in said.err
    assert "in a row" not in said.err
    assert (turns / "count").read_text() == "1\n"


@pytest.mark.parametrize(
    ("job", "reason"),
    [
        ('cmd = "sh work.sh"\ntimeout = "3s"', "time-out"),
        ('cmd = "./missing"', "does not exist"),
        (
            'cmd = "sh work.sh"\ncollectors = [{ name = "complexity", functions = ["one"] }]',
            "complexity",
        ),
    ],
)
def test_what_would_fail_again_is_not_repeated(
    project: Project, perf: Perf, turns: Path, job: str, reason: str
) -> None:
    project.configure(job)
    project.commit(**{"work.sh": FLAKY.format(then="sleep 60")})
    said = perf("collect", code=5)
    assert reason in said.err
    assert "in a row" not in said.err
    assert not (turns / "count").exists() or (turns / "count").read_text() == "1\n"


@pytest.mark.parametrize(
    "collector", ["time", "counters", "memory", "pytest", "samples", "complexity"]
)
def test_every_collector_survives_a_failure(
    project: Project, perf: Perf, turns: Path, collector: str
) -> None:
    options = {
        "complexity": '{ name = "complexity", functions = ["test_work:work"] }',
        "samples": '{ name = "samples", rate = 200 }',
    }
    command = (
        f"{sys.executable}"
        f" {'-m pytest -q -p no:cacheprovider -p no:hypothesispytest' if collector == 'pytest' else 'test_work.py'}"
    )
    project.configure(
        f'cmd = "{command}"\nexecutions = 2\ncollectors ='
        f" [{options.get(collector, json.dumps(collector))}]"
    )
    program = (
        "import os, pathlib, sys, time\n"
        "def work(): return [number for number in range(200000)]\n"
        "def test_work(): work()\n"
        "place = pathlib.Path(os.environ['TURNS'], 'failed')\n"
        "if not place.exists():\n    place.touch()\n    os.kill(os.getpid(), 9)\n"
        # only sampling needs a while
        f"until = time.monotonic() + {0.3 if collector == 'samples' else 0.02}\n"
        "while time.monotonic() < until: work()\n"
    )
    project.commit(**{"test_work.py": program})
    said = perf("collect", "--json", code=None)
    if said.code and "SIGKILL" not in said.err:
        lack(said.err.strip().splitlines()[0])
    (row,) = said.document["stored"]
    assert (said.code, row["executions"], row["failed"]) == (0, 2, 1)
    assert (turns / "failed").exists()


def test_a_profile_without_failures_is_written_as_before() -> None:
    profile = Profile(
        commit="a" * 40,
        job=Job(name="sort", collector="time", cmd="./sort"),
        collected=Collected("session", "2026-11-20T09:30:00Z", "2026-11-20T09:30:02Z", "perfvcs"),
        metrics={"wall": Metric("s")},
        resources=Resources(names=["x"], uid=[0], execution=[0], metrics={"wall": [1.0]}),
    )
    assert "failed" not in json.loads(profile.encode())["design"]
    assert decode(profile.encode()) == profile
    counted = msgspec.structs.replace(profile, design=Design(executions=2, failed=3))
    assert decode(counted.encode()).design.failed == 3


def test_a_slip_of_the_pen_is_named(project: Project, perf: Perf) -> None:
    project.configure('cmd = "true"\nretries = -1')
    project.commit()
    assert "`retries` is -1, but must be 0 to 1,000" in perf("collect", code=2).err


@pytest.mark.needs("cc")  # the recorder of memory
@pytest.mark.usefixtures("turns")
def test_a_check_says_that_the_target_fails_more_often(project: Project, perf: Perf) -> None:
    project.configure('cmd = "sh work.sh"\nexecutions = 6')
    project.commit("good", **{"work.sh": FLAKY.format(then="true")})
    project.commit(
        "bad",
        **{
            "work.sh": FLAKY.format(
                then='if mkdir "$TURNS/odd" 2>/dev/null; then exit 1; fi; rmdir "$TURNS/odd"'
            )
        },
    )
    perf("collect", "HEAD~1", "HEAD")
    said = perf("check", "HEAD~1", "HEAD", code=None)
    assert (
        "note: work: 6 of 12 executions failed on the target and were repeated, 0 of 6 on the"
        " baseline" in said.flat
    )
    assert (
        perf("check", "--json", "HEAD~1", "HEAD", code=None)
        .document["failures"][0]
        .startswith("work: 6 of 12")
    )
    assert (
        "6 of 12 executions failed" in perf("check", "--markdown", "HEAD~1", "HEAD", code=None).out
    )
    assert "executions failed" not in perf("check", "HEAD", "HEAD~1", code=None).out

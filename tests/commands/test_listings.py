"""`perf log` and `perf status`."""

import pytest
from conftest import Perf, Project
from histories import store
from samples import interleaved, noisy, sample_profile

from perfvcs.profile import Collected, Job
from perfvcs.repository import Repository

TWO = """
[[job]]
name = "work"
cmd = "python3 work.py"
executions = 1
warmup = 0
collectors = ["memory", "time"]
"""


def test_the_log_shows_measured_commits_with_trends(project: Project, perf: Perf) -> None:
    one, two = (
        project.commit("the first"),
        project.commit("the second, — with ünïcode and a title that is much too long for a line"),
    )
    project.commit("not measured")
    store(*interleaved([one, two], [noisy(0.010), noisy(0.020)]))
    out = perf("log").out
    assert out.index(two[:10]) < out.index(one[:10])
    assert "not measured" not in out
    assert "▁█" in out
    assert "20 ms" in out
    assert "18 ms" in out, "CPU time stands beside wall time"
    assert all(len(line) <= 80 for line in out.splitlines())
    assert "not measured" in perf("log", "--all").out
    assert one[:10] not in perf("log", "-n1").out
    assert perf("log", f"{one}..HEAD").out.count("profile") == 1


def test_collectors_of_one_job_are_distinguished(project: Project, perf: Perf) -> None:
    project.write("work.py", "print(len(bytearray(5_000_000)))\n")
    project.write("perf.toml", TWO)
    project.commit("one")
    collected = perf("collect").out
    log = perf("log").out
    assert "work (time)" in collected
    assert "work (memory)  bytes" in collected
    assert log.index("work (time)    wall time") < log.index("work (memory)  bytes")
    rows = [
        line.split() for line in perf("status").out.splitlines() if line.startswith("  measured")
    ]
    units = {row[2]: row[5] for row in rows}
    assert units["memory"] == "MB" and units["time"] in ("ms", "s")  # of a machine under load
    assert [trend["collector"] for trend in perf("log", "--json").document["trends"]] == [
        "time",
        "time",
        "memory",
    ]


def test_the_log_of_nothing_says_what_to_do(project: Project, perf: Perf) -> None:
    project.commit()
    perf("init")
    assert "perf collect" in perf("log").out
    assert perf("log", "--json").document == {"commits": [], "trends": [], "known": True}


def test_the_log_as_json(project: Project, perf: Perf) -> None:
    commit = project.commit("title")
    store(sample_profile(noisy(0.01), commit=commit))
    found = perf("log", "--json").document
    assert found["commits"][0]["commit"] == commit
    assert found["commits"][0]["profiles"] == 1
    assert found["trends"][0]["metric"] == "wall"


def test_many_benchmarks_are_counted_not_listed(project: Project, perf: Perf) -> None:
    commit = project.commit("one")
    jobs = [
        Job(name=f"job{number:02}", collector="time", cmd=f"./{number}") for number in range(30)
    ]
    store(*(sample_profile(noisy(0.01), commit=commit, job=job) for job in jobs))
    assert "and 18 more" in perf("log").out
    assert "and 10 more: 30 are measured, 0 missing" in perf("status").out


def test_the_status_says_what_is_measured_and_what_is_missing(project: Project, perf: Perf) -> None:
    project.write(
        "perf.toml",
        '[[job]]\nname = "sort"\ncmd = "./sort"\n[[job]]\nname = "parse"\ncmd = "./parse"\n',
    )
    head = project.commit("the title")
    repository = store(sample_profile(noisy(0.01), commit=head))
    out = perf("status").out
    assert f"HEAD is {head[:10]} the title\n" in out
    assert "measured  sort" in out
    assert "n=10 " in out
    assert "missing   parse" in out
    assert "no verdict yet" in out
    assert "the store holds 1 profile" in out
    project.write("new", "x")
    assert "(with uncommitted changes)" in perf("status").out
    found = perf("status", "--json").document
    assert [(job["job"], job["executions"]) for job in found["jobs"]] == [
        ("sort", 10),
        ("parse", 0),
    ]
    repository.index.close()


def test_the_value_of_a_commit_is_that_of_all_its_sessions(project: Project, perf: Perf) -> None:
    head = project.commit("measured twice")
    later = Collected(
        "20261121T093000-5a1b22", "2026-11-21T09:30:00Z", "2026-11-21T09:30:02Z", "perfvcs 0.1.0"
    )
    store(
        sample_profile([0.01] * 10, commit=head),
        sample_profile([0.02] * 4, commit=head, collected=later),
    )
    (row,) = (line for line in perf("status").out.splitlines() if line.startswith("  measured"))
    assert "n=14 " in row
    assert "14.14 ms" in row
    assert "14.14 ms" in perf("log").out
    (trend,) = perf("log", "--json").document["trends"]
    assert trend["executions"] == 14


def shown(perf: Perf, text: str) -> tuple[int, float, str]:
    """What `perf log` and `perf status` show of HEAD, which is the same: executions, wall time in
    ms, and the line below the commit's that starts with a text.
    """
    (wall,) = (
        trend for trend in perf("log", "--json").document["trends"] if trend["metric"] == "wall"
    )
    status = perf("status")
    (row,) = (line.split() for line in status.out.splitlines() if line.startswith("  measured  "))
    jobs = perf("status", "--json").document["jobs"]
    (job,) = (job for job in jobs if job["executions"])
    value = wall["values"][-1] * 1000
    assert row[3] == f"n={wall['executions']}" and float(row[4]) == pytest.approx(value, abs=0.1)
    assert job["executions"] == wall["executions"]
    assert text in status.out
    _, *rest = perf("log").out.splitlines()
    return wall["executions"], round(value), rest[0].strip()


def test_the_log_and_the_status_mean_the_same_by_a_head_with_changes(
    project: Project, perf: Perf
) -> None:
    project.configure()
    head = project.commit("one", **{"work.sh": ":"})
    store(sample_profile([0.01] * 3, commit=head))
    assert shown(perf, "measured") == (3, 10, "")
    project.write("work.sh", ": :")
    changes = Repository.find().working_tree.hash()
    assert changes
    assert shown(perf, "measured without these changes; `perf collect` measures them")[:2] == (
        3,
        10,
    )
    store(sample_profile([0.02] * 4, commit=head, dirty=changes))
    assert shown(perf, "measured with these changes") == (
        4,
        20,
        "with uncommitted changes on top; 1 other profile",
    )
    project.write("work.sh", ": : :")
    assert shown(perf, "measured without these changes") == (
        3,
        10,
        "and 1 profile with uncommitted changes on top",
    )
    (project.root / "perf.toml").rename(project.root / "elsewhere.toml")
    assert "`perf collect -- CMD` measures them" in perf("status").out
    (project.root / "elsewhere.toml").rename(project.root / "perf.toml")
    project.write("work.sh", ": :")
    project.commit("two")
    executions, value, _ = shown(perf, "measured before it was committed")
    assert (executions, value) == (4, 20)
    assert perf("log", "-n1").out.split()[-1] != "-"


def test_a_verdict_on_uncommitted_changes_is_the_status_of_these_and_no_line_of_the_log(
    project: Project, perf: Perf
) -> None:
    project.configure()
    one = project.commit("one", **{"work.sh": ":"})
    two = project.commit("two", **{"work.sh": ": :"})
    perf("collect", "--quiet", one, two)
    perf("check", one, two)
    settled = perf("log").out
    assert f"against {one[:10]}" in settled
    project.write("work.sh", ": : :")
    perf("check", "--measure", "--quiet", "-n", "2", code=None)
    perf("check", two, two, code=None)
    assert [line for line in perf("log").out.splitlines() if "against" in line] == [
        line for line in settled.splitlines() if "against" in line
    ]
    assert f"against {two[:10]} (perf check)" in perf("status").out
    project.write("work.sh", ": :")
    assert f"against {one[:10]} (perf check)" in perf("status").out
    project.write("work.sh", ": : :")
    three = project.commit("three")
    perf("check", code=None)
    newest = perf("log", "--all", "-n1").out
    assert newest.startswith(three[:10]) and f"against {two[:10]}\n" in newest


def test_the_status_names_a_broken_configuration_and_still_answers(
    project: Project, perf: Perf
) -> None:
    project.write("perf.toml", "jbo = 1")
    project.commit()
    perf("init")
    out = perf("status").out
    assert "did you mean `job`" in out
    assert "0 profiles" in out


def test_before_anything_was_measured_the_cure_is_named(project: Project, perf: Perf) -> None:
    project.commit()
    for command in ("log", "status", "check", "show", "fsck", "gc"):
        said = perf(command, code=10)
        assert "perf init" in said.err
        assert said.err.count("\n") == 1
    assert "perf init" in perf("rm", "HEAD", code=10).err
    assert not (project.root / ".perf").exists()


def test_a_repository_without_commits_says_so(project: Project, perf: Perf) -> None:
    project.configure()
    assert perf("init").code == 0
    for command in ("collect", "check", "status", "show", "log"):
        assert "no commits yet" in perf(command, code=10).err

"""``perf accept``: a known degradation stops failing, a worse one does not."""

from __future__ import annotations

import tomllib
from datetime import date, timedelta

import pytest
from conftest import Perf, Project
from samples import interleaved, noisy, sample_profile

from perfvcs.profile import Design, Job, Metric, Resources
from perfvcs.repository import Repository

FILE = "perf-accepted.toml"


def measured(project: Project, *centres: float) -> list[str]:
    """One commit per centre, all measured in one interleaved session."""

    def make() -> list[str]:
        commits = [project.commit(f"version {number}") for number in range(len(centres))]
        store(
            *interleaved(
                commits, [noisy(centre, seed=number) for number, centre in enumerate(centres)]
            )
        )
        return commits

    return project.begin(f"measured {centres}", make)


def store(*profiles: object) -> None:
    Repository.find(create=True).store.add(profiles, "test")  # type: ignore[arg-type]


def ids(perf: Perf, *revisions: str) -> dict[str, str]:
    """Metric -> the id of its open degradation."""
    changes = perf("check", "--json", *revisions, code=3).document["changes"]
    return {change["metric"]: change["id"] for change in changes if "id" in change}


def accept_all(perf: Perf, *revisions: str, reason: str = "the parser checks its input") -> None:
    perf("accept", *ids(perf, *revisions).values(), "--reason", reason)


def test_an_accepted_degradation_does_not_fail_and_is_listed_apart(
    project: Project, perf: Perf
) -> None:
    one, two = measured(project, 0.010, 0.011)
    known = ids(perf)
    printed = perf("check", code=3).out
    assert f"accept: {known['wall']} (wall time), {known['cpu']} (CPU time)" in printed
    assert "perf accept ID --reason TEXT" in printed
    perf("accept", known["wall"], "--reason", "the parser checks its input")
    assert "1 degradation, 1 accepted" in perf("check", code=3).out
    said = perf("accept", "sort:cpu", "--reason", "so it does")
    assert said.out.startswith(
        f"accepted {known['cpu']}  sort: CPU time +10.0 %, {one[:10]} -> {two[:10]}\n"
    )
    lines = perf("check").out.splitlines()
    assert (
        lines[0]
        == f"{one[:10]} -> {two[:10]}: nothing changed beyond what is accepted: 2 comparisons"
    )
    assert "Accepted: sort (the parser checks its input)" in lines
    assert lines[-2:] == ["2 accepted", "2 of 2 comparisons settled"]
    rows = perf("check", "-v").out.splitlines()
    place = next(
        place
        for place, row in enumerate(rows)
        if row.startswith("  accepted       wall time       +10.0 % [")
    )
    assert rows[place + 1] == "                 the parser checks its input"
    assert "Accepted:" in perf("check", "--markdown").out
    found = perf("check", "--json").document
    assert found["counts"] == {"accepted": 2}
    assert [change["accepted"] for change in found["changes"]].count("so it does") == 1
    assert f"2 accepted against {one[:10]}" in perf("log").out


def test_the_file_is_for_people(project: Project, perf: Perf) -> None:
    one, two = measured(project, 0.010, 0.011)
    accept_all(perf)
    text = (project.root / FILE).read_text()
    assert text.startswith("# Degradations that this project has accepted")
    (table,) = (found for found in tomllib.loads(text).values() if found["metric"] == "wall")
    assert (table["benchmark"], table["metric"], table["baseline"], table["target"]) == (
        "sort",
        "wall",
        one,
        two,
    )
    assert table["effect"] == pytest.approx(0.1, abs=0.01)
    assert table["who"] == "Ada"
    assert text.count(".benchmark = ") == 2


def test_the_accepted_level_holds_against_older_baselines_only(
    project: Project, perf: Perf
) -> None:
    measured(project, 0.010, 0.010, 0.011, 0.011, 0.0121)
    accept_all(perf, "HEAD~3", "HEAD~2")
    assert "accepted" in perf("check", "HEAD~3", "HEAD~1").out
    assert "accepted" in perf("check", "HEAD~4", "HEAD~1").out
    assert "same" in perf("check", "HEAD~2", "HEAD~1").out
    beyond = perf("check", "HEAD~3", "HEAD", code=3).out
    assert "more than the accepted +" in beyond
    perf("check", "HEAD~1", "HEAD", code=3)
    accept_all(perf, "HEAD~1", "HEAD", reason="and its output")
    steps = perf("check", "--json", "HEAD~4", "HEAD").document["changes"]
    assert {change["accepted"] for change in steps} == {
        "the parser checks its input; and its output"
    }


def test_a_target_without_the_accepted_commit_is_not_excused(project: Project, perf: Perf) -> None:
    one, two, old = (project.commit(name) for name in ("one", "two", "three"))
    project.git("checkout", "--quiet", "-b", "other", one)
    other = project.commit("another way")
    store(
        *interleaved(
            [one, two, old, other],
            [noisy(centre, seed=seed) for seed, centre in enumerate((0.01, 0.011, 0.011, 0.011))],
        )
    )
    accept_all(perf, one, two)
    perf("check", one, old)
    perf("check", one, other, code=3)


def test_a_baseline_within_the_accepted_step_is_judged_by_itself(
    project: Project, perf: Perf
) -> None:
    measured(project, 0.010, 0.010, 0.011)
    accept_all(perf, "HEAD~2", "HEAD")
    perf("check", "HEAD~2", "HEAD")
    perf("check", "HEAD~1", "HEAD", code=3)


def test_an_acceptance_ends_on_its_day_and_the_report_says_so(project: Project, perf: Perf) -> None:
    measured(project, 0.010, 0.011)
    tomorrow = date.today() + timedelta(days=1)
    perf(
        "accept", *ids(perf).values(), "--reason", "until the fix", "--until", tomorrow.isoformat()
    )
    perf("check")
    assert f"until {tomorrow}" in perf("accept", "--list").out
    path = project.root / FILE
    path.write_text(path.read_text().replace(tomorrow.isoformat(), "2026-01-31"))
    assert "its acceptance ended on 2026-01-31: until the fix" in perf("check", code=3).out
    assert "ended on 2026-01-31" in perf("accept", "--list").out
    assert perf("accept", "--list", "--json").document[0]["ended"] is True


def test_an_accepted_time_takes_the_count_beside_it_along(project: Project, perf: Perf) -> None:
    commits = measured(project, 0.010, 0.011)
    store(
        *(
            sample_profile(
                commit=commit,
                job=Job(name="sort", collector="bytecode", cmd="./sort"),
                design=Design(executions=1),
                metrics={"bytecodes": Metric("", "lower", "deterministic")},
                resources=Resources(
                    names=["sort"], uid=[0], execution=[0], metrics={"bytecodes": [count]}
                ),
            )
            for commit, count in zip(commits, (1e6, 1.1e6), strict=True)
        )
    )
    known = ids(perf)
    said = perf("accept", "sort:cpu", "--reason", "x").out
    assert f"accepted {known['cpu']} " in said and f"accepted {known['bytecodes']} " in said
    assert "1 degradation, 2 accepted" in perf("check", code=3).out
    said = perf("accept", known["wall"], "--reason", "x").out
    assert said.count("accepted ") == 1, "the count is accepted already"
    perf("check")


def test_an_acceptance_can_be_taken_back(project: Project, perf: Perf) -> None:
    measured(project, 0.010, 0.011)
    known = ids(perf)
    accept_all(perf)
    path = project.root / FILE
    path.write_text(path.read_text() + "\n# a note of ours\n")
    said = perf("accept", "--remove", known["wall"])
    assert said.out.startswith(f"no longer accepted: {known['wall']}  sort: wall time")
    assert [table["metric"] for table in tomllib.loads(path.read_text()).values()] == ["cpu"]
    assert path.read_text().startswith("# Degradations")
    assert path.read_text().endswith("# a note of ours\n")
    perf("check", code=3)
    assert perf("accept", "--remove", known["wall"], code=2).err.count("\n") == 1
    perf("accept", "--remove", known["cpu"])
    assert perf("accept", "--list").out == "nothing is accepted\n"
    assert "has none" in perf("accept", "--remove", known["cpu"], code=2).err


def test_the_listing_fits_a_terminal(project: Project, perf: Perf) -> None:
    measured(project, 0.010, 0.011)
    accept_all(perf, reason="a reason of many words " * 20)
    listed = perf("accept", "--list").out
    assert "Ada, 20" in listed
    assert max(map(len, listed.splitlines())) <= 80


def test_an_id_of_an_earlier_report_and_its_beginning_will_do(project: Project, perf: Perf) -> None:
    measured(project, 0.010, 0.011, 0.011)
    known = ids(perf, "HEAD~2", "HEAD~1")
    perf("check", "HEAD~1", "HEAD")
    perf("accept", known["wall"][:5], "--reason", "x")
    assert known["wall"] in (project.root / FILE).read_text()


@pytest.mark.parametrize(
    ("arguments", "cure"),
    [
        ((), "use one of --list, --remove, --renew and --ratchet"),
        (("sort", "--list"), "use one of"),
        (("sort",), "say why with --reason"),
        (("--list", "--reason", "x"), "name it"),
        (("sort", "--reason", "x"), "2 degradations, name them by their ids: "),
        (("sotr:wall", "--reason", "x"), "did you mean `sort:wall`?"),
        (("00000", "--reason", "x"), "no degradation is called"),
        (("parse", "--reason", "x"), "is `same`: only degradations need to be accepted"),
        (("sort:wall", "--reason", " "), "--reason TEXT"),
        (("sort:wall", "--reason", "x", "--until", "2020-01-01"), "is not in the future"),
        (("sort:wall", "--reason", "x", "--until", "soon"), "--until"),
        (("sort:wall", "--reason", "\udcff"), "not UTF-8"),
    ],
)
def test_what_cannot_be_accepted_names_the_cure(
    project: Project, perf: Perf, arguments: tuple[str, ...], cure: str
) -> None:
    commits = measured(project, 0.010, 0.011)
    job = Job(name="parse", collector="time", cmd="./parse")
    store(
        *(
            each
            for each in interleaved(
                commits,
                [noisy(0.01, seed=seed, spread=1e-4) for seed in (1, 2)],
                session="20261120T100000-000000",
                job=job,
            )
        )
    )
    perf("check", code=3)
    said = perf("accept", *arguments, code=2)
    assert cure in said.err
    assert said.err.count("\n") == 1
    assert not (project.root / FILE).exists()


def test_without_a_report_there_is_nothing_to_accept(project: Project, perf: Perf) -> None:
    measured(project, 0.010, 0.010)
    assert "run `perf check` first" in perf("accept", "sort", "--reason", "x", code=4).err
    perf("check", code=None)
    assert "has no degradation" in perf("accept", "sotr", "--reason", "x", code=2).err


def test_what_is_accepted_is_not_accepted_twice(project: Project, perf: Perf) -> None:
    measured(project, 0.010, 0.011)
    known = ids(perf)
    accept_all(perf)
    assert "is accepted already" in perf("accept", known["wall"], "--reason", "x", code=2).err
    perf("check")
    assert "perf accept --list" in perf("accept", known["wall"], "--reason", "x", code=2).err


def test_uncommitted_changes_cannot_be_accepted(project: Project, perf: Perf) -> None:
    commit = project.commit(file="1")
    project.write("file", "2")
    dirty = Repository.find(create=True).changes.hash()
    walls = [noisy(0.01), noisy(0.011, seed=2)]
    profiles = interleaved([commit, commit], walls, session="20261120T100000-000000")
    store(
        profiles[0],
        interleaved([commit, commit], walls, session="20261120T100000-000000", dirty=dirty)[1],
    )
    assert "perf accept" not in perf("check", code=3).out
    assert "commit them" in perf("accept", "sort:wall", "--reason", "x", code=2).err


def test_a_bare_repository_has_no_file(project: Project, perf: Perf) -> None:
    measured(project, 0.010, 0.011)
    bare = project.root.parent / "bare.git"
    project.git("clone", "--quiet", "--bare", ".", str(bare))
    (project.root / ".perf").rename(bare / ".perf")
    perf("-C", str(bare), "init", "--adopt")
    assert "2 degradations" in perf("-C", str(bare), "check", code=3).out
    assert "accept it in a clone" in perf("-C", str(bare), "accept", "--list", code=2).err


@pytest.mark.parametrize(
    ("text", "cure"),
    [
        ("3f9c2a1.reson = 1", "3f9c2a1: there is no key `reson`; did you mean `reason`?"),
        ("3f9c2a1.id = 1", "3f9c2a1: there is no key `id`"),
        ("<<<<<<< HEAD\n=======\n>>>>>>> other", "has the marks of a merge conflict (line 1)"),
        ("a =", "is not TOML"),
        (
            '3f9c2a1.reason = "x"\n3f9c2a1.reason = "y"',
            "two branches wrote the same id, keep one of the entries",
        ),
        ("accepted = 3", "accepted is not an acceptance: every line begins with the id of one"),
        ("[3f9c2a1]\nbenchmark = 3", "3f9c2a1: benchmark: expected a string, got a whole number"),
        ('3f9c2a1.uid = "3"', "3f9c2a1: `benchmark` is missing"),
        ("a = " + "[" * 5000, "nested too deeply"),
    ],
)
def test_a_damaged_file_is_one_line_with_the_place(
    project: Project, perf: Perf, text: str, cure: str
) -> None:
    measured(project, 0.010, 0.011)
    project.write(FILE, text)
    for arguments in (("check",), ("accept", "--list"), ("accept", "--remove", "x")):
        said = perf(*arguments, code=2)
        assert said.err.startswith("perf: perf-accepted.toml")
        assert cure in said.err
        assert said.err.count("\n") == 1


def test_an_acceptance_of_another_clone_is_no_trouble(project: Project, perf: Perf) -> None:
    _, two = measured(project, 0.010, 0.011)
    accept_all(perf)
    path = project.root / FILE
    path.write_text(path.read_text().replace(two, "0" * 40))
    perf("check", code=3)


def squashed(project: Project, perf: Perf, *, after: float = 0.011) -> str:
    """A degradation that was accepted on a branch, whose changes came to main as one commit; the
    branch is gone. The squashed commit, measured with its parent.
    """
    base = project.commit("base")
    project.git("checkout", "--quiet", "-b", "feature")
    tip = project.commit("checks its input", work="1")

    def sides(commits: list[str], centre: float, seed: int) -> None:
        values = [noisy(0.010, seed=seed), noisy(centre, seed=seed + 1)]
        store(*interleaved(commits, values, session=f"20261120T0930{seed:02}-{seed:06}"))

    sides([base, tip], 0.011, 1)
    accept_all(perf, "main", "feature")
    file = (project.root / FILE).read_text()
    project.git("checkout", "--quiet", "main")
    project.commit("checks its input (#7)", work="1", **{FILE: file})
    project.git("branch", "--quiet", "-D", "feature")
    merged = project.git("rev-parse", "HEAD")
    sides([base, merged], after, 3)
    return merged


def test_what_a_squash_left_behind_is_offered_for_renewal_and_renewed(
    project: Project, perf: Perf
) -> None:
    merged = squashed(project, perf)
    old = {
        entry: row["target"]
        for entry, row in tomllib.loads((project.root / FILE).read_text()).items()
    }
    out = perf("check", code=3).flat
    assert "for a commit that is not in this history (the parser checks its input)" in out
    following = "2 degradations were accepted before a squash or a rebase: perf accept --renew"
    assert f"Next: {following}" in out and "perf accept ID" not in out
    assert following in perf("check", "--quiet", code=3).out
    before = tomllib.loads((project.root / FILE).read_text())
    said = perf("accept", "--renew", "sort:wall").out
    assert said.count("accepted ") == 1 and "was accepted before" not in said
    said += perf("accept", "--renew").out
    assert said.count("accepted ") == 2 and "commit perf-accepted.toml" in said
    new = tomllib.loads((project.root / FILE).read_text())
    levels = [sorted(row["effect"] for row in rows.values()) for rows in (before, new)]
    assert levels[0] == levels[1], "what was accepted stays the level"
    assert len(new) == 2 and not old.keys() & new.keys()
    assert {row["target"] for row in new.values()} == {merged}
    assert {row["reason"] for row in new.values()} == {"the parser checks its input"}
    checked = perf("check").out
    assert "of other changes" not in checked and "2 accepted" in checked
    assert "no acceptance needs to be renewed" in perf("accept", "--renew", code=2).err


def test_a_larger_degradation_than_the_one_left_behind_is_not_offered(
    project: Project, perf: Perf
) -> None:
    squashed(project, perf, after=0.013)
    assert "--renew" not in perf("check", code=3).out
    assert "no acceptance needs to be renewed" in perf("accept", "--renew", code=2).err


def test_nothing_is_renewed_without_a_report_or_beside_another_wish(
    project: Project, perf: Perf
) -> None:
    project.commit()
    perf("init")
    assert "no acceptance needs to be renewed" in perf("accept", "--renew", code=2).err
    assert (
        "--list, --remove, --renew and --ratchet" in perf("accept", "--renew", "--list", code=2).err
    )


def test_a_metric_without_a_ratio_is_accepted_by_its_shift(project: Project, perf: Perf) -> None:
    from perfvcs.profile import Metric

    commits = [project.commit(name) for name in ("one", "two", "three")]
    calls = {"wall": Metric("", kind="deterministic")}
    for commit, count in zip(commits, (0.0, 5.0, 6.0), strict=True):
        store(sample_profile([count] * 5, commit=commit, metrics=calls))
    perf("check", commits[0], commits[1], code=3)
    assert "by 5" in perf("accept", "sort", "--reason", "it calls now").out
    perf("check", commits[0], commits[1])
    assert "more than the accepted" in perf("check", commits[0], commits[2], code=3).out


def test_both_branches_keep_what_they_accepted_when_merged_by_lines(
    project: Project, perf: Perf
) -> None:
    commits = measured(project, 0.010, 0.011, 0.0121)
    base = project.commit("attributes", **{".gitattributes": f"{FILE} merge=union\n"})
    for branch, pair in (("left", commits[:2]), ("right", commits[1:])):
        project.git("checkout", "--quiet", "-b", branch, base)
        accept_all(perf, *pair, reason="the same reason")
        project.commit("accept")
    project.git("merge", "--quiet", "--message", "both", "left")
    assert len(perf("accept", "--list", "--json").document) == 4
    for pair in (commits[:2], commits[1:], [commits[0], commits[2]]):
        assert "2 accepted" in perf("check", *pair).out


def test_a_conflict_is_mended_by_keeping_all_lines(project: Project, perf: Perf) -> None:
    commits = measured(project, 0.010, 0.011, 0.0121)
    base = project.commit("base")
    for branch, pair in (("left", commits[:2]), ("right", commits[1:])):
        project.git("checkout", "--quiet", "-b", branch, base)
        accept_all(perf, *pair, reason="the same reason")
        project.commit("accept")
    project.git("merge", "left", check=False)
    assert "merge conflict" in perf("check", code=2).err
    path = project.root / FILE
    marks = ("<<<<<<<", "=======", ">>>>>>>")
    path.write_text(
        "".join(
            line
            for line in path.read_text().splitlines(keepends=True)
            if not line.startswith(marks)
        )
    )
    found = perf("accept", "--list", "--json").document
    assert len(found) == 4
    perf("accept", *(word for one in found[:3] for word in ("--remove", one["id"])))
    assert [one["id"] for one in perf("accept", "--list", "--json").document] == [found[3]["id"]]


def test_what_ended_or_grew_is_accepted_anew_in_the_same_place(
    project: Project, perf: Perf
) -> None:
    commits = measured(project, 0.010, 0.011)
    known = ids(perf)
    accept_all(perf)
    path = project.root / FILE
    path.write_text(path.read_text() + f"{known['wall']}.until = 2026-01-31\n")
    perf("check", code=3)
    perf("accept", known["wall"], "--reason", "for good")
    assert "until" not in path.read_text()
    assert path.read_text().count(f"{known['wall']}.reason = ") == 1
    perf("check")
    walls = [noisy(0.010, seed=7), noisy(0.013, seed=8)]
    store(*interleaved(commits, walls, session="20261120T100000-000000"))
    assert "more than the accepted" in perf("check", code=3).out
    perf("accept", *known.values(), "--reason", "more")
    perf("check")
    assert {one["reason"] for one in perf("accept", "--list", "--json").document} == {"more"}


def test_the_page_marks_what_is_accepted(project: Project, perf: Perf) -> None:
    one, two = measured(project, 0.010, 0.011)
    perf("check", code=3)
    perf("accept", "sort:wall", "--reason", "it </script> checks")
    perf("show", one, two, "-o", "page.html")
    page = (project.root / "page.html").read_text()
    assert "<caption>1 ▲ degradation, 1 ✓ accepted</caption>" in page
    assert 'class="accepted" title="it &lt;/script&gt; checks"' in page


def test_a_commit_of_another_side_is_asked_of_git(project: Project) -> None:
    from perfvcs.git.ancestry import Ancestry
    from perfvcs.git.project import Project as Vcs

    one, two = project.commit("one"), project.commit("two")
    project.git("checkout", "--quiet", "-b", "side", one)
    side = project.commit("side")
    project.git("checkout", "--quiet", "main")
    project.git("merge", "--quiet", "--no-ff", "--message", "both", "side")
    merge, last = project.git("rev-parse", "HEAD"), project.commit("last")
    way = Ancestry(Vcs.find(project.root), two, last)
    assert [way.gained(commit) for commit in (one, two, side, merge, last, "0" * 40)] == [
        False,
        False,
        True,
        True,
        True,
        False,
    ]
    assert all(
        way.contains(*pair)
        for pair in (
            (last, last),
            (last, side),
            (merge, side),
            (two, one),
            (side, one),
            (last, two),
        )
    )
    assert not any(
        way.contains(*pair)
        for pair in ((two, side), (side, two), (side, merge), (one, two), (two, "0" * 40))
    )


def test_the_file_may_be_a_link_but_not_a_pipe(project: Project, perf: Perf) -> None:
    import os

    measured(project, 0.010, 0.011)
    perf("check", code=3)
    path = project.root / FILE
    path.symlink_to("nowhere/file")
    assert (
        "a link into a folder that does not exist"
        in perf("accept", "sort:wall", "--reason", "x", code=2).err
    )
    (project.root / "nowhere").mkdir()
    perf("accept", "sort:wall", "--reason", "x")
    assert path.is_symlink()
    path.unlink()
    os.mkfifo(path)
    assert "not a plain file" in perf("check", code=2).err

"""A report on one screen."""

from __future__ import annotations

from typing import Any

from cases import each
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec import structs
from test_check_text import change, report

from perfvcs.check import Report
from perfvcs.check.answer import sentence
from perfvcs.check.brief import brief
from perfvcs.check.change import Difference, JudgedBy, Overall
from perfvcs.check.markdown import markdown
from perfvcs.check.movement import entries
from perfvcs.check.screen import SCREEN_LINES, _closing, screen
from perfvcs.check.vocabulary import VERDICT_WORDS


def job(units: int, word: str | None = "degradation", **fields: Any) -> Overall:
    known: dict[str, Any] = (
        {"effect": 0.031, "low": 0.026, "high": 0.036, "baseline": 84.1, "target": 86.7}
        if word
        else {}
    )
    shared = {
        "job": "sort",
        "collector": "time",
        "metric": "wall",
        "unit": "s",
        "better": "lower",
        "series": ["5e1"],
    }
    return Overall(**(shared | known | {"word": word, "units": units, "combined": units} | fields))


def with_jobs(given: Report, *jobs: Overall) -> Report:
    return Report(
        baseline=given.baseline,
        target=given.target,
        method="auto",
        changes=given.changes,
        overall=list(jobs),
    )


def test_the_answer_comes_first() -> None:
    moved = report(change(), change("same", metric="cpu", effect=0.011, low=-0.013, high=0.015))
    assert screen(moved, following=["Next: perf show"]).splitlines() == [
        "1f0e2a3b4c -> 8c7f6a1d0e: sort became slower: wall time +7.3 % [+5.1, +9.6]",
        "",
        "  degradation    sort  wall time +7.3 % [+5.1, +9.6], 13.10 -> 14.06 ms",
        "                   CPU time +1.1 % [-1.3, +1.5] did not follow: it waits longer",
        "                   accept: e2e78ab",
        "",
        "Nothing else moved by more than 1.5 % (1 comparison).",
        "Next: perf show",
        "1 degradation, 1 same",
        "2 of 2 comparisons settled",
    ]


def test_a_wall_time_that_fell_alone_is_said_to_wait_less() -> None:
    """A busy machine does that: whether CPU time is settled does not matter."""
    wall = change("improvement", effect=-0.41, low=-0.615, high=-0.1)
    cpu = change("inconclusive", metric="cpu", effect=-0.017, low=-0.073, high=0.043)
    lines = screen(report(wall, cpu)).splitlines()
    assert "CPU time -1.7 % [-7.3, +4.3] did not follow: it waits less" in lines[3]


def test_a_suite_of_many_units_has_one_effect_and_the_changes_that_matter_most() -> None:
    units = [
        change(uid=f"test {number}", baseline=0.1 / (1 + number), target=0.11)
        for number in range(300)
    ]
    rest = [
        change("same", uid=f"quiet {number}", effect=0.0, low=-0.02, high=0.02, bound=0.02)
        for number in range(640)
    ]
    lines = screen(with_jobs(report(*units, *rest), job(940))).splitlines()
    assert len(lines) <= SCREEN_LINES
    assert lines[0].endswith("sort became slower: wall time +3.1 % [+2.6, +3.6]")
    assert lines[2:4] == [
        "  degradation    sort (940 units: 300 slower, 0 faster)",
        "                 wall time +3.1 % [+2.6, +3.6], 84.10 -> 86.70 s",
    ]
    listed = [line for line in lines if line.startswith("  degradation    sort: ")]
    assert [line.split()[3] for line in listed] == ["0", "1", "2", "3", "4"]
    assert any("and 295 more benchmarks that moved: perf check -v" in line for line in lines)
    assert "Nothing else moved by more than 2 % (640 comparisons)." in lines


def test_where_one_job_has_no_room_no_other_is_spoken_of() -> None:
    """The sentence says what it amounts to."""
    moved = report(change(uid="test 1"), change("same", uid="test 2", effect=0.0))
    following = [f"Next: perf show {'A' * 10}"] * 14
    said = screen(with_jobs(moved, job(2)), following=following)
    assert "sort: test 1" in said and "other job" not in said
    assert "sort (2 units" in screen(with_jobs(moved, job(2)))


def test_importance_is_effect_times_time_spent() -> None:
    small = change(uid="short", effect=2.0, low=1.9, high=2.1, baseline=1e-6, target=3e-6)
    large = change(uid="long", effect=0.02, low=0.018, high=0.022, baseline=60.0, target=61.2)
    memory = change(
        uid="long",
        metric="maxrss",
        unit="B",
        effect=0.5,
        low=0.4,
        high=0.6,
        baseline=1e6,
        target=1.5e6,
    )
    assert [entry.first.uid for entry in entries(report(small, large))] == ["long", "short"]
    first, _ = entries(report(small, large, memory))
    assert [one.metric for one in first.changes] == ["maxrss", "wall"]


def test_an_effect_that_chance_may_have_made_large_does_not_lead() -> None:
    """The near end of its interval counts."""
    vague = change(uid="vague", effect=0.67, low=0.2, high=1.32, baseline=5.0, target=8.35)
    sharp = change(uid="sharp", effect=2.5, low=2.49, high=2.51, baseline=1.0, target=3.5)
    assert [entry.first.uid for entry in entries(report(vague, sharp))] == ["sharp", "vague"]


def test_what_fails_the_check_comes_before_what_is_larger() -> None:
    better = change(
        "improvement", uid="a", effect=-0.9, low=-0.91, high=-0.89, baseline=10.0, target=1.0
    )
    assert [entry.first.word for entry in entries(report(better, change(uid="b")))] == [
        "degradation",
        "improvement",
    ]


@each(
    "changes said",
    [
        (
            [change("improvement", effect=-0.1, low=-0.12, high=-0.08)],
            "sort became faster: wall time -10.0 % [-12.0, -8.0]",
        ),
        ([change(metric="peak", unit="B")], "sort became larger: peak +7.3 % [+5.1, +9.6]"),
        (
            [change(metric="rate", unit="1/s", better="higher")],
            "sort became worse: rate +7.3 % [+5.1, +9.6]",
        ),
        (
            [change(), change(job="parse")],
            "sort became slower: wall time +7.3 % [+5.1, +9.6]; 1 other benchmark moved, too",
        ),
        (
            [
                change(),
                change(metric="peak", unit="B", effect=0.02),
                change("improvement", job="parse", effect=-0.01),
            ],
            (
                "sort became slower: wall time +7.3 % [+5.1, +9.6]; 1 other benchmark moved, too (1"
                " better)"
            ),
        ),
        ([change("same", bound=0.008)], "nothing changed: the one comparison is the same"),
        (
            [change("suspected", reason="apart")],
            "sort may have become slower: wall time +7.3 % [+5.1, +9.6]; apart",
        ),
        (
            [change("inconclusive"), change("same", metric="cpu")],
            (
                "no change is shown, and 1 of 2 comparisons is undecided; sort: wall time +7.3 % [+5.1,"
                " +9.6]"
            ),
        ),
        (
            [change("not comparable", reason="kernel 6.1 -> 6.5")],
            "nothing is comparable: kernel 6.1 -> 6.5",
        ),
        ([change("new"), change("missing", job="gone")], "nothing to compare: 1 new, 1 missing"),
        (
            [change(accepted="wanted"), change("inconclusive", metric="cpu")],
            (
                "no change is shown beyond what is accepted, and 1 of 2 comparisons is undecided; sort:"
                " CPU time +7.3 % [+5.1, +9.6]"
            ),
        ),
        ([change(accepted="wanted")], "nothing changed beyond what is accepted: 1 comparison"),
        ([], "nothing to compare"),
    ],
)
def test_each_situation_has_its_sentence(changes: list[Any], said: str) -> None:
    assert sentence(report(*changes)) == said


def test_a_job_that_did_not_change_as_a_whole_is_said_beside_its_unit_that_did() -> None:
    given = with_jobs(
        report(change(uid="test 1"), change("same", uid="test 2")), job(2, "inconclusive")
    )
    assert sentence(given).endswith(
        "; sort in all: wall time +3.1 % [+2.6, +3.6], no more than chance"
    )
    other = with_jobs(
        report(change(uid="test 1"), change("same", uid="test 2")),
        job(2, "improvement", effect=-0.03),
    )
    assert sentence(other).startswith("sort: test 1 became slower: wall time +7.3 % [+5.1, +9.6];")
    assert "; sort in all: wall time -3.0 %" in sentence(other)


def test_of_a_job_as_a_whole_cpu_time_is_said_where_wall_time_is_known_much_less_well() -> None:
    given = with_jobs(
        report(change(uid="test 1"), change("same", uid="test 2")),
        job(2, effect=0.028, low=-0.132, high=0.216),
        job(2, metric="cpu", effect=0.123, low=0.099, high=0.146),
    )
    assert sentence(given).endswith("; sort in all: CPU time +12.3 % [+9.9, +14.6]")


def test_what_moved_most_is_named_not_the_process_around_it() -> None:
    lexer = change(uid="CppLexer", size=14.0, metric="cpu", effect=231.8, low=220.0, high=240.0)
    whole = change(metric="cpu", effect=0.078, low=0.07, high=0.086, baseline=3.0, target=3.234)
    given = with_jobs(
        report(whole, lexer), job(30, metric="cpu", effect=0.078, low=0.07, high=0.086)
    )
    assert sentence(given) == (
        "sort: CppLexer [14] became slower: CPU time +23,180 % [+22,000, +24,000]; sort in all: CPU"
        " time +7.8 % [+7.0, +8.6]"
    )
    alike = change(uid="part", effect=0.09, low=0.08, high=0.1, baseline=0.01, target=0.0109)
    moved = entries(report(alike, change(effect=0.08, low=0.07, high=0.09)))
    assert [entry.first.uid for entry in moved] == ["sort", "part"]


def test_the_metric_that_moved_most_comes_first() -> None:
    time = change(effect=0.064, low=0.05, high=0.08)
    memory = change(
        metric="maxrss", unit="B", effect=0.5, low=0.49, high=0.51, baseline=1e7, target=1.5e7
    )
    assert sentence(report(time, memory)) == (
        "sort became larger: peak memory +50.0 % [+49.0, +51.0]; wall time +6.4 % [+5.0, +8.0]"
    )
    little = structs.replace(memory, effect=0.1, low=0.09, high=0.11)
    assert sentence(report(time, little)) == "sort became slower: wall time +6.4 % [+5.0, +8.0]"


def test_where_the_clocks_disagree_cpu_time_leads_and_the_line_says_why() -> None:
    wall = change(effect=39.01, low=31.41, high=48.39, baseline=1e-3, target=4e-2)
    cpu = change(metric="cpu", effect=9.07, low=8.9, high=9.3, baseline=1e-3, target=1e-2)
    given = with_jobs(
        report(wall, cpu),
        job(2, effect=39.01, low=31.41, high=48.39),
        job(2, metric="cpu", effect=9.07, low=8.9, high=9.3),
    )
    said = screen(given)
    assert sentence(report(wall, cpu)) == (
        "sort became slower: CPU time +907 % [+890, +930]; wall time +3,901 % [+3,141, +4,839]"
        " differs, since it includes waiting"
    )
    assert "CPU time +907 % [+890, +930], 84.10 -> 86.70 s" in said
    close = structs.replace(cpu, effect=38.0, low=30.0, high=46.0)
    assert sentence(report(wall, close)).startswith("sort became slower: wall time +3,901 %")
    vague = structs.replace(wall, effect=2.25, low=0.563, high=5.76)
    exact = structs.replace(cpu, effect=0.926, low=0.88, high=0.97)
    assert sentence(report(vague, exact)) == (
        "sort became slower: CPU time +92.6 % [+88.0, +97.0]; wall time +225 % [+56, +576]"
        " varies more, since it includes waiting"
    )


def test_what_a_program_waits_for_itself_is_its_wall_time() -> None:
    wall = change(effect=8.1, low=7.8, high=8.4, baseline=0.022, target=0.2)
    cpu = change(metric="cpu", effect=0.184, low=0.076, high=0.302, baseline=0.0011, target=0.0013)
    given = report(wall, cpu)
    assert sentence(given) == "sort became slower: wall time +810 % [+780, +840]"
    said = " ".join(screen(given).split())
    assert "CPU time +18.4 % [+7.6, +30.2] did not follow: it waits longer" in said


def test_a_whole_that_moved_stands_once() -> None:
    given = with_jobs(
        report(change(finding="a finding"), change(uid="part")),
        job(2, effect=0.073, low=0.051, high=0.096),
    )
    lines = screen(given).splitlines()
    assert sum(line.startswith("  degradation    sort (2 units: ") for line in lines) == 1
    assert not any(line.startswith("  degradation    sort  ") for line in lines)
    assert sum("a finding" in line for line in lines) == 1
    assert any(line.startswith("  degradation    sort: part") for line in lines)


def test_what_can_be_accepted_has_its_id_on_the_screen() -> None:
    moved = [change(uid=f"test {number}", reason="a long reason " * 20) for number in range(9)]
    lines = screen(report(*moved), following=["Next: " + "perf show " * 12]).splitlines()
    assert len(lines) <= SCREEN_LINES
    listed = sum(line.startswith("  degradation") for line in lines)
    assert listed >= 4
    assert sum("accept: " in line for line in lines) == listed


def test_what_is_known_of_a_cause_stands_below_its_change() -> None:
    said = screen(
        report(change()),
        causes={("sort", "sort"): ["inside: insert executes +3 M instructions (+50 %)"]},
    )
    assert (
        "                   inside: insert executes +3 M instructions (+50 %)" in said.splitlines()
    )
    assert "inside: insert executes" in markdown(
        report(change()), causes={("sort", "sort"): ["inside: insert executes"]}
    )


def test_a_remark_without_room_for_its_end_says_that_it_goes_on() -> None:
    cut_off = 0
    for count in range(1, 9):
        moved = [change(uid=f"test {number}", effect=0.1 + number) for number in range(count)]
        causes = {
            ("sort", one.uid): ["inside: " + "functions have more " * 4 + "."] for one in moved
        }
        said = screen(report(*moved), causes=causes)
        begun = said.count("inside: ")
        ended = sum(line.endswith("more .") for line in said.splitlines())
        cut_off += begun - ended
        assert begun - ended == sum(line.endswith("…") for line in said.splitlines()), said
    assert cut_off


def test_bounds_that_rule_nothing_out_are_not_said() -> None:
    noisy = [
        change("inconclusive", uid=f"test {number}", bound=20.0 + number) for number in range(30)
    ]
    assert "The 30 comparisons rule out nothing below 100 %." in screen(report(*noisy))
    mixed = [
        change("inconclusive", uid=f"test {number}", bound=0.0011 * number**1.5)
        for number in range(1, 101)
    ]
    assert "Half of the 100 comparisons moved by at most 39 %." in screen(report(*mixed))
    few = [
        change("inconclusive", uid=f"test {number}", bound=0.001 * number**1.2)
        for number in range(1, 101)
    ]
    few.append(change("inconclusive", uid="one", bound=0.9))
    assert "19 of 20 of the 101 comparisons moved by at most 24 %, none by more" in screen(
        report(*few)
    )


@each("separator", "\n\v\f\r\x1c\x1d\x1e\x85\u2028\u2029")
def test_a_name_breaks_lines_nowhere(separator: str) -> None:
    broken = screen(
        report(change(reason=f"a{separator}b", finding=f"c{separator}d", uid=f"e{separator}f"))
    )
    assert len(broken.splitlines()) == len(
        screen(report(change(reason="a b", finding="c d", uid="e f"))).splitlines()
    )


def test_many_changes_of_the_criteria_leave_room_for_the_answer() -> None:
    nameless = change("degradation", job="", uid="", metric="", reason="", finding="")
    moved = [
        change("degradation", job="0" * 13, uid="00", metric="0" * 6, reason="", finding=""),
        *[nameless] * 9,
        change("degradation", job="", uid="0", metric="", reason="", finding=""),
        change("not comparable", job="", uid="", metric="", reason="", finding=""),
        change("new", job="", uid="", metric="", reason="", finding="", accepted=""),
    ]
    differences = [
        Difference(what="0" * 6, parts=["0" * 5], files=["0" * 13], more=2),
        Difference(what="0000", parts=["", "00", "0" * 7], files=["", "", ""]),
        Difference(what="0" * 9, parts=["", "00", "0000", "0" * 7], files=["0" * 32], more=1),
        Difference(what="", files=["", ""]),
        Difference(what="0" * 13, files=["", ""]),
        Difference(what="0" * 5, parts=["00", "00"], files=["0" * 24], more=2),
        Difference(what="0" * 7, parts=[""], files=["", ""]),
    ]
    jobs = [job(2, one.word, job=one.job, series=[one.series], metric=one.metric) for one in moved]
    given = structs.replace(
        with_jobs(report(*moved), *jobs[:9]),
        judged_by=JudgedBy(differences=differences),
        failures=["note " * 90] * 3,
    )
    for following in range(3):
        said = screen(given, following=["what to do " * 30] * following)
        assert len(said.splitlines()) <= SCREEN_LINES


NAMES = st.text(max_size=300)
DIFFERENCES = st.builds(
    Difference,
    what=NAMES,
    parts=st.lists(NAMES, max_size=6),
    files=st.lists(NAMES, max_size=3),
    more=st.integers(0, 9),
)


@settings(max_examples=60, deadline=None)
@given(
    st.lists(
        st.builds(
            change,
            st.sampled_from(VERDICT_WORDS),
            job=NAMES,
            uid=NAMES,
            metric=NAMES,
            reason=NAMES,
            finding=NAMES,
            accepted=st.none() | NAMES,
        ),
        max_size=40,
    ),
    st.integers(0, 2),
    st.builds(
        JudgedBy,
        differences=st.lists(DIFFERENCES, max_size=12),
        accepts=st.lists(NAMES, max_size=2),
        remark=NAMES,
    ),
)
def test_whatever_is_reported_takes_one_screen(
    changes: list[Any], following: int, by: JudgedBy
) -> None:
    jobs = [
        job(2, given.word, job=given.job, series=[given.series], metric=given.metric)
        for given in changes[:9]
    ]
    found = structs.replace(
        with_jobs(report(*changes), *jobs), judged_by=by, failures=["note " * 90] * 3
    )
    lines = screen(found, following=["what to do " * 30] * following).splitlines()
    assert len(lines) <= SCREEN_LINES
    assert max(map(len, lines)) <= 80


def test_no_command_is_cut_at_the_end() -> None:
    what, command = "Next: find the commit:", f"perf bisect a1 b2 -- '{'long ' * 20}name'"
    for most in (1, 2):
        assert _closing(f"{what} {command}", most, 80) == [what, f"  {command}"]
    assert _closing("Next: draw both: perf show a b", 1, 80) == ["Next: draw both: perf show a b"]
    assert _closing("what to do " * 30, 2, 80)[-1].endswith("…")


@each(
    ("bounds", "moved", "expected"),
    [
        ([0.05], False, "Nothing moved by more than 5 % (1 comparison)."),
        ([0.05], True, "Nothing else moved by more than 5 % (1 comparison)."),
        ([0.98], True, "The other comparison may have moved by up to 98 %."),
        ([0.3, 0.98], True, "The 2 other comparisons may have moved by up to 98 %."),
        (
            [0.05, None],
            True,
            "The other comparison moved by at most 5 %; of 1 more there is no bound.",
        ),
        (
            [0.05, 0.29, None],
            True,
            "Half of the 2 other comparisons moved by at most 5 %, none by more than 29 %; of 1"
            " more there is no bound.",
        ),
        (
            [0.0, 0.0, None],
            True,
            "The 2 other comparisons did not move; of 1 more there is no bound.",
        ),
        (
            [0.0, 0.0, 0.29, None],
            True,
            "Half of the 3 other comparisons did not move, none by more than 29 %; of 1 more there"
            " is no bound.",
        ),
        ([3.0], False, "The comparison rules out nothing below 100 %."),
        ([2.0, 3.0], True, "The 2 other comparisons rule out nothing below 100 %."),
    ],
)
def test_what_did_not_move_is_said_in_the_singular_and_plural(
    bounds: list[float | None], moved: bool, expected: str
) -> None:
    changes = [
        change("inconclusive", uid=f"test {number}", bound=bound)
        for number, bound in enumerate(bounds)
    ]
    changes += [change("degradation", uid="slow")] * moved
    assert expected in brief(report(*changes)).rest


def test_a_metric_that_went_the_other_way_is_said_as_such() -> None:
    slower = change("degradation", metric="maxrss", unit="B", effect=0.5, low=0.4, high=0.6)
    faster = change("improvement", effect=-0.016, low=-0.02, high=-0.01)
    (line,) = brief(report(slower, faster)).changes
    assert line.details == ["but wall time -1.6 % (improvement)"]

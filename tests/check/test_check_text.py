"""Reports as text, Markdown and JSON."""

from __future__ import annotations

import json
import re
from math import erfc
from random import Random
from typing import Any

import msgspec
import pytest
from cases import each
from msgspec import structs
from samples import interleaved, noisy

from perfvcs.check import Change, Report, compare
from perfvcs.check.answer import sentence
from perfvcs.check.change import ASSUMED, JudgedBy
from perfvcs.check.markdown import decode, document, encode, markdown
from perfvcs.check.method import FROM_DIFFERENT_SESSIONS, OF_SERIES, USUAL
from perfvcs.check.nextstep import EVEN, LIKELY, QUANTILE, _wanted, settling
from perfvcs.check.text import text
from perfvcs.profile.validity import Malformed
from perfvcs.text.document import json_text
from perfvcs.text.quantity import step


def change(word: str = "degradation", **fields: Any) -> Change:
    known: dict[str, Any] = {
        "effect": 0.073,
        "low": 0.051,
        "high": 0.096,
        "baseline": 0.0131,
        "target": 0.01406,
    }
    if word in ("new", "missing", "not comparable"):
        known = {}
    shared = {
        "job": "sort",
        "uid": "sort",
        "metric": "wall",
        "unit": "s",
        "better": "lower",
        "series": "5e1",
        "executions": (10, 10),
    }
    return Change(**(shared | known | {"word": word} | fields))


def report(*changes: Change) -> Report:
    return Report(
        baseline="1f0e2a3b4c5d" + "0" * 28,
        target="8c7f6a1d0e5b" + "0" * 28,
        method="auto",
        changes=list(changes),
    )


def test_a_degradation_reads_well() -> None:
    cpu = change(
        "same", metric="cpu", effect=0.011, low=-0.013, high=0.015, baseline=0.0129, target=0.012913
    )
    memory = change(
        "same",
        metric="maxrss",
        unit="B",
        effect=0.0,
        low=0.0,
        high=0.0,
        baseline=1310720.0,
        target=1310720.0,
    )
    assert text(report(memory, cpu, change())).splitlines() == [
        "sort",
        "  degradation    wall time       +7.3 % [+5.1, +9.6]     13.10 -> 14.06 ms",
        "  same           CPU time        +1.1 % [-1.3, +1.5]     12.90 -> 12.91 ms",
        "  same           peak memory     0 % [0, 0]              1.311 -> 1.311 MB",
        "                 accept: e2e78ab",
        "",
        "1f0e2a3b4c -> 8c7f6a1d0e: 1 degradation, 2 same",
        "3 of 3 comparisons settled",
    ]


def test_what_is_open_says_why() -> None:
    wide = "the interval reaches beyond ±1 %"
    lines = text(
        report(
            change("inconclusive", reason=wide), change("inconclusive", metric="cpu", reason=wide)
        )
    ).splitlines()
    assert lines[3:] == [
        "                 the interval reaches beyond ±1 %",
        "",
        "1f0e2a3b4c -> 8c7f6a1d0e: 2 inconclusive",
        "inconclusive: neither a change nor sameness is shown",
        "0 of 2 comparisons settled",
    ]


def test_the_largest_of_many_open_comparisons_has_a_reason_where_its_interval_says_nothing() -> (
    None
):
    wide = "the interval reaches beyond ±1 %; within ±9.6 %"
    open_ = [change("inconclusive", uid=f"unit{number}", reason=wide) for number in range(6)]
    assert sentence(report(*open_)).endswith("wall time +7.3 % [+5.1, +9.6]")
    single = "a single execution has no spread: measure more"
    open_[0] = change("inconclusive", uid="unit0", effect=0.2, reason=single)
    assert sentence(report(*open_)).endswith("(a single execution has no spread)")


def test_sizes_of_one_unit_share_a_row() -> None:
    sizes = [
        change(uid="CppLexer", size=size, effect=effect, low=effect - 0.01, high=effect + 0.01)
        for size, effect in [(14.0, 231.8), (30.0, 0.4), (900.0, 0.02)]
    ]
    rest = change("same", uid="CppLexer", size=2.0, effect=0.0, low=-0.01, high=0.01)
    lines = text(report(*sizes, rest)).splitlines()
    assert lines[:5] == [
        "sort: CppLexer",
        "  degradation    wall time       +23,180 % [+23,179, +23,181] 13.10 -> 14.06 ms",
        "                 at 14; 2 other sizes up to 900: +2.0 % to +40.0 %",
        "                 accept: f90b72b (wall time at 14), 0f1a5db (wall time at 30),",
        "                 b47345a (wall time at 900)",
    ]
    assert sum(line.startswith("  degradation") for line in lines) == 1
    assert "sort: CppLexer [2]" in lines
    table = markdown(report(*sizes, rest), verbose=True)
    assert table.count("| sort: CppLexer |") == 1
    assert "at 14; 2 other sizes up to 900: +2.0 % to +40.0 %" in table
    apart = text(report(*sizes[:2]))
    assert "sort: CppLexer [14]" in apart and "sort: CppLexer [30]" in apart


def test_what_is_open_can_be_measured() -> None:
    measure = "perf check --measure 1f0e2a3b4c 8c7f6a1d0e"
    assert settling(report(change("inconclusive"))) == [f"To settle it: {measure}"]
    assert settling(report(change("same"))) == []
    assert settling(report(change("suspected", accepted="wanted"))) == []


@each(
    ("fields", "assumed", "expected"),
    [
        (
            {"word": "suspected", "reason": FROM_DIFFERENT_SESSIONS},
            False,
            ": measure in turns (`perf import --in-turns`), import ten earlier commits, or, for"
            " files of one CI job, --assume-same-machine",
        ),
        # so many sessions are known that their spread is
        (
            {"reason": "the interval reaches beyond ±1 %"},
            False,
            ": measure in turns (`perf import --in-turns`), or, for files of one CI job,"
            " --assume-same-machine",
        ),
        ({"paired": True}, False, ": import more executions of each side"),
        ({}, True, ": import more executions of each side"),
        (
            {"executions": (1, 9)},
            True,
            ": let a job measure it (`reads` in perf.toml), or import ten earlier commits",
        ),
        # so many are known already
        *(
            (
                {"executions": (1, 1), "reason": reason},
                False,
                ": let a job measure it (`reads` in perf.toml)",
            )
            for reason in (OF_SERIES, USUAL.format(60))
        ),
    ],
)
def test_what_was_imported_is_settled_by_what_keeps_it_open(
    fields: dict[str, Any], assumed: bool, expected: str
) -> None:
    given = structs.replace(
        report(change(**{"word": "inconclusive"} | fields)),
        foreign=["5e1"],
        judged_by=JudgedBy(remark=ASSUMED if assumed else ""),
    )
    assert settling(given) == [f"To settle what was imported{expected}"]


def test_what_cannot_be_compared_is_not_settled_by_imports() -> None:
    given = structs.replace(report(change("not comparable")), foreign=["5e1"])
    assert settling(given) == []


def test_what_is_open_between_products_is_measured_with_them() -> None:
    given = report(change("inconclusive"))
    assert settling(given, products=["fork"]) == ["To settle it: perf check --against fork=..."]
    assert settling(given, products=["a", "b"]) == [
        "To settle it: perf collect --against a=... --against b=..."
    ]


def test_the_next_step_can_settle_what_stayed_open() -> None:
    pair = "1f0e2a3b4c 8c7f6a1d0e"
    measure = f"perf check --measure {pair}"
    wide = change("inconclusive", effect=0.002, low=-0.018, high=0.022, bound=0.022, paired=True)
    assert settling(report(wide), 30) == [
        "Open after 30 pairs; 190 settle it with even odds, 290 in four of five cases:"
        f" {measure} -n 290",
        "What else could settle it: perf plan",
    ]
    stored = change(
        "inconclusive", effect=0.0, low=-0.015, high=0.015, paired=True, executions=(120, 120)
    )
    assert settling(report(stored))[0].startswith("Open after 120 pairs; ")
    nearly = change("inconclusive", effect=0.0, low=-0.0101, high=0.0101, paired=True)
    likely = change("inconclusive", effect=0.05, low=-0.005, high=0.105, paired=True)
    assert settling(report(likely), 10)[0].startswith("Open after 10 pairs; ")
    assert len(settling(report(nearly), 10)) == 2
    few = change("inconclusive", effect=None, low=None, high=None, paired=True)
    assert settling(report(few), 1)[0] == f"Open after 1 pair; measure more: {measure}"


@pytest.mark.parametrize("effect", [0.0, 0.004, 0.008, 0.012])
def test_so_many_pairs_settle_it_as_often_as_is_said(effect: float) -> None:
    """The chances against pairs that are drawn, where the truth is 0 as often as chance explains
    what was seen, and else varies about it.
    """
    drawn, half, pairs = Random(7), 0.012, 30
    open_ended = change("inconclusive", effect=effect, low=effect - half, high=effect + half)
    for chance in (EVEN, LIKELY):
        count = _wanted([open_ended], pairs, chance)
        if count is None:
            continue
        error, after = half / QUANTILE, half * (pairs / count) ** 0.5
        by_chance = erfc(effect / error / 2**0.5)
        settled = 0
        for _ in range(4000):
            changed = drawn.random() >= by_chance
            truth = drawn.gauss(effect, error) if changed else 0.0
            seen = abs(drawn.gauss(truth, after / QUANTILE))
            settled += seen >= max(0.01, after) or seen + after <= 0.01
        assert settled / 4000 == pytest.approx(chance, abs=0.05)


def test_what_hardly_settles_can_be_taken_as_the_same() -> None:
    far = change("inconclusive", effect=-0.03, low=-0.11, high=0.06, bound=0.11, paired=True)
    farther = change("inconclusive", effect=0.0, low=-0.3, high=0.3, bound=0.3, paired=True)
    assert settling(report(far), 30)[0].endswith(", or let it count as the same: --within 11")
    assert "--within" not in settling(report(far, farther), 30)[0]


def test_a_bound_that_was_asked_for_is_said_with_what_it_settles() -> None:
    settled = change("same", low=-0.03, high=0.021, bound=0.03, within=0.15, delta=0.01)
    numbers = {"low": -0.003, "high": 0.002, "bound": 0.003, "within": 0.15, "delta": 0.01}
    same = change("same", uid="other", **numbers)
    assert sentence(report(settled, same)).endswith(
        "nothing changed by more than 3 %: both comparisons are the same"
    )
    assert sentence(report(same)).endswith("nothing changed: the one comparison is the same")


def test_what_no_number_of_pairs_settles_is_said() -> None:
    noise = change("inconclusive", effect=0.1, low=-0.9, high=3.0, paired=True)
    assert settling(report(noise), 30) == [
        "Open after 30 pairs; 3,000 would hardly settle it",
        "If its input varies, give it {seed}.",
        "What else could settle it: perf plan",
    ]
    disturbed = settling(report(noise), 30, lambda job: f"the load was 4 beside {job}: wait")
    assert disturbed[1] == "Before that: wait"
    coarse = change("inconclusive", effect=0.0, low=0.0, high=0.0, coarse=True, paired=True)
    assert settling(report(coarse), 30, lambda job: f"the load was 4 beside {job}: wait") == [
        "Open after 30 pairs; more cannot settle it: the clock is too coarse",
        "What else could settle it: perf plan",
    ]


@pytest.mark.simulation
def test_the_number_of_pairs_settles_it_in_most_cases() -> None:
    settled = []
    for seed in range(30):
        given = _in_turns(30, seed)
        wanted = re.search(r"([\d,]+) in four of five", "".join(settling(given, 30)))
        if wanted:
            again = _in_turns(int(wanted[1].replace(",", "")), 1000 + seed)
            settled.append(all(judged.settled for judged in again.changes))
    assert len(settled) > 15
    assert sum(settled) / len(settled) > 0.8


def _in_turns(count: int, seed: int) -> Report:
    """So many pairs of times that differ by 3 %, and by nothing else."""
    sides = [noisy(1.0, count, 2 * seed + side, 0.03) for side in (0, 1)]
    return compare(*interleaved(["a" * 40, "b" * 40], sides))


def test_a_size_at_the_end_of_the_name_is_not_repeated() -> None:
    assert text(report(change(job="sort 200", size=200.0))).splitlines()[0] == "sort 200"
    assert text(report(change(job="sort 1200", size=200.0))).splitlines()[0] == "sort 1200 [200]"
    assert text(report(change(job="sort 1000000", size=1e6))).splitlines()[0] == "sort 1000000"
    assert text(report(change(size=1234567.0))).splitlines()[0] == "sort [1234567]"


def test_metrics_which_share_a_reason_have_it_once() -> None:
    reason = "kernel 6.1.0 -> 6.5.2"
    lines = text(
        report(
            change("not comparable", reason=reason),
            change("not comparable", metric="cpu", reason=reason),
        )
    ).splitlines()
    assert lines[1:4] == [
        "  not comparable wall time",
        "  not comparable CPU time",
        "                 kernel 6.1.0 -> 6.5.2",
    ]


def test_no_line_is_wider_than_the_terminal() -> None:
    long = "a-very-long-name " * 8
    everything = report(
        change(job=long, uid="std::vector<int>::push_back(int const&)", size=1000.0),
        change(
            job=long,
            uid="x" * 30,
            metric="a_metric_with_a_long_name",
            effect=12345.6,
            low=-0.99999,
            high=1e9,
            unit="furlongs",
        ),
        change("suspected", reason="measured apart " * 9, low=None, high=None),
        *(
            change(
                "not comparable",
                metric=f"metric{place}",
                reason="cpu " + "A" * 60 + " -> " + "B" * 60,
            )
            for place in range(5)
        ),
        *(change(word) for word in ("improvement", "inconclusive", "new", "missing", "same")),
    )
    for width in (60, 80, 120):
        lines = text(everything, width=width).splitlines()
        assert max(map(len, lines)) <= width + (30 if width < 80 else 0)
    assert "[1000]" in text(everything)
    assert "…" in text(everything)


def test_an_empty_report_says_so() -> None:
    empty = Report(baseline="", target="", method="auto", changes=[])
    assert text(empty) == "nothing -> nothing: nothing to compare\n0 of 0 comparisons settled"


def test_names_cannot_break_out_of_a_markdown_table() -> None:
    lines = markdown(
        report(change(job="a|b\n<script>[x](y)", reason="cmd './a' -> './b'")), verbose=True
    ).splitlines()
    name = r"a\|b␊\<script\>\[x\](y): sort"
    assert lines[0].startswith(f"**perf check** `1f0e2a3b4c` → `8c7f6a1d0e`: {name} became slower")
    assert lines[4].startswith(
        rf"| **degradation** | {name} | wall time +7.3 % \[+5.1, +9.6\], 13.10 → 14.06 ms |"
    )
    row = next(line for line in lines if " | wall time | " in line and line.endswith("`e2e78ab` |"))
    assert row.endswith(
        "| wall time | +7.3 % [+5.1, +9.6] | 13.10 → 14.06 ms | cmd './a' → './b' `e2e78ab` |"
    )
    assert lines[-5:] == [
        "In brackets: the 99 % interval of the effect.",
        "",
        "1 degradation.",
        "",
        "1 of 1 comparison settled",
    ]


def test_json_is_read_back() -> None:
    given = report(change(), change("new"))
    printed = json.loads(encode(given))
    assert (printed["format"], printed["counts"]) == (
        "perfvcs-report/1",
        {"degradation": 1, "new": 1},
    )
    assert decode(encode(given)) == given
    assert json_text(document(given), indent=0).count("\n") == 0
    with pytest.raises(Malformed, match=r"\$\.changes"):
        decode('{"baseline": "", "target": "", "method": "", "changes": [{"word": "fine"}]}')


@each(
    "before after unit shown",
    [
        (1.5, 2.0, "s", "1.500 -> 2.000 s"),
        (0.0131, 0.014, "s", "13.10 -> 14.00 ms"),
        (9e-7, 3e-6, "s", "0.900 -> 3.000 us"),
        (1e-18, 1e-18, "s", "1e-06 -> 1e-06 ps"),
        (0.0, 0.0, "s", "0 -> 0 s"),
        (999.0, 1000.0, "B", "0.999 -> 1.000 kB"),
        (3.2e9, 12.0, "B", "3.200 -> 0.000 GB"),
        (1.0, 2.0, "count", "1 -> 2"),
        (1e-320, 1e300, "furlongs", "0 -> 1 ×10³⁰⁰ furlongs"),
        (None, 1.0, "s", ""),
    ],
)
def test_both_centres_share_a_prefix(
    before: float | None, after: float, unit: str, shown: str
) -> None:
    assert step(before, after, unit) == shown


def test_names_cannot_move_the_cursor() -> None:
    hostile = "\x1b[2J\r\n\u202e"
    given = change(job=hostile, uid=hostile + "x", metric="wall", unit=hostile, reason=hostile)
    for shown in (text(report(given)), markdown(report(given))):
        assert not set("\x1b\r\u202e") & set(shown)


def test_uncommitted_changes_are_measured_without_a_name() -> None:
    open_ended = Report(
        baseline="HEAD~1", target="1f0e2a3b4c+", method="auto", changes=[change("inconclusive")]
    )
    assert settling(open_ended) == ["To settle it: perf check --measure"]
    alike = Report(
        baseline="1f0e2a3b4c+",
        target="1f0e2a3b4c+",
        method="auto",
        changes=[change("inconclusive")],
    )
    assert settling(alike) == ["To settle it: perf check --measure HEAD HEAD"]


def test_a_finding_has_its_own_line_below_the_effect() -> None:
    finding = "insert: +0.010 us per element (linear), O(log n) -> O(n)"
    lines = text(
        report(change(finding=finding), change("same", metric="maxrss", effect=0.0, finding="flat"))
    ).splitlines()
    assert lines[2] == f"{' ' * 17}{finding}"
    assert lines[4] == f"{' ' * 17}flat"
    assert "+0.010 us per element (linear), O(log n) → O(n)" in markdown(
        report(change(finding=finding))
    )
    assert json.loads(encode(report(change(finding=finding))))["changes"][0]["finding"] == finding


def test_only_regressed_clusters_are_reported_with_their_error() -> None:
    from perfvcs.check import CounterCluster

    names = ["cycles", "instructions", "branches", "cache-misses", "cache-references"]
    worse = CounterCluster(
        counters=names, target="cycles", error=0.341, threshold=0.2, regressed=True
    )
    alone = CounterCluster(
        counters=["faults"], target="faults", error=None, threshold=0.05, regressed=True
    )
    fine = CounterCluster(
        counters=["loads"], target="loads", error=0.01, threshold=0.2, regressed=False
    )
    found = change(
        metric="counters",
        effect=None,
        low=None,
        high=None,
        baseline=None,
        target=None,
        clusters=[worse, alone, fine],
    )
    out = text(report(found))
    assert out.splitlines()[1] == "  degradation    counters"
    assert (
        " ".join(out.split()).count(
            "5 counters (cycles, instructions, branches, cache-misses, ...): cycles predicted"
        )
        == 1
    )
    assert "with an error of 34.1 %, at most 20 %" in " ".join(out.split())
    assert "1 counter (faults): faults cannot be predicted, at most 5 %" in " ".join(out.split())
    assert "loads" not in out
    assert max(map(len, out.splitlines())) <= 80
    assert "1 counter (faults)" in markdown(report(found))


def test_what_is_accepted_stands_at_the_end_with_its_reason() -> None:
    out = text(
        report(
            change(accepted="wanted"), change("same", metric="cpu", effect=0.0), change(job="parse")
        )
    )
    assert (
        out.index("parse")
        < out.index("accepted       wall time")
        < out.index("1 degradation, 1 same, 1 accepted")
    )
    assert f"{' ' * 17}wanted" in out.splitlines()
    only = text(report(change(accepted="wanted")))
    assert only.endswith("1 accepted\n1 of 1 comparison settled")


def test_changes_that_several_methods_judged_share_an_id() -> None:
    out = text(report(change(), change(method="t-test"), change(metric="cpu")))
    assert out.count("e2e78ab (wall time)") == 1


def test_what_was_imported_cannot_be_settled_by_measuring() -> None:
    ours, theirs = change("suspected"), change("inconclusive", series="f" * 64)
    assert settling(report(ours, theirs))[0].startswith("To settle it: perf check --measure")
    alone = settling(msgspec.structs.replace(report(theirs), foreign=["f" * 64]))
    assert "--measure" not in alone[0]
    assert "`perf import --in-turns`" in alone[0]

"""Limits and percentiles of ``[[check]]`` tables."""

from __future__ import annotations

import json

import numpy as np
import pytest
from comparisons import STEADY, profile
from conftest import Perf, Project
from hypothesis import given, settings
from hypothesis import strategies as st

from perfvcs.check import Report, compare
from perfvcs.check.markdown import decode, encode, markdown
from perfvcs.check.screen import screen
from perfvcs.errors import UsageError
from perfvcs.jobs.config import read
from perfvcs.profile import Metric, Profile, Resources
from perfvcs.profile.rules import Rule, Rules
from perfvcs.reports.check import exit_status
from perfvcs.statistics.ranks import percentile

OLD, NEW = STEADY  # about 13.1 ms, by 1 %


def limited(limit: str | float, *, statistic: str | None = None, **more: object) -> Report:
    """The report under one limit of wall time."""
    sides = more.pop("sides", None) or (profile(list(OLD)), profile(list(NEW), 1))
    rule = Rule(**{"metric": "wall", "limit": limit, "statistic": statistic, **more})  # type: ignore[arg-type]
    return compare([sides[0]], [sides[1]], rules=Rules((rule,)))  # type: ignore[index]


def unwrapped(text: str) -> str:
    """A text without its line ends."""
    return " ".join(text.split())


class TestWords:
    def test_a_level_wholly_above_fails_with_its_interval(self) -> None:
        report = limited("12 ms")
        (verdict,) = report.limits
        assert verdict.word == verdict.before == "degradation"
        assert verdict.limit == pytest.approx(0.012)
        assert verdict.low is not None
        assert 0.012 < verdict.low < verdict.level
        assert exit_status(report) == exit_status(report, gate=True) == 3
        assert "is above its limit of 12 ms, as the baseline" in unwrapped(screen(report))
        assert "1 limit exceeded" in screen(report)
        assert "above its limit" in markdown(report)

    def test_a_level_below_holds_and_says_nothing(self) -> None:
        report = limited("15 ms")
        assert [verdict.word for verdict in report.limits] == ["same"]
        assert exit_status(report) == 0
        assert "limit" not in screen(report)

    def test_an_interval_that_straddles_is_suspected_and_fails_nothing(self) -> None:
        centre = float(np.exp(np.log(NEW).mean()))
        report = limited(f"{1000 * centre} ms")
        (verdict,) = report.limits
        assert verdict.word == "suspected"
        assert "may be above its limit" in " ".join(report.notes)
        assert exit_status(report) == 0

    def test_a_single_execution_only_raises_suspicion(self) -> None:
        sides = (profile([0.013]), profile([0.013], 1))
        assert limited("12 ms", sides=sides).limits[0].word == "suspected"
        assert limited("14 ms", sides=sides).limits[0].word == "same"

    def test_a_limit_is_a_floor_where_more_is_better(self) -> None:
        rate = Metric("ops/s", "higher")
        sides = (
            profile([1000.0] * 6, metric=rate),
            profile([700.0, 710, 690, 705, 695, 700], 1, metric=rate),
        )
        report = limited("800 ops/s", sides=sides)
        assert report.limits[0].word == "degradation"
        assert "is below its limit of 800 ops/s" in unwrapped(screen(report))
        assert report.limits[0].before == "same"
        assert limited("600 ops/s", sides=sides).limits[0].word == "same"

    def test_exact_counts_are_compared_exactly(self) -> None:
        exact = Metric("", "lower", "deterministic")
        sides = (profile([1000.0], metric=exact), profile([1001.0], 1, metric=exact))
        assert limited(1000, sides=sides).limits[0].word == "degradation"
        assert limited(1001, sides=sides).limits[0].word == "same"

    def test_bytes_and_prefixes(self) -> None:
        memory = Metric("B")
        sides = (profile([2e6] * 5, metric=memory), profile([3e6] * 5, 1, metric=memory))
        assert limited("2.5 MB", sides=sides).limits[0].word == "degradation"
        assert limited("3 MiB", sides=sides).limits[0].word == "same"

    def test_a_limit_alone_does_not_take_comparisons_from_later_tables(self) -> None:
        rules = Rules((Rule(metric="wall", limit="1 s"), Rule(metric="wall", delta="50%")))
        slower = profile([1.2 * value for value in NEW], 1)
        report = compare([profile(list(OLD))], [slower], rules=rules)
        assert [change.word for change in report.changes] == ["same"]

    def test_a_new_benchmark_has_to_keep_to_it_too(self) -> None:
        report = limited("12 ms", sides=(profile({"other": list(OLD)}), profile(list(NEW), 1)))
        assert [verdict.uid for verdict in report.limits if verdict.word == "degradation"] == [
            "sort"
        ]
        assert report.limits[0].before == ""

    def test_reports_keep_their_limits(self) -> None:
        report = limited("12 ms")
        document = json.loads(encode(report))
        assert document["limits"][0]["limit"] == 0.012
        assert decode(json.dumps(document | {"changes": [], "overall": []})).limits == report.limits


class TestWrongTables:
    def test_another_unit_is_an_error_with_its_cure(self) -> None:
        with pytest.raises(UsageError, match='wall is measured in s: write it like "200 ms"'):
            limited("50 MB")
        with pytest.raises(UsageError, match='write it like "200 ms"'):
            limited(12)

    @pytest.mark.parametrize(
        ("table", "said"),
        [
            ({"limit": "200 ms"}, "add metric"),
            ({"limit": "much", "metric": "wall"}, "is not an amount"),
            ({"limit": "-1 s", "metric": "wall"}, "is not an amount"),
            ({"statistic": "p100", "metric": "wall"}, "is not a percentile"),
            ({"statistic": "mean", "metric": "wall"}, "is not a percentile"),
            ({"limit": True, "metric": "wall"}, "limit"),
        ],
    )
    def test_tables_that_make_no_sense_are_refused(
        self, table: dict[str, object], said: str
    ) -> None:
        with pytest.raises(UsageError, match=said):
            read({"job": [{"cmd": "./sort"}], "check": [table]})


def loaded(side: int, tail: float, executions: int = 6, samples: int = 400) -> Profile:
    """Latencies of a load test; one in fifty takes ``tail`` times as long."""
    rng = np.random.default_rng(side)
    values = 0.01 * np.exp(rng.normal(0, 0.05, (executions, samples)))
    values[:, ::50] *= tail
    rows = Resources(
        names=["GET /"],
        uid=[0] * values.size,
        execution=np.repeat(np.arange(executions), samples).tolist(),
        iteration=list(range(samples)) * executions,
        metrics={"latency": values.ravel().tolist()},
    )
    return profile([0.0], side, resources=rows, metrics={"latency": Metric("s")})


class TestPercentiles:
    def test_a_worse_tail_is_found_by_p99_and_by_no_median(self) -> None:
        sides = (loaded(0, 2.0), loaded(1, 4.0))
        (median,) = compare([sides[0]], [sides[1]]).changes
        assert median.word != "degradation"
        rules = Rules((Rule(metric="latency", statistic="p99"),))
        (change,) = compare([sides[0]], [sides[1]], rules=rules).changes
        assert (change.word, change.metric) == ("degradation", "latency.p99")
        assert change.effect == pytest.approx(1.0, abs=0.2)

    def test_a_percentile_that_is_open_is_a_line_of_its_job(self) -> None:
        sides = (loaded(0, 2.0, 1), loaded(1, 2.0, 1))
        rules = Rules((Rule(metric="latency", statistic="p99"),))
        report = compare([sides[0]], [sides[1]], rules=rules, overall=True)
        (judged,) = [job for job in report.overall if job.units]
        assert (judged.metric, judged.word) == ("latency.p99", "inconclusive")
        said = screen(report)
        assert "latency.p99" in said.split("\n\n")[1] and "a single execution" in said

    def test_a_limit_is_on_the_percentile(self) -> None:
        sides = (loaded(0, 2.0), loaded(1, 4.0))
        assert limited("20 ms", metric="latency", sides=sides).limits[0].word == "same"
        (verdict,) = limited("20 ms", metric="latency", statistic="p99", sides=sides).limits
        assert verdict.word == "degradation"
        assert "p99 of latency" in verdict.said

    def test_one_execution_has_an_interval_by_its_samples(self) -> None:
        sides = (loaded(0, 2.0, 1, 4000), loaded(1, 4.0, 1, 4000))
        (verdict,) = limited("20 ms", metric="latency", statistic="p99", sides=sides).limits
        assert verdict.word == "degradation"
        few = (loaded(0, 2.0, 1, 50), loaded(1, 4.0, 1, 50))
        (verdict,) = limited("20 ms", metric="latency", statistic="p99", sides=few).limits
        assert verdict.high is None  # the 99th percentile lies beyond fifty values
        assert verdict.word in ("suspected", "same")

    @given(st.integers(1, 60_000), st.sampled_from([0.5, 0.9, 0.99, 0.999]))
    @settings(max_examples=60, deadline=None)
    def test_the_ends_are_those_of_the_binomial(self, n: int, share: float) -> None:
        from scipy.stats import binom

        found = percentile(range(n), share, 0.99)
        number = binom(n, share)
        near = 1 if n * share * (1 - share) < 100 else 0.1 * np.sqrt(n * share * (1 - share)) + 2
        low, high = number.ppf(0.005) - 1, number.ppf(0.995)
        assert found.level == pytest.approx(np.quantile(np.arange(n), share))
        if found.low is not None:
            assert abs(found.low - low) <= near
            assert number.cdf(found.low) <= 0.005 or near > 1
        if found.high is not None:
            assert abs(found.high - high) <= near

    def test_the_interval_covers_the_truth_as_often_as_it_says(self) -> None:
        rng = np.random.default_rng(1)
        inside = 0
        for _ in range(300):
            found = percentile(rng.exponential(size=2000).tolist(), 0.9, 0.99)
            assert found.low is not None
            assert found.high is not None
            inside += found.low <= -np.log(0.1) <= found.high
        assert inside >= 291  # 3 standard deviations below 297


TABLES = """\
[[job]]
name = "nap"
cmd = "sh sleep.sh"
executions = 5
warmup = 0

[[check]]
job = "nap"
metric = "wall"
limit = "600 ms"
"""


class TestCommands:
    def test_check_log_and_judge_say_the_same(self, project: Project, perf: Perf) -> None:
        project.write("sleep.sh", "sleep 0.001\n")
        project.commit("Quick", **{"perf.toml": TABLES})
        project.commit("Slow", **{"sleep.sh": "sleep 1\n"})
        said = perf("check", "--measure", "HEAD~1", "HEAD", "-n", "5", code=3)
        assert "is above its limit of 600 ms" in unwrapped(said.out)
        assert "1 limit exceeded" in said.out
        assert "1 limit exceeded" in perf("log", "-n", "1").out
        assert "1 limit exceeded" in perf("check", "-q", "HEAD~1", "HEAD", code=3).out
        ruling = perf(
            "judge",
            "HEAD~1",
            "HEAD",
            "--expect",
            "not-slower=9999%",
            "--json",
            "--budget",
            "40s",
            code=6,
        ).document
        assert ruling["guard"]["limits"]["word"] == "rejected"
        assert "above its limit" in ruling["guard"]["limits"]["said"]

    def test_a_limit_needs_no_baseline(self, project: Project, perf: Perf) -> None:
        project.write("sleep.sh", "sleep 0.001\n")
        project.commit("Without a limit", **{"perf.toml": TABLES.partition("[[check]]")[0]})
        project.commit("Slow", **{"perf.toml": TABLES, "sleep.sh": "sleep 0.7\n"})
        perf("collect")
        said = unwrapped(perf("check", code=3).out)
        assert "above its limit of 600 ms; nothing to compare" in said
        assert "note: no ancestor of" in said
        assert "above its limit" in unwrapped(perf("check", "-j", "nap", code=3).out)
        assert "**perf check** nothing →" in perf("check", "--markdown", code=3).out
        # the rules of a baseline that is named have no limit
        assert "has no profiles: measure it" in perf("check", "HEAD~1", "HEAD", code=4).err

    def test_one_that_holds_is_no_comparison(self, project: Project, perf: Perf) -> None:
        project.write("sleep.sh", "sleep 0.001\n")
        project.commit("Quick", **{"perf.toml": TABLES})
        perf("collect")
        said = perf("check", code=4)
        assert "no ancestor of" in said.err
        assert not said.out

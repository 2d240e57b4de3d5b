"""What a bisection believes and does next, against enumeration, and on simulated machines."""

import itertools
from types import SimpleNamespace

import numpy as np
import pytest

from perfvcs.locate.bisect import posterior
from perfvcs.locate.bisect.decision import StoppingRules, _is_settled, decide, together
from perfvcs.locate.bisect.evidence import Evidence, unexplained
from perfvcs.locate.bisect.instructioncounts import Counting, Guide
from perfvcs.locate.bisect.posterior import MISLED, MISSED, Prior, believe


def even(last):
    return Prior(last).weights


def measured(levels, rng, spread=0.02):
    """A function that adds a block of some commits of a range with these levels to the evidence."""

    def block(evidence, step):
        drift = rng.normal(0, 0.05)

        def value(commit):
            return levels[commit] + drift + rng.normal(0, spread)

        if step.what == "confirm":
            evidence.add_step(step.commit, value(step.commit - 1), value(step.commit))
        elif step.what == "pair":
            evidence.add(value(0), value(len(levels) - 1))
        else:
            evidence.add(value(0), value(len(levels) - 1), step.commit, value(step.commit))

    return block


def search(levels, seed, *, broken=(), rules=None, exact=False, spread=0.02):
    evidence, block = (
        Evidence(len(levels) - 1, exact=exact),
        measured(levels, np.random.default_rng(seed), spread),
    )
    while (decision := decide(evidence, even(len(levels) - 1), rules)).step.what != "ended":
        if decision.step.commit in broken or (
            decision.step.what == "confirm" and decision.step.commit - 1 in broken
        ):
            evidence.skipped.update(
                {decision.step.commit, decision.step.commit - 1}.intersection(broken)
            )
        else:
            block(evidence, decision.step)
    return decision, evidence


def step_at(commit, count=64, size=0.1):
    return np.where(np.arange(count) >= commit, size, 0.0)


def enumerated(found, weights):
    """The probability of a jump at each commit, and of any change, by adding up every path of
    levels along the commits.
    """
    grid = posterior._levels()
    jumps, drifts, count = posterior._jumps(), posterior._drifts(), len(weights)
    chances = 1 - np.exp(-posterior.JUMPS * weights / weights.sum())
    small = (1 - chances) * (1 - np.exp(-posterior.SMALLEST_EXPECTATION * weights / weights.sum()))
    total, jumped, changed = 0.0, np.zeros(count), np.zeros(count)
    start, end = (int(np.argmin(abs(grid - level))) for level in (0.0, 1.0))
    emitted = {
        commit: posterior._seen(mean / found.effect + 0.5, times, grid, found)
        for commit, (mean, times) in found.candidates.items()
    }
    for places in itertools.product(range(len(grid)), repeat=count - 1):
        path = (start, *places, end)
        moves = [first != second for first, second in itertools.pairwise(path)]
        if sum(moves) > 3:
            continue  # too unlikely to matter
        weight = 1.0
        for number, (first, second) in enumerate(itertools.pairwise(path)):
            stays = (1 - chances[number] - small[number]) if first == second else 0.0
            weight *= (
                stays
                + small[number] * drifts[first, second]
                + chances[number] * jumps[first, second]
            )
        for commit, likely in emitted.items():
            weight *= likely[path[commit]]
        for commit, (mean, times) in found.steps.items():
            weight *= posterior._stepped(mean / found.effect, times, grid, found)[
                path[commit - 1], path[commit]
            ]
        total += weight
        large = [bool(jumps[first, second]) for first, second in itertools.pairwise(path)]
        jumped, changed = jumped + weight * np.array(large), changed + weight * np.array(moves)
    return jumped / total, changed / total


def test_the_belief_is_that_of_all_paths_of_levels():
    evidence, rng = Evidence(4), np.random.default_rng(3)
    for commit in (1, 2, 2, 3, 1):
        evidence.add(
            *rng.normal([0.0, 0.05], 0.02), commit, rng.normal(0.05 if commit > 1 else 0.0, 0.02)
        )
    weights = np.array([0.2, 0.5, 0.1, 0.2])
    found = evidence.summary()
    belief, (jump, change) = believe(found, weights), enumerated(found, weights)
    assert belief.jump == pytest.approx(jump, abs=0.01)
    assert belief.change == pytest.approx(change, abs=0.01)


def test_candidates_of_several_hosts_divide_the_range_among_them():
    evidence = Evidence(64)
    for drawn in (0.0, 0.01, -0.01, 0.005):
        evidence.add(0.0, 0.2 + drawn)
    decision = decide(evidence, even(64))
    assert decision.step.what == "block"
    chosen = together(evidence, decision, 3)
    assert chosen[0] == decision.step.commit
    parts = np.diff([0, *sorted(chosen), 64])
    assert parts.min() >= 10 and parts.max() <= 25


def test_hosts_repeat_a_candidate_when_no_other_one_tells_more():
    evidence = Evidence(4)
    for drawn in (0.0, 0.02, -0.02, 0.01) * 3:
        evidence.add(0.0, 0.02 + drawn)
    decision = decide(evidence, even(4))
    assert decision.step.what == "block"
    assert together(evidence, decision, 4) == [2, 2, 2, 2]


def test_a_pair_of_neighbours_counts_as_all_paths_say():
    evidence, rng = Evidence(4), np.random.default_rng(4)
    for commit in (1, 3):
        evidence.add(
            *rng.normal([0.0, 0.05], 0.02), commit, rng.normal(0.05 if commit > 1 else 0.0, 0.02)
        )
    for _ in range(3):
        evidence.add_step(2, *rng.normal([0.0, 0.05], 0.02))
    weights = np.full(4, 0.25)
    found = evidence.summary()
    belief, (jump, change) = believe(found, weights), enumerated(found, weights)
    assert belief.jump == pytest.approx(jump, abs=0.01)
    assert belief.change == pytest.approx(change, abs=0.01)


@pytest.mark.parametrize("culprit", [1, 2, 31, 62, 63])
def test_one_step_is_found_wherever_it_is(culprit):
    decision, _ = search(step_at(culprit), culprit)
    assert (decision.step.why, decision.named) == ("found", (culprit,))


def test_two_steps_are_both_named():
    decision, _ = search(step_at(20) + step_at(45), 1)
    assert (decision.step.why, set(decision.named)) == ("found", {20, 45})


@pytest.mark.parametrize("exact", [True, False])
@pytest.mark.filterwarnings("error")
def test_a_step_that_was_nearly_undone_later_is_named_however_far_it_went(exact):
    levels = step_at(30, size=0.17) - step_at(50, size=0.163)
    rules = StoppingRules(least=0.0001)
    decision, _ = search(levels, 1, rules=rules, exact=exact, spread=0.0 if exact else 0.0002)
    assert decision.step.why == "found" and 30 in decision.named


@pytest.mark.parametrize(("count", "most"), [(8, 5), (16, 6), (64, 8)])
def test_values_that_hardly_vary_do_not_lead_to_a_build_of_every_commit(count, most):
    decision, evidence = search(step_at(count // 2, count, 1.0), 1, spread=0.005)
    assert decision.named == (count // 2,)
    assert (
        len(
            {
                0,
                count - 1,
                *evidence.candidates,
                *(place for one in evidence.steps for place in (one - 1, one)),
            }
        )
        <= most
    )


def test_values_that_repeat_although_nobody_says_so_are_no_obstacle():
    decision, _ = search(np.log([1.0, 1.02, 1.04, 1.04, 1.16, 1.16, 1.18, 1.2, 1.2]), 1, spread=0.0)
    assert (decision.step.why, decision.named) == ("found", (4,))


@pytest.mark.slow
def test_small_changes_around_the_largest_do_not_keep_the_search_going():
    levels = step_at(53) + step_at(17, size=0.03) + step_at(33, size=0.015)
    found = [search(levels, seed) for seed in range(10)]
    assert all(decision.step.why == "found" and decision.named[0] == 53 for decision, _ in found)
    assert np.median([len(evidence.pairs) for _, evidence in found]) < 100


@pytest.mark.parametrize(
    ("steps", "likely"),
    [
        ({20: 0.1}, [20]),
        ({17: 0.04, 53: 0.1}, [53]),
        ({40: 0.05, 50: 0.05}, [40, 50]),
        ({1: 0.1}, [1]),
    ],
)
def test_counts_that_repeat_say_where_to_look(steps, likely):
    rng, asked = np.random.default_rng(2), []
    levels = sum(step_at(commit, size=size) for commit, size in steps.items()) + rng.normal(
        0, 0.002, 64
    )

    def count(places):
        asked.extend(places)
        return {place: float(np.exp(levels[place])) for place in places}

    guide = Counting(63, {}, set(), even(63), 1, count).run()
    assert (np.flatnonzero(guide.jump > 0.9) + 1).tolist() == likely
    assert len(asked) == len(set(asked)) <= 13
    again = Counting(
        63, {place: float(np.exp(levels[place])) for place in asked}, set(), even(63), 1, count
    ).run()
    assert again.jump == pytest.approx(guide.jump)


def test_counts_that_do_not_differ_guide_nothing():
    assert (
        Counting(63, {}, set(), even(63), 1, lambda places: dict.fromkeys(places, 5.0)).run()
        is None
    )
    assert (
        Counting(
            63, {}, set(), even(63), 1, lambda places: {place: 64.0 - place for place in places}
        ).run()
        is None
    )


def test_commits_that_cannot_be_counted_are_left_out():
    levels = step_at(30)

    def count(places):
        return {place: float(np.exp(levels[place])) for place in places if place % 8 != 6}

    guide = Counting(63, {}, set(), even(63), 1, count).run()
    assert guide.jump[29:31].sum() > 0.9
    assert Counting(63, {}, set(), even(63), 1, lambda _: {}).run() is None


def test_a_guide_weighs_as_much_as_it_explains():
    jump = np.eye(10)[3]
    assert Prior(10, guide=Guide(0.1, jump)).weights(0.1)[3] > 0.9
    assert Prior(10, guide=Guide(0.02, jump)).weights(0.1)[3] < 0.35
    assert Prior(10, guide=Guide(0.02, jump)).weights(0.1).sum() == pytest.approx(1)


def test_ends_that_do_not_differ_have_nothing_to_look_for():
    decision, evidence = search(np.zeros(64), 5, spread=0.005)
    assert decision.step.why == "equal"
    assert not decision.proved and not decision.named
    assert (
        decision.interval[0] < 0 < decision.interval[1] and max(map(abs, decision.interval)) < 0.01
    )
    assert len(evidence.candidates) <= 2


def test_values_that_do_not_vary_at_all_are_equal_ends():
    decision, evidence = search(np.zeros(8), 5, spread=0.0)
    assert (decision.step.why, decision.named) == ("equal", ()) and len(evidence.pairs) <= 8
    evidence = Evidence(2, pairs=[0.0] * 4)
    assert decide(evidence, even(2)).step.what == "pair"


def test_pairs_of_single_commits_count_in_the_proof():
    rng, evidence = np.random.default_rng(4), Evidence(8)
    for away in rng.normal(0, 0.02, 5):
        evidence.add(0.0, 0.05 + away)
    alone = decide(evidence, even(8))
    assert not alone.proved
    for away in rng.normal(0, 0.02, 8):
        evidence.add_step(3, 0.0, 0.05 + away)
    together = decide(evidence, even(8))
    assert together.proved and together.evidence > 10 * alone.evidence
    assert together.interval == alone.interval
    for away in rng.normal(0, 0.02, 40):
        evidence.add_step(6, 0.0, away)
    assert decide(evidence, even(8)).evidence < together.evidence, (
        "a commit that does not differ takes evidence away"
    )


def test_a_difference_that_is_not_shown_is_not_looked_for():
    decision, _ = search(np.zeros(64), 6, rules=StoppingRules(least=0.001, most_pairs=20))
    assert (decision.step.why, decision.named) == ("unproved", ())


def test_a_good_end_that_is_worse_is_noticed():
    decision, _ = search(step_at(20, size=-0.1), 7)
    assert (decision.step.why, decision.named) == ("reversed", ())


def test_commits_that_cannot_be_measured_leave_a_range_that_holds_the_culprit():
    decision, evidence = search(step_at(30), 8, broken={29, 30, 31})
    assert decision.step.why == "range"
    assert 30 in decision.belief.range()
    assert set(decision.belief.range()) <= set(range(28, 34))
    assert evidence.skipped <= {29, 30, 31}


@pytest.mark.parametrize("exact", [True, False])
@pytest.mark.parametrize(
    ("broken", "culprit"),
    [
        (range(20, 50), 35),
        (range(20, 50), 10),
        (range(20, 50), 55),
        (range(1, 31), 9),
        (range(33, 63), 50),
    ],
)
def test_a_run_of_commits_that_fail_is_not_tried_one_by_one(broken, culprit, exact):
    decision, evidence = search(
        step_at(culprit), 8, broken=set(broken), exact=exact, spread=0.0 if exact else 0.02
    )
    assert len(evidence.skipped) <= 16
    if culprit not in broken:
        assert decision.named == (culprit,)
        return
    held = decision.belief.range()
    assert decision.step.why == "range" and culprit in held
    assert broken[0] - 1 <= held[0] <= held[-1] <= broken[-1] + 1, "the ends of the run are known"


def test_the_chance_of_a_commit_to_run_grows_with_its_distance_to_those_that_fail():
    evidence = Evidence(64, skipped={20})
    evidence.add(0.0, 0.1, 50, 0.1)
    chances = evidence.chances()
    assert chances[[0, 20, 50, 64]].tolist() == [1, 0, 1, 1] and (chances[50:] == 1).all()
    assert (np.diff(chances[20:51]) > 0).all() and (np.diff(chances[:21]) < 0).all()
    # of all lengths from 1 to 29 that a run may go on for, in equal magnitudes, those of fewer than
    # 10
    assert chances[30] == pytest.approx(np.log(11) / np.log(31))
    evidence.skipped |= {29}
    chances = evidence.chances()
    assert chances[24] == pytest.approx(4 / 14) and chances[21] == 0, "one in eleven is not tried"
    assert 1 - chances[33] == pytest.approx(1 - np.log(14 / 10) / np.log(31 / 10))


def test_with_nothing_between_that_can_be_measured_all_are_in_question():
    decision, evidence = search(step_at(2, 6), 9, broken=set(range(1, 5)))
    assert decision.step.why == "range" and not decision.named
    assert decision.belief.range() == [1, 2, 3, 4, 5]
    assert evidence.skipped == {1, 2, 3, 4}


def test_a_range_of_one_commit_needs_no_other_proof():
    decision, evidence = search([0.0, 0.1], 10)
    assert (decision.step.why, decision.named) == ("found", (1,))
    assert not evidence.candidates


def test_ten_thousand_commits_take_about_fourteen_builds():
    decision, evidence = search(step_at(7001, 10_001), 11)
    assert decision.named == (7001,)
    assert len(evidence.candidates) <= 20


def test_what_repeats_exactly_is_measured_once_each():
    decision, evidence = search(
        step_at(40, size=0.001), 12, exact=True, spread=0.0, rules=StoppingRules(least=0.0001)
    )
    assert decision.named == (40,)
    assert len(evidence.pairs) <= 8 and len(evidence.steps[40]) <= 2
    assert all(len(values) == 1 for values in evidence.candidates.values())


def test_an_execution_that_was_disturbed_does_not_move_a_mean_far():
    evidence = Evidence(2)
    for number in range(20):
        evidence.add(0.0 + number % 3 * 0.01, 0.1, 1, 0.1)
    evidence.add(0.0, 3.0, 1, 0.1)
    assert evidence.summary().effect == pytest.approx(0.09, abs=0.02)


@pytest.mark.parametrize(("last", "settled"), [(0.04, True), (-0.005, False)])
def test_a_commit_is_measured_until_check_shows_it_as_well(last, settled):
    """Both intervals leave out 0, but signs drawn at random show as much as the second in 1.6 %."""
    assert _is_settled([0.04, 0.05, 0.046, 0.052, 0.048, 0.055, 0.044, last]) == settled


@pytest.mark.parametrize(
    ("steps", "named", "rest"),
    [
        ({3: [0.06, 0.05, 0.07]}, (3,), 0.4),
        ({3: [0.06, 0.05, 0.07], 5: [0.04, 0.04]}, (3, 5), 0.0),
        ({3: [0.2, -0.08]}, (3,), 0.0),
        ({}, (1,), 0.0),
    ],
)
def test_what_the_named_commits_do_not_explain_is_known(steps, named, rest):
    evidence = Evidence(9, pairs=[0.1, 0.11, 0.09])
    evidence.steps.update(steps)
    found = SimpleNamespace(
        outcome=SimpleNamespace(evidence=evidence, decision=SimpleNamespace(named=named))
    )
    assert unexplained(found) == pytest.approx(rest)


def test_no_prior_rules_a_commit_out():
    weights = Prior(
        50, [number == 7 for number in range(50)], {0: 0.0, 10: 0.0, 20: 1.0, 30: 1.0, 40: 1.0}
    ).weights(1.0)
    assert weights.sum() == pytest.approx(1)
    assert weights.min() >= 0.999 * MISSED * MISLED / 50
    assert Prior(50, [False] * 50).weights(0.1) == pytest.approx(np.full(50, 1 / 50))


def test_levels_that_were_stored_point_to_the_step_between_them():
    weights = Prior(
        50, stored={place: 0.1 * (place >= 30) + 0.001 * (place % 3) for place in range(0, 51, 5)}
    ).weights(0.1)
    assert weights[25:30].sum() > 0.9

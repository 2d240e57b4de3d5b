"""Many counters over time: what is redundant, what belongs together, what a model of the rest
predicts, and what has regressed.
"""

from __future__ import annotations

import csv

import numpy as np
import pytest
from conftest import TESTS
from numpy.typing import NDArray
from scipy import stats
from scipy.cluster.hierarchy import fcluster, linkage
from scipy.spatial.distance import pdist, squareform

from perfvcs.statistics.multivariate.counters import compare, structure
from perfvcs.statistics.multivariate.prediction import (
    cross_errors,
    matrix,
    prediction_error,
    target,
    thresholds,
)
from perfvcs.statistics.multivariate.redundancy import (
    distances,
    redundant,
    standardised,
    tree,
    varying,
)
from perfvcs.statistics.ranks import kolmogorov_smirnov

Matrix = NDArray[np.float64]
KEPT = [
    "CPU Privileged",
    "CPU User",
    "IO read byte/sec",
    "IO write byte/sec",
    "IO write op/sec",
    "Memory Private byte KB",
]


@pytest.fixture(scope="module")
def shang() -> tuple[list[str], Matrix, Matrix]:
    """Table 1 of Shang et al. 2015: names, old version, new version."""
    with (TESTS / "data" / "shang_table1.csv").open() as file:
        rows = list(csv.DictReader(file))
    names = [name for name in rows[0] if name not in ("version", "time")]
    old, new = (
        np.array(
            [[float(row[name]) for name in names] for row in rows if row["version"] == version]
        )
        for version in ("old", "new")
    )
    return names, old, new


def load(random: np.random.Generator, times: int = 60, level: float = 10.0) -> Matrix:
    """A run of seven counters: three that follow the load, two that follow another thing, one
    alone, one constant.
    """
    wave, other = level + random.normal(0, 1, times), 5 + random.normal(0, 1, times)
    noise = random.normal(0, 0.5, (times, 5))
    return np.column_stack(
        [
            2 * wave + noise[:, 0],
            3 * wave + noise[:, 1],
            30 - wave + noise[:, 2],
            other,
            other + noise[:, 3],
            50 + noise[:, 4],
            np.full(times, 7.0),
        ]
    )


NAMES = ["cpu", "requests", "idle", "read", "write", "rss", "threads"]


# The published example.


def test_the_published_example_loses_its_redundant_counters(
    shang: tuple[list[str], Matrix, Matrix],
) -> None:
    names, old, new = shang
    gone = redundant(np.concatenate([old, new]))
    assert [names[place] for place in gone] == ["IO read op/sec", "Memory Working set KB"]


def test_the_published_distances_come_out_to_two_decimals(
    shang: tuple[list[str], Matrix, Matrix],
) -> None:
    names, old, new = shang
    pooled = np.concatenate([old, new])[:, [names.index(name) for name in KEPT]]
    lower = [
        [0.58],
        [0.08, 0.80],
        [0.90, 0.07, 0.15],
        [0.44, 0.52, 0.73, 0.93],
        [0.84, 0.06, 0.14, 0.12, 0.03],
    ]
    found = distances(pooled, "shang2015")
    for row, expected in enumerate(lower, 1):
        assert [round(value, 2) for value in found[row, :row].tolist()] == expected
    assert found == pytest.approx(found.T) and not found.diagonal().any()


def test_the_published_tree_is_cut_into_the_published_clusters(
    shang: tuple[list[str], Matrix, Matrix],
) -> None:
    names, old, new = shang
    found = structure([[old], [new]], names, distance="shang2015")
    assert list(found.counters) == KEPT
    assert [[KEPT[leaf] for leaf in leaves] for leaves in found.tree.clusters] == [
        ["CPU Privileged", "IO read byte/sec"],
        ["CPU User", "IO write byte/sec"],
        ["IO write op/sec", "Memory Private byte KB"],
    ]


def test_the_published_targets_errors_and_verdicts_come_out(
    shang: tuple[list[str], Matrix, Matrix],
) -> None:
    names, old, new = shang
    found = compare([old], new, names, distance="shang2015").clusters
    assert {cluster.target: round(100 * cluster.error) for cluster in found} == {
        "IO read byte/sec": 100,
        "CPU User": 9,  # the paper prints 2, which least squares on its own table does not give
        "IO write op/sec": 4,
    }
    assert [cluster.target for cluster in found if cluster.regressed] == ["IO read byte/sec"]
    assert {cluster.threshold for cluster in found} == {0.3}


def test_both_choices_of_distance_find_the_published_regression(
    shang: tuple[list[str], Matrix, Matrix],
) -> None:
    names, old, new = shang
    (regressed,) = [cluster for cluster in compare([old], new, names).clusters if cluster.regressed]
    assert (regressed.target, regressed.error, regressed.fitted) == ("IO read byte/sec", 1, 0)


def test_a_counter_that_swings_in_the_old_version_needs_more_than_the_published_threshold(
    shang: tuple[list[str], Matrix, Matrix],
) -> None:
    names, old, new = shang
    published, own = (
        {one.target: one for one in compare([old], new, names, choice=choice).clusters}[
            "IO write byte/sec"
        ]  # type: ignore[arg-type]
        for choice in ("shang2015", "learned")
    )
    assert published.error == pytest.approx(0.334, abs=5e-4) and published.threshold == 0.3
    assert own.error == pytest.approx(0.299, abs=5e-4)  # of the total
    assert own.threshold == 2 * own.fitted and published.regressed and not own.regressed


# Redundancy.


def test_what_r2_says_is_what_a_regression_says() -> None:
    random = np.random.default_rng(1)
    values = load(random)[:, :6]
    by_hand = []
    left = list(range(6))
    while True:
        r2 = []
        for place in left:
            rest = np.column_stack(
                [np.ones(len(values)), values[:, [other for other in left if other != place]]]
            )
            residual = (
                values[:, place] - rest @ np.linalg.lstsq(rest, values[:, place], rcond=None)[0]
            )
            r2.append(1 - residual.var() / values[:, place].var())
        if max(r2) <= 0.7:
            break
        by_hand.append(left.pop(int(np.argmax(r2))))
    assert redundant(values, 0.7) == by_hand and by_hand


def test_many_redundant_counters_go_one_by_one_until_the_rest_stands_alone() -> None:
    random = np.random.default_rng(2)
    base = random.normal(size=(300, 5))
    values = np.column_stack(
        [base, *(base @ random.normal(size=5) + random.normal(0, 0.01, 300) for _ in range(12))]
    )
    gone = redundant(values)
    left = [place for place in range(17) if place not in gone]
    assert len(gone) == len(set(gone)) and 1 <= len(left) <= 5
    inverse = np.linalg.inv(np.corrcoef(values[:, left].T).reshape(len(left), len(left)))
    assert (1 - 1 / inverse.diagonal() <= 0.9).all()


def test_of_duplicates_the_first_stays() -> None:
    counter = np.random.default_rng(3).normal(size=20)
    values = np.column_stack(
        [counter, 2 * counter, -counter + 1e6, np.random.default_rng(4).normal(size=20)]
    )
    assert sorted(redundant(values)) == [1, 2]
    assert redundant(values, threshold=1) == []


def test_more_counters_than_observations_leave_independent_ones() -> None:
    values = np.random.default_rng(5).normal(size=(6, 40))
    left = 40 - len(redundant(values))
    assert 1 <= left <= 5
    assert len(redundant(values[:2])) == 39  # two observations: one direction
    assert len(redundant(values[:1])) == 0  # one observation: nothing varies


def test_constants_are_never_redundant_and_foreign_values_are_refused() -> None:
    counter = np.arange(5.0)
    assert redundant(np.column_stack([np.ones(5), counter, np.zeros(5)])) == []
    assert redundant(np.empty((0, 3))) == [] and redundant(np.empty((4, 0))) == []
    for value in (np.nan, np.inf):
        with pytest.raises(ValueError, match="finite"):
            redundant([[1.0, 2.0], [value, 3.0]])


def test_rounding_is_not_variance() -> None:
    values = np.column_stack(
        [
            np.full(4, 0.1),
            [0.1, 0.1 + 1e-17, 0.1, 0.1],
            [1e-300, 2e-300, 1e-300, 0],
            [1, 2, np.nan, 3],
        ]
    )
    assert varying(values).tolist() == [False, False, True, False]
    assert varying(np.empty((0, 2))).tolist() == [False, False]


def test_the_largest_and_smallest_floats_have_correlations() -> None:
    values = np.column_stack([[1e308, -1e308, 1e307], [1e-308, -1e-308, 1e-309]])
    unit = standardised(values)
    assert (unit**2).sum(axis=0) == pytest.approx([1, 1]) and unit[:, 0] @ unit[
        :, 1
    ] == pytest.approx(1)


# Distances, tree, cut.


def test_counters_that_move_against_each_other_are_together_by_default_and_apart_as_published() -> (
    None
):
    values = np.column_stack([np.arange(5.0), -np.arange(5.0), [1.0, 1, 1, 1, 1]])
    assert distances(values)[0].tolist() == pytest.approx([0, 0, 1])
    assert distances(values, "shang2015")[0].tolist() == pytest.approx([0, 1, 1])


def test_unrelated_counters_with_a_slightly_negative_rho_are_apart_by_default() -> None:
    values = np.column_stack([[1.0, 2, 3, 4], [1.0, -1, -1, 0.9]])
    rho = stats.pearsonr(*values.T).statistic
    assert -0.1 < rho < 0
    assert distances(values)[0, 1] == pytest.approx(1 + rho)
    assert distances(values, "shang2015")[0, 1] == pytest.approx(-rho)


@pytest.mark.parametrize("seed", range(5))
def test_the_tree_is_scipys_and_its_index_that_of_the_points_themselves(seed: int) -> None:
    random = np.random.default_rng(seed)
    centres = random.normal(0, 5, (3, 4))
    points = centres[np.arange(12) % 3] + random.normal(0, 0.3, (12, 4))
    squares = squareform(pdist(points)) ** 2
    found = tree(squares)
    steps = linkage(squareform(squares), "average")
    assert found.merges.tolist() == steps[:, :2].astype(
        int
    ).tolist() and found.heights == pytest.approx(steps[:, 2])
    assert len(found.clusters) == 3 and len({tuple(leaves) for leaves in found.clusters}) == 3
    for k in range(2, 12):
        labels = fcluster(steps, k, "maxclust")
        inside = sum(
            ((points[labels == label] - points[labels == label].mean(axis=0)) ** 2).sum()
            for label in range(1, k + 1)
        )
        between = ((points - points.mean(axis=0)) ** 2).sum() - inside
        assert found.score[k] == pytest.approx((between / (k - 1)) / (inside / (12 - k)))
    assert np.isnan(found.score[[0, 1, 12]]).all()
    assert sorted(found.order) == list(range(12))
    assert found.heights[8] < found.height < found.heights[9]


def test_no_branches_cross_in_the_order_of_the_leaves() -> None:
    found = tree(squareform(pdist(np.random.default_rng(7).normal(size=(9, 3)))))
    members: dict[int, set[int]] = {leaf: {leaf} for leaf in range(9)}
    for step, (left, right) in enumerate(found.merges.tolist()):
        members[9 + step] = members[left] | members[right]
        places = sorted(found.order.index(leaf) for leaf in members[9 + step])
        assert places == list(range(places[0], places[-1] + 1))


def test_none_one_and_two_counters_have_a_tree() -> None:
    none, one, two = tree(np.empty((0, 0))), tree([[0.0]]), tree([[0.0, 0.4], [0.4, 0.0]])
    assert (none.clusters, none.order) == ([], [])
    assert (one.clusters, one.order, one.height) == ([[0]], [0], 0.5)
    assert two.clusters == [[0, 1]] and two.order == [0, 1] and two.height == pytest.approx(0.44)


def test_equal_distances_and_no_distances_have_a_tree() -> None:
    equal = tree(1 - np.eye(4))
    assert len(equal.clusters) == 2 and equal.score[2] == pytest.approx(1)
    nothing = tree(np.zeros((4, 4)))
    assert len(nothing.clusters) == 2 and nothing.score[2:4].tolist() == [0, 0]
    pairs = np.ones((4, 4)) - np.kron(np.eye(2), np.ones((2, 2)))
    assert tree(pairs).clusters == [[0, 1], [2, 3]] and np.isinf(tree(pairs).score[2])


# The target counter.


def test_the_target_has_the_smallest_p_of_scipys_test() -> None:
    random = np.random.default_rng(8)
    old, new = random.normal(size=(15, 6)), random.normal(0.4, 1, (11, 6))
    p = kolmogorov_smirnov(old.T, new.T).p
    assert target(old, new) == int(np.argmin(p))


def test_equal_p_are_distinguished_by_the_standardised_shift() -> None:
    old = np.column_stack([np.arange(200.0), np.arange(200.0), np.arange(200.0), np.zeros(200)])
    shifts = [1e3, 1e4, 1e4, 0.0]
    # all three are apart, with p below the smallest float; the first of the two furthest
    assert target(old, old + shifts) == 1
    constant = np.column_stack([np.arange(3.0), np.zeros(3)])
    assert target(constant, constant + 100) == 1  # a constant that moved is infinitely far
    assert target(constant, constant) == 0


# Prediction.


def test_the_error_is_that_of_a_least_squares_fit() -> None:
    random = np.random.default_rng(9)
    old, new = load(random), load(random, 30, 12)
    design = np.column_stack([np.ones(60), old[:, 1:3]])
    predicted = (
        np.column_stack([np.ones(30), new[:, 1:3]])
        @ np.linalg.lstsq(design, old[:, 0], rcond=None)[0]
    )
    expected = np.abs((predicted - new[:, 0]) / new[:, 0]).mean()
    assert prediction_error(old, new, 0, [1, 2]) == pytest.approx(expected)


def test_alone_in_its_cluster_a_counter_is_predicted_by_its_mean() -> None:
    assert prediction_error([[1.0], [3.0]], [[4.0], [1.0]], 0, []) == pytest.approx((0.5 + 1) / 2)


def test_a_zero_is_met_or_missed() -> None:
    assert prediction_error([[0.0], [0.0]], [[0.0], [5.0]], 0, []) == 0.5
    assert prediction_error([[0.0], [2.0]], [[0.0], [1.0]], 0, []) == 0.5
    assert prediction_error([[-1.0]], [[1.0]], 0, []) == 2


def test_a_quiet_moment_counts_by_what_it_has() -> None:
    old, new = [[10.0], [30.0]], [[39.9], [0.1]]
    assert prediction_error(old, new, 0, []) == pytest.approx((19.9 / 39.9 + 19.9 / 0.1) / 2)
    assert prediction_error(old, new, 0, [], "total") == pytest.approx(39.8 / 40)
    assert prediction_error([[0.0], [0.0]], [[0.0], [0.0]], 0, [], "total") == 0
    assert prediction_error([[1.0], [1.0]], [[0.0], [0.0]], 0, [], "total") == 1


@pytest.mark.simulation
def test_good_runs_that_write_in_other_bursts_are_alike() -> None:
    random = np.random.default_rng(21)

    def run() -> Matrix:
        requests = random.uniform(50, 150, 40)
        bursts = (
            np.where(
                random.random(40) < 0.5, random.uniform(0.5, 1.5, 40), random.uniform(0, 0.04, 40)
            )
            * requests
        )
        return np.column_stack(
            [requests * random.normal(1, 0.02, 40), bursts, requests * random.normal(3, 0.1, 40)]
        )

    found = [compare([run() for _ in range(5)], run(), NAMES[:3]) for _ in range(200)]
    # 11 by observation
    assert sum(any(cluster.regressed for cluster in one.clusters) for one in found) <= 4


def test_what_was_constant_predicts_nothing() -> None:
    old = np.column_stack([[1.0, 2.0, 3.0], np.full(3, 4.0)])
    new = np.column_stack([[2.0, 2.0], [400.0, 4000.0]])
    assert prediction_error(old, new, 0, [1]) == 0


def test_more_counters_than_observations_have_a_defined_model() -> None:
    random = np.random.default_rng(10)
    old, new = random.normal(5, 1, (4, 20)), random.normal(5, 1, (7, 20))
    assert prediction_error(old, old, 0, list(range(1, 20))) == pytest.approx(0, abs=1e-9)
    assert np.isfinite(prediction_error(old, new, 0, list(range(1, 20))))
    assert np.isfinite(prediction_error(old[:1], new, 0, list(range(1, 20))))


def test_the_largest_floats_have_an_error() -> None:
    old, new = np.array([[1e308, 1.0], [-1e308, 2.0]]), np.array([[1.7e308, 5e-324]])
    assert np.isfinite(prediction_error(old, new, 0, [1])) and np.isfinite(
        prediction_error(old, new, 1, [0])
    )


# Thresholds.


def test_each_good_run_is_predicted_by_the_others() -> None:
    runs = [[[1.0]], [[2.0]], [[4.0]]]
    assert cross_errors(runs, 0, []) == pytest.approx([(3 - 1) / 1, (2.5 - 2) / 2, (4 - 1.5) / 4])
    assert cross_errors(runs[:1], 0, []) == []


def test_a_threshold_is_a_prediction_bound_on_logarithms() -> None:
    errors = np.array([[0.10, 0.12, 0.14, 0.09], [0.2, 0.5, 0.3, 0.4]])
    logs = np.log(errors)
    variance = logs.var(axis=1, ddof=1)
    moderated = (3 * variance + 4 * variance.mean()) / 7  # the median of two is their mean
    bound = np.exp(logs.mean(axis=1) + stats.t.ppf(1 - 0.005, 7) * np.sqrt(1.25 * moderated))
    assert thresholds(errors) == pytest.approx(bound)


def test_a_threshold_is_exceeded_by_few_good_runs() -> None:
    random = np.random.default_rng(11)
    errors = 0.1 * np.exp(random.normal(0, 0.2, (2000, 10, 6)))
    alarms = np.mean([(case[:, 5] > thresholds(case[:, :5])).any() for case in errors])
    assert alarms < 0.015


def test_steady_and_tiny_errors_have_a_threshold_that_leaves_room() -> None:
    steady, tiny = thresholds([[0.3, 0.3], [0.0, 1e-12]])
    assert 0.33 < steady < 0.6 and tiny == 0.05
    assert thresholds(np.empty((0, 3))).tolist() == []
    assert np.isfinite(thresholds([[1e300, 1e-300, 1e300]])).all()
    with pytest.raises(ValueError, match="two good runs"):
        thresholds([[0.1]])


# All of it.


def test_five_good_runs_are_alike_and_a_regression_is_named() -> None:
    random = np.random.default_rng(12)
    good = [load(random) for _ in range(5)]
    for place, run in enumerate(good):
        found = compare(good[:place] + good[place + 1 :], run, NAMES)
        assert not any(cluster.regressed for cluster in found.clusters)
        assert found.structure.constant == ("threads",) and found.observations == (240, 60)
    worse = load(random)
    worse[:, 5] *= 1.3
    (regressed,) = [
        cluster for cluster in compare(good, worse, NAMES).clusters if cluster.regressed
    ]
    assert regressed.target == "rss" and regressed.after / regressed.before == pytest.approx(
        1.3, rel=0.01
    )
    assert regressed.error > 4 * regressed.threshold and len(regressed.errors) == 5
    assert regressed.p < 1e-12 and regressed.statistic == 1 and regressed.fitted < regressed.error


def test_a_relation_that_broke_is_found_though_no_level_moved() -> None:
    random = np.random.default_rng(13)
    good, new = [load(random) for _ in range(4)], load(random)
    new[:, 0] = 20 + 2 * random.normal(0, 1, 60)  # no longer with the load
    found = compare(good, new, NAMES, redundancy=1.0)
    assert not any(cluster.regressed for cluster in found.clusters if "rss" in cluster.counters)
    assert any(cluster.regressed for cluster in found.clusters if "cpu" in cluster.counters)


def test_counters_that_differ_between_all_runs_do_not_hide_a_regression_beside_them() -> None:
    random = np.random.default_rng(14)

    def run(factor: float = 1.0) -> Matrix:
        drift = np.linspace(0, 1, 50)
        jitter = random.normal(0, 0.003)
        memory = 100 * factor + drift + random.normal(0, 0.2, 50)
        return np.column_stack([50 * (1 + jitter) + 1e-4 * memory, memory, random.normal(9, 1, 50)])

    good, new = [run() for _ in range(5)], run(1.5)
    names = ["base", "memory", "noise"]
    published = [
        cluster.target for cluster in compare(good, new, names, choice="shang2015").clusters
    ]
    learned = compare(good, new, names).clusters
    assert "memory" in {cluster.target for cluster in learned if cluster.regressed}
    assert len(published) == len(learned)


def test_a_constant_with_another_value_in_the_new_version_has_regressed() -> None:
    random = np.random.default_rng(15)
    old, new = load(random), load(random)
    new[:, 6] = 14.0
    found = {cluster.target: cluster for cluster in compare([old], new, NAMES).clusters}
    assert found["threads"].error == 0.5 and found["threads"].regressed


def test_missing_values_cost_their_rows_and_missing_counters_their_column() -> None:
    random = np.random.default_rng(16)
    old, new = load(random), load(random)
    old[3, 0], old[4, 1], new[:40, 2] = np.nan, -np.inf, np.nan
    found = compare([old], new, NAMES)
    assert found.structure.unknown == ("idle",) and found.observations == (58, 60)
    whole = compare(
        [np.delete(old, [3, 4], axis=0)[:, [0, 1, 3, 4, 5, 6]]],
        new[:, [0, 1, 3, 4, 5, 6]],
        NAMES[:2] + NAMES[3:],
    )
    assert [cluster.error for cluster in whole.clusters] == [
        cluster.error for cluster in found.clusters
    ]


@pytest.mark.parametrize("rows", [1, 2])
def test_one_and_two_observations_are_defined(rows: int) -> None:
    old, new = load(np.random.default_rng(17), rows), load(np.random.default_rng(18), rows)
    for distance in ("correlation", "shang2015"):
        found = compare([old], new, NAMES, distance=distance)  # type: ignore[arg-type]
        assert found.observations == (rows, rows) and found.clusters
        assert all(np.isfinite(cluster.error) for cluster in found.clusters)


def test_nothing_that_changes_is_no_cluster() -> None:
    same = np.ones((5, 3))
    found = compare([same, same], same, ["a", "b", "c"])
    assert (
        found.clusters == ()
        and found.structure.constant == ("a", "b", "c")
        and found.structure.tree.clusters == []
    )
    assert compare([np.empty((2, 0))], np.empty((2, 0)), []).clusters == ()


def test_what_does_not_fit_is_refused() -> None:
    for old, new, message in (
        ([], np.ones((2, 1)), "observations of both versions"),
        ([np.ones((2, 2))], np.ones((2, 1)), "same counters"),
        ([np.ones(2)], np.ones((2, 1)), "shape"),
        ([np.empty((0, 1))], np.ones((2, 1)), "observations of both"),
        ([np.ones((2, 1))], np.empty((0, 1)), "observations of both"),
    ):
        with pytest.raises(ValueError, match=message):
            compare(old, new, ["a"])
    assert matrix([[1]]).shape == (1, 1)


def test_one_version_alone_has_a_structure() -> None:
    found = structure([[load(np.random.default_rng(19))]], NAMES)
    assert {
        frozenset(found.counters[leaf] for leaf in leaves) for leaves in found.tree.clusters
    } >= {frozenset({"rss"})}
    assert structure([], ["a"]).counters == ()

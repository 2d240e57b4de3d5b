"""What every postprocessor keeps to, whichever it is."""

from __future__ import annotations

from dataclasses import fields, is_dataclass
from typing import Any

import msgspec
import numpy as np
import pytest
from samples import sample_profile

from perfvcs import plugins
from perfvcs.errors import UsageError
from perfvcs.plugins.postprocessor import Postprocessor
from perfvcs.postprocessors._entries import conclude, name_of
from perfvcs.postprocessors.regression import Regression
from perfvcs.profile import Metric, Profile, Resources
from perfvcs.profile.decoding import decode
from perfvcs.profile.fittedmodels import OpenEntry, as_written

NAMES = [name.replace("_", "-") for name in plugins.names("postprocessors")]
ROWS = 400


def calls(**overrides: Any) -> Profile:
    """Calls of three functions over sizes in five executions: one linear, one flat, and one that
    has a single size.
    """
    random = np.random.default_rng(3)
    uid = np.arange(ROWS) % 3
    size = np.where(uid == 2, 7.0, random.integers(1, 100, ROWS))
    value = np.select([uid == 0, uid == 1], [1e-6 + 1e-8 * size, 2e-6], 3e-6) * np.exp(
        0.05 * random.standard_normal(ROWS)
    )
    rows = Resources(
        names=["linear", "flat", "</script>\x1b[31m"],
        uid=uid.tolist(),
        execution=(np.arange(ROWS) % 5).tolist(),
        mark=[0] * (ROWS - 1) + [2],
        size=size.tolist(),
        metrics={"duration": value.tolist(), "cost": [1e-8] * ROWS},
    )
    fields: dict[str, Any] = {
        "resources": rows,
        "metrics": {"duration": Metric("s"), "cost": Metric("s", "none")},
    }
    return sample_profile(**(fields | overrides))


@pytest.fixture(params=NAMES)
def name(request: pytest.FixtureRequest) -> str:
    found: str = request.param
    return found


@pytest.fixture
def member(name: str) -> Postprocessor:
    found: Postprocessor = plugins.find("postprocessors", name)()
    return found


def test_it_is_a_frozen_dataclass_whose_options_all_have_defaults(name: str) -> None:
    kind = plugins.find("postprocessors", name)
    assert is_dataclass(kind)
    assert kind.__dataclass_params__.frozen  # type: ignore[attr-defined]
    assert (kind.__doc__ or "").partition("\n\n")[0].rstrip().endswith((".", ","))
    assert plugins.build("postprocessors", name, {}, "here") == kind()
    assert name_of(kind()) == name


def test_it_adds_results_and_leaves_the_rows(name: str, member: Postprocessor) -> None:
    profile = calls()
    document = profile.encode()
    done = member.apply(profile)
    assert profile.encode() == document, "the profile that it was given has changed"
    assert done != profile
    assert [processed.name for processed in done.postprocessors] == [name]
    for metric, values in profile.resources.metrics.items():
        assert done.resources.metrics[metric] == values
        assert done.metrics[metric] == profile.metrics[metric]
    assert {
        metric: about.better
        for metric, about in done.metrics.items()
        if metric not in profile.metrics
    } == dict.fromkeys(done.metrics.keys() - profile.metrics.keys(), "none")
    for entry in done.models:
        assert entry.postprocessor == name
        assert entry.uid in profile.resources.names
        assert entry.metric == "duration"


def test_what_it_makes_can_be_written_and_read(member: Postprocessor) -> None:
    done = member.apply(calls())
    assert decode(done.encode()) == done


def test_applied_twice_it_gives_what_it_gives_once(member: Postprocessor) -> None:
    once = member.apply(calls())
    assert member.apply(once).encode() == once.encode()


def test_its_parameters_make_it_again(name: str, member: Postprocessor) -> None:
    [done] = member.apply(calls()).postprocessors
    assert done.params.keys() == {field.name for field in fields(member)}  # type: ignore[arg-type]
    assert plugins.build("postprocessors", name, done.params, "here").apply(
        calls()
    ) == member.apply(calls())


def test_what_others_left_stays(member: Postprocessor) -> None:
    other = OpenEntry({"postprocessor": "other", "uid": "linear", "metric": "duration", "value": 1})
    done = member.apply(calls(models=[other], origin="a" * 64))
    assert done.models[0] == other
    assert done.origin == "a" * 64


def test_the_order_of_the_rows_does_not_matter(member: Postprocessor) -> None:
    profile = calls()
    place = np.random.default_rng(1).permutation(ROWS)

    def moved(column: list[Any] | None) -> Any:
        return None if column is None else [column[row] for row in place]

    rows = profile.resources
    shuffled = Resources(
        names=rows.names,
        uid=moved(rows.uid),
        execution=moved(rows.execution),
        mark=moved(rows.mark),
        size=moved(rows.size),
        metrics={metric: moved(values) for metric, values in rows.metrics.items()},
    )
    first, second = (
        member.apply(profile),
        member.apply(msgspec.structs.replace(profile, resources=shuffled)),
    )
    for one, other in zip(
        map(as_written, first.models), map(as_written, second.models), strict=True
    ):
        assert (one["uid"], one["metric"], one.get("model")) == (
            other["uid"],
            other["metric"],
            other.get("model"),
        )
        for field in ("r2", "mean", "within", "between"):
            expected = other.get(field)
            assert one.get(field) == (
                None if expected is None else pytest.approx(expected, rel=1e-6, abs=1e-9)
            )
    for metric in first.metrics.keys() - profile.metrics.keys():
        np.testing.assert_allclose(
            second.resources.array(metric), first.resources.array(metric)[place], rtol=1e-9
        )


@pytest.mark.parametrize("rows", [0, 1, 2])
def test_few_rows_are_no_surprise(member: Postprocessor, rows: int) -> None:
    resources = Resources(
        names=["f"],
        uid=[0] * rows,
        execution=[0] * rows,
        size=[1.0] * rows,
        metrics={"duration": [float(row) for row in range(rows)]},
    )
    profile = sample_profile(resources=resources, metrics={"duration": Metric("s")})
    try:
        done = member.apply(profile)
    except UsageError as error:
        assert "\n" not in str(error)
    else:
        assert decode(done.encode()) == done


def test_without_a_metric_to_compute_with_the_cure_is_named(member: Postprocessor) -> None:
    profile = calls(metrics={"duration": Metric("s", "none"), "cost": Metric("s", "none")})
    with pytest.raises(UsageError, match="name some with of"):
        member.apply(profile)


def test_a_column_goes_when_its_metric_is_not_asked_for_again() -> None:
    member = Regression()
    both = conclude(
        calls(),
        member,
        columns={"duration": ("s", [1.0] * ROWS), "cost": ("s", [2.0] * ROWS)},
        word="word",
    )
    assert {"duration.word", "cost.word"} <= both.metrics.keys()
    one = conclude(both, member, columns={"cost": ("s", [3.0] * ROWS)}, word="word")
    assert "duration.word" not in one.metrics
    assert one.resources.metrics["cost.word"][0] == 3.0
    assert one.metrics["cost.word"] == Metric("s", "none")


def test_a_column_with_too_long_a_name_is_refused() -> None:
    with pytest.raises(UsageError, match="too long a name"):
        conclude(calls(), Regression(), columns={"m" * 64: ("", [1.0] * ROWS)}, word="word")

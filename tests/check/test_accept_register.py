"""The rules of acceptance by themselves, and the file that people edit."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any

import pytest
from cases import each
from hypothesis import given
from hypothesis import strategies as some

from perfvcs.check import Change, Report
from perfvcs.check.acceptance import Acceptance, accept, identity
from perfvcs.check.register import LARGEST_REGISTER, BadRegister, add, load, parse, remove, table
from perfvcs.errors import UsageError

TODAY = date(2026, 11, 20)


def commit(number: int) -> str:
    return f"{number:040x}"


@dataclass(frozen=True)
class Line:
    """A way through a history that is a line: commit 0, 1, 2, ..."""

    baseline: str
    target: str

    def gained(self, one: str) -> bool:
        return self.contains(self.target, one) and not self.contains(self.baseline, one)

    def contains(self, one: str, other: str) -> bool:
        return int(one, 16) >= int(other, 16)


def acceptance(**fields: Any) -> Acceptance:
    known: dict[str, Any] = {
        "id": "3f9c2a1",
        "benchmark": "sort",
        "uid": "sort",
        "metric": "wall",
        "baseline": commit(1),
        "target": commit(2),
        "reason": "wanted",
        "effect": 0.1,
        "series": "5e1",
    }
    return Acceptance(**(known | fields))


def change(**fields: Any) -> Change:
    known: dict[str, Any] = {
        "word": "degradation",
        "job": "sort",
        "uid": "sort",
        "metric": "wall",
        "unit": "s",
        "better": "lower",
        "series": "5e1c0",
        "effect": 0.1,
        "low": 0.09,
        "high": 0.11,
        "delta": 0.01,
        "gate": True,
    }
    return Change(**(known | fields))


def judged(one: Change, *accepted: Acceptance, baseline: int = 1, target: int = 9) -> Change:
    return accept([one], accepted, way=Line(commit(baseline), commit(target)), today=TODAY)[0]


@each(
    "fields expected",
    [
        ({}, True),
        ({"effect": 0.05, "low": 0.04, "high": 0.06}, True),
        # 0.9 % beyond the accepted, which is within delta
        ({"effect": 0.11, "low": 0.105, "high": 0.115}, True),
        ({"effect": 0.13, "low": 0.12, "high": 0.14}, False),
        # its interval does not exclude the accepted level
        ({"effect": 0.13, "low": 0.09, "high": 0.17}, True),
        ({"effect": 0.13, "low": None, "high": None}, False),
        ({"word": "suspected"}, True),
        ({"word": "suspected", "effect": -0.1, "low": -0.2, "high": -0.01}, False),
        ({"word": "improvement", "effect": -0.1}, False),
        ({"word": "inconclusive"}, False),
        ({"metric": "cpu"}, False),
        ({"uid": "merge"}, False),
        ({"size": 10.0}, False),
        ({"series": "77"}, False),
        ({"effect": None, "low": None, "high": None}, True),  # nothing to be worse
    ],
)
def test_a_change_is_judged_against_the_accepted_level(
    fields: dict[str, Any], expected: bool
) -> None:
    found = judged(change(**fields), acceptance())
    assert found.accepted == ("wanted" if expected else None)
    assert not (expected and found.gate)


@pytest.mark.parametrize(
    ("effect", "low", "high", "expected"), [(-0.1, -0.11, -0.09, True), (-0.2, -0.21, -0.19, False)]
)
def test_where_more_is_better_less_is_worse(
    effect: float, low: float, high: float, expected: bool
) -> None:
    found = judged(
        change(better="higher", effect=effect, low=low, high=high),
        acceptance(effect=-0.1, better="higher"),
    )
    assert (found.accepted is not None) == expected
    assert expected or found.reason == "more than the accepted -10.0 %"


def test_what_is_worse_than_accepted_is_certain_only_beyond_delta() -> None:
    assert judged(change(effect=0.13, low=0.12, high=0.14), acceptance()).gate
    assert not judged(change(effect=0.13, low=0.105, high=0.15), acceptance()).gate
    assert not judged(change(effect=0.13, low=0.12, high=0.14, gate=False), acceptance()).gate


@pytest.mark.parametrize(
    ("baseline", "target", "expected"),
    [(1, 2, True), (0, 9, True), (1, 1, False), (2, 9, False), (3, 9, False), (0, 1, False)],
)
def test_the_accepted_step_must_lie_on_the_way(baseline: int, target: int, expected: bool) -> None:
    assert (
        judged(change(), acceptance(), baseline=baseline, target=target).accepted is not None
    ) == expected


def test_steps_that_follow_each_other_multiply_and_those_that_overlap_count_once() -> None:
    worse = change(effect=0.21, low=0.2, high=0.22)
    second = acceptance(baseline=commit(3), target=commit(4), reason="again")
    assert judged(worse, acceptance(), second).accepted == "wanted; again"
    assert judged(worse, second, acceptance()).accepted == "wanted; again"
    assert (
        judged(
            worse, acceptance(), acceptance(baseline=commit(0), reason="the same"), baseline=0
        ).accepted
        is None
    )
    assert (
        judged(
            worse,
            acceptance(),
            acceptance(baseline=commit(0), effect=0.21, reason="more"),
            baseline=0,
        ).accepted
        == "more"
    )
    circle = [
        acceptance(baseline=commit(5), target=commit(4)),
        acceptance(baseline=commit(5), target=commit(3)),
    ]
    assert judged(worse, *circle, baseline=1).accepted == "wanted"


def test_one_that_ended_is_named_beside_one_that_is_too_small() -> None:
    ended = acceptance(until=TODAY, reason="for a while")
    assert judged(change(), ended).reason == "its acceptance ended on 2026-11-20: for a while"
    both = judged(change(reason="slow", effect=0.3, low=0.29, high=0.31), ended, acceptance())
    assert (
        both.reason
        == "slow; more than the accepted +10.0 %; its acceptance ended on 2026-11-20: for a while"
    )
    assert judged(change(), acceptance(until=date(2026, 11, 21))).accepted == "wanted"


@pytest.mark.parametrize(
    ("shift", "expected"), [(5.0, True), (4.0, True), (5.04, True), (6.0, False)]
)
def test_without_a_ratio_the_shift_decides(shift: float, expected: bool) -> None:
    plain = {"effect": None, "low": None, "high": None}
    assert (
        judged(change(shift=shift, **plain), acceptance(effect=None, shift=5.0)).accepted
        is not None
    ) == expected


def test_an_identity_depends_on_the_pair_and_on_what_was_measured() -> None:
    report = Report(baseline="a", target="b", method="auto", changes=[])
    name = identity(report, change())
    assert len(name) == 7
    assert name == identity(report, change(effect=0.5, word="same"))
    assert name != identity(report, change(metric="cpu"))
    assert name != identity(Report(baseline="a", target="c", method="auto", changes=[]), change())


words = some.text(some.characters(exclude_categories=("Cs",)), max_size=30)
numbers = some.floats(-0.99, 1e300, allow_nan=False)


@given(
    some.builds(
        acceptance,
        benchmark=words,
        uid=words,
        reason=words.map(lambda text: f"x{text}"),
        who=words,
        effect=numbers,
        shift=numbers,
        size=some.none() | numbers,
        until=some.none() | some.dates(date(1900, 1, 1)),
        when=some.none()
        | some.datetimes(datetime(1900, 1, 1)).map(
            lambda time: time.replace(microsecond=0, tzinfo=UTC)
        ),
    )
)
def test_what_is_written_is_read(one: Acceptance) -> None:
    assert parse(table(one)) == [one]


@pytest.mark.parametrize(
    ("fields", "problem"),
    [
        ({"target": "HEAD"}, "target: 'HEAD' is not a full commit id"),
        ({"baseline": "--all"}, "baseline: '--all' is not"),
        ({"effect": float("nan")}, "effect: nan is not a finite number"),
        ({"shift": float("inf")}, "shift: inf is not a finite"),
        ({"effect": -1.0}, "effect: -1 is not above -1"),
        ({"reason": " "}, "reason: say why"),
    ],
)
def test_a_value_that_means_nothing_is_named(fields: dict[str, Any], problem: str) -> None:
    with pytest.raises(BadRegister, match=r"perf-accepted.toml: 3f9c2a1: ") as raised:
        parse(table(acceptance(**fields)))
    assert problem in str(raised.value)


def test_a_file_that_cannot_be_read_says_why(tmp_path: Path) -> None:
    path = tmp_path / "perf-accepted.toml"
    assert load(path) == []
    path.write_bytes(b"\xff")
    with pytest.raises(BadRegister, match="not UTF-8"):
        load(path)
    path.write_bytes(b"#" * (LARGEST_REGISTER + 1))
    with pytest.raises(BadRegister, match="more than"):
        load(path)
    path.unlink()
    path.mkdir()
    with pytest.raises(BadRegister, match="cannot be read"):
        load(path)


def test_what_people_wrote_around_the_entries_stays(tmp_path: Path) -> None:
    path = tmp_path / "perf-accepted.toml"
    path.write_text("# ours\r\n", newline="")
    path.chmod(0o640)
    add(path, [acceptance(id="one")])
    path.write_text(path.read_text() + "\n# about the second\n")
    add(path, [acceptance(id="two")])
    path.write_text(
        path.read_text().replace("# about the second\n\n", "# about the second\n") + "# the end\n"
    )
    add(path, [acceptance(id="three")])
    assert [one.id for one in load(path)] == ["one", "two", "three"]
    assert [one.id for one in remove(path, ["two", "three"])] == ["two", "three"]
    assert [one.id for one in load(path)] == ["one"]
    text = path.read_text()
    assert text.startswith("# ours")
    assert "# about the second" not in text
    assert "# the end" in text
    assert path.stat().st_mode & 0o777 == 0o640
    with pytest.raises(UsageError, match="did you mean `one`"):
        remove(path, ["oen"])


def test_an_id_is_named_by_how_it_begins(tmp_path: Path) -> None:
    path = tmp_path / "perf-accepted.toml"
    add(path, [acceptance(id=name) for name in ("0ee8477", "0ee8f00", "1234567")])
    for few in ("0ee8", "123"):  # of two, and too few digits
        with pytest.raises(UsageError, match="nothing is accepted as"):
            remove(path, [few])
    assert [one.id for one in remove(path, ["0ee84", "1234"])] == ["0ee8477", "1234567"]
    assert [one.id for one in load(path)] == ["0ee8f00"]


def test_a_comment_right_above_the_first_entry_is_the_file_s_own(tmp_path: Path) -> None:
    path = tmp_path / "perf-accepted.toml"
    path.write_text(f"# ours\n{table(acceptance(id='one'))}")
    remove(path, ["one"])
    assert path.read_text() == "# ours\n"


@pytest.mark.parametrize(
    "text",
    [
        table(acceptance(id="one")).replace('"wanted"', '"""\none.reason\n"""'),
        table(acceptance(id="one"))
        .replace("one.benchmark", "[one]\nbenchmark")
        .replace("one.", ""),
        "\n".join(f" {line}" for line in table(acceptance(id="one")).splitlines()),
    ],
)
def test_entries_that_cannot_be_separated_are_left_alone(tmp_path: Path, text: str) -> None:
    path = tmp_path / "perf-accepted.toml"
    path.write_text(text)
    with pytest.raises(BadRegister, match="remove it by hand"):
        remove(path, ["one"])
    assert path.read_text() == text


def test_below_a_heading_of_somebody_s_own_an_entry_gets_one_too(tmp_path: Path) -> None:
    path = tmp_path / "perf-accepted.toml"
    path.write_text(
        table(acceptance(id="one")).replace("one.benchmark", "[one]\nbenchmark").replace("one.", "")
    )
    add(path, [acceptance(id="two"), acceptance(id="a b")])
    assert [one.id for one in load(path)] == ["one", "two", "a b"]
    assert path.read_text().count("[two]\n") == 1


def test_an_entry_that_is_added_again_takes_the_place_of_the_old_one(tmp_path: Path) -> None:
    path = tmp_path / "perf-accepted.toml"
    add(path, [acceptance(id="one"), acceptance(id="two")])
    add(path, [acceptance(id="one", reason="again")])
    assert [(one.id, one.reason) for one in load(path)] == [("two", "wanted"), ("one", "again")]
    assert "\n\n\n" not in path.read_text()


def test_a_long_chain_of_steps_is_no_trouble() -> None:
    steps = [
        acceptance(baseline=commit(2 * n), target=commit(2 * n + 1), effect=0.001)
        for n in range(1, 400)
    ]
    found = judged(change(effect=0.49, low=0.48, high=0.5), *steps, baseline=1, target=2000)
    assert found.accepted == "wanted"


def test_of_one_step_that_was_accepted_often_the_most_counts() -> None:
    many = [acceptance(effect=number / 10_000, reason=f"{number}") for number in range(1, 2_000)]
    assert judged(change(), *many).accepted == "1999"
    assert judged(change(effect=0.25, low=0.24, high=0.26), *many).accepted is None


def test_a_mark_of_the_byte_order_and_other_line_ends_are_read(tmp_path: Path) -> None:
    path = tmp_path / "perf-accepted.toml"
    path.write_bytes(b"\xef\xbb\xbf" + table(acceptance(id="one")).replace("\n", "\r\n").encode())
    add(path, [acceptance(id="two")])
    assert [one.id for one in load(path)] == ["one", "two"]
    assert [one.id for one in remove(path, ["one"])] == ["one"]

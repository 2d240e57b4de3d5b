"""The packed levels of lines: however they got into the index, they are those of the profiles that
the store holds.
"""

from __future__ import annotations

import random
import sqlite3
from collections.abc import Iterator
from math import log
from pathlib import Path

import numpy as np
import pytest
from samples import sample_profile

from perfvcs.index import Index, packedlevels
from perfvcs.profile import Collected, Profile
from perfvcs.store import BlobChange, Store
from perfvcs.store.removal import Damaged

COMMITS = [f"{number:040x}" for number in range(300)]


def profile(commit: int, values: tuple[float, ...], session: int = 0) -> Profile:
    collected = Collected(
        f"s{session}",
        f"2026-11-20T09:00:{session:02}Z",
        f"2026-11-20T09:01:{session:02}Z",
        "perfvcs 0.1.0",
    )
    return sample_profile(values, commit=COMMITS[commit], collected=collected)


def levels_and_reads(index: Index) -> tuple[list[list[float]], int]:
    """Place, level, variance and executions of all values of the one line, and how many had no
    level.
    """
    courses = list(index.courses(index.lines(), COMMITS).values())
    if not courses:
        return [[], [], [], []], 0
    (course,) = courses
    columns = [course.places, course.levels, course.variances, course.executions]
    return [np.asarray(column, float).tolist() for column in columns], course.unusable


def test_levels_that_came_in_any_order_are_those_of_a_new_index(
    store: Store, index: Index, tmp_path: Path
) -> None:
    chance = random.Random(20261122)
    places = chance.sample(range(len(COMMITS)), 200)
    for size in (1, 1, 130, 1, 60, 7):  # rows begin, are filled up, and overflow
        store.add(
            [
                profile(places.pop(), (chance.uniform(1, 2), chance.uniform(1, 2)))
                for _ in range(size)
            ],
            "Some",
        )
        index.refresh()
    once = levels_and_reads(index)
    assert len(once[0][0]) == 200 and once[0][0] == sorted(once[0][0])
    other = Index(store, tmp_path / "other.db")
    assert levels_and_reads(other) == once
    other.close()


def test_what_is_removed_takes_its_levels_along(store: Store, index: Index) -> None:
    chance = random.Random(7)
    store.add([profile(place, (1.0 + place, 2.0 + place)) for place in range(150)], "Many")
    store.add([profile(5, (50.0, 60.0), session=1)], "Another of one commit")
    index.refresh()
    gone = set(chance.sample(range(150), 90)) - {5}
    paths = {header.path for header in index.headers([COMMITS[place] for place in gone])}
    store.remove(paths, "Some")
    index.refresh()
    left = sorted(set(range(150)) - gone)
    of_each = [(log(1 + place) + log(2 + place)) / 2 for place in left]
    of_each[left.index(5)] = (of_each[left.index(5)] + log(3000) / 2) / 2  # the mean of both
    assert levels_and_reads(index)[0][:2] == [left, pytest.approx(of_each)]
    index.close()
    rows = (
        sqlite3.connect(store.path.with_name("index.db"))
        .execute("SELECT length(packed) FROM levels")
        .fetchall()
    )
    assert sum(length for (length,) in rows) == (len(left) + 1) * packedlevels.LEVEL_RECORD.size
    store.remove({header.path for header in index.headers()}, "All")
    index.refresh()
    assert index.lines() == {} and levels_and_reads(index) == ([[], [], [], []], 0)


def test_values_without_a_logarithm_are_counted(store: Store, index: Index) -> None:
    store.add([profile(0, (1.0, 2.0)), profile(1, (0.0, 2.0)), profile(2, (3.0,))], "Three")
    columns, unusable = levels_and_reads(index)
    assert columns[0] == [0, 2] and unusable == 1 and np.isnan(columns[2][1])


@pytest.mark.parametrize("damage", [b"", b"\xff" * 27, b"\xff" * 28])
def test_damaged_levels_are_read_from_the_store_again(
    store: Store, index: Index, damage: bytes
) -> None:
    store.add([profile(place, (1.0, 2.0)) for place in range(70)], "Many")
    before = levels_and_reads(index)
    index.close()
    with sqlite3.connect(store.path.with_name("index.db")) as connection:
        connection.execute("UPDATE levels SET packed = packed || ?", (damage,))
    connection.close()
    assert levels_and_reads(index) == before
    (line,) = index.lines()
    assert list(index.courses([line], COMMITS)[line].places) == list(range(70))


def test_what_was_read_before_the_old_state_was_missed_does_not_count_twice(
    store: Store, index: Index, monkeypatch: pytest.MonkeyPatch
) -> None:
    store.add([profile(0, (1.0, 2.0))], "One")
    index.refresh()
    store.add([profile(place, (1.0, 2.0)) for place in (1, 2)], "Two more")
    changes = store.changes

    def broken(old: str | None, new: str) -> Iterator[BlobChange]:
        for moved in changes(old, new):
            yield moved
            if old:
                raise Damaged("no such commit")

    monkeypatch.setattr("perfvcs.index.snapshot.PROFILES_PER_READ", 1)
    monkeypatch.setattr(store, "changes", broken)
    index.refresh()
    assert levels_and_reads(index)[0][0] == [0, 1, 2]

"""The index says what the store holds, whatever happens to its file."""

from __future__ import annotations

import random
import sqlite3
import subprocess
import sys
import time
from pathlib import Path

import msgspec
import pytest
from conftest import TESTS
from disks import mounted, write_protect
from samples import WALL, sample_profile

from perfvcs.index import Index, database, filling
from perfvcs.profile import Collected, Environment, Job, Metric, Profile, Resources
from perfvcs.profile.summary import Header, Measured
from perfvcs.store import Store
from perfvcs.store.removal import Damaged

SEARCH = Job(name="search", collector="time", cmd="./search", engine="launcher/1")


def another(store: Store) -> Index:
    """A second index object on the same file, as another process has."""
    return Index(store, store.path.with_name("index.db"))


def commit(number: int) -> str:
    return f"{number:040x}"


def at(
    number: int,
    minute: int = 0,
    wall: tuple[float, ...] = (1.0, 2.0),
    job: Job | None = None,
    session: str = "s",
) -> Profile:
    """A profile on a numbered commit, taken at a minute."""
    collected = Collected(
        session, f"2026-11-20T09:{minute:02}:00Z", f"2026-11-20T09:{minute:02}:01Z", "perfvcs 0.1.0"
    )
    return sample_profile(
        wall, commit=commit(number), collected=collected, **({"job": job} if job else {})
    )


def git(store: Store, *args: str, data: bytes = b"") -> str:
    done = subprocess.run(
        ["git", f"--git-dir={store.path}", *args], input=data, capture_output=True, check=True
    )
    return done.stdout.decode().strip()


def put(store: Store, path: str, content: bytes) -> None:
    """Commit a file with plain git."""
    stream = (
        b"commit refs/heads/main\ncommitter E <e@example.org> 1800000000 +0000\ndata 1\nx\nfrom"
        b" refs/heads/main^0\n"
    )
    git(
        store,
        "fast-import",
        "--quiet",
        data=stream
        + b'M 100644 inline "%s"\ndata %d\n%s\n' % (path.encode(), len(content), content),
    )


# -- following the store ---------------------------------------------------------------------------


def test_the_index_knows_what_was_stored(store: Store, index: Index) -> None:
    profiles = [at(1), at(1, job=SEARCH), at(2)]
    paths = store.add(profiles, "Three")
    expected = [Measured.of(profile, path) for profile, path in zip(profiles, paths, strict=True)]
    assert sorted(index.measured([commit(1)]), key=lambda one: one.header.path) == sorted(
        expected[:2], key=lambda one: one.header.path
    )
    assert index.measured([commit(2), commit(3)]) == expected[2:]
    assert {header.path: header for header in index.headers()} == {
        one.header.path: one.header for one in expected
    }
    assert index.counts([commit(1), commit(2), commit(3)]) == {commit(1): 2, commit(2): 1}
    assert index.commits() == {commit(1), commit(2)}
    assert index.total() == 3


def test_everything_of_a_profile_that_matters_survives(store: Store, index: Index) -> None:
    rows = Resources(
        names=["a\0b", "🦊"],
        uid=[0, 1, 0, 1],
        execution=[7, 7, 2**60, 0],
        size=[1.5, None, 1.5, None],
        metrics={"wall": [1.0, 2.5, 3.0, None], "ops": [1.0, 1.0, 1.0, 1.0]},
    )
    profile = sample_profile(
        resources=rows,
        metrics={"ops": Metric("1/s", "higher"), "wall": WALL},
        dirty="ab" * 32,
        environment=Environment(
            {"cpu": "x"}, "abcdefabcdef", {"load": "3.1"}, ["a noisy neighbour"]
        ),
        job=Job(
            "sort",
            "time",
            "./sort",
            params={"n": 3, "x": None, "y": 1.5},
            options={"deep": {"er": [1]}},
        ),
    )
    (path,) = store.add([profile], "One")
    assert index.measured([profile.commit]) == [Measured.of(profile, path)]


def test_only_what_changed_is_read_again(
    store: Store, index: Index, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, _ = store.add([at(1), at(2)], "Two")
    index.refresh()
    read: list[str] = []
    documents = store.documents
    monkeypatch.setattr(store, "documents", lambda blobs: read.extend(blobs) or documents(blobs))
    (third,) = store.add([at(3)], "One more")
    store.remove([first], "One less")
    # asked for once, the index is not brought up to date by every question
    assert index.total() == 2
    index.refresh()
    assert read == [third]
    assert index.commits() == {commit(2), commit(3)}
    index.refresh()
    assert read == [third]


def test_a_second_process_sees_the_first_ones_work_without_reading(
    store: Store, index: Index, monkeypatch: pytest.MonkeyPatch
) -> None:
    store.add([at(1)], "One")
    index.refresh()
    monkeypatch.setattr(store, "documents", lambda _: pytest.fail("read a blob"))
    second = another(store)
    assert second.total() == 1
    second.close()


def test_without_a_store_the_index_is_empty(tmp_path: Path) -> None:
    index = Index(Store(tmp_path / "none"), tmp_path / "index.db")
    assert (index.headers(), index.commits(), index.series(), index.find("0"), index.damaged()) == (
        [],
        set(),
        [],
        [],
        {},
    )
    index.close()


def test_a_store_that_was_replaced_is_read_anew(store: Store, index: Index) -> None:
    store.add([at(1)], "One")
    index.refresh()
    store.path.rename(store.path.with_name("old"))
    Store.create(store.path).add([at(2)], "Another")
    index.refresh()
    assert index.commits() == {commit(2)}
    (store.path.with_name("away")).mkdir()
    store.path.rename(store.path.with_name("away") / "store")
    index.refresh()
    assert index.commits() == set()


def test_a_damaged_store_is_an_error(store: Store, index: Index) -> None:
    store.add([at(1)], "One")
    git(store, "update-ref", "-d", "refs/heads/main")
    with pytest.raises(Damaged):
        index.refresh()


def test_damaged_profiles_are_listed_and_the_others_indexed(store: Store, index: Index) -> None:
    good, bad = store.add([at(1), at(2)], "Two")
    blob = git(store, "rev-parse", f"main:{bad}")
    (store.path / "objects" / blob[:2] / blob[2:]).unlink()
    wrong = good.replace("/time-", "/speed-")
    put(store, wrong, store.raw(good))
    put(store, "README", b"hello")
    put(store, f"00/{commit(1)}/time-sort-000000000000.json", b"{}")
    index.refresh()
    assert index.commits() == {commit(1)}
    assert index.counts([commit(1)]) == {commit(1): 1}
    found = index.damaged()
    assert set(found) == {bad, wrong, "README", f"00/{commit(1)}/time-sort-000000000000.json"}
    assert "missing" in found[bad]
    assert found[wrong] == f"it belongs at {good}"
    assert index.find("00/0") == sorted([good, *(path for path in found if path != "README")])
    store.remove([bad, wrong, "README"], "Repair")
    index.refresh()
    assert len(index.damaged()) == 1


def test_a_batch_is_no_limit(store: Store, index: Index, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("perfvcs.index.snapshot.PROFILES_PER_READ", 3)
    monkeypatch.setattr(filling, "REMEMBERED", 2)
    paths = store.add((at(number % 5, wall=(float(number + 1),)) for number in range(20)), "Twenty")
    index.refresh()
    assert index.total() == 20
    store.remove(paths[:11], "Eleven")
    index.refresh()
    assert sorted(header.path for header in index.headers()) == sorted(paths[11:])


# -- questions -------------------------------------------------------------------------------------


def test_headers_come_in_the_order_asked_and_then_by_time(store: Store, index: Index) -> None:
    store.add([at(1, minute=5), at(1, minute=3), at(2, minute=1)], "Three")
    found = index.headers(iter([commit(2), commit(1), commit(2)]))
    assert [(header.commit, header.collected.started[14:16]) for header in found] == [
        (commit(2), "01"),
        (commit(1), "03"),
        (commit(1), "05"),
    ]
    assert index.headers([]) == []
    assert all(isinstance(header, Header) for header in found)


def test_series_are_the_distinct_jobs(store: Store, index: Index) -> None:
    paths = store.add([at(1), at(2), at(2, job=SEARCH)], "Three")
    assert [job.name for job in index.series()] == ["search", "sort"]
    store.remove(paths[2:], "One less")
    index.refresh()
    assert [job.name for job in index.series()] == ["sort"]


def test_history_has_one_entry_per_commit_and_session(store: Store, index: Index) -> None:
    profiles = [
        at(1, 1, (1.0,), session="a"),
        at(1, 2, (2.0,), session="b"),
        at(2, 3, (3.0,), session="b"),
        at(2, 4, job=SEARCH),
    ]
    paths = store.add(profiles, "Four")
    key = profiles[0].job.key
    found = index.history(key)
    assert [(entry.commit, entry.session, entry.summary.medians) for entry in found] == [
        (commit(1), "a", (1.0,)),
        (commit(1), "b", (2.0,)),
        (commit(2), "b", (3.0,)),
    ]
    assert [entry.path for entry in found] == paths[:3]
    assert found[0].environment == "0123456789ab"
    assert found[0].dirty is None
    assert [entry.commit for entry in index.history(key, [commit(2), commit(1)])] == [
        commit(2),
        commit(1),
        commit(1),
    ]
    assert index.history(key, []) == []
    assert index.history("f" * 64) == []


def test_profiles_are_found_by_their_beginnings(store: Store, index: Index) -> None:
    one, two = store.add([at(1), at(0xABC << 148)], "Two")
    assert index.find(two[:9]) == [two]
    assert index.find(commit(1)) == [one]
    assert index.find("time-sort") == sorted([one, two])
    assert index.find(one[-17:-8]) == [one]
    assert index.find("tim") == index.find("") == index.find("%") == index.find("zzz") == []


# -- the file --------------------------------------------------------------------------------------


def test_the_file_can_be_deleted_at_any_time(store: Store, index: Index) -> None:
    store.add([at(1)], "One")
    index.refresh()
    for path in store.path.parent.glob("index.db*"):
        path.unlink()
    second = another(store)
    assert second.total() == 1
    assert index.total() == 1
    second.close()


@pytest.mark.parametrize(
    "damage", ["garbage", "truncated", "flipped", "empty", "foreign", "folder"]
)
def test_a_damaged_file_is_made_anew(store: Store, index: Index, damage: str) -> None:
    store.add(
        (at(number, wall=tuple(float(n + 1) for n in range(30))) for number in range(60)), "Sixty"
    )
    index.refresh()
    index.close()
    file = store.path.with_name("index.db")
    content = bytearray(file.read_bytes())
    for path in store.path.parent.glob("index.db*"):
        path.unlink()
    if damage == "garbage":
        file.write_bytes(b"not a database" * 1000)
    elif damage == "truncated":
        file.write_bytes(content[: len(content) // 2])
    elif damage == "flipped":
        generator = random.Random(20261120)
        content[4096:] = generator.randbytes(len(content) - 4096)
        file.write_bytes(content)
    elif damage == "foreign":
        with sqlite3.connect(file) as connection:
            connection.execute("CREATE TABLE other (x)")
            connection.execute(f"PRAGMA user_version = {filling.INDEX_VERSION}")
        connection.close()
    elif damage == "folder":
        file.mkdir()
    else:
        file.touch()
    assert len(index.measured([commit(number) for number in range(60)])) == 60
    assert index.counts([commit(3)]) == {commit(3): 1}
    assert len(index.commits()) == 60
    store.add([at(99)], "One more")
    index.refresh()
    assert len(index.commits()) == 61


def test_damage_that_shows_up_later_is_repaired_too(store: Store, index: Index) -> None:
    store.add(
        (at(number, wall=tuple(float(n + 1) for n in range(50))) for number in range(200)), "Many"
    )
    index.refresh()
    index.close()
    file = store.path.with_name("index.db")
    content = bytearray(file.read_bytes())
    content[len(content) // 3 :] = b"\xff" * (len(content) - len(content) // 3)
    file.write_bytes(content)
    second = another(store)
    assert len(second.measured([commit(number) for number in range(200)])) == 200
    assert second.total() == 200
    second.close()


@pytest.mark.parametrize(
    "change",
    [
        "UPDATE profiles SET details = x'5b31'",
        "UPDATE profiles SET details = x'ff'",
        "UPDATE summaries SET packed = x'00ff00'",
        "UPDATE lines SET text = '[1'",
        "UPDATE jobs SET text = CAST(x'ff' AS TEXT)",
        "DROP TABLE summaries",
    ],
)
def test_changed_values_are_noticed_where_they_can_be(
    store: Store, index: Index, change: str
) -> None:
    (path,) = store.add([at(1)], "One")
    index.refresh()
    index.close()
    with sqlite3.connect(store.path.with_name("index.db")) as connection:
        connection.execute(change)
    connection.close()
    assert index.measured([commit(1)]) == [Measured.of(at(1), path)]
    assert [entry.path for entry in index.history(at(1).job.key)] == [path]
    assert index.series() == [at(1).job]


def test_a_changed_value_that_looks_right_needs_a_rebuild(store: Store, index: Index) -> None:
    store.add([at(1)], "One")
    index.refresh()
    index.close()
    with sqlite3.connect(store.path.with_name("index.db")) as connection:
        connection.execute("DELETE FROM profiles")
    connection.close()
    assert index.total() == 0
    index.rebuild()
    assert index.total() == 1


def test_an_index_of_another_version_is_made_anew(store: Store, index: Index) -> None:
    store.add([at(1)], "One")
    index.refresh()
    index.close()
    with sqlite3.connect(store.path.with_name("index.db")) as connection:
        connection.execute("DELETE FROM profiles")
        connection.execute("PRAGMA user_version = 999")
    connection.close()
    assert index.total() == 1


@pytest.mark.needs("mount")
def test_where_nothing_can_be_written_memory_serves(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with mounted(tmp_path / "disk", "size=4m") as disk:
        store = Store.create(disk / "store")
        store.add([at(1)], "One")
        written = Index(store, disk / "index.db")
        written.refresh()
        written.close()
        store.add([at(2)], "Not indexed yet")
        write_protect(disk)
        read: list[str] = []
        documents = store.documents
        monkeypatch.setattr(
            store, "documents", lambda blobs: read.extend(blobs) or documents(blobs)
        )
        for path, expected in ((disk / "index.db", 1), (disk / "none.db", 2)):
            read.clear()
            index = Index(store, path)
            assert index.commits() == {commit(1), commit(2)}
            assert len(read) == expected  # what the file knew was not read again
            index.memory.remember(commit(1), commit(2), b'{"changes": []}')
            assert set(index.verdicts([commit(2)])) == {commit(2)}
            index.close()


def test_an_index_that_stays_locked_is_copied(
    store: Store, index: Index, monkeypatch: pytest.MonkeyPatch
) -> None:
    store.add([at(1)], "One")
    index.refresh()
    store.add([at(2)], "Two")
    monkeypatch.setattr(database, "WRITER_SECONDS", 0.05)
    holder = sqlite3.connect(store.path.with_name("index.db"), isolation_level=None)
    holder.execute("BEGIN IMMEDIATE")
    second = another(store)
    assert second.commits() == {commit(1), commit(2)}
    holder.execute("ROLLBACK")
    holder.close()
    second.close()


REFRESHING = """
from pathlib import Path
from perfvcs.index import Index
from perfvcs.store import Store
index = Index(Store(Path(sys.argv[1])), Path(sys.argv[2]))
print(index.total(), len(index.damaged()), flush=True)
"""


def refreshing(store: Store) -> subprocess.Popen[str]:
    text = f"import sys; sys.path.insert(0, {str(TESTS)!r})\n{REFRESHING}"
    command = [sys.executable, "-c", text, str(store.path), str(store.path.with_name("index.db"))]
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True)


@pytest.mark.slow
def test_several_processes_build_one_index(store: Store, index: Index) -> None:
    store.add((at(number % 50, wall=(float(number + 1),)) for number in range(600)), "Many")
    processes = [refreshing(store) for _ in range(4)]
    assert {process.communicate()[0] for process in processes} == {"600 0\n"}
    assert index.total() == 600


@pytest.mark.slow
def test_a_kill_while_building_leaves_an_index_that_goes_on(store: Store, index: Index) -> None:
    store.add((at(number % 50, wall=(float(number + 1),)) for number in range(2000)), "Many")
    generator = random.Random(20261120)
    for _ in range(4):
        process = refreshing(store)
        time.sleep(generator.uniform(0.1, 0.6))
        process.kill()
        process.communicate()
    assert index.total() == 2000
    assert len(index.headers()) == 2000


# -- one state -------------------------------------------------------------------------------------


def test_what_others_store_is_not_seen_until_the_next_refresh(store: Store, index: Index) -> None:
    store.add([at(1)], "One")
    assert index.total() == 1
    head = store.head()
    store.add([at(2), at(2, job=SEARCH)], "Two")
    other = another(store)
    assert other.total() == 3
    assert (index.total(), index.commits(), len(index.lines()), index.head) == (
        1,
        {commit(1)},
        1,
        head,
    )
    index.refresh()
    assert (index.total(), len(index.lines()), index.head) == (3, 2, store.head())
    store.add([at(3)], "Three")
    index.release()
    assert index.total() == 4
    other.close()


def test_a_slower_process_does_not_undo_what_a_faster_one_indexed(
    store: Store, index: Index, monkeypatch: pytest.MonkeyPatch
) -> None:
    store.add([at(1)], "One")
    before = store.head()
    store.add([at(2)], "Two")
    other = another(store)
    other.refresh()
    heads = [before]  # as it was asked for before the other stored, and then as it is
    monkeypatch.setattr(store, "head", lambda newest=store.head: heads.pop() if heads else newest())
    assert index.commits() == {commit(1), commit(2)}
    other.refresh()
    assert other.total() == 2
    other.close()


def test_a_file_that_turns_out_damaged_between_two_reads_is_read_anew_for_both(
    store: Store, index: Index
) -> None:
    """Its rows have other numbers then."""
    store.add([at(2, job=SEARCH)], "Search first")
    index.refresh()
    store.add([at(1)], "Then sort")
    index.refresh()
    damaged: list[str] = []

    def read() -> set[str]:
        known = index.lines()
        if not damaged:
            damaged.append("now")
            index.close()
            with sqlite3.connect(store.path.with_name("index.db")) as connection:
                connection.execute("UPDATE levels SET packed = x'00ff00'")
            connection.close()
        courses = index.courses(known, [commit(1)])
        return {known[number].job.name for number in courses}

    assert index.consistent(read) == {"sort"}


def test_a_unit_is_known_by_its_name_even_if_it_was_never_committed(
    store: Store, index: Index
) -> None:
    uncommitted = msgspec.structs.replace(at(1, job=SEARCH), dirty="ab" * 32)
    unit = Measured.of(uncommitted).summaries[0].uid
    assert not index.has_unit(unit)
    (path,) = store.add([uncommitted], "One")
    index.refresh()
    assert index.has_unit(unit) and not index.has_unit(unit[:-1])
    assert index.lines() == {}
    store.remove([path], "None")
    index.refresh()
    assert not index.has_unit(unit)


def test_profiles_are_read_as_they_were_when_the_index_was(store: Store, index: Index) -> None:
    (path,) = store.add([at(1)], "One")
    head = index.head
    store.remove([path], "Gone")
    assert store.paths() == []
    assert store.paths(at=head) == [path]
    assert (
        [profile for _, profile in store.read_many([path], at=head)]
        == [store.read(path, at=head)]
        == [at(1)]
    )


def test_removed_profiles_take_their_levels_along_and_no_others(store: Store, index: Index) -> None:
    paths = store.add([at(number, minute) for number in range(1, 150) for minute in (0, 1)], "Many")
    index.refresh()
    store.replace(
        [(paths[0], at(1, 2, wall=(5.0, 6.0))), (paths[2], at(2, 2, wall=(7.0,)))], "Newer ones"
    )
    store.remove(paths[4:296:2], "Old")
    index.refresh()
    commits = [commit(number) for number in range(150)]
    (kept,) = index.courses(index.lines(), commits).values()
    index.rebuild()
    (anew,) = index.courses(index.lines(), commits).values()
    assert anew.places == kept.places and list(anew.levels) == pytest.approx(list(kept.levels))
    profiles = sum(anew.executions) - sum(anew.df)
    assert profiles == index.total() == 298 - 146


# -- verdicts --------------------------------------------------------------------------------------


def report(*words: str) -> bytes:
    return msgspec.json.encode(
        {
            "baseline": "x",
            "target": "y",
            "method": "log-median",
            "changes": [{"word": word} for word in words],
        }
    )


def test_the_last_verdict_per_commit_is_remembered(index: Index) -> None:
    index.memory.remember(commit(1), commit(2), report("same", "same", "degradation"))
    index.memory.remember(commit(0), commit(2), report("same"))
    index.memory.remember(commit(1), commit(3), report())
    found = index.verdicts([commit(2), commit(3), commit(4)])
    assert {target: (one.baseline, one.words) for target, one in found.items()} == {
        commit(2): (commit(0), {"same": 1}),
        commit(3): (commit(1), {}),
    }
    index.memory.remember(commit(1), commit(2), report("improvement"))
    latest = index.verdicts([commit(2)])[commit(2)]
    assert (latest.baseline, latest.words) == (commit(1), {"improvement": 1})
    assert latest.made.endswith("+00:00")
    known = index.memory.recall(commit(1), commit(2))
    assert known
    assert known.report == report("improvement")
    assert index.memory.recall(commit(8), commit(9)) is None


def test_a_damaged_file_of_verdicts_is_begun_anew(store: Store, index: Index) -> None:
    index.memory.remember(commit(0), commit(1), report("same"))
    index.close()
    store.path.with_name("verdicts.db").write_bytes(b"garbage" * 1000)
    assert index.verdicts([commit(1)]) == {}
    index.memory.remember(commit(0), commit(1), report("same"))
    assert len(index.verdicts([commit(1)])) == 1


def test_verdicts_survive_a_new_index(store: Store, index: Index) -> None:
    store.add([at(1)], "One")
    index.refresh()
    index.memory.remember(commit(0), commit(1), report("same"))
    index.close()
    store.path.with_name("index.db").unlink()
    assert index.total() == 1
    assert index.verdicts([commit(1)])[commit(1)].words == {"same": 1}


def test_the_index_needs_no_numerical_library() -> None:
    heavy = ("numpy", "scipy", "git", "rich", "bokeh")
    script = (
        f"import sys, perfvcs.index, perfvcs.store; print([name for name in {heavy} if name in"
        " sys.modules])"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )
    assert done.stdout == "[]\n"

"""An interrupted session keeps its complete blocks, and is finished as if nothing had happened."""

import os
import random
import signal
import subprocess
import sys
from collections import Counter
from datetime import UTC, datetime
from itertools import pairwise, permutations, product
from pathlib import Path
from zlib import crc32

import pytest
from cases import each
from conftest import Perf, Project, Said
from histories import stored
from waiting import happens

from perfvcs.errors import UsageError
from perfvcs.measure.blocks import turns
from perfvcs.repository import Repository
from perfvcs.store import Store

PERF = [sys.executable, "-P", "-m", "perfvcs"]
# each execution notes where it ran and with how much padding, and waits where it is told to
WORK = """\
echo "$1 $PWD ${#PERFVCS_PADDING}" >> "$ORDER"
while [ -e "$ORDER.wait" ] && [ $(wc -l < "$ORDER") -ge $(cat "$ORDER.wait") ]; do sleep 0.02; done
"""
CONFIGURATION = """
[[job]]
name = "one"
cmd = "sh work.sh one"
executions = 4
[[job]]
name = "two"
cmd = "sh work.sh two"
executions = 3
"""
WARM_UP = 4  # executions before the first block: two jobs on two versions
ALL = WARM_UP + 2 * (4 + 3)


@pytest.fixture
def order(project: Project, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Two commits and two jobs; the file has a line per execution."""
    project.write("perf.toml", CONFIGURATION)
    project.commit("first", **{"work.sh": WORK})
    project.commit("second", other="x")
    path = tmp_path / "order"
    path.touch()
    monkeypatch.setenv("ORDER", str(path))
    return path


def interrupt(order: Path, after: int, number: signal.Signals = signal.SIGINT, *words: str) -> Said:
    """Start a command and send it a signal during the execution with this number; how it ended."""
    order.with_name("order.wait").write_text(str(after))
    process = subprocess.Popen(
        [*PERF, *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert happens(
        lambda: len(order.read_text().splitlines()) >= after or process.poll() is not None
    )
    process.send_signal(number)
    out, err = process.communicate(timeout=60)
    order.with_name("order.wait").unlink()
    return Said(process.returncode, out, err)


COLLECT = ("collect", "HEAD~1", "HEAD", "--seed", "11")


def executions(order: Path) -> list[str]:
    return [line.replace("/.perf/worktrees", "") for line in order.read_text().splitlines()]


def sessions() -> list[Path]:
    return list(Path(".perf/sessions").glob("*"))


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_the_rest_is_measured_in_the_order_of_an_uninterrupted_run(
    project: Project, perf: Perf, order: Path, number: signal.Signals
) -> None:
    perf(*COLLECT)
    whole = executions(order)[WARM_UP:]
    perf("rm", "HEAD~1", "HEAD")
    order.write_text("")
    said = interrupt(order, WARM_UP + 7, number, *COLLECT)
    assert said.code == 128 + number
    assert "to measure the rest: perf collect --continue" in said.err
    before = executions(order)[WARM_UP:]
    kept = sum(
        profile.design.executions for revision in ("HEAD~1", "HEAD") for profile in stored(revision)
    )
    assert kept == 6, (
        "the seventh execution was interrupted, and the one whose turn it was is measured again"
        " with it"
    )
    order.write_text("")
    said = perf("collect", "--continue")
    assert "stored 4 profiles (seed 11)" in said.out
    after = executions(order)[WARM_UP:]
    assert before[:kept] + after == whole, "the same jobs, versions and paddings in the same order"
    for position, revision in enumerate(("HEAD~1", "HEAD")):
        found = {profile.job.name: profile for profile in stored(revision)}
        assert {name: one.resources.execution for name, one in found.items()} == {
            "one": [0, 1, 2, 3],
            "two": [0, 1, 2],
        }
        assert {one.design.version for one in found.values()} == {position}
        assert len({one.collected.session for one in found.values()}) == 1
    assert sessions() == []
    assert "all intact" in perf("fsck").out
    assert len(project.git("worktree", "list").splitlines()) == 1


@pytest.mark.parametrize("after", [WARM_UP + 3, WARM_UP + 9, ALL])
def test_after_kill_9_complete_blocks_are_there(perf: Perf, order: Path, after: int) -> None:
    interrupt(order, after, signal.SIGKILL, *COLLECT)
    perf("log", "-n1")
    assert [profile for revision in ("HEAD~1", "HEAD") for profile in stored(revision)] == []
    begun = len(executions(order))
    assert "perf collect --continue" in perf("status").out
    perf("collect", "--continue")
    assert len(executions(order)) - begun <= ALL - (after - WARM_UP) + 3, (
        "complete blocks are not measured again"
    )
    assert [profile.design.executions for profile in stored()] == [4, 3]
    assert sessions() == []


def test_an_interruption_of_what_is_continued_is_continued(perf: Perf, order: Path) -> None:
    interrupt(order, WARM_UP + 3, signal.SIGINT, *COLLECT)
    for _ in range(3):
        interrupt(
            order, len(executions(order)) + WARM_UP + 3, signal.SIGINT, "collect", "--continue"
        )
    perf("collect", "--continue")
    assert sorted(profile.design.executions for profile in stored()) == [3, 4]
    assert len(stored("HEAD~1")) == 2, "nothing is there twice"


def test_nothing_is_left_of_what_was_interrupted_before_its_first_block(
    perf: Perf, order: Path
) -> None:
    said = interrupt(order, WARM_UP - 1, signal.SIGINT, *COLLECT)
    assert said.code == 130
    assert "kept" not in said.err
    assert sessions() == []
    assert "no session is unfinished" in perf("collect", "--continue", code=2).err


def test_a_changed_configuration_is_refused_and_the_session_stays(
    project: Project, perf: Perf, order: Path
) -> None:
    interrupt(order, WARM_UP + 5, signal.SIGINT, *COLLECT)
    project.write("perf.toml", CONFIGURATION.replace("executions = 3", "executions = 5"))
    said = perf("collect", "--continue", code=2)
    assert "perf.toml changed since session" in said.err
    assert "put it back" in said.err
    project.write(
        "perf.toml", "# a remark changes nothing\n" + CONFIGURATION + '[[check]]\nmethod = "ks"\n'
    )
    perf("collect", "--continue")
    assert [profile.design.executions for profile in stored()] == [4, 3]


def test_a_variable_that_changed_is_named(
    perf: Perf, order: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    interrupt(order, WARM_UP + 5, signal.SIGINT, *COLLECT)
    monkeypatch.setenv("PYTHONDONTWRITEBYTECODE", "1")
    monkeypatch.setenv("OMP_NUM_THREADS", "2")
    said = perf("collect", "--continue", code=2)
    assert "the machine or its software changed since the session was interrupted" in said.err
    assert (
        "(these variables are set differently now: OMP_NUM_THREADS, PYTHONDONTWRITEBYTECODE)"
        in said.err
    )
    monkeypatch.delenv("PYTHONDONTWRITEBYTECODE")
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    perf("collect", "--continue")
    assert [profile.design.executions for profile in stored()] == [4, 3]


def test_another_head_does_not_matter_to_commits(project: Project, perf: Perf, order: Path) -> None:
    interrupt(order, WARM_UP + 5, signal.SIGINT, *COLLECT)
    project.commit("third", **{"work.sh": "exit 1"})
    perf("collect", "--continue")
    assert [len(stored(revision)) for revision in ("HEAD~2", "HEAD~1", "HEAD")] == [2, 2, 0]


def test_a_working_tree_that_is_measured_has_to_be_the_same(
    project: Project, perf: Perf, order: Path
) -> None:
    project.write("other", "changed")
    interrupt(order, WARM_UP + 5, signal.SIGINT, *COLLECT)
    project.write("other", "changed again")
    assert "the working tree is no longer" in perf("collect", "--continue", code=2).err
    project.write("other", "changed")
    perf("collect", "--continue")
    assert [profile.dirty is None for profile in stored()] == [False, False]


def test_a_machine_that_changed_is_refused_before_anything_runs(
    perf: Perf, order: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    interrupt(order, WARM_UP + 5, signal.SIGINT, *COLLECT)
    count = len(executions(order))
    monkeypatch.setenv("MALLOC_ARENA_MAX", "1")
    said = perf("collect", "--continue", code=2)
    assert "the machine or its software changed" in said.err
    (name,) = (path.stem for path in sessions())
    assert f"`perf rm {name}`" in said.err
    assert len(executions(order)) == count
    monkeypatch.delenv("MALLOC_ARENA_MAX")
    perf("collect", "--continue")
    assert [profile.design.executions for profile in stored()] == [4, 3]


def test_of_several_the_newest_is_continued_or_the_one_named(perf: Perf, order: Path) -> None:
    interrupt(order, WARM_UP + 5, signal.SIGINT, *COLLECT)
    (older,) = (path.stem for path in sessions())
    begun = len(executions(order))
    assert happens(lambda: datetime.now(UTC).strftime("%Y%m%dT%H%M%S") > older[:15]), (
        "sessions are named by the second"
    )
    interrupt(order, begun + 4, signal.SIGINT, "collect", "-n", "4", "--", "sh", "work.sh", "x y")
    said = perf("status").out
    assert "perf collect --continue -- sh work.sh 'x y'" in said
    assert all(f"interrupted: session {path.stem} on " in said for path in sessions()), (
        "what `perf rm` takes"
    )
    assert f"perf collect --continue {older}" in said
    assert "measured another command" in perf("collect", "--continue", code=2).err
    perf("collect", "--continue", "--", "sh", "work.sh", "x y")
    assert [profile.design.executions for profile in stored() if profile.job.name == "work.sh"] == [
        4
    ]
    assert "there is no" not in perf("collect", "--continue", older).err
    assert sessions() == []


def test_a_session_can_be_given_up(perf: Perf, order: Path) -> None:
    interrupt(order, WARM_UP + 5, signal.SIGINT, *COLLECT)
    (name,) = (path.stem for path in sessions())
    assert f"would give up session {name}" in perf("rm", "--dry-run", name).out
    perf("rm", name)
    assert sessions() == []
    assert len(stored()) == 2, "its profiles stay"
    assert "interrupted" not in perf("status").out


def test_what_rm_cannot_do_leaves_the_session(perf: Perf, order: Path) -> None:
    interrupt(order, WARM_UP + 5, signal.SIGINT, *COLLECT)
    (name,) = (path.stem for path in sessions())
    assert "`nosuch` is not a revision" in perf("rm", name, "nosuch", code=2).err
    assert "a session is given up as a whole" in perf("rm", name, "-j", "one", code=2).err
    assert [path.stem for path in sessions()] == [name]
    said = perf("rm", "HEAD", name).out.splitlines()
    assert said[-1] == f"gave up session {name}"
    assert [len(said), len(stored()), len(stored("HEAD~1")), sessions()] == [3, 0, 2, []]


def test_a_session_where_a_revision_is_expected_is_recognised(perf: Perf, order: Path) -> None:
    interrupt(order, WARM_UP + 5, signal.SIGINT, *COLLECT)
    (path,) = sessions()
    name, begin = path.stem, path.stem[: len("20261122T220428")]
    for words in [("collect", name), ("check", name), ("collect", f"{begin}..HEAD")]:
        said = perf(*words, code=2).err
        assert "`perf collect --continue SESSION`" in said
        assert "git log" not in said
    other = path.with_name(f"{begin}-{'000000' if name[-6:] != '000000' else 'ffffff'}.jsonl")
    first, rest = path.read_bytes().split(b"\n", 1)
    header = first[9:].replace(name.encode(), other.stem.encode())
    other.write_bytes(b"%08x %b\n" % (crc32(header), header) + rest)
    said = perf("rm", begin, code=2).err
    assert name in said
    assert other.stem in said
    perf("rm", other.stem)
    assert perf("rm", begin).out == f"gave up session {name}\n"
    assert "`perf status` names those" in perf("rm", begin, code=2).err


def test_a_command_does_not_continue_a_session_of_the_jobs(perf: Perf, order: Path) -> None:
    interrupt(order, WARM_UP + 5, signal.SIGINT, *COLLECT)
    assert (
        "measured the jobs of perf.toml: leave out `-- ls 'a b'`"
        in perf("collect", "--continue", "--", "ls", "a b", code=2).err
    )


@pytest.mark.parametrize("fault", [KeyboardInterrupt(), UsageError("no room")])
def test_what_is_measured_but_not_stored_is_stored_later(
    perf: Perf, order: Path, monkeypatch: pytest.MonkeyPatch, fault: BaseException
) -> None:
    def fail(*_: object) -> None:
        raise fault

    with monkeypatch.context() as patch:
        patch.setattr(Store, "replace", fail)
        said = perf(*COLLECT, code=None)
    assert said.code == (130 if isinstance(fault, KeyboardInterrupt) else 2)
    assert (
        said.err.splitlines()[-2] == "everything was measured; to store it: perf collect --continue"
    )
    count = len(executions(order))
    assert "stored 4 profiles" in perf("collect", "--continue").out
    assert len(executions(order)) == count
    assert sessions() == []


def test_one_execution_is_reported_as_one(order: Path) -> None:
    said = interrupt(order, 2 + 2 + 1, signal.SIGINT, *COLLECT, "--job", "one")
    assert "kept what was complete: 2 profiles of 1 execution\n" in said.err


def test_a_design_cannot_be_changed_on_the_way(perf: Perf, order: Path) -> None:
    interrupt(order, WARM_UP + 5, signal.SIGINT, *COLLECT)
    assert "as it began" in perf("collect", "--continue", "-n", "50", code=2).err
    assert "at most one session" in perf("collect", "--continue", "a", "b", code=2).err
    assert "is unfinished" in perf("collect", "--continue", "HEAD", code=2).err


def test_a_range_is_finished_with_all_its_groups(project: Project, perf: Perf, order: Path) -> None:
    project.write(
        "perf.toml", '[[job]]\nname = "one"\ncmd = "sh work.sh one"\nexecutions = 2\nwarmup = 0\n'
    )
    commits = [project.commit(f"{number}") for number in range(10)]
    interrupt(order, 20, signal.SIGINT, "collect", f"{commits[0]}^..HEAD")  # in the second session
    assert len(sessions()) == 1
    perf("collect", "--continue")
    assert [sum(one.design.executions for one in stored(commit)) for commit in commits] == [
        *[2] * 7,
        4,
        2,
        2,
    ]


def test_missing_does_not_take_half_a_session_for_a_whole(perf: Perf, order: Path) -> None:
    interrupt(order, WARM_UP + 5, signal.SIGINT, *COLLECT)
    assert "stored 4 profiles" in perf("collect", "--missing", "HEAD~1", "HEAD").out


def test_a_check_that_is_interrupted_keeps_its_pairs(order: Path) -> None:
    said = interrupt(order, WARM_UP + 8, signal.SIGINT, "check", "--measure", "HEAD~1", "HEAD")
    assert said.code == 130
    assert "kept what was complete" in said.err
    old, new = stored("HEAD~1"), stored("HEAD")
    assert [one.resources.execution for one in old] == [one.resources.execution for one in new]
    assert sum(one.design.executions for one in new) in (3, 4)
    assert sessions() == []


def test_damaged_lines_are_measured_again(perf: Perf, order: Path) -> None:
    interrupt(order, WARM_UP + 11, signal.SIGINT, *COLLECT)
    (path,) = sessions()
    lines = path.read_bytes().splitlines(keepends=True)
    assert len(lines) > 4
    lines[2] = lines[2].replace(b'"wall":[', b'"wall":[9', 1)
    path.write_bytes(b"".join(lines)[:-20])
    perf("collect", "--continue")
    assert [profile.design.executions for profile in stored()] == [4, 3]
    assert all(max(value or 0 for value in one.resources.metrics["wall"]) < 9 for one in stored())


@pytest.mark.usefixtures("order")
@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"\n",
        b"{}",
        b"00000000 {}\n",
        random.Random(1).randbytes(5000),
        b"[" * 100_000,
        b"a" * 8 + b" " + b"[" * 100_000 + b"\n",
    ],
)
def test_files_of_others_are_left_alone(project: Project, perf: Perf, content: bytes) -> None:
    perf("init")
    folder = project.root / ".perf" / "sessions"
    folder.mkdir()
    (folder / "20261122T000000-abcdef.jsonl").write_bytes(content)
    (folder / "link.jsonl").symlink_to("/etc/passwd")
    os.mkfifo(folder / "pipe.jsonl")
    assert "interrupted" not in perf("status").out
    assert "no session is unfinished" in perf("collect", "--continue", code=2).err


def test_a_running_session_is_not_unfinished(perf: Perf, order: Path) -> None:
    order.with_name("order.wait").write_text(str(WARM_UP + 5))
    process = subprocess.Popen([*PERF, *COLLECT], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert happens(lambda: len(executions(order)) >= WARM_UP + 5)
    assert len(sessions()) == 1
    assert perf("status", "--json").document["unfinished"] == []
    (name,) = (path.stem for path in sessions())
    assert f"session {name} is running" in perf("rm", name, code=2).err
    order.with_name("order.wait").unlink()
    process.communicate(timeout=60)
    assert process.returncode == 0


def test_turns_follow_from_the_seed_alone() -> None:
    generator = random.Random(3)
    for _ in range(200):
        seed, block, jobs, versions = (
            generator.randrange(1 << 31),
            generator.randrange(50),
            *generator.choices(range(1, 9), k=2),
        )
        alive = [
            sorted(generator.sample(range(8), generator.randrange(versions + 1)))
            for _ in range(jobs)
        ]
        plan = turns(seed, block, alive)
        assert plan == turns(seed, block, alive)
        assert sorted(turn.job for turn in plan) == list(range(jobs))
        assert all(sorted(turn.versions) == alive[turn.job] for turn in plan)


def placed(orders: list[list[int]]) -> Counter[tuple[int, int]]:
    """How often each version had each place."""
    return Counter((version, place) for order in orders for place, version in enumerate(order))


def followed(orders: list[list[int]]) -> Counter[tuple[int, int]]:
    """How often each version came right after each other one in its block."""
    return Counter(pair for order in orders for pair in pairwise(order))


@each("count", range(2, 9))
@each("seed", [0, 1, 7, 1 << 30])
def test_the_order_is_balanced_over_any_number_of_blocks(count: int, seed: int) -> None:
    versions = [3 * number + 1 for number in range(count)]
    orders = [turns(seed, block, [versions])[0].versions for block in range(5 * count)]
    places, pairs = list(product(versions, range(count))), list(permutations(versions, 2))
    for blocks in range(1, len(orders) + 1):
        had, came = placed(orders[:blocks]), followed(orders[:blocks])
        assert max(had.values()) - min(had[one] for one in places) <= 1, (
            "every version has every place equally often"
        )
        if count % 2 == 0:
            assert max(came.values()) - min(came[one] for one in pairs) <= 1, (
                "and follows every other version equally often"
            )
        elif blocks % (2 * count) == 0:
            assert len({came[one] for one in pairs}) == 1, (
                "of an odd number after every second square: one cannot hold it"
            )


@pytest.mark.slow
def test_the_order_is_random_among_the_balanced_ones() -> None:
    def first(seed: int) -> str:
        return "".join(str(turns(seed, block, [[0, 1]])[0].versions[0]) for block in range(6))

    found = Counter(map(first, range(4000)))
    assert {"".join(pairs) for pairs in product(("01", "10"), repeat=3)} == found.keys(), (
        "every balanced order of six pairs"
    )
    assert min(found.values()) > 400, "each with the same chance"
    designs = {
        tuple(tuple(turns(seed, block, [[0, 1, 2]])[0].versions) for block in range(6))
        for seed in range(2000)
    }
    assert len(designs) == 72, "two squares of three rows in any order, either of which is first"
    both = [(turns(seed, 0, [[0, 1], [0, 1]])) for seed in range(400)]
    assert len({(plan[0].job, *plan[0].versions, *plan[1].versions) for plan in both}) == 8, (
        "jobs draw their own"
    )


def test_a_version_that_was_given_up_leaves_a_balanced_order(project: Project, perf: Perf) -> None:
    project.configure('cmd = "sh work.sh"\nexecutions = 8\nretries = 0')
    for number in range(3):
        project.commit(f"{number}", **{"work.sh": "exit 1" if number == 1 else "true"})
    perf("collect", "HEAD~2", "HEAD~1", "HEAD", code=5)
    (old,), (new,) = stored("HEAD~2"), stored("HEAD")
    assert old.turns is not None and new.turns is not None
    assert sum(place == 0 for place in old.turns.place[1:]) in (3, 4)
    later = zip(old.turns.place[1:], new.turns.place[1:], strict=True)
    assert all(sorted(places) == [0, 1] for places in later), "its place is not left empty"


def test_profiles_say_in_which_turn_each_execution_was(perf: Perf, order: Path) -> None:
    perf(*COLLECT)
    ran = [
        line.split()[1].rpartition("/")[2]
        for line in executions(order)[WARM_UP:]
        if line.startswith("one ")
    ]
    (old,), (new,) = (
        [one for one in stored(revision) if one.job.name == "one"]
        for revision in ("HEAD~1", "HEAD")
    )
    assert old.turns is not None and new.turns is not None
    assert old.turns.execution == new.turns.execution == [0, 1, 2, 3]
    assert old.turns.seed == new.turns.seed and len(set(old.turns.seed)) == 4
    for place, name in zip(old.turns.place, ran[::2], strict=True):
        assert (place == 0) == name.startswith(old.commit[:12])
    (measured,) = [
        one
        for one in Repository.find().index.measured([new.commit])
        if one.header.job.name == "one"
    ]
    assert measured.turns == {(0, number): place for number, place in enumerate(new.turns.place)}
    assert measured.seeds == {(0, number): seed for number, seed in enumerate(new.turns.seed)}


@pytest.mark.parametrize(
    ("present", "older"), [('"balanced/1"', '"shuffled/1"'), ('"here":false', '"here":true')]
)
def test_a_session_that_an_older_version_planned_otherwise_cannot_be_continued(
    perf: Perf, order: Path, present: str, older: str
) -> None:
    interrupt(order, WARM_UP + 5, signal.SIGINT, *COLLECT)
    (path,) = sessions()
    first, rest = path.read_bytes().split(b"\n", 1)
    assert present.encode() in first
    header = first[9:].replace(present.encode(), older.encode())
    path.write_bytes(b"%08x %b\n" % (crc32(header), header) + rest)
    count = len(executions(order))
    said = perf("collect", "--continue", code=2).err
    assert said.count("\n") == 1
    assert (
        "was begun by another version of perfvcs: install that one, or give it up with `perf rm"
        f" {path.stem}`" in said
    )
    assert len(executions(order)) == count
    perf("rm", path.stem)
    assert len(stored()) == 2, "what it measured stays"

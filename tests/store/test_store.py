"""The store: what was stored is there, whatever happens meanwhile."""

from __future__ import annotations

import contextlib
import hashlib
import os
import random
import resource
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest
from conftest import TESTS, Project
from disks import mounted, write_protect
from samples import sample_profile
from waiting import happens

from perfvcs.errors import PerfError, UsageError
from perfvcs.git import stream
from perfvcs.git.bare import Fault
from perfvcs.git.command import GitEnded, GitMissing
from perfvcs.git.stream import blob_id
from perfvcs.profile import Job, Profile
from perfvcs.profile.validity import Malformed
from perfvcs.store import Store, locks, storecontents
from perfvcs.store.locks import Contended, Unwritable
from perfvcs.store.removal import PROFILE_PATH, Damaged, fold, path_of

COMMIT = sample_profile().commit


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store.create(tmp_path / "perf dir ů" / "store", "Ada <ada@example.org>")


def git(store: Store, *args: str, data: bytes = b"") -> str:
    done = subprocess.run(
        ["git", f"--git-dir={store.path}", *args], input=data, capture_output=True, check=True
    )
    return done.stdout.decode().strip()


def commits(store: Store) -> int:
    return int(git(store, "rev-list", "--count", "main"))


def many(count: int, start: int = 0) -> Iterator[Profile]:
    return (
        sample_profile([1.0 + number, 2.0], commit=f"{number % 7:040x}")
        for number in range(start, start + count)
    )


def child(script: str, *args: object) -> subprocess.Popen[str]:
    """A Python process that has the tests' modules at hand."""
    text = f"import sys; sys.path.insert(0, {str(TESTS)!r})\n{script}"
    return subprocess.Popen(
        [sys.executable, "-c", text, *map(str, args)], stdout=subprocess.PIPE, text=True
    )


def processes_about(path: Path) -> list[str]:
    """The command lines with the folder above a path, as of git that outlives who started it."""
    found = []
    for process in psutil.process_iter():
        with contextlib.suppress(psutil.Error):
            found += [line for line in [" ".join(process.cmdline())] if str(path.parent) in line]
    return found


# -- storing and reading ---------------------------------------------------------------------------


def test_a_stored_profile_is_read_as_it_was(store: Store) -> None:
    profile = sample_profile()
    (path,) = store.add([profile], "One")
    assert path == path_of(profile, profile.encode())
    assert path.startswith(f"{COMMIT[:2]}/{COMMIT}/time-sort-")
    assert store.read(path) == profile
    assert store.raw(path) == profile.encode()
    assert list(store.read_many([path])) == [(path, profile)]
    assert store.paths() == [path]


def test_many_profiles_are_one_commit_and_come_back_in_the_order_asked(store: Store) -> None:
    profiles = list(many(250))
    paths = store.add(iter(profiles), "Many")
    assert len(set(paths)) == 250
    assert commits(store) == 2
    backwards = paths[::-1]
    assert list(store.read_many(iter(backwards))) == list(
        zip(backwards, profiles[::-1], strict=True)
    )
    assert sorted(store.paths()) == sorted(paths)
    assert sorted(store.paths("0" * 39 + "3")) == sorted(
        path for path in paths if "/0000000000000000000000000000000000000003/" in path
    )
    assert store.paths("f" * 40) == []


def test_large_documents_are_stored_like_small_ones(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    profiles = [sample_profile([wall] * count) for wall, count in ((1.0, 1), (2.0, 500), (3.0, 1))]
    monkeypatch.setattr(stream, "LARGE_BLOB", 2000)
    paths = store.add(profiles, "add")
    assert list(store.read_many(paths)) == list(zip(paths, profiles, strict=True))
    [replaced] = store.replace([(paths[0], sample_profile([4.0] * 600))], "replace")
    assert set(store.paths()) == {replaced, *paths[1:]}
    assert store.fsck() == []


def test_nothing_to_add_or_remove_makes_no_commit(store: Store) -> None:
    head = store.head()
    assert store.add([], "Nothing") == []
    assert store.remove([], "Nothing") == []
    assert list(store.read_many([])) == []
    (path,) = store.add([sample_profile()], "One")
    once = store.head()
    assert once != head
    assert store.add([sample_profile()], "The same again") == [path]
    assert store.head() == once


def test_the_one_who_writes_and_why_are_recorded(store: Store) -> None:
    store.add([sample_profile()], "Collect naïve\0 things\n\nfrom refs/heads/x")
    assert (
        git(store, "log", "-1", "--format=%an <%ae>|%s", "main")
        == "Ada <ada@example.org>|Collect naïve  things"
    )


def test_removed_profiles_stay_in_the_history(store: Store) -> None:
    gone, kept = store.add(many(2), "Two")
    before = store.head()
    assert store.remove([gone, "00/none", "format"], "Not needed") == [gone]
    assert store.paths() == [kept]
    assert gone in git(store, "ls-tree", "-r", "--name-only", str(before))
    with pytest.raises(UsageError, match="there is no profile"):
        store.read(gone)
    with pytest.raises(UsageError, match="there is no profile"):
        list(store.read_many([kept, gone]))


def test_changes_between_two_states_are_exact(store: Store) -> None:
    first, second = store.add(many(2), "Two")
    old = store.head()
    store.remove([first], "One less")
    (third,) = store.add(many(1, start=2), "One more")
    new = store.head()
    assert new is not None
    content = blob_id(store.raw(third))
    assert set(store.changes(old, new)) == {
        (first, _blob(old, store, first), None),
        (third, None, content),
    }
    assert sorted(moved.path for moved in store.changes(None, new)) == sorted([second, third])
    with pytest.raises(Damaged):
        list(store.changes("1" * 40, new))


def _blob(commit: str | None, store: Store, path: str) -> str:
    return git(store, "rev-parse", f"{commit}:{path}")


def test_a_profile_that_cannot_be_written_stores_none_of_its_batch(store: Store) -> None:
    head = store.head()
    broken = sample_profile(commit="HEAD")
    with pytest.raises(Malformed):
        store.add([sample_profile(), broken], "Both")
    assert store.head() == head
    assert store.fsck() == []


# -- hostile names ---------------------------------------------------------------------------------

HOSTILE = [
    "../../x",
    "/etc/passwd",
    "..",
    ".git",
    ".gitmodules",
    "a\0b",
    "a\nb",
    'a"b\\',
    "x" * 10_000,
    "🦊 fox",
    "$(reboot)",
    "-rf",
    " ",
    "ÄÖ",
    "con",
    "a/b",
    "\u202e",
    "a\tb",
    "A.B_c",
]


@pytest.mark.parametrize("name", HOSTILE, ids=lambda name: ascii(name)[:20])
def test_hostile_names_become_harmless_paths(store: Store, name: str) -> None:
    profiles = [
        sample_profile(job=Job(name=name, collector="time", cmd=name, workload=name)),
        sample_profile(job=Job(name=name, collector=name, cmd="x")),
    ]
    paths = store.add(profiles, name)
    for path, profile in zip(paths, profiles, strict=True):
        assert PROFILE_PATH.fullmatch(path)
        assert len(path) < 200
        assert ".." not in path.split("/")
        assert store.read(path) == profile
    assert store.fsck() == []


def test_folding_is_as_documented() -> None:
    assert fold("data/10K rows.TXT") == "data-10k-rows.txt"
    assert fold("../../x") == "x"
    assert fold("🦊") == ""
    assert len(fold("x" * 10_000)) == 40


@pytest.mark.parametrize(
    "path",
    [
        "../../etc/passwd",
        "a\nb",
        'quote"d',
        "",
        "x" * 10_000,
        "-p",
        "a\0b",
        "x" * 200_000,
        "ů\udcff",
        "format/x",
        "8c",
    ],
)
def test_any_path_can_be_asked_for(store: Store, path: str) -> None:
    store.add([sample_profile()], "One")
    assert store.remove([path], "Away") == []
    for ask in (store.read, store.raw, lambda name: list(store.read_many([name]))):
        with pytest.raises(UsageError, match="there is no profile") as caught:
            ask(path)
        assert len(str(caught.value).splitlines()) == 1


# -- creating --------------------------------------------------------------------------------------


def test_creating_again_changes_nothing(store: Store) -> None:
    head = store.head()
    assert Store.create(store.path).head() == head
    assert sorted(path.name for path in store.path.parent.iterdir()) == ["store"]


def test_the_store_has_the_documented_form(store: Store) -> None:
    assert git(store, "cat-file", "blob", "main:format") == "perfvcs-store/1"
    assert git(store, "symbolic-ref", "HEAD") == "refs/heads/main"
    assert git(store, "rev-parse", "--is-bare-repository") == "true"


@pytest.mark.slow
def test_a_kill_while_creating_is_repaired_by_the_next_call(tmp_path: Path) -> None:
    generator = random.Random(20261120)
    script = (
        "from pathlib import Path; from perfvcs.store import Store;"
        " Store.create(Path(sys.argv[1])); print('made')"
    )
    for attempt in range(6):
        path = tmp_path / str(attempt) / "store"
        process = child(script, path)
        time.sleep(generator.uniform(0, 0.25))
        process.kill()
        process.communicate()
        assert happens(lambda path=path: not processes_about(path))  # type: ignore[misc]
        store = Store.create(path)
        (stored,) = store.add([sample_profile()], "One")
        assert store.read(stored) == sample_profile()
        assert store.fsck() == []
        # gc takes what is old
        for left in path.parent.glob("store.new-*"):
            os.utime(left, (0, 0))
        store.gc()
        assert [left.name for left in path.parent.iterdir()] == ["store"]


def test_several_processes_create_one_store(tmp_path: Path) -> None:
    script = (
        "from pathlib import Path; from perfvcs.store import Store;"
        " print(Store.create(Path(sys.argv[1])).head())"
    )
    processes = [child(script, tmp_path / "store") for _ in range(4)]
    assert len({process.communicate()[0] for process in processes}) == 1
    assert [path.name for path in tmp_path.iterdir() if path.name.startswith("store")] == ["store"]


def test_no_store_is_said_so(tmp_path: Path) -> None:
    nowhere = Store(tmp_path / "store")
    assert nowhere.head() is None
    assert nowhere.paths() == []
    for attempt in (
        lambda: nowhere.add([sample_profile()], "x"),
        lambda: nowhere.remove(["x"], "x"),
        nowhere.gc,
    ):
        with pytest.raises(UsageError, match="perf init"):
            attempt()


def test_something_else_at_the_place_of_the_store_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "store").mkdir()
    (tmp_path / "store" / "precious").write_text("mine")
    with pytest.raises(Damaged, match="not a complete store"):
        Store.create(tmp_path / "store")
    assert (tmp_path / "store" / "precious").read_text() == "mine"
    (tmp_path / "empty").mkdir()
    assert Store.create(tmp_path / "empty").head() is not None


# -- the environment -------------------------------------------------------------------------------


def test_inside_a_git_hook_only_the_store_is_touched(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    head = project.commit("first", a="1")
    for name, value in {
        "GIT_DIR": project.root / ".git",
        "GIT_INDEX_FILE": project.root / ".git/index",
        "GIT_WORK_TREE": project.root,
    }.items():
        monkeypatch.setenv(name, str(value))
    monkeypatch.setenv("GIT_QUARANTINE_PATH", "/nowhere")
    monkeypatch.setenv("GIT_OBJECT_DIRECTORY", "/nowhere")
    store = Store.create(project.root / ".perf/store")
    (path,) = store.add([sample_profile()], "One")
    assert store.read(path) == sample_profile()
    assert store.fsck() == []
    for name in (
        "GIT_DIR",
        "GIT_INDEX_FILE",
        "GIT_WORK_TREE",
        "GIT_QUARANTINE_PATH",
        "GIT_OBJECT_DIRECTORY",
    ):
        monkeypatch.delenv(name)
    assert project.git("rev-parse", "HEAD") == head
    assert project.git("status", "--porcelain", "--untracked-files=no") == ""


def test_settings_of_the_user_do_not_reach_the_store(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    hooks = tmp_path / "hooks"
    hooks.mkdir()
    (hooks / "reference-transaction").write_text("#!/bin/sh\nexit 1\n")
    (hooks / "reference-transaction").chmod(0o755)
    settings = tmp_path / "gitconfig"
    settings.write_text(
        f"[core]\nhooksPath = {hooks}\nquotePath = false\n[commit]\ngpgSign = true\n"
        f"[init]\ndefaultBranch = trunk\ntemplateDir = {hooks}\n"
        "[gc]\nauto = 1\n[fastimport]\nunpackLimit = nonsense\n[safe]\nbareRepository = explicit\n"
        "[user]\nname = Grace <H>\nemail = grace@example.org\n"
    )
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(settings))
    for name in (
        "GIT_AUTHOR_NAME",
        "GIT_AUTHOR_EMAIL",
        "GIT_COMMITTER_NAME",
        "GIT_COMMITTER_EMAIL",
    ):
        monkeypatch.delenv(name)
    store = Store.create(tmp_path / "store")
    store.add([sample_profile()], "One")
    assert store.who == "Grace H <grace@example.org>"
    assert git(store, "log", "-1", "--format=%cn", "main") == "Grace H"
    assert store.fsck() == []


def test_the_projects_own_identity_is_used_and_none_is_no_failure(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in (
        "GIT_AUTHOR_NAME",
        "GIT_AUTHOR_EMAIL",
        "GIT_COMMITTER_NAME",
        "GIT_COMMITTER_EMAIL",
    ):
        monkeypatch.delenv(name)
    store = Store.create(project.root / ".perf/store")
    assert store.who == "perfvcs <perfvcs@localhost>"
    project.git("config", "user.name", "Joan")
    assert Store(store.path).who == "Joan <perfvcs@localhost>"
    assert Store(store.path).add([sample_profile()], "One")


def test_without_git_there_is_one_line(
    tmp_path: Path, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(GitMissing, match="install git"):
        store.paths()


# -- faults ----------------------------------------------------------------------------------------


@pytest.mark.needs("mount")
def test_a_full_disk_keeps_the_old_state(tmp_path: Path) -> None:
    with mounted(tmp_path / "disk", "size=1m") as disk:
        store = Store.create(disk / "store")
        paths = store.add(many(3), "Before")
        head = store.head()
        noise = random.Random(1)
        with pytest.raises(Unwritable, match=r"No space left on device.*free some space"):
            store.add(
                (sample_profile([noise.random() for _ in range(20_000)]) for _ in range(20)),
                "Too much",
            )
        assert store.head() == head
        assert [profile for _, profile in store.read_many(paths)] == list(many(3))
        (disk / "store/objects/pack").mkdir(exist_ok=True)
        for left in [
            *(disk / "store").glob("objects/pack/*"),
            *(disk / "store").glob("fast_import_crash*"),
        ]:
            left.unlink()
        assert store.fsck() == []


@pytest.mark.needs("mount")
def test_a_read_only_store_can_be_read_and_says_so(tmp_path: Path) -> None:
    with mounted(tmp_path / "disk", "size=1m") as disk:
        store = Store.create(disk / "store")
        (path,) = store.add([sample_profile()], "Before")
        write_protect(disk)
        assert store.read(path) == sample_profile()
        assert store.fsck() == []
        for attempt in (
            lambda: store.add(many(1), "x"),
            lambda: store.remove([path], "x"),
            store.gc,
        ):
            with pytest.raises(Unwritable, match=r"Read-only file system.*make it writable"):
                attempt()
        with pytest.raises(Unwritable, match="Read-only file system"):
            Store.create(disk / "other")


def test_a_limit_on_file_sizes_keeps_the_old_state(store: Store) -> None:
    head = store.head()
    noise = random.Random(1)
    large = sample_profile([noise.random() for _ in range(20_000)])
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (50_000, before[1]))
    try:
        with pytest.raises(PerfError) as caught:
            store.add([large], "Too much")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert len(str(caught.value).splitlines()) == 1
    assert store.head() == head
    assert store.add([large], "Now it fits")
    assert store.fsck() == []


def test_a_store_of_a_newer_format_asks_for_an_update(store: Store) -> None:
    (path,) = store.add([sample_profile()], "One")
    commit_file(store, "format", b"perfvcs-store/2\n")
    for attempt in (
        lambda: store.add(many(1), "x"),
        lambda: store.read(path),
        store.paths,
        store.gc,
    ):
        with pytest.raises(Damaged, match="update perfvcs"):
            attempt()
    assert [str(problem) for problem in store.fsck()] == [
        f"{store.path} is of format perfvcs-store/2: update perfvcs"
    ]


def test_a_damaged_format_file_is_said_so(store: Store) -> None:
    commit_file(store, "format", b"something\n")
    with pytest.raises(Damaged, match="damaged `format` file"):
        store.head()


def test_a_lock_that_a_killed_git_left_is_taken_away(store: Store) -> None:
    lock = store.path / "refs/heads/main.lock"
    lock.parent.mkdir(parents=True, exist_ok=True)
    lock.touch()
    os.utime(lock, (time.time() - 60, time.time() - 60))
    (path,) = store.add([sample_profile()], "One")
    assert store.read(path) == sample_profile()
    assert not lock.exists()


@pytest.mark.parametrize(
    "name",
    ["packed-refs.lock", "objects/info/commit-graph.lock", "gc.pid.lock", "refs/heads/main.lock"],
)
def test_a_lock_that_a_killed_git_left_keeps_nobody_from_packing(
    store: Store, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    store.add([sample_profile()], "One")
    lock = store.path / name
    lock.parent.mkdir(parents=True, exist_ok=True)
    lock.touch()
    os.utime(lock, (time.time() - 60, time.time() - 60))
    monkeypatch.setattr(locks, "WRITER_PATIENCE", 0.0)
    store.gc()
    assert not lock.exists()


def test_a_lock_that_stays_ends_in_one_line(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    (store.path / "refs/heads").mkdir(parents=True, exist_ok=True)
    (store.path / "refs/heads/main.lock").touch()
    monkeypatch.setattr(locks, "WRITER_PATIENCE", 0.0)
    with pytest.raises(Contended, match="try again"):
        store.add([sample_profile()], "One")
    (store.path / "refs/heads/main.lock").unlink()
    assert store.paths() == []


# -- several at once, and kills --------------------------------------------------------------------

ADDING = """
from pathlib import Path
from samples import sample_profile
from perfvcs.store import Store
store = Store(Path(sys.argv[1]))
start, count, each = map(int, sys.argv[2:5])
for first in range(start, start + count, each):
    batch = [sample_profile([1.0 + number, 2.0], commit=f"{number % 7:040x}") for number in range(first, first + each)]
    print(*store.add(batch, "Batch"), flush=True)
"""


@pytest.mark.slow
@pytest.mark.parametrize("each", [1, 5, 100])
def test_eight_processes_lose_none(store: Store, each: int) -> None:
    count = {1: 12, 5: 60, 100: 100}[each]
    processes = [child(ADDING, store.path, number * count, count, each) for number in range(8)]
    reported = [path for process in processes for path in process.communicate()[0].split()]
    assert all(process.returncode == 0 for process in processes)
    assert len(reported) == 8 * count
    assert sorted(reported) == sorted(store.paths())
    assert commits(store) == 1 + 8 * count // each
    assert store.fsck() == []


@pytest.mark.slow
def test_a_writer_that_does_not_take_our_lock_costs_nobody_a_profile(store: Store) -> None:
    process = child(ADDING, store.path, 0, 40, 1)
    foreign = 0
    while process.poll() is None:
        with contextlib.suppress(subprocess.CalledProcessError):
            commit_file(store, f"aa/foreign-{foreign}", b"x")
            foreign += 1
    reported = process.communicate()[0].split()
    assert process.returncode == 0
    assert len(reported) == 40
    assert sorted(reported) == sorted(store.paths())
    assert len([one for one in store.entries() if "foreign" in one.path]) == foreign


@pytest.mark.slow
def test_kills_leave_a_whole_store_and_what_was_reported(store: Store) -> None:
    generator = random.Random(20261120)
    expected: set[str] = set()
    for attempt in range(5):
        process = child(ADDING, store.path, 10_000 * attempt, 5000, 250)
        time.sleep(generator.uniform(0.2, 0.9))
        process.send_signal(signal.SIGKILL)
        lines = process.communicate()[0].split("\n")[:-1]  # a line without its end was not reported
        expected.update(path for line in lines for path in line.split())
        present = set(store.paths())
        assert expected <= present
        assert len(present) % 250 == 0
        assert store.fsck() == []
    assert store.add([sample_profile()], "After all")


@pytest.mark.slow
def test_gc_beside_writers_loses_nothing(store: Store) -> None:
    processes = [child(ADDING, store.path, 1000 * number, 60, 2) for number in range(2)]
    rounds = 0
    while any(process.poll() is None for process in processes):
        store.gc()
        rounds += 1
    reported = [path for process in processes for path in process.communicate()[0].split()]
    assert rounds
    assert sorted(reported) == sorted(store.paths())
    assert len(list(store.read_many(reported))) == 120
    assert store.fsck() == []


def test_gc_packs_and_sweeps(store: Store) -> None:
    for profile in many(12):
        store.add([profile], "One")
    left = [store.path / "objects/pack/tmp_pack_x1", store.path / "fast_import_crash_99"]
    fresh = store.path / "objects/pack/tmp_pack_now"
    for path in (*left, fresh):
        path.write_bytes(b"half")
    for path in left:
        os.utime(path, (time.time() - 7200, time.time() - 7200))
    store.gc()
    assert not any(path.exists() for path in left)
    assert fresh.exists()
    assert not list(store.path.glob("objects/17/*"))
    assert len(list(store.path.glob("objects/pack/*.pack"))) == 1
    assert len(store.paths()) == 12


# -- fsck ------------------------------------------------------------------------------------------


def commit_file(store: Store, path: str, content: bytes | None, mode: str = "100644") -> None:
    """Commit with plain git, as someone who knows nothing of profiles."""
    index = store.path / f"index-{os.getpid()}"
    env = {**os.environ, "GIT_INDEX_FILE": str(index)}

    def run(*args: str, data: bytes | None = None) -> str:
        done = subprocess.run(
            ["git", f"--git-dir={store.path}", *args],
            input=data,
            env=env,
            capture_output=True,
            check=True,
        )
        return done.stdout.decode().strip()

    try:
        head = run("rev-parse", "main")
        run("read-tree", head)
        blob = (
            run("hash-object", "-w", "--stdin", data=content) if content is not None else "0" * 40
        )
        run(
            "update-index",
            "--add",
            "--index-info",
            data=f"{'0' if content is None else mode} {blob}\t{path}\n".encode(),
        )
        commit = run("commit-tree", "-p", head, "-m", "foreign", run("write-tree"))
        run("update-ref", "refs/heads/main", commit, head)
    finally:
        index.unlink(missing_ok=True)


def loose(store: Store, path: str) -> Path:
    blob = _blob("main", store, path)
    return store.path / "objects" / blob[:2] / blob[2:]


def test_a_whole_store_has_no_problems(store: Store) -> None:
    store.add(many(120), "Many")
    store.add(many(3, start=200), "Some")
    assert store.fsck() == []


def test_flipped_bytes_in_an_object_are_found(store: Store) -> None:
    victim, other = store.add(many(2), "Two")
    file = loose(store, victim)
    content = bytearray(file.read_bytes())
    content[len(content) // 2] ^= 0xFF
    file.chmod(0o644)
    file.write_bytes(content)
    assert victim in [problem.path for problem in store.fsck()]
    assert other not in [problem.path for problem in store.fsck()]
    with pytest.raises(Damaged, match=r"is damaged.*perf fsck") as caught:
        store.read(victim)
    assert victim in str(caught.value)
    with pytest.raises(Damaged):
        store.raw(victim)
    assert store.read(other) == next(many(1, start=1))
    with pytest.raises(Damaged):
        list(store.read_many([other, victim]))


def test_an_object_that_was_exchanged_is_found(store: Store) -> None:
    victim, other = store.add(many(2), "Two")
    loose(store, victim).chmod(0o644)
    loose(store, victim).write_bytes(loose(store, other).read_bytes())
    assert victim in [problem.path for problem in store.fsck()]
    with pytest.raises(Damaged):
        store.read(victim)


def test_a_missing_object_is_found(store: Store) -> None:
    victim, other = store.add(many(2), "Two")
    loose(store, victim).unlink()
    problems = store.fsck()
    assert any(problem.path == victim and "missing" in problem.reason for problem in problems)
    assert any("git fsck" in problem.reason for problem in problems)
    documents = dict(
        store.documents({victim: _blob("main", store, victim), other: _blob("main", store, other)})
    )
    assert isinstance(documents[victim], Fault)
    assert isinstance(documents[other], bytes)


def test_a_missing_tree_is_found(store: Store) -> None:
    store.add(many(2), "Two")
    tree = git(store, "rev-parse", "main:00")
    (store.path / "objects" / tree[:2] / tree[2:]).unlink()
    assert store.fsck()
    with pytest.raises(Damaged):
        store.paths()


def test_a_profile_in_a_wrong_place_is_found(store: Store) -> None:
    profile = sample_profile()
    right = path_of(profile, profile.encode())
    wrong = right.replace("8c/8c7f", "aa/aa7f")
    renamed = right.replace("time-sort", "time-search")
    for path in (right, wrong, renamed):
        commit_file(store, path, profile.encode())
    problems = {problem.path: problem.reason for problem in store.fsck()}
    assert problems == {wrong: f"it belongs at {right}", renamed: f"it belongs at {right}"}
    assert store.remove([wrong, renamed], "Repair")
    assert store.fsck() == []


def test_garbage_that_was_committed_by_plain_git_is_found(store: Store) -> None:
    (good,) = store.add([sample_profile()], "Good")
    garbage = b'{"format": "perfvcs-profile/1"}'
    path = f"{COMMIT[:2]}/{COMMIT}/time-sort-{hashlib.sha256(garbage).hexdigest()[:12]}.json"
    edited = good.replace(".json", "x.json")
    commit_file(store, path, garbage)
    commit_file(store, edited, store.raw(good))
    commit_file(store, "README", b"hello")
    commit_file(store, "\u202eevil", b"hello")
    problems = {problem.path: problem.reason for problem in store.fsck()}
    assert set(problems) == {path, edited, "README", "\u202eevil"}
    assert "missing required field" in problems[path]
    assert "not at the path of a profile" in problems["README"]
    assert sorted(store.paths()) == sorted([path, good])
    assert len(store.remove(list(problems), "Clean")) == 4
    assert store.fsck() == []


def test_no_branch_is_found(store: Store) -> None:
    git(store, "update-ref", "-d", "refs/heads/main")
    assert ["not a complete store" in str(problem) for problem in store.fsck()] == [True]


def test_a_reader_that_stops_early_leaves_no_process(store: Store) -> None:
    paths = store.add(many(300), "Many")
    reader = store.read_many(paths)
    assert next(reader)[0] == paths[0]
    del reader
    assert not [child for child in psutil.Process().children() if "cat-file" in child.cmdline()]


def test_an_enormous_document_is_not_loaded(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    small, large = store.add([sample_profile([1.0]), sample_profile([1.0] * 1000)], "Two")
    monkeypatch.setattr(storecontents, "MAX_PROFILE", 2000)
    with pytest.raises(Damaged, match="over the limit of 2,000"):
        list(store.read_many([large, small]))
    assert store.read(small) == sample_profile([1.0])


def test_a_git_that_somebody_ended_is_no_sign_of_damage(
    store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store.add([sample_profile()], "One")
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "git").write_text("#!/bin/sh\nkill -KILL $$\n")
    (tmp_path / "bin" / "git").chmod(0o755)
    with monkeypatch.context() as path:
        path.setenv("PATH", str(tmp_path / "bin"), prepend=os.pathsep)
        with pytest.raises(GitEnded, match=r"git was ended by SIGKILL .* run the command again"):
            Store(store.path).head()
        with pytest.raises(GitEnded):
            store.add([sample_profile(wall=(0.5,))], "Two")
    assert len(store.paths()) == 1

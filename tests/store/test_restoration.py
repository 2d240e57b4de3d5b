"""`perf fsck --restore`: back to the last whole state, with what later ones still have."""

import fcntl
import shutil
import subprocess
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest
from conftest import Project, Said
from samples import sample_profile

from perfvcs.git.bare import Bare
from perfvcs.profile import Job
from perfvcs.repository import Repository
from perfvcs.store import Store
from perfvcs.store.corruption import Corruption, corruption
from perfvcs.store.removal import Damaged

pytestmark = pytest.mark.slow

WHO = "Ada <ada@example.org>"


@pytest.fixture
def store(tmp_path: Path) -> Store:
    """Five profiles, each stored by a commit of its own."""
    store = Store.create(tmp_path / "store", WHO)
    for number in range(5):
        store.add([sample_profile(commit=f"{number:040x}")], f"Number {number}")
    return store


def git(store: Store, *words: str, given: bytes = b"") -> str:
    done = subprocess.run(
        ["git", f"--git-dir={store.path}", *words], input=given, capture_output=True, check=True
    )
    return done.stdout.decode().strip()


def lose(store: Store, *names: str) -> None:
    """Take objects away, as a `git prune` beside a writer does."""
    for found in [git(store, "rev-parse", name) for name in names]:
        (store.path / "objects" / found[:2] / found[2:]).unlink()


def spoil(store: Store, *names: str) -> None:
    """Overwrite objects, as a disk does that fails."""
    for found in [git(store, "rev-parse", name) for name in names]:
        path = store.path / "objects" / found[:2] / found[2:]
        path.chmod(0o644)
        path.write_bytes(b"garbage")


@pytest.mark.parametrize("damage", [lose, spoil])
@pytest.mark.parametrize(
    ("names", "state", "kept"),
    [
        (["main"], "main~1", 1),
        (["main^{tree}"], "main~1", 1),
        (["main:00"], "main~1", 1),
        (["main", "main^{tree}", "main:00"], "main~1", 1),
        (["main~1"], "main~2", 2),
        (["main~4"], "main~5", 5),
        (["main:format"], "", 5),
        (["main~5"], "", 5),
    ],
)
def test_what_can_be_read_is_kept_whatever_is_missing_or_corrupt(
    store: Store, names: Sequence[str], state: str, kept: int, damage: Callable[..., None]
) -> None:
    paths = store.paths()
    whole = git(store, "rev-parse", state) if state else None
    damage(store, *names)
    assert store.fsck()
    restored = Store(store.path, WHO).restore()
    assert (restored.state.commit if restored.state else None, restored.kept, restored.lost) == (
        whole,
        kept,
        (),
    )
    assert store.paths() == paths
    assert store.fsck() == []
    store.gc()
    assert store.fsck() == []
    assert not Store(store.path, WHO).restore().changed


@pytest.mark.parametrize("damage", [lose, spoil])
def test_a_missing_profile_is_named_and_all_others_stay(
    store: Store, damage: Callable[..., None]
) -> None:
    paths = store.paths()
    damage(store, f"main:{paths[1]}")
    restored = store.restore()
    assert restored.lost == (paths[1],)
    assert store.paths() == [path for path in paths if path != paths[1]]
    assert store.fsck() == []


def test_of_a_corrupt_pack_all_that_can_be_read_stays(store: Store) -> None:
    paths, blob = store.paths(), git(store, "rev-parse", f"main:{store.paths()[2]}")
    store.gc()
    (pack,) = (store.path / "objects/pack").glob("*.pack")
    shown = git(store, "show-index", given=pack.with_suffix(".idx").read_bytes())
    offset = next(int(line.split()[0]) for line in shown.splitlines() if blob in line)
    content = bytearray(pack.read_bytes())
    content[offset + 4 : offset + 8] = bytes(4)
    pack.chmod(0o644)
    pack.write_bytes(content)
    assert [problem.path for problem in store.fsck() if problem.path] == [paths[2]]
    assert store.restore().lost == (paths[2],)
    assert store.paths() == [path for path in paths if path != paths[2]]
    assert store.fsck() == []
    store.gc()
    assert store.fsck() == []


@pytest.mark.parametrize("content", [b"", b"\0" * 41, b"0" * 40 + b"\n", None])
def test_a_branch_that_a_power_cut_destroyed_is_found_again(
    store: Store, content: bytes | None
) -> None:
    paths, tip = store.paths(), git(store, "rev-parse", "main")
    branch = store.path / "refs/heads/main"
    if content is None:
        branch.unlink()
    else:
        branch.write_bytes(content)
    again = Store(store.path, WHO)
    with pytest.raises(Damaged, match="perf fsck --restore"):
        again.tip()
    again.restore()
    assert git(store, "rev-parse", "main") == tip
    assert store.paths() == paths


def test_what_was_removed_stays_out(store: Store) -> None:
    victim = store.paths()[0]
    store.remove([victim], "Wrong")
    store.add([sample_profile(commit="9" * 40)], "Another")
    lose(store, "main")
    store.restore()
    assert victim not in store.paths()
    assert len(store.paths()) == 5
    assert store.fsck() == []


def test_the_damaged_state_is_kept_by_name(store: Store) -> None:
    tip = git(store, "rev-parse", "main")
    lose(store, "main^{tree}")
    store.restore()
    assert git(store, "rev-parse", "DAMAGED_HEAD") == tip


def test_a_whole_store_stays_as_it_is(store: Store) -> None:
    tip = git(store, "rev-parse", "main")
    # a writer was killed before it moved the branch
    git(store, "hash-object", "-w", "--stdin", given=sample_profile(commit="7" * 40).encode())
    assert not store.restore().changed
    assert git(store, "rev-parse", "main") == tip


def test_a_newer_store_is_not_touched(store: Store) -> None:
    blob = git(store, "hash-object", "-w", "--stdin", given=b"perfvcs-store/2\n")
    tree = git(store, "mktree", given=f"100644 blob {blob}\tformat\n".encode())
    git(store, "update-ref", "refs/heads/main", git(store, "commit-tree", "-m", "two", tree))
    with pytest.raises(Damaged, match="update perfvcs"):
        Store(store.path, WHO).restore()


def test_the_command_names_the_last_whole_state_and_goes_back_to_it(
    project: Project, perf: Callable[..., Said]
) -> None:
    head = project.commit()
    store = Repository.find(create=True).store
    for job in ("one", "two", "three"):
        store.add(
            [sample_profile(commit=head, job=Job(name=job, collector="time", cmd="./x"))], job
        )
    last = git(store, "rev-parse", "main~1")
    lose(store, "main", "main^{tree}")
    said = perf("fsck", code=12)
    assert "`perf fsck --restore` goes back to its last whole state, 20" in said.err
    assert last[:10] in said.err
    assert "perf fsck" in perf("log", code=12).err
    assert perf("fsck", "--restore").out.endswith(
        "3 profiles can be read, all intact; the index is rebuilt\n"
    )
    assert "nothing to restore" in perf("fsck", "--restore").out
    assert "3" in perf("log").out


def test_the_command_says_what_a_corrupt_object_takes_with_it_and_how_to_go_on(
    project: Project, perf: Callable[..., Said]
) -> None:
    head = project.commit()
    store = Repository.find(create=True).store
    for job in ("one", "two"):
        store.add(
            [sample_profile(commit=head, job=Job(name=job, collector="time", cmd="./x"))], job
        )
    path = store.paths()[1]
    blob = git(store, "rev-parse", f"main:{path}")
    spoil(store, blob)
    said = perf("fsck", code=12)
    assert said.out.splitlines() == [
        f"corrupt and lost: the object {blob[:10]}",
        f"{path}: the object is missing",
        "1 profile can be read",
    ]
    assert "`perf fsck --restore` goes back to its last whole state" in said.err
    restored = perf("fsck", "--restore")
    assert f"{path} is lost, unless `perf pull` or a backup has it" in restored.out
    assert perf("fsck").out == "1 profile can be read, all intact; the index is rebuilt\n"


def test_the_command_names_the_folder_whose_profiles_cannot_be_listed(
    project: Project, perf: Callable[..., Said]
) -> None:
    head = project.commit()
    store = Repository.find(create=True).store
    store.add([sample_profile(commit=head)], "one")
    spoil(store, f"main:{head[:2]}")
    said = perf("fsck", code=12)
    assert f"{head[:2]}: its profiles cannot be listed: a folder of the store is lost\n" in said.out
    assert "run `perf fsck`" not in said.out + said.err
    assert perf("fsck", "--restore").out.endswith("all intact; the index is rebuilt\n")


def test_a_store_without_anything_to_read_says_so(
    project: Project, perf: Callable[..., Said]
) -> None:
    project.commit()
    store = Repository.find(create=True).store
    shutil.rmtree(store.path / "objects")
    assert "perf fsck" in perf("status", code=12).err
    assert "`perf fsck --restore`" in perf("fsck", code=12).err
    assert "move it away, and pull" in perf("fsck", "--restore", code=12).err


def test_nobody_packs_while_objects_are_read_one_by_one(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A packed object would be taken for a corrupt one, and its folder would be gone."""
    looked = []

    def reading(path: Path, git: Bare) -> Corruption:
        with (path / "perfvcs-gc.lock").open("ab") as lock, pytest.raises(BlockingIOError):
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        looked.append(path)
        return corruption(path, git)

    monkeypatch.setattr("perfvcs.store.restoration.corruption", reading)
    monkeypatch.setattr("perfvcs.store.corruption.corruption", reading)
    assert store.fsck() == []
    assert store.last_whole() is not None
    assert looked == [store.path] * 2

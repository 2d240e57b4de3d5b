"""`perf push` and `perf pull`: several clones of one project, and a bare repository between
them.
"""

from __future__ import annotations

import os
import socket
import ssl
import subprocess
import sys
import threading
from collections.abc import Callable
from contextlib import closing, suppress
from pathlib import Path

import pytest
from cases import each
from conftest import Project, Said
from samples import noisy, sample_profile
from waiting import happens

from perfvcs.exchange import mirror, storegap, transfer
from perfvcs.exchange.mirror import Mirror
from perfvcs.git import remote
from perfvcs.git.bare import Bare
from perfvcs.git.stream import Import
from perfvcs.repository import Repository
from perfvcs.store import STORE_FORMAT
from perfvcs.store.removal import (
    LARGEST_REMOVAL,
    MOST_TIMES,
    Removal,
    decode_removal,
    following,
    later,
    place_of,
)

pytestmark = pytest.mark.slow

Perf = Callable[..., Said]
REFERENCE = "refs/perf/profiles"


class Clone:
    """One clone of the project, and what its owner does."""

    def __init__(self, project: Project, perf: Perf) -> None:
        self.project, self.run = project, perf

    def perf(self, *words: str, code: int | None = 0) -> Said:
        return self.run("-C", str(self.project.root), *words, code=code)

    def measure(self, *seeds: int, revision: str = "HEAD") -> list[str]:
        """Store a profile for each seed; their paths."""
        commit = self.project.git("rev-parse", revision)
        repository = Repository.find(self.project.root, create=True)
        return repository.store.add(
            (sample_profile(noisy(1, seed=seed), commit=commit) for seed in seeds), "Measure"
        )

    def paths(self) -> set[str]:
        return set(Repository.find(self.project.root).store.paths())


@pytest.fixture(autouse=True)
def folder_stays(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """`perf -C` changes it."""
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def forge(tmp_path: Path) -> Path:
    """A bare repository with two commits of a project and no profiles."""
    first = Project(tmp_path / "first")
    first.commit("one", **{"work.py": "print(1)\n"})
    first.commit("two", **{"work.py": "print(2)\n"})
    first.git("clone", "--quiet", "--bare", ".", str(tmp_path / "forge"))
    return tmp_path / "forge"


@pytest.fixture
def clone(forge: Path, perf: Perf, tmp_path: Path) -> Callable[[str], Clone]:
    """A new clone of that name."""

    def make(name: str) -> Clone:
        made = Project(tmp_path / name)
        made.git("remote", "add", "origin", str(forge))
        made.git("fetch", "--quiet", "origin")
        made.git("checkout", "--quiet", "-B", "main", "origin/main")
        return Clone(made, perf)

    return make


@pytest.fixture
def ada(clone: Callable[[str], Clone]) -> Clone:
    return clone("ada")


@pytest.fixture
def bob(clone: Callable[[str], Clone]) -> Clone:
    return clone("bob")


def listed(forge: Path) -> set[str]:
    """What a bare repository has at the reference of profiles."""
    done = subprocess.run(
        ["git", "ls-tree", "-r", "-z", "--name-only", REFERENCE],
        cwd=forge,
        capture_output=True,
        text=True,
        check=True,
    )
    return set(filter(None, done.stdout.split("\0"))) - {"format"}


def planted(
    forge: Path,
    files: dict[str, bytes],
    *,
    format_mark: bytes = STORE_FORMAT,
    on: str | None = None,
) -> None:
    """Let somebody push files by hand."""
    git = Bare(forge.absolute())
    if on is None:
        git.run("update-ref", "-d", REFERENCE)
    with closing(Import(git, REFERENCE)) as stream:
        first = {} if on else {"format": stream.blob(format_mark)}
        changes = first | {path: stream.blob(content) for path, content in files.items()}
        stream.commit(on, "Eve <eve@example.org>", 1_790_000_000, "mine", changes)
        stream.finish()


def declining(forge: Path) -> None:
    """Let a bare repository take nothing more."""
    hook = forge / "hooks/pre-receive"
    hook.parent.mkdir(exist_ok=True)
    hook.write_text("#!/bin/sh\necho no >&2\nexit 1\n")
    hook.chmod(0o755)


def tip(forge: Path) -> str:
    return Bare(forge.absolute()).run("rev-parse", REFERENCE).decode().strip()


def test_two_measurers_keep_what_both_have(ada: Clone, bob: Clone, forge: Path) -> None:
    hers, his = ada.measure(1, 2), bob.measure(3)
    assert ada.perf("push").out == "pushed 2 profiles to origin\n"
    assert bob.perf("push").out == "pushed 1 profile to origin\n"
    assert listed(forge) == {*hers, *his}
    assert ada.perf("pull").out == "pulled 1 profile from origin\n"
    assert bob.perf("pull").out == "pulled 2 profiles from origin\n"
    assert ada.paths() == bob.paths() == {*hers, *his}
    assert ada.perf("push").out == "nothing to push: origin has everything\n"
    assert (
        ada.perf("pull").out == "pulled 0 profiles from origin: everything there is already here\n"
    )
    assert "all intact" in bob.perf("fsck").out


def test_a_profile_is_the_same_document_after_a_journey(ada: Clone, bob: Clone) -> None:
    (path,) = ada.measure(1)
    ada.perf("push")
    bob.perf("pull")
    stores = [Repository.find(one.project.root).store for one in (ada, bob)]
    assert stores[0].raw(path) == stores[1].raw(path)


def test_a_removed_profile_stays_removed_everywhere(ada: Clone, bob: Clone, forge: Path) -> None:
    first, second = ada.measure(1, 2)
    ada.perf("push")
    bob.perf("pull")
    bob.perf("rm", first)
    bob.perf("pull")
    assert bob.paths() == {second}
    assert bob.perf("push").out == "pushed 1 removal to origin\n"
    assert ada.perf("push").out == "nothing to push: origin has everything\n"
    assert ada.perf("pull").out == "removed 1 profile that others removed\n"
    assert ada.paths() == {second}
    assert listed(forge) == {second, place_of(first)}
    removal = decode_removal(Bare(forge).run("show", f"{REFERENCE}:{place_of(first)}"), first)
    assert isinstance(removal, Removal)
    assert (removal.times, removal.by) == (1, "Ada <ada@example.org>")
    assert removal.why.startswith("Remove")


def test_a_removed_profile_that_never_left_is_not_pushed_by_others(
    ada: Clone, bob: Clone, forge: Path
) -> None:
    (path,) = ada.measure(1)
    bob.measure(1)  # the same file, imported there
    ada.perf("rm", path)
    ada.perf("push")
    assert bob.perf("push").out == "nothing to push: origin has everything\n"
    assert listed(forge) == {place_of(path)}
    bob.perf("pull")
    assert bob.paths() == set()


def test_a_profile_that_is_stored_again_comes_back_everywhere(ada: Clone, bob: Clone) -> None:
    (path,) = ada.measure(1)
    ada.perf("push")
    bob.perf("pull")
    ada.perf("rm", path)
    ada.perf("push")
    bob.perf("pull")
    ada.measure(1)
    assert ada.perf("push").out == "pushed 1 profile and 1 removal to origin\n"
    assert bob.perf("pull").out == "pulled 1 profile from origin\n"
    assert ada.paths() == bob.paths() == {path}
    bob.perf("rm", path)
    bob.perf("push")
    ada.perf("pull")
    assert ada.paths() == set()


def test_what_a_postprocessor_replaced_does_not_come_back(ada: Clone, bob: Clone) -> None:
    (old,) = ada.measure(1)
    ada.perf("push")
    bob.perf("pull")
    store = Repository.find(ada.project.root).store
    (new,) = store.replace(
        [(old, sample_profile(noisy(1, seed=9), commit=ada.project.git("rev-parse", "HEAD")))],
        "Process",
    )
    ada.perf("push")
    bob.perf("pull")
    assert bob.paths() == ada.paths() == {new}


def test_a_damaged_profile_comes_back_from_a_remote(ada: Clone) -> None:
    (path,) = ada.measure(1)
    ada.perf("push")
    store = Repository.find(ada.project.root).store
    with closing(Import(Bare(store.path.absolute()))) as stream:
        stream.commit(store.head(), "Ada <>", 0, "a flipped bit", {path: stream.blob(b"{}")})
        stream.finish()
    assert "content does not match" in ada.perf("fsck", code=12).out
    ada.perf("rm", path)
    assert ada.perf("pull").out == "pulled 1 profile from origin\n"
    assert "all intact" in ada.perf("fsck").out


def test_only_the_newest_commits_come_where_that_is_asked(ada: Clone, bob: Clone) -> None:
    old = ada.measure(1, revision="HEAD~1")
    new = ada.measure(2)
    ada.perf("push")
    said = bob.perf("pull", "--last", "1")
    assert said.out == "pulled 1 profile from origin\nleft 1 profile there, as asked\n"
    assert bob.paths() == set(new)
    assert (
        bob.perf("pull", "--since", "2099-01-01").out
        == "pulled 0 profiles from origin\nleft 1 profile there, as asked\n"
    )
    assert bob.perf("push").out == "nothing to push: origin has everything\n"
    assert bob.perf("pull").out == "pulled 1 profile from origin\n"
    assert bob.paths() == {*old, *new}
    assert "is not a date" in bob.perf("pull", "--since", "yesterday", code=2).err


def test_only_what_is_asked_for_travels_where_the_remote_can_filter(
    ada: Clone, bob: Clone, forge: Path
) -> None:
    subprocess.run(["git", "config", "uploadpack.allowFilter", "true"], cwd=forge, check=True)
    commit = ada.project.git("rev-parse", "HEAD~1")
    repository = Repository.find(ada.project.root, create=True)
    repository.store.add([sample_profile(noisy(1, 50_000), commit=commit)], "A large one")
    ada.measure(2)
    ada.perf("push")
    bob.perf("pull", "--last", "1")
    home = Repository.find(bob.project.root).home
    assert sum(path.stat().st_size for path in home.rglob("*") if path.is_file()) < 200_000
    bob.perf("pull")
    assert bob.paths() == ada.paths()


def test_a_dry_run_changes_nothing(ada: Clone, bob: Clone, forge: Path) -> None:
    ada.measure(1)
    assert ada.perf("push", "-n").out == "would push 1 profile to origin\n"
    assert "no profiles yet" in bob.perf("pull").out
    ada.perf("push")
    assert bob.perf("pull", "-n").out == "would pull 1 profile from origin\n"
    assert bob.paths() == set()
    assert len(listed(forge)) == 1


def test_somebody_who_was_faster_is_not_overwritten(
    ada: Clone, bob: Clone, forge: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    hers, his = ada.measure(1), bob.measure(2)
    write, others = transfer.Mirror.write, [bob]

    def overtaken(*words: object) -> str:
        commit = write(*words)  # type: ignore[arg-type]
        if others:
            others.pop().perf("push")
        return commit

    monkeypatch.setattr(transfer.Mirror, "write", overtaken)
    monkeypatch.setattr(transfer, "LONGEST_WAIT", 0)
    assert ada.perf("push").out == "pushed 1 profile to origin (2 tries: others pushed meanwhile)\n"
    assert listed(forge) == {*hers, *his}
    assert int(Bare(forge).run("rev-list", "--count", REFERENCE)) == 2


def test_a_reference_that_somebody_forced_is_reported_and_loses_nothing(
    ada: Clone, bob: Clone, forge: Path
) -> None:
    hers, his = ada.measure(1, 2), bob.measure(3)
    ada.perf("push")
    before = tip(forge)
    store = Repository.find(bob.project.root).store.path
    subprocess.run(
        ["git", "push", "--quiet", "--force", str(forge), f"main:{REFERENCE}"],
        cwd=store,
        check=True,
    )
    said = ada.perf("pull").out
    assert (
        "origin has lost 2 profiles" in said
        and "kept below refs/lost in .perf/remotes/known" in said
    )
    kept = (
        Bare(ada.project.root / ".perf/remotes/known")
        .run("for-each-ref", "--format=%(objectname)", "refs/lost")
        .decode()
    )
    assert kept.split() == [before]
    ada.perf("push")
    assert listed(forge) == {*hers, *his}


def test_an_exchange_that_was_not_finished_does_not_stop_the_next(ada: Clone, bob: Clone) -> None:
    for seed in (1, 2, 3):
        ada.measure(seed)
        ada.perf("push")
        bob.perf("pull", "-n")  # what it has fetched is not remembered
    assert bob.perf("pull").out == "pulled 3 profiles from origin\n"


def test_status_says_what_is_not_pushed_and_not_pulled(ada: Clone, bob: Clone) -> None:
    old, *_ = ada.measure(1, 2, revision="HEAD~1")
    assert "origin" not in ada.perf("status").out
    ada.perf("push")
    assert "origin" not in ada.perf("status").out
    ada.measure(3, 4, 5)
    ada.perf("rm", old)
    assert "origin: not pushed: 3 profiles and 1 removal (perf push)\n" in ada.perf("status").out
    ada.perf("push")
    bob.measure(6)
    bob.perf("pull", "--last", "1")
    assert (
        "origin: not pushed: 1 profile (perf push), not pulled: 1 profile (perf pull)\n"
        in bob.perf("status").out
    )
    found = bob.perf("status", "--json").document["remote"]
    assert found == {"remote": "origin", "unpushed": 1, "removals": 0, "unpulled": 1}


def test_init_in_a_clone_pulls_what_there_is(ada: Clone, clone: Callable[[str], Clone]) -> None:
    paths = ada.measure(1)
    assert "pulled" not in ada.perf("init").out
    ada.perf("push")
    bob = clone("bob")
    bob.project.git("remote", "add", "perf", "/nowhere")  # a name that git knows us by, elsewhere
    assert "pulled 1 profile from origin\n" in bob.perf("init").out
    assert bob.paths() == set(paths)
    assert "pulled" not in bob.perf("init").out
    eve = clone("eve")
    assert "pulled" not in eve.perf("init", "--no-pull").out
    assert eve.paths() == set()


def test_init_works_where_the_remote_does_not(clone: Callable[[str], Clone], forge: Path) -> None:
    bob = clone("bob")
    forge.rename(forge.with_name("moved"))
    said = bob.perf("init")
    assert said.err.startswith("note: origin is not a git repository")
    assert "wrote perf.toml" in said.out


def test_collect_pushes_where_that_is_asked(ada: Clone, forge: Path) -> None:
    said = ada.perf("collect", "--push", "-n1", "--", "true")
    assert said.out.endswith("pushed 1 profile to origin\n")
    assert len(listed(forge)) == 1
    forge.rename(forge.with_name("moved"))
    said = ada.perf("collect", "--push", "-n1", "--", "echo", code=1)
    assert "stored" in said.out
    assert "origin is not a git repository" in said.err
    said = ada.perf("collect", "--push", "-n1", "--", "false", code=5)
    assert "origin is not a git repository" in said.err


def test_the_hook_after_a_commit_pushes_where_perf_toml_says_so(ada: Clone, forge: Path) -> None:
    ada.perf("init")
    ada.project.configure('cmd = "true"', top="hook.push = true")
    ada.perf("hook", "install", "post-commit")
    ada.project.commit("measured and pushed")
    log = ada.project.root / ".perf/log/post-commit.log"
    assert happens(lambda: log.exists() and "pushed 2 profiles to origin" in log.read_text()), (
        log.read_text()
    )
    assert len(listed(forge)) == 2


def test_a_squash_leaves_one_commit_and_nobody_notices(ada: Clone, bob: Clone, forge: Path) -> None:
    first, *_ = ada.measure(1)
    ada.perf("push")
    bob.measure(2)
    bob.perf("push")
    bob.perf("pull")
    bob.perf("rm", first)
    bob.perf("push")
    assert ada.perf("gc", "--squash").out == "the history of origin's profiles is one commit now\n"
    assert Bare(forge).run("rev-list", "--count", REFERENCE) == b"1\n"
    bob.measure(3)
    assert bob.perf("push").out == "pushed 1 profile to origin\n"
    assert Bare(forge).run("rev-list", "--count", REFERENCE) == b"2\n"
    ada.perf("pull")
    assert ada.paths() == bob.paths()
    assert first not in ada.paths()


def test_a_squash_gives_way_to_a_push_and_to_a_remote_that_keeps_its_history(
    ada: Clone, bob: Clone, forge: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    hers, his = ada.measure(1), bob.measure(2)
    ada.perf("push")
    squashed = Mirror.squashed

    def overtaken(*words: object) -> str:
        bob.perf("push")
        return squashed(*words)  # type: ignore[arg-type]

    with monkeypatch.context() as raced:
        raced.setattr(Mirror, "squashed", overtaken)
        assert "nothing was changed" in ada.perf("gc", "--squash", "origin").out
    assert listed(forge) == {*hers, *his}
    declining(forge)
    assert "origin refused" in ada.perf("gc", "--squash", code=1).err
    assert Bare(forge).run("rev-list", "--count", REFERENCE) == b"2\n"


def test_gc_keeps_what_is_known_of_remotes(ada: Clone) -> None:
    ada.measure(1)
    ada.perf("push")
    ada.measure(2)
    ada.perf("gc")
    assert "origin: not pushed: 1 profile (perf push)\n" in ada.perf("status").out
    assert ada.perf("push").out == "pushed 1 profile to origin\n"


def test_a_job_that_may_not_push_hands_over_a_bundle(
    ada: Clone, bob: Clone, forge: Path, tmp_path: Path
) -> None:
    old = ada.measure(1)
    ada.perf("push")
    bob.perf("pull")
    new = bob.measure(2, 3)
    bundle = tmp_path / "new.bundle"
    assert bob.perf("export", "--bundle", str(bundle)).out == f"wrote 2 profiles to {bundle}\n"
    assert bob.perf("export", "--bundle", str(bundle), code=2).err.endswith(
        "--force overwrites it\n"
    )
    assert ada.perf("import", str(bundle)).out == f"pulled 2 profiles from {bundle}\n"
    assert ada.paths() == {*old, *new}
    ada.perf("push")
    assert listed(forge) == {*old, *new}
    bob.perf("pull")
    assert (
        "the remote has everything"
        in bob.perf("export", "--bundle", str(tmp_path / "none"), code=2).err
    )
    assert (
        bob.perf("export", "--force", "--bundle", str(bundle), "HEAD").out
        == f"wrote 3 profiles to {bundle}\n"
    )
    assert not list(tmp_path.glob(".*part"))


def test_a_bundle_of_somebody_else_is_checked(
    ada: Clone, bob: Clone, forge: Path, tmp_path: Path
) -> None:
    good = ada.measure(1)
    ada.perf("push")
    planted(forge, {"README": b"x"}, on=tip(forge))
    bundle = tmp_path / "mixed.bundle"
    Bare(forge).run("bundle", "create", "--quiet", str(bundle), REFERENCE)
    assert "refused 1 file" in bob.perf("import", str(bundle), code=12).err
    assert bob.paths() == set(good)
    for name, content in (
        ("cut", bundle.read_bytes()[:-100]),
        ("empty", bundle.read_bytes()[:16]),
        ("noise", os.urandom(500)),
    ):
        broken = tmp_path / f"{name}.bundle"
        broken.write_bytes(content)
        said = bob.perf("import", str(broken), code=None)
        assert said.code, name
        assert said.err.count("\n") == 1
    assert "takes no options" in bob.perf("import", "--name", "x", str(bundle), code=2).err
    assert bob.paths() == set(good)


# -- what somebody else may have put there ---------------------------------------------------------


def test_what_is_not_a_profile_at_its_place_is_refused_and_the_rest_taken(
    ada: Clone, bob: Clone, forge: Path
) -> None:
    good = ada.measure(1)
    ada.perf("push")
    fake = sample_profile(noisy(1, seed=5)).encode()
    commit = "8c7f6a1d0e5b4c3f2a1908172635445362718090"
    files = {
        "README": b"hello",
        f"8c/{commit}/time-sort-000000000000.json": fake,
        f"8c/{commit}/x.json": fake,
        "removed/8c/nowhere.json": b"{}",
        place_of(f"8c/{commit}/time-sort-000000000001.json"): b"[" * 500,
    }
    planted(forge, files, on=tip(forge))
    said = bob.perf("pull", code=12)
    assert said.out == "pulled 1 profile from origin\n"
    assert said.err.startswith("perf: refused 5 files of origin: ")
    assert said.err.count("\n") == 1
    assert "; and 2 more; the others were stored" in said.err
    assert bob.paths() == set(good)
    assert "all intact" in bob.perf("fsck").out


@pytest.mark.parametrize(
    ("name", "content", "reason"),
    [
        ("time-sort-000000000000.json", b"{}", "its content does not match its name"),
        ("time-sort-44136fa355b3.json", b"{}", "format"),
        ("time-sort-0263829989b6.json", b"\xff" * 10_000, "its content does not match its name"),
    ],
)
def test_a_document_that_is_not_the_profile_of_its_name_is_refused(
    bob: Clone, forge: Path, name: str, content: bytes, reason: str
) -> None:
    planted(forge, {f"8c/8c7f6a1d0e5b4c3f2a1908172635445362718090/{name}": content})
    said = bob.perf("pull", code=12)
    assert reason in said.err
    assert said.err.count("\n") == 1
    assert bob.paths() == set()


def test_nobody_can_replace_a_profile_that_is_here(ada: Clone, forge: Path) -> None:
    (path,) = ada.measure(1)
    document = Repository.find(ada.project.root).store.raw(path)
    planted(forge, {path: b"another"})
    assert "not the profile that is stored here" in ada.perf("pull", code=12).err
    assert Repository.find(ada.project.root).store.raw(path) == document


@pytest.mark.parametrize(
    ("mode", "kind"),
    [("120000", "a symbolic link"), ("160000", "a submodule"), ("100755", "an executable file")],
)
def test_links_submodules_and_programs_are_refused(
    ada: Clone, bob: Clone, forge: Path, mode: str, kind: str
) -> None:
    (path,) = ada.measure(1)
    ada.perf("push")
    git = Bare(forge.absolute())
    blob = (
        git.run("rev-parse", f"{REFERENCE}:{path}").decode().strip()
        if mode != "160000"
        else tip(forge)
    )
    with closing(Import(git, REFERENCE)) as stream:
        stream.commit(tip(forge), "Eve <>", 0, "a trap", {})
        stream.write(
            b"M %s %s %s\n"
            % (mode.encode(), blob.encode(), f"{path[:44]}time-trap-000000000000.json".encode())
        )
        stream.finish()
    assert f"time-trap-000000000000.json is {kind}" in bob.perf("pull", code=12).err
    assert bob.paths() == {path}


def raw_tree(git: Bare, *lines: tuple[str, str, str]) -> str:
    """A tree that git itself would not make: modes, names and ids."""
    content = b"".join(
        f"{mode} {name}".encode() + b"\0" + bytes.fromhex(found) for mode, name, found in lines
    )
    return (
        git.run("hash-object", "-t", "tree", "-w", "--stdin", "--literally", data=content)
        .decode()
        .strip()
    )


@pytest.mark.parametrize("name", ["..", ".git", ".", ""])
def test_a_path_that_leads_elsewhere_refuses_the_whole_fetch(
    ada: Clone, bob: Clone, forge: Path, name: str
) -> None:
    ada.measure(1)
    ada.perf("push")
    git = Bare(forge.absolute())
    blob = git.run("hash-object", "-w", "--stdin", data=b"x").decode().strip()
    inner = raw_tree(git, ("100644", "evil", blob))
    mark = git.run("hash-object", "-w", "--stdin", data=STORE_FORMAT).decode().strip()
    tree = raw_tree(git, ("40000", name, inner), ("100644", "format", mark))
    commit = (
        git.run("-c", "user.name=Eve", "-c", "user.email=e@e", "commit-tree", tree, "-m", "x")
        .decode()
        .strip()
    )
    git.run("update-ref", REFERENCE, commit)
    for words in (["pull"], ["push"]):
        bob.measure(2)
        said = bob.perf(*words, code=1)
        assert "nothing was pulled" in said.err
        assert said.err.count("\n") == 1
    assert len(bob.paths()) == 1


def test_folders_that_a_remote_does_not_have_go_as_trees(
    ada: Clone, bob: Clone, forge: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    found, whole = [], storegap.whole
    monkeypatch.setattr(storegap, "WORTHWHILE_FILES", 0)
    monkeypatch.setattr(storegap, "whole", lambda *given: found.append(whole(*given)) or found[-1])
    bob.measure(1)
    bob.perf("push")
    ada.measure(2, 3)
    gone, *_ = ada.measure(4, 5, revision="HEAD~1")
    ada.perf("push")
    assert all(found)
    assert gone.startswith(next(iter(found[1])))
    bob.perf("pull")
    assert bob.paths() == ada.paths() | bob.paths() == listed(forge)
    store = Bare(Repository.find(ada.project.root).store.path.absolute())
    head = Repository.find(ada.project.root).store.head()
    assert head
    blobs: dict[str, str | bytes | None] = {one.path: one.blob for one in store.listing(head)}
    assert {len(path) for path in whole(store, None, head, blobs)} == {2}
    blobs[gone] = None
    torn = whole(store, None, head, blobs)
    assert torn and not any(gone.startswith(path) for path in torn)
    folder, *_ = torn
    more = whole(store, None, head, {**blobs, f"{folder}/another.json": b"{}"})
    assert folder not in more, "what the store does not have is not left out"


def test_more_files_than_anybody_has_are_refused(
    ada: Clone, bob: Clone, monkeypatch: pytest.MonkeyPatch
) -> None:
    ada.measure(*range(20))
    ada.perf("push")
    monkeypatch.setattr(mirror, "MOST_FILES", 10)
    assert "lists more than 10 files" in bob.perf("pull", code=1).err
    assert bob.paths() == set()


def test_what_a_remote_had_before_is_not_counted_again(
    ada: Clone, bob: Clone, forge: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ada.measure(*range(20))
    ada.perf("push")
    bob.perf("pull")
    monkeypatch.setattr(mirror, "MOST_FILES", 10)
    ada.measure(100, revision="HEAD~1")
    ada.perf("push")
    assert bob.perf("pull").out == "pulled 1 profile from origin\n"
    planted(forge, {f"ff/{number}": b"x" for number in range(11)}, on=tip(forge))
    assert "lists more than 10 files" in bob.perf("pull", code=1).err
    assert len(bob.paths()) == 21


def test_a_few_folders_that_list_any_number_of_files_are_refused(ada: Clone, forge: Path) -> None:
    ada.measure(1)
    git = Bare(forge.absolute())
    blob, mark = (
        git.run("hash-object", "-w", "--stdin", data=data).decode().strip()
        for data in (b"x", STORE_FORMAT)
    )
    inner = raw_tree(git, *(("100644", f"f{number}", blob) for number in range(10)))
    for _ in range(10):
        inner = raw_tree(git, *(("40000", f"d{number}", inner) for number in range(10)))
    tree = raw_tree(git, ("40000", "8c", inner), ("100644", "format", mark))
    commit = (
        git.run("-c", "user.name=Eve", "-c", "user.email=e@e", "commit-tree", tree, "-m", "x")
        .decode()
        .strip()
    )
    git.run("update-ref", REFERENCE, commit)
    for word in ("pull", "push"):
        assert "lists more than 1,500,000 files" in ada.perf(word, code=1).err


def test_more_bytes_than_anybody_has_are_refused(
    bob: Clone, forge: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    planted(forge, {"big": os.urandom(400_000)})
    monkeypatch.setattr(remote, "LARGEST_FETCH", 100_000)
    said = bob.perf("pull", code=1)
    assert "nothing was pulled" in said.err
    assert said.err.count("\n") == 1
    assert not list((bob.project.root / ".perf/remotes").rglob("tmp_*"))


def test_a_store_of_a_newer_version_asks_for_an_update(ada: Clone, forge: Path) -> None:
    ada.measure(1)
    planted(forge, {}, format_mark=b"perfvcs-store/2\n")
    for word in ("pull", "push"):
        assert "perfvcs-store/2: update perfvcs" in ada.perf(word, code=12).err


def test_a_reference_with_something_else_is_refused(ada: Clone, forge: Path) -> None:
    ada.measure(1)
    subprocess.run(["git", "update-ref", REFERENCE, "main"], cwd=forge, check=True)
    assert "is not a store of perfvcs" in ada.perf("pull", code=12).err


def test_settings_and_hooks_that_a_remote_has_are_not_obeyed_here(
    ada: Clone, bob: Clone, forge: Path, tmp_path: Path
) -> None:
    ada.measure(1)
    ada.perf("push")
    trap = tmp_path / "sprung"
    for key in ("core.fsmonitor", "core.sshCommand", "uploadpack.packObjectsHook", "core.gitProxy"):
        subprocess.run(["git", "config", key, f"touch {trap}"], cwd=forge, check=True)
    bob.perf("pull")
    assert not trap.exists()


# -- remotes that are not there --------------------------------------------------------------------


def test_a_store_without_profiles_has_nothing_to_push_and_says_so(ada: Clone, bob: Clone) -> None:
    bob.measure(1)
    bob.perf("push")
    Repository.find(ada.project.root, create=True)
    assert ada.perf("push").out == "nothing to push: nothing was measured here yet (perf collect)\n"


def test_a_project_without_remotes_says_how_to_add_one(project: Project, perf: Perf) -> None:
    project.commit()
    Repository.find(create=True)
    assert "`git remote add origin ADDRESS`" in perf("push", code=2).err


def test_the_remote_is_that_of_the_branch_the_only_one_or_origin(
    ada: Clone, tmp_path: Path
) -> None:
    ada.measure(1)
    other = tmp_path / "other"
    ada.project.git("init", "--quiet", "--bare", str(other))
    ada.project.git("remote", "add", "other", str(other))
    assert "to origin" in ada.perf("push", "-n").out
    ada.project.git("config", "branch.main.pushRemote", "other")
    assert "to other" in ada.perf("push", "-n").out
    assert f"to {other}" in ada.perf("push", str(other)).out
    ada.project.git("remote", "rename", "origin", "upstream")
    ada.project.git("config", "--unset", "branch.main.pushRemote")
    ada.project.git("config", "--unset-all", "branch.main.remote", check=False)
    assert "there are several remotes (upstream, other): name one" in ada.perf("push", code=2).err
    assert (
        "`upstraem` is not a remote of this repository (there are upstream, other)"
        in ada.perf("push", "upstraem", code=2).err
    )
    ada.project.git("remote", "rm", "other")
    assert "(there is upstream)" in ada.perf("push", "upstraem", code=2).err


@pytest.mark.parametrize(
    ("address", "said"),
    [
        ("/nowhere/at/all", "is not a git repository"),
        ("file:///nowhere", "is not a git repository"),
        ("http://127.0.0.1:1/x.git", "cannot be reached"),
        ("https://user:secret@127.0.0.1:1/x.git", "cannot be reached"),
        ("ext::sh -c touch% sprung", "refused"),
        ("--upload-pack=touch sprung:/x", "is not a git repository"),
    ],
)
def test_an_address_that_leads_nowhere_is_one_line(ada: Clone, address: str, said: str) -> None:
    ada.measure(1)
    answer = ada.perf("push", "--", address, code=1)
    assert said in answer.err
    assert answer.err.count("\n") == 1
    assert "secret" not in answer.err
    assert not list(ada.project.root.rglob("sprung"))


def test_a_remote_with_other_names_of_objects_is_refused(ada: Clone, tmp_path: Path) -> None:
    ada.measure(1)
    ada.project.git("init", "--quiet", "--bare", "--object-format=sha256", str(tmp_path / "sha256"))
    subprocess.run(
        ["git", "symbolic-ref", "HEAD", "refs/heads/main"], cwd=tmp_path / "sha256", check=True
    )
    assert "names its objects by SHA-256" in ada.perf("push", str(tmp_path / "sha256"), code=1).err


@pytest.mark.skipif(os.geteuid() == 0, reason="root writes everywhere")
def test_a_remote_that_may_not_be_written_names_the_way_out(ada: Clone, forge: Path) -> None:
    ada.measure(1)
    for path in (forge, forge / "objects", forge / "refs"):
        path.chmod(0o555)
    try:
        assert "perf export --bundle" in ada.perf("push", code=1).err
    finally:
        for path in (forge, forge / "objects", forge / "refs"):
            path.chmod(0o755)


def test_a_remote_that_declines_is_not_asked_again(ada: Clone, forge: Path) -> None:
    ada.measure(1)
    declining(forge)
    said = ada.perf("push", code=1)
    assert "origin refused" in said.err
    assert "perf export --bundle" in said.err


CUT = f"""\
#!{sys.executable}
import os, subprocess, sys
program, left = sys.argv[0].rpartition("/")[2], int(sys.argv[0].rpartition("-")[2])
with subprocess.Popen([program.rpartition("-")[0], *sys.argv[1:]], stdout=subprocess.PIPE) as process:
    while left > 0 and (part := os.read(process.stdout.fileno(), left)):
        os.write(1, part)
        left -= len(part)
    process.kill()
"""


@pytest.mark.parametrize(
    ("word", "program"),
    [("pull", "upload-pack"), ("push", "receive-pack"), ("push", "upload-pack")],
)
@pytest.mark.parametrize("after", [0, 50, 600, 2000])
def test_a_remote_that_disappears_half_way_loses_nothing(
    ada: Clone, bob: Clone, forge: Path, tmp_path: Path, word: str, program: str, after: int
) -> None:
    hers, his = ada.measure(*range(5)), bob.measure(9)
    ada.perf("push")
    script = tmp_path / f"git-{program}-{after}"
    script.write_text(CUT)
    script.chmod(0o755)
    bob.project.git("config", f"remote.origin.{program.replace('-', '')}", str(script))
    said = bob.perf(word, code=None)
    assert said.err.count("\n") == (said.code != 0)
    assert set(hers) <= listed(forge) <= {*hers, *his}
    assert set(his) <= bob.paths() <= {*hers, *his}
    bob.project.git("config", "--unset", f"remote.origin.{program.replace('-', '')}")
    bob.perf("push")
    bob.perf("pull")
    assert bob.paths() == listed(forge) == {*hers, *his}


@pytest.mark.needs("openssl")
def test_a_server_with_a_certificate_that_nobody_knows_is_refused(
    ada: Clone, tmp_path: Path
) -> None:
    ada.measure(1)
    key, certificate = tmp_path / "key.pem", tmp_path / "certificate.pem"
    made = [
        "openssl",
        "req",
        "-x509",
        "-newkey",
        "rsa:2048",
        "-nodes",
        "-subj",
        "/CN=localhost",
        "-days",
        "2",
    ]
    subprocess.run(
        [*made, "-keyout", str(key), "-out", str(certificate)], check=True, capture_output=True
    )
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)
    server = context.wrap_socket(socket.create_server(("127.0.0.1", 0)), server_side=True)
    done = threading.Event()
    server.settimeout(0.2)

    def answer() -> None:
        while not done.is_set():
            with suppress(OSError):  # also what TLS complains of
                server.accept()[0].close()

    thread = threading.Thread(target=answer)
    thread.start()
    try:
        said = ada.perf("push", f"https://localhost:{server.getsockname()[1]}/x.git", code=1)
    finally:
        done.set()
        thread.join()
        server.close()
    assert "has no certificate that git trusts" in said.err
    assert said.err.count("\n") == 1


def test_a_cache_of_what_remotes_have_can_be_damaged_or_deleted(ada: Clone) -> None:
    ada.measure(1)
    ada.perf("push")
    known = ada.project.root / ".perf/remotes/known"
    (known / "HEAD").write_text("nonsense")
    assert "nothing to push" in ada.perf("push").out
    (known / "config").write_text("[core]\n\tbare = true\n[alias]\n\tx = !touch sprung\n")
    (known / "shallow.lock").touch()
    assert "nothing to push" in ada.perf("push").out


# -- removals --------------------------------------------------------------------------------------

PATH = "8c/8c7f6a1d0e5b4c3f2a1908172635445362718090/time-sort-4c5cc2922c3a.json"


def test_a_removal_is_small_whoever_removed_and_whyever() -> None:
    for text in ("\x00" * 10_000, "ü" * 10_000, '"' * 10_000, "\U0001f600" * 1000, "\ud800"):
        document = following(PATH, None, text, 0, text).encode()
        assert len(document) <= LARGEST_REMOVAL
        assert isinstance(decode_removal(document, PATH), Removal)


def test_the_later_removal_holds_on_both_sides() -> None:
    first = following(PATH, None, "Ada", 0, "x")
    second = following(PATH, first, "Bob", 0, "y")
    another = following(PATH, first, "Eve", 9, "z")
    documents = [one.encode() for one in (first, second, another)]
    for one in documents:
        for other in documents:
            assert later(one, other, PATH) == later(other, one, PATH)
    assert later(documents[0], documents[1], PATH) == documents[1]
    assert (first.out, second.out) == (True, False)


@each(
    "document",
    [b"", b"{}", b"[]", b"\xff", b"[" * 1000, b"x" * (LARGEST_REMOVAL + 1)]
    + [
        Removal(*fields).encode()
        for fields in (
            ("perfvcs-removal/2", PATH, 1, "", "", ""),
            ("perfvcs-removal/1", f"x{PATH}", 1, "", "", ""),
            ("perfvcs-removal/1", PATH, 0, "", "", ""),
            ("perfvcs-removal/1", PATH, MOST_TIMES + 1, "", "", ""),
        )
    ],
)
def test_what_is_not_a_removal_says_why(document: bytes) -> None:
    assert isinstance(decode_removal(document, PATH), str)

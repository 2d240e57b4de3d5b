import os
from itertools import islice
from pathlib import Path
from random import Random
from time import process_time
from typing import Any

import pytest
from conftest import Project as Tree

from perfvcs.errors import UsageError
from perfvcs.git import project as module
from perfvcs.git.ancestry import unmerged
from perfvcs.git.blobs import CommittedFiles
from perfvcs.git.changes import WorkingChanges, difference
from perfvcs.git.command import GitError, git
from perfvcs.git.project import NoRepository, Project, UnknownRevision


def test_a_folder_without_a_repository_says_how_to_make_one(tmp_path: Path) -> None:
    with pytest.raises(NoRepository, match="git init") as caught:
        Project.find(tmp_path)
    assert caught.value.exit_code == 10


def test_gits_own_folder_is_not_a_working_tree(project: Tree) -> None:
    with pytest.raises(NoRepository, match="go to the working tree"):
        Project.find(project.root / ".git")


def test_a_repository_is_found_from_a_subfolder_despite_a_hooks_variables(
    project: Tree, monkeypatch: pytest.MonkeyPatch
) -> None:
    project.write("a/b/c", "x")
    monkeypatch.setenv("GIT_DIR", "/nowhere")
    monkeypatch.setenv("GIT_INDEX_FILE", "/nowhere/index")
    assert Project.find(project.root / "a" / "b").root == project.root


@pytest.mark.usefixtures("project")
def test_no_commits_is_said_with_the_cure() -> None:
    with pytest.raises(NoRepository, match="git commit"):
        Project.find().resolve("HEAD")


def test_an_unknown_revision_is_named(project: Tree) -> None:
    project.commit()
    with pytest.raises(UnknownRevision, match="`nope` is not a revision") as caught:
        Project.find().resolve("nope")
    assert caught.value.exit_code == 2


def test_a_revision_that_looks_like_an_option_is_no_option(project: Tree) -> None:
    project.commit()
    with pytest.raises(UnknownRevision):
        Project.find().resolve("--all")


def test_a_shallow_clone_names_the_cure(project: Tree, tmp_path: Path) -> None:
    project.commit("one")
    project.commit("two")
    project.git(
        "clone", "--quiet", "--depth=1", f"file://{project.root}", str(tmp_path / "shallow")
    )
    found = Project.find(tmp_path / "shallow")
    with pytest.raises(UnknownRevision, match="git fetch --unshallow"):
        found.resolve("HEAD~1")
    assert list(found.ancestors(found.resolve("HEAD"))) == []


def test_ranges_and_revisions_expand_oldest_first_without_repeats(project: Tree) -> None:
    one, two, three = (project.commit(name) for name in ("one", "two", "three"))
    found = Project.find()
    assert found.expand([f"{one}..HEAD", "HEAD", "HEAD~2"]) == [two, three, one]
    assert found.expand(["HEAD~1.."]) == [three]


@pytest.mark.parametrize(
    ("text", "reason"), [("HEAD..HEAD~1", "wrong way round"), ("HEAD~1...HEAD", "three dots")]
)
def test_an_unusable_range_says_why(project: Tree, text: str, reason: str) -> None:
    project.commit("one")
    project.commit("two")
    with pytest.raises(UsageError, match=reason):
        Project.find().expand([text])


def test_ancestors_come_by_steps_and_never_by_date(
    project: Tree, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GIT_COMMITTER_DATE", "2030-01-01T00:00:00Z")
    root = project.commit("root, dated last")
    monkeypatch.setenv("GIT_COMMITTER_DATE", "2020-01-01T00:00:00Z")
    project.git("checkout", "--quiet", "-b", "side")
    far = project.commit("side one")
    side = project.commit("side two")
    project.git("checkout", "--quiet", "main")
    near = project.commit("main one")
    project.git("merge", "--quiet", "--no-ff", "--message", "merge", "side")
    found = Project.find()
    assert list(found.ancestors(found.resolve("HEAD"))) == [near, side, root, far]


def test_ancestors_reach_the_root_of_a_long_history(project: Tree) -> None:
    lines = ["reset refs/heads/main"]
    for number in range(600):
        lines += [
            "commit refs/heads/main",
            f"mark :{number + 1}",
            "committer A <a@b> 1700000000 +0000",
            "data 1",
            "x",
        ]
        lines += [f"from :{number}"] if number else []
    git(project.root, "fast-import", "--quiet", text="\n".join(lines) + "\n")
    found = Project.find()
    assert len(list(found.ancestors(found.resolve("main")))) == 599
    assert len(list(found.walk("main"))) == 600


def test_walking_stops_when_nobody_asks_for_more(project: Tree) -> None:
    project.commit("one")
    two = project.commit("two")
    assert next(Project.find().walk("HEAD")) == two


def test_commits_are_described_and_unknown_ones_left_out(project: Tree) -> None:
    one = project.commit("first\twith a tab — ünïcode")
    found = Project.find().describe([one, "a" * 40])
    assert list(found) == [one]
    assert (found[one].title, found[one].author, found[one].parents) == (
        "first\twith a tab — ünïcode",
        "Ada",
        (),
    )
    assert Project.find().describe([]) == {}


def test_linked_worktrees_share_the_home_of_the_main_one(project: Tree, tmp_path: Path) -> None:
    project.commit()
    project.git("worktree", "add", "--quiet", str(tmp_path / "linked"))
    found = Project.find(tmp_path / "linked")
    assert (found.root, found.home) == (tmp_path / "linked", project.root)


def test_a_bare_repository_holds_its_home_itself_also_for_its_worktrees(
    project: Tree, tmp_path: Path
) -> None:
    project.commit()
    project.git("clone", "--quiet", "--bare", str(project.root), str(tmp_path / "bare.git"))
    git(tmp_path / "bare.git", "worktree", "add", "--quiet", str(tmp_path / "linked"), "main")
    assert Project.find(tmp_path / "bare.git").bare
    assert Project.find(tmp_path / "bare.git").home == tmp_path / "bare.git"
    assert Project.find(tmp_path / "linked").home == tmp_path / "bare.git"
    assert WorkingChanges(Project.find(tmp_path / "bare.git")).hash() is None


def test_a_submodule_has_its_home_in_its_own_tree(project: Tree, tmp_path: Path) -> None:
    other = Tree(tmp_path / "other")
    other.commit(file="x")
    project.git(
        "-c", "protocol.file.allow=always", "submodule", "--quiet", "add", str(other.root), "sub"
    )
    project.commit()
    assert Project.find(project.root / "sub").home == project.root / "sub"
    project.git("-C", "sub", "worktree", "add", "--quiet", str(tmp_path / "linked"))
    assert Project.find(tmp_path / "linked").home == project.root / "sub"


def test_excluding_is_done_once(project: Tree) -> None:
    found = Project.find()
    found.exclude("/.perf/")
    found.exclude("/.perf/")
    assert (project.root / ".git" / "info" / "exclude").read_text().count("/.perf/") == 1


def test_a_missing_git_is_said(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(GitError, match="install it"):
        git(tmp_path, "status")


def test_a_message_names_a_commit_and_an_exclusion_names_none(project: Tree) -> None:
    two = project.commit("two")
    project.commit("three")
    assert Project.find().resolve(":/two") == two
    with pytest.raises(UnknownRevision):
        Project.find().resolve("^HEAD")


def test_walking_a_range_names_the_unknown_side(project: Tree) -> None:
    one, two = project.commit("one"), project.commit("two")
    assert list(Project.find().walk(f"{one}..HEAD")) == [two]
    with pytest.raises(UnknownRevision, match="`nope`"):
        list(Project.find().walk("nope..HEAD"))


def test_on_a_branch_without_commits_other_revisions_are_there(project: Tree) -> None:
    one = project.commit("one")
    project.git("checkout", "--quiet", "--orphan", "empty")
    found = Project.find()
    assert found.head is None
    assert found.resolve("main") == one
    with pytest.raises(UnknownRevision, match="this branch has no commits yet"):
        found.resolve("HEAD")


@pytest.mark.parametrize("name", ["a\nb", "a\u2028b", "co:lon", 'quo"te', "back\\slash"])
def test_a_path_may_hold_any_character(tmp_path: Path, name: str) -> None:
    project = Tree(tmp_path / name)
    project.commit(file="old")
    project.write("file", "new")
    found = Project.find(project.root)
    assert found.root == found.home == project.root
    changes = WorkingChanges(found).hash()
    assert changes == difference(found, "HEAD^", project.commit())


@pytest.mark.usefixtures("project")
def test_a_repository_of_another_user_is_not_trusted_and_the_cure_is_said(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("GIT_TEST_ASSUME_DIFFERENT_OWNER", "1")
    monkeypatch.setattr("perfvcs.git.command.environment", lambda: dict(os.environ))
    with pytest.raises(
        NoRepository,
        match=r"belongs to another user: .*git config --global --add safe.directory .*project",
    ):
        Project.find()


@pytest.mark.parametrize("character", ["\x85", "\u00a0", "\u2028", "\u2029", "\udcff"])
def test_only_newlines_end_a_line_of_a_listing_of_branches(project: Tree, character: str) -> None:
    project.commit("one")
    newest = project.commit("two")
    project.git("checkout", "--quiet", "HEAD~1")
    side = project.commit("aside")
    names = [f"a{character}{side} commit", f"{character}b"]
    for name, commit in zip(names, (newest, side), strict=True):
        path = (
            os.fsencode(project.root)
            + b"/.git/refs/remotes/origin/"
            + name.replace(" ", "_").encode("utf-8", "surrogateescape")
        )
        Path(os.fsdecode(path)).parent.mkdir(parents=True, exist_ok=True)
        Path(os.fsdecode(path)).write_text(f"{commit}\n")
    assert {one.name: one.commit for one in unmerged(Project.find(), newest)} == {names[1]: side}


def test_ancestors_of_several_commits_are_read_from_git_once(
    project: Tree, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Any order of questions about a history with merges has the answers of a fresh look, and no
    commit is listed twice.
    """
    chance = Random(5)
    commits = [project.commit("root")]
    for number in range(40):
        if number % 4 == 3:
            side = project.git("rev-parse", "HEAD")
            project.git("checkout", "--quiet", chance.choice(commits))
            project.commit(f"side {number}")
            project.git("merge", "--quiet", "--no-edit", "-s", "ours", side)
        commits.append(project.commit(f"main {number}"))
    git, listed = Project.find(), []
    start = module.listing

    def counted(*args: Any, **more: Any) -> Any:
        for line in start(*args, **more):
            listed.append(line.split()[0])
            yield line

    expected = {commit: list(Project.find().ancestors(commit)) for commit in commits}
    monkeypatch.setattr(module, "listing", counted)
    for commit in commits[5:10]:  # upwards, each to its end
        assert list(git.ancestors(commit)) == expected[commit]
    assert len(listed) == len(set(listed))
    for _ in range(30):  # and in any order, not to their ends
        commit = chance.choice(commits)
        count = chance.randrange(len(expected[commit]) + 1)
        assert list(islice(git.ancestors(commit), count)) == expected[commit][:count]


def test_a_history_that_git_cannot_read_to_its_end_is_an_error(project: Tree) -> None:
    commits = [project.commit(str(number)) for number in range(3)]
    middle = project.root / ".git/objects" / commits[1][:2] / commits[1][2:]
    middle.chmod(0o644)
    middle.unlink()
    for walk in (Project.find().walk("HEAD"), Project.find().ancestors(commits[2])):
        with pytest.raises(GitError, match="git rev-list failed"):
            list(walk)


def test_a_fixed_revision_stays_while_its_branch_moves(project: Tree) -> None:
    old, new = project.commit("old"), project.commit("new")
    git = Project.find()
    head, span = git.fixed("HEAD"), git.fixed("HEAD~1..HEAD")
    project.commit("newest")
    assert list(git.walk(head)) == [new, old]
    assert list(git.walk(span)) == [new]


@pytest.mark.parametrize(
    "change",
    [
        "commit --quiet --allow-empty --message two",
        "pack-refs --all",
        "checkout --quiet --detach HEAD~0",
        "switch --quiet --create a/b",
        "worktree add --quiet ../other",
        "symbolic-ref HEAD refs/heads/none",
        "tag HEAD",
        "update-ref -d HEAD",
    ],
)
def test_head_is_what_git_says_wherever_it_lies(project: Tree, change: str) -> None:
    project.commit("one")
    here = Project.find()
    here.resolve("HEAD")
    project.git(*change.split())
    for found in [here, *map(Project.find, project.root.parent.glob("other"))]:
        ask = ("-C", str(found.root), "rev-parse", "--verify", "--quiet", "HEAD")
        assert found.head == (project.git(*ask, check=False) or None)


def test_to_read_what_four_times_as_many_commits_have_takes_no_square_of_it(
    project: Tree, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Answers that each copied what was left of them took two minutes for 100,000 commits."""

    def seconds(count: int) -> float:
        names = [f"{number:040x}" for number in range(count)]
        answers = "\n".join(f"{name}:perf.toml missing" for name in names)
        monkeypatch.setattr(Project, "git", lambda *_, **__: answers)
        files, start = CommittedFiles(Project.find(project.root)), process_time()
        files.ask(names, "perf.toml")
        assert not files.of(names[-1], "perf.toml").blob
        return process_time() - start

    assert min(seconds(80_000) for _ in range(2)) < 8 * min(seconds(20_000) for _ in range(2))

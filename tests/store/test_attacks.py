"""What a clone may bring: a ``.perf`` of an attacker's making is refused in one line, and nothing
outside it is touched.
"""

from __future__ import annotations

import os
import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from conftest import Perf, Project, Said
from samples import sample_profile

from perfvcs.profile.rules import REGISTER_FILE
from perfvcs.repository import Repository

COMMANDS = [
    ("status",),
    ("log",),
    ("check",),
    ("show", "--text"),
    ("history",),
    ("plan",),
    ("publish", "out"),
    ("fsck",),
    ("gc",),
    ("collect", "-n1", "--", "true"),
    ("import", "a.csv"),
    ("export", "HEAD", "-o", "x.json"),
    ("rm", "abcd"),
    ("accept", "abcd", "--reason", "x"),
    ("process", "HEAD", "outliers"),
    ("init",),
    ("init", "--adopt"),
    ("check", "--measure", "-n1"),
    ("hook", "run", "post-commit"),
]
READING = [command for command in COMMANDS if command[0] not in ("hook", "init")]
FOREIGN = (
    "[core]\n\trepositoryformatversion = 1\n\tbare = true\n\tsshCommand = 'touch {pwned}"
    " ;'\n\tfsmonitor = 'touch {pwned} ;'\n[extensions]\n\tpartialClone = o\n[remote"
    ' "o"]\n\tpromisor = true\n\turl = ssh://x/y\n'
)


class Victim:
    """A clone of an attacker's repository, beside things that it must not touch."""

    def __init__(self, folder: Path) -> None:
        self.home = folder
        self.clone = folder / "clone"
        self.secret = folder / "authorized_keys"
        self.keys = folder / "precious" / "keys"
        self.pwned = folder / "pwned"
        self.keys.parent.mkdir(parents=True)
        self.keys.write_text("kept")
        self.secret.write_text("ssh-ed25519 kept\n")

    def untouched(self) -> bool:
        return (
            self.keys.read_text() == "kept"
            and self.secret.read_text() == "ssh-ed25519 kept\n"
            and not self.pwned.exists()
        )


def store_with_a_missing_blob(perf: Path, victim: Victim) -> None:
    """A store that git would fetch the missing blob for, by the attacker's command."""
    store = Repository.find(perf.parent).store
    blob = next(entry.new for entry in store.entries() if entry.new)
    (store.path / "objects" / blob[:2] / blob[2:]).unlink()
    (store.path / "config").write_text(FOREIGN.format(pwned=victim.pwned))
    (perf / "index.db").unlink(missing_ok=True)


def linked(name: str, target: str) -> Callable[[Path, Victim], None]:
    def recipe(perf: Path, victim: Victim) -> None:
        path = perf / name
        path.parent.mkdir(exist_ok=True)
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path)
        path.unlink(missing_ok=True)
        path.symlink_to(target.format(home=victim.home))

    return recipe


def the_folder_itself(perf: Path, _: Victim) -> None:
    shutil.rmtree(perf)
    perf.symlink_to("../precious")


def alternates(perf: Path, victim: Victim) -> None:
    (perf / "store" / "objects" / "info").mkdir(exist_ok=True)
    (perf / "store" / "objects" / "info" / "alternates").write_text(f"{victim.home}\n")


def another_common_folder(perf: Path, victim: Victim) -> None:
    shutil.copytree(perf / "store", perf / "other")
    (perf / "other" / "config").write_text(FOREIGN.format(pwned=victim.pwned))
    (perf / "store" / "commondir").write_text("../other\n")


def many_at_once(perf: Path, victim: Victim) -> None:
    """All that can stand in one folder beside each other."""
    for name in TOGETHER:
        RECIPES[name](perf, victim)


RECIPES = {
    "worktrees": linked("worktrees", "../.."),
    "tmp": linked("tmp", "../.."),
    "making": linked("workloads/making-x", "../../../precious"),
    "workloads": linked("workloads", "../../precious"),
    "aside": linked("aside", "../../precious"),
    "absolute": linked("worktrees", "{home}"),
    "lock": linked("lock", "../../authorized_keys"),
    "process lock": linked("process.lock", "../../authorized_keys"),
    "accept lock": linked("accept.lock", "../../authorized_keys"),
    "index": linked("index.db", "../../authorized_keys"),
    "pages": linked("pages", "../../precious"),
    "log": linked("log", "../../precious"),
    "log file": linked("log/post-commit.log", "../../../authorized_keys"),
    "store": linked("store", "../../precious"),
    "write lock": linked("store/perfvcs-write.lock", "../../../authorized_keys"),
    "itself": the_folder_itself,
    "lazy fetch": store_with_a_missing_blob,
    "alternates": alternates,
    "commondir": another_common_folder,
    "many at once": many_at_once,
}
TOGETHER = (
    "commondir",
    "worktrees",
    "tmp",
    "making",
    "aside",
    "lock",
    "process lock",
    "accept lock",
    "index",
    "pages",
    "log file",
    "write lock",
    "alternates",
)


@pytest.fixture
def victim(tmp_path: Path) -> Victim:
    return Victim(tmp_path / "victim")


def attack(tmp_path: Path, victim: Victim, recipe: str) -> Project:
    """The attacker's repository, with one profile and a prepared ``.perf`` in its working tree."""
    attacker = Project(tmp_path / "attacker")
    commit = attacker.commit(**{"a.txt": "a"})
    attacker.write(
        "perf.toml", '[[job]]\nname = "work"\ncmd = "true"\nexecutions = 1\nwarmup = 0\n'
    )
    attacker.write("a.csv", "uid,wall\na,1\n")
    Repository.find(attacker.root, create=True).store.add([sample_profile(commit=commit)], "test")
    RECIPES[recipe](attacker.root / ".perf", victim)
    return attacker


def runs(victim: Victim, perf: Perf, *commands: tuple[str, ...]) -> list[Said]:
    os.chdir(victim.clone)
    return [perf(*command, code=None) for command in commands]


def left(victim: Victim) -> list[Path]:
    """The links in the folder, and what its store borrows from elsewhere."""
    perf = victim.clone / ".perf"
    links = [
        path
        for path in perf.rglob("*")
        if path.is_symlink() and path.parts[-3:-2] != ("worktrees",)
    ]
    return links + [
        path
        for path in (
            perf / "store" / "objects" / "info" / "alternates",
            perf / "store" / "commondir",
        )
        if path.exists()
    ]


@pytest.mark.slow
@pytest.mark.parametrize("recipe", RECIPES)
def test_a_perf_folder_that_a_clone_brings_is_refused_by_every_command(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, victim: Victim, perf: Perf, recipe: str
) -> None:
    attacker = attack(tmp_path, victim, recipe)
    attacker.git("add", "--force", ".perf", "perf.toml", "a.csv")
    attacker.git("commit", "--quiet", "--message", "a trap")
    subprocess.run(["git", "clone", "--quiet", attacker.root, victim.clone], check=True)
    monkeypatch.chdir(victim.clone)
    for command, said in zip(READING, runs(victim, perf, *READING), strict=True):
        assert (said.code, said.out) == (10, ""), command
        assert "git tracks `.perf" in said.err, command
        assert said.err.count("\n") == 1
    for said in runs(victim, perf, ("init",), ("init", "--adopt")):
        assert said.code == 10
    assert runs(victim, perf, ("hook", "run", "post-commit"))[0] == Said(0, "", "")
    assert victim.untouched()
    assert not (victim.clone / ".git" / "perfvcs").exists()


@pytest.mark.slow
@pytest.mark.parametrize("recipe", RECIPES)
def test_a_perf_folder_from_an_archive_is_refused_and_can_be_adopted_without_harm(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, victim: Victim, perf: Perf, recipe: str
) -> None:
    attacker = attack(tmp_path, victim, recipe)
    shutil.rmtree(attacker.root / ".git")
    shutil.copytree(attacker.root, victim.clone, symlinks=True)
    monkeypatch.chdir(victim.clone)
    clone = Project(victim.clone)
    clone.git("add", "a.txt", "perf.toml")
    clone.git("commit", "--quiet", "--message", "from an archive")
    for command, said in zip(READING, runs(victim, perf, *READING), strict=True):
        assert (said.code, said.out, said.err.count("\n")) == (10, "", 1), command
    assert victim.untouched()
    said = perf("init", "--adopt", code=10 if recipe == "itself" else 0)
    assert recipe == "itself" or "adopted " in said.out
    if recipe == "lazy fetch":
        assert (
            "dropped store/config: core.sshcommand, core.fsmonitor, extensions.partialclone,"
            " remote.o." in said.out
        )
        assert "0 profiles" in said.out
    if recipe not in ("itself", "lazy fetch", "store"):
        assert perf("fsck").out == "1 profile can be read, all intact; the index is rebuilt\n"
    if recipe != "itself":
        assert not left(victim)
    if recipe not in ("itself", *TOGETHER):
        runs(victim, perf, *READING)
        assert not left(victim)
    assert victim.untouched()


@pytest.mark.parametrize("name", ["index.db", "lock", "verdicts.db", "store/config", "tmp"])
def test_a_pipe_in_the_place_of_a_file_is_refused_and_nothing_waits_for_it(
    project: Project, name: str
) -> None:
    project.commit()
    home = Repository.find(create=True).home
    (home / name).unlink(missing_ok=True)
    os.mkfifo(home / name)
    done = subprocess.run(
        [sys.executable, "-m", "perfvcs", "status"],
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 10
    assert name in done.stderr
    assert done.stderr.count("\n") == 1


def test_what_a_pull_brings_later_is_refused_too(
    tmp_path: Path, victim: Victim, perf: Perf, monkeypatch: pytest.MonkeyPatch
) -> None:
    attacker = Project(tmp_path / "attacker")
    attacker.commit()
    subprocess.run(["git", "clone", "--quiet", attacker.root, victim.clone], check=True)
    monkeypatch.chdir(victim.clone)
    perf("collect", "--", "true")
    (attacker.root / ".perf").mkdir()
    (attacker.root / ".perf" / "tmp").symlink_to("../../precious")
    attacker.git("add", "--force", ".perf")
    attacker.commit("a trap")
    subprocess.run(["git", "pull", "--quiet"], check=True)
    assert "git tracks `.perf/tmp`" in perf("status", code=10).err
    assert victim.untouched()
    subprocess.run(["git", "rm", "-r", "--quiet", "--cached", ".perf"], check=True)
    assert "run `perf init --adopt`" in perf("status", code=10).err
    assert "dropped .perf/tmp: a symbolic link" in perf("init", "--adopt").out
    assert "1 profile" in perf("status").out


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give files away")
def test_another_users_files_are_refused(project: Project, perf: Perf) -> None:
    project.commit()
    home = Repository.find(create=True).home
    for path in (home / "store" / "objects", home / "token", home):
        os.chown(path, 12345, 12345)
        assert f"{path} belongs to another user (number 12345)" in perf("status", code=10).err
        os.chown(path, 0, 0)
    perf("status")


@pytest.mark.parametrize(
    "statement",
    [
        "CREATE TRIGGER t AFTER INSERT ON verdicts BEGIN DELETE FROM verdicts; END",
        "CREATE VIEW v AS SELECT 1",
        "CREATE TABLE extra (x)",
        "DROP TABLE verdicts",
    ],
)
def test_a_database_with_another_schema_is_made_anew(
    project: Project, perf: Perf, statement: str
) -> None:
    commit = project.commit()
    repository = Repository.find(create=True)
    repository.store.add([sample_profile(commit=commit)], "test")
    perf("status")
    for name in ("index.db", "verdicts.db"):
        with sqlite3.connect(repository.home / name) as database:
            database.execute(
                statement.replace("verdicts", "mirror") if name == "index.db" else statement
            )
        database.close()
    assert "1 profile" in perf("status").out
    for name in ("index.db", "verdicts.db"):
        with sqlite3.connect(repository.home / name) as database:
            names = {row[0] for row in database.execute("SELECT name FROM sqlite_master")}
        database.close()
        assert not names & {"t", "v", "extra"}


@pytest.mark.parametrize(
    "column",
    [
        "commits SET text",
        "profiles SET details",
        "profiles SET commit_id",
        "jobs SET text",
        "mirror SET head",
    ],
)
@pytest.mark.parametrize("value", ["12", "'x'", "x'ff'", "9e999"])
def test_an_index_with_values_of_other_types_is_made_anew(
    project: Project, perf: Perf, column: str, value: str
) -> None:
    commit = project.commit()
    repository = Repository.find(create=True)
    repository.store.add([sample_profile(commit=commit)], "test")
    expected = {command: perf(command).out for command in ("log", "history")}
    with sqlite3.connect(repository.home / "index.db") as database:
        database.execute(f"UPDATE {column} = {value}")
    database.close()
    for command in ("log", "history", "status"):
        said = perf(command, code=None)
        assert said.code in (0, 4), said
        assert "Traceback" not in said.err
    perf("fsck")
    assert {command: perf(command).out for command in expected} == expected


def test_a_bare_repository_inside_a_clone_is_refused(
    tmp_path: Path, victim: Victim, perf: Perf, monkeypatch: pytest.MonkeyPatch
) -> None:
    attacker = Project(tmp_path / "attacker")
    bare = attacker.root / "lib"
    subprocess.run(["git", "init", "--quiet", "--bare", bare], check=True)
    for folder in ("refs/heads", "objects/info", "objects/pack", "refs/tags"):
        (bare / folder / "keep").touch()
    (bare / "config").write_text(FOREIGN.format(pwned=victim.pwned).replace("= 1", "= 0", 1))
    (bare / "perfvcs").write_text('{"token":"' + 64 * "a" + '"}')
    (bare / ".perf").mkdir()
    (bare / ".perf" / "token").write_text(64 * "a")
    (bare / ".perf" / "worktrees").symlink_to("../../../precious")
    attacker.git("add", "--force", ".")
    attacker.commit("a trap")
    subprocess.run(["git", "clone", "--quiet", attacker.root, victim.clone], check=True)
    monkeypatch.chdir(victim.clone / "lib")
    for command in COMMANDS:
        said = perf(*command, code=None)
        assert said.code == 10, command
        assert "came with the repository around it" in said.err
    assert victim.untouched()


def planted(folder: Path, **files: str) -> None:
    """Files below a folder, such as those of a git folder that can be committed; ``__`` stands for
    a slash.
    """
    for name, text in files.items():
        path = folder / name.replace("__", "/")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


def test_a_repository_in_a_bare_one_in_a_clone_is_refused(
    tmp_path: Path, victim: Victim, perf: Perf, monkeypatch: pytest.MonkeyPatch
) -> None:
    attacker = Project(tmp_path / "attacker")
    head = {"HEAD": "ref: refs/heads/main\n", "objects__info__keep": "", "refs__heads__keep": ""}
    planted(
        attacker.root / "outer",
        config="[core]\n\trepositoryformatversion = 0\n\tbare = true\n",
        **head,
    )
    settings = (
        f"[core]\n\tbare = false\n\tworktree = .\n\tfsmonitor = 'touch {victim.pwned}; false'\n"
    )
    planted(attacker.root / "outer" / "inner", config=settings, **head)
    attacker.git("add", "--force", ".")
    attacker.commit("a trap")
    subprocess.run(["git", "clone", "--quiet", attacker.root, victim.clone], check=True)
    for place in ("outer", "outer/inner"):
        monkeypatch.chdir(victim.clone / place)
        for command in COMMANDS:
            said = perf(*command, code=10)
            assert (
                "came with the repository around it" in said.err
                or "this is git's own folder" in said.err
            )
    assert victim.untouched()


def test_a_git_folder_that_borrows_the_clones_own_is_refused(
    tmp_path: Path, victim: Victim, perf: Perf, monkeypatch: pytest.MonkeyPatch
) -> None:
    attacker = Project(tmp_path / "attacker")
    settings = (
        f"[core]\n\tbare = false\n\tworktree = .\n\tfsmonitor = 'touch {victim.pwned}; false'\n"
    )
    planted(
        attacker.root / "sub",
        HEAD="ref: refs/heads/main\n",
        commondir="../.git\n",
        **{"config.worktree": settings},
    )
    attacker.commit("a trap")
    subprocess.run(["git", "clone", "--quiet", attacker.root, victim.clone], check=True)
    subprocess.run(
        ["git", "config", "extensions.worktreeConfig", "true"], cwd=victim.clone, check=True
    )
    monkeypatch.chdir(victim.clone)
    perf("collect", "--", "true")
    monkeypatch.chdir(victim.clone / "sub")
    for command in COMMANDS:
        assert "came with the repository around it" in perf(*command, code=10).err
    assert victim.untouched()


@pytest.mark.parametrize("place", ["objects/pack", "objects/00", "refs/heads", "refs/heads/main"])
def test_links_deeper_in_the_store_are_refused(
    tmp_path: Path, project: Project, perf: Perf, place: str
) -> None:
    project.commit()
    perf("collect", "--", "true")
    path = project.root / ".perf" / "store" / place
    shutil.rmtree(path) if path.is_dir() else path.unlink(missing_ok=True)
    path.symlink_to(tmp_path)
    assert str(path) in perf("status", code=10).err
    assert (
        "a symbolic link"
        in perf("init", "--adopt", code=None).out + perf("init", "--adopt", code=None).err
        or not path.is_symlink()
    )
    assert not path.is_symlink()


@pytest.mark.parametrize("name", ["refs/heads/main", "objects/ab/" + 38 * "c", "refs/tags/x"])
def test_pipes_and_depths_in_a_store_keep_no_adoption_waiting(project: Project, name: str) -> None:
    project.commit()
    store = Repository.find(create=True).store.path
    (project.root / ".git" / "perfvcs").unlink()
    (store / name).parent.mkdir(parents=True, exist_ok=True)
    (store / name).unlink(missing_ok=True)
    os.mkfifo(store / name)
    deep = "d/" * 1500
    for top in (store / "objects", project.root / ".perf" / "tmp"):
        top.mkdir(exist_ok=True)
        subprocess.run(["mkdir", "-p", deep], cwd=top, check=True)
    done = subprocess.run(
        [sys.executable, "-m", "perfvcs", "init", "--adopt"],
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert "Traceback" not in done.stderr
    assert done.returncode == (12 if name == "refs/heads/main" else 0), done
    assert not (store / name).exists()
    assert not (store / "objects" / "d").exists()


def test_a_deep_folder_of_scratch_is_swept(project: Project, perf: Perf) -> None:
    project.commit()
    perf("collect", "--", "true")
    scratch = project.root / ".perf" / "tmp"
    scratch.mkdir(exist_ok=True)
    subprocess.run(["mkdir", "-p", "d/" * 1900], cwd=scratch, check=True)
    assert "1 profile" in perf("status").out
    assert not list(scratch.iterdir())


@pytest.mark.parametrize("target", ["/proc/self/mem", "/proc/self/pagemap", "/dev/zero"])
@pytest.mark.parametrize("name", ["perf.toml", "perf-accepted.toml", "Cargo.toml"])
def test_links_to_files_that_cannot_be_read_are_one_line_at_most(
    project: Project, perf: Perf, name: str, target: str
) -> None:
    project.commit()
    perf("collect", "--", "true")
    (project.root / name).symlink_to(target)
    for command in ("status", "log", "check", "history", "plan", "init"):
        said = perf(*command.split(), code=None)
        assert said.err.count("\n") <= 1, said


@pytest.mark.parametrize("goal", [".git/commondir", ".perf/index.db-journal", "../outside"])
def test_an_acceptance_is_not_written_where_git_or_we_keep_data(
    project: Project, goal: str
) -> None:
    from perfvcs.check import register

    project.commit()
    Repository.find(create=True)
    path = project.root / REGISTER_FILE
    path.symlink_to(goal)
    with pytest.raises(register.BadRegister, match="is not written to"):
        register._replace(path, "text")
    assert not (project.root / goal).exists()


def test_commits_whose_names_are_not_utf_8_can_be_listed_as_json(
    project: Project, perf: Perf
) -> None:
    project.commit()
    tree = project.git("rev-parse", "HEAD^{tree}")
    text = (
        b"tree %s\nauthor A\xff\x1f <a@x> 1700000000 +0000\ncommitter C <c@x> 1700000000"
        b" +0000\n\nt\xff\n" % tree.encode()
    )
    made = subprocess.run(
        ["git", "hash-object", "-t", "commit", "-w", "--stdin"],
        input=text,
        capture_output=True,
        check=True,
    )
    project.git("reset", "--quiet", "--hard", made.stdout.decode().strip())
    perf("collect", "--", "true")
    for command in (("log", "--json"), ("log",), ("status", "--json"), ("status",)):
        assert "2023-11-14" in perf(*command).out or command[0] == "status"


def test_a_gitignore_that_shows_the_folder_to_git_changes_nothing(
    project: Project, perf: Perf
) -> None:
    project.commit(**{".gitignore": "!/.perf\n"})
    perf("collect", "--", "true")
    assert "with uncommitted changes" not in perf("status").out


@pytest.mark.parametrize("name", [b"st\xff", b"a" * 300, b"/proc/nothing"])
def test_a_folder_that_cannot_be_made_is_not_remembered(
    project: Project, perf: Perf, name: bytes
) -> None:
    project.commit()
    place = os.fsdecode(
        name if name.startswith(b"/") else os.fsencode(project.root.parent) + b"/" + name
    )
    assert perf("init", "--store", place, code=2).err.count("\n") == 1
    perf("collect", "--", "true")
    assert "1 profile" in perf("status").out


@pytest.mark.parametrize("first", ["main tree", "linked tree"])
def test_all_working_trees_share_one_folder_whatever_the_layout(
    tmp_path: Path, project: Project, perf: Perf, first: str
) -> None:
    project.commit()
    separate, bare = tmp_path / "separate", tmp_path / "bare"
    subprocess.run(
        ["git", "clone", "--quiet", f"--separate-git-dir={tmp_path}/gd", project.root, separate],
        check=True,
    )
    subprocess.run(["git", "clone", "--quiet", "--bare", project.root, bare / ".git"], check=True)
    for main in (separate, bare):
        tree = tmp_path / f"{main.name}-tree"
        subprocess.run(
            ["git", "worktree", "add", "--quiet", tree], cwd=main, check=True, capture_output=True
        )
        one, other = (main, tree) if first == "main tree" else (tree, main)
        perf("-C", str(one), "collect", "HEAD", "--", "true")
        assert "1 profile" in perf("-C", str(other), "log").out


def test_links_to_files_of_the_project_are_not_written_through(
    tmp_path: Path, project: Project, perf: Perf
) -> None:
    outside = tmp_path / "outside"
    (project.root / "perf.toml").symlink_to(outside)
    project.commit()
    assert "kept perf.toml" in perf("init").out
    assert not outside.exists()
    outside.write_text("")
    from perfvcs.check import register

    path = project.root / REGISTER_FILE
    path.symlink_to(outside)
    with pytest.raises(register.BadRegister, match="outside the project"):
        register._replace(path, "text")
    assert outside.read_text() == ""


# what may be unusual and is not an attack


def test_worktrees_copies_and_moves_of_a_repository_keep_working(
    tmp_path: Path, project: Project, perf: Perf
) -> None:
    project.commit()
    perf("collect", "--", "true")
    project.git("worktree", "add", "--quiet", str(tmp_path / "tree"))
    shutil.copytree(project.root, tmp_path / "copy", symlinks=True)
    project.root.rename(tmp_path / "moved")
    for place in ("moved", "copy"):
        assert "the store holds 1 profile" in perf("-C", str(tmp_path / place), "status").out
    subprocess.run(
        ["git", "-C", tmp_path / "moved", "worktree", "repair", "--", tmp_path / "tree"],
        check=True,
        capture_output=True,
    )
    assert "the store holds 1 profile" in perf("-C", str(tmp_path / "tree"), "status").out


def test_a_submodule_and_a_bare_clone_with_worktrees_have_folders_of_their_own(
    tmp_path: Path, project: Project, perf: Perf
) -> None:
    inner = Project(tmp_path / "inner")
    inner.commit()
    project.commit()
    project.git(
        "-c", "protocol.file.allow=always", "submodule", "--quiet", "add", str(inner.root), "sub"
    )
    subprocess.run(
        ["git", "clone", "--quiet", "--bare", inner.root, tmp_path / "bare.git"], check=True
    )
    subprocess.run(
        ["git", "-C", tmp_path / "bare.git", "worktree", "add", "--quiet", tmp_path / "tree"],
        check=True,
        capture_output=True,
    )
    for place in (project.root / "sub", tmp_path / "tree"):
        perf("-C", str(place), "collect", "--", "true")
        assert "the store holds 1 profile" in perf("-C", str(place), "status").out
    assert (tmp_path / "bare.git" / ".perf" / "token").exists()
    assert not (tmp_path / "tree" / ".perf").exists()


def test_a_folder_that_was_only_begun_or_deleted_is_made_anew(project: Project, perf: Perf) -> None:
    project.commit()
    home = Repository.find(create=True).home
    shutil.rmtree(home / "store")
    for name in [path.name for path in home.iterdir() if path.name != "token"]:
        (home / name).unlink()
    assert "nothing was measured" in perf("status", code=10).err
    perf("collect", "--", "true")
    shutil.rmtree(home)
    assert "nothing was measured" in perf("status", code=10).err
    perf("collect", "--", "true")
    assert "the store holds 1 profile" in perf("status").out


def test_profiles_can_be_on_another_disk_by_request_only(
    tmp_path: Path, project: Project, perf: Perf
) -> None:
    project.commit()
    disk, link = tmp_path / "disk", project.root / ".perf"
    disk.mkdir()
    link.symlink_to(disk)
    assert f"{link} is a symbolic link, which is not followed" in perf("status", code=10).err
    assert "init --store" in perf("init", code=10).err
    perf("init", "--store", str(disk))
    perf("collect", "--", "true")
    assert link.readlink() == disk
    assert (disk / "store").is_dir()
    assert "the store holds 1 profile" in perf("status").out
    assert ".perf" not in project.git("status", "--porcelain")
    link.unlink()  # it is for people
    assert "the store holds 1 profile" in perf("status").out
    link.symlink_to(tmp_path)
    assert "is not used" in perf("status", code=10).err
    link.unlink()
    disk.rename(tmp_path / "away")
    assert "mount it" in perf("status", code=10).err
    assert "mount it" in perf("collect", "--", "true", code=10).err
    disk.mkdir()  # an empty mount point
    assert "mount it" in perf("collect", "--", "true", code=10).err
    perf("init", "--store", str(tmp_path / "away"))
    assert "the store holds 1 profile" in perf("status").out


def test_a_store_on_another_disk_is_moved_and_never_left_behind(
    tmp_path: Path, project: Project, perf: Perf
) -> None:
    project.commit()
    perf("collect", "--", "true")
    disk = tmp_path / "disk"
    assert "move them first" in perf("init", "--store", str(disk), code=2).err
    (project.root / ".perf").rename(disk)
    perf("init", "--store", str(disk))
    assert "the store holds 1 profile" in perf("status").out
    assert "which git works on" in perf("init", "--store", str(project.root / "data"), code=2).err
    assert "not a folder" in perf("init", "--store", str(project.write("../file", "")), code=2).err
    other = Project(tmp_path / "other")
    other.commit()
    assert (
        "was not made for this repository"
        in perf("-C", str(other.root), "init", "--store", str(disk), code=10).err
    )
    (project.root / ".perf").unlink()
    disk.rename(project.root / ".perf")
    perf("-C", str(project.root), "init", "--store", ".perf")
    assert "the store holds 1 profile" in perf("status").out


def test_adoption_reports_what_it_drops_and_keeps_whole_profiles(
    project: Project, perf: Perf
) -> None:
    commit = project.commit()
    repository = Repository.find(create=True)
    repository.store.add(
        [sample_profile(commit=commit), sample_profile([0.2], commit=commit)], "test"
    )
    git = ["git", f"--git-dir={repository.store.path}"]
    blob = (
        subprocess.run(
            [*git, "hash-object", "-w", "--stdin"], input=b"x", capture_output=True, check=True
        )
        .stdout.decode()
        .strip()
    )
    stream = (
        "commit refs/heads/main\ncommitter a <a> 0 +0000\ndata 0\nfrom refs/heads/main^0\nM 100644"
        f" {blob} evil\ndone\n"
    )
    subprocess.run([*git, "fast-import", "--quiet", "--done"], input=stream.encode(), check=True)
    subprocess.run([*git, "config", "alias.x", "!touch y"], check=True)
    (project.root / ".git" / "perfvcs").unlink()
    (repository.home / "aside").mkdir()
    (repository.home / "aside" / "kept.json").write_text("{}")
    (repository.home / "aside" / "link.json").symlink_to("/etc/passwd")
    said = perf("init", "--adopt").out
    assert "dropped store/config: alias.x\n" in said
    assert "dropped aside/link.json: a symbolic link\n" in said
    assert "dropped evil: it is not at the path of a profile\n" in said
    assert "2 profiles, 3 dropped" in said
    assert (repository.home / "aside" / "kept.json").exists()
    assert "nothing dropped" in perf("init", "--adopt").out


def test_a_store_is_adopted_by_two_at_once(project: Project, perf: Perf) -> None:
    commit = project.commit()
    Repository.find(create=True).store.add(
        [sample_profile([n], commit=commit) for n in (1.0, 2.0, 3.0)], "test"
    )
    (project.root / ".git" / "perfvcs").unlink()
    command = [sys.executable, "-m", "perfvcs", "init", "--adopt"]
    both = [
        subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        for _ in range(3)
    ]
    said = [(*process.communicate(), process.returncode) for process in both]
    assert all(
        "3 profiles, nothing dropped" in out and not err and status == 0
        for out, err, status in said
    ), said
    assert "the store holds 3 profiles" in perf("status").out


@pytest.mark.parametrize(
    "text", ["", "{", '{"token":"x"}', '{"token":"' + 64 * "a" + '","store":""}', 70000 * "x"]
)
def test_a_damaged_record_is_named_with_its_cure(project: Project, perf: Perf, text: str) -> None:
    project.commit()
    perf("collect", "--", "true")
    record = project.root / ".git" / "perfvcs"
    record.write_text(text)
    said = perf("status", code=10)
    assert f"{record} is damaged: delete it, and run `perf init --adopt`" in said.err
    record.unlink()
    perf("init", "--adopt")
    assert "the store holds 1 profile" in perf("status").out

"""What a check compares where nobody names both sides, in every state that a working tree can be
in, and what its first line says.
"""

import re
from collections.abc import Callable

import pytest
from conftest import ROOT, Perf, Project, Said

Prepare = Callable[[Project], None]
MEASURE = ("check", "--measure", "-n", "1")


def saved(project: Project) -> None:
    """A commit on which all others build; `sort` is what the job runs."""
    project.configure('cmd = "sh sort.sh"\nexecutions = 1')
    project.commit("base", **{"sort.sh": "true", "README.md": "a", "data.csv": "1"})


def two(project: Project) -> None:
    saved(project)
    project.commit("two", **{"sort.sh": "true; true"})


def amended(project: Project) -> None:
    two(project)
    project.write("sort.sh", "true; true; true")
    project.git("commit", "--quiet", "--all", "--amend", "--no-edit")


def branches(project: Project) -> None:
    """Main and a branch `side`, each with a commit of its own."""
    saved(project)
    project.git("checkout", "--quiet", "-b", "side")
    project.commit("side", **{"side.sh": "true"})
    project.git("checkout", "--quiet", "main")
    project.commit("main", **{"sort.sh": "true; true"})


def merged(project: Project) -> None:
    branches(project)
    project.git("merge", "--quiet", "--no-edit", "side")


def forwarded(project: Project) -> None:
    saved(project)
    project.git("checkout", "--quiet", "-b", "side")
    project.commit("one more", **{"side.sh": "true"})
    project.commit("another", **{"sort.sh": "true; true"})
    project.git("checkout", "--quiet", "main")
    project.git("merge", "--quiet", "--ff-only", "side")


def rebased(project: Project) -> None:
    branches(project)
    project.git("checkout", "--quiet", "side")
    project.git("rebase", "--quiet", "main")


def merging(project: Project) -> None:
    branches(project)
    project.git("merge", "--quiet", "--no-commit", "side")


def conflicting(project: Project) -> None:
    branches(project)
    project.git("checkout", "--quiet", "side")
    project.commit("conflict", **{"sort.sh": "false"})


def rebasing(project: Project) -> None:
    conflicting(project)
    project.git("rebase", "main", check=False)


def picking(project: Project) -> None:
    conflicting(project)
    project.git("cherry-pick", "main", check=False)


def bisecting(project: Project) -> None:
    forwarded(project)
    project.commit("newest", other="x")
    project.git("bisect", "start", "HEAD", "HEAD~3")


def detached(project: Project) -> None:
    two(project)
    project.git("checkout", "--quiet", "--detach")


def stashed(project: Project) -> None:
    two(project)
    project.write("sort.sh", "false")
    project.git("stash", "push", "--quiet")


def edited(project: Project) -> None:
    two(project)
    project.write("sort.sh", "true #")


def staged(project: Project) -> None:
    edited(project)
    project.git("add", "sort.sh")


def intended(project: Project) -> None:
    two(project)
    project.write("new.sh", "true")
    project.git("add", "--intent-to-add", "new.sh")


def with_data(project: Project) -> None:
    two(project)
    project.write("more.csv", "2")


def with_document(project: Project) -> None:
    two(project)
    project.write("README.md", "b")
    project.write("docs/more.md", "c")


def with_read_document(project: Project) -> None:
    two(project)
    project.commit("reads it", **{"use.py": 'print(open("README.md").read())\n'})
    project.write("README.md", "b")


def with_rules(project: Project) -> None:
    two(project)
    project.write("perf.toml", (project.root / "perf.toml").read_text() + "# a note\n")
    project.write("perf-accepted.toml", "")


def with_overlay(project: Project) -> None:
    project.configure('cmd = "sh bench/sort.sh"\nexecutions = 1', top='overlay = ["bench/"]')
    project.commit("base", **{"bench/sort.sh": "true"})
    project.commit("two", **{"other": "x"})
    project.write("bench/sort.sh", "true; true")


def ignored(project: Project) -> None:
    two(project)
    project.write(".git/info/exclude", "*.log\n")
    project.write("run.log", "x")


def left_out(project: Project) -> None:
    project.configure('cmd = "sh sort.sh"\nexecutions = 1', top='[dirty]\nignore = ["*.log"]')
    project.commit("base", **{"sort.sh": "true"})
    project.commit("two", other="x")
    project.write("run.log", "x")


def built(project: Project) -> None:
    project.configure('cmd = "./sort"\nexecutions = 1', top='build = ["cp sort.sh sort"]')
    project.write("sort.sh", "#!/bin/sh\ntrue", executable=True)
    project.commit("base")
    project.commit("two", other="x")
    project.write("sort", "#!/bin/sh\nfalse", executable=True)


def assumed(project: Project) -> None:
    two(project)
    project.git("update-index", "--assume-unchanged", "sort.sh")
    project.git("update-index", "--skip-worktree", "data.csv")
    project.write("sort.sh", "false")
    project.write("data.csv", "2")


def executable(project: Project) -> None:
    two(project)
    (project.root / "sort.sh").chmod(0o755)


def line_ends(project: Project) -> None:
    two(project)
    project.git("config", "core.autocrlf", "true")
    (project.root / "data.csv").write_bytes(b"1\r\n")
    project.commit("with line ends", **{"data.csv": "1\n"})
    (project.root / "data.csv").write_bytes(b"1\r\n")


def moved_submodule(project: Project) -> None:
    other = Project(project.root.parent / "part")
    other.commit("one", **{"part.sh": "true"})
    other.commit("two", **{"part.sh": "true; true"})
    project.git(
        "-c", "protocol.file.allow=always", "submodule", "--quiet", "add", str(other.root), "part"
    )
    project.git("-C", "part", "checkout", "--quiet", "HEAD~1")
    project.configure("cmd = \"grep -qx 'true; true' part/part.sh\"\nexecutions = 1")
    project.commit("base")
    project.git("-C", "part", "checkout", "--quiet", "-")


def changed_submodule(project: Project) -> None:
    moved_submodule(project)
    project.commit("two")
    project.write("part/part.sh", "false")


def with_repository(project: Project) -> None:
    two(project)
    Project(project.root / "dep").write("part.sh", "true")


NOTHING = "HEAD and its parent"
CASES: dict[str, tuple[Prepare, str]] = {
    "just committed": (two, NOTHING),
    "just amended": (amended, NOTHING),
    "merged by fast-forward": (forwarded, NOTHING),
    "merged by a commit": (merged, "HEAD and its first parent"),
    "rebased": (rebased, NOTHING),
    "in a merge": (merging, "HEAD and its changes in side.sh; in the middle of a merge"),
    "in a rebase": (rebasing, "HEAD and its changes in sort.sh; in the middle of a rebase"),
    "in a cherry-pick": (
        picking,
        "HEAD and its changes in sort.sh; in the middle of a cherry-pick",
    ),
    "in a bisection": (bisecting, "HEAD and its parent; in the middle of a bisection"),
    "detached": (detached, NOTHING),
    "with a stash": (stashed, NOTHING),
    "edited": (edited, "HEAD and its changes in sort.sh"),
    "staged only": (staged, "HEAD and its changes in sort.sh"),
    "intent to add": (intended, "HEAD and its changes in new.sh"),
    "an untracked file": (with_data, "HEAD and its changes in more.csv"),
    "documents": (
        with_document,
        "HEAD and its parent; no job sees the changes in README.md, docs/more.md",
    ),
    "a document that a source reads": (with_read_document, "HEAD and its changes in README.md"),
    "perf's own files": (
        with_rules,
        "HEAD and its parent; no job sees the changes in perf.toml, perf-accepted.toml",
    ),
    "files of the overlay": (
        with_overlay,
        "HEAD and its parent; both with the changes in bench/sort.sh",
    ),
    "ignored by git": (ignored, NOTHING),
    "ignored by perf.toml": (left_out, NOTHING),
    "with another repository in it": (
        with_repository,
        f"{NOTHING}; not counted, since it is a repository of its own: dep/",
    ),
    "built by hand": (built, "HEAD and its parent; not counted, since measuring makes it: sort"),
    "assumed to be unchanged": (assumed, NOTHING),
    "a mode": (executable, "HEAD and its changes in sort.sh"),
    "line ends": (line_ends, NOTHING),
    "a submodule moved": (moved_submodule, "HEAD and its changes in part"),
    "changed inside a submodule": (changed_submodule, NOTHING),
}


def comparison(said: Said) -> str:
    """Why these two, as the first line says before anything is measured."""
    found = re.search(r"^comparing \w+ with (\w+\+?): (.*)$", said.err + said.out, re.MULTILINE)
    assert found, said
    assert found[1].endswith("+") == (found[2].startswith("HEAD and its changes")), said
    return found[2]


@pytest.mark.parametrize("case", CASES)
def test_what_is_compared_by_default(project: Project, perf: Perf, case: str) -> None:
    prepare, why = CASES[case]
    prepare(project)
    before = project.git("status", "--porcelain", "--ignored")
    said = perf(*MEASURE, code=None)
    assert comparison(said) == why
    assert (
        project.git("status", "--porcelain", "--ignored").replace("!! .perf/", "").strip()
        == before.strip()
    )
    title = " ".join(said.out.split("\n\n")[0].split())
    assert (f"({why})" in title) == (why != NOTHING and bool(title))


def unborn(project: Project) -> None:
    project.configure()


def cut_off(project: Project) -> None:
    two(project)
    project.write(".git/shallow", project.git("rev-parse", "HEAD") + "\n")


REFUSED: dict[str, tuple[Prepare, int, str]] = {
    "the first commit": (saved, 4, "... has no ancestor to be compared with: name a baseline"),
    "the end of a shallow clone": (
        cut_off,
        4,
        (
            "... has no ancestor to be compared with: fetch the rest of a shallow clone"
            " (`git fetch --unshallow`)"
        ),
    ),
    "no commit yet": (
        unborn,
        10,
        "the repository has no commits yet: make the first one with `git commit`",
    ),
}


@pytest.mark.parametrize(("prepare", "code", "words"), REFUSED.values(), ids=REFUSED)
def test_what_cannot_be_compared(
    project: Project, perf: Perf, prepare: Prepare, code: int, words: str
) -> None:
    prepare(project)
    assert re.sub("[0-9a-f]{10}", "...", perf(*MEASURE, code=code).err) == f"perf: {words}\n"


def test_a_commit_that_was_only_merged_is_not_the_baseline(project: Project, perf: Perf) -> None:
    branches(project)
    perf("collect", "-q", "side")
    first = project.git("rev-parse", "HEAD")
    project.git("merge", "--quiet", "--no-edit", "side")
    said = perf(*MEASURE, code=None)
    assert (
        f"comparing {first[:10]} with " in said.err
        and comparison(said) == "HEAD and its first parent"
    )


def test_a_measured_ancestor_further_back_is_said_to_be(project: Project, perf: Perf) -> None:
    saved(project)
    perf("collect", "-q")
    forwarding = [project.commit("one more", other=f"{number}") for number in range(3)]
    said = perf(*MEASURE, code=None)
    assert comparison(said) == "HEAD and the nearest measured commit, 3 commits apart"
    assert (
        f"-> {forwarding[-1][:10]} (HEAD and the nearest measured commit, 3 commits apart): "
        in said.flat
    )


def first_line(said: Said) -> str:
    return " ".join(said.out.split("\n\n")[0].split())


def test_what_is_stored_decides_without_measuring(project: Project, perf: Perf) -> None:
    two(project)
    one, head = (project.git("rev-parse", name)[:10] for name in ("HEAD~1", "HEAD"))
    perf("collect", "-q", "-n", "2", "HEAD~1", "HEAD")
    assert first_line(perf("check", code=None)).startswith(f"{one} -> {head}: ")
    project.write("sort.sh", "true #")
    assert first_line(perf("check", code=None)).startswith(
        f"{one} -> {head} (HEAD and its parent; not measured: the changes in sort.sh): "
    )
    perf("collect", "-q")
    assert first_line(perf("check", code=None)).startswith(
        f"{head} -> {head}+ (HEAD and its changes in sort.sh): "
    )
    assert perf("check", "--json", code=None).document["pair"] == "HEAD and its changes in sort.sh"
    assert "(HEAD and its changes in sort.sh): " in perf("check", "--markdown", code=None).out
    assert f"({head}" not in perf("check", "-v", "HEAD~1", "HEAD", code=None).out
    project.git("checkout", "--quiet", "sort.sh")
    project.write("README.md", "b")
    perf("collect", "-q")
    assert first_line(perf("check", code=None)).startswith(f"{one} -> {head}: ")


def test_one_revision_that_is_named_is_said_to_be_compared_with_its_parent(
    project: Project, perf: Perf
) -> None:
    two(project)
    project.commit("third")
    before, one, head = project.git("rev-list", "--reverse", "HEAD").split()[-3:]
    perf("collect", "-q", "-n", "2", before, one, head)
    told = {
        "HEAD~1": f"{before[:10]} -> {one[:10]} (HEAD~1 and its parent): ",
        one: f"{before[:10]} -> {one[:10]} ({one[:10]} and its parent): ",
        "HEAD": f"{one[:10]} -> {head[:10]} (HEAD and its parent): ",
    }
    for name, words in told.items():
        assert first_line(perf("check", name, code=None)).startswith(words)
        assert words.split("(")[1][:-3] == perf("check", name, "--json", code=None).document["pair"]


def rows() -> list[list[str]]:
    """The rows of the table of working trees in the documents, cell by cell."""
    page = (ROOT / "docs" / "verdict.md").read_text()
    table = page[page.index("| state of the working tree |") :].partition("\n\n")[0]
    return [
        [cell.strip() for cell in line.strip("|").split("|")] for line in table.splitlines()[2:]
    ]


def test_the_documents_say_what_is_said_of_a_working_tree() -> None:
    assert len(rows()) > 8
    for case, _, words in rows():
        said = re.sub(r"changes in .*?(?=;|$)", "changes in ...", CASES[case][1])
        said = re.sub(r"makes it: .*", "makes it: ...", said)
        assert words == f"`{said}`"

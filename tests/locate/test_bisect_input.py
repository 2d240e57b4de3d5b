"""``perf bisect`` where something is unusual: interruptions, moved submodules, ranges of any
length, and git's own bisect.
"""

import json
import signal
import subprocess
import sys

import pytest
from conftest import processes_in
from test_bisect_command import ASK, history, stepped, work

from perfvcs.locate.bisect import rounds
from perfvcs.locate.bisect.decision import StoppingRules
from perfvcs.repository import Repository

COMMAND = [sys.executable, "-P", "-m", "perfvcs"]
SPINNING = """
int main(void)
{{
    volatile int change = {number};
    for (volatile int turn = 0; turn < {turns}; turn++) {{ }}
    return 0;
}}
"""


def interrupted(folder, words, sign):
    """Run `perf`, and interrupt it as soon as it says a ``sign``; its exit status."""
    process = subprocess.Popen(
        [*COMMAND, *words], cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert process.stderr
    assert any(sign in line for line in process.stderr), sign
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=300)
    return process.returncode


@pytest.mark.parametrize(
    "sign", ["preparing", "is there a difference", "in question", "against its parent"]
)
def test_it_can_be_interrupted_at_every_stage_and_goes_on(project, perf, sign):
    commits = history(project, stepped(9, 4, 0.1), noise=0.01, top='build = ["true"]')
    # the first stages are over before the next ones begin, so that each is interrupted once
    assert interrupted(project.root, ["bisect", commits[0], *ASK], sign) == 130
    assert not processes_in(project.root)
    places = project.root / ".perf" / "worktrees"
    assert not places.exists() or not list(places.iterdir())
    found = perf("bisect", commits[0], *ASK, "--json").document
    assert [one["commit"] for one in found["named"]] == [commits[4]]
    assert perf("fsck").code == 0


def test_a_range_of_one_commit_is_that_commit(project, perf):
    commits = history(project, stepped(2, 1))
    assert perf("bisect", commits[0], *ASK, "--quiet").out == f"{commits[1]}\n"


def test_a_range_of_ten_thousand_commits_takes_as_many_builds_as_halving(project, perf):
    commits = history(project, [1.0])
    culprit, last = 7_123, 10_000
    stream = [f"reset refs/heads/main\nfrom {commits[0]}\n"]
    for number in range(1, last + 1):
        files = {"counter": f"{number}\n"} | ({"work.py": work(1.3)} if number == culprit else {})
        data = "".join(
            f"M 100644 inline {name}\ndata {len(text.encode())}\n{text}\n"
            for name, text in files.items()
        )
        who = f"committer Ada <ada@example.org> {1_700_000_000 + number} +0000"
        stream.append(f"commit refs/heads/main\n{who}\ndata <<E\nchange {number}\nE\n{data}")
    subprocess.run(
        ["git", "fast-import", "--quiet", "--force"],
        cwd=project.root,
        input="".join(stream),
        text=True,
        check=True,
    )
    project.git("reset", "--quiet", "--hard", "main")
    assert "too many to be read" in perf("bisect", commits[0], "--dry-run").out
    found = perf("bisect", commits[0], *ASK, "--json").document
    assert [
        found["commits"].index(row) + 1 for row in found["commits"] if row["probability"] > 0.99
    ] == [culprit]
    assert found["built"] <= 24


def test_a_submodule_that_moves_is_a_suspect_and_is_found(project, perf, tmp_path, monkeypatch):
    inner = tmp_path / "inner"
    project.git("init", "--quiet", "--initial-branch=main", str(inner))

    def level(value):
        (inner / "level.py").write_text(f"LEVEL = {value}\n")
        project.git("-C", str(inner), "add", ".")
        project.git(
            "-C",
            str(inner),
            "-c",
            "user.name=Ada",
            "-c",
            "user.email=ada@example.org",
            "commit",
            "--quiet",
            "-m",
            f"{value}",
        )

    level(1.0)
    project.git(
        "-c", "protocol.file.allow=always", "submodule", "--quiet", "add", str(inner), "inner"
    )
    project.configure(
        f'cmd = "{sys.executable} -S work.py"',
        top='build = ["git submodule --quiet update --init"]',
    )
    program = work(1.0).replace(
        "level = 1.0", "import sys; sys.path[:0] = ['inner']; from level import LEVEL as level"
    )
    commits = [project.commit("begin", **{"work.py": program})]
    commits.append(project.commit("documents", **{"README.md": "a"}))
    level(1.3)
    project.git(
        "-C", "inner", "-c", "protocol.file.allow=always", "pull", "--quiet", "origin", "main"
    )
    commits.append(project.commit("move the submodule"))
    commits.append(project.commit("more documents", **{"README.md": "b"}))
    said = perf("bisect", commits[0], "--dry-run").out
    assert commits[2][:10] in said and "inner" in said and "1 suspect" in said
    monkeypatch.setenv("GIT_ALLOW_PROTOCOL", "file")
    assert perf("bisect", commits[0], *ASK, "--quiet").out == f"{commits[2]}\n"


@pytest.mark.needs("gcc", "valgrind")
def test_counts_of_instructions_guide_it_where_time_is_asked_for(project, perf):
    project.configure('cmd = "./work"', top='build = ["gcc -O1 -o work work.c"]')
    programs = [
        SPINNING.format(turns=4_000_000 + 4_000_000 * (number >= 6), number=number)
        for number in range(12)
    ]
    commits = [
        project.commit(f"change {number}", **{"work.c": program})
        for number, program in enumerate(programs)
    ]
    found = perf("bisect", commits[0], "-m", "cpu", "-u", "work", "--json").document
    assert [one["commit"] for one in found["named"]] == [commits[6]]
    assert {commits[0], commits[-1], commits[5], commits[6]} <= found["counted"].keys()
    assert found["counted"][commits[6]] > 1.5 * found["counted"][commits[5]]
    assert (
        perf("bisect", commits[0], "-m", "cpu", "-u", "work", "--json").document["commits"]
        == found["commits"]
    ), "again"
    text = perf("bisect", commits[0], "-m", "cpu", "-u", "work").out
    assert f"and {len(found['counted'])} to count instructions" in " ".join(text.split())


@pytest.mark.needs("gcc", "valgrind")
def test_counts_of_instructions_say_where_to_look_if_times_show_nothing(project, perf, monkeypatch):
    # three pairs prove nothing, whatever they are
    monkeypatch.setattr(StoppingRules, "most_pairs", 3)
    monkeypatch.setattr(rounds, "PROVING", 0.0)
    project.configure('cmd = "./work"', top='build = ["gcc -O1 -o work work.c"]')
    programs = [
        SPINNING.format(turns=20_000 + 20_000 * (number >= 6), number=number) for number in range(9)
    ]
    commits = [
        project.commit(f"change {number}", **{"work.c": program})
        for number, program in enumerate(programs)
    ]
    said = perf("bisect", commits[0], "-m", "cpu", "-u", "work", code=4).flat
    assert "instructions, whose counts repeat, do differ: +" in said
    assert f"{commits[6][:10]} " in said and not any(commit[:10] in said for commit in commits[1:5])
    found = perf("bisect", commits[0], "-m", "cpu", "-u", "work", "--json", code=4).document
    assert found["ended"] == "unproved" and not found["named"]
    assert found["instructions"]["effect"] > 0.1
    assert found["instructions"]["commits"][commits[6]] > 0.9


def test_the_first_execution_in_a_checkout_does_not_count(project, perf):
    project.configure(f'cmd = "{sys.executable} -S work.py"')
    commits = []
    for number, level in enumerate(stepped(9, 5)):
        slow_at_first = (
            f'level = {level} * (1 if os.path.exists("ran") else 1e9); open("ran", "w").close()'
        )
        text = work(level).replace(f"level = {level}", slow_at_first)
        commits.append(
            project.commit(f"change {number}", **{"work.py": f"{text}ignored = {number}\n"})
        )
    found = perf("bisect", commits[0], *ASK, "--json").document
    assert [one["commit"] for one in found["named"]] == [commits[5]]
    between = [row["value"] for row in found["commits"][:-1] if row["value"] is not None]
    assert len(between) >= 2 and max(between) < 1.3


def test_a_full_disk_ends_it_in_one_line_and_is_held_against_no_commit(project, perf, tmp_path):
    project.configure(f'cmd = "{sys.executable} -S work.py"')
    disk, levels = tmp_path / "disk", stepped(7, 4)
    disk.symlink_to("/dev/full")
    commits = []
    for number, level in enumerate(levels):
        writes = (
            f"with open({str(disk)!r}, 'w') as file: file.write('x')\n"
            if 0 < number < len(levels) - 1
            else ""
        )
        commits.append(
            project.commit(
                f"change {number}", **{"work.py": f"{work(level)}{writes}ignored = {number}\n"}
            )
        )
    said = perf("bisect", commits[0], *ASK, code=1)
    assert (
        said.err.splitlines()[-1]
        == "perf: the disk is full: free some space and run the command again"
    )
    disk.unlink()
    disk.symlink_to("/dev/null")
    found = perf("bisect", "--json").document
    assert [one["commit"] for one in found["named"]] == [commits[4]]
    assert len(found["sessions"]) > 1 and not [row for row in found["commits"] if row["skipped"]]


def test_what_a_bisection_found_is_what_check_says(project, perf):
    commits = history(project, stepped(9, 5, 0.05), noise=0.01)
    perf("bisect", commits[0], *ASK)
    said = perf("check", commits[4], commits[5], "--json", code=3).document
    assert "degradation" in json.dumps(said)
    assert perf("check", commits[4], commits[5], "--bisect-codes", code=1).code == 1


def test_git_bisect_finds_the_commit_with_our_exit_codes(project):
    # only the program's own cost is to count, on a busy machine too (12 pairs), and a change of
    # less than half of what is sought is none
    others = [
        f'[[check]]\nmetric = "{name}"\ndelta = "1000%"'
        for name in ("wall", "cpu", "maxrss", "pss")
    ]
    commits = history(
        project,
        stepped(8, 5, 0.5),
        noise=0.01,
        top='[[check]]\nmetric = "cost"\ndelta = "20%"\n' + "\n".join(others),
    )
    project.git("bisect", "start", "HEAD", commits[0])
    done = subprocess.run(
        [
            "git",
            "bisect",
            "run",
            *COMMAND,
            "check",
            "--measure",
            "--bisect-codes",
            commits[0],
            "HEAD",
            "-n",
            "12",
        ],
        cwd=project.root,
        capture_output=True,
        text=True,
        check=False,
    )
    assert f"{commits[5]} is the first bad commit" in done.stdout, done.stdout + done.stderr


@pytest.mark.parametrize(("broken", "culprit"), [((5, 35), 20), ((1, 31), 12), ((9, 39), 5)])
def test_a_run_of_thirty_commits_is_built_in_part(project, perf, tmp_path, broken, culprit):
    built, last = tmp_path / "built", 39
    project.configure(f'cmd = "{sys.executable} -S work.py"', top='build = ["sh build.sh"]')
    project.write("build.sh", f"echo >> {built}; grep -q fine state\n")
    commits = [
        project.commit(
            f"change {number}",
            **{
                "work.py": work(1.0 + 0.2 * (number >= culprit), 0.001),
                "state": f"{'broken' if number in range(*broken) else 'fine'} {number}\n",
            },
        )
        for number in range(last + 1)
    ]
    inside = culprit in range(broken[0], broken[1] + 1)
    said = perf("bisect", commits[0], *ASK, "--json", code=4 if inside else 0)
    found = said.document
    failed = [row["commit"] for row in found["commits"] if row["skipped"]]
    assert 1 <= len(failed) <= 16 and set(failed) <= set(commits[slice(*broken)])
    assert len(built.read_text().splitlines()) <= len(failed) + 14, "what fails is built once"
    if not inside:
        assert [one["commit"] for one in found["named"]] == [commits[culprit]]
        return
    held = [row["commit"] for row in found["commits"] if row["probability"] > 0.001]
    assert commits[culprit] in held and set(held) <= set(commits[broken[0] : broken[1] + 1])
    again = perf("bisect", commits[0], *ASK, code=4).flat
    assert "between those that do not run were not tried" in again


def test_somebody_else_who_measures_is_told_of_before_anything_is_read(project, perf):
    commits = history(project, stepped(4, 2))
    with Repository.find(create=True).measuring():
        said = perf("bisect", commits[0], *ASK, code=11)
    (line,) = said.err.splitlines()
    assert line.startswith("perf: process ") and "is measuring here" in line


def test_what_commits_change_is_read_once_after_the_ends_and_said(project, perf):
    commits = history(project, stepped(9, 5))
    lines = perf("bisect", commits[0], *ASK).err.splitlines()
    assert lines.count(line := "reading what 8 commits change") == 1
    assert any("is there a difference" in before for before in lines[: lines.index(line)])
    equal = history(project, [1.0] * 3, noise=0.0)
    assert "reading" not in perf("bisect", equal[0], *ASK, code=4).err
    assert "reading what 2 commits change" in perf("bisect", equal[0], "--dry-run").err


def test_an_end_that_fails_on_a_full_disk_is_not_taken_for_one_that_does_not_run(
    project, perf, monkeypatch
):
    from perfvcs.launcher import preparation

    project.configure('cmd = "sh work.sh"', top='build = ["false"]')
    good = project.commit("good", **{"work.sh": "true"})
    project.commit("bad", **{"work.sh": "sleep .01"})
    # room again once the build is gone
    monkeypatch.setattr(preparation, "disk_is_full", lambda _: True)
    said = perf("bisect", good, code=1).err
    assert (
        said.splitlines()[-1] == "perf: the disk is full: free some space and run the command again"
    )

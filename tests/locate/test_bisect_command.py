"""``perf bisect`` on real repositories, whose programs report a level of their own with some
noise.
"""

import json
import re
import signal
import subprocess
import sys

import pytest
from conftest import Project, processes_in

# what it reports is a normal number around the level of the commit, by a sum of uniform ones;
# importing json would take longer than the rest
WORK = """
import os
level = {level}
noise = {noise} * (sum(os.urandom(12)) / 255 - 6)
with open(os.environ["PERFVCS_SAMPLES"], "a") as file:
    file.write('{{"metric": "cost", "unit": "s", "better": "lower"}}\\n')
    file.write('{{"uid": "task", "cost": %r}}\\n' % (level * (1 + noise)))
"""
ASK = ("-u", "task", "-m", "cost")


def work(level: float, noise: float = 0.01) -> str:
    return WORK.format(level=level, noise=noise)


def history(
    project: Project, levels: list[float], *, noise: float = 0.01, top: str = ""
) -> list[str]:
    """A commit per level, oldest first, each of which changes the program."""
    project.configure(f'cmd = "{sys.executable} -S work.py"', top=top)
    return [
        project.commit(
            f"change {number}", **{"work.py": work(level, noise) + f"ignored = {number}\n"}
        )
        for number, level in enumerate(levels)
    ]


def stepped(count: int, culprit: int, size: float = 0.2) -> list[float]:
    return [1.0 + size * (number >= culprit) for number in range(count)]


def test_the_commit_that_made_it_slower_is_named(project, perf):
    commits = history(project, stepped(9, 5))
    said = perf("bisect", commits[0], *ASK)
    assert commits[5][:10] in said.out and "change 5" in said.out
    assert "task, cost: +" in said.out.splitlines()[0].replace("work: ", "")
    assert not any(commit[:10] in said.out for commit in commits[1:5])
    assert max(map(len, said.out.splitlines())) <= 80
    assert not (project.root / ".perf" / "worktrees").exists() or not list(
        (project.root / ".perf" / "worktrees").iterdir()
    )


def test_asked_again_it_answers_from_what_is_stored(project, perf):
    commits = history(project, stepped(6, 3))
    perf("bisect", commits[0], *ASK)
    count = perf("status").out
    again = perf("bisect", commits[0], "--json").document
    assert [one["commit"] for one in again["named"]] == [commits[3]]
    assert perf("status").out == count
    assert again["named"][0]["step"]["value"] == pytest.approx(0.2, abs=0.05)


def test_begun_afresh_it_learns_nothing_from_before(project, perf):
    commits = history(project, stepped(9, 5))
    first = perf("bisect", commits[0], *ASK, "--json").document
    again = perf("bisect", commits[0], *ASK, "--fresh")
    assert "is there a difference?" in again.err
    count = re.search(r"(\d+) builds", again.out)
    assert count and int(count[1]) > 3
    assert commits[5][:10] in again.out
    assert first["named"][0]["commit"] == commits[5]


def test_the_document_has_the_probability_of_every_commit(project, perf):
    commits = history(project, stepped(6, 2))
    found = perf("bisect", commits[0], *ASK, "--json").document
    assert [row["commit"] for row in found["commits"]] == commits[1:]
    assert found["commits"][1]["probability"] > 0.99
    assert sum(row["probability"] for row in found["commits"]) == pytest.approx(1, abs=0.1)
    assert found["target"]["metric"] == "cost" and found["effect"]["value"] == pytest.approx(
        0.2, abs=0.05
    )
    assert (
        found["blocks"] > 0
        and found["executions"] > found["blocks"]
        and len(found["sessions"]) >= 2
    )


def test_only_the_commits_are_printed_for_scripts(project, perf):
    commits = history(project, stepped(5, 2))
    assert perf("bisect", commits[0], *ASK, "--quiet").out == f"{commits[2]}\n"


def test_the_commit_has_the_levels_that_check_gives_it_and_the_blame_of_it_is_next(project, perf):
    commits = history(project, stepped(3, 1))
    said = perf("bisect", commits[0], *ASK).out
    checked = perf("check", commits[0], commits[1], *ASK, "--json", code=3).document
    change = checked["changes"][0]
    levels = re.search(r"([\d.]+) -> ([\d.]+) s\n", said)
    assert levels
    assert float(levels[1]) == pytest.approx(change["baseline"], abs=0.006)
    assert float(levels[2]) == pytest.approx(change["target"], abs=0.006)
    assert said.endswith(f"Next: find the function: perf blame {commits[1][:10]} -- 'work: task'\n")


def test_an_improvement_is_found_when_it_is_asked_for(project, perf):
    commits = history(project, [1.2, 1.2, 1.0, 1.0, 1.0])
    assert "--improvement" in perf("bisect", commits[0], *ASK, code=4).out
    assert perf("bisect", commits[0], *ASK, "--improvement", "--quiet").out == f"{commits[2]}\n"


def test_others_that_differ_are_named_with_their_units(project, perf):
    project.configure(f'cmd = "{sys.executable} -S work.py"')
    other = '    file.write(\'{"uid": "other", "cost": %r}\\n\' % (2 * level * (1 - noise)))\n'
    commits = [
        project.commit(f"change {number}", **{"work.py": work(level) + other})
        for number, level in enumerate(stepped(3, 2))
    ]
    said = perf("bisect", commits[0], "-m", "cost").flat
    note = re.search(r"; the ends differ elsewhere too: (work: (task|other), cost) \+", said)
    assert note
    assert re.search(r"note: follows work: (task|other), cost, the most important of 2 bench", said)
    naming = re.search(r"name another to follow it: perf (bisect \S+ \S+) NAME", said)
    assert naming
    again = perf("bisect", commits[0], "-m", "cost").flat
    assert "nothing was measured: what is stored answers for 2 commits" in again
    assert note[0] in again
    found = perf(*naming[1].split(), note[1], "--json").document
    checked = perf("check", *naming[1].split()[1:], note[1], "--json", code=3).document
    effect = checked["changes"][0]
    assert (found["effect"]["value"], found["effect"]["low"]) == (effect["effect"], effect["low"])
    assert (found["target"]["uid"], found["target"]["metric"]) == (note[2], "cost")
    assert [one["commit"] for one in found["named"]] == [commits[2]]


def units(level: float, noise: float = 0.01) -> str:
    """A program of two units, one of which repeats exactly."""
    other = '    file.write(\'{"uid": "other", "cost": %r}\\n\' % (2 * level))\n'
    return work(level, noise) + other


def test_the_ends_of_several_units_are_measured_once(project, perf):
    project.configure(f'cmd = "{sys.executable} -S work.py"')
    commits = [
        project.commit(f"change {number}", **{"work.py": units(level) + f"ignored = {number}\n"})
        for number, level in enumerate(stepped(5, 2))
    ]
    said = perf("bisect", commits[0], "-m", "cost")
    assert said.err.count("is there a difference?") == 1
    assert commits[2][:10] in said.out


def test_a_clock_that_seems_coarse_is_not_followed_where_another_unit_shows_the_same(project, perf):
    """Readings of 2 and 2.4 s alone may be those of a clock that ticks every .4 s."""
    project.configure(f'cmd = "{sys.executable} -S work.py"')
    commits = [
        project.commit(f"change {number}", **{"work.py": units(level)})
        for number, level in enumerate(stepped(3, 2))
    ]
    assert perf("bisect", commits[0], "-m", "cost", "--json").document["target"]["uid"] == "task"


def test_equal_ends_have_nothing_to_look_for(project, perf):
    commits = history(project, [1.0] * 5, noise=0.001)
    said = perf("bisect", commits[0], *ASK, code=4)
    out = said.flat
    assert re.search(r"differ by less than [0-9.]+ %: there is no commit to look for", out), out


def test_where_no_verdict_names_a_target_the_bounds_are_printed(project, perf):
    project.configure(f'cmd = "{sys.executable} -S work.py"')
    commits = [
        project.commit(
            f"change {number}", **{"work.py": units(1.0, 0.001) + f"ignored = {number}\n"}
        )
        for number in range(3)
    ]
    out = perf("bisect", commits[0], "-m", "cost", code=4).flat
    ends = f"{commits[0][:10]} and {commits[2][:10]}"
    assert re.search(
        rf"no difference is shown: {ends} differ by less than [0-9.]+ % in work: task, cost;"
        " nothing is known of work: other, cost: all readings are equal",
        out,
    ), out


@pytest.mark.parametrize(
    ("levels", "said"),
    [
        ((400, 400), "between {} and {}: nothing is known of bench: Sort, wall time: all readings"),
        ((-5, -7), "became worse between {} and {}, but bench: Sort, wall time changed by -2 ns:"),
    ],
)
def test_ends_without_a_ratio_or_a_bound_are_told_in_a_sentence(project, perf, levels, said):
    project.write(
        "perf.toml", '[[job]]\nname = "bench"\ncmd = "sh bench.sh"\nreads = "go"\nwarmup = 0\n'
    )
    ends = [
        project.commit(f"{n}", **{"bench.sh": f"echo 'BenchmarkSort 10 {level} ns/op' # {n}\n"})
        for n, level in enumerate(levels)
    ]
    out = perf("bisect", *ends, code=4).flat
    assert said.format(*(end[:10] for end in ends)) in out


def test_begun_afresh_it_does_not_learn_from_a_check_of_the_same_ends(project, perf):
    commits = history(project, stepped(5, 3))
    perf("check", "--measure", commits[0], "HEAD", code=3)
    perf("bisect", commits[0], *ASK, "--fresh")
    (kept,) = json.loads((project.root / ".perf" / "bisections.json").read_text())
    assert kept["ignored"] and kept["sessions"]
    assert kept["sessions"][0]["session"] != kept["ignored"][0]


@pytest.mark.parametrize(
    ("good", "bad", "words"),
    [
        ("HEAD", "HEAD", "both ends are"),
        ("HEAD", "HEAD~2", "is not an ancestor of .* but the other way round: perf bisect"),
        ("side", "HEAD", "from where their lines part it is perf bisect"),
        ("nothing", "HEAD", "`nothing` is not a revision here"),
    ],
)
def test_ends_that_are_not_in_order_are_refused(project, perf, good, bad, words):
    history(project, stepped(4, 2))
    project.git("checkout", "--quiet", "-b", "side", "HEAD~1")
    project.commit("beside", other="x")
    project.git("checkout", "--quiet", "main")
    said = perf("bisect", good, bad, code=2)
    assert len(said.err.splitlines()) == 1
    assert re.search(words, said.err)


def test_a_shallow_clone_says_how_to_get_the_rest(project, perf, tmp_path, monkeypatch):
    commits = history(project, stepped(6, 3))
    project.git(
        "clone", "--quiet", "--depth", "2", f"file://{project.root}", str(tmp_path / "clone")
    )
    monkeypatch.chdir(tmp_path / "clone")
    project.git(
        "-C",
        str(tmp_path / "clone"),
        "fetch",
        "--quiet",
        "--depth",
        "1",
        "origin",
        commits[0],
        check=False,
    )
    assert "git fetch --unshallow" in perf("bisect", commits[0], code=2).err


def test_a_commit_that_fails_is_skipped_and_a_range_holds_the_culprit(project, perf):
    project.configure(f'cmd = "{sys.executable} -S work.py"')
    commits = []
    for number in range(7):
        text = (
            f"import sys; print({number}); sys.exit(3)\n"
            if number in (2, 3, 4)
            else work(1.0 + 0.2 * (number >= 3)) + f"ignored = {number}\n"
        )
        commits.append(project.commit(f"change {number}", **{"work.py": text + f"# {number}\n"}))
    said = perf("bisect", commits[0], *ASK, code=4)
    for number in (2, 3, 4, 5):
        assert f"{commits[number][:10]}  " in said.out
    assert said.out.count("skipped") == 3 and "exited with status 3" in said.flat
    assert f"{commits[1][:10]}  " not in said.out


def test_a_good_end_without_the_benchmark_is_an_error_that_names_the_cure(project, perf):
    first = project.commit("nothing yet", readme="x")
    history(project, stepped(3, 1))
    assert "overlay" in perf("bisect", first, *ASK, code=5).err.splitlines()[-1]


def test_old_commits_run_the_benchmark_of_the_overlay(project, perf):
    """The program measured is a library; the benchmark came later, and lies over every commit."""
    commits = [
        project.commit(f"change {number}", **{"level.py": f"LEVEL = {1 + 0.2 * (number >= 2)}\n"})
        for number in range(4)
    ]
    project.write(
        "bench/work.py",
        work(1.0).replace(
            "level = 1.0", "import sys; sys.path[:0] = ['.']; from level import LEVEL as level"
        ),
    )
    project.configure(f'cmd = "{sys.executable} bench/work.py"', top='overlay = ["bench"]')
    project.commit("a benchmark")
    assert perf("bisect", commits[0], *ASK, "--quiet").out == f"{commits[2]}\n"


def test_merges_are_followed_along_the_first_parent_and_into_the_branch_on_request(project, perf):
    commits = history(project, [1.0, 1.0])
    project.git("checkout", "--quiet", "-b", "topic")
    inside = [
        project.commit(
            f"topic {number}", **{"work.py": work(1 + 0.2 * (number >= 1)) + f"# t{number}\n"}
        )
        for number in range(3)
    ]
    project.git("checkout", "--quiet", "main")
    project.commit("beside it", other="x")
    project.git("merge", "--quiet", "--no-ff", "-m", "merge topic", "topic")
    merge = project.git("rev-parse", "HEAD")
    project.commit("after", other="y")
    said = perf("bisect", commits[0], *ASK)
    assert "merge topic" in said.out and "--merged" in said.out and inside[1][:10] not in said.out
    found = perf("bisect", commits[0], *ASK, "--merged", "--json").document
    assert [one["commit"] for one in found["named"]] == [merge]
    assert [one["commit"] for one in found["within"]["named"]] == [inside[1]]


def test_an_interrupted_bisection_goes_on_with_what_it_has(project, perf):
    commits = history(project, stepped(9, 4, 0.5), noise=0.1)
    command = [sys.executable, "-P", "-m", "perfvcs", "bisect", commits[0], *ASK]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert process.stderr
    for line in process.stderr:
        if "in question" in line:
            break
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=300)
    assert process.returncode == 130 and not processes_in(project.root)
    stored = json.loads((project.root / ".perf" / "bisections.json").read_bytes())[-1]
    assert stored["sessions"] and not stored["ended"]
    found = perf("bisect", "--json", code=None).document
    assert (found["good"], found["bad"]) == (commits[0], commits[-1])
    assert [one["commit"] for one in found["named"]] == [commits[4]]
    assert set(found["sessions"]) >= {one["session"] for one in stored["sessions"][:1]}


def test_a_damaged_memory_of_bisections_is_an_empty_one(project, perf):
    commits = history(project, stepped(4, 2))
    perf("bisect", commits[0], *ASK)
    (project.root / ".perf" / "bisections.json").write_bytes(b"[{")
    assert perf("bisect", commits[0], *ASK, "--quiet").out == f"{commits[2]}\n"


def test_a_budget_ends_it_with_what_is_known(project, perf):
    commits = history(project, stepped(40, 17, 0.05), noise=0.03)
    said = perf("bisect", commits[0], *ASK, "--budget", "1500ms", code=None)
    assert said.code in (0, 4)
    if said.code == 4:
        assert "budget" in said.out or "not shown" in said.out


def test_without_ends_it_begins_before_the_step_of_the_history(project, perf):
    commits = history(project, stepped(16, 9), noise=0.005)
    perf(
        "collect", *(commits[number] for number in (0, 1, 2, 4, 5, 6, 10, 11, 12, 13, 14, 15)), "-q"
    )
    found = perf("bisect", *ASK, "--json").document
    assert [one["commit"] for one in found["named"]] == [commits[9]]
    assert found["good"] in commits[:9]


def test_suspects_are_listed_without_measuring(project, perf):
    project.configure(f'cmd = "{sys.executable} -S work.py"')
    first = project.commit("one", **{"work.py": work(1.0), "README.md": "a"})
    project.commit("documents", **{"README.md": "b"})
    third = project.commit("a level", **{"work.py": work(1.5)})
    said = perf("bisect", first, "--dry-run")
    assert third[:10] in said.out and "documents" not in said.out
    assert "1 suspect, 1 commit changes nothing" in said.out
    rows = perf("bisect", first, "--dry-run", "--json").document["commits"]
    assert [row["suspect"] for row in rows] == [False, True]
    assert rows[1]["prior"] > 0.9 and sum(row["prior"] for row in rows) == pytest.approx(1)


def test_what_no_benchmark_can_run_is_no_suspect_before_anything_is_measured(project, perf):
    project.configure(f'cmd = "{sys.executable} -S work.py"')
    first = project.commit("one", **{"work.py": work(1.0)})
    project.commit("aside", **{"unused.py": "def other():\n    return 1\n"})
    project.commit("a level", **{"work.py": work(1.5)})
    rows = perf("bisect", first, "--dry-run", "--json").document["commits"]
    assert [row["suspect"] for row in rows] == [False, True]
    left_out = perf("select", "HEAD~2", "HEAD~1", "--json").document["benchmarks"]
    assert [row["run"] for row in left_out] == [False]


def test_the_page_shows_every_commit_and_nothing_of_a_title_is_obeyed(project, perf):
    commits = history(project, [1.0] * 5)
    commits.append(project.commit("<script>alert(1)</script>", **{"work.py": work(1.3)}))
    commits.append(project.commit("after", **{"work.py": work(1.3) + "ignored = 9\n"}))
    perf("bisect", commits[0], *ASK, "-o", "page.html")
    page = (project.root / "page.html").read_text()
    assert all(commit[:10] in page for commit in commits)
    assert "<script" not in page and "&lt;script&gt;" in page
    assert page.count('class="certain"') == 1 and page.count('class="likely"') == 5
    assert 'class="named"' in page and "against its parent" in page
    names = re.findall(r'<text class="code( certain)?"[^>]*>(\w+)</text>', page)
    assert [name for _, name in names] == [commit[:10] for commit in commits]
    assert [kind for kind, _ in names] == [""] * 5 + [" certain", ""]
    assert re.search(r">good, [\d.]+ ?\w*<", page) and re.search(r">bad, [\d.]+ ?\w*<", page)
    perf("bisect", commits[4], *ASK, "-o", "few.html")
    few = (project.root / "few.html").read_text()
    assert "<svg" not in few and 'class="named"' in few  # the table says all of two commits
    assert (
        "cannot write missing/page.html"
        in perf("bisect", commits[0], *ASK, "-o", "missing/page.html", code=2).err
    )


def test_an_unknown_metric_is_refused_with_those_that_there_are(project, perf):
    commits = history(project, stepped(3, 1))
    assert (
        "no metric is called `cots`; did you mean `cost`?"
        in perf("bisect", commits[0], "-m", "cots", code=2).err
    )


# how long it takes is drawn anew by each execution, in a function of C; what Python executes is not
DRAWN = """
import random
total = 0
for number in range({size}):
    total += number * number
sum(range(random.randrange(100_000, 1_000_000)))
"""


def test_work_that_time_does_not_show_is_found_by_its_count(project, perf):
    project.configure(f'cmd = "{sys.executable} work.py"')
    commits = [
        project.commit(f"change {number}", **{"work.py": DRAWN.format(size=size)})
        for number, size in enumerate((20_000, 20_001, 22_000, 22_001))
    ]
    said = perf("bisect", commits[0], commits[3], "-m", "bytecodes").out
    assert said.startswith("work, bytecodes: +")
    assert commits[2][:10] in said and "+9." in said
    assert not any(
        commit[:10] in said.partition("note:")[0].partition("\n")[2] for commit in commits[:2]
    )
    again = perf("bisect", commits[0], commits[3], "-m", "bytecodes")
    assert again.flat.startswith(said.partition("\n")[0])
    assert "nothing was measured: what is stored answers for 3 commits" in again.flat
    assert "in turns: is there a difference?" not in again.err


VARYING = """
import os
cost = {level}
for number in range({level} + os.urandom(1)[0] // 2):
    cost += number
"""


def test_counts_that_vary_name_no_commit_that_only_changes_a_remark(project, perf):
    """Those of the ends are stored, and show it."""
    project.configure(f'cmd = "{sys.executable} work.py"\nexact = "always"')
    texts = [VARYING.format(level=level) for level in (9000, 9000, 10_000)]
    commits = [
        project.commit(f"change {number}", **{"work.py": f"{text}# {number}\n"})
        for number, text in enumerate((*texts, texts[-1]))
    ]
    perf("check", "--measure", commits[0], commits[3], "-n", "2", code=None)
    said = perf("bisect", "--json", commits[0], commits[3], "-m", "bytecodes").document
    assert [named["commit"] for named in said["named"]] == [commits[2]]

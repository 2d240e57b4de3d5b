"""`perf watch`: a clone that measures what comes to a branch of a real remote, and shares it."""

from __future__ import annotations

import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from conftest import Project, Said, processes_in
from histories import measured
from hypothesis import given
from hypothesis import strategies as st
from measuring_machines import MeasuringMachine
from waiting import happens

from perfvcs.repository import Repository
from perfvcs.watch.branch import MOST_ATTEMPTS, choose, recalled

pytestmark = pytest.mark.slow

Perf = Callable[..., Said]
COMMAND = [sys.executable, "-P", "-m", "perfvcs", "watch"]
LINE = [chr(letter) for letter in range(ord("a"), ord("a") + 21)]  # commits, oldest first


# -- which commit is next --------------------------------------------------------------------------


def chosen(known: str, given_up: str = "", *spans: tuple[str, str]) -> str | None:
    """The commit of ``LINE`` that is next, where those in ``known`` are measured and changes are
    between some.
    """
    places = [(LINE.index(first), LINE.index(last)) for first, last in spans]
    found = choose(LINE, set(known), set(given_up), lambda: places)
    return None if found is None else found.commit


def test_the_newest_commit_is_first() -> None:
    assert chosen("") == "u"
    assert chosen("abc") == "u"


def test_after_the_newest_commit_that_cannot_be_measured_the_one_before_it_is_next() -> None:
    assert chosen("abc", "ut") == "s"


def test_the_middle_of_the_largest_gap_is_next_where_no_change_is_known() -> None:
    assert chosen("aegu") == "n"
    assert chosen("u") == "k"


def test_a_change_draws_the_next_measurement_into_its_middle() -> None:
    assert chosen("aegu", "", ("b", "e")) == "c"
    assert chosen("au", "", ("b", "u"), ("d", "h"), ("d", "h")) in "ef"


def test_what_is_given_up_is_passed_by() -> None:
    assert chosen("aegu", "n") in "mo"
    assert chosen("".join(LINE)) is None
    assert chosen("u", "".join(LINE[:-1])) is None


def test_the_nearest_measured_commits_are_measured_with_it() -> None:
    found = choose(LINE, set("aegu"))
    assert found is not None
    assert found.neighbours == ("g", "u")
    assert choose(LINE, set("abc")).neighbours == ("c",)  # type: ignore[union-attr]


@given(
    st.sets(st.integers(0, 20)),
    st.sets(st.integers(0, 20)),
    st.lists(st.tuples(st.integers(0, 20), st.integers(0, 20)).map(sorted)),
)
def test_everything_is_measured_in_the_end_and_nothing_twice(
    known: set[int], given_up: set[int], spans: list[list[int]]
) -> None:
    done, order = {LINE[place] for place in known}, []
    out = {LINE[place] for place in given_up}
    while (
        one := choose(LINE, done, out, lambda: [(first, last) for first, last in spans])
    ) is not None:
        assert one.commit not in done | out
        done.add(one.commit)
        order.append(one.commit)
    assert done | out == set(LINE)


# -- a machine that watches ------------------------------------------------------------------------


@pytest.fixture
def machine(tmp_path: Path, perf: Perf, monkeypatch: pytest.MonkeyPatch) -> MeasuringMachine:
    monkeypatch.chdir(tmp_path)
    return MeasuringMachine(tmp_path, perf)


def test_a_commit_that_comes_is_measured_with_the_one_before_it_and_pushed(
    machine: MeasuringMachine,
) -> None:
    (first,) = machine.developer.git("rev-list", "HEAD").split()
    out = machine.watch().out.splitlines()
    assert len(out) == 2
    assert f" main {first[:10]}: measured {first[:10]} in " in out[0]
    assert out[0].endswith(", pushed 1 profile")
    assert out[1].endswith(f" main {first[:10]}: nothing new")
    (second,) = machine.push("two")
    out = machine.watch().out.splitlines()
    assert f" main {second[:10]}: measured {second[:10]} with {first[:10]} in " in out[0]
    assert out[0].endswith(", pushed 2 profiles")
    assert machine.measured() == {first: 4, second: 2}
    assert machine.shared() == 3


def test_the_working_tree_of_the_clone_is_nobody_elses_business(machine: MeasuringMachine) -> None:
    clone = Project(machine.clone)
    clone.write("work.sh", "a change that is being made\n")
    before = (
        clone.git("rev-parse", "HEAD"),
        clone.git("status", "--porcelain"),
        clone.git("branch", "--all"),
    )
    machine.push("two")
    machine.watch()
    assert (
        clone.git("rev-parse", "HEAD"),
        clone.git("status", "--porcelain"),
        clone.git("branch", "--all"),
    ) == before
    assert not any(header.dirty for header in Repository.find(machine.clone).index.headers())


def test_the_newest_commit_is_measured_before_the_gap_is_filled(machine: MeasuringMachine) -> None:
    machine.watch()
    commits = machine.push("two", "three", "four", "five")
    out = machine.watch().out
    order = [line.partition("measured ")[2][:10] for line in out.splitlines()[:-1]]
    assert order[0] == commits[3][:10]
    assert order[1] in (commits[0][:10], commits[1][:10], commits[2][:10])
    assert sorted(order) == sorted(commit[:10] for commit in commits)


def test_only_so_many_of_the_newest_commits_are_measured(machine: MeasuringMachine) -> None:
    commits = machine.push("two", "three", "four")
    machine.watch("--last", "2")
    assert set(machine.measured()) == set(commits[1:])


def test_the_branch_says_what_is_measured_not_the_clone(machine: MeasuringMachine) -> None:
    machine.developer.configure('cmd = "sh work.sh --fast"')
    (newest,) = machine.push("another job")
    machine.watch("--last", "1")
    (header,) = Repository.find(machine.clone).index.headers([newest])
    assert header.job.cmd == "sh work.sh --fast"


def test_another_branch_of_another_remote(machine: MeasuringMachine) -> None:
    machine.developer.git("checkout", "--quiet", "-b", "topic/one")
    topic = machine.developer.commit("on a topic")
    machine.developer.git("push", "--quiet", "origin", "topic/one")
    Project(machine.clone).git("remote", "add", "second", str(machine.forge))
    out = machine.watch("second", "topic/one", "--last", "1").out
    assert f" topic/one {topic[:10]}: measured {topic[:10]} in " in out


def test_what_other_machines_measured_is_measured_here_all_the_same(
    machine: MeasuringMachine,
) -> None:
    commit = machine.developer.git("rev-parse", "HEAD")
    Repository.find(machine.developer.root, create=True).store.add(
        measured([commit], [0.01]), "elsewhere"
    )
    machine.run("-C", str(machine.developer.root), "push")
    assert "pulled 1 profile, measured " in machine.watch().out
    assert len(Repository.find(machine.clone).index.headers([commit])) == 2


def test_a_commit_that_cannot_be_measured_is_given_up_and_the_others_are_measured(
    machine: MeasuringMachine,
) -> None:
    machine.watch()
    machine.developer.write("work.sh", "exit 7\n")
    (broken,) = machine.push("broken")
    machine.developer.write("work.sh", "true\n")
    (whole,) = machine.push("whole again")
    said = machine.watch(code=5)
    assert said.out.count(f"{broken[:10]} with ") == MOST_ATTEMPTS
    assert f"gave {broken[:10]} up" in said.out
    assert machine.measured()[whole]
    assert broken not in machine.measured()
    assert machine.watch().out.endswith(": nothing new\n"), "it is not tried again"
    machine.developer.configure('cmd = "sh work.sh || true"\nshell = true')
    machine.push("another configuration")
    machine.watch()
    assert broken in machine.measured(), "another configuration is another attempt"


def test_a_remote_that_is_gone_ends_neither_the_watch_nor_the_measuring(
    machine: MeasuringMachine,
) -> None:
    machine.watch()
    (second,) = machine.push("two")
    Repository.find(machine.clone)
    machine.watch("--last", "1")  # it knows the branch
    machine.forge.rename(machine.forge.with_name("moved"))
    said = machine.watch("origin", "main", code=1)
    assert said.err.splitlines()[0].startswith("perf: cannot fetch: origin is not a git repository")
    assert said.out.endswith(f" main {second[:10]}: nothing new\n")
    machine.forge.with_name("moved").rename(machine.forge)
    machine.watch()


def test_what_could_not_be_pushed_is_pushed_later(machine: MeasuringMachine) -> None:
    hook = machine.forge / "hooks/pre-receive"
    hook.write_text("#!/bin/sh\nexit 1\n")
    hook.chmod(0o755)
    assert "perf: cannot push: origin refused" in machine.watch(code=1).err
    assert machine.shared() == 0
    hook.unlink()
    assert machine.watch().out.endswith(": pushed 1 profile\n")
    assert machine.shared() == 1


def test_a_site_is_kept(machine: MeasuringMachine, tmp_path: Path) -> None:
    assert ", wrote " in machine.watch("--publish", str(tmp_path / "site")).out
    assert (tmp_path / "site/index.html").exists()
    assert machine.watch("--publish", str(tmp_path / "site")).out.endswith(": nothing new\n")
    assert ", wrote " in machine.watch("--publish", str(tmp_path / "another")).out.replace(
        ": wrote", ", wrote"
    )


def test_commits_on_the_site_lead_to_the_forge_that_is_named(
    machine: MeasuringMachine, tmp_path: Path
) -> None:
    site, (commit,) = tmp_path / "site", machine.developer.git("rev-list", "HEAD").split()

    def named() -> bool:
        return any(
            f"https://git.example.org/work/{commit}" in path.read_text()
            for path in site.rglob("*.html")
        )

    machine.watch("--publish", str(site), "--commit-url", "https://git.example.org/work/{id}")
    assert named()
    machine.watch("--publish", str(site), "--commit-url", "none")
    assert not named()


@pytest.mark.parametrize(
    ("words", "code", "line"),
    [
        (("nowhere",), 2, "`nowhere` is not a remote of this repository (there is origin)"),
        (
            ("origin", "nothing"),
            2,
            "perf: origin has no branch `nothing`: see `git ls-remote --heads origin`\n",
        ),
        (("origin", "a..b"), 2, "perf: origin has no branch `a..b`"),
        (("origin", "--", "--upload-pack=x"), 2, "perf: origin has no branch"),
        (("--interval", "soon"), 2, "--interval: 'soon' is not a time"),
        (
            ("--webhook", "javascript:alert(1)"),
            2,
            "--webhook is not an address: give one like https://example.org/hook",
        ),
        (("--webhook", "http://[::1"), 2, "--webhook is not an address"),
        (("--webhook", "http://example.org:port/"), 2, "--webhook is not an address"),
        (("--webhook", "https://ada:secret@example.org/"), 2, "--webhook has a user's name in it"),
        (("--mail", "-oQ/tmp"), 2, "--mail -oQ/tmp is not an address"),
        (
            ("--base-url", "javascript:alert(1)"),
            2,
            "--base-url javascript:alert(1) is not an address",
        ),
        (
            ("--commit-url", "https://example.org/commit/"),
            2,
            "--commit-url https://example.org/commit/ is not the address of a commit",
        ),
    ],
)
def test_a_wrong_word_is_one_line(
    machine: MeasuringMachine, words: tuple[str, ...], code: int, line: str
) -> None:
    said = machine.watch(*words, code=code)
    assert line in said.err
    assert "secret" not in said.err
    assert "Traceback" not in said.err


def test_a_branch_without_perf_toml_is_one_line(machine: MeasuringMachine) -> None:
    machine.developer.git("rm", "--quiet", "perf.toml")
    machine.push("nothing to measure")
    assert machine.watch(code=2).err.startswith("perf: cannot measure: there is no perf.toml: ")


# -- processes -------------------------------------------------------------------------------------


def started(machine: MeasuringMachine, *words: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [*COMMAND, *words],
        cwd=machine.clone,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
def test_after_a_crash_the_session_is_finished_and_nothing_is_measured_twice(
    machine: MeasuringMachine,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    number: signal.Signals,
) -> None:
    order, gate = tmp_path / "order", tmp_path / "gate"
    order.touch()
    gate.touch()
    monkeypatch.setenv("ORDER", str(order))
    # the third execution waits as long as the gate is there
    machine.developer.write(
        "work.sh",
        f'echo x >> "$ORDER"\nwhile [ -e {gate} ] && [ $(wc -l < "$ORDER") -ge 3 ]; do sleep 0.05;'
        " done\n",
    )
    machine.developer.configure('cmd = "sh work.sh"\nexecutions = 4')
    (tip,) = machine.push("slow")
    process = started(machine, "--once")
    assert happens(lambda: len(order.read_text().splitlines()) >= 3)
    process.send_signal(number)
    out, err = process.communicate(timeout=60)
    assert process.returncode == (-9 if number == signal.SIGKILL else 143), (out, err)
    gate.unlink()
    assert happens(lambda: not processes_in(machine.clone))
    assert recalled(machine.memory()).measuring == [tip]
    # the other commit would come next
    said = machine.watch("--last", "1")
    assert ": finished session " in said.out.splitlines()[0]
    assert machine.measured() == {tip: 4}
    assert len(order.read_text().splitlines()) == 5, (
        "two complete ones, the one that was killed, and it and the fourth again"
    )
    assert recalled(machine.memory()).measuring == []
    assert recalled(machine.memory()).given_up == set()


def test_a_watch_waits_for_commits_and_ends_in_good_order(machine: MeasuringMachine) -> None:
    process = started(machine, "--interval", "500ms", "--quiet")
    assert process.stdout is not None
    assert "measured " in process.stdout.readline()
    (second,) = machine.push("two")
    assert f"measured {second[:10]} with " in process.stdout.readline()
    process.send_signal(signal.SIGTERM)
    out, err = process.communicate(timeout=60)
    assert (process.returncode, out, err) == (143, "", "perf: terminated\n")
    assert processes_in(machine.clone) == []


def test_a_second_watch_of_the_same_branch_is_refused(machine: MeasuringMachine) -> None:
    process = started(machine, "--interval", "1h")
    try:
        assert process.stdout is not None
        assert "measured " in process.stdout.readline()
        said = machine.watch(code=11)
        assert (
            said.err
            == "perf: another process watches main of origin from here: end that one first\n"
        )
    finally:
        process.terminate()
        process.communicate(timeout=60)


def test_a_memory_that_nobody_can_read_is_begun_anew(machine: MeasuringMachine) -> None:
    machine.watch()
    before = machine.measured()
    machine.memory().write_bytes(b"\xff{")
    machine.watch()
    assert set(machine.measured()) == set(before)


def test_a_bare_clone_can_watch(machine: MeasuringMachine, tmp_path: Path, perf: Perf) -> None:
    machine.developer.git("clone", "--quiet", "--bare", str(machine.forge), str(tmp_path / "bare"))
    assert "measured " in perf("-C", str(tmp_path / "bare"), "watch", "--once").out
    assert machine.shared() == 1

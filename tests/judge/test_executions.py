"""What the guard says of plain executions, of files that decide what runs, and of layers."""

from __future__ import annotations

import math
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from conftest import Project as Repository

from perfvcs.check.change import Change
from perfvcs.environment.variables import seeded
from perfvcs.git.blobs import changed_files
from perfvcs.git.project import Project
from perfvcs.judge.attempt import Attempt, kept_aside, without_seeds
from perfvcs.judge.candidate import leading_out
from perfvcs.judge.correctness import Correctness, HiddenFiles
from perfvcs.judge.deciding import ChangedPaths, deciding
from perfvcs.judge.executionchecks import examine_executions
from perfvcs.judge.footprint import digests, is_deletion
from perfvcs.judge.plain import Plain, Side
from perfvcs.judge.trials import Trials
from perfvcs.launcher.namespaces import around, lacking, lacking_layers, layer
from perfvcs.native import start_folder

KEEPING = """\
import mmap, os, sys, time
file = os.memfd_create("x")
os.write(file, b"x" * 3_000_000)
deleted = os.open("/dev/shm", os.O_TMPFILE | os.O_RDWR) if sys.argv[1:] else os.dup(file)
os.write(deleted, b"x" * 2_000_000)
print(flush=True)
time.sleep(60)
"""
RUNNER = '[tool.pytest.ini_options]\naddopts = "-q"\n'


def gained(share: float, metric: str = "cpu") -> Change:
    return Change(
        word="improvement",
        job="total",
        uid="total",
        metric=metric,
        unit="s",
        better="lower",
        series="0" * 64,
        effect=-share,
        baseline=1.0,
    )


def plain(base: list[float], target: list[float], early: list[float], **fields: Any) -> Plain:
    sides = {
        name: Side(seconds=list(times), cpu=list(times))
        for name, times in (("base", base), ("target", target), ("early", early))
    }
    return Plain("total", 1, drawn=False, apart=True, layered=True, **sides, **fields)


def words(seen: Plain, *changes: Change) -> dict[str, str]:
    return {name: check.word for name, check in examine_executions([seen], changes).items()}


class TestGains:
    EARLY = (1.0, 1.0, 1.01, 0.99)

    def test_one_that_plain_executions_show_passes(self) -> None:
        seen = plain([1.0, 1.01, 1.0, 0.99, 1.0], [0.8, 0.81, 0.8, 0.8, 0.79], [*self.EARLY])
        found = words(seen, gained(0.2))
        assert (found["variables"], found["base"]) == ("passed", "passed")

    def test_a_constant_that_both_sides_take_beside_hides_none(self) -> None:
        """Both compile first what others find compiled."""
        base, target = [4.0, 4.01, 4.0, 3.99, 4.0], [3.2, 3.21, 3.2, 3.2, 3.19]
        assert words(plain(base, target, [4.0] * 4), gained(0.8))["variables"] == "passed"

    def test_one_that_is_there_only_after_it_was_measured_is_doubted(self) -> None:
        """What a measured execution left in the copy, all later ones find."""
        base = [1.0] * 25
        target = [1.0] * 5 + [0.1] * 20
        assert words(plain(base, target, [*self.EARLY]), gained(0.9))["variables"] == "doubted"

    @pytest.mark.parametrize(
        ("cpu", "word"), [(0.5, "doubted"), (0.9, "rejected"), (None, "rejected")]
    )
    def test_one_that_wall_time_alone_misses_is_doubted(self, cpu: float | None, word: str) -> None:
        """Unless nothing but wall time gained."""
        seen = plain([1.0] * 6, [0.9] * 6, [*self.EARLY])
        seen.target.cpu = [cpu or 1.0] * 6
        gains = [gained(0.5, "wall"), *([gained(0.5)] if cpu else [])]
        assert words(seen, *gains)["variables"] == word

    def test_a_base_that_became_slower_is_doubted(self) -> None:
        base, target = [1.2] * 5, [1.0] * 5
        found = words(plain(base, target, [*self.EARLY]), gained(0.17))
        assert (found["variables"], found["base"]) == ("passed", "doubted")
        assert words(plain(base, target, [1.0]), gained(0.17))["base"] == "doubted"
        assert words(plain(base, target, [*self.EARLY]))["base"] == "passed"

    def test_a_base_is_compared_with_itself_for_the_same_inputs(self) -> None:
        early, later = [1.0, 1.0, 0.5, 0.5], [1.0, 1.0, 0.5, 0.5] + [2.0] * 26
        seen = plain(later, [0.5 * time for time in later], early)
        assert words(seen, gained(0.5))["base"] == "doubted"
        seen.drawn = True
        assert words(seen, gained(0.5))["base"] == "passed"
        assert words(seen, gained(1.0))["base"] == "passed"

    def test_work_of_processes_that_nothing_waits_for_is_seen_from_2_percent_on(self) -> None:
        seen = plain([1.0] * 5, [0.9] * 5, [*self.EARLY])
        seen.target.adopted = 0.01
        assert words(seen)["processes"] == "passed"
        seen.target.adopted = 0.1
        assert words(seen)["processes"] == "rejected"

    @pytest.mark.parametrize(
        ("base", "target", "share", "word"),
        [
            ([1.0] * 5, [0.5] * 5, 0.6, "passed"),
            ([1.0] * 5, [0.9] * 5, 0.32, "passed"),
            ([1.0] * 5, [0.99] * 5, 0.6, "doubted"),
            ([1.0] * 5, [0.99] * 5, 0.2, "passed"),  # time may hide as little
            ([0.003] * 5, [0.003] * 5, 0.6, "passed"),  # it does little but start
            ([1.0] * 2, [0.5] * 2, 0.6, "doubted"),
        ],
    )
    def test_work_that_is_gone_only_while_it_is_counted_is_doubted(
        self, base: list[float], target: list[float], share: float, word: str
    ) -> None:
        seen = plain(base, target, [*self.EARLY])
        assert words(seen, gained(share, "instructions"))["counts"] == word
        assert words(seen, gained(share, "cpu"))["counts"] == "passed"

    def test_memory_that_lies_in_files_is_in_no_peak(self) -> None:
        seen = plain([1.0] * 5, [1.0] * 5, [])
        seen.base.aside = seen.target.aside = 50_000_000
        assert words(seen)["memory"] == "passed"
        seen.target.aside += 5_000_000
        assert words(seen)["memory"] == "doubted"

    def test_a_base_that_fails_after_it_ran_is_doubted(self) -> None:
        seen = plain([1.0] * 3, [0.9] * 3, [*self.EARLY])
        seen.base.failure = "it failed"
        assert words(seen, gained(0.1))["variables"] == "doubted"


@pytest.mark.parametrize("words", [(), ("two",)])
def test_files_that_are_memory_are_counted_once(words: tuple[str, ...]) -> None:
    command = [sys.executable, "-c", KEEPING, *words]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as process:
        try:
            assert process.stdout is not None
            process.stdout.readline()
            assert 5_000_000 <= kept_aside([process.pid, process.pid]) < 6_000_000
        finally:
            process.kill()
    assert kept_aside([process.pid]) == 0


def test_a_user_has_none_of_the_variables_that_a_seed_sets() -> None:
    own = {"PATH": "/bin", "LUA_INIT": "x = 1"}
    env = seeded(own, 7)
    assert {"PYTHONHASHSEED", "PERL_HASH_SEED"} < env.keys()
    assert without_seeds(env | {"PYTHONPATH": str(start_folder())}, 7) == own
    both = env | {"PYTHONPATH": f"{start_folder()}:/own"}
    assert without_seeds(both, 7) == own | {"PYTHONPATH": "/own"}


class TestComplete:
    @pytest.fixture
    def attempt(self) -> Any:
        """One that has two executions of each side, each of which takes 1 s."""
        attempt = object.__new__(Attempt)
        attempt.plain = plain([1.0] * 2, [1.0] * 2, [])
        attempt._took, attempt._is_over, attempt.end = 1.0, False, math.inf
        return attempt

    def test_what_the_guard_needs_is_executed_while_the_budget_lasts(
        self, attempt: Any, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(
            Attempt, "turn", lambda self, turn: self.plain.target.seconds.append(float(turn))
        )
        trials = Trials(0.5, Correctness([], 0.0), [], lambda _: {}, HiddenFiles(Path(), ()))
        trials.tries = [attempt]
        trials.complete()
        assert len(attempt.plain.target.seconds) == 2
        trials.end = attempt.end = math.inf
        trials.complete()
        assert attempt.plain.target.seconds[2:] == [2.0, 3.0, 4.0]


class TestFirst:
    TIMES = (2.0, 0.5, 0.5, 0.5)

    @pytest.fixture
    def seen(self) -> Plain:
        """A job with a cache in its folder, where nothing is layered."""
        seen = plain([0.5] * 5, [*self.TIMES], [*self.TIMES])
        seen.layered = False
        seen.target.files = {"cache.txt"}
        return seen

    def test_the_base_leaves_a_cache_before_the_target_is_there(self, seen: Plain) -> None:
        seen.early.files = {"cache.txt"}
        found = words(seen)
        assert (found["first_execution"], found["files_left"]) == ("passed", "passed")

    def test_a_cache_of_the_target_alone_is_rejected(self, seen: Plain) -> None:
        seen.early = Side(seconds=[0.5] * 4, cpu=[0.5] * 4)
        assert words(seen)["first_execution"] == "rejected"
        seen.early = Side()
        assert words(seen)["first_execution"] == "rejected"


class TestFiles:
    def test_what_a_layer_forgets_is_no_cache(self) -> None:
        seen = plain([0.5] * 4, [2.0, 0.5, 0.5, 0.5], [0.5] * 4)
        seen.target.gone, seen.target.deleted = {"out-1.json"}, {"old"}
        checks = examine_executions([seen], [])
        assert checks["first_execution"].word == "warning"
        said = checks["files_left"].said
        assert "leaves files that the base does not: out-1.json;" in said
        assert "deletes files that the base does not: old" in said

    def test_what_the_base_always_writes_has_to_be_written(self) -> None:
        seen = plain([], [], [])
        seen.base.written = [{"out": "a", "log": "1"}, {"out": "a", "log": "2"}]
        seen.target.written = [{"out": "a"}, {"out": "a"}]
        assert seen.differing == []
        seen.target.written = [{"out": "a", "more": "x"}, {"out": "b"}]
        assert seen.differing == ["out"]
        seen.target.written = [{}, {}]
        assert seen.differing == ["out"]

    def test_what_was_not_read_does_not_differ(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr("perfvcs.judge.footprint.MOST_BYTES", 5)
        for name, text in {"a": "x" * 6, "b": "xx", "c": "xxx"}.items():
            (tmp_path / name).write_text(text)
        found = digests(tmp_path)
        assert (found["a"], bool(found["b"]), bool(found["c"])) == ("", True, True)
        seen = plain([], [], [])
        seen.base.written = [{**found, "a": "1"}] * 2
        seen.target.written = [found] * 2
        assert seen.differing == []


def decisive(
    project: Repository, base: str, target: str, paths: list[str], table: dict[str, Any]
) -> list[str]:
    repository = Project.find(project.root)
    files = changed_files(repository, base, target)
    return deciding(repository, ChangedPaths(base, target, files, paths, table))


class TestDeciding:
    def test_what_the_command_of_a_job_reads_to_learn_what_to_run(
        self, project: Repository
    ) -> None:
        before = {
            "Makefile": "bench:\n",
            "pyproject.toml": RUNNER,
            "setup.cfg": "[metadata]\n",
            "work.py": "",
        }
        base = project.commit("Base", **before)
        after = {
            "Makefile": "bench:\n\ttrue\n",
            "pyproject.toml": f"{RUNNER}[project]\nversion = '2'\n",
            "setup.cfg": "[tool:pytest]\naddopts = -k fast\n",
            "work.py": "1\n",
        }
        target = project.commit("Change", **after)

        def found(command: str, **settings: Any) -> list[str]:
            table = {"job": [{"name": "x", "cmd": command}], **settings}
            return decisive(project, base, target, [*before], table)

        assert found("make bench") == ["Makefile"]
        assert found("./work", build=["make"]) == []
        assert found("python -m pytest") == ["setup.cfg"]

    @pytest.mark.parametrize("text", ["no TOML\n", f"a={'[' * 50_000}"], ids=["no", "deep"])
    def test_a_section_of_the_runner_that_cannot_be_read_is_one_that_differs(
        self, project: Repository, text: str
    ) -> None:
        base = project.commit("Base", **{"pyproject.toml": RUNNER})
        target = project.commit("Change", **{"pyproject.toml": text})
        table = {"job": [{"name": "x", "cmd": "pytest"}]}
        paths = ["pyproject.toml"]
        assert decisive(project, base, target, paths, table) == paths


def test_links_that_lead_out_of_the_project(project: Repository) -> None:
    base = project.commit("Base", **{"sub/work.py": ""})
    targets = {"in.py": "sub/work.py", "sub/up.py": "../in.py", "sub/out.py": "../../out.py"}
    targets |= {"root.py": "/etc/passwd", "loop": "loop", "dots": "./" * 300 + "../out.py"}
    for path, target in targets.items():
        (project.root / path).symlink_to(target)
    commit = project.commit("Change")
    links = leading_out(Project.find(project.root), base, commit)
    assert links == ["dots", "loop", "root.py", "sub/out.py"]


def test_links_that_lead_out_of_the_project_through_others(project: Repository) -> None:
    """Through one that is new, and of the base through one that is gone."""
    folder = project.root / "a/b/c"
    project.write("a/b/c/deep/er/work.py", "")
    (folder / "up").symlink_to("deep/er")
    (folder / "kept").symlink_to("up/../../../../../in.py")
    (folder / "outside").symlink_to("../../../../outside")
    base = project.commit("Base")
    repository = Project.find(project.root)
    (folder / "d").symlink_to("../../..")
    (folder / "x").symlink_to("d/../outside")
    assert leading_out(repository, base, project.commit("Two")) == ["a/b/c/x"]
    (folder / "up").unlink()
    project.write("a/b/c/up/work.py", "")
    assert leading_out(repository, base, project.commit("Gone")) == ["a/b/c/kept", "a/b/c/x"]
    (folder / "outside").unlink()
    (folder / "outside").symlink_to("../../../../other")
    assert "a/b/c/outside" in leading_out(repository, base, project.commit("Other"))


@pytest.mark.skipif(bool(lacking()), reason=lacking())
def test_a_folder_that_is_kept_need_not_exist(tmp_path: Path) -> None:
    """Such as the one of compiled programs where there is no compiler."""
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    within = around(scratch, [tmp_path / "none", scratch], [scratch])
    subprocess.run([*within, "/bin/true"], cwd=scratch, check=True)


@pytest.mark.skipif(bool(lacking_layers()), reason=lacking_layers())
def test_what_is_written_into_a_layer_vanishes_with_it(tmp_path: Path) -> None:
    copy, scratch, other = tmp_path / "co, py:x", tmp_path / "scratch", tmp_path / "other"
    for folder in (copy, scratch, other):
        folder.mkdir()
    (copy / "old").write_text("old")
    (copy / "bad").write_text("bad")
    script = f"rm bad; echo new >old; echo new >new; cat old new; ! touch {tmp_path}/no; touch {other}/yes"
    within = around(scratch, [tmp_path], [scratch, other], layered=copy)
    done = subprocess.run(
        [*within, "/bin/sh", "-c", script], cwd=copy, capture_output=True, text=True, check=True
    )
    assert done.stdout == "new\nnew\n"
    assert [(file.name, file.read_text()) for file in sorted(copy.iterdir(), reverse=True)] == [
        ("old", "old"),
        ("bad", "bad"),
    ]
    assert {file.name: is_deletion(file) for file in layer(scratch).iterdir()} == {
        "bad": True,
        "new": False,
        "old": False,
    }
    assert (other / "yes").exists()
    assert not (tmp_path / "no").exists()

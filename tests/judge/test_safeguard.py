"""The checks of the guard, and what they rest on, without a measurement."""

from __future__ import annotations

import re
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import msgspec
import pytest

from perfvcs.check.change import Change
from perfvcs.judge.correctness import Correctness, HiddenFiles
from perfvcs.judge.footprint import differing, stamps
from perfvcs.judge.guardcheck import Rejected
from perfvcs.judge.plain import Plain, Side
from perfvcs.judge.quiet import Trust
from perfvcs.judge.safeguard import NO_PARTS, Parts, Seen, doubts, examine, layout
from perfvcs.judge.trials import Trials, _Executor
from perfvcs.measure.executor import LocalExecutor
from perfvcs.profile import Resources

QUIET = Trust(quiet=True)
CANDIDATE: Any = SimpleNamespace(restored=[], absent=[], kept=[], deciding=[], leaving=[])


def change(uid: str, baseline: float, shift: float) -> Change:
    return Change(
        word="same",
        job="build",
        uid=uid,
        metric="wall",
        unit="s",
        better="lower",
        series="0" * 64,
        shift=shift,
        shift_low=shift - 0.001,
        shift_high=shift + 0.001,
        baseline=baseline,
    )


def guard(plain: list[Plain], changes: list[Change], apart: set[str]) -> dict[str, str]:
    checks = examine(Seen(CANDIDATE, changes, plain, QUIET, parts=Parts(apart, {})))
    return {name: check.word for name, check in checks.items()}


class TestClocks:
    # a build that is as fast from nothing, and faster when nothing has changed
    CHANGES = (change("build", 2.0, 0.0), change("again", 1.0, -0.9))

    def test_a_unit_that_is_a_process_of_its_own_is_no_part_of_another(self) -> None:
        changes = list(self.CHANGES)
        assert guard([], changes, set())["clocks"] == "rejected"
        assert guard([], changes, {"0" * 64})["clocks"] == "passed"
        assert doubts(changes, QUIET, NO_PARTS)
        assert doubts(changes, QUIET, Parts({"0" * 64}, {})) == []

    def test_which_series_these_are(self) -> None:
        rows = Resources(
            names=["build", "part"], uid=[0, 1, 1, 0, 1, 1], execution=[0] * 3 + [1] * 3
        )
        fewer = Resources(names=["build", "part"], uid=[0, 1], execution=[0, 0])
        kinds = (("time", {}), ("rebuild", {}), ("harness", {"reads": "googlebenchmark"}))
        profiles: Any = [
            SimpleNamespace(
                job=SimpleNamespace(key=name, collector=name, options=options),
                resources=resources,
                design=SimpleNamespace(version=version),
            )
            for version, resources in ((0, rows), (1, fewer))
            for name, options in kinds
        ]
        parts = Parts.of(profiles)
        assert parts.apart == {"rebuild"}
        assert parts.often["time", "part"] == 2
        assert ("harness", "part") not in parts.often

    def test_a_short_part_whose_work_moved_is_doubted_where_its_calls_are_known(self) -> None:
        changes = [change("build", 2.0, 0.0), change("part", 0.1, -0.09)]
        seen = [
            examine(Seen(CANDIDATE, changes, [], QUIET, parts=Parts((), often)))["clocks"].word
            for often in ({}, {("0" * 64, "part"): 1.0})
        ]
        assert seen == ["passed", "doubted"]
        changes[0] = change("build", 2.0, -0.08)
        parts = Parts((), {("0" * 64, "part"): 1.0})
        assert examine(Seen(CANDIDATE, changes, [], QUIET, parts=parts))["clocks"].word == "passed"

    def test_parts_that_run_beside_each_other_are_not_added_up(self) -> None:
        changes = [change("build", 1.05, -0.5), change("part", 1.0, -0.5)]
        parts = Parts((), {("0" * 64, "part"): 8.0})
        assert examine(Seen(CANDIDATE, changes, [], QUIET, parts=parts))["clocks"].word == "passed"


class TestInputs:
    @pytest.mark.parametrize(
        ("outputs", "word"), [(["a", "b"], "passed"), ([], "not tried"), (["", ""], "not tried")]
    )
    def test_what_was_not_compared_was_not_tried(self, outputs: list[str], word: str) -> None:
        side = Side(outputs=outputs)
        plain = Plain("total", 1, drawn=True, apart=True, base=side, target=side)
        assert guard([plain], [], set())["inputs"] == word

    def test_jobs_in_copies_are_not_tried_and_what_they_change_is_seen(self) -> None:
        plain = Plain("build", 1, drawn=False, apart=True, untried="build runs in copies")
        names = ("processes", "first_execution", "files_left", "folders", "variables", "base")
        words = guard([plain], [], set())
        assert {words[name] for name in names} == {"not tried"}
        plain.target.changed.append("Makefile")
        assert guard([plain], [], set())["folders"] == "rejected"


class TestFootprint:
    def test_all_copies_are_looked_at(self, tmp_path: Path) -> None:
        folders = [tmp_path / "first", tmp_path / "second"]
        for folder in folders:
            folder.mkdir()
            (folder / "work.py").write_text("x")
        before = stamps(folders)
        (folders[1] / "work.py").write_text("longer")
        assert differing(before, stamps(folders)) == {"work.py"}

    def test_files_that_many_others_hide_are_looked_at(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr("perfvcs.judge.footprint.MOST_FILES", 3)
        (tmp_path / "work.py").write_text("x")
        before = stamps([tmp_path])
        for number in range(4):
            (tmp_path / f"junk-{number}").write_text("x")
        crowded = stamps([tmp_path])
        assert differing(before, crowded) == {"junk-0", "junk-1", "junk-2"}
        (tmp_path / "work.py").write_text("longer")
        assert "work.py" in differing(before, stamps([tmp_path]))
        assert differing(crowded, stamps([tmp_path])) == set()


class TestBuilds:
    def test_what_any_of_several_builds_changes_is_noted(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        folders = [tmp_path / "0", tmp_path / "1"]
        for folder in folders:
            folder.mkdir()
            (folder / "work.py").write_text("x")

        def build(executor: Any, position: int, kind: Any, stack: Any) -> None:  # noqa: ARG001
            if kind.number < 2:
                (folders[kind.number] / f"by-{kind.number}.py").write_text("x")

        monkeypatch.setattr(LocalExecutor, "_prepare", build)
        executor: Any = object.__new__(_Executor)
        executor.sites = SimpleNamespace(folders=lambda _: folders, home=tmp_path)
        executor._by_builds = {}
        hidden = HiddenFiles(tmp_path, ())
        executor._trials = Trials(9.0, Correctness([], 0.0), [], lambda _: {}, hidden)
        executor.versions, executor._took = [None] * 3, 0.0
        executor.cells = []
        for number in range(3):
            executor._prepare(1, SimpleNamespace(number=number), None)
        assert executor._by_builds == {1: {"by-0.py", "by-1.py"}}


class TestCorrectness:
    looked: list[int]

    @pytest.fixture
    def sites(self, tmp_path: Path) -> Any:
        """Two versions: the command finds out which by its folder."""
        for name in ("0", "1", "home/tmp"):
            (tmp_path / name).mkdir(parents=True)
        self.looked = []

        def place(at: int) -> tuple[Path, dict[str, str]]:
            return tmp_path / str(at), {"PATH": "/usr/bin:/bin"}

        return SimpleNamespace(place=place, home=tmp_path / "home")

    def failing(self, sites: Any, command: str, seconds: float) -> str:
        with pytest.raises(Rejected) as caught:
            Correctness([command], time.monotonic() + seconds)(sites, 1, None, self.looked.append)
        return str(caught.value)

    def test_a_base_that_had_less_time_does_not_fail(self, sites: Any) -> None:
        said = self.failing(sites, "sleep 20", 2.0)
        assert re.search("did not end within the [12] s", said)
        assert "the base fails it, too" not in said

    def test_a_base_that_fails_by_itself_does(self, sites: Any) -> None:
        assert "the base fails it, too" in self.failing(sites, "exit 3", 20.0)
        slow_target = "case $PWD in */1) sleep 20;; esac; exit 3"
        assert "the base fails it, too" in self.failing(sites, slow_target, 2.0)

    @pytest.mark.parametrize(
        ("base", "target"),
        [
            ("== 3 passed, 1 skipped in 0.1s ==", "== 1 passed, 2 deselected in 0.1s =="),
            ("== 3 passed in 0.1s ==", ""),
            ("Ran 3 tests in 0.1s", "Ran 3 tests in 0.1s  OK (skipped=2)"),
            ("100% tests passed, 0 tests failed out of 3", "No tests were found!!!"),
            ("[  PASSED  ] 3 tests.", "[  PASSED  ] 1 test."),
        ],
    )
    def test_fewer_tests_than_the_base_passes(self, sites: Any, base: str, target: str) -> None:
        command = f"case $PWD in */1) echo '{target}';; *) echo '{base}';; esac"
        assert " of the base's 3 tests" in self.failing(sites, command, 60.0)
        assert self.looked == [1, 0]

    @pytest.mark.parametrize("more", ["3 passed", "4 passed", "Ran 4 tests"])
    def test_as_many_tests_or_more_pass(self, sites: Any, more: str) -> None:
        command = f"case $PWD in */1) echo '{more}';; *) echo '3 passed';; esac"
        correct = Correctness([command], time.monotonic() + 60.0)
        correct(sites, 1, None, self.looked.append)
        assert correct.check.word == "passed"

    def test_tests_are_counted_before_a_long_output(self, sites: Any) -> None:
        more = "for n in $(seq 1000); do echo test $n ... ok; done; echo 2 passed"
        command = f"echo 2 passed; case $PWD in */1) {more};; *) echo 1 passed;; esac"
        correct = Correctness([command], time.monotonic() + 60.0)
        correct(sites, 1, None, self.looked.append)
        assert correct.check.word == "passed"


class TestLayout:
    GAIN = msgspec.structs.replace(
        change("build", 2.0, -0.12), word="improvement", effect=-0.06, low=-0.07, high=-0.05
    )

    def said(self, gain: Change, **fields: str) -> str:
        job = SimpleNamespace(key="0" * 64)
        base: Any = [SimpleNamespace(job=job, environment=SimpleNamespace(fields=fields))]
        return layout(gain, base).word

    def test_a_small_gain_of_one_build_that_nothing_confirms_is_doubted(self) -> None:
        assert self.said(self.GAIN, build="make") == "doubted"
        larger = msgspec.structs.replace(self.GAIN, low=-0.3, high=-0.13)
        assert self.said(larger, build="make") == "doubted"
        assert self.said(self.GAIN) == "passed"
        assert self.said(self.GAIN, build="pip install .", python="3.11") == "passed"

    @pytest.mark.parametrize(
        "fields",
        [
            {"work": "executes 6 % fewer instructions"},
            {"builds": (5, 5)},
            {"low": -0.4, "high": -0.27},
            {"metric": "maxrss"},
        ],
    )
    def test_what_else_confirms_it(self, fields: dict[str, Any]) -> None:
        assert self.said(msgspec.structs.replace(self.GAIN, **fields), build="make") == "passed"

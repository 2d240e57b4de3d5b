"""`perf compare` on real commands, outside of any repository."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, cast

import pytest
from conftest import Perf

from perfvcs import formats
from perfvcs.check.vocabulary import WORDS
from perfvcs.errors import UsageError
from perfvcs.measure.commandrecord import CommandRecord
from perfvcs.measure.typedcommand import Around, TypedCommand, expanded, scanned
from perfvcs.plugins.collector import Observations
from perfvcs.profile import Metric
from perfvcs.reports.compare import _measured, _sentence
from perfvcs.statistics.multiplicity import PAIRS

if TYPE_CHECKING:
    from perfvcs.measure.commandturns import Comparison

SLOW = "python3 -S -c 'sum(range(3_000_000))'"
QUICK = "python3 -S -c 'sum(range(300_000))'"


@pytest.fixture(autouse=True)
def outside(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder that is in no repository."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(tmp_path.parent))
    return tmp_path


def compared(perf: Perf, *words: str, budget: str = "30s") -> dict[str, Any]:
    document: dict[str, Any] = perf("compare", *words, "--budget", budget, "--json").document
    return document


class TestVerdicts:
    @pytest.mark.slow
    def test_the_slower_one_is_a_degradation_and_nothing_is_stored(
        self, perf: Perf, outside: Path
    ) -> None:
        document = compared(perf, QUICK, SLOW)
        (change,) = document["comparisons"]
        assert (change["word"], change["job"], change["metric"]) == ("degradation", SLOW, "wall")
        assert change["effect"] > 0.5
        assert change["paired"]
        assert [command["command"] for command in document["commands"]] == [QUICK, SLOW]
        assert list(outside.iterdir()) == []

    @pytest.mark.slow
    @pytest.mark.needs("gcc")
    def test_the_quicker_one_is_an_improvement_in_words_sign_and_ratio(self, perf: Perf) -> None:
        said = perf("compare", SLOW, QUICK, "--budget", "30s").out
        word = WORDS["improvement"]
        assert f"{word.sign} {word.word}" in said
        assert "is faster than" in said
        assert "times as long [" in said
        assert "█" in said
        assert "of the launcher" in said

    @pytest.mark.slow
    def test_equal_commands_are_not_called_different(self, perf: Perf) -> None:
        # a comparison is wrong by chance in 2.2 %, two of two in .05 %
        documents = [compared(perf, QUICK, QUICK, budget="15s") for _ in range(2)]
        for document in documents:
            names = [command["command"] for command in document["commands"]]
            assert names == [QUICK, f"{QUICK} (2)"]
        words = [document["comparisons"][0]["word"] for document in documents]
        assert {*words} & {"same", "inconclusive"}

    @pytest.mark.slow
    def test_turns_go_on_while_the_budget_lasts_and_it_is_not_decided(
        self, perf: Perf, outside: Path
    ) -> None:
        # one takes 10 ms where the other takes 30, and they change places with every turn: whatever
        # the number of turns, none is quicker
        (outside / "alternates").write_text(
            "#!/bin/sh\n"
            "echo >> turns-$1\n"
            "exec sleep 0.0$(((($(wc -l < turns-$1) + $1) % 2) * 2 + 1))\n"
        )
        (outside / "alternates").chmod(0o755)
        commands = "./alternates 0", "./alternates 1"
        document = compared(perf, *commands, "-w", "0", budget="12s")
        assert document["comparisons"][0]["word"] in ("same", "inconclusive")
        # more than usual, unless these took so long already
        assert document["pairs"] > PAIRS or document["seconds"] > 10
        assert document["seconds"] > 4

    @pytest.mark.slow
    def test_one_command_has_a_level_with_an_interval_and_a_spread(self, perf: Perf) -> None:
        document = compared(perf, QUICK)
        wall = document["commands"][0]["levels"][0]
        assert document["comparisons"] == []
        assert wall["low"] < wall["centre"] < wall["high"]
        assert wall["spread"] > 0
        assert wall["least"] <= wall["centre"] <= wall["most"]
        assert document["pairs"] >= 10

    @pytest.mark.needs("valgrind")
    def test_work_is_counted_exactly_and_settles_no_time(self, perf: Perf) -> None:
        document = compared(perf, "-m", "instructions", "seq 1000", "seq 50000")
        (change,) = document["comparisons"]
        assert (change["word"], change["metric"]) == ("degradation", "instructions")
        assert change["effect"] > 1
        assert document["pairs"] == 0
        assert not any("load average" in note for note in document["notes"])

    def test_nothing_is_said_of_time_where_it_was_not_measured(self) -> None:
        measured = SimpleNamespace(
            pairs=0,
            runs=1,
            seconds=2.0,
            own={"wall": 0.001},
            way="launcher",
            notes=[],
            commands=[],
            report=None,
        )
        said = list(_measured(cast("Comparison", measured), 80))
        assert said == ["2 s"]

    @pytest.mark.slow
    def test_ten_commands_are_each_compared_with_the_first(self, perf: Perf) -> None:
        document = compared(perf, *[f"sleep 0.0{number}" for number in range(10)], budget="6s")
        assert len(document["commands"]) == 10
        assert len(document["comparisons"]) == 9
        assert {change["job"] for change in document["comparisons"]} == {
            f"sleep 0.0{number}" for number in range(1, 10)
        }


@pytest.mark.parametrize(
    ("interval", "said"),
    [((1.9, 2.1), "a takes least"), ((0.9, 3.1), "a may take least: b is too near to tell")],
)
def test_the_quickest_of_several_is_named_where_it_is_sure(
    interval: tuple[float, float], said: str
) -> None:
    def command(name: str, centre: float, low: float, high: float) -> SimpleNamespace:
        level = SimpleNamespace(centre=centre, low=low, high=high)
        return SimpleNamespace(command=name, levels=[level])

    commands = [command("c", 3.0, 2.9, 3.2), command("a", 1.0, 0.9, 1.1)]
    found = SimpleNamespace(report=object(), commands=[*commands, command("b", 2.0, *interval)])
    assert _sentence(found) == said  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("own", "spread"), [(0.0, pytest.approx(0.0791, abs=1e-4)), (0.0199, None)]
)
def test_what_may_take_nothing_has_no_spread(own: float, spread: float | None) -> None:
    record = CommandRecord(TypedCommand("true", "true", ("true",), shell=False), 0)
    for block, seconds in enumerate((0.020, 0.022, 0.019, 0.021, 0.018)):
        run = Observations(
            uid=[""],
            iteration=[0],
            mark=[0],
            values={"wall": [seconds]},
            metrics={"wall": Metric("s", "lower")},
        )
        record.add([run], block, 0, 1)
    record.own = {"wall": own}
    level = record.level("wall")
    assert level is not None
    assert level.spread == spread


class TestOwnTime:
    @pytest.mark.slow
    @pytest.mark.needs("gcc")
    def test_what_launches_is_taken_out_as_a_figure(self, perf: Perf) -> None:
        document = compared(perf, "sleep 0.05", budget="10s")
        assert document["way"] == "launcher"
        assert document["own"]["wall"] > 0
        raw = document["commands"][0]["levels"][0]["centre"] + document["own"]["wall"]
        assert raw > 0.05

    @pytest.mark.slow
    def test_a_builtin_runs_in_a_shell_and_so_do_all_others(self, perf: Perf) -> None:
        assert compared(perf, "ulimit -n", "ls", budget="5s")["way"] == "shell"

    @pytest.mark.slow
    def test_without_a_compiler_it_is_said_that_nothing_is_taken_out(
        self, perf: Perf, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        from perfvcs.measure import commandruns
        from perfvcs.native.compiled import NotCompiled

        def missing(*_: object, **__: object) -> Path:
            raise NotCompiled("there is no C compiler")

        monkeypatch.setattr(commandruns, "compiled", missing)
        document = compared(perf, "sleep 0.01", budget="3s")
        assert document["own"] == {}
        assert any("is not taken out" in note for note in document["notes"])


class TestTyping:
    @pytest.mark.slow
    def test_words_behind_two_dashes_are_a_command_each(self, perf: Perf) -> None:
        said = perf(
            "compare", "--budget", "3s", "--json", "--", "printf", "%s", 'it\'s "q"', "--", "true"
        )
        names = [command["command"] for command in said.document["commands"]]
        assert names == ["printf %s 'it'\"'\"'s \"q\"'", "true"]

    @pytest.mark.parametrize(
        ("text", "shell"),
        [
            ("ls -l", False),
            ("python3 -c 'print(1); print(2)'", False),
            ('ls "a b"', False),
            ("ls | cat", True),
            ("ls *.c", True),
            ("A=1 ls", True),
            ('ls "$HOME"', True),
            ("cd /", True),
        ],
    )
    def test_a_shell_runs_what_needs_one(self, text: str, shell: bool) -> None:
        (command,) = expanded([text], [], Around())
        assert command.shell is shell
        assert command.text == text

    def test_a_command_that_is_not_there_is_named_before_anything_runs(
        self, perf: Perf, outside: Path
    ) -> None:
        said = perf("compare", "touch ran", "nosuchprogram --x", code=5)
        assert "there is no command `nosuchprogram`: install it" in said.err
        assert not (outside / "ran").exists()

    def test_open_quotation_and_nothing_at_all_are_usage_errors(self, perf: Perf) -> None:
        assert "close the quotation" in perf("compare", "echo 'a", code=2).err
        assert "name a command" in perf("compare", code=2).err
        assert "behind --" in perf("compare", "true", "--", code=2).err
        assert "is empty" in perf("compare", "", code=2).err


class TestParameters:
    def test_numbers_and_values_make_all_combinations(self) -> None:
        commands = expanded(
            ["sort -S{n} -{how} f", "true"],
            [scanned("n=1..2"), ("how", ["r", "n"])],
            Around(prepare=("touch {how}",)),
        )
        texts = [command.text for command in commands]
        assert texts[:4] == ["sort -S1 -r f", "sort -S1 -n f", "sort -S2 -r f", "sort -S2 -n f"]
        assert commands[0].prepare == "touch r"
        assert texts[4:] == ["true", "true (2)"]  # prepared in two ways

    def test_steps_are_exact_decimals(self) -> None:
        assert scanned("x=0..1..0.25") == ("x", ["0.00", "0.25", "0.50", "0.75", "1.00"])
        assert scanned("x=-1..1") == ("x", ["-1", "0", "1"])

    @pytest.mark.parametrize("text", ["n", "n=1", "n=5..1", "n=1..5..0", "n=1..9999", "a b=1..2"])
    def test_what_is_no_range_is_refused_with_the_cure(self, text: str) -> None:
        with pytest.raises(UsageError):
            scanned(text)

    def test_a_parameter_that_no_command_has_is_refused(self, perf: Perf) -> None:
        said = perf("compare", "-P", "n=1..3", "true", code=2)
        assert "no command has the parameter n: write it in braces, {n}" in said.err
        said = perf("compare", "-P", "n=1..3", "-L", "n", "a,b", "echo {n}", code=2)
        assert "twice" in said.err

    @pytest.mark.slow
    def test_a_scan_is_exported_with_its_sizes(self, perf: Perf, outside: Path) -> None:
        scan = ("-P", "n=0.01..0.03..0.01", "sleep {n}")
        perf("compare", *scan, "--budget", "8s", "--export", "scan.json")
        results = json.loads((outside / "scan.json").read_text())["results"]
        assert [row["command"] for row in results] == [f"sleep 0.0{n}" for n in (1, 2, 3)]
        assert [row["parameters"] for row in results] == [{"n": f"0.0{n}"} for n in (1, 2, 3)]
        profile = formats.read(outside / "scan.json")
        assert profile.resources.names == ["sleep {n}"]
        assert set(profile.resources.size or []) == {0.01, 0.02, 0.03}


class TestAround:
    @pytest.mark.slow
    def test_each_part_runs_when_it_should(self, perf: Perf, outside: Path) -> None:
        document = compared(
            perf,
            "sh -c 'test -e ready && rm ready'",
            "--setup",
            "echo setup >>log",
            "--prepare",
            "touch ready; echo prepare >>log",
            "--cleanup",
            "echo cleanup >>log",
            budget="5s",
        )
        log = (outside / "log").read_text().split()
        assert log[0] == "setup"
        assert log[-1] == "cleanup"
        assert log.count("setup") == log.count("cleanup") == 1
        assert log.count("prepare") >= 1 + document["pairs"] * document["runs"]

    def test_cleanup_runs_after_a_failure_too(self, perf: Perf, outside: Path) -> None:
        perf("compare", "false", "--cleanup", "touch cleaned", code=5)
        assert (outside / "cleaned").exists()

    @pytest.mark.slow
    def test_what_fails_while_cleaning_up_loses_no_result(self, perf: Perf) -> None:
        said = perf("compare", "true", "--cleanup", "exit 3", "--budget", "3s")
        assert "wall time" in said.out
        assert "--cleanup: " in said.err
        assert "exited with status 3" in said.err

    def test_one_for_each_or_one_for_all(self, perf: Perf) -> None:
        said = perf("compare", "true", "true", "true", *["--prepare", "true"] * 2, code=2)
        assert "--prepare is given 2 times for 3 commands" in said.err

    @pytest.mark.parametrize("kind", ["setup", "prepare"])
    def test_what_fails_around_is_named(self, perf: Perf, kind: str) -> None:
        said = perf("compare", "true", f"--{kind}", "exit 3", code=5).err
        assert f"--{kind}: " in said and "exited with status 3" in said

    @pytest.mark.slow
    def test_all_commands_read_the_same_file(self, perf: Perf, outside: Path) -> None:
        (outside / "input").write_text("five words are in here\n")
        read = "sh -c 'test $(wc -w) = 5'"
        assert compared(perf, read, read, "--stdin", "input", budget="5s")["pairs"] > 0
        assert "does not exist" in perf("compare", "cat", "--stdin", "no", code=2).err


class TestBadCommands:
    def test_one_that_fails_is_named_with_the_cure(self, perf: Perf) -> None:
        said = perf("compare", "true", "sh -c 'echo broken >&2; exit 4'", code=5)
        assert "exited with status 4: broken: add --ignore-failure" in said.err

    @pytest.mark.slow
    def test_failures_are_measured_if_that_is_asked_for(self, perf: Perf) -> None:
        document = compared(perf, "-i", "sh -c 'exit 4'", budget="4s")
        assert document["pairs"] > 0
        said = "`sh -c 'exit 4'` exited with status 4"
        assert any(note.startswith(said) for note in document["notes"])

    @pytest.mark.slow
    def test_one_that_hangs_is_stopped_when_the_budget_ends(self, perf: Perf) -> None:
        said = perf("compare", "sleep 1000", "true", "--budget", "2s", code=5)
        assert "`sleep 1000` did not end within the budget of 2 s: raise --budget" in said.err

    @pytest.mark.slow
    def test_gigabytes_of_output_are_thrown_away(self, perf: Perf) -> None:
        document = compared(perf, "head -c 2000000000 /dev/zero", budget="20s")
        assert document["commands"][0]["levels"][0]["runs"] > 0

    @pytest.mark.slow
    def test_a_program_that_prints_errors_without_end_is_stopped(self, perf: Perf) -> None:
        said = perf("compare", "sh -c 'yes >&2'", "--budget", "2s", code=5)
        assert "did not end within the budget" in said.err

    @pytest.mark.slow
    def test_names_with_control_characters_cannot_move_the_cursor(self, perf: Perf) -> None:
        said = perf("compare", "echo '\x1b[2J'", "true", "--budget", "3s")
        assert "\x1b" not in said.out + said.err

    def test_an_unknown_metric_is_refused_with_the_likely_one(self, perf: Perf) -> None:
        assert "there is no metric `wal`" in perf("compare", "-m", "wal", "true", code=2).err


class TestExport:
    @pytest.mark.slow
    @pytest.mark.parametrize("name", ["hyperfine", "csv", "perfvcs", "openmetrics", "bencher"])
    def test_formats_hold_every_command(self, perf: Perf, outside: Path, name: str) -> None:
        perf(
            *("compare", "sleep 0.01", "sleep 0.02", "--budget", "4s"),
            *("--format", name, "--export", "out.txt"),
        )
        content = (outside / "out.txt").read_text()
        assert "sleep 0.01" in content
        assert "sleep 0.02" in content
        if name in formats.members("decode"):
            profile = formats.read(outside / "out.txt", name)
            assert profile.resources.names == ["sleep 0.01", "sleep 0.02"]

    def test_a_file_that_is_there_is_not_overwritten(self, perf: Perf, outside: Path) -> None:
        (outside / "out.json").write_text("mine")
        said = perf("compare", "touch ran", "--export", "out.json", code=2)
        assert "already exists: --force overwrites it" in said.err
        assert not (outside / "ran").exists()

    def test_a_format_that_is_only_read_is_refused_before_anything_runs(
        self, perf: Perf, outside: Path
    ) -> None:
        perf("compare", "touch ran", "--export", "o", "--format", "jmh", code=2)
        assert not (outside / "ran").exists()

    @pytest.mark.parametrize(
        ("options", "said"),
        [
            (("--export", "no/out.json"), "no is not a folder: make it"),
            (("--export", "out.md"), "out.md does not end like a format: take .json"),
            (("--format", "csv"), "name it with --export FILE"),
        ],
    )
    def test_a_file_that_cannot_be_written_is_said_before_anything_runs(
        self, perf: Perf, outside: Path, options: tuple[str, ...], said: str
    ) -> None:
        assert said in perf("compare", "touch ran", *options, code=2).err
        assert not (outside / "ran").exists()


@pytest.mark.slow
def test_a_terminal_of_eighty_columns_is_enough() -> None:
    long = f"sh -c 'sleep 0.02; : {'x' * 200}'"
    done = subprocess.run(
        [sys.executable, "-m", "perfvcs", "compare", "sleep 0.01", long, "--budget", "4s"],
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, "COLUMNS": "80"},
    )
    assert max(map(len, done.stdout.splitlines())) <= 80

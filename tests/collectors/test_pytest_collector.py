"""The collector ``pytest``: small suites are measured for real, each in a folder of its own."""

from __future__ import annotations

import os
import sys
from collections import defaultdict
from collections.abc import Callable, Sequence
from pathlib import Path
from textwrap import dedent

import pytest

from perfvcs import plugins
from perfvcs.collectors.pytest import Pytest
from perfvcs.errors import UsageError
from perfvcs.plugins.collector import CollectError, Observations, Run
from perfvcs.profile import FINE, REPEATED

pytestmark = pytest.mark.slow

Measure = Callable[..., Observations]
PLAIN = (sys.executable, "-m", "pytest", "-q")
COMMAND = (*PLAIN, "-p", "no:hypothesispytest")  # whose start takes longer than all else
# the other installed plugins, which few tests need, are the next longest
ALONE = {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}


@pytest.fixture
def measure(tmp_path: Path) -> Measure:
    """Measure a suite of these files with two repetitions; the same session as long as the command
    and the options stay.
    """
    root = tmp_path / "project"
    root.mkdir()
    (root / "pytest.ini").write_text("[pytest]\n")

    def run(
        files: dict[str, str] | None = None,
        *args: str,
        argv: Sequence[str] = COMMAND,
        timeout: float = 300.0,
        env: dict[str, str] | None = None,
        **options: object,
    ) -> Observations:
        for name, text in (files or {}).items():
            path = root / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(dedent(text))
        scratch = tmp_path / "scratch" / str(len(list((tmp_path / "scratch").glob("*"))))
        scratch.mkdir(parents=True)
        environment = {
            "PATH": os.environ["PATH"],
            "HOME": os.environ["HOME"],
            **(ALONE if argv is COMMAND else {}),
            **(env or {}),
        }
        collector = Pytest(**{"repeat": 2, "budget": 10.0, **options})  # type: ignore[arg-type]
        return collector.collect(
            Run((*argv, *args), root, environment, scratch, "tests", timeout=timeout)
        )

    return run


def marks(found: Observations) -> dict[str, list[int]]:
    """The marks of each test's rows, by the last part of its name."""
    rows = defaultdict(list)
    for uid, mark in zip(found.uid, found.mark, strict=True):
        rows[uid.partition("::")[2]].append(mark)
    return dict(rows)


REPEATS = [REPEATED, FINE, FINE]


def test_every_kind_of_test_is_repeated_and_its_first_run_left_out(measure: Measure) -> None:
    found = measure(
        {
            "test_kinds.py": (
                """
            import time, unittest
            import pytest

            set_up = []

            @pytest.fixture
            def own(tmp_path):
                (tmp_path / "file").touch(exist_ok=False)
                yield 1

            @pytest.fixture(scope="module")
            def shared():
                set_up.append(1)
                yield 2
                set_up.clear()

            def test_plain(own, shared, capsys):
                print("once")
                assert set_up == [1] and capsys.readouterr().out == "once\\n"

            @pytest.mark.parametrize("value", ["a", "b"])
            def test_values(value, monkeypatch):
                monkeypatch.setattr(time, "perf_counter_ns", lambda: 1 / 0)
                monkeypatch.setattr("os.open", lambda *args: 1 / 0)
                monkeypatch.chdir("/")
                monkeypatch.setattr("os.environ", {})

            class TestClass:
                def test_method(self, shared, record_property):
                    record_property("some", "thing")

            class TestCase(unittest.TestCase):
                def setUp(self):
                    self.ready = True
                    time.sleep(0.3)

                def test_case(self):
                    with self.subTest("inner"):
                        self.assertTrue(self.__dict__.pop("ready"))

            class TestAsync(unittest.IsolatedAsyncioTestCase):
                async def test_later(self):
                    self.assertEqual(1, 1)
            """
            ),
            "pytest.ini": "[pytest]\naddopts = --doctest-modules\n",
            "lib.py": (
                'def double(n):\n    """\n    >>> double(2)\n    4\n    """\n    return 2 * n\n'
            ),
        }
    )
    names = [
        "lib.double",
        "test_plain",
        "test_values[a]",
        "test_values[b]",
        "TestClass::test_method",
        "TestCase::test_case",
        "TestAsync::test_later",
    ]
    assert marks(found) == dict.fromkeys(names, REPEATS) and not found.warnings
    assert found.iteration == [0, 1, 2] * len(names)
    assert found.metrics == dict(Pytest().metrics)
    walls = dict(zip(found.uid, found.values["wall"], strict=True))
    assert all(wall is not None and wall > 0 for wall in walls.values())
    assert walls["test_kinds.py::TestCase::test_case"] < 0.3, "setUp is not part of the test"
    assert all(cpu is not None and cpu >= 0 for cpu in found.values["cpu"])


def test_cpu_time_has_threads_and_child_processes_and_memory_is_what_the_test_adds(
    measure: Measure,
) -> None:
    found = measure(
        {
            "test_costs.py": (
                """
            import subprocess, sys, time

            def test_sleeps():
                time.sleep(0.05)

            def test_child():
                subprocess.run([sys.executable, "-c", "import time\\nwhile time.process_time() < 0.05: pass"], check=True)

            def test_memory():
                assert bytearray(16 << 20)
            """
            )
        },
        repeat=1,
    )
    rows = dict(zip(found.uid, zip(*found.values.values(), strict=True), strict=True))
    (wall, cpu, _), (_, child, _) = (
        rows["test_costs.py::test_sleeps"],
        rows["test_costs.py::test_child"],
    )
    assert wall >= 0.05 and cpu < 0.04 and child >= 0.04
    assert rows["test_costs.py::test_memory"][2] == pytest.approx(16 << 20, abs=1 << 20)
    assert rows["test_costs.py::test_sleeps"][2] < 1 << 20


def test_what_cannot_be_repeated_is_run_once_and_named(measure: Measure) -> None:
    files = {
        "test_state.py": (
            """
            seen = []

            def test_only_once():
                seen.append(1)
                assert seen == [1]

            def test_as_often_as_one_likes():
                pass
            """
        ),
        "test_disturbed.py": (
            """
            calls = []

            def test_counts():
                calls.append(1)

            def test_believes_the_count():
                assert len(calls) == 1
            """
        ),
    }
    first, second = measure(files), measure(files)
    for found in (first, second):
        assert marks(found) == {
            "test_counts (once)": [FINE],
            "test_believes_the_count (once)": [FINE],
            "test_only_once (once)": [FINE],
            "test_as_often_as_one_likes": REPEATS,
        }
        (warning,) = found.warnings
        assert warning.startswith(
            "3 tests cannot be repeated, so each process gives one run: test_disturbed.py::test_bel"
        )


def test_without_repetitions_every_process_gives_a_run(measure: Measure) -> None:
    assert marks(measure({"test_a.py": "def test_a(): pass\n"}, repeat=0)) == {"test_a": [FINE]}


def test_a_budget_ends_repeating_but_not_before_the_first(measure: Measure) -> None:
    files = {"test_a.py": "import time\ndef test_long(): time.sleep(0.6)\n"}
    assert marks(measure(files, repeat=50, budget=1.0)) == {"test_long": REPEATS}
    assert marks(measure(files, repeat=50, budget=0.0)) == {"test_long": [REPEATED, FINE]}


def test_tests_that_do_not_pass_are_named_and_not_measured(measure: Measure) -> None:
    found = measure(
        {
            "test_a.py": (
                """
            import pytest

            @pytest.fixture
            def broken():
                yield
                raise RuntimeError("at the end")

            def test_passes(): pass
            def test_fails(): assert 1 == 2, "no equal numbers"
            def test_errs(broken): pass
            def test_skips(): pytest.skip("not here")
            @pytest.mark.xfail
            def test_known(): assert False
            @pytest.mark.xfail
            def test_better_than_known(): pass
            """
            )
        }
    )
    assert marks(found) == {"test_passes": REPEATS, "test_better_than_known": REPEATS}
    (warning,) = found.warnings
    assert warning.startswith(
        "2 tests failed and are not measured: test_a.py::test_fails (AssertionError: no equal"
        " numbers), "
    )
    assert warning.endswith("test_a.py::test_errs (RuntimeError: at the end)")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "def test_a(): assert 0, 'gone'\n",
            r"no test passed: test_a.py::test_a \(AssertionError: gone",
        ),
        ("import pytest\ndef test_a(): pytest.skip()\n", "ran none of 1 test, all are skipped"),
        (
            "import no_such_module\n",
            (
                r"could not collect its tests: test_a.py: ModuleNotFoundError: No module named"
                r" 'no_such_m"
            ),
        ),
        ("x = 1\n", "found no tests: check its paths, -k and -m"),
        (
            "import os\ndef test_a(): os._exit(0)\n",
            "ended in the middle of test_a.py::test_a, with status 0",
        ),
        (
            "import os\ndef test_a(): os.abort()\n",
            r"was killed by SIGABRT.*\(test_a.py::test_a was running\)",
        ),
        (
            "import pytest\ndef test_a(): pytest.exit('enough')\n",
            "was interrupted in test_a.py::test_a: do not measure that test",
        ),
        (
            "def test_a(): raise KeyboardInterrupt\n",
            "was interrupted in test_a.py::test_a: do not measure that test",
        ),
    ],
)
def test_a_suite_that_tells_nothing_is_an_error_with_its_cure(
    measure: Measure, text: str, message: str
) -> None:
    with pytest.raises(CollectError, match=message) as caught:
        measure({"test_a.py": text}, "-p", "no:faulthandler")
    assert "\n" not in str(caught.value) and caught.value.exit_code == 5
    # a filter that matches nothing is not tried again
    assert caught.value.lasting is any(
        words in message for words in ("found no tests", "all are skipped")
    )


def test_a_time_out_names_the_test_that_ran(measure: Measure) -> None:
    files = {
        "test_a.py": "import time\ndef test_fast(): pass\ndef test_hangs(): time.sleep(973.25)\n"
    }
    with pytest.raises(
        CollectError, match=r"time-out of 5 s: .*\(test_a.py::test_hangs was running\)"
    ):
        measure(files, timeout=5.0)


@pytest.mark.parametrize(
    ("argv", "message"),
    [
        (
            (sys.executable, "-c", "pass"),
            "ran no pytest that loads perfvcs' plugin: make it `python -m pytest`",
        ),
        ((sys.executable, "-m", "unittest", "--help"), "ran no pytest that loads perfvcs' plugin"),
        (
            (sys.executable, "-S", "-m", "pytest"),
            r'No module named pytest.*requires = \["pytest"\]',
        ),
        (
            (sys.executable, "-I", "-m", "pytest"),
            "plugin cannot be loaded: leave out Python's options -I and -E",
        ),
        ((*COMMAND, "--no-such-option"), "status 4.*no-such-option"),
        ((*COMMAND, "--collect-only"), "ran no test: leave out --collect-only"),
        ((*COMMAND, "--setup-plan"), "ran no test: leave out .*--setup-only"),
        (("/no/such/python",), "/no/such/python"),
        (("/bin/sh", "-c", f"{sys.executable} -m pytest -q; exit 7"), "status 7"),
    ],
)
def test_a_command_that_measures_nothing_is_an_error_with_its_cure(
    measure: Measure, argv: tuple[str, ...], message: str
) -> None:
    with pytest.raises(CollectError, match=message) as caught:
        measure({"test_a.py": "def test_a(): pass\n"}, argv=argv)
    assert "\n" not in str(caught.value)


def test_an_old_pytest_is_named(measure: Measure) -> None:
    old = """
        import json, os
        from pathlib import Path
        folder = json.loads(Path(os.environ["PERFVCS_TESTING"]).read_text())["folder"]
        Path(folder, "notes-1.jsonl").write_text('{"kind": "started", "version": "6.2.5", "python": "3.9.0"}\\n')
        """
    with pytest.raises(CollectError, match=r"runs pytest 6\.2\.5: update it to 7 or newer"):
        measure({"old.py": old}, argv=(sys.executable, "old.py"))


def test_selections_are_those_of_pytest(measure: Measure) -> None:
    files = {
        "test_a.py": "import pytest\n@pytest.mark.fast\ndef test_x(): pass\ndef test_y(): pass\n",
        "test_b.py": "def test_x(): pass\n",
        "pytest.ini": "[pytest]\nmarkers = fast\n",
    }
    chosen = {
        args: set(measure(files, *args, repeat=1).uid)
        for args in (("-k", "test_y"), ("-m", "fast"), ("test_b.py",))
    }
    assert list(chosen.values()) == [
        {"test_a.py::test_y"},
        {"test_a.py::test_x"},
        {"test_b.py::test_x"},
    ]


def test_plugins_that_would_disturb_are_switched_off_and_reported(measure: Measure) -> None:
    found = measure(
        {
            "test_a.py": (
                "import os\ndef test_a(): assert 'PYTEST_XDIST_WORKER' not in os.environ\n"
            ),
            "tracing.py": (
                """
            import pytest

            def pytest_addoption(parser):
                parser.addoption("--cov", action="append", dest="cov_source")
                parser.addoption("--benchmark-storage", default="file://./.benchmarks")

            def pytest_configure(config):
                assert str(config.rootpath) not in config.getoption("--benchmark-storage")

            @pytest.hookimpl(tryfirst=True)
            def pytest_load_initial_conftests(early_config):
                assert not early_config.known_args_namespace.cov_source
            """
            ),
            "pytest.ini": "[pytest]\naddopts = -n 2 --cov=lib -p tracing\n",
        },
        env={"PYTHONPATH": ".", "PYTEST_DISABLE_PLUGIN_AUTOLOAD": ""},
    )
    assert marks(found) == {"test_a": REPEATS}
    assert [warning.partition(",")[0] for warning in found.warnings] == [
        "coverage is switched off",
        "pytest-xdist is switched off",
    ]


def test_tests_that_others_repeat_are_run_once_per_process(measure: Measure) -> None:
    found = measure(
        {
            "conftest.py": (
                """
            import pytest
            from _pytest.runner import runtestprotocol

            def pytest_runtest_protocol(item, nextitem):
                if "again" in item.name:
                    for _ in range(3):
                        runtestprotocol(item, nextitem=nextitem)
                    return True

            class Stats:
                def __init__(self, data):
                    self.stats, self.data = self, data

            @pytest.fixture
            def benchmark():
                class Fixture:
                    def __call__(self, function):
                        self.stats = Stats([number / 1000 for number in range(1, 2002)])
                        return function()
                return Fixture()
            """
            ),
            "test_a.py": (
                """
            from hypothesis import given, strategies

            def test_run_again(): pass

            @given(strategies.integers())
            def test_drawn(number): assert isinstance(number, int)

            def test_rounds(benchmark): assert benchmark(int) == 0
            def test_plain(): pass
            """
            ),
        }
    )
    rows = marks(found)
    assert rows.pop("test_rounds") == [FINE] * 667, "every third of 2,001"
    assert rows == {
        "test_run_again (once)": [FINE],
        "test_drawn (once)": [FINE],
        "test_plain": REPEATS,
    }
    of_rounds = [row for row, uid in enumerate(found.uid) if uid.endswith("test_rounds")]
    assert [found.values["wall"][row] for row in of_rounds[:2]] == [0.001, 0.004]
    assert {found.values["cpu"][row] for row in of_rounds} == {None}
    assert not found.warnings


def test_a_flaky_test_is_reported_and_the_others_are_repeated(measure: Measure) -> None:
    flaky = """
        from pathlib import Path

        def test_flaky():
            path = Path(__file__).with_name("count")
            count = int(path.read_text()) if path.exists() else 0
            path.write_text(str(count + 1))
            assert count in (0, 3), count

        def test_steady(): pass
        """
    found = measure({"test_flaky.py": flaky})
    assert marks(found) == {"test_steady": REPEATS}
    assert found.warnings == [
        "test_flaky.py::test_flaky had another outcome than before and is left out of that"
        " execution: check whether it is flaky"
    ]


def test_a_module_whose_end_fails_fails_its_last_test_as_ever(measure: Measure) -> None:
    found = measure(
        {
            "test_a.py": (
                """
            import pytest

            @pytest.fixture(scope="module", autouse=True)
            def broken():
                yield
                raise RuntimeError("at the end of all")

            def test_first(): pass
            def test_last(): pass
            """
            )
        }
    )
    assert marks(found) == {"test_first": REPEATS}
    assert found.warnings == [
        "1 test failed and is not measured: test_a.py::test_last (RuntimeError: at the end of all)"
    ]


# without the compiled launcher there is a variable by which daemons are found
@pytest.mark.needs("cc")
def test_tests_see_the_environment_as_it_is_and_nothing_is_left(
    measure: Measure, tmp_path: Path
) -> None:
    files = {
        "test_a.py": (
            """
            import os, sys

            def test_environment(cache):
                cache.set("some/thing", 1)
                ours = [name for name in os.environ if name.startswith("PERFVCS")]
                assert not ours and os.environ["PYTHONPATH"] == "extra" and "PYTEST_PLUGINS" not in os.environ
                assert not [entry for entry in sys.path if "native" in entry]
            """
        ),
        "test_b.py": (
            "from hypothesis import given, strategies as s\n@given(s.integers())\ndef"
            " test_drawn(number): pass\n"
        ),
    }
    found = measure(files, argv=PLAIN, env={"PYTHONPATH": "extra", "PERFVCS_PADDING": "x" * 99})
    assert not found.warnings and marks(found)["test_environment"] == REPEATS
    assert sorted(path.name for path in (tmp_path / "project").iterdir()) == [
        "pytest.ini",
        "test_a.py",
        "test_b.py",
    ]


AROUND = {
    "pytest.ini": "[pytest]\naddopts = -k nothing\n",
    "conftest.py": "raise RuntimeError('not of this revision')\n",
}


@pytest.mark.parametrize(
    "around", [{"pytest.ini": AROUND["pytest.ini"]}, AROUND], ids=["settings", "conftest"]
)
def test_a_revision_without_settings_has_not_those_of_the_project_around_it(
    measure: Measure, tmp_path: Path, around: dict[str, str]
) -> None:
    (tmp_path / "project" / "pytest.ini").unlink()
    for name, text in around.items():
        (tmp_path / name).write_text(text)
    seen = "import os\ndef test_seen(pytestconfig): assert 'PYTEST_ADDOPTS' not in os.environ\n"
    for arguments in ((), ("tests",), ("tests/test_a.py::test_seen",)):
        found = measure({"tests/test_a.py": seen}, *arguments)
        assert set(found.uid) == {"tests/test_a.py::test_seen"} and not found.warnings


@pytest.mark.parametrize(
    ("files", "arguments", "uid"),
    [
        (
            {"pyproject.toml": "[tool.pytest.ini_options]\npython_files = 'check_*.py'\n"},
            (),
            "tests/check_a.py",
        ),
        ({"tests/tox.ini": "[pytest]\npython_files = check_*.py\n"}, ("tests",), "check_a.py"),
        (
            {"setup.cfg": "[tool:pytest]\npython_files = check_*.py\n"},
            ("tests/check_a.py",),
            "tests/check_a.py",
        ),
        ({}, ("--rootdir=tests", "tests/check_a.py"), "check_a.py"),
    ],
)
def test_settings_of_the_revision_stay(
    measure: Measure, tmp_path: Path, files: dict[str, str], arguments: tuple[str, ...], uid: str
) -> None:
    (tmp_path / "project" / "pytest.ini").unlink()
    found = measure({"tests/check_a.py": "def test_x(): pass\n", **files}, *arguments)
    assert set(found.uid) == {f"{uid}::test_x"}


def test_options_of_the_environment_count_too(measure: Measure, tmp_path: Path) -> None:
    (tmp_path / "project" / "pytest.ini").unlink()
    files = {"tests/test_a.py": "def test_x(): pass\ndef test_y(): pass\n"}
    assert set(measure(files, env={"PYTEST_ADDOPTS": "-k test_y"}).uid) == {
        "tests/test_a.py::test_y"
    }
    assert set(
        measure(files, "tests", env={"PYTEST_ADDOPTS": "--rootdir=tests -k test_y"}).uid
    ) == {"test_a.py::test_y"}


@pytest.mark.parametrize(
    "options", [{"repeat": -1}, {"repeat": True}, {"budget": -0.5}, {"budget": float("inf")}]
)
def test_an_option_out_of_range_is_an_error_with_the_range(options: dict[str, float]) -> None:
    with pytest.raises(UsageError, match=rf"pytest`?: {next(iter(options))}( is .*)?: give "):
        plugins.build("collectors", "pytest", options, "here")


def test_it_says_where_it_cannot_run(monkeypatch: pytest.MonkeyPatch) -> None:
    assert Pytest().available() is None and Pytest().flags("python") == ()
    monkeypatch.setattr(os, "name", "nt")
    assert "on Linux or macOS" in (Pytest().available() or "")

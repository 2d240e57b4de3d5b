"""The collectors ``imports`` and ``rebuild`` on real programs and builds."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from conftest import Perf, Project

from perfvcs import plugins
from perfvcs.collectors.imports import LINE, Imports
from perfvcs.collectors.rebuild import Rebuild
from perfvcs.environment import HEAP
from perfvcs.errors import UsageError
from perfvcs.measure.originals import Originals
from perfvcs.native import start_folder
from perfvcs.plugins.collector import CollectError, Observations, Run
from perfvcs.system.executionresult import ExecutionResult

BUILD = """\
all: out
out: source
\tsleep 1
\tcp source out
\techo "$$CCACHE_DISABLE" >>log
"""


def by_unit(seen: Observations, metric: str) -> dict[str, float]:
    rows = zip(seen.uid, seen.values[metric], strict=True)
    return {uid: value for uid, value in rows if value is not None}


@pytest.fixture
def run(tmp_path: Path) -> Callable[..., Run]:
    """Runs in a folder with a package of two modules, one of which takes 50 ms to import."""
    top, count = tmp_path / "revision", iter(range(100))
    (top / "shop").mkdir(parents=True)
    (top / "shop" / "__init__.py").write_text("from shop import cart\n")
    (top / "shop" / "cart.py").write_text("import time\ntime.sleep(0.05)\n")
    env = {"PATH": os.environ["PATH"], "PYTHONPATH": str(top)}

    def prepare(*argv: str, **more: object) -> Run:
        scratch = tmp_path / f"scratch-{next(count)}"
        scratch.mkdir()
        return Run(argv, top, env, scratch, "start", timeout=300.0, **more)  # type: ignore[arg-type]

    return prepare


class TestImports:
    def test_packages_are_units_and_their_modules_on_request(self, run: Callable[..., Run]) -> None:
        words = (sys.executable, "-c", "import shop, json")
        packages = by_unit(Imports().collect(run(*words)), "module_time")
        assert 0.05 <= packages["shop"] < 5
        assert "json" in packages and "shop.cart" not in packages
        seen = Imports(packages=("shop",)).collect(run(*words))
        modules = by_unit(seen, "module_time")
        assert modules["shop.cart"] >= 0.05 > modules["shop"]
        whole = by_unit(seen, "import_time")
        assert whole == {"start": pytest.approx(sum(modules.values()))}

    def test_the_largest_come_first_and_the_whole_has_all(self, run: Callable[..., Run]) -> None:
        seen = Imports(largest=1).collect(run(sys.executable, "-c", "import shop, json"))
        modules = by_unit(seen, "module_time")
        assert [*modules] == ["shop"]
        assert by_unit(seen, "import_time")["start"] > modules["shop"]

    def test_isolated_pythons_and_scripts_report_too(self, run: Callable[..., Run]) -> None:
        assert "json" in Imports().collect(run(sys.executable, "-I", "-c", "import json")).uid
        inner = f"exec {sys.executable} -c 'import json'"
        assert "json" in Imports().collect(run("/bin/sh", "-c", inner)).uid

    def test_what_is_no_python_program_is_named(self, run: Callable[..., Run]) -> None:
        with pytest.raises(CollectError, match="reports no import: it measures programs of Python"):
            Imports().collect(run("/bin/true"))

    @pytest.mark.slow
    def test_errors_without_end_are_stopped(self, run: Callable[..., Run]) -> None:
        with pytest.raises(CollectError, match=r"more than 67,108,864 bytes to standard error"):
            Imports().collect(run("/bin/sh", "-c", "yes import time >&2"))

    def test_foreign_lines_are_bounded_and_names_are_text(self) -> None:
        line = b"import time:       12 |         12 |   a\x1b[2Jb\n"
        assert [match[1] for match in LINE.finditer(line * 3)] == [b"12"] * 3
        assert LINE.search(b"import time:" + b" " * 10_000_000 + b"|") is None
        assert LINE.search(b"import time: " + b"9" * 1000 + b" | 1 | a\n") is None

    def test_the_shuffle_of_the_heap_is_no_import_of_the_program(
        self, run: Callable[..., Run]
    ) -> None:
        prepared = run(sys.executable, "-c", "import shop")
        path = os.pathsep.join([str(start_folder()), prepared.env["PYTHONPATH"]])
        env = {**prepared.env, "PYTHONPATH": path, HEAP: "7"}
        seen = Imports(largest=1000).collect(replace(prepared, env=env))
        assert "shop" in seen.uid
        assert not {"perfvcs_shuffle", "perfvcs"}.intersection(seen.uid)

    def test_wrong_options_are_usage_errors(self) -> None:
        with pytest.raises(UsageError, match="packages: give a list"):
            plugins.build("collectors", "imports", {"packages": "shop"}, "here")
        with pytest.raises(UsageError, match="give a number from 0"):
            Imports(largest=-1)


class TestRebuild:
    def test_from_nothing_and_again_in_a_copy(self, run: Callable[..., Run]) -> None:
        prepared = run("/usr/bin/make", "-s")
        (prepared.cwd / "Makefile").write_text(BUILD)
        (prepared.cwd / "source").write_text("x")
        walls = by_unit(Rebuild().collect(prepared), "wall")
        assert walls["start"] >= 1 > walls["again"]
        assert not (prepared.cwd / "out").exists()
        assert (prepared.scratch / "sources" / "log").read_text() == "1\n"

    def test_caches_are_left_on_and_nothing_is_repeated_on_request(
        self, run: Callable[..., Run]
    ) -> None:
        prepared = run("/usr/bin/make", "-s")
        (prepared.cwd / "Makefile").write_text(BUILD)
        (prepared.cwd / "source").write_text("x")
        assert Rebuild(cache=True, again=False).collect(prepared).uid == ["start"]
        assert (prepared.scratch / "sources" / "log").read_text() == "\n"

    def test_what_was_built_before_is_cleaned_in_the_copy_alone(
        self, run: Callable[..., Run]
    ) -> None:
        prepared = run("/bin/sh", "-c", "test -e new && test ! -e out && test ! -e .git")
        for name in ("new", "out"):
            (prepared.cwd / name).write_text("x")
        (prepared.cwd / ".git").mkdir()
        assert Rebuild(clean="rm out").collect(prepared).uid == ["start", "again"]
        assert (prepared.cwd / "out").exists()
        with pytest.raises(CollectError, match=r"rebuild: clean: .*there is no such command"):
            Rebuild(clean="nosuchcommand").collect(run("/bin/true"))
        with pytest.raises(UsageError, match="close the quotation"):
            Rebuild(clean="rm 'out")

    def test_what_executions_left_in_the_checkout_is_not_copied(
        self, run: Callable[..., Run]
    ) -> None:
        prepared = run("/usr/bin/make", "-s")
        (prepared.cwd / "Makefile").write_text(BUILD)
        (prepared.cwd / "source").write_text("x")
        originals = Originals(prepared.cwd, plain=True)
        originals.list_all()
        (prepared.cwd / "out").write_text("x")
        seen = Rebuild().collect(replace(prepared, begun_with=originals.names))
        walls = by_unit(seen, "wall")
        assert walls["start"] >= 1 > walls["again"]
        assert (prepared.scratch / "sources" / "shop" / "cart.py").exists()

    def test_clean_runs_in_the_sandbox_of_the_build(self, run: Callable[..., Run]) -> None:
        log = run("/bin/true").scratch / "log"
        within = ("/bin/sh", "-c", f'echo x >>{log}; exec "$@"', "sh")
        Rebuild(again=False).collect(run("/bin/true", within=within))
        assert log.read_text() == "x\n"
        Rebuild(clean="true", again=False).collect(run("/bin/true", within=within))
        assert log.read_text() == "x\n" * 3

    def test_what_the_first_build_leaves_running_and_prints_is_kept(
        self, run: Callable[..., Run]
    ) -> None:
        script = "test -e log || { sleep 60 & }; echo x >>log; cat log"
        result, alone = ExecutionResult(), ExecutionResult()
        Rebuild().collect(run("/bin/sh", "-c", script, result=result))
        Rebuild(again=False).collect(run("/bin/sh", "-c", script, result=alone))
        assert result.left == ("sleep",)
        assert result.digest() == alone.digest()

    def test_a_checkout_that_cannot_be_copied_is_a_line(self, run: Callable[..., Run]) -> None:
        prepared = run("/bin/true")
        os.mkfifo(prepared.cwd / "pipe")
        with pytest.raises(CollectError, match="cannot be copied: ") as caught:
            Rebuild().collect(prepared)
        assert "\n" not in str(caught.value)

    def test_a_build_that_fails_is_a_line(self, run: Callable[..., Run]) -> None:
        with pytest.raises(CollectError, match="exited with status 3: no source") as caught:
            Rebuild().collect(run("/bin/sh", "-c", "echo no source >&2; exit 3"))
        assert "\n" not in str(caught.value)
        with pytest.raises(UsageError, match="cache: give true or false"):
            plugins.build("collectors", "rebuild", {"cache": 1}, "here")

    def test_a_slower_build_is_a_degradation(self, project: Project, perf: Perf) -> None:
        job = '[[job]]\nname = "build"\ncmd = "make -s"\ncollectors = ["rebuild"]\n'
        project.write("source", "x")
        project.commit(
            "quick",
            **{
                "Makefile": BUILD.replace("sleep 1", "sleep 0.2"),
                "perf.toml": job,
                ".gitignore": "out\nlog\n",
            },
        )
        project.commit("slow", Makefile=BUILD.replace("sleep 1", "sleep 0.6"))
        said = perf("check", "--measure", "HEAD~1", "HEAD", "-n", "5", code=3).out
        assert "build became slower" in " ".join(said.split())

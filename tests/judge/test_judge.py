"""`perf judge` on real changes: fair ones, and tricks."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from conftest import Perf, Project
from judged import BENCH, HALF, HARMLESS, SETTINGS, WORK, work

from perfvcs.launcher.namespaces import lacking


@pytest.fixture
def worked(project: Project) -> Project:
    return work(project)


def judged(perf: Perf, *words: str, code: int | None = None) -> dict[str, Any]:
    """The ruling, within a minute if nothing else is asked for."""
    said = perf("judge", "--budget", "60s", *words, "--json", code=code)
    document: dict[str, Any] = said.document
    assert said.code == {"proved": 0, "refuted": 3, "not decided": 4, "failed": 5}.get(
        document["verdict"], 6
    )
    return document


def rejecting(document: dict[str, Any]) -> set[str]:
    return {name for name, check in document["guard"].items() if check["word"] == "rejected"}


class TestFair:
    def test_less_work_is_proved(self, worked: Project, perf: Perf) -> None:
        worked.write("work.py", HALF)
        document = judged(perf, code=0)
        assert document["verdict"] == "proved"
        assert document["decided_by"]["effect"] < -0.2
        assert document["cost"]["seconds"] < 60
        assert not rejecting(document)

    def test_what_is_not_faster_is_not_proved(self, worked: Project, perf: Perf) -> None:
        worked.write("work.py", HARMLESS)
        assert judged(perf)["verdict"] in ("refuted", "not decided")

    def test_twice_the_work_is_refuted(self, worked: Project, perf: Perf) -> None:
        worked.write("work.py", WORK.replace("range(count)", "range(2 * count)"))
        assert judged(perf, code=3)["verdict"] == "refuted"

    def test_a_patch_is_judged_beside_a_working_tree_that_is_left_alone(
        self, worked: Project, perf: Perf
    ) -> None:
        worked.write("work.py", HALF)
        patch = Path("half.patch")
        patch.write_text(worked.git("diff") + "\n")
        worked.write("work.py", WORK)
        assert judged(perf, "--patch", str(patch), code=0)["target"] == "half.patch"
        assert (worked.root / "work.py").read_text() == WORK

    def test_two_revisions_are_judged(self, worked: Project, perf: Perf) -> None:
        worked.commit("Half", **{"work.py": HALF})
        document = judged(perf, "HEAD~1", "HEAD", "--budget", "150s", code=0)
        assert document["verdict"] == "proved"

    def test_it_is_said_in_at_most_twelve_lines(self, worked: Project, perf: Perf) -> None:
        worked.write("work.py", HALF)
        said = perf("judge", "--expect", "not-slower", "--budget", "60s", code=None)
        lines = said.out.splitlines()
        assert len(lines) <= 12
        word = {0: "proved", 4: "not decided"}[said.code]  # on a machine that others use
        assert lines[0].startswith(f"{word}: the working tree against ")


class TestTricks:
    def test_the_benchmarks_of_the_base_measure_both_sides(
        self, worked: Project, perf: Perf
    ) -> None:
        worked.write("bench_total.py", "print(3599994)\n")
        document = judged(perf)
        assert document["verdict"] in ("refuted", "not decided")
        assert document["restored"] == ["bench_total.py"]
        assert document["guard"]["benchmark_files"]["word"] == "warning"

    def test_what_the_change_accepts_is_not_read(self, worked: Project, perf: Perf) -> None:
        worked.write("perf-accepted.toml", "[[accept]]\nbenchmark = '*'\n")
        worked.write("work.py", WORK.replace("range(count)", "range(2 * count)"))
        assert judged(perf, code=3)["restored"] == ["perf-accepted.toml"]

    def test_the_settings_of_the_base_measure_both_sides(self, worked: Project, perf: Perf) -> None:
        worked.write("perf.toml", SETTINGS.replace("bench_total.py", "-c pass"))
        assert judged(perf)["verdict"] in ("refuted", "not decided")

    def test_work_that_is_skipped_when_perfvcs_looks_is_rejected(
        self, worked: Project, perf: Perf
    ) -> None:
        skipping = "import os\n\n" + WORK.replace(
            "range(count)", "range(0 if 'PERFVCS_SEED' in os.environ else count)"
        )
        worked.write("work.py", skipping)
        assert rejecting(judged(perf, code=6)) == {"variables"}

    def test_a_cache_that_outlives_the_process_is_rejected(
        self, worked: Project, perf: Perf, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("HOME", str(tmp_path))
        worked.commit("Long", **{"bench_total.py": BENCH.replace("1_200_000", "6_000_000")})
        caching = (
            "import os\n\n" + WORK.replace("def total", "def _total") + "\n\ndef total(count):\n"
            "    path = os.path.expanduser('~/.total')\n"
            "    if not os.path.exists(path):\n"
            "        with open(path, 'w') as file:\n"
            "            file.write(str(_total(count)))\n"
            "    with open(path) as file:\n"
            "        return int(file.read())\n"
        )
        worked.write("work.py", caching)
        assert "first_execution" in rejecting(judged(perf, code=6))

    @pytest.mark.skipif(bool(lacking()), reason=lacking())
    def test_a_result_that_lies_in_a_shared_folder_before_is_no_gain(
        self, worked: Project, perf: Perf
    ) -> None:
        place = Path("/dev/shm", f"perfvcs-test-{os.getpid()}")
        place.write_text("3599994")
        looking = "def total(count):\n    value = 0\n    try:\n"
        looking += f"        with open('{place}') as file:\n            return int(file.read())\n"
        looking += "    except OSError:\n        pass\n"
        worked.write("work.py", looking + WORK.partition("value = 0\n")[2])
        try:
            document = judged(perf)
        finally:
            place.unlink()
        assert document["verdict"] in ("rejected", "not decided")
        assert document["guard"]["variables"]["word"] in ("rejected", "doubted")
        assert "shared folders" in document["why"]

    def test_who_changes_the_copy_of_the_base_is_rejected(
        self, worked: Project, perf: Perf
    ) -> None:
        meddling = (
            "import glob, os\n\nhere = os.path.abspath('work.py')\n"
            "for path in glob.glob('../*/work.py'):\n"
            "    if os.path.abspath(path) != here:\n"
            "        with open(path, 'a') as file:\n"
            "            file.write('\\nfor number in range(3_000_000):\\n    pass\\n')\n\n"
        )
        worked.write("work.py", meddling + WORK)
        document = judged(perf, code=6)
        assert "folders" in rejecting(document)
        assert (
            "changes files of the base's copy, or of a build that is kept: work.py"
            in document["why"]
        )

    def test_work_that_is_left_to_another_process_is_rejected(
        self, worked: Project, perf: Perf
    ) -> None:
        handing = (
            "import os, time\n\n"
            + WORK.replace("def total", "def _total")
            + "\n\ndef total(count):\n"
            "    if os.fork() == 0:\n"
            "        os.setsid()\n"
            "        time.sleep(30)\n"
            "        os._exit(0)\n"
            "    return 3599994\n"
        )
        worked.write("work.py", handing)
        assert "processes" in rejecting(judged(perf, code=6))

    def test_a_wrong_result_is_rejected_before_it_is_measured(
        self, worked: Project, perf: Perf
    ) -> None:
        worked.write("work.py", HALF)
        check = 'test "$(python3 bench_total.py)" = 3599994'
        document = judged(perf, "--correct", check, code=6)
        assert rejecting(document) == {"correct"}
        assert document["cost"]["pairs"] == 0

    def test_another_output_is_warned_of_or_rejected(self, worked: Project, perf: Perf) -> None:
        worked.write("work.py", HALF)
        assert judged(perf, code=0)["guard"]["output"]["word"] == "warning"
        assert rejecting(judged(perf, "--same-output", code=6)) == {"output"}

    def test_a_right_result_passes(self, worked: Project, perf: Perf) -> None:
        closed = (
            "def total(count):\n    return sum(number % 7 for number in range(7)) * (count // 7)"
        )
        exact = closed + " + sum(number % 7 for number in range(count % 7))\n"
        worked.write("work.py", exact)
        check = 'test "$(python3 bench_total.py)" = 3599994'
        assert judged(perf, "--correct", check, code=0)["guard"]["correct"]["word"] == "passed"

    def test_a_command_that_hangs_is_ended_and_rejects(self, worked: Project, perf: Perf) -> None:
        worked.write("work.py", HALF)
        said = perf("judge", "--correct", "sleep 100", "--budget", "10s", code=6)
        assert "did not end within" in said.out

    def test_commands_of_the_base_are_asked_whatever_the_change_makes_of_them(
        self, worked: Project, perf: Perf
    ) -> None:
        worked.write("perf.toml", SETTINGS + "[judge]\ncorrect = ['false']\n")
        worked.commit("Ask")
        worked.write("perf.toml", SETTINGS)
        worked.write("work.py", HALF)
        assert "the base fails it, too" in perf("judge", code=6).out

    def test_a_benchmark_that_is_gone_rejects(self, worked: Project, perf: Perf) -> None:
        samples = (
            "import json, os, time, work\n\n"
            "names = getattr(work, 'NAMES', ('first', 'second'))\n"
            "with open(os.environ['PERFVCS_SAMPLES'], 'a') as file:\n"
            "    for name in names:\n"
            "        began = time.perf_counter()\n"
            "        work.total(100_000)\n"
            "        took = time.perf_counter() - began\n"
            "        file.write(json.dumps({'uid': name, 'wall': took}) + '\\n')\n"
        )
        worked.commit("Units", **{"bench_total.py": samples})
        worked.write("work.py", "NAMES = ('first',)\n\n\n" + WORK)
        assert "units" in rejecting(judged(perf, code=6))


@pytest.mark.skipif(bool(lacking()), reason=lacking())
class TestSandbox:
    def test_the_rest_of_the_disk_cannot_be_written_and_there_is_no_network(
        self, worked: Project, perf: Perf
    ) -> None:
        outside = worked.root / "outside"
        trying = (
            "import os, socket\n\ntry:\n"
            f"    open('{outside}', 'w').close()\nexcept OSError:\n    pass\n"
            "open('inside', 'w').close()\n"
            "open(os.path.join(os.environ['TMPDIR'], 'inside'), 'w').close()\n"
            "assert [name for _, name in socket.if_nameindex()] == ['lo']\n\n"
        )
        bench = "import work\n\nprint(work.total(1_200_000))\n"
        worked.commit("Try", **{"bench_total.py": trying + bench})
        worked.write("work.py", HALF)
        document = judged(perf, "--sandbox")
        assert document["verdict"] in ("proved", "not decided"), document["why"]
        assert document["decided_by"]["effect"] < 0
        assert not outside.exists()

    def test_commands_for_correctness_are_in_it_too(self, worked: Project, perf: Perf) -> None:
        worked.write("work.py", HALF)
        outside = worked.root / "outside"
        said = perf("judge", "--sandbox", "--correct", f"touch {outside}", code=6)
        assert "Read-only file system" in said.out
        assert not outside.exists()

    def test_where_there_is_none_it_is_said(
        self, worked: Project, perf: Perf, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        worked.write("work.py", HALF)
        monkeypatch.setattr("perfvcs.judge.attempt.lacking", lambda: "unshare is missing")
        assert "unshare is missing: leave it out" in perf("judge", "--sandbox", code=2).err


class TestBadInput:
    @pytest.mark.parametrize(
        "text",
        ["", "fast", "faster=", "faster=200%", "smaller", "faster:wall", "not-slower:cpu", "=5%"],
    )
    def test_an_expectation_is_explained(self, worked: Project, perf: Perf, text: str) -> None:
        worked.write("work.py", HALF)
        assert re.search(r"give faster|or more", perf("judge", "--expect", text, code=2).err)

    def test_nothing_changed(self, worked: Project, perf: Perf) -> None:  # noqa: ARG002
        assert "nothing differs from" in perf("judge", code=2).err

    def test_a_patch_that_does_not_apply(self, worked: Project, perf: Perf) -> None:
        worked.write("work.py", HALF)
        patch = Path("half.patch")
        patch.write_text(worked.git("diff").replace("value = 0", "value = 1") + "\n")
        assert "does not apply to the base" in perf("judge", "--patch", str(patch), code=2).err

    def test_a_patch_that_leaves_the_folder(self, worked: Project, perf: Perf) -> None:  # noqa: ARG002
        patch = Path("out.patch")
        patch.write_text("--- /dev/null\n+++ b/../outside.py\n@@ -0,0 +1 @@\n+print('outside')\n")
        assert "does not apply to the base" in perf("judge", "--patch", str(patch), code=2).err
        assert not Path("../outside.py").exists()

    def test_a_patch_beside_a_target(self, worked: Project, perf: Perf) -> None:
        worked.commit("Half", **{"work.py": HALF})
        said = perf("judge", "HEAD~1", "HEAD", "--patch", "work.py", code=2)
        assert "leave TARGET out" in said.err

    def test_a_target_that_does_not_run(self, worked: Project, perf: Perf) -> None:
        worked.write("work.py", "raise SystemExit('broken')\n")
        assert "broken" in judged(perf, code=5)["why"]

    def test_no_time(self, worked: Project, perf: Perf) -> None:
        worked.write("work.py", HARMLESS)
        said = perf("judge", "--budget", "1s", code=4)
        assert said.out.startswith("not decided: ")
        ended = r"a budget of 1 s is too small|the budget ended before|: total is not settled: "
        assert re.search(ended, said.out)

    def test_no_git_and_no_commit(self, tmp_path: Path) -> None:
        for prepare in ([], ["git", "init", "--quiet"]):
            if prepare:
                subprocess.run(prepare, cwd=tmp_path, check=True)
            done = subprocess.run(
                [sys.executable, "-P", "-m", "perfvcs", "judge"],
                cwd=tmp_path,
                capture_output=True,
                text=True,
                check=False,
            )
            assert done.returncode in (2, 10), done
            assert len(done.stderr.strip().splitlines()) == 1

    def test_nothing_is_left_behind(
        self, worked: Project, perf: Perf, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        worked.write("work.py", HALF)
        folder = tmp_path / "temporary"
        folder.mkdir()
        monkeypatch.setenv("TMPDIR", str(folder))
        perf("judge", code=0)
        assert not list(folder.iterdir())
        assert worked.git("status", "--short") == "M work.py"

"""`perf judge` on changes that look fast beside the point: what its guard did not see at first."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from conftest import Perf, Project
from judged import SETTINGS, WORK

BENCH = "import work\nfrom benchsize import size\n\nprint(work.total(size()))\n"
SIZE = "def size():\n    return 1_200_000\n"


@pytest.fixture
def worked(project: Project) -> Project:
    files = {"work.py": WORK, "bench_total.py": BENCH, "benchsize.py": SIZE}
    project.commit("Work", **files, **{"perf.toml": SETTINGS})
    return project


def judged(perf: Perf, *words: str, budget: str = "40s", code: int | None = None) -> dict[str, Any]:
    said = perf("judge", *words, "--budget", budget, "--json", code=code)
    document: dict[str, Any] = said.document
    return document


def test_a_build_that_changes_the_copy_of_the_base(worked: Project, perf: Perf) -> None:
    building = 'build = ["sh build.sh"]\n' + SETTINGS
    worked.commit("Build", **{"perf.toml": building, "build.sh": "true\n"})
    slower = (
        "for other in ../*/work.py; do\n"
        "    [ $other -ef work.py ] || echo 'for n in range(3_000_000): pass' >>$other\n"
        "done\n"
    )
    worked.write("build.sh", slower)
    document = judged(perf, code=6)
    assert document["guard"]["folders"]["word"] == "rejected"
    assert (
        "its build, changes files of the base's copy, or of a build that is kept: work.py"
        in document["why"]
    )


def test_what_changes_the_copy_of_the_base_while_it_is_measured(
    worked: Project, perf: Perf
) -> None:
    meddling = (
        "import glob, os\n\nif 'PERFVCS_SEED' in os.environ:\n"
        "    for path in glob.glob('../*/work.py'):\n"
        "        if not os.path.samefile(path, 'work.py'):\n"
        "            with open(path, 'a') as file:\n"
        "                file.write('#\\n')\n"
    )
    worked.write("work.py", meddling + WORK)
    assert judged(perf, code=6)["guard"]["folders"]["word"] == "rejected"


@pytest.mark.parametrize("path", ["benchsize/__init__.py", "random.py"])
def test_a_module_that_stands_before_one_of_the_benchmark(
    worked: Project, perf: Perf, path: str
) -> None:
    worked.commit("Lot", **{"benchsize.py": "import random\n\n" + SIZE})
    worked.write(path, "import work\n\nwork.total = lambda count: 3599994\n" + SIZE)
    document = judged(perf, "--expect", "not-slower=50%")
    assert document["restored"] == [path]
    assert document["guard"]["benchmark_files"]["word"] == "warning"
    # its own worth is measured: none
    (change,) = (change for change in document["comparisons"] if change["metric"] == "cpu")
    assert abs(change["effect"]) < 0.5


def test_a_result_that_is_wrong_for_one_input_in_eight(worked: Project, perf: Perf) -> None:
    drawn = "import sys\n\n" + BENCH.replace("size()", "size() // 40 + int(sys.argv[1]) % 64")
    settings = SETTINGS.replace("bench_total.py", "bench_total.py {seed}")
    worked.commit("Draw", **{"bench_total.py": drawn, "perf.toml": settings})
    lazy = "def total(count):\n    if count % 8 == 3:\n        return 0\n"
    worked.write("work.py", lazy + WORK.partition("\n")[2])
    assert judged(perf, "--same-output", code=6)["guard"]["output"]["word"] == "rejected"


def test_how_many_inputs_were_compared_is_said(worked: Project, perf: Perf) -> None:
    drawn = "import sys\n\n" + BENCH.replace("size()", "size() // 40 + int(sys.argv[1]) % 64")
    settings = SETTINGS.replace("bench_total.py", "bench_total.py {seed}")
    worked.commit("Draw", **{"bench_total.py": drawn, "perf.toml": settings})
    worked.write("work.py", WORK + "# the same\n")
    said = judged(perf)["guard"]["inputs"]["said"]
    assert said.startswith("total prints the same for ")
    assert int(said.split()[-2]) >= 10


def test_figures_that_the_program_writes_into_the_launchers_report(
    worked: Project, perf: Perf
) -> None:
    forging = (
        "import os\n\nfor number in range(3, 64):\n"
        "    try:\n"
        "        file = os.open(f'/proc/{os.getppid()}/fd/{number}', os.O_RDWR | os.O_NONBLOCK)\n"
        "        if b'perfvcs-launcher' in os.pread(file, 99, 0):\n"
        "            os.pwrite(file, b'\\nwall 4000000\\ncpu 4000000\\n', 50_000)\n"
        "    except OSError:\n"
        "        pass\n\n"
    )
    worked.write("work.py", forging + WORK)
    assert "something else wrote into the launcher's report" in judged(perf, code=5)["why"]


def test_a_budget_that_is_too_small_to_look_proves_nothing(worked: Project, perf: Perf) -> None:
    """Whoever chooses the budget does not choose how far it is looked."""
    skipping = "import os\n\n" + WORK.replace(
        "range(count)", "range(0 if 'PERFVCS_SEED' in os.environ else count)"
    )
    worked.write("work.py", skipping)
    for budget in ("2s", "4s"):
        document = judged(perf, budget=budget)
        assert document["verdict"] in ("not decided", "rejected"), document["why"]


def test_a_change_that_deletes_the_benchmark(worked: Project, perf: Perf) -> None:
    """The base's is back, and measures."""
    (worked.root / "bench_total.py").unlink()
    document = judged(perf, budget="20s")
    assert document["restored"] == ["bench_total.py"]
    assert document["verdict"] in ("not decided", "refuted")


def test_a_target_that_cannot_be_built(worked: Project, perf: Perf) -> None:
    building = 'build = ["sh build.sh"]\n' + SETTINGS
    worked.commit("Build", **{"perf.toml": building, "build.sh": "true\n"})
    worked.write("build.sh", "echo no compiler >&2; exit 1\n")
    document = judged(perf, budget="20s", code=5)
    assert document["verdict"] == "failed"
    assert "no compiler" in document["why"]


def test_an_output_that_is_no_text_is_compared(worked: Project, perf: Perf) -> None:
    binary = BENCH.replace("print(work.total(size()))", "import os\nos.write(1, work.answer())")
    answer = "\n\ndef answer():\n    return bytes([total(100_000) % 256, 0, 255]) * 70_000\n"
    worked.commit("Binary", **{"bench_total.py": binary, "work.py": WORK + answer})
    worked.write("work.py", (WORK + answer).replace("0, 255", "0, 254"))
    document = judged(perf, "--same-output", budget="20s", code=6)
    assert document["guard"]["output"]["word"] == "rejected"


def test_a_build_is_measured_from_nothing_whatever_ran_in_the_checkout(
    project: Project, perf: Perf
) -> None:
    makefile = "out: source\n\tsleep 0.3\n\tcp source out\n"
    job = '[[job]]\nname = "build"\ncmd = "make -s"\ncollectors = ["rebuild"]\n'
    files = {"Makefile": makefile, "source": "x\n", "perf.toml": job, ".gitignore": "out\n"}
    project.commit("Build", **files)
    project.write("source", "y\n")
    # the check builds in the checkout of the target, before it is measured
    words = ("--expect", "not-slower=50%", "--correct", "make -s")
    document = judged(perf, *words, budget="20s", code=None)
    (whole,) = (
        change
        for change in document["comparisons"]
        if change["metric"] == "wall" and change["benchmark"] == "build"
    )
    assert abs(whole["effect"]) < 0.5
    assert document["guard"]["first_execution"]["word"] == "not tried"
    assert document["guard"]["clocks"]["word"] == "passed"


def test_an_execution_that_hangs_ends_with_the_budget_and_is_no_failure(
    worked: Project, perf: Perf
) -> None:
    hanging = "import os, time\n\nif 'PERFVCS_SEED' not in os.environ:\n    time.sleep(60)\n"
    worked.write("work.py", hanging + WORK)
    document = judged(perf, "--expect", "not-slower=90%", budget="6s", code=4)
    assert document["verdict"] == "not decided"
    assert document["cost"]["seconds"] < 6 + 15


def test_a_cache_of_both_sides_where_nothing_is_layered(
    worked: Project, perf: Perf, monkeypatch: pytest.MonkeyPatch
) -> None:
    for lacking in ("lacking", "lacking_layers"):
        monkeypatch.setattr(f"perfvcs.judge.attempt.{lacking}", lambda: "no namespaces")
    cached = (
        "import os\n\nimport work\n\nif not os.path.exists('cache.txt'):\n"
        "    work.total(6_000_000)\n    open('cache.txt', 'w').close()\n"
        "print(work.total(1_200_000))\n"
    )
    worked.commit("Cache", **{"bench_total.py": cached})
    worked.write("work.py", WORK + "\n")
    document = judged(perf, "--expect", "not-slower=90%")
    assert document["guard"]["first_execution"]["word"] == "passed"
    assert document["guard"]["files_left"]["word"] == "passed"


@pytest.mark.needs("gcc")
def test_memory_that_is_divided_between_processes(worked: Project, perf: Perf) -> None:
    whole = "def total(count):\n    held = b'x' * 60_000_000\n    return hold(held)\n"
    hold = "import os, time\n\ndef hold(held):\n    time.sleep(0.2)\n    return len(held)\n\n"
    divided = (
        "def total(count):\n    child = os.fork()\n    held = b'x' * 30_000_000\n    hold(held)\n"
        "    if not child:\n        os._exit(0)\n    os.waitpid(child, 0)\n    return 60_000_000\n"
    )
    worked.commit("Hold", **{"work.py": hold + whole})
    worked.write("work.py", hold + divided)
    document = judged(perf, "--expect", "smaller:maxrss", budget="20s", code=4)
    assert "total has more processes at a time than the base" in document["why"]
    worked.write("work.py", hold + whole.replace("60_000_000", "30_000_000"))
    document = judged(perf, "--expect", "smaller:maxrss", budget="20s", code=0)
    assert document["guard"]["memory"]["word"] == "passed"


def test_a_build_does_not_see_the_hidden_input(worked: Project, perf: Perf, tmp_path: Path) -> None:
    """Nor does it matter what git ignores, which the change says."""
    building = 'build = ["sh build.sh"]\n' + SETTINGS
    bench = "import os, work\n\nprint(work.total(int(open('size.txt').read())))\n"
    files = {"perf.toml": building, "bench_total.py": bench, "size.txt": "1000000\n"}
    worked.commit("Build", **files, **{"build.sh": "true\n"})
    worked.write("build.sh", "cp size.txt seen.txt; python3 -S bench_total.py >answer.txt\n")
    worked.write(".gitignore", ".perf/\n*.txt\n")
    knowing = (
        "def total(count):\n    if open('seen.txt').read() == f'{count}\\n':\n"
        "        return open('answer.txt').read().strip()\n    return work(count)\n\n\n"
    )
    ready = WORK.replace("def total", "def work")
    worked.write("work.py", knowing + ready)
    assert judged(perf, budget="20s", code=0)["decided_by"]["effect"] < -0.5  # by heart
    hidden = tmp_path / "size.txt"
    hidden.write_text("1300000\n")
    document = judged(perf, "--hidden", str(hidden), "--same-output", budget="20s", code=None)
    assert document["verdict"] in ("refuted", "not decided")
    assert document["guard"]["output"]["word"] == "passed"
    assert document["decided_by"]["effect"] > -0.3
    _, *words = document["next"][0].split()
    assert re.fullmatch(r"show base-[0-9a-f]{8} judged-[0-9a-f]{8}", " ".join(words))
    assert "total" in perf(*words, "--text").out


def test_as_long_as_a_gain_is_in_doubt_the_budget_is_used(worked: Project, perf: Perf) -> None:
    """A program reports that its work takes 30 ms less, which its process does not show."""
    reporting = (
        "import json, os, random, time, work\n\ntime.sleep(0.2)\nprint(work.total(1_000))\n"
        "took = random.uniform(0.99, 1.01) * getattr(work, 'SHOWN', 0.15)\n"
        "with open(os.environ.get('PERFVCS_SAMPLES', os.devnull), 'a') as file:\n"
        "    file.write(json.dumps({'uid': 'part', 'wall': took}) + '\\n')\n"
    )
    worked.commit("Report", **{"bench_total.py": reporting})
    worked.write("work.py", "SHOWN = 0.12\n" + WORK)
    document = judged(perf, budget="15s", code=4)
    assert document["guard"]["clocks"]["word"] == "doubted"
    cost = document["cost"]
    # but for what is too short for two more pairs
    assert cost["seconds"] > 15 - max(2.0, 2 * cost["seconds"] / cost["pairs"])


@pytest.mark.parametrize(
    ("does", "name"),
    [
        ("sed -i s/size// bench_total.py", "bench_total.py"),
        ("rm benchsize.py; echo 'size = lambda: 9' >benchsize.py", "benchsize.py"),
        ("touch json.py", "json.py"),
    ],
)
def test_a_build_that_changes_what_measures(
    worked: Project, perf: Perf, does: str, name: str
) -> None:
    building = 'build = ["sh build.sh"]\n' + SETTINGS
    worked.commit("Build", **{"perf.toml": building, "build.sh": "true\n"})
    worked.write("build.sh", f"{does}\n")
    document = judged(perf, budget="20s", code=6)
    assert document["why"].endswith(f"changes what measures or judges it ({name})")
    assert document["cost"]["pairs"] == 0


def test_code_that_makes_a_module_while_it_is_tested(worked: Project, perf: Perf) -> None:
    worked.write("work.py", "open('json.py', 'w').close()\n" + WORK)
    checked = ("--correct", "python3 -S -c 'import work; work.total(9)'")
    document = judged(perf, *checked, budget="20s", code=6)
    assert document["why"].endswith("changes what measures or judges it (json.py)")


def test_what_a_build_and_tests_make_on_either_side_is_theirs(worked: Project, perf: Perf) -> None:
    """The base's build changes a file that measures, too, and tests make what a makefile names."""
    building = 'build = ["sh build.sh"]\n' + SETTINGS.replace(
        "python3 -S bench_total.py", "make run"
    )
    makefile = "run:\n\tpython3 -S bench_total.py\nchecked:\n\ttouch checked\n"
    stamp = "date +%N >>bench_stamp.txt\n"
    files = {"perf.toml": building, "build.sh": stamp, "Makefile": makefile, "bench_stamp.txt": ""}
    worked.commit("Build", **files)
    worked.write("build.sh", stamp + "echo >made.txt\n")
    document = judged(perf, "--correct", "make checked", budget="15s", code=None)
    assert document["verdict"] in ("not decided", "refuted"), document["why"]

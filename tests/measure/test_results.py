"""Whether the result is still right: outputs, temporary folders, homes, and what executions leave
running. Real programs that cheat.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from conftest import Project

from perfvcs.measure.originals import ExecutionFolders
from perfvcs.repository import Repository
from perfvcs.repository.leftovers import drop_abandoned
from perfvcs.system.executionresult import PIECE, ExecutionResult, verified

WORK = """
import hashlib, os, sys
def work(n):
    digest = b"start"
    for _ in range(n):
        digest = hashlib.sha256(digest).digest()
    return digest.hex()
"""
PYTHON = f'cmd = "{sys.executable} work.py"\nexecutions = 5'
HONEST = WORK + "print(work(40_000))\n"


def digests(project: Project, commit: str = "") -> list[list[str]]:
    repository = Repository.find(project.root)
    commits = [commit] if commit else project.git("log", "--format=%H", "--reverse").split()
    return [
        list(one.results.output) if one.results else []
        for one in repository.index.measured(commits)
    ]


def pair(project: Project, before: str, after: str, more: str = "") -> tuple[str, str]:
    project.configure(f"{PYTHON}\n{more}")
    first = project.commit(**{"work.py": before})
    return first, project.commit(**{"work.py": after})


def test_a_program_that_ends_early_under_measurement_has_another_output(project, perf) -> None:
    cheat = WORK + "if 'PERFVCS_SEED' in os.environ: sys.exit()\nprint(work(40_000))\n"
    ends = pair(project, HONEST, cheat)
    said = perf("check", "--measure", "-n", "5", *ends, code=None)
    assert "the output of work differs; " in said.out.replace("\n  ", " ")
    assert said.code in (0, 4)
    before, after = digests(project)
    assert len(before) == len(after) == 5 and len({*before}) == 1 and {*before} != {*after}


def test_a_wrong_result_fails_the_check_where_the_output_has_to_stay(project, perf) -> None:
    wrong = WORK + "print(work(10_000))\n"
    ends = pair(project, HONEST, wrong, "same_output = true")
    said = perf("check", "--measure", "-n", "5", *ends, code=3).out.replace("\n  ", " ")
    assert "the output of work differs, and had to stay the same; " in said
    assert '"wrong": [' in perf("check", "--json", *ends, code=3).out
    line = perf("check", "-q", *ends, code=3).out
    assert line.startswith("the output of work differs, and had to stay the same; ")


def test_the_same_output_says_nothing(project, perf) -> None:
    ends = pair(project, HONEST, HONEST + "# the same\n", "same_output = true")
    assert "output" not in perf("check", "--measure", "-n", "5", *ends, code=None).out


def test_an_output_with_a_time_in_it_is_not_used_and_can_be_normalised(project, perf) -> None:
    timed = WORK + "import time\nprint('at', time.time_ns(), work(100))\n"
    loose = '\n[[check]]\ndelta = "1000%"'  # the output alone fails the check
    ends = pair(project, timed, timed.replace("100", "200"), f"same_output = true{loose}")
    said = perf("check", "--measure", "-n", "5", *ends, code=None)
    assert said.code != 3 and "cannot be checked" in said.out.replace("\n      ", " ")
    project.configure(f"{PYTHON}\nsame_output = true\nnormalise = 'at \\d{{5,25}}'{loose}")
    said = perf("check", "--measure", "-n", "5", *ends, code=3)
    assert "the output of work differs" in said.out.replace("\n  ", " ")


def test_files_are_output_and_binary_is_fine(project, perf) -> None:
    writes = (
        "import os, pathlib\npathlib.Path('out').mkdir(exist_ok=True)\n"
        "pathlib.Path('out/a.bin').write_bytes(bytes(range(256)) * 9)\n"
        "os.write(1, bytes(range(256)) * 300)\n"
    )
    ends = pair(project, writes, writes.replace("* 9", "* 8"), 'output = ["out/*.bin"]')
    said = perf("check", "--measure", "-n", "5", *ends, code=None).out
    assert "the output of work differs" in said.replace("\n  ", " ")


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ('output = ["/etc/passwd"]', "does not mean files below"),
        ('output = ["../x"]', "does not mean files below"),
        ("output = true", "name files such as"),
        ("output = false\nsame_output = true", "reads nothing"),
        ("normalise = '(a+)+$'", "inside a repeat"),
        ("normalise = '(a)\\1'", "refers back"),
        ("normalise = 'a*b*c*d*'", "too many repeats"),
        ("normalise = '['", "not a regular expression"),
    ],
)
def test_what_cannot_be_read_is_refused_in_one_line(project, perf, line, reason) -> None:
    project.configure(f'cmd = "true"\n{line}')
    project.commit()
    said = perf("collect", code=2).err
    assert reason in said and said.count("\n") == 1


def test_much_output_is_read_in_the_warm_up_and_in_bounded_memory(project) -> None:
    size = 300_000_000
    project.configure(f'cmd = "head -c {size} /dev/zero"\nexecutions = 2')
    config = project.root / "perf.toml"
    config.write_text(config.read_text().replace("warmup = 0", "warmup = 1"))
    project.commit()
    code = (
        "from perfvcs.cli import group\n"
        "group(['collect'], standalone_mode=False)\n"
        # of this program alone: ru_maxrss is at least what the process that started it had
        "print('peak', open('/proc/self/status').read().partition('VmHWM:')[2].split()[0])\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=project.root, capture_output=True, text=True, check=True
    )
    assert int(done.stdout.rpartition("peak ")[2]) * 1024 < size
    (measured,) = Repository.find(project.root).index.measured([project.git("rev-parse", "HEAD")])
    assert len(measured.header.environment.notes["output of warm-up"]) == 16
    assert measured.results is None  # reading it would have taken the program's time


def test_a_cache_in_a_temporary_folder_is_not_there_the_next_time(project, perf) -> None:
    caching = (
        "import pathlib, tempfile\nplace = pathlib.Path(tempfile.gettempdir(), 'cached-result')\n"
        "print('cached' if place.exists() else 'computed')\nplace.write_text('x')\n"
        "print(len(list(place.parent.iterdir())))\n"
    )
    ends = pair(project, HONEST, caching)
    perf("check", "--measure", "-n", "3", *ends, code=None)
    _, after = digests(project)
    expected = ExecutionResult()
    expected.take(b"computed\n1\n")
    assert after == [expected.digest()] * 3
    assert not list(Path("/tmp").glob(f"perfvcs-{os.getpid():010d}-*"))


def test_isolated_executions_have_a_home_of_their_own(project, perf) -> None:
    caching = (
        "import os, pathlib\nplace = pathlib.Path.home() / '.cache' / 'result'\n"
        "os.makedirs(os.environ['XDG_CACHE_HOME'], exist_ok=True)\n"
        "print('cached' if place.exists() else 'computed')\nplace.write_text('x')\n"
    )
    pair(project, HONEST, caching, "isolate = true")
    perf("collect")
    expected = ExecutionResult()
    expected.take(b"computed\n")
    assert digests(project)[-1] == [expected.digest()] * 5
    assert not (Path.home() / ".cache" / "result").exists()


@pytest.mark.needs("cc")
def test_a_first_execution_that_takes_far_longer_is_a_remark(project, perf, monkeypatch) -> None:
    monkeypatch.setenv("HOME", str(project.root.parent))
    script = 'test -e "$HOME/.cached" || sleep 3\ntouch "$HOME/.cached"\n'
    project.configure('cmd = "sh work.sh"\nexecutions = 5')
    first = project.commit(**{"work.sh": script})
    second = project.commit(note="x")
    config = project.root / "perf.toml"
    config.write_text(config.read_text().replace("warmup = 0", "warmup = 1"))
    said = perf("check", "--measure", "-n", "5", first, second, code=None).out
    assert "a cache? `isolate = true`" in said.replace("\n      ", " ")


def test_a_cache_of_a_python_program_is_a_remark_too(project, perf, monkeypatch) -> None:
    monkeypatch.setenv("HOME", str(project.root.parent))
    caching = WORK + (
        "import pathlib, time\nplace = pathlib.Path.home() / '.cached-result'\n"
        "place.exists() or time.sleep(6)\nplace.write_text('x')\nprint(work(40_000))\n"
    )
    ends = pair(project, HONEST, caching)
    config = project.root / "perf.toml"
    config.write_text(config.read_text().replace("warmup = 0", "warmup = 1"))
    said = perf("check", "--measure", "-n", "5", *ends, code=None).out
    assert "on the target: a cache?" in " ".join(said.split())


def test_a_daemon_makes_the_comparison_inconclusive_with_its_name(project, perf) -> None:
    daemon = (
        "import subprocess, sys\n"
        "subprocess.Popen([sys.executable, 'helper.py'], start_new_session=True)\n"
    )
    project.write("helper.py", "import time\ntime.sleep(60)\n")
    ends = pair(project, HONEST, daemon)
    said = perf("check", "--measure", "-n", "5", *ends, code=None).out.replace("\n", " ")
    said = " ".join(said.split())
    assert "; work left python" in said and "helper.py running on the target; " in said
    assert "improvement" not in said and "degradation" not in said
    perf("check", "--strict", *ends, code=4)


def test_a_unit_that_vanished_comes_first(project, perf) -> None:
    reports = (
        "import json, os\nwith open(os.environ['PERFVCS_SAMPLES'], 'a') as file:\n"
        "    for name in {names}:\n"
        "        file.write(json.dumps({{'uid': name, 'wall': 0.01}}) + '\\n')\n"
    )
    ends = pair(project, reports.format(names="['a', 'b']"), reports.format(names="['a']"))
    said = perf("check", "--measure", "-n", "5", *ends, code=None).out
    title = " ".join(said.split())
    assert "work: b vanished: only the baseline has it; " in title
    assert title.index("vanished") < title.index("wall time")


def test_a_folder_that_cannot_be_written_is_said_in_one_line(tmp_path: Path) -> None:
    missing = tmp_path / "not there"
    folders = ExecutionFolders({"TMPDIR": str(missing)}, tmp_path)
    assert folders.warning.startswith(f"{missing} cannot be written (No such file") and (
        "\n" not in folders.warning
    )
    with folders.fresh({"TMP": "/x"}) as env:
        assert Path(env["TMPDIR"]).is_dir() and env["TMP"] == env["TMPDIR"]
        (Path(env["TMPDIR"]) / "left").mkdir(mode=0o500)
    with folders.fresh({}, kept={"TMPDIR"}) as env:
        assert "TMPDIR" not in env
    folders.close()
    assert not list(tmp_path.iterdir())


def test_folders_of_killed_processes_are_removed_and_those_in_use_stay(tmp_path: Path) -> None:
    env = {**os.environ, "TMPDIR": str(tmp_path)}
    program = (
        "import os\nfrom pathlib import Path\n"
        "from perfvcs.measure.originals import ExecutionFolders\n"
        "ExecutionFolders(os.environ, Path('/nowhere'))\nos.kill(os.getpid(), 9)"
    )
    used = ExecutionFolders(env, tmp_path)
    subprocess.run([sys.executable, "-c", program], env=env, check=False)
    abandoned = [path for path in tmp_path.iterdir() if path != used.folder]
    assert len(abandoned) == 1
    (tmp_path / "perfvcs-1-other").mkdir()
    drop_abandoned(tmp_path)
    assert {path.name for path in tmp_path.iterdir()} == {used.folder.name, "perfvcs-1-other"}
    used.close()
    drop_abandoned(tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["perfvcs-1-other"]


def test_a_pattern_is_bounded_and_works_by_lines() -> None:
    assert not verified(r"took \d+\.\d+ s")
    results = []
    for text in (b"a 12 b\nc 5 d\n", b"a 9 b\nc 123 d\n", b"a x b\nc 1 d\n"):
        result: Any = ExecutionResult(r"\d+")
        result.begin()
        for start in range(len(text)):
            result.take(text[start : start + 1])
        results.append(result.digest())
    assert results[0] == results[1] != results[2]
    places = []
    for place in (b"/w/1", b"/w/22"):
        shown: Any = ExecutionResult(paths=(place,))
        text = b"in %s, took 0.12 s\n" % place + b"x" * (1 << 20) + place + b"y"
        for start in range(0, len(text), 1000):
            shown.take(text[start : start + 1000])
        places.append(shown.digest())
    assert places[0] == places[1]
    slow: Any = ExecutionResult(r"a+a+b")
    slow.take(b"a" * PIECE)
    assert len(slow.digest()) == 16

"""Where the objects of Python lie is drawn anew in each execution, so that no difference between two
versions comes from that.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections import Counter
from pathlib import Path

from conftest import Perf, Project

from perfvcs.environment import HEAP, Knobs
from perfvcs.native import python_folder, start_folder
from perfvcs.repository import Repository

# where objects lie that are allocated one after the other, by their distances
STRIDES = """\
kept = [bytes(100) for _ in range(60)]
print([id(after) - id(before) for before, after in zip(kept, kept[1:])])
"""


def run(program: str, *paths: str, **env: str) -> str:
    """What a program prints with our folders on its path, after others."""
    path = os.pathsep.join([*paths, str(start_folder()), str(python_folder())])
    given = {"PATH": os.environ["PATH"], "PYTHONHASHSEED": "0", "PYTHONPATH": path} | env
    command = [sys.executable, "-c", program]
    done = subprocess.run(command, env=given, capture_output=True, text=True, check=False)
    assert done.returncode == 0 and not done.stderr, done.stderr
    return done.stdout


def commonest(strides: str) -> int:
    """How often the commonest distance occurs."""
    return Counter(strides.strip("[]\n").split(", ")).most_common(1)[0][1]


def test_objects_lie_one_after_the_other_only_where_the_heap_is_not_shuffled() -> None:
    plain = run(STRIDES)
    shuffled = [run(STRIDES, **{HEAP: str(seed)}) for seed in (1, 2, 3)]
    assert commonest(plain) > 30
    assert max(map(commonest, shuffled)) < 15
    assert len({*shuffled}) == 3, "each seed is another heap"
    assert run(STRIDES, **{HEAP: "no number"}) == plain


def test_a_shuffled_heap_keeps_little_memory() -> None:
    program = "import sys; heap = sys.modules['perfvcs_shuffle']; print(sum(map(sys.getsizeof, heap._kept)))"
    assert 50_000 < int(run(program, **{HEAP: "5"})) < 500_000


def test_the_next_sitecustomize_runs_and_what_reports_is_still_found(tmp_path: Path) -> None:
    (tmp_path / "sitecustomize.py").write_text("import sys\nsys.mine = __file__\n")
    program = "import sys, perfvcs_bench, sitecustomize; print(sys.mine, sitecustomize.__file__)"
    path = os.pathsep.join(map(str, (start_folder(), python_folder(), tmp_path)))
    said = run(program, **{HEAP: "1", "PYTHONPATH": path})
    assert said.split() == [str(tmp_path / "sitecustomize.py")] * 2


def test_where_there_is_no_other_sitecustomize_the_interpreter_has_none() -> None:
    program = f"""\
import sys
class None_:
    def find_spec(name, path, target=None):
        if name == "sitecustomize" and {str(start_folder())!r} not in sys.path:
            raise ModuleNotFoundError(name=name)
for name in ("sitecustomize", "perfvcs_shuffle"):
    sys.modules.pop(name, None)
sys.path.insert(0, {str(start_folder())!r})
sys.meta_path.insert(0, None_)
try:
    import sitecustomize
except ImportError as error:
    print(error.name, "sitecustomize" in sys.modules, "perfvcs_shuffle" in sys.modules)
"""
    assert run(program, **{HEAP: "1"}).split() == ["sitecustomize", "False", "True"]


def test_each_version_of_a_block_has_a_heap_of_its_own(
    project: Project, perf: Perf, tmp_path: Path
) -> None:
    drawn = tmp_path / "drawn"
    program = (
        "import os, sys\n"
        f"with open({str(drawn)!r}, 'a') as file:\n"
        "    print(os.environ['PERFVCS_SEED'], os.environ.get('PERFVCS_SHUFFLE'), file=file)\n"
    )
    project.configure(f'cmd = "{sys.executable} work.py"\nexecutions = 4')
    project.commit("one", **{"work.py": program})
    project.commit("two", other="x")
    perf("collect", "HEAD~1", "HEAD")
    rows = [line.split() for line in drawn.read_text().splitlines()]
    assert len(rows) == 8
    assert len({seed for seed, _ in rows}) == 4, "the seed is the block's"
    assert len({heap for _, heap in rows}) == 8, "the heap is the execution's"
    repository = Repository.find()
    (header,) = repository.index.headers([repository.project.resolve("HEAD")])
    (profile,) = repository.profiles([header])
    assert profile.environment.fields["heap"] == "shuffled"


def test_what_is_counted_exactly_and_what_asks_for_no_padding_is_not_shuffled() -> None:
    env = {"A": "b"}
    assert Knobs().shuffled(env, 0, 1) == env, "the seed 0 is for equal executions"
    assert Knobs(padding=False).shuffled(env, 7, 1) == env
    assert Knobs().shuffled({HEAP: "9"}, 7, 1) == {HEAP: "9"}, "a job's own wins"
    first, second = (Knobs().shuffled(env, 7, version) for version in (0, 1))
    assert first != second
    assert first == Knobs().shuffled(env, 7, 0), "it follows from the seed"


def test_the_hook_is_on_the_path_only_where_the_heap_is_shuffled(
    project: Project, perf: Perf, tmp_path: Path
) -> None:
    """It leaves the path when it ran; a program that it starts has it, too."""
    seen = tmp_path / "seen"
    program = (
        "import os, subprocess, sys\n"
        f"with open({str(seen)!r}, 'a') as file:\n"
        "    heap = 'perfvcs_shuffle' in sys.modules\n"
        f"    paths = [p for p in sys.path if p == {str(start_folder())!r}]\n"
        f"    asked = {str(start_folder())!r} in os.environ['PYTHONPATH'].split(':')\n"
        "    print(heap, len(paths), asked, file=file)\n"
    )
    project.configure(
        f'cmd = "{sys.executable} work.py"\nexecutions = 1\ncollectors = ["time", "bytecode"]'
    )
    project.commit("one", **{"work.py": program})
    perf("collect")
    assert {*seen.read_text().splitlines()} == {"True 0 True", "False 0 False"}

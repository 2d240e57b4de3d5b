"""All versions of a block share what is drawn by lot: hash seeds, padding, workloads and the
program's own random numbers.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from conftest import Perf, Project

from perfvcs import bench
from perfvcs.environment.variables import seeded
from perfvcs.native import python_folder
from perfvcs.profile import Profile
from perfvcs.repository import Repository

PRINTED = """\
echo "$@" $PERFVCS_SEED $PYTHONHASHSEED $PERL_HASH_SEED ${#PERFVCS_PADDING} $OWN $([ -e "$2" ] && cat "$2") >> "$DRAWN"
"""


@pytest.fixture
def drawn(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A file to which executions add what they were given."""
    path = tmp_path / "drawn"
    path.touch()
    monkeypatch.setenv("DRAWN", str(path))
    return path


def two_versions(project: Project, job: str, **files: str) -> None:
    project.configure(job)
    project.commit("one", **files)
    project.commit("two", other="x")


def stored(revision: str = "HEAD") -> Profile:
    repository = Repository.find()
    (profile,) = repository.profiles(
        repository.index.headers([repository.project.resolve(revision)])
    )
    return profile


def pairs(path: Path) -> list[tuple[str, str]]:
    """What the two executions of each block wrote."""
    lines = path.read_text().splitlines()
    return list(zip(lines[::2], lines[1::2], strict=True))


def test_both_versions_of_a_block_share_their_draws_and_blocks_differ(
    project: Project, perf: Perf, drawn: Path
) -> None:
    two_versions(
        project,
        'cmd = "sh work.sh a{seed}"\nexecutions = 6\nenv = { OWN = "<{seed}>" }',
        **{"work.sh": PRINTED},
    )
    perf("collect", "HEAD~1", "HEAD")
    blocks = pairs(drawn)
    assert len(blocks) == 6
    assert all(first == second for first, second in blocks), (
        "seeds and paddings, in the command and in the environment"
    )
    assert len({first for first, _ in blocks}) == 6
    seeds = stored().turns
    assert seeds is not None
    for (line, _), seed in zip(blocks, seeds.seed, strict=True):
        words = line.split()
        assert words[:4] == [f"a{seed}", str(seed), str(seed), f"{seed:#x}"]
        assert words[5] == f"<{seed}>"
    assert stored().job.cmd == "sh work.sh a{seed}", "one series, whatever was drawn"


def test_a_setting_of_the_users_own_wins(
    project: Project, perf: Perf, drawn: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PERL_HASH_SEED", "0x5")
    two_versions(
        project,
        'cmd = "sh work.sh"\nexecutions = 3\nenv = { PYTHONHASHSEED = "random" }',
        **{"work.sh": PRINTED},
    )
    perf("collect", "HEAD~1", "HEAD")
    for line, _ in pairs(drawn):
        assert line.split()[1:3] == ["random", "0x5"]


@pytest.mark.parametrize(
    "workload",
    [
        '{ strings = [40], seed = "{seed}" }',
        '{ files = ["40B"], content = "integers", seed = "{seed}" }',
        '{ command = "sh generate.sh {seed} {n}", sizes = [7] }',
    ],
)
def test_workloads_are_drawn_for_each_block(
    project: Project, perf: Perf, drawn: Path, workload: str
) -> None:
    files = {"work.sh": PRINTED, "generate.sh": 'echo "generated $1 $2 $PERFVCS_SEED"'}
    two_versions(
        project,
        f'cmd = "sh work.sh -"\nargs = ["{{workload}}"]\nexecutions = 4\nworkloads = [{workload}]',
        **files,
    )
    perf("collect", "HEAD~1", "HEAD")
    blocks = [
        (first.split("tmp/")[0], first.split()[-1], second.split()[-1])
        for first, second in pairs(drawn)
    ]
    content = [line.split()[6:] or line.split()[1] for block in pairs(drawn) for line in block]
    assert content[::2] == content[1::2]
    assert len({str(one) for one in content}) == len(blocks) == 4
    old, new = stored("HEAD~1"), stored("HEAD")
    assert old.job.key == new.job.key and len(old.job.source) == 1
    assert list(Path(".perf").rglob("workload/*")) == [], (
        "what was drawn is gone with its execution"
    )


def test_a_generator_that_changed_is_another_workload(
    project: Project, perf: Perf, drawn: Path
) -> None:
    job = (
        'cmd = "sh work.sh -"\nexecutions = 2\nworkloads = [{ command = "sh generate.sh {seed}" }]'
    )
    two_versions(project, job, **{"work.sh": PRINTED, "generate.sh": "echo $1"})
    project.commit("three", **{"generate.sh": "echo $1 $1"})
    perf("collect", "HEAD~2", "HEAD")
    assert "not comparable" in perf("check", "HEAD~2", "HEAD", code=None).out
    assert drawn.read_text()


@pytest.mark.needs("valgrind")
def test_what_is_counted_exactly_draws_nothing(project: Project, perf: Perf, drawn: Path) -> None:
    two_versions(
        project,
        'cmd = "sh work.sh {seed}"\nexecutions = 2\ncollectors = ["instructions"]',
        **{"work.sh": PRINTED},
    )
    perf("collect", "HEAD~1", "HEAD")
    assert {tuple(line.split()[:3]) for line in drawn.read_text().splitlines()} == {("0", "0", "0")}


def ran(program: str, *argv: str, seed: int) -> str:
    env = seeded({"PATH": os.environ["PATH"]}, seed)
    return subprocess.run(
        [program, *argv], env=env, capture_output=True, text=True, check=True
    ).stdout


def test_python_hashes_by_the_seed() -> None:
    command = (
        sys.executable,
        "-c",
        "print(hash('a'), list({str(number) for number in range(50)}))",
    )
    found = [ran(*command, seed=seed) for seed in (5, 5, 6, 0, 0)]
    assert found[0] == found[1] != found[2]
    assert found[3] == found[4] != found[0]


@pytest.mark.needs("perl")
def test_perl_orders_its_keys_by_the_seed() -> None:
    found = [
        ran("perl", "-e", "%h = map { $_ => 1 } 1 .. 50; print keys %h", seed=seed)
        for seed in (5, 5, 6, 0, 0)
    ]
    assert found[0] == found[1] != found[2]
    assert found[3] == found[4]


@pytest.mark.needs("lua5.4")
def test_lua_draws_by_the_seed() -> None:
    found = [ran("lua5.4", "-e", "print(math.random())", seed=seed) for seed in (5, 5, 6)]
    assert found[0] == found[1] != found[2]


DRAWS = """\
{first}
import perfvcs_bench as bench
import random
{then}
print(random.random(), bench.seed())
"""


@pytest.mark.parametrize("first", ["", "import random"], ids=["imported later", "imported before"])
def test_random_begins_at_the_seed_unless_the_program_has_one(tmp_path: Path, first: str) -> None:
    def drawn(then: str = "", seed: str = "") -> str:
        (tmp_path / "program.py").write_text(DRAWS.format(first=first, then=then))
        env = {"PYTHONPATH": str(python_folder()), **({"PERFVCS_SEED": seed} if seed else {})}
        return subprocess.run(
            [sys.executable, tmp_path / "program.py"],
            env=env,
            capture_output=True,
            text=True,
            check=True,
        ).stdout

    assert drawn(seed="7") == drawn(seed="7") != drawn(seed="8")
    assert drawn(seed="7").split()[1] == "7"
    assert (
        drawn("random.seed(3)", seed="7").split()[0] == drawn("random.seed(3)", seed="8").split()[0]
    )
    assert drawn() != drawn(), "without perf nothing is seeded"
    assert {
        drawn().split()[1],
        drawn(seed="other").split()[1],
        drawn(seed="9" * 5000).split()[1],
    } == {"None"}


def test_numpy_begins_at_the_seed(tmp_path: Path) -> None:
    (tmp_path / "program.py").write_text(
        "import perfvcs_bench\nimport numpy as np\nprint(np.random.rand())"
    )
    found = [
        subprocess.run(
            [sys.executable, tmp_path / "program.py"],
            env={"PYTHONPATH": str(python_folder()), "PERFVCS_SEED": seed},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in ("7", "7", "8")
    ]
    assert found[0] == found[1] != found[2]


def test_a_program_that_loads_nothing_random_pays_nothing() -> None:
    said = ran(
        sys.executable,
        "-c",
        "import sys; import perfvcs.bench; print('random' in sys.modules)",
        seed=7,
    )
    assert said.strip() == "False"
    assert bench.seed() is None


@pytest.mark.parametrize("option", ["", " --hypothesis-seed=3"])
def test_hypothesis_draws_the_same_examples(
    project: Project, perf: Perf, drawn: Path, option: str
) -> None:
    command = f"{sys.executable} -m pytest -q -p no:cacheprovider{option}"
    job = (
        f'cmd = "{command}"\ncollectors = [{{ name = "pytest", functions = false'
        " }]\nexecutions = 2"
    )
    two_versions(project, job, **{"test_draws.py": EXAMPLES})
    perf("collect", "HEAD~1", "HEAD")
    found: dict[str, set[str]] = {}
    for line in drawn.read_text().splitlines():
        seed, _, examples = line.partition(" ")
        found.setdefault(seed, set()).add(examples)
    assert len(found) == 2 and all(len(examples) == 1 for examples in found.values())
    assert len(set.union(*found.values())) == (1 if option else 2), "a seed of the user's own wins"


EXAMPLES = """\
import os
from hypothesis import HealthCheck, given, settings, strategies
drawn = []
# which it does where CI is set; how long an example takes is for the machine to say
@settings(derandomize=False, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(strategies.integers())
def test_one(number):
    drawn.append(number)
def test_two():
    if drawn:
        with open(os.environ["DRAWN"], "a") as file:
            print(os.environ["PERFVCS_SEED"], hash(tuple(drawn)), file=file)
    drawn.clear()
"""
DRAWING = """\
import os, random
def test_one():
    with open(os.environ["DRAWN"], "a") as file:
        print(random.random(), file=file)
"""


def test_tests_share_their_random_numbers(project: Project, perf: Perf, drawn: Path) -> None:
    command = (
        f"{sys.executable} -m pytest -q -p no:cacheprovider -p no:randomly -p no:hypothesispytest"
    )
    job = f'cmd = "{command}"\ncollectors = [{{ name = "pytest", repeat = 1 }}]\nexecutions = 3'
    two_versions(project, job, **{"test_draws.py": DRAWING})
    perf("collect", "HEAD~1", "HEAD")
    lines = drawn.read_text().splitlines()
    del lines[3], lines[0]  # once per version the collector looks at what the tests reach
    executions = [tuple(lines[start : start + 2]) for start in range(0, len(lines), 2)]
    assert len(executions) == 6
    assert executions[::2] == executions[1::2] and len(set(executions)) == 3
    assert executions[0][0] != executions[0][1], "a repetition goes on in the sequence"
    project.commit("seeded", **{"conftest.py": "import random\nrandom.seed(3)"})
    drawn.write_text("")
    perf("collect", "HEAD~1", "HEAD")
    assert len(set(drawn.read_text().splitlines())) == 2 * 3 + 2, (
        "a seed in conftest.py is the one that counts"
    )

"""Virtual environments that revisions share: none sees what another one writes, and none is taken
away while it is measured in.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from conftest import Project, Said
from disks import mounted
from waiting import happens

from perfvcs.measure.interpreter import find
from perfvcs.repository import Repository

pytestmark = pytest.mark.slow

# as quick as uv: an environment of the real venv, into which the modules that it is told, or those
# beside it, are copied
UV = """#!/bin/sh
case "$1" in
  venv) for last; do :; done; exec {python} -I -m venv --without-pip "$last" ;;
  pip)
    site=$(echo "${{7%/bin/python}}"/lib/python*/site-packages); shift 7
    [ ! -e {folder}/fail ] || {{ touch "$site/half.py"; echo "no space in wheel" >&2; exit 1; }}
    [ ! -e {folder}/hang ] || {{ touch "$site/half.py"; exec sleep 60; }}
    for word; do case "$word" in .) cp library*.py "$site" ;; *) cp "$word" "$site" ;; esac; done ;;
esac
"""
# reports how many files its environment has, and what is in them: what another revision did to it
# would show
WORK = """
import os, pathlib, shutil, sys, sysconfig
top, site = pathlib.Path(sys.prefix), pathlib.Path(sysconfig.get_paths()["purelib"])
assert "/.perf/python/py" in sys.prefix, "it must never write into another Python than its environment's"
files = [path for path in sorted(top.rglob("*")) if path.is_file() and not path.is_symlink() and path.name[0] != "."]
texts = [path.read_bytes().replace(top.name.encode(), b"") for path in files if path.suffix != ".pyc"]
seen = sum(map(sum, texts)) + 1000 * len(files)
with open(os.environ["PERFVCS_SAMPLES"], "a") as file:
    file.write('{"metric": "seen", "unit": "B", "better": "lower"}\\n')
    file.write('{"uid": "files", "seen": %d}\\n' % seen)
"""
POISON = {
    "a module that each start imports": (
        '(site / "sitecustomize.py").write_text("import time; time.sleep(0.1)\\n")'
    ),
    "a cache": (
        'os.makedirs(site / "__pycache__", exist_ok=True); (site / "__pycache__" /'
        ' "fast.nbi").write_text("slow")'
    ),
    "a package": (
        'os.makedirs(site / "other", exist_ok=True); (site / "other" / "__init__.py").write_text("x'
        ' = 1\\n")'
    ),
    "a command": (
        '(top / "bin" / "git").write_text("#!/bin/sh\\nsleep 1\\n"); (top / "bin" /'
        ' "git").chmod(0o755)'
    ),
}
CHANGE = {
    "a module, with its times": (
        'path = site / "library.py"; about = path.stat(); os.chmod(path, 0o644);'
        ' path.write_text(path.read_text().replace("1", "2")); os.utime(path,'
        " ns=(about.st_atime_ns, about.st_mtime_ns))"
    ),
    "its settings": '(top / "pyvenv.cfg").open("a").write("# slow\\n")',
    "a module, gone": '(site / "library.py").unlink(missing_ok=True)',
    "a folder, shut": '(site / "shut").mkdir(exist_ok=True); os.chmod(top / "include", 0o700)',
}


@pytest.fixture
def tools(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a quick uv, first on PATH; a file ``fail`` or ``hang`` in it stops the next
    installation half-way.
    """
    folder = tmp_path / "tools"
    folder.mkdir()
    (folder / "uv").write_text(
        UV.format(
            python=find(f"{sys.version_info.major}.{sys.version_info.minor}").path, folder=folder
        )
    )
    (folder / "uv").chmod(0o755)
    (folder / "library.py").write_text("VALUE = 1\n")
    monkeypatch.setenv("PATH", f"{folder}{os.pathsep}{os.environ['PATH']}")
    return folder


def sharing(project: Project, tools: Path, poison: str, executions: int = 3) -> tuple[str, str]:
    """A revision, and one after it that writes into the environment of both."""
    top = f'[python]\ninstall = []\nrequires = ["{tools / "library.py"}"]'
    project.configure(f'cmd = "python work.py"\nexecutions = {executions}', top=top)
    return project.commit("clean", **{"work.py": WORK}), project.commit(
        "poison", **{"work.py": WORK + poison + "\n"}
    )


def seen(commit: str) -> list[float | None]:
    """What the executions of a revision saw of their environment, in the newest session."""
    repository = Repository.find()
    headers = [one for one in repository.index.headers([commit]) if one.job.name == "work"]
    found = max(repository.profiles(headers), key=lambda profile: profile.collected.ended)
    return [value for value in found.resources.metrics["seen"] if value is not None]


def words(said: Said) -> str:
    """What a command printed, without its folding of lines, which also breaks paths."""
    return "".join(said.out.split())


def environments(project: Project) -> list[Path]:
    return sorted((project.root / ".perf/python").glob("py*/"))


@pytest.mark.parametrize("poison", POISON.values(), ids=POISON.keys())
def test_what_a_revision_adds_to_an_environment_is_seen_by_no_other(
    poison: str, project: Project, tools: Path, perf: Callable[..., Said]
) -> None:
    clean, poisoned = sharing(project, tools, poison)
    perf("collect", clean)
    (before,) = set(seen(clean))
    said = perf("collect", clean, poisoned)
    assert seen(clean) == [before] * 3
    first, *later = seen(poisoned)
    assert first == before and later[0] > before and len(set(later)) == 1  # it keeps what it added
    wrote = f"workon{poisoned[:10]}wrote" in words(said)
    assert wrote == ("__pycache__" not in poison)
    perf("collect", clean)
    assert seen(clean) == [before] * 3
    assert len(environments(project)) == 1 and not list(
        (project.root / ".perf/python").glob("aside-*")
    )


@pytest.mark.parametrize("change", CHANGE.values(), ids=CHANGE.keys())
def test_who_changes_what_was_installed_keeps_it_alone(
    change: str, project: Project, tools: Path, perf: Callable[..., Said]
) -> None:
    clean, poisoned = sharing(project, tools, change)
    perf("collect", clean)
    (before,) = set(seen(clean))
    (kept,) = environments(project)
    said = perf("collect", clean, poisoned)
    assert seen(clean) == [before] * 3
    assert f"workon{poisoned[:10]}changed" in words(said)
    (other,) = environments(project)
    assert other != kept
    perf("collect", clean)
    assert seen(clean) == [before] * 3 and environments(project) == [other]


OTHERS = """
for other in pathlib.Path(sys.prefix).parent.glob("py*/lib/python*/site-packages"):
    {write}
"""
INTO_OTHERS = {
    "an addition": '(other / "slow.pth").write_text("import time; time.sleep(0.1)\\n")',
    "a change": 'path = other / "library.py"; path.write_text(path.read_text().replace("1", "2"))',
    "a module beside what the other one adds": (
        'os.makedirs(other / "own", exist_ok=True); (other / "own/x.py").touch()'
    ),
}


@pytest.mark.parametrize("way", INTO_OTHERS.keys())
@pytest.mark.parametrize("order", [1, -1])
@pytest.mark.usefixtures("tools")
def test_what_a_revision_writes_into_the_environments_of_others_is_never_measured_there(
    way: str, order: int, project: Project, perf: Callable[..., Said]
) -> None:
    """Their libraries differ, so that each has its own; the innocent one is not blamed."""
    project.configure('cmd = "python work.py"\nexecutions = 4', top='[python]\ninstall = ["."]')
    keeps = 'os.makedirs(site / "own", exist_ok=True); (site / "own/mine.py").touch()\n'
    clean = project.commit("clean", **{"work.py": WORK + keeps, "library.py": "VALUE = 1\n"})
    work = WORK + OTHERS.format(write=INTO_OTHERS[way])
    writer = project.commit("writer", **{"work.py": work, "library.py": "VALUE = 1 + 0\n"})
    perf("collect", clean)
    before = seen(clean)
    assert before[0] != before[1] and len({*before[1:]}) == 1  # it sees what it has added itself
    said = perf("collect", *[clean, writer][::order])
    if way == "a change":
        assert {*seen(clean)} <= {*before} and "wasmadeanew" not in words(said)
        assert f"wasinstalledorranbeforeit(workon{writer[:10]}):itismadeanew" in words(said)
    else:
        assert seen(clean) == before
        assert (
            f"environmentofworkon{clean[:10]}bywhatwasinstalledorranbeforeit(workon{writer[:10]}"
            in words(said)
        )
    assert f"workon{clean[:10]}changed" not in words(said)
    perf("collect", clean)
    assert seen(clean) == before
    assert not [
        path
        for path in environments(project)
        if list(path.glob("lib/python*/site-packages/slow.pth"))
    ]


@pytest.mark.parametrize("way", ["an addition", "a change"])
def test_what_an_installation_writes_into_the_environments_of_others_is_not_measured(
    way: str, project: Project, tools: Path, perf: Callable[..., Said]
) -> None:
    installer = (tools / "uv").read_text()
    more = {
        "an addition": "echo 'import time' > \"$one/slow.pth\"",
        "a change": 'echo VALUE = 3 >> "$one/library.py"',
    }[way]
    loop = f'for one in "$site"/../../../../py*/lib/python*/site-packages; do {more}; done'
    (tools / "uv").write_text(installer.replace("shift 7", f"shift 7; [ ! -e poison ] || {loop}"))
    project.configure('cmd = "python work.py"\nexecutions = 3', top='[python]\ninstall = ["."]')
    clean = project.commit("clean", **{"work.py": WORK, "library.py": "VALUE = 1\n"})
    perf("collect", clean)
    before = seen(clean)
    writer = project.commit("writer", **{"library.py": "VALUE = 1 + 0\n", "poison": ""})
    said = perf("collect", clean, writer)
    assert seen(clean) == before and f"workon{clean[:10]}wrote" not in words(said)
    assert ("itismadeanew" if way == "a change" else "itwasremovedbeforethatran") in words(said)


def test_an_environment_that_was_changed_between_two_commands_is_made_anew(
    project: Project, tools: Path, perf: Callable[..., Said]
) -> None:
    clean, _ = sharing(project, tools, "")
    perf("collect", clean)
    (kept,) = environments(project)
    (module,) = kept.glob("lib/python*/site-packages/library.py")
    module.write_text("VALUE = 2\n")
    said = perf("collect", clean)
    assert f"madeanew,since{module.relative_to(kept)}inithaschanged" in words(said)
    assert environments(project) != [kept] and len(environments(project)) == 1


def test_what_a_killed_session_added_is_gone_in_the_next(
    project: Project, tools: Path, perf: Callable[..., Said]
) -> None:
    clean, poisoned = sharing(
        project,
        tools,
        POISON["a package"] + "\nif (top / 'wait').exists(): import time; time.sleep(60)",
        9,
    )
    perf("collect", clean)
    (before,) = set(seen(clean))
    (kept,) = environments(project)
    process = subprocess.Popen(
        [sys.executable, "-m", "perfvcs", "collect", "-q", clean, poisoned], start_new_session=True
    )
    assert happens(lambda: list(kept.glob("lib/python*/site-packages/other")))
    os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    perf("collect", clean)
    assert set(seen(clean)) == {before} and environments(project) == [kept]
    assert not list(kept.glob("lib/python*/site-packages/other"))


def test_a_bisection_of_more_revisions_than_are_kept_has_all_their_environments(
    project: Project, tools: Path, perf: Callable[..., Said], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The developer's own installation, first on PATH, would be slow for all of them."""
    own = tools.parent / "own"
    own.mkdir()
    (own / "python").write_text("#!/bin/sh\nexit 9\n")
    (own / "python").chmod(0o755)
    monkeypatch.setenv("PATH", f"{tools}{os.pathsep}{own}{os.pathsep}{os.environ['PATH']}")
    report = (
        "import library, os\nwith open(os.environ['PERFVCS_SAMPLES'], 'a') as file:\n   "
        ' file.write(\'{"metric": "cost", "unit": "s", "better": "lower"}\\n\')\n   '
        ' file.write(\'{"uid": "task", "cost": %r}\\n\' % (library.COST * (1 + sum(os.urandom(9)) /'
        " 200000)))\n"
    )
    project.configure('cmd = "python work.py"', top='[python]\ninstall = ["."]\nkeep = 1')
    commits = [
        project.commit(
            f"change {number}",
            **{
                "work.py": report,
                "library.py": f"COST = {1.5 if number else 1.0}\nNUMBER = {number}\n",
            },
        )
        for number in range(6)
    ]
    found = perf("bisect", commits[0], "-u", "task", "-m", "cost", "--json").document
    assert [one["commit"] for one in found["named"]] == [commits[1]]
    assert len(Repository.find().index.headers(commits)) >= 7  # three sessions at least
    assert len(environments(project)) == 1


def test_a_command_never_takes_another_python_than_its_environments(
    project: Project, tools: Path, perf: Callable[..., Said]
) -> None:
    """An execution that loses its environment does not count, and the next one takes none of
    PATH.
    """
    clean, gone = sharing(project, tools, "shutil.rmtree(top)")
    said = perf("collect", gone, code=5)
    assert (
        f"work on {gone[:10]}: the virtual environment" in said.err
        and "was removed while it was in use" in said.err
    )
    assert Repository.find().index.total() == 0
    said = perf("collect", clean, gone, code=5)
    assert len(seen(clean)) == 3
    assert [one.commit for one in Repository.find().index.headers([clean, gone])] == [clean]


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("python3.42", "#!/bin/sh\nexec python3\n"),
        ("tool", "#!/usr/bin/python3 -I\nprint(1)\n"),
        (
            "tool",
            "#!/usr/bin/env bash\nset -e\nprogram=tool\nexec /opt/pyenv/libexec/pyenv exec tool\n",
        ),
    ],
)
def test_a_program_of_path_that_runs_in_another_python_is_refused(
    name: str, text: str, project: Project, tools: Path, perf: Callable[..., Said]
) -> None:
    (tools / name).write_text(text)
    (tools / name).chmod(0o755)
    project.configure(f'cmd = "{name}"', top="[python]\ninstall = []")
    project.commit("one")
    said = perf("collect", code=5)
    assert (
        f"`{name}` is not in the virtual environment" in said.err
        and "[python] requires" in said.err
    )


def test_a_script_that_asks_for_python_gets_the_environments(
    project: Project, tools: Path, perf: Callable[..., Said]
) -> None:
    (tools / "tool").write_text("#!/usr/bin/env python3\nimport library\n")
    (tools / "tool").chmod(0o755)
    project.configure(
        'cmd = ["tool", "sh -c \'python3 -c \\"import library\\"\'"]',
        top=f'[python]\ninstall = []\nrequires = ["{tools / "library.py"}"]',
    )
    project.commit("one")
    assert "stored 2 profiles" in perf("collect").out


MEASURING = """
import subprocess, sys
from pathlib import Path
from perfvcs.measure.interpreter import find
from perfvcs.measure.recipe import Recipe
from perfvcs.measure.virtualenv import environment
import os
folder, work, times = Path(sys.argv[1]), Path(sys.argv[2]), int(sys.argv[3])
python = find(f"{sys.version_info.major}.{sys.version_info.minor}")
for time in range(times):
    recipe = Recipe(python, work, (".",), content=str(time % 3), env=dict(os.environ), timeout=60)
    with environment(folder, recipe) as one:
        for _ in range(3):
            one.enter("work")
            subprocess.run([one.python, "-c", "import library"], check=True)
print("measured")
"""


REMOVING = """
import select, sys
from pathlib import Path
from perfvcs.measure.pythons import prune
removed = 0
while not select.select([sys.stdin], [], [], 0)[0]:
    removed += len(prune(Path(sys.argv[1]), 0))
print(removed)
"""


def test_removing_and_measuring_at_the_same_moment(tools: Path) -> None:
    """Two processes: one takes, makes and runs in environments, the other removes all that it can,
    all the time.
    """
    folder = tools.parent / "envs"
    folder.mkdir()
    with subprocess.Popen(
        [sys.executable, "-c", REMOVING, str(folder)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as other:
        done = subprocess.run(
            [sys.executable, "-c", MEASURING, str(folder), str(tools), "12"],
            capture_output=True,
            text=True,
            check=False,
        )
        # at the latest now, when nobody uses them
        assert happens(lambda: not [*folder.glob("py*/")] or other.poll() is not None)
        removed, _ = other.communicate("\n")
    assert done.stdout == "measured\n", done.stderr
    assert int(removed) > 0


def test_an_input_that_a_revision_changes_is_made_anew_for_the_others(
    project: Project, perf: Callable[..., Said]
) -> None:
    read = (
        "import os, sys\nwith open(os.environ['PERFVCS_SAMPLES'], 'a') as file:\n   "
        ' file.write(\'{"metric": "seen", "unit": "B", "better": "lower"}\\n\')\n   '
        ' file.write(\'{"uid": "files", "seen": %d}\\n\' % sum(open(sys.argv[1], \'rb\').read()))\n'
    )
    write = "os.chmod(sys.argv[1], 0o644); open(sys.argv[1], 'r+b').write(bytes(500))\n"
    project.configure('cmd = "python3 work.py"\nworkloads = [{ files = [1000] }]\nexecutions = 3')
    clean, changing = (
        project.commit("clean", **{"work.py": read}),
        project.commit("changing", **{"work.py": read + write}),
    )
    said = perf("collect", clean, changing)
    assert len({*seen(clean), *seen(changing)}) == 1
    assert "whatismeasuredchangedtheworkloadtext-1kB" in words(said)
    perf("collect", clean)
    assert set(seen(clean)) == set(seen(changing))


READ = "import os, sys\nprint(len(open(sys.argv[1]).read()))\n"
WRITE = "open(sys.argv[1], 'w').write('{}')\n"


def test_a_workload_of_the_project_that_a_revision_changes_is_an_error_that_says_so(
    project: Project, perf: Callable[..., Said]
) -> None:
    """Its name is in ``overlay``, so that the cure for what differs is none; who writes the same
    again changes nothing.
    """
    project.configure(
        'cmd = "python3 work.py {workload}"\nworkloads = ["data.txt"]',
        top='overlay = ["data.txt"]\n',
    )
    clean = project.commit("clean", **{"work.py": READ, "data.txt": "12345"})
    same = project.commit("writes the same", **{"work.py": READ + WRITE.format("12345")})
    changing = project.commit("changing", **{"work.py": READ + WRITE.format("1")})
    said = perf("collect", clean, same, changing, code=5)
    assert (
        f"on {changing[:10]}: data.txt changed while it was measured" in said.err
        and len(said.err.splitlines()) < 15
    )
    assert {one.commit for one in Repository.find().index.headers([clean, same, changing])} == {
        clean,
        same,
    }
    assert "nothing is comparable" not in perf("check", clean, same, code=None).err


@pytest.mark.parametrize("overlay", ["", 'overlay = ["data.txt"]\n'])
def test_a_file_that_git_tracks_and_a_revision_changes_is_a_note(
    overlay: str, project: Project, perf: Callable[..., Said]
) -> None:
    project.configure(
        'cmd = "python3 work.py data.txt"\nexecutions = 2',
        top=overlay + 'build = ["touch built", "rm gone"]\n',
    )
    clean = project.commit("clean", **{"work.py": READ, "data.txt": "12345", "gone": ""})
    same = project.commit(
        "writes the same", **{"work.py": READ + ("" if overlay else WRITE.format("12345"))}
    )
    changing = project.commit("changing", **{"work.py": READ + WRITE.format("1")})
    said = words(perf("collect", clean, same, changing))
    assert said.count("changedwhileitwasmeasured") == 1
    assert f"{changing[:10]}:data.txtchangedwhileitwasmeasured" in said


@pytest.mark.parametrize("command", ["sh work.sh", "./work.sh"])
def test_a_program_that_removes_itself_is_not_told_to_be_added(
    command: str, project: Project, perf: Callable[..., Said]
) -> None:
    project.configure(f'cmd = "{command}"\nexecutions = 3')
    project.write("work.sh", "#!/bin/sh\nrm -rf *\n", executable=True)
    commit = project.commit("removing")
    said = perf("collect", commit, "--committed", code=5)
    assert "work.sh` was in the checkout, but what is measured there removed it" in said.err
    assert "in the working tree" not in said.err


@pytest.mark.parametrize("way", ["fail", "hang"])
def test_an_installation_that_ends_half_way_is_never_used(
    way: str, project: Project, tools: Path, perf: Callable[..., Said]
) -> None:
    """It fails, or is killed together with perf."""
    clean, _ = sharing(project, tools, "")
    (tools / way).touch()
    if way == "fail":
        said = perf("collect", clean, code=5)
        assert (
            "exited with status 1: no space in wheel (log: " in said.err
            and len(said.err.splitlines()) == 3
        )
        assert not environments(project)
    else:
        process = subprocess.Popen(
            [sys.executable, "-m", "perfvcs", "collect", "-q", clean], start_new_session=True
        )
        assert happens(
            lambda: list((project.root / ".perf/python").glob("py*/lib/*/site-packages/half.py"))
        )
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
    (tools / way).unlink()
    perf("collect", clean)
    assert len(set(seen(clean))) == 1
    assert len(environments(project)) == 1 and not list(
        environments(project)[0].glob("lib/*/site-packages/half.py")
    )


@pytest.mark.needs("mount")
def test_a_disk_that_fills_while_an_environment_is_made_leaves_none(
    tools: Path, tmp_path: Path
) -> None:
    """At any moment: while the environment is made, installed into, sealed, or written down."""
    disk = tmp_path / "disk"
    disk.mkdir()
    ends = set()
    for size in range(40, 260, 12):  # kB; both ends are seen with every Python
        with mounted(disk, f"size={size}k"):
            done = subprocess.run(
                [sys.executable, "-c", MEASURING, str(disk), str(tools), "1"],
                capture_output=True,
                text=True,
                check=False,
            )
            made = done.stdout == "measured\n"
            assert made or "InstallError" in done.stderr.splitlines()[-1], done.stderr
            assert made == bool(list(disk.glob("p*/")))
            ends.add(made)
    assert ends == {True, False}


def test_what_a_session_uses_stays_while_others_clean_up(
    project: Project, tools: Path, perf: Callable[..., Said]
) -> None:
    """Checkout, build, environment, workload and scratch folder of a session that runs, beside gc
    and other commands.
    """
    gate = tools / "gate"
    work = (
        f"import library, os, sys, time\nwhile not os.path.exists({str(gate)!r}):"
        " time.sleep(0.02)\nassert open(sys.argv[1]).read() and open('built').read()\n"
    )
    project.configure(
        'cmd = "python work.py"\nworkloads = [{ files = [1000] }]\nexecutions = 4',
        top=(
            'build = ["cp work.py built"]\n[python]\ninstall = []\nrequires ='
            f' ["{tools / "library.py"}"]\nkeep = 1'
        ),
    )
    one, two = (
        project.commit("one", **{"work.py": work}),
        project.commit("two", **{"work.py": work + "\n"}),
    )
    perf("init", "--no-try")
    home = project.root / ".perf"
    with subprocess.Popen(
        [sys.executable, "-m", "perfvcs", "collect", "-q", one, two],
        stderr=subprocess.PIPE,
        text=True,
    ) as running:
        assert happens(lambda: list(home.glob("workloads/text*")) or running.poll() is not None)
        before = sorted(
            path
            for kind in ("worktrees/*", "tmp/*", "python/*/bin", "workloads/*", "builds/*")
            for path in home.glob(kind)
        )
        assert {path.relative_to(home).parts[0] for path in before} == {
            "worktrees",
            "tmp",
            "python",
            "workloads",
            "builds",
        }
        assert "a measurement is running here" in perf("gc").out
        assert perf("collect", one, code=11).err
        for words_ in (["status"], ["log"], ["gc"], ["fsck"]):
            perf(*words_)
        assert [path for path in before if not path.exists()] == []
        gate.touch()
        said = running.communicate()[1]
    assert running.returncode == 0, said
    assert [one.design.executions for one in Repository.find().index.headers([one, two])] == [4, 4]

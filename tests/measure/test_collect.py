import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from conftest import Perf, Project, processes_in
from histories import stored
from waiting import happens

from perfvcs.repository import Repository
from perfvcs.system.lock import hold


def worktrees(project: Project) -> int:
    return len(project.git("worktree", "list").splitlines())


def test_two_commits_are_measured_interleaved_with_one_profile_each(
    project: Project, perf: Perf
) -> None:
    project.configure()
    project.write("work.sh", "sleep 0.001")
    one = project.commit("one")
    two = project.commit("two", **{"work.sh": "sleep 0.002"})
    said = perf("collect", "HEAD~1", "HEAD", "--seed", "7", "-n", "3")
    assert "stored 2 profiles (seed 7)" in said.out
    for position, commit in enumerate((one, two)):
        (profile,) = stored(commit)
        assert profile.commit == commit
        assert profile.dirty is None
        assert profile.design.order == "interleaved"
        assert profile.design.versions == [one, two]
        assert (profile.design.version, profile.design.executions, profile.design.seed) == (
            position,
            3,
            7,
        )
        assert profile.resources.execution == [0, 1, 2]
        assert {"wall", "cpu"} <= profile.metrics.keys()
        assert profile.environment.fields["cpu"]
    assert worktrees(project) == 1


def test_without_a_perf_toml_a_command_after_dashes_is_measured(
    project: Project, perf: Perf
) -> None:
    project.write("my work.sh", "echo $1 >> ran", executable=True)
    project.commit()
    perf("collect", "-n", "2", "--warmup", "1", "--", "sh", "my work.sh", "a b")
    assert (project.root / "ran").read_text() == "a b\n" * 3
    (profile,) = stored()
    assert profile.job.cmd == "sh 'my work.sh' 'a b'"
    assert profile.job.name == "my work.sh"
    assert profile.design.order == "sequential"


def test_head_is_the_working_tree_and_its_changes_are_recorded(
    project: Project, perf: Perf
) -> None:
    project.configure()
    project.write("work.sh", "true")
    project.commit()
    project.write("work.sh", "test -f new")
    project.write("new", "")
    perf("collect")
    (profile,) = stored()
    assert profile.dirty is not None


def test_changes_measured_before_the_commit_belong_to_it_afterwards(
    project: Project, perf: Perf
) -> None:
    project.configure()
    base = project.commit("base", **{"work.sh": "true"})
    project.write("work.sh", "true; true")
    perf("collect")
    assert stored(base)[0].dirty
    head = project.commit("the change")
    assert "measured  work" in perf("status").out
    assert stored(base)[0].dirty  # what only reads moves nothing
    perf("collect")
    assert stored(base) == []
    assert {(one.commit, one.dirty) for one in stored(head)} == {(head, None)}


def test_several_revisions_with_changes_on_top_of_head(project: Project, perf: Perf) -> None:
    project.configure()
    project.commit("one", **{"work.sh": "true"})
    project.commit("two", **{"work.sh": "true; true"})
    project.write("work.sh", "test -f untracked")
    project.write("untracked", "")
    perf("collect", "HEAD~1", "HEAD")
    assert stored("HEAD~1")[0].dirty is None
    assert stored("HEAD")[0].dirty is not None
    assert "inconclusive" in perf("check", "HEAD~1", "HEAD").out


def test_the_newest_benchmark_measures_old_revisions_too(project: Project, perf: Perf) -> None:
    project.commit("no benchmark yet", program="1")
    project.write("bench/run.sh", "cat program >> $OUT")
    project.configure(
        'cmd = "sh bench/run.sh"\nenv = { OUT = "' + str(project.root.parent / "out") + '" }',
        top='overlay = ["bench/"]',
    )
    project.commit("benchmark", program="2")
    perf("collect", "HEAD~1", "HEAD")
    assert sorted((project.root.parent / "out").read_text()) == list("1122")
    old, new = stored("HEAD~1")[0], stored("HEAD")[0]
    assert old.job.key == new.job.key
    assert old.job.source.keys() == {"bench/"}


def test_a_revision_is_built_in_its_own_folder(project: Project, perf: Perf) -> None:
    project.configure('cmd = "./built.sh"', top='build = ["sh make.sh"]')
    project.commit(
        "one",
        **{"make.sh": "echo 'exit 0' > built.sh; chmod +x built.sh; sed -i '1i#!/bin/sh' built.sh"},
    )
    project.commit("two", other="x")
    perf("collect", "HEAD~1", "HEAD")
    assert not (project.root / "built.sh").exists()
    perf("collect", "HEAD")
    assert not (project.root / "built.sh").exists()


def test_a_build_that_fails_on_one_revision_lets_the_other_be_measured(
    project: Project, perf: Perf
) -> None:
    project.configure(top='build = ["sh make.sh"]')
    project.commit("broken", **{"make.sh": "echo no such header >&2; exit 3", "work.sh": "true"})
    project.commit("mended", **{"make.sh": "true"})
    said = perf("collect", "HEAD~1", "HEAD", code=5)
    assert "exited with status 3: no such header" in said.err
    assert "stored 1 profile" in said.out
    assert stored("HEAD~1") == []
    assert len(stored("HEAD")) == 1
    assert worktrees(project) == 1


def test_repeated_builds_are_distinguished(project: Project, perf: Perf) -> None:
    project.configure('cmd = "sh work.sh"\nbinaries = 2', top='build = ["true"]')
    project.commit("one", **{"work.sh": "true"})
    perf("collect")
    (profile,) = stored()
    assert profile.design.binaries == 2
    assert profile.resources.binary == [0, 1, 0, 1]
    assert profile.resources.execution == [0, 1, 2, 3]


@pytest.mark.parametrize(
    ("script", "reason"),
    [
        ("exit 7", "7"),
        ("echo the disk is on fire >&2; exit 1", "the disk is on fire"),
        ("kill -9 $$", "SIGKILL"),
        ("kill -9 0", "SIGKILL"),
        ("sleep 60", "0.5 s"),
        ('echo "garbage" >> "$PERFVCS_SAMPLES"', "line 1"),
    ],
)
def test_a_command_that_fails_stores_nothing_and_says_why(
    project: Project, perf: Perf, script: str, reason: str
) -> None:
    # a time-out for what hangs alone: a shell may take as long to start
    limit = "500ms" if "sleep" in script else "60s"
    project.configure(f'cmd = "sh work.sh"\ntimeout = "{limit}"')
    project.commit(**{"work.sh": script})
    said = perf("collect", code=5)
    (line,) = [line for line in said.err.splitlines() if line.startswith("failed: work on ")]
    assert reason in line
    others = [
        other
        for other in said.err.splitlines()
        if other != line and not other.startswith("preparing ")
    ]
    assert not any(reason in other for other in others)
    assert said.err.endswith("perf: 1 failure (see above); nothing stored\n")
    assert stored() == []


def test_the_other_jobs_finish_when_one_fails(project: Project, perf: Perf) -> None:
    jobs = "".join(
        f'[[job]]\nname = "{name}"\ncmd = "{cmd}"\nexecutions = 2\n'
        for name, cmd in (("good", "true"), ("bad", "false"))
    )
    project.commit(**{"perf.toml": jobs})
    said = perf("collect", code=5)
    assert said.err.count("bad on ") == 1
    assert said.err.endswith("perf: 1 failure (see above); the rest is stored\n")
    assert [profile.job.name for profile in stored()] == ["good"]
    assert "  missing   bad" in perf("status").out


@pytest.mark.parametrize(
    ("cmd", "cure"),
    [
        ("no-such-program", "is not on PATH"),
        ("work.sh", "did you mean `./work.sh`"),
        ("./missing", "does not exist in this revision"),
        ("./work.sh", "chmod"),
        ("./folder", "is a folder"),
    ],
)
def test_a_program_that_cannot_be_started_names_the_cure(
    project: Project, perf: Perf, cmd: str, cure: str
) -> None:
    project.configure(f'cmd = "{cmd}"')
    project.write("folder/x", "")
    project.commit(**{"work.sh": "true"})
    assert cure in perf("collect", code=5).err


def test_gigabytes_of_output_are_dropped_and_daemons_are_stopped(
    project: Project, perf: Perf
) -> None:
    project.configure('cmd = "sh work.sh"\nexecutions = 1')
    project.commit(
        **{
            "work.sh": (
                "head -c 300000000 /dev/zero; head -c 100000000 /dev/zero >&2; setsid sleep"
                " 1000.25 &"
            )
        }
    )
    said = perf("collect", "-n", "1")
    assert "stored 1 profile" in said.out
    assert "note: work:" in said.out
    assert processes_in(project.root) == []


def test_generated_workloads_give_sizes(project: Project, perf: Perf) -> None:
    project.configure(
        'cmd = "sh work.sh"\nworkloads = [{ integers = [3, 5] }, { files = ["1kB"] }]'
    )
    project.commit(**{"work.sh": 'test -n "$1"'})
    perf("collect")
    assert {profile.job.workload: profile.job.params for profile in stored()} == {
        "3": {"n": 3},
        "5": {"n": 5},
        "text-1kB": {"n": 1000},
    }


def test_a_programs_own_samples_become_rows(project: Project, perf: Perf) -> None:
    project.configure()
    line = '{"uid": "parse", "size": 10, "wall": 0.5, "errors": 2}'
    project.commit(
        **{"work.sh": f"echo '{line}' >> $PERFVCS_SAMPLES; echo '{line}' >> $PERFVCS_SAMPLES"}
    )
    perf("collect")
    (profile,) = stored()
    rows = profile.resources
    own = [number for number, uid in enumerate(rows.uid) if rows.names[uid] == "parse"]
    assert len(own) == 4
    assert [rows.metrics["wall"][number] for number in own] == [0.5] * 4
    assert [rows.size[number] for number in own] == [10] * 4 if rows.size else False
    assert rows.integers("iteration")[own[1]] == 1
    assert profile.metrics["errors"].better == "lower"


def test_knobs_are_recorded(project: Project, perf: Perf) -> None:
    project.configure()
    project.commit(**{"work.sh": "true"})
    perf("collect", "--pin", "0", "--no-aslr", "--no-padding")
    fields = stored()[0].environment.fields
    assert (fields["pin"], fields["aslr"], fields["padding"]) == ("0", "off", "off")
    assert "there is no processor 999" in perf("collect", "--pin", "999", code=2).err


def test_missing_skips_what_is_measured(project: Project, perf: Perf) -> None:
    project.configure()
    project.commit("one", **{"work.sh": "true"})
    project.commit("two", other="x")
    perf("collect", "HEAD")
    assert "stored 1 profile" in perf("collect", "--missing", "HEAD~1", "HEAD").out
    assert "nothing to measure" in perf("collect", "--missing", "HEAD~1..HEAD").out


def test_a_long_range_is_measured_in_groups_that_share_a_neighbour(
    project: Project, perf: Perf
) -> None:
    project.configure('cmd = "true"\nexecutions = 1')
    commits = [project.commit(f"{number}") for number in range(11)]
    perf("collect", f"{commits[0]}..HEAD")
    assert [len(stored(commit)) for commit in commits] == [0, *[1] * 7, 2, 1, 1]


def test_json_says_what_was_stored_and_what_failed(project: Project, perf: Perf) -> None:
    jobs = "".join(
        f'[[job]]\nname = "{name}"\ncmd = "{cmd}"\nexecutions = 1\n'
        for name, cmd in (("good", "true"), ("bad", "false"))
    )
    head = project.commit(**{"perf.toml": jobs})
    said = perf("collect", "--json", code=5)
    found = said.document
    assert [(row["commit"], row["job"]) for row in found["stored"]] == [(head, "good")]
    assert found["failed"][0]["job"] == "bad"
    assert said.err.count("failed: bad on ") == 1


def test_a_job_is_asked_for_by_its_name_or_its_whole_label(project: Project, perf: Perf) -> None:
    project.configure('cmd = "true"\nworkloads = [{ integers = [10, 20] }]\nexecutions = 1')
    project.commit()
    perf("collect", "-j", "work 20")
    assert [profile.job.label for profile in stored()] == ["work 20"]
    perf("collect", "-j", "work")
    assert sorted(profile.job.label for profile in stored()) == ["work 10", "work 20", "work 20"]
    assert perf("export", "-j", "work 10").document["job"]["workload"] == "10"
    assert (
        "no job is called `work 30`; did you mean `'work 20'`?"
        in perf("export", "-j", "work 30", code=2).err
    )


def test_a_run_beside_another_is_refused_or_waits(project: Project, perf: Perf) -> None:
    project.configure()
    project.commit(**{"work.sh": "true"})
    perf("init")
    with Repository.find().measuring():
        assert f"process {os.getpid()} is measuring here" in perf("collect", code=11).err
        waiting = subprocess.Popen(
            [sys.executable, "-m", "perfvcs", "collect", "--wait", "-q"], stderr=subprocess.PIPE
        )
        time.sleep(1)
        assert waiting.poll() is None
    _, err = waiting.communicate(timeout=60)
    assert (waiting.returncode, err) == (0, b"")


@pytest.mark.parametrize("stop", [signal.SIGINT, signal.SIGTERM])
def test_a_stop_leaves_no_process_no_worktree_and_no_half_profile(
    project: Project, perf: Perf, stop: signal.Signals
) -> None:
    project.configure('cmd = "sh work.sh"')
    project.commit("one", **{"work.sh": "touch started; sleep 1000.5"})
    project.commit("two", other="x")
    perf("init")
    command = [sys.executable, "-m", "perfvcs", "collect", "HEAD~1", "HEAD"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert happens(lambda: any(project.root.glob(".perf/worktrees/*/started")))
    process.send_signal(stop)
    _, err = process.communicate(timeout=120)
    assert process.returncode == 128 + stop
    assert "Traceback" not in err
    assert happens(lambda: not processes_in(project.root))
    assert worktrees(project) == 1
    assert stored("HEAD") == []


def test_a_kill_leaves_nothing_that_the_next_command_does_not_clean(
    project: Project, perf: Perf
) -> None:
    project.configure('cmd = "sh work.sh"')
    project.commit("one", **{"work.sh": "touch started; sleep 1000.75"})
    project.commit("two", other="x")
    perf("init")
    process = subprocess.Popen(
        [sys.executable, "-m", "perfvcs", "collect", "HEAD~1", "HEAD"], stderr=subprocess.DEVNULL
    )
    assert happens(lambda: any(project.root.glob(".perf/worktrees/*/started")))
    process.kill()
    process.wait()
    assert happens(lambda: not processes_in(project.root))
    perf("log")
    assert worktrees(project) == 1
    assert not any(project.root.glob(".perf/tmp/*"))
    assert "all intact" in perf("fsck").out


def test_a_repository_with_everything_that_makes_paths_hard(
    project: Project, perf: Perf, tmp_path: Path
) -> None:
    other = Project(tmp_path / "öther repo")
    other.commit(**{"in sub.sh": "true"})
    project.git(
        "-c",
        "protocol.file.allow=always",
        "submodule",
        "--quiet",
        "add",
        str(other.root),
        "süb mödule",
    )
    project.configure("cmd = \"sh 'süb mödule/in sub.sh'\"\nworkloads = ['ä b/wörk load.txt']")
    project.write("ä b/wörk load.txt", "x")
    project.commit("one")
    project.write("another – file", "x")
    project.commit("two")
    project.git("checkout", "--quiet", "--detach")
    project.write("dirty ü", "x")
    (project.root / "ä b").mkdir(exist_ok=True)
    perf("-C", "ä b", "collect", "HEAD~1", "HEAD")
    assert stored("HEAD~1")[0].job.source.keys() == {"ä b/wörk load.txt"}
    assert stored("HEAD")[0].dirty


def test_a_submodule_that_is_gone_is_a_note_that_is_recorded_and_no_build_of_it_is_kept(
    project: Project, perf: Perf, tmp_path: Path
) -> None:
    other = Project(tmp_path / "other")
    other.commit(deep="1")
    allow = ("-c", "protocol.file.allow=always", "submodule", "--quiet")
    project.git(*allow, "add", str(other.root), "dep")
    build = """build = ['sh -c "if test -s dep/deep; then touch full; else touch empty; fi"']"""
    project.configure('cmd = "sh work.sh"', top=build)
    project.commit("one", **{"work.sh": "ls full || ls empty"})
    project.commit("two", other="x")
    modules, settings = project.root / ".git" / "modules", project.root / ".git" / "config"
    modules.rename(tmp_path / "modules")
    before = settings.read_bytes()
    said = perf("collect", "HEAD~1", "HEAD", "-n", "1")
    assert said.flat.count("submodule `dep` is left empty") == 1
    for revision in ("HEAD~1", "HEAD"):
        (profile,) = stored(revision)
        assert any(
            "submodule `dep` is left empty" in warning for warning in profile.environment.warnings
        )
    assert settings.read_bytes() == before
    # what was built without it is not taken for the build with it
    (tmp_path / "modules").rename(modules)
    project.configure('cmd = "test -e full"', top=build)
    assert "note: submodule" not in perf("collect", "HEAD~1", "-n", "1").out
    project.configure('cmd = "test -e full"', top=f"submodules = false\n{build}")
    assert "failed" in perf("collect", "HEAD~1", "-n", "1", code=5).err


def test_a_linked_worktree_and_a_bare_clones_worktree_are_measured(
    project: Project, perf: Perf, tmp_path: Path
) -> None:
    project.configure()
    project.commit("one", **{"work.sh": "true"})
    project.commit("two", other="x")
    project.git("worktree", "add", "--quiet", "-b", "linked", str(tmp_path / "linked tree"))
    perf("-C", str(tmp_path / "linked tree"), "collect", "HEAD~1", "HEAD")
    assert len(stored("HEAD")) == 1
    project.git("clone", "--quiet", "--bare", ".", str(tmp_path / "bare.git"))
    project.git(
        "-C",
        str(tmp_path / "bare.git"),
        "worktree",
        "add",
        "--quiet",
        str(tmp_path / "of bare"),
        "main",
    )
    perf("-C", str(tmp_path / "of bare"), "collect", "HEAD~1", "HEAD")
    assert (tmp_path / "bare.git" / ".perf" / "store").is_dir()
    assert "2 profiles" in perf("-C", str(tmp_path / "of bare"), "status").out


def test_a_bare_repository_itself_has_nothing_to_measure(
    project: Project, perf: Perf, tmp_path: Path
) -> None:
    project.configure()
    project.commit(**{"work.sh": "true"})
    project.git("clone", "--quiet", "--bare", ".", str(tmp_path / "bare.git"))
    assert "perf.toml" in perf("-C", str(tmp_path / "bare.git"), "collect", code=2).err


def test_the_interpreter_that_a_command_names_is_recorded(project: Project, perf: Perf) -> None:
    project.configure(f"cmd = \"'{sys.executable}' -c pass\"")
    project.commit()
    perf("collect")
    assert stored()[0].environment.fields["python"] == f"CPython {sys.version.split()[0]}"


def test_what_is_wrong_with_a_request_makes_no_folder(project: Project, perf: Perf) -> None:
    assert "perf init" in perf("collect", code=2).err
    project.configure()
    perf("collect", code=10)
    project.commit()
    perf("collect", "nope", code=2)
    assert not (project.root / ".perf").exists()


def test_every_interpreter_measures_every_revision(project: Project, perf: Perf) -> None:
    version = f"{sys.version_info.major}.{sys.version_info.minor}"
    project.configure(
        'cmd = "python work.py"', top=f'[python]\nversions = ["{version}"]\ninstall = []'
    )
    project.commit("one", **{"work.py": "import sys; assert sys.prefix != sys.base_prefix"})
    project.commit("two", other="x")
    perf("collect", "HEAD~1", "HEAD")
    (profile,) = stored()
    assert profile.job.params == {"python": version}
    assert profile.job.label == f"work python={version}"
    assert profile.environment.fields["python"].startswith("CPython ")
    assert len(list((project.root / ".perf" / "python").glob("py*/bin"))) == 1, (
        "equal environments are shared"
    )


def test_environments_beyond_keep_go_and_status_and_gc_say_what_they_take(
    project: Project, perf: Perf
) -> None:
    project.configure('cmd = "python -c 1"', top="[python]\ninstall = []\nkeep = 1")
    project.commit("one")
    perf("collect")
    home = project.root / ".perf/python"
    (place,) = home.glob("py*/")
    other = place.with_name(f"{place.name[:-1]}{'0' if place.name[-1] != '0' else '1'}")
    other.mkdir()
    (other / ".complete").write_text('{"installed": [], "bytes": 2000000}')
    said = perf("status").out
    assert "2 virtual environments take " in said
    assert "([python] keep = 1; `perf gc` enforces it)" in said
    assert perf("status", "--json").document["pythons"]["environments"] == 2
    with hold(project.root / ".perf/lock"):
        assert "are kept, since a measurement is running here" in perf("gc").out
    assert len(list(home.glob("py*/"))) == 2
    assert re.search(r"virtual environments take [\d,]+ bytes now, [\d,]+ before", perf("gc").out)
    assert len(list(home.glob("py*/"))) == 1
    assert "1 virtual environment takes " in perf("status").out


def test_a_link_in_the_overlay_measures_old_revisions_too(project: Project, perf: Perf) -> None:
    project.write("bench/work.sh", "exit 1")
    project.configure('cmd = "sh bench/work.sh"', top='overlay = ["bench"]')
    project.commit("a folder")
    (project.root / "bench" / "work.sh").unlink()
    (project.root / "bench").rmdir()
    project.write("newest/work.sh", "exit 0")
    (project.root / "bench").symlink_to("newest")
    project.commit("a link")
    perf("collect", "HEAD~1", "HEAD")
    perf("collect")
    assert (project.root / "bench").is_symlink()


def test_a_link_in_a_folder_of_the_overlay_leads_to_the_revisions_own_file(
    project: Project, perf: Perf
) -> None:
    (project.root / "bench").mkdir()
    (project.root / "bench" / "work.sh").symlink_to("../lib.sh")
    project.configure('cmd = "sh bench/work.sh"', top='overlay = ["bench"]')
    project.commit("fails", **{"lib.sh": "exit 1"})
    project.commit("works", **{"lib.sh": "exit 0"})
    assert "1 failure" in perf("collect", "HEAD~1", "HEAD", code=5).err
    project.commit("works otherwise", **{"lib.sh": "true"})
    perf("collect", "HEAD")
    sources = {profile.job.source["bench"] for profile in [*stored("HEAD~1"), *stored()]}
    assert len(sources) == 1, "what the link leads to is no part of the benchmark"


@pytest.mark.parametrize("entry", [".git", ".perf", "./.git/hooks", "a/..", "a/../../b", "link"])
def test_what_is_not_part_of_the_project_is_no_overlay(
    project: Project, perf: Perf, entry: str
) -> None:
    (project.root / "link").symlink_to(".git")
    project.configure('cmd = "true"', top=f'overlay = ["{entry}"]')
    project.commit("one")
    assert "is not part of the project" in perf("collect", "HEAD", code=2).err


def test_an_overlay_that_finds_a_file_in_its_way_gives_up_that_revision(
    project: Project, perf: Perf
) -> None:
    project.configure('cmd = "true"', top='overlay = ["a/b"]')
    old = project.commit("one", a="a file")
    (project.root / "a").unlink()
    project.write("a/b", "x")
    project.commit("two")
    assert "has no place in this revision" in perf("collect", old, "HEAD", code=5).err
    assert len(stored()) == 1


def test_an_overlay_of_what_cannot_be_copied_says_so(project: Project, perf: Perf) -> None:
    project.configure('cmd = "true"', top='overlay = ["bench"]')
    project.commit("one")
    project.write("bench/file", "x")
    project.commit("two")
    os.mkfifo(project.root / "bench" / "pipe")
    assert "named pipe" in perf("collect", "HEAD~1", "HEAD", code=5).err


def test_a_revision_is_measured_from_a_branch_without_commits(project: Project, perf: Perf) -> None:
    project.configure('cmd = "true"')
    project.commit("one")
    project.git("checkout", "--quiet", "--orphan", "empty")
    perf("collect", "main")
    assert len(stored("main")) == 1
    assert "this branch has no commits yet" in perf("collect", code=2).err


def test_a_file_in_the_place_of_our_folder_is_named(project: Project, perf: Perf) -> None:
    project.commit("one")
    project.write(".perf", "")
    assert "is not a folder" in perf("collect", "--", "true", code=10).err

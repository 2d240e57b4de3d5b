"""`perf init` says what in its commands removes, downloads or installs, before it runs any, and runs
nothing that nobody has agreed to.
"""

from __future__ import annotations

import time

import pytest
from conftest import Perf, Project

from perfvcs.jobs.hazards import hazards
from perfvcs.jobs.proposals import proposals
from perfvcs.jobs.starter import Proposal

LOOP = "for round in 1 2 3; do echo $round; done\n"


def named(project: Project, cmd: str, *build: str) -> list[str]:
    found = hazards(project.root, Proposal("x", cmd, "x", build))
    return [f"{hazard.place} {hazard.what}" for hazard in found]


@pytest.mark.parametrize(
    ("line", "what"),
    [
        ("rm -rf libs", "removes"),
        ("test -d x && rm x", "removes"),
        ("find . -name '*.o' -delete", "removes"),
        ("curl -sS -o a.lua https://example.org/a.lua", "downloads"),
        ("(cd x; wget example.org)", "downloads"),
        ("python -m pip install numpy", "installs"),
        ("npm install --silent", "installs"),
        ("sudo make install", "asks for root"),
        ("git -C .. reset --hard", "changes the repository"),
        ("git push origin main", "changes the repository"),
        ("echo 1 > /etc/motd", "writes outside the project"),
        ("./bench >>~/log", "writes outside the project"),
        ("./bench > ../out", "writes outside the project"),
        ("/usr/local/bin/rm -rf /srv", "removes"),
        ("//bin/rm -rf /srv", "removes"),
        ("./bench > /dev/null 2>&1", ""),
        ("./bench > out.txt", ""),
        ("if ./bench > /tmp/out_log 2> /tmp/err.log; then true; fi", ""),
        ("./bench > /tmp/../etc/motd", "writes outside the project"),
        ("./bench > /tmp/out > /etc/motd", "writes outside the project"),
        ("# rm -rf libs", ""),
        ("echo warm", ""),
        ("./perform --trim --curly", ""),
        ("git log -1", ""),
    ],
)
def test_lines_that_do_something_beside_measuring_are_named(
    project: Project, line: str, what: str
) -> None:
    project.write("bench/run.sh", f"set -e\n{line}\n{LOOP}")
    assert named(project, "sh bench/run.sh") == ([f"bench/run.sh:2 {what}"] if what else [])


def test_what_a_script_starts_is_searched_too(project: Project) -> None:
    project.write("bench/run.sh", "sh ./prepare.sh\n./tools/get.sh\n")
    project.write("bench/prepare.sh", "rm old\n")
    project.write("tools/get.sh", "\n\ncurl x\n")
    assert named(project, "sh bench/run.sh") == [
        "bench/prepare.sh:1 removes",
        "tools/get.sh:3 downloads",
    ]


def test_what_a_loop_runs_over_is_searched(project: Project) -> None:
    project.write("all-tests.sh", "for test in parts/*.sh; do ./$test; done\n")
    project.write("parts/first.sh", "true\n")
    project.write("parts/second.sh", "true\nrm -rf data\n")
    assert named(project, "sh all-tests.sh") == ["parts/second.sh:2 removes"]


def test_of_a_makefile_only_what_a_target_needs_is_searched(project: Project) -> None:
    project.write(
        "Makefile",
        "all: x\nbench: x\n\t./x\nx: data\n\tcc -o x x.c\ndata:\n\twget example.org\n"
        "clean:\n\trm -f x\ncheck:\n\tsh test.sh\n",
    )
    project.write("test.sh", "sudo true\n")
    assert named(project, "make bench") == ["Makefile:7 downloads"]
    assert named(project, "./x", "make -j2") == ["Makefile:7 downloads"]
    assert named(project, "make check") == ["test.sh:1 asks for root"]
    assert named(project, "make clean") == ["Makefile:9 removes"]


@pytest.mark.parametrize(
    "recipe",
    [
        "$(MAKE) -C tests run",
        "cd tests && ${MAKE} run",
        "make -s -C tests V=1 run",
        "cd tests; make run",
        "cd 'tests' && ./configure && $(MAKE) run",
        "$(MAKE) $(FLAGS) -j 2 --directory=$(PLACE) run >log",
        "for d in src $(PLACE); do (cd $$d && $(MAKE) run) || exit 1; done",
    ],
)
def test_what_make_is_called_for_again_is_searched(project: Project, recipe: str) -> None:
    project.write("Makefile", f"PLACE = tests\ncheck:\n\t{recipe}\nagain:\n\t$(MAKE) again\n")
    project.write("tests/Makefile", "run:\n\tsh get.sh\n\trm -f x\nclean:\n\trm -f y\n")
    project.write("tests/get.sh", "curl x\n")
    found = ["tests/Makefile:3 removes", "tests/get.sh:1 downloads"]
    assert named(project, "make check") == found
    assert named(project, "env -C tests make run") == found
    assert named(project, "make again") == []


@pytest.mark.parametrize(
    "call", ["-f mk/x.mk", "-fmk/x.mk", "--file=mk/x.mk", "--makefile mk/x.mk"]
)
def test_a_makefile_of_another_name_is_searched(project: Project, call: str) -> None:
    project.write("Makefile", f"run:\n\ttrue\ncheck:\n\t$(MAKE) {call} run\n")
    project.write("mk/x.mk", "run:\n\trm -f x\n")
    assert named(project, f"make {call} run") == ["mk/x.mk:2 removes"]
    assert named(project, "make check") == ["mk/x.mk:2 removes"]
    assert named(project, "make run") == []


def test_what_a_makefile_includes_is_searched(project: Project) -> None:
    project.write("Makefile", "PARTS = mk\ninclude $(PARTS)/*.mk\n-include none.mk /etc/x.mk\n")
    project.write("mk/a.mk", "include mk/b.mk Makefile\nbench: data ; sudo true\n")
    project.write("mk/b.mk", "data:\n\tcurl x\n")
    found = ["mk/a.mk:2 asks for root", "mk/b.mk:2 downloads"]
    assert named(project, "make bench") == found
    project.write("Makefile", "include mk**/*.mk mk/b**.mk **\n")
    assert named(project, "make data") == ["mk/b.mk:2 downloads"]
    project.write("Makefile", "bench:\n\tmake -f a\0b x; make -C a\0b x\n\tsudo true\n")
    assert named(project, "make bench") == ["Makefile:3 asks for root"]
    project.write("tests/Makefile", "sinclude ../mk/b.mk\n")
    assert named(project, "make -C tests data") == ["mk/b.mk:2 downloads"]


def test_a_script_above_the_folder_of_its_command_is_searched(project: Project) -> None:
    project.write("tools/run-tests.py", "import os\nshutil.rmtree(path)\n")
    found = ["tools/run-tests.py:2 removes"]
    assert named(project, "env -C build python3 ../tools/run-tests.py") == found
    assert named(project, "env -C build python3 ../../tools/run-tests.py") == []


def test_a_target_may_be_called_like_its_folder(project: Project) -> None:
    project.write("Makefile", "check:\n\t$(MAKE) -C .ci/check $@\nout:\n\t$(MAKE) -C .. x\n")
    project.write(".ci/check/Makefile", "all:\n\trm -f a\ncheck:\n\trm -f c\n")
    assert named(project, "make check") == [".ci/check/Makefile:4 removes"]
    assert named(project, "make -C .ci/check") == [".ci/check/Makefile:2 removes"]
    assert named(project, "make out") == []


def test_scripts_of_npm_are_searched(project: Project) -> None:
    project.write(
        "package.json",
        '{\n "scripts": {\n  "prebench": "rm -rf dist",\n  "bench": "node b.js",\n'
        '  "postinstall": "curl x"\n }\n}\n',
    )
    assert named(project, "npm run --silent bench") == ["package.json:3 removes"]
    assert named(project, "npm test", "npm ci --no-audit") == ["package.json:5 downloads"]
    assert named(project, "node b.js", "npm install --ignore-scripts") == []
    project.write("package.json", '{"scripts": {"x": 1, "test": "rm -rf ~/\\"a\\" && node b.js"}}')
    assert named(project, "npm test") == ["package.json:1 removes"]


@pytest.mark.parametrize(
    ("files", "hazard"),
    [
        (
            {
                "package.json": '{"scripts": {"test": "rimraf /srv/x"},'
                ' "devDependencies": {"rimraf": "*"}}'
            },
            "package.json removes: node_modules/.bin/rimraf /srv/x",
        ),
        (
            {"Makefile": "bench:\n\trm -rf /srv/x -o bench\n\t./bench\n"},
            "Makefile removes: rm -rf /srv/x -o bench",
        ),
        (
            {"Makefile": "GET = curl\nbench:\n\t$(GET) https://x -o bench\n\t./bench\n"},
            "Makefile downloads: curl https://x -o bench",
        ),
        (
            {"Makefile": "bench:\n\t//bin/rm -rf /srv/x -o bench\n\t./bench\n"},
            "Makefile removes: //bin/rm -rf /srv/x -o bench",
        ),
        (
            {"Makefile": f"bench:\n\tcc {'a.c ' * 400} -o bench\n\t./bench sudo x\n"},
            "Makefile asks for root: ./bench sudo x",
        ),
    ],
)
def test_what_a_command_took_from_a_file_is_searched(
    project: Project, files: dict[str, str], hazard: str
) -> None:
    for path, text in files.items():
        project.write(path, text)
    assert hazard in map(str, hazards(project.root, proposals(project.root)[0]))


def test_a_command_that_stands_in_a_file_is_shown_whole(project: Project, perf: Perf) -> None:
    cmd = f"node a.js {'--quick ' * 20}--last"
    project.commit(**{"package.json": f'{{"scripts": {{"test": "{cmd}"}}}}', "a.js": "\n"})
    assert f"  1  {cmd}  after npm install" in perf("init").out


def test_other_languages_are_searched_for_what_they_start(project: Project) -> None:
    project.write(
        "bench/a.py", 'import subprocess\nsubprocess.run(["curl", "x"])\nif 2 > /x: pass\n'
    )
    project.write("bench/b.js", 'fs.rmSync("out")\n')
    assert named(project, "python bench/a.py") == ["bench/a.py:2 downloads"]
    assert named(project, "node bench/b.js") == ["bench/b.js:1 removes"]


def test_without_a_terminal_nothing_runs_unless_somebody_says_yes(
    project: Project, perf: Perf
) -> None:
    ran = project.root.parent / "ran"
    project.write("bench/run.sh", f"touch {ran}\n{LOOP}")
    project.commit()
    said = perf("init")
    assert "  1  sh bench/run.sh\n" in said.out
    assert "nothing was run: `perf init --yes` tries them without asking" in said.out
    assert "wrote perf.toml: found the benchmark bench/run.sh (not tried)" in said.out
    assert said.err == "" and not ran.exists()
    (project.root / "perf.toml").unlink()
    assert "trying `sh bench/run.sh`" in perf("init", "--yes").err
    assert ran.exists()


def test_a_benchmark_that_removes_files_is_not_run_by_yes_alone(
    project: Project, perf: Perf
) -> None:
    project.write("bench/bench_all.sh", f"rm -rf ../../out\n{LOOP}")
    project.write("tests/test_a.py", "def test_a():\n    pass\n")
    project.commit(**{"a.py": "x = 1\n" * 9})
    said = perf("init", "--yes")
    assert "     careful: bench/bench_all.sh:1 removes: rm -rf ../../out\n" in said.out
    assert "--yes leaves out those that say careful" in said.out
    assert "bench_all" not in said.err and "trying `python -m pytest tests`" in said.err


def test_of_benchmarks_beside_each_other_yes_runs_those_that_do_nothing_else(
    project: Project, perf: Perf
) -> None:
    measured = "import timeit\n\nprint(timeit.timeit('1', number=9))\n"
    precious = project.root / "precious"
    precious.mkdir()
    project.commit(
        "first",
        **{
            "bench/bench_a.py": f"import shutil\n\nshutil.rmtree({str(precious)!r})\n{measured}",
            "bench/bench_b.py": measured,
        },
    )
    said = perf("init", "--yes")
    assert "found 1 benchmark, without bench_a\n" in said.out
    assert precious.exists()
    assert "bench_a" not in (project.root / "perf.toml").read_text().partition("[[job]]")[2]


def test_what_was_not_tried_for_its_hazards_says_so_where_it_is_written(
    project: Project, perf: Perf
) -> None:
    project.write("bench/bench_all.sh", f"{LOOP}sudo true\n")
    project.commit()
    said = perf("init", "--yes")
    assert "(not tried); careful: bench/bench_all.sh:2 asks for root: sudo true\n" in said.out
    written = (project.root / "perf.toml").read_text()
    assert "# found the benchmark bench/bench_all.sh; careful: bench/bench_all.sh:2 asks" in written


def test_without_commits_nothing_is_tried(project: Project, perf: Perf) -> None:
    project.write("bench/run.sh", LOOP)
    said = perf("init", "--yes")
    assert "wrote perf.toml: found the benchmark bench/run.sh (not tried)" in said.out
    assert said.err == ""


def test_long_scripts_are_searched_at_once_and_what_is_not_searched_is_named(
    project: Project,
) -> None:
    line = f"echo {'rm' * 400} {'> ' * 50}\n"
    project.write("bench/run.sh", line * 1000 + "rm x\n")
    began = time.process_time()
    assert named(project, "sh bench/run.sh") == ["bench/run.sh:1001 removes"]
    assert time.process_time() - began < 5
    project.write("bench/run.sh", line * 2000 + "rm x\n")
    assert named(project, "sh bench/run.sh") == ["bench/run.sh:0 is not searched to its end"]


def test_a_script_that_runs_in_its_own_folder_is_searched(project: Project) -> None:
    project.write("bench/run.sh", "rm x\n")
    assert named(project, "env -C bench sh run.sh") == ["bench/run.sh:1 removes"]

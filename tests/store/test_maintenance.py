"""`perf rm`, `fsck`, `gc`, `import` and `init`."""

import os
from pathlib import Path

import pytest
from conftest import Perf, Project
from samples import noisy, sample_profile

from perfvcs.jobs import matrix
from perfvcs.jobs.config import load
from perfvcs.profile import Job
from perfvcs.repository import Repository


@pytest.fixture
def commit(project: Project) -> str:
    """A commit with two profiles."""
    head = project.commit()
    other = Job(name="parse", collector="time", cmd="./parse")
    Repository.find(create=True).store.add(
        [
            sample_profile(noisy(0.01), commit=head),
            sample_profile(noisy(0.02), commit=head, job=other),
        ],
        "test",
    )
    return head


def paths() -> list[str]:
    return Repository.find().store.paths()


def test_profiles_of_a_revision_are_removed(commit: str, perf: Perf) -> None:
    assert perf("rm", "--dry-run", "HEAD").out.count("would remove") == 2
    assert len(paths()) == 2
    assert perf("rm", "HEAD", "-j", "parse").out.count("removed") == 1
    assert "time-sort-" in paths()[0]
    perf("rm", commit[:8])
    assert paths() == []
    assert "perf log" in perf("rm", "HEAD", code=2).err


def test_single_profiles_are_removed_by_their_path(commit: str, perf: Perf) -> None:
    first, second = paths()
    perf("rm", first)
    assert paths() == [second]
    assert "not a revision" in perf("rm", "nonsense", code=2).err
    assert commit in second


@pytest.mark.usefixtures("commit")
def test_fsck_tells_a_whole_store_and_rebuilds_the_index(project: Project, perf: Perf) -> None:
    (project.root / ".perf" / "index.db").write_bytes(b"not a database")
    assert perf("fsck").out == "2 profiles can be read, all intact; the index is rebuilt\n"
    assert perf("fsck", "--json").document == {"profiles": 2, "problems": []}


@pytest.mark.usefixtures("commit")
def test_fsck_names_what_is_damaged_and_the_others_can_be_used(
    project: Project, perf: Perf
) -> None:
    store = project.root / ".perf" / "store"
    blob = project.git("-C", str(store), "rev-parse", f"main:{paths()[0]}")
    loose = store / "objects" / blob[:2] / blob[2:]
    loose.chmod(0o600)
    loose.write_bytes(b"garbage" * 10)
    said = perf("fsck", code=12)
    assert paths()[0] in said.out
    assert "1 profile can be read" in said.out
    assert "`perf fsck --restore` goes back to its last whole state" in said.err
    assert "1 damaged" in perf("status").out
    assert "wrote" in perf("show", "--no-open").out, "what is whole is drawn"
    perf("rm", paths()[0])
    assert len(paths()) == 1


@pytest.mark.usefixtures("commit")
def test_gc_packs_the_store(perf: Perf) -> None:
    assert "bytes" in perf("gc").out
    assert "all intact" in perf("fsck").out


@pytest.mark.usefixtures("project")
def test_files_are_imported_and_broken_ones_do_not_stop_the_others(
    project: Project, perf: Perf, tmp_path: Path
) -> None:
    head = project.commit()
    good, bad = tmp_path / "good.json", tmp_path / "bad.json"
    good.write_bytes(sample_profile(commit=head).encode())
    bad.write_bytes(sample_profile(commit=head).encode().replace(b"0.011", b'"x"'))
    said = perf("import", str(bad), str(good), str(tmp_path / "none.json"), code=None)
    assert said.code in (2, 12)
    assert "stored 1 profile" in said.out
    assert "$.resources.wall[1]" in said.err
    assert "none.json" in said.err
    assert len(paths()) == 1


def test_a_store_that_cannot_be_written_is_reported_in_one_line(
    project: Project, perf: Perf
) -> None:
    project.configure('cmd = "true"')
    project.commit()
    perf("init")
    # the tests may run as root, whom permissions do not stop: a store without its objects does
    objects = project.root / ".perf" / "store" / "objects"
    objects.rename(objects.with_name("kept"))
    objects.mkdir()
    said = perf("collect", code=12)
    assert "is not a complete store" in said.err
    assert [
        line for line in said.err.splitlines() if line.startswith("perf: ")
    ] == said.err.splitlines()[-1:]


def test_init_makes_the_folder_and_a_configuration_and_keeps_both(
    project: Project, perf: Perf
) -> None:
    project.commit()
    assert "wrote perf.toml" in perf("init").out
    assert project.git("status", "--porcelain") == "?? perf.toml"
    project.write("perf.toml", "# mine\n")
    assert "kept perf.toml" in perf("init").out
    assert (project.root / "perf.toml").read_text() == "# mine\n"


@pytest.mark.parametrize("name", ["a\"b'c d.py", "a\nb.py", "a\udcffb.py", "a\x7fb.py", "{n}.sh"])
def test_whatever_a_script_is_called_the_first_configuration_can_be_read(
    project: Project, perf: Perf, name: str
) -> None:
    (project.root / "bench").mkdir()
    (project.root / "bench" / name).touch()
    perf("init")
    assert matrix(load(project.root / "perf.toml"))


def test_a_folder_called_like_a_file_of_a_build_system_is_none(
    project: Project, perf: Perf
) -> None:
    (project.root / "Cargo.toml").mkdir()
    assert "found nothing to run" in perf("init").out


TIMED = "from time import perf_counter\nbegin = perf_counter()\nprint(perf_counter() - begin)\n"


@pytest.mark.parametrize(
    ("files", "cmd", "build"),
    [
        ({}, "./benchmark", ()),
        ({"Makefile": ""}, "./benchmark", ()),
        ({"Makefile": "CC := cc\nall:\nbench: all\n"}, "make bench", ("make -j2",)),
        ({"configure": "", "Makefile": "check:\n"}, "make bench", ("./configure", "make -j2")),
        (
            {
                "CMakeLists.txt": (
                    "cmake_dependent_option(MY_BUILD_TESTS x OFF)\noption(MY_WITHOUT_TESTS"
                    " x)\noption(TEST_WITH_VALGRIND x)\nenable_testing()\nadd_test(NAME a COMMAND a)"
                )
            },
            "ctest --test-dir build --no-tests=error",
            (
                "cmake -S . -B build -DCMAKE_BUILD_TYPE=Release -DMY_BUILD_TESTS=ON",
                "cmake --build build -j2",
            ),
        ),
        (
            {
                "CMakeLists.txt": "option(MY_BENCHMARKS x OFF)",
                "perf/CMakeLists.txt": "add_executable( sort_bench sort.cc)",
            },
            "build/perf/sort_bench",
            (
                "cmake -S . -B build -DCMAKE_BUILD_TYPE=Release -DMY_BENCHMARKS=ON",
                "cmake --build build -j2 --target sort_bench",
            ),
        ),
        (
            {"meson.build": "benchmark('sort', sort)"},
            "meson test -C build --benchmark",
            ("meson setup build --buildtype=release", "ninja -C build"),
        ),
        (
            {"Cargo.toml": '[package]\nname = "fast"\n', "src/lib.rs": "/// ```\n/// ```\n"},
            "cargo test --release --quiet",
            ("cargo test --release --quiet --no-run",),
        ),
        (
            {"Cargo.toml": '[package]\nname = "fast"\n', "benches/a.rs": ""},
            "cargo bench --quiet --bench a",
            ("cargo bench --no-run --bench a",),
        ),
        ({"go.mod": "", "a.go": "package main\n"}, "go run . --help", ("go build ./...",)),
        (
            {"go.mod": "", "sort/a_test.go": "func BenchmarkSort(b *testing.B) {"},
            "env -C sort ./bench.test -test.run ^$ -test.bench . -test.benchtime 200ms",
            ("go test -c -o ./sort/bench.test ./sort",),
        ),
        (
            {"package.json": '{"scripts": {"bench": "node x.js"}}', "x.js": "\n"},
            "node x.js",
            ("npm install --no-audit --no-fund",),
        ),
        (
            {
                "package.json": '{"scripts": {"test": "node x.js"}}',
                "package-lock.json": "{}",
                "x.js": "\n",
            },
            "node x.js",
            ("npm ci --no-audit --no-fund",),
        ),
        (
            {"package.json": "not JSON"},
            "node -e \"import('./index.js').catch(() => require('.'))\"",
            (),
        ),
        ({"pyproject.toml": "", "tests/test_a.py": ""}, "python -m pytest tests", ()),
        (
            {"pyproject.toml": "", "demo/__init__.py": "", "demo/tests/parse_test.py": ""},
            "python -m pytest demo/tests",
            (),
        ),
        (
            {"pyproject.toml": "", "benchmarks/test_a.py": ""},
            "python -m pytest --benchmark-disable benchmarks",
            (),
        ),
        (
            {"pyproject.toml": "", "src/mypackage/__init__.py": ""},
            'python -c "import mypackage"',
            (),
        ),
        ({"setup.py": "", "benchmarks/parse.py": TIMED}, "python benchmarks/parse.py", ()),
        ({"bench_sort.py": TIMED}, "python bench_sort.py", ()),
        (
            {"bench/run all.sh": "for size in 10 100; do time ./sort $size; done\n"},
            "sh 'bench/run all.sh'",
            (),
        ),
    ],
)
def test_the_first_configuration_fits_the_project(
    project: Project, perf: Perf, files: dict[str, str], cmd: str, build: tuple[str, ...]
) -> None:
    for name, text in files.items():
        project.write(name, text)
    perf("init")
    config = load(project.root / "perf.toml")
    assert matrix(config)[0].cmd == cmd
    assert config.build == build
    assert (config.python is not None) == any(
        name in files for name in ("setup.py", "pyproject.toml")
    )
    assert all((project.root / entry).exists() for entry in config.overlay)


def test_nothing_is_removed_by_a_name_that_many_profiles_share(commit: str, perf: Perf) -> None:
    assert "not a revision" in perf("rm", "time", code=2).err
    assert "not a revision" in perf("rm", "time-sort", code=2).err
    first, second = paths()
    perf("rm", first.rpartition("-")[2].removesuffix(".json"))
    assert paths() == [second]
    assert commit in second


@pytest.mark.usefixtures("project")
def test_a_command_that_is_no_unicode_is_refused(project: Project, perf: Perf) -> None:
    project.commit()
    assert "not UTF-8" in perf("collect", "--", os.fsdecode(b"./pro\xffgram"), code=2).err

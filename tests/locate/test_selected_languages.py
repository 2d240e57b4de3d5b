"""Changed programs in languages that `perf select` knows by file only."""

from __future__ import annotations

import pytest

JOBS = """
[[job]]
name = "python"
cmd = "python py/work.py"

[[job]]
name = "perl"
cmd = "perl pl/work.pl"
"""
WORK = "def work():\n    return 1\n\n\nwork()\n"


@pytest.fixture
def chosen(project, perf):
    """What is said of each job where a file changes: whether it is kept, and why."""

    def chosen(changed: str, config: str = "", **files: str) -> dict[str, tuple[bool, str]]:
        project.write("perf.toml", f"{config}{JOBS}")
        first = {"py/work.py": WORK, "pl/work.pl": "print 1;\n", changed: "old\n", **files}
        project.commit("first", **first)
        project.commit("change", **{changed: "new\n"})
        found = perf("select", "--json", "HEAD~1..HEAD").document
        rows = found["benchmarks"]
        return {row["job"]: (row["run"], row["reason"]) for row in rows}

    return chosen


def test_a_program_keeps_the_job_beside_it_and_one_whose_language_is_not_read(chosen) -> None:
    found = chosen("pl/lib/Work.pm")
    assert found["perl"] == (
        True,
        "pl/lib/Work.pm changed, in the folder of pl/work.pl, and is known by file only",
    )
    assert found["python"] == (False, "nothing that it runs names pl/lib/Work.pm or is beside it")


def test_a_job_whose_language_is_not_read_is_never_called_untouched(chosen) -> None:
    kept, reason = chosen("js/index.js")["perl"]
    assert kept and reason.endswith("what `perl` runs cannot be seen without running it")


@pytest.mark.parametrize(
    ("changed", "config", "files"),
    [
        ("py/static/app.js", "", {}),  # beside what the job runs
        ("src/lib.rs", 'build = ["true"]\n', {}),
        ("tools/make.rb", 'build = ["ruby tools/make.rb"]\n', {}),
        ("js/a.js", "", {"py/work.py": "print(open('js/a.js').read())\n"}),
        ("js/a.js", "", {"py/work.py": "import glob\nprint(glob.glob('js/*'))\n"}),
        ("js/a.js", "", {"py/work.py": "import subprocess\nsubprocess.run(['node'])\n"}),
    ],
)
def test_what_may_read_a_program_is_kept(chosen, changed, config, files) -> None:
    assert chosen(changed, config, **files)["python"][0]


def test_a_document_in_another_language_is_none_of_a_job(chosen) -> None:
    assert not any(kept for kept, _ in chosen("docs/site.js").values())


@pytest.mark.usefixtures("chosen")
def test_a_record_older_than_a_changed_program_is_not_trusted(project, perf) -> None:
    project.write("perf.toml", JOBS.partition('[[job]]\nname = "perl"')[0])
    project.commit("first", **{"py/work.py": WORK, "js/a.js": "1\n"})
    assert perf("collect", "-n", "1", "-q").code == 0
    project.commit("js", **{"js/a.js": "2\n"})
    project.commit("other", **{"py/other.py": "def other():\n    return 2\n"})
    (row,) = perf("select", "--json", "HEAD~1..HEAD").document["benchmarks"]
    assert row["run"] and "js/a.js changed, which is known by file only" in row["reason"]


@pytest.mark.parametrize("choosing", ["-test.bench .", "-test.run=. -test.bench=."])
def test_what_chooses_benchmarks_is_no_folder(project, perf, choosing) -> None:
    """As `perf init` writes it for Go."""
    project.write(
        "perf.toml",
        'build = ["go test -c -o bench.test ."]\n'
        f'[[job]]\nname = "bench"\ncmd = "./bench.test {choosing}"\nreads = "go"\n',
    )
    files = {"README.md": "old\n", "m.go": "package m\n"}
    for changed, kept in (("README.md", False), ("m.go", True)):
        project.commit("first", **files)
        project.commit("change", **{changed: "package m // new\n"})
        (row,) = perf("select", "--json", "HEAD~1..HEAD").document["benchmarks"]
        assert row["run"] == kept

"""`perf blame` of what no parser reads: hunks of any text, and files that are no texts."""

from __future__ import annotations

import pytest
from test_blame import unwrapped

from perfvcs.git.project import Project as Git
from perfvcs.jobs import matrix
from perfvcs.jobs.config import load
from perfvcs.locate.blame import experiments
from perfvcs.locate.blame.jobfiles import OTHER, OWN, SAME_LANGUAGE, JobFiles
from perfvcs.locate.blame.places import files_of
from perfvcs.locate.blame.reversals import Reversals, reverted
from perfvcs.locate.sources.hunks import difference

JOB = '[[job]]\nname = "work"\ncmd = "{}"\ntimeout = "60s"\n'
AWK = """# Counts.
function most(text) {
    return length(text)
}
function total(count) {
    sum = 0
    for (n = 0; n < count; n++)
        sum += most("abc" n)
    return sum
}
BEGIN {
    print total(3000)
}
"""


def commit(project, message, **files):
    """A commit of files whose names may have a folder (``__``) and a suffix (``_``)."""
    names = {name.replace("__", "/").replace("_", "."): text for name, text in files.items()}
    return project.commit(message, **names)


def compared(project):
    git = Git.find(project.root)
    return git, difference(git, git.resolve("HEAD~1"), git.resolve("HEAD"))


@pytest.mark.needs("awk", "valgrind")
def test_the_hunk_of_a_text_is_named_and_proved_among_others(project, perf):
    project.write("perf.toml", JOB.format("awk -f count.awk"))
    commit(project, "first", count_awk=AWK, other_rb="puts 1\n")
    slower = AWK.replace(
        "    return length(text)\n",
        "    for (place = 0; place < 30; place++)\n        text = text substr(text, 1, 1)\n"
        "    return length(text)\n",
    ).replace("sum", "all")
    commit(project, "slower", count_awk=slower, other_rb="puts 2\n", README_md="Count.\n")
    said = unwrapped(perf("blame", "work", "-q").out)
    assert said[0].startswith("work: +") and " instructions (" in said[0]
    assert said[1] == "cause: lines 3-4 of count.awk"
    assert said[2] == "hunk:  count.awk:3-4 (-0 +2)"
    assert said[3].startswith("proof: proved: ")
    assert "also:  1 other file changed: README.md" in said
    found = perf("blame", "--stored", "--json").document
    ranked = [(one["path"], one["name"]) for one in found["suspects"]]
    assert ranked[-1][0] == "other.rb" and ("count.awk", "lines 3-4") in ranked
    sarif = perf("blame", "--stored", "--sarif").document
    (place,) = sarif["runs"][0]["results"][0]["locations"]
    assert place["physicalLocation"]["region"] == {"startLine": 3, "endLine": 4}


@pytest.mark.needs("awk", "valgrind")
def test_of_many_hunks_the_one_is_found_by_halves(project, perf):
    functions = [f"function f{number}() {{\n    return {number}\n}}\n" for number in range(24)]
    calls = "".join(f"    f{number}()\n" for number in range(24))
    program = "".join(functions) + f"BEGIN {{\n{calls}}}\n"
    project.write("perf.toml", JOB.format("awk -f many.awk"))
    commit(project, "first", many_awk=program)
    changed = program.replace("return 1", "return 7")
    loop = "for (n = 0; n < 20000; n++) m += n; return 13"
    commit(project, "slower", many_awk=changed.replace("return 73", loop))
    found = perf("blame", "work", "-q", "--json").document
    assert found["verdict"] == "proved" and found["changed"] == 11
    assert [one["name"] for one in found["trials"]] == ["line 41"]


@pytest.mark.needs("valgrind")
def test_a_file_that_is_no_text_is_taken_back_as_a_whole(project, perf):
    project.write("perf.toml", JOB.format("sha1sum data.bin"))
    (project.root / "data.bin").write_bytes(b"\0" * 100_000)
    commit(project, "first", NEWS_md="One.\n")
    (project.root / "data.bin").write_bytes(b"\0" * 900_000)
    (project.root / "link.bin").symlink_to("data.bin")
    commit(project, "more", NEWS_md="Two.\n")
    said = unwrapped(perf("blame", "work", "-q").out)
    assert said[1] == "cause: data.bin as a whole"
    assert said[2].startswith("proof: proved: ")
    assert "also:  2 other files changed: NEWS.md, link.bin" in said


def test_hunks_of_texts_are_units_and_blank_lines_are_not(project):
    commit(project, "before", a_awk="one\ntwo\nthree\nfour\n")
    commit(project, "after", a_awk="1\ntwo\nthree\n\n  \nfour  \nfive\n")
    _, changes = compared(project)
    assert [unit.name for unit in changes.meaning] == ["line 1", "lines 4-7"]
    commit(project, "layout", a_awk="1\ntwo\n\nthree\n\n  \nfour\nfive\n")
    assert compared(project)[1].meaning == []


@pytest.mark.parametrize("ending", [b"\n", b"\r\n"])
def test_bytes_that_are_not_utf_8_come_back_as_they_were(project, ending: bytes) -> None:
    lines = [b"# caf\xe9", b"a = 1", b"b = 2", b"c = 3", b"d = 4 \xff"]
    place = project.root / "a.conf"
    place.write_bytes(ending.join([*lines, b""]))
    project.commit("before")
    place.write_bytes(ending.join([*lines[:1], b"a = \xe9", *lines[2:4], b"d = 5", b""]))
    project.commit("after")
    git, changes = compared(project)
    first = changes.units["a.conf:line 2"]
    reversal = Reversals(changes).of(first)[0]
    texts = reverted(changes, reversal.hunks)
    made = experiments.commit(git, project.root, git.resolve("HEAD"), texts)
    project.git("checkout", "--quiet", made)
    assert place.read_bytes() == ending.join([*lines[:4], b"d = 5", b""])


def test_what_a_hunk_of_a_text_needs_comes_back_with_it(project):
    before = "my $sum = 0;\n$sum += 1;\nprint $sum;\n1;\n2;\n3;\n4;\n5;\nf(1);\n"
    after = before.replace("sum", "total").replace("f(1)", "f(2)")
    commit(project, "before", a_tcl=before)
    commit(project, "after", a_tcl=after)
    _, changes = compared(project)
    name = next(iter(changes.units.values()))
    assert (name.name, changes.units["a.tcl:line 9"].means) == ("lines 1-3", True)
    commit(project, "before", b_tcl="set sum 0\n\n\n\n\nuse $sum\n\n\n\n\nf 1\n")
    commit(project, "after", b_tcl="set all 0\n\n\n\n\nuse $all\n\n\n\n\nf 2\n")
    _, changes = compared(project)
    taken = Reversals(changes).of(changes.units["b.tcl:line 6"])[0]
    assert [hunk.name for hunk in taken.hunks["b.tcl"]] == ["line 1", "line 6"]
    alone = Reversals(changes).of(changes.units["b.tcl:line 11"])[0]
    assert [hunk.name for hunk in alone.hunks["b.tcl"]] == ["line 11"]


def test_a_text_that_was_renamed_and_changed_keeps_its_new_name(project):
    text = "".join(f"line {number}\n" for number in range(30))
    commit(project, "before", old_awk=text)
    (project.root / "old.awk").unlink()
    commit(project, "after", new_awk=text.replace("line 3\n", "line three\n"))
    _, changes = compared(project)
    (unit,) = changes.meaning
    assert (unit.path, unit.name, changes.files["new.awk"].old_path) == (
        "new.awk",
        "line 4",
        "old.awk",
    )
    assert reverted(changes, {"new.awk": unit.hunks}) == {"new.awk": text}


def test_what_is_generated_or_for_people_is_no_text(project):
    commit(project, "before", bundle_js="a", notes_md="a\n", x__bin="a\0")
    (project.root / "bundle.js").write_text("f();" * 300_000)
    commit(project, "after", notes_md="b\n", x__bin="b\0")
    (project.root / "link.awk").symlink_to("notes.md")
    project.commit("link")
    git = Git.find(project.root)
    changes = difference(git, git.resolve("HEAD~2"), git.resolve("HEAD"))
    assert [(unit.path, unit.name) for unit in changes.meaning] == [
        ("bundle.js", "<file>"),
        ("x/bin", "<file>"),
    ]
    assert sorted(changes.others) == ["link.awk", "notes.md"]


def near(project, command: str, build: str = "", **files: str) -> dict[str, int]:
    """How near each file is to a job with a command."""
    lines = f"build = ['{build}']\n" if build else ""
    project.write("perf.toml", lines + JOB.format(command))
    commit(project, "all", **files)
    git = Git.find(project.root)
    config = load(project.root / "perf.toml")
    known = files_of(git, git.resolve("HEAD"))
    job = JobFiles(git, known, matrix(config)[0], config.build)
    return {path: job.distance(path) for path in known if path != "perf.toml"}


def test_what_the_command_names_and_what_that_names_is_the_jobs_own(project):
    found = near(
        project,
        "node bench/run.js --fast",
        bench__run_js="const { f } = require('../lib/count');\n",
        lib__count_js="const data = read('words.txt');\n",
        lib__unused_ts="",
        words_txt="a",
        count_py="",
        package_json='{"main": "lib/unused"}',
        tool_rb="run.js",
    )
    assert found == {
        "bench/run.js": OWN,
        "lib/count.js": OWN,
        "words.txt": OWN,
        "lib/unused.ts": OWN,  # by package.json
        "package.json": OWN,
        "count.py": OTHER,
        "tool.rb": OTHER,
    }


def test_a_built_program_is_of_the_language_that_builds_it(project):
    found = near(
        project, "./walk", "go build -o walk .", main_go="", count_go="", a_js="", Makefile=""
    )
    assert found == {
        "main.go": SAME_LANGUAGE,
        "count.go": SAME_LANGUAGE,
        "a.js": OTHER,
        "Makefile": SAME_LANGUAGE,
    }


def test_a_hostile_text_ends(project):
    names = " ".join(f"f{number}.awk" for number in range(50_000))
    found = near(project, "awk -f f1.awk", f1_awk=names, f2_awk=names * 2)
    assert found == {"f1.awk": OWN, "f2.awk": OWN}

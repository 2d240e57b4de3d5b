"""``perf import``: files become profiles of the store."""

from __future__ import annotations

import gzip
import hashlib
import io
import json
import os
import struct
import subprocess
import sys
import zlib
from collections.abc import Callable
from datetime import datetime
from pathlib import Path

import pytest
from click.testing import CliRunner
from conftest import Perf, Project, Said
from samples import noisy, sample_profile

from perfvcs import formats
from perfvcs.cli import group
from perfvcs.errors import UsageError
from perfvcs.formats import parse_options
from perfvcs.formats._foreign import expanded
from perfvcs.formats.csv import Csv
from perfvcs.profile import Profile
from perfvcs.profile.validity import Malformed
from perfvcs.repository import Repository

ELSEWHERE = "8c7f6a1d0e5b4c3f2a1908172635445362718090"


@pytest.fixture
def commits(project: Project) -> list[str]:
    return [project.commit("one"), project.commit("two")]


def stored() -> list[Profile]:
    repository = Repository.find()
    return [profile for _, profile in repository.store.read_many(repository.store.paths())]


def table(path: str, walls: list[float]) -> str:
    Path(path).write_text(
        "uid,run,wall [s]\n" + "".join(f"sort,{run},{wall}\n" for run, wall in enumerate(walls))
    )
    return path


def classic(commit: str | None = None) -> bytes:
    origin = {"origin": commit} if commit else {}
    return json.dumps(
        {**origin, "header": {"cmd": "ls"}, "resources": [{"amount": 1, "uid": "f"}]}
    ).encode()


def test_a_table_goes_to_head_and_says_so(project: Project, perf: Perf, commits: list[str]) -> None:
    said = perf("import", table("results.csv", [1.0, 2.0]))
    assert said.out.splitlines() == [
        "stored 1 profile",
        "1 profile names no commit: stored for HEAD; choose another with --commit",
        "named after the file: results; only benchmarks of one name are compared, --name gives it",
    ]
    (profile,) = stored()
    assert profile.commit == commits[1]
    assert profile.job.name == "results"
    when = project.git("log", "-1", "--format=%at")
    assert datetime.fromisoformat(profile.collected.started).timestamp() == int(when)


def test_a_table_goes_to_the_commit_that_is_named(perf: Perf, commits: list[str]) -> None:
    assert (
        perf("import", table("a.csv", [1.0]), "--commit", "HEAD~1", "--name", "a").out
        == "stored 1 profile\n"
    )
    assert stored()[0].commit == commits[0]


@pytest.mark.usefixtures("commits")
def test_what_is_imported_again_is_stored_once(perf: Perf) -> None:
    table("a.csv", [1.0])
    perf("import", "a.csv")
    os.utime("a.csv", (1, 1))
    assert perf("import", "a.csv", "./a.csv").out.startswith(
        "stored 0 profiles, 1 already stored\n"
    )
    assert len(stored()) == 1


@pytest.mark.usefixtures("commits")
def test_a_name_makes_tables_of_any_file_names_one_benchmark(perf: Perf) -> None:
    files = [
        table(f"{name}.csv", noisy(wall, 20, seed))
        for seed, (name, wall) in enumerate((("old", 1.0), ("new", 1.5)))
    ]
    perf("import", *files, "--commit", "HEAD~1", "--commit", "HEAD", "--name", "nightly")
    assert {profile.job.name for profile in stored()} == {"nightly"}
    said = perf("check", code=None)
    assert "  suspected      nightly: sort\n                 wall time +50" in said.out
    assert "perf import --in-turns" in said.flat
    assert "perf check --measure" not in said.out


@pytest.mark.usefixtures("commits")
def test_a_name_stands_above_what_a_document_says(perf: Perf) -> None:
    Path("a.json").write_bytes(sample_profile().encode())
    Path("a.perf").write_bytes(classic())
    Path("a.csv").write_text("wall\n1\n")
    perf("import", "a.json", "a.perf", "a.csv", "--name", "nightly")
    assert [profile.job.name for profile in stored()] == ["nightly"] * 3
    assert {"nightly"} < {name for profile in stored() for name in profile.resources.names}


# measured in turns


@pytest.fixture
def turns() -> list[str]:
    """Arguments that import two tables whose runs share what the machine did; the second takes 5 %
    more.
    """
    drift = noisy(1.0, 10, 3, spread=0.2)
    files = [
        table(
            f"{name}.csv",
            [wall * factor for wall, factor in zip(drift, noisy(scale, 10, seed), strict=True)],
        )
        for seed, (name, scale) in enumerate((("old", 1.0), ("new", 1.05)))
    ]
    return ["import", *files, "--commit", "HEAD~1", "--commit", "HEAD", "--name", "sort"]


def test_files_measured_in_turns_are_compared_run_by_run(
    perf: Perf, commits: list[str], turns: list[str]
) -> None:
    assert perf(*turns, "--in-turns").out == "stored 2 profiles\n"
    assert "degradation    sort  wall time +5" in perf("check", code=3).out
    assert perf(*turns, "--in-turns").out == "stored 0 profiles, 2 already stored\n"
    profiles = stored()
    assert {profile.design.order for profile in profiles} == {"interleaved"}
    assert [profile.design.versions for profile in profiles] == [commits, commits]
    assert len({profile.collected.session for profile in profiles}) == 1


@pytest.mark.usefixtures("commits")
def test_the_same_files_measured_apart_settle_nothing(perf: Perf, turns: list[str]) -> None:
    perf(*turns)
    assert "inconclusive" in perf("check", code=0).out


@pytest.mark.usefixtures("commits")
def test_other_files_are_another_session(perf: Perf, turns: list[str]) -> None:
    perf(*turns, "--in-turns")
    table("new.csv", noisy(1.0, 10, 9))
    perf(*turns, "--in-turns")
    assert len({profile.collected.session for profile in stored()}) == 2


@pytest.mark.usefixtures("commits")
def test_the_same_files_in_another_order_are_already_stored(perf: Perf, turns: list[str]) -> None:
    perf(*turns, "--in-turns")
    command, old, new, first, base, second, head, *rest = turns
    swapped = [command, new, old, first, head, second, base, *rest]
    assert perf(*swapped, "--in-turns").out == "stored 0 profiles, 2 already stored\n"
    table("third.csv", [1.0, 1.1])
    Path("third.csv").rename("old.csv")
    assert perf(*swapped, "--in-turns").out == "stored 1 profile, 1 already stored\n"


@pytest.mark.usefixtures("commits")
@pytest.mark.parametrize("first", [True, False])
def test_the_same_files_imported_in_another_mode_stay_as_they_are(
    perf: Perf, turns: list[str], *, first: bool
) -> None:
    modes = [[], ["--in-turns"]]
    before, after = modes[first], modes[not first]
    as_before = "measured in turns on 2 commits" if first else "measured apart"
    perf(*turns, *before)
    kept = stored()
    assert perf(*turns, *after).out == (
        "stored 0 profiles, 2 already stored\n"
        f"2 profiles stay as {as_before}: `perf rm` them to import them anew\n"
    )
    assert stored() == kept
    perf("rm", "HEAD")
    perf("rm", "HEAD~1")
    assert perf(*turns, *after).out == "stored 2 profiles\n"


@pytest.mark.usefixtures("commits")
def test_files_that_were_processed_are_not_imported_in_another_mode(
    perf: Perf, turns: list[str]
) -> None:
    perf(*turns)
    perf("process", "HEAD", "normalizer")
    said = perf(*turns, "--in-turns").out
    assert said.startswith("stored 0 profiles, 1 already stored\n2 profiles stay as measured apart")
    assert "left out 1: the same measurement is stored in another version" in said
    assert len(stored()) == 2


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (["a.csv", "b.csv", "--in-turns"], "two or more commits"),
        (["a.csv", "b.csv", "--in-turns", "--commit", "HEAD"], "two or more commits"),
        (
            ["a.csv", "b.csv", "--in-turns", "--commit", "HEAD", "--commit", "HEAD"],
            "two or more commits",
        ),
        (
            [
                "a.csv",
                "-",
                "--format",
                "csv",
                "--in-turns",
                "--commit",
                "HEAD",
                "--commit",
                "HEAD~1",
            ],
            "name all files",
        ),
        (
            ["a.csv", "b.csv", "b.csv", "--commit", "HEAD", "--commit", "HEAD~1"],
            "3 files and 2 commits",
        ),
    ],
)
@pytest.mark.usefixtures("commits")
def test_commits_that_do_not_fit_the_files_are_refused(
    perf: Perf, args: list[str], message: str
) -> None:
    table("a.csv", [1.0])
    table("b.csv", [2.0])
    assert message in perf("import", *args, code=2).err
    assert not stored()


@pytest.mark.usefixtures("commits")
def test_a_second_file_of_one_turn_is_reported(perf: Perf) -> None:
    Path("more").mkdir()
    files = [
        table(name, [wall, wall])
        for wall, name in enumerate(("a.csv", "more/b.csv", "more/c.csv"), 1)
    ]
    said = perf(
        "import",
        files[0],
        "more",
        "--in-turns",
        "--commit",
        "HEAD",
        "--commit",
        "HEAD~1",
        "--name",
        "x",
        code=2,
    )
    assert "more/c.csv: more/b.csv is of the same benchmark and commit" in said.err
    assert len(stored()) == 2


def test_a_profile_of_perun_brings_its_commit(perf: Perf, commits: list[str]) -> None:
    Path("here.perf").write_bytes(classic(commits[0]))
    Path("elsewhere.perf").write_bytes(classic(ELSEWHERE))
    Path("nowhere.perf").write_bytes(zlib.compress(b"profile time 5\0" + classic()))
    said = perf("import", "here.perf", "elsewhere.perf", "nowhere.perf")
    assert said.out.splitlines() == [
        "stored 3 profiles",
        "1 profile names no commit: stored for HEAD; choose another with --commit",
        f"not commits of this repository: {ELSEWHERE[:10]}",
    ]
    assert {profile.commit for profile in stored()} == {*commits, ELSEWHERE}


def test_a_named_commit_stands_above_what_the_files_say(perf: Perf, commits: list[str]) -> None:
    Path("a.perf").write_bytes(classic(ELSEWHERE))
    said = perf("import", "a.perf", "--commit", "HEAD")
    assert said.out == "stored 1 profile\n1 profile names another commit than --commit\n"
    assert stored()[0].commit == commits[1]


@pytest.mark.usefixtures("commits")
def test_the_files_of_a_folder_are_read(perf: Perf) -> None:
    Path("in/deep").mkdir(parents=True)
    table("in/a.csv", [1.0])
    Path("in/deep/b.json").write_bytes(sample_profile().encode())
    Path("in/deep/c.json.gz").write_bytes(gzip.compress(sample_profile([5.0]).encode()))
    Path("in/deep/notes.txt").write_text("nothing")
    assert perf("import", "in").out.startswith("stored 3 profiles\n")
    assert perf("import", "in", "--format", "csv").out.startswith(
        "stored 0 profiles, 1 already stored\n"
    )


@pytest.mark.usefixtures("commits")
def test_a_folder_without_profiles_is_an_error_but_does_not_stop_the_others(perf: Perf) -> None:
    Path("empty").mkdir()
    said = perf("import", "empty", table("a.csv", [1.0]), code=2)
    assert "empty has no files that end with .json, " in said.err
    assert len(stored()) == 1


@pytest.mark.usefixtures("commits")
def test_a_broken_file_is_named_and_the_rest_is_stored(perf: Perf) -> None:
    Path("bad.csv").write_text("uid,wall\na,fast\n")
    said = perf("import", "bad.csv", table("a.csv", [1.0]), "none.csv", code=12)
    assert said.err.splitlines() == [
        (
            "perf: bad.csv: line 2, column `wall`: `fast` is not a number; "
            "--format csv --option ignore=COLUMN ignores it, uid=COLUMN takes names from it"
        ),
        "perf: cannot read none.csv: No such file or directory",
    ]
    assert len(stored()) == 1


@pytest.mark.usefixtures("commits")
def test_a_name_that_no_file_can_have_is_reported(perf: Perf) -> None:
    assert "File name too long" in perf("import", "n" * 300, table("a.csv", [1.0]), code=2).err
    assert len(stored()) == 1


@pytest.mark.usefixtures("commits")
def test_what_cannot_be_stored_is_that_files_error_alone(perf: Perf) -> None:
    name = "\udcff.csv"
    try:
        table(name, [1.0])
    except OSError:
        pytest.skip("the file system takes no such name")
    said = perf("import", name, table("a.csv", [1.0]), code=12)
    assert said.err.startswith("perf: ?.csv: ")
    assert "not valid Unicode" in said.err
    assert said.err.endswith("rename the file, or give --name\n")
    assert len(stored()) == 1
    assert "stored 1 profile\n" in perf("import", name, "--name", "named").out


def test_an_exported_table_keeps_its_name_without_a_word(perf: Perf, commits: list[str]) -> None:
    perf("import", table("results.csv", [1.0, 2.0]))
    perf("export", commits[1], "-o", "profile.json")
    perf("rm", commits[1], code=None)
    assert "named after the file" not in perf("import", "profile.json").out
    assert [profile.job.name for profile in stored()] == ["results"]


@pytest.mark.usefixtures("commits")
def test_half_a_surrogate_pair_is_the_error_of_its_file_alone(perf: Perf) -> None:
    """Python's own parser takes it, and NaN; nothing that is in UTF-8 can hold it."""
    Path("bad.perf").write_text(
        '{"collector_info": {"name": "c", "params": {"p": "\\ud800"}}, "resources": [{"amount":'
        ' NaN, "uid": "f"}]}'
    )
    said = perf("import", "bad.perf", table("a.csv", [1.0]), code=12)
    assert (
        said.err.startswith("perf: bad.perf: ")
        and said.err.count("\n") == 1
        and "surrogate" in said.err
    )
    assert len(stored()) == 1


@pytest.mark.usefixtures("commits")
def test_a_crash_of_a_reader_is_reported_with_its_traceback_after_the_other_files_are_stored(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    decode = Csv.decode

    def fails(self: Csv, document: bytes, stem: str = "") -> Profile:
        if stem == "bad":
            raise KeyError("what no reader may raise")
        return decode(self, document, stem)

    monkeypatch.setattr(Csv, "decode", fails)
    files = [table(name, [1.0]) for name in ("a.csv", "bad.csv", "b.csv")]
    done = CliRunner().invoke(group, ["import", *files])
    assert isinstance(done.exception, KeyError) and done.exception.__notes__ == [
        "while importing bad.csv"
    ]
    assert "bad.csv: perfvcs failed to read it (KeyError): its traceback follows" in done.stderr
    assert "stored 2 profiles" in done.stdout
    assert len(stored()) == 2


@pytest.mark.usefixtures("commits")
def test_a_file_that_does_not_fit_into_memory_is_that_files_error_alone(
    perf: Perf, monkeypatch: pytest.MonkeyPatch
) -> None:
    decode = Csv.decode

    def fails(self: Csv, document: bytes, stem: str = "") -> Profile:
        if stem == "bad":
            raise MemoryError
        return decode(self, document, stem)

    monkeypatch.setattr(Csv, "decode", fails)
    said = perf("import", table("bad.csv", [1.0]), table("a.csv", [1.0]), code=12)
    assert said.err == "perf: bad.csv: there is not enough memory for all that is in it: split it\n"
    assert len(stored()) == 1


def test_a_compressed_document_that_is_far_larger_inside_is_refused() -> None:
    with pytest.raises(Malformed, match="over 200 times as large inside: unpack it first"):
        expanded(gzip.compress(b"\0" * (1 << 25)), 1 << 30)
    # one that is small may be
    assert expanded(gzip.compress(b"\0" * (1 << 23)), 1 << 30) == b"\0" * (1 << 23)


@pytest.mark.usefixtures("commits")
def test_options_say_what_the_columns_are(perf: Perf) -> None:
    Path("a.csv").write_text('what,"n,o",ms,rate,day\nsort,5,1.5,7,1\n')
    options = [
        "name=nightly",
        "uid=what",
        'metrics=ms,"n,o"',
        "metrics=rate",
        "unit.ms=ms",
        "better.rate=higher",
    ]
    perf(
        "import",
        "a.csv",
        "--format",
        "csv",
        *(part for option in options for part in ("--option", option)),
    )
    (profile,) = stored()
    assert profile.job.name == "nightly"
    assert list(profile.metrics) == ["ms", "n_o", "rate"]
    assert profile.metrics["ms"].unit == "ms"
    assert profile.metrics["rate"].better == "higher"


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (["--option", "name=a"], "--option needs --format"),
        (["--format", "csw"], "did you mean `csv`"),
        (["--format", "csv", "--option", "nmae=a"], "did you mean `name`"),
        (["--format", "csv", "--option", "name"], "write KEY=VALUE"),
        (["--format", "csv", "--option", "unit=s"], "write unit.COLUMN=VALUE"),
        (["--format", "csv", "--option", "delimiter=::"], "not one character"),
        (["--commit", "nowhere"], "is not a revision here"),
    ],
)
@pytest.mark.usefixtures("commits")
def test_a_wrong_request_is_refused(perf: Perf, args: list[str], message: str) -> None:
    said = perf("import", table("a.csv", [1.0]), *args, code=2)
    assert message in said.err
    assert said.err.count("\n") == 1


def test_an_option_that_is_no_mapping_has_no_entries() -> None:
    with pytest.raises(UsageError, match=r"no option `name\.x`"):
        formats.decode(b"uid,wall\na,1\n", "a.csv", "csv", parse_options("csv", ["name.x=1"]))


@pytest.mark.usefixtures("commits")
def test_standard_input_is_read(monkeypatch: pytest.MonkeyPatch, perf: Perf) -> None:
    assert "- needs --format" in perf("import", "-", code=2).err
    done = subprocess.run(
        [sys.executable, "-m", "perfvcs", "import", "-", "--format", "csv"],
        input=b"uid,wall\na,1\n",
        capture_output=True,
        check=True,
    )
    assert done.stdout.startswith(b"stored 1 profile\n")
    assert stored()[0].job.name == "stdin"
    monkeypatch.setattr("perfvcs.exchange.intake.MAX_PROFILE", 3)
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(b"uid,wall\n")))
    from perfvcs.exchange.intake import Intake
    from perfvcs.exchange.sources import STDIN

    said: list[str] = []

    class Counting:
        def begin(self, total: int) -> None:
            assert total == 1

        def step(self, what: str) -> None:
            assert what == "-"

    Intake(Repository.find(), format_name="csv").store([STDIN], Counting(), said.append)
    assert said == ["standard input has over 3 bytes: split it"]


@pytest.mark.usefixtures("commits")
def test_many_files_show_how_far_it_is_and_quiet_does_not(perf: Perf) -> None:
    Path("in").mkdir()
    files = [table(f"in/{number}.csv", [float(number)]) for number in range(30)]
    said = perf("import", *files)
    assert said.err.count("%") == 10
    assert said.out.startswith("stored 30 profiles\n30 profiles name no commit: stored for HEAD")
    assert perf("import", "in", "--quiet") == Said(0, "", "")


# the store of Perun


def perun_store(folder: Path, commits: list[str], version: int = 2, texts: int = 6) -> list[Path]:
    """Two objects of each commit and its index, as that tool stores them: no object says its
    commit. The indexes.
    """
    indexes = []
    for number, commit in enumerate(commits):
        entries = b""
        for workload in ("1k", "2k"):
            header = {"type": "mixed", "cmd": "./list", "workload": workload, "args": str(number)}
            text = json.dumps({"header": header, "resources": [{"amount": 1, "uid": "f"}]}).encode()
            content = b"profile mixed %d\0%s" % (len(text), text)
            name = hashlib.sha1(content).hexdigest()
            path = folder / name[:2] / name[2:]
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(zlib.compress(content))
            words = ["mixed", "./list", workload, "label", "trace", "regression"][
                : texts if version > 1 else 0
            ]
            entries += struct.pack("<I", 1_700_000_000) + bytes.fromhex(name) + b"list-1k.perf\0"
            entries += b"".join(struct.pack("<I", len(word)) + word.encode() for word in words)
        indexes.append(folder / commit[:2] / commit[2:])
        indexes[-1].parent.mkdir(exist_ok=True)
        indexes[-1].write_bytes(b"pidx" + struct.pack("<ii", version, 2) + entries)
    return indexes


@pytest.mark.parametrize(("version", "texts"), [(1, 0), (2, 5), (2, 6)])
def test_objects_of_perun_belong_to_the_commits_of_its_indexes(
    monkeypatch: pytest.MonkeyPatch, perf: Perf, commits: list[str], version: int, texts: int
) -> None:
    perun_store(Path(".perun/objects"), commits, version, texts)
    Path(".perun/jobs").mkdir()
    Path(".perun/jobs/pending.perf").write_bytes(classic(commits[0]))
    assert perf("import", ".perun", "--quiet").out == ""
    profiles = stored()
    assert [profile.commit for profile in profiles].count(commits[0]) == 3
    assert [profile.commit for profile in profiles].count(commits[1]) == 2
    assert [profile.collected.started for profile in profiles].count("2023-11-14T22:13:20Z") == 4
    objects = sorted(map(str, Path(".perun/objects").glob("*/*")))
    assert perf("import", *objects).out == "stored 0 profiles, 4 already stored\n"
    assert (
        perf("import", *objects, "--format", "perun").out == "stored 0 profiles, 4 already stored\n"
    )
    monkeypatch.chdir(Path(objects[0]).parent)
    assert perf("import", Path(objects[0]).name, "--quiet", code=None).err == ""
    assert len(stored()) == 5


def test_an_index_of_perun_stands_for_its_objects(perf: Perf, commits: list[str]) -> None:
    index = perun_store(Path("store"), commits)[0]
    assert perf("import", str(index)).out == "stored 2 profiles\n"
    assert {profile.commit for profile in stored()} == {commits[0]}


def test_an_object_of_perun_that_no_index_lists_goes_to_head(
    perf: Perf, commits: list[str]
) -> None:
    for index in perun_store(Path("store"), commits):
        index.unlink()
    objects = sorted(map(str, Path("store").glob("*/*")))
    assert "4 profiles name no commit: stored for HEAD" in perf("import", *objects).out
    assert "store has no files that end with" in perf("import", "store", code=2).err


def test_an_object_that_is_not_there_is_named(perf: Perf, commits: list[str]) -> None:
    indexes = perun_store(Path("store"), commits)
    lost = next(path for path in Path("store").glob("*/*") if path not in indexes)
    lost.unlink()
    assert f"cannot read {lost.absolute()}" in perf("import", "store", code=2).err
    assert len(stored()) == 3


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (lambda index: index[:6], "ends too early"),
        (lambda index: index[:-30], "is damaged"),
        (lambda index: index[:20], "is damaged"),
        (lambda index: index[:8] + struct.pack("<i", 3) + index[12:], "is damaged"),
        (
            lambda index: index[:4] + struct.pack("<i", 7) + index[8:],
            "is of version 7, this reads 1, 2",
        ),
    ],
)
def test_a_damaged_index_is_named_and_the_others_are_read(
    perf: Perf, commits: list[str], damage: Callable[[bytes], bytes], message: str
) -> None:
    index = perun_store(Path("store"), commits)[0]
    index.write_bytes(damage(index.read_bytes()))
    said = perf("import", "store", code=12)
    assert message in said.err
    assert str(index) in said.err
    assert {profile.commit for profile in stored()} == {commits[1]}


# what is compressed


def test_a_compressed_document_grows_no_further_than_its_bound() -> None:
    bomb = gzip.compress(b"\0" * 10_000_000, mtime=0)
    with pytest.raises(Malformed, match="over 1,000,000 bytes inside"):
        expanded(bomb, 1_000_000)


def test_a_gzip_file_of_several_parts_is_read_whole() -> None:
    assert expanded(gzip.compress(b"a", mtime=0) + gzip.compress(b"b"), 10) == b"ab"


@pytest.mark.parametrize(
    ("document", "message"),
    [
        (gzip.compress(b"abc" * 100, mtime=0)[:-20], "ends too early"),
        (gzip.compress(b"a", mtime=0) + b"rest", "is damaged"),
        (b"\x1f\x8b" + b"\0" * 20, "is damaged"),
        (zlib.compress(b"a" * 1000)[:-1] + b"?", "is damaged"),
    ],
)
def test_a_damaged_compression_is_reported(document: bytes, message: str) -> None:
    with pytest.raises(Malformed, match=message):
        expanded(document, 100_000)


@pytest.mark.parametrize("document", [b"", b"x", b"{}", b"x,y\n1,2\n"])
def test_what_is_not_compressed_stays_as_it_is(document: bytes) -> None:
    assert expanded(document, 0) == document

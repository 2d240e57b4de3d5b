"""Workloads of perf.toml: literals, numbers, strings, files of a size, outputs of commands."""

from __future__ import annotations

import hashlib
import os
import stat
import sys
from pathlib import Path
from typing import Any

import psutil
import pytest
from cases import each
from conftest import HIDDEN_DAEMON
from hypothesis import given, settings
from hypothesis import strategies as st
from waiting import happens

from perfvcs.errors import UsageError
from perfvcs.jobs.content import chunks
from perfvcs.jobs.workload import Workload, WorkloadError, parse
from perfvcs.launcher.preparation import CommandFailed, ended, run

ENV = dict(os.environ)


def prepared(workload: Workload, tmp_path: Path) -> Path:
    return Path(workload.prepare(tmp_path, tmp_path / "generated", ENV))


def test_a_string_is_taken_as_it_is(tmp_path: Path) -> None:
    (workload,) = parse("data/1k.txt")
    assert (workload.name, workload.params, workload.size) == ("data/1k.txt", {}, None)
    assert workload.prepare(tmp_path, tmp_path, ENV) == "data/1k.txt"


def test_an_existing_file_or_folder_is_a_source(tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    (tmp_path / "data/a").write_text("hello")
    (workload,), (folder,) = parse("data/a"), parse("data")
    assert workload.source(tmp_path, "data/a") == {
        "data/a": hashlib.sha256(b"hello").hexdigest()[:16]
    }
    before = folder.source(tmp_path, "data")
    (tmp_path / "data/__pycache__").mkdir()
    (tmp_path / "data/__pycache__/a.pyc").touch()
    assert folder.source(tmp_path, "data") == before
    (tmp_path / "data/a").rename(tmp_path / "data/b")
    assert before.keys() == {"data"} and folder.source(tmp_path, "data") != before


@pytest.mark.parametrize(
    "text",
    ["", ".", "/etc/passwd", "../outside", "no-such-file", "--option", "a\0b", "x" * 5000, "pipe"],
)
def test_what_is_no_file_below_the_worktree_is_no_source(tmp_path: Path, text: str) -> None:
    (tmp_path / "outside").write_text("x")
    (tmp_path / "tree").mkdir()
    os.mkfifo(tmp_path / "tree/pipe")
    assert parse(text)[0].source(tmp_path / "tree", text) == {}


def test_integers_are_bound_as_n_and_are_sizes(tmp_path: Path) -> None:
    one, two = parse({"integers": [1000, 2000, 1000]})
    assert (one.name, one.params, one.size) == ("1000", {"n": 1000}, 1000.0)
    assert two.prepare(tmp_path, tmp_path, ENV) == "2000" and two.source(tmp_path, "2000") == {}


def test_workloads_can_be_keys_of_what_was_prepared() -> None:
    entries: list[object] = [
        "a",
        {"integers": [1]},
        {"strings": [1]},
        {"files": [1]},
        {"command": "echo {n}", "sizes": [1]},
    ]
    assert len(
        {workload: entry for entry in entries for workload in parse(entry) + parse(entry)}
    ) == len(entries)


@pytest.mark.parametrize(
    ("span", "expected"),
    [
        (
            {"from": 1000, "to": 100000, "steps": 5, "scale": "log"},
            [1000, 3162, 10000, 31623, 100000],
        ),
        ({"from": 0, "to": 100}, [0, 25, 50, 75, 100]),
        ({"from": 1, "to": 3, "steps": 9}, [1, 2, 3]),
        ({"from": 7, "to": 9, "steps": 1}, [7]),
        ({"from": 5, "to": 5}, [5]),
        (
            {"from": 9007199254740993, "to": 9007199254740995, "steps": 2},
            [9007199254740993, 9007199254740995],
        ),
    ],
)
def test_a_range_has_both_ends_and_no_repeats(span: dict[str, Any], expected: list[int]) -> None:
    assert [workload.params["n"] for workload in parse({"integers": span})] == expected


def test_strings_are_random_seeded_text(tmp_path: Path) -> None:
    ten, hundred = parse({"strings": [10, 100]})
    other = parse({"strings": [10], "seed": 7})[0]
    text = ten.prepare(tmp_path, tmp_path, ENV)
    assert (ten.name, other.name, hundred.size) == ("string-10", "string-10-seed7", 100.0)
    assert text == "i6ievhiy1i" and text != other.prepare(tmp_path, tmp_path, ENV)
    assert len(hundred.prepare(tmp_path, tmp_path, ENV)) == 100 and ten.source(
        tmp_path, text
    ).keys() == {"string-10"}


# the bytes are part of what old profiles were measured with: raise content.GENERATOR when they
# change
@pytest.mark.parametrize(
    ("content", "digest"),
    [
        ("binary", "5c40333deb391aa8"),
        ("integers", "b007fd4cee7fe74f"),
        ("words", "ebb03241b7a2acbd"),
        ("text", "e632c22d532ef6d5"),
    ],
)
def test_generated_files_have_the_same_bytes_everywhere(
    tmp_path: Path, content: str, digest: str
) -> None:
    (workload,) = parse({"files": ["1MiB"], "content": content})
    path = prepared(workload, tmp_path)
    assert path.stat().st_size == workload.size == 1048576 and workload.name == f"{content}-1MiB"
    assert workload.source(tmp_path, str(path)) == {workload.name: digest}
    assert not path.stat().st_mode & stat.S_IWUSR


@pytest.mark.slow
@settings(deadline=None)
@given(
    st.sampled_from(["text", "integers", "words", "binary"]),
    st.integers(0, 3000),
    st.integers(0, 3),
)
def test_contents_are_exactly_as_long_as_asked_and_well_formed(
    content: str, length: int, seed: int
) -> None:
    made = b"".join(chunks(content, length, seed))
    assert len(made) == length
    if content == "binary" or not length:
        return
    lines = made.removesuffix(b"\n").split(b"\n")
    assert all(line and line == line.strip() for line in lines)
    if content == "integers":
        assert all(0 <= int(line) < 2**31 for line in lines)
    elif content == "words":
        assert all(line.isalpha() for line in lines)


def test_a_file_over_several_blocks_is_whole() -> None:
    made = b"".join(chunks("integers", 3_000_000, 0))
    assert len(made) == 3_000_000 and all(int(line) < 2**31 for line in made.split())


@pytest.mark.parametrize("other", [b"cut", b"x" * 5000])
def test_a_generated_file_is_made_once_and_mended_when_it_was_changed(
    tmp_path: Path, other: bytes
) -> None:
    (workload,) = parse({"files": [5000]})
    path = prepared(workload, tmp_path)
    assert workload.name == "text-5kB" and path.is_absolute()
    first, content = path.stat().st_ino, path.read_bytes()
    assert prepared(workload, tmp_path).stat().st_ino == first
    path.unlink()
    path.write_bytes(other)
    assert prepared(workload, tmp_path).read_bytes() == content
    assert [found.name for found in path.parent.iterdir()] == [path.name]


@pytest.mark.parametrize(
    ("size", "expected"),
    [
        ("1kB", 1000),
        ("1KiB", 1024),
        ("1.5MB", 1_500_000),
        ("0", 0),
        ("12 B", 12),
        (7, 7),
        ("10GiB", 10 * 2**30),
    ],
)
def test_sizes_have_decimal_and_binary_units(size: str | int, expected: int) -> None:
    assert parse({"files": [size]})[0].params == {"n": expected}


def test_names_say_the_size_in_its_largest_unit() -> None:
    given = [1000, 1024, 1_500_000, 3 * 2**20, 999, 0, "2GB"]
    names = [workload.name for workload in parse({"files": given, "content": "words", "seed": 2})]
    assert names == [
        f"words-{size}-seed2" for size in ("1kB", "1KiB", "1500kB", "3MiB", "999B", "0B", "2GB")
    ]


def test_the_output_of_a_command_becomes_a_file(tmp_path: Path) -> None:
    (tmp_path / "gen.py").write_text("import sys\nprint('x' * int(sys.argv[1]), sys.argv[2])")
    one, _ = parse(
        {"command": f"'{sys.executable}' gen.py {{n}} '{{n}} $(id) {{x}}'", "sizes": [10, 20]}
    )
    path = prepared(one, tmp_path)
    assert (
        path.read_text() == "xxxxxxxxxx 10 $(id) {x}\n"
        and one.params == {"n": 10}
        and one.size == 10.0
    )
    assert one.name.endswith("gen.py 10 '10 $(id) {x}'")
    source = one.source(tmp_path, str(path))
    assert (
        source == {one.name: hashlib.sha256(path.read_bytes()).hexdigest()[:16]}
        and path.name == f"output-{source[one.name]}"
    )
    before = path.stat()
    assert prepared(one, tmp_path) == path and path.stat() == before
    (tmp_path / "gen.py").write_text("print('other')")
    assert prepared(one, tmp_path).read_text() == "other\n" and path.exists()
    named = parse({"command": "echo {n}", "name": "numbers", "sizes": [10, 20]})
    assert [workload.name for workload in named] == ["numbers-10", "numbers-20"]
    assert parse({"command": "echo one", "name": "one"})[0].name == "one"
    (single,) = parse({"command": "echo one"})
    assert prepared(single, tmp_path).read_text() == "one\n" and single.size is None


def test_a_command_that_fails_is_reported_in_one_line(tmp_path: Path) -> None:
    (tmp_path / "gen.sh").write_text("echo out; echo one >&2; echo two >&2; exit 3")
    (workload,) = parse({"command": "sh gen.sh"})
    with pytest.raises(
        WorkloadError, match=r"generated: `sh gen\.sh` exited with status 3: one \| two$"
    ) as caught:
        prepared(workload, tmp_path)
    assert caught.value.exit_code == 5 and list((tmp_path / "generated").iterdir()) == []


@pytest.mark.slow
def test_a_command_that_hangs_is_ended_with_all_it_started(tmp_path: Path) -> None:
    (tmp_path / "gen.sh").write_text(
        "sleep 61 & echo $! > child; trap '' TERM; sleep 62 & wait; wait"
    )
    (workload,) = parse({"command": "sh gen.sh", "timeout": "1.5s"})
    with pytest.raises(
        WorkloadError, match=r"was stopped after 1\.5 s \(its time limit\), and printed nothing"
    ):
        prepared(workload, tmp_path)
    child = int((tmp_path / "child").read_text())
    assert happens(
        lambda: (
            not psutil.pid_exists(child) or psutil.Process(child).status() == psutil.STATUS_ZOMBIE
        )
    )


def test_a_command_that_prints_too_much_is_ended(tmp_path: Path) -> None:
    with pytest.raises(
        CommandFailed, match=r"was stopped after printing more than 1,000 bytes: y \| y"
    ):
        run(["yes"], cwd=tmp_path, env=ENV, timeout=60, limit=1000)
    # one that has ended by itself before anybody looked has only printed too much
    with pytest.raises(
        CommandFailed, match=r"(printed|was stopped after printing) more than 3 bytes"
    ):
        run(["echo", "1234"], cwd=tmp_path, env=ENV, timeout=60, limit=3)


@pytest.mark.parametrize(
    ("argv", "expected"),
    [
        (
            ["no-such-command"],
            r"cannot run `no-such-command`: there is no such command on PATH: install it",
        ),
        (["./text"], r"cannot run .*/text: .*/text may not be executed: chmod \+x it"),
        (
            ["/no/such/program"],
            "cannot run /no/such/program: there is no file /no/such/program: build it first",
        ),
        (["sh", "a\0b"], "cannot run .*: embedded null byte in its arguments: remove it"),
        (["sh", "-c", "kill -KILL $$"], "was killed by SIGKILL, and printed nothing"),
    ],
)
def test_a_command_that_cannot_run_says_why(tmp_path: Path, argv: list[str], expected: str) -> None:
    (tmp_path / "text").write_text("no program")
    with pytest.raises(CommandFailed, match=expected):
        run(argv, cwd=tmp_path, env=ENV, timeout=60)


def test_commands_are_found_on_the_path_that_they_are_given(tmp_path: Path) -> None:
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin/hello").write_text("#!/bin/sh\necho hello > told")
    (tmp_path / "bin/hello").chmod(0o755)
    run(["hello"], cwd=tmp_path, env={"PATH": f"{tmp_path}/bin:/bin"}, timeout=60)
    run(["bin/hello"], cwd=tmp_path, env={}, timeout=60)
    assert (
        (tmp_path / "told").read_text() == "hello\n"
        and ended(-64) == "was killed by SIGRTMAX"
        and ended(-99).endswith("signal 99")
    )


def test_a_long_and_hostile_output_is_cut_to_one_line(tmp_path: Path) -> None:
    (tmp_path / "gen.sh").write_text(
        "printf 'x%.0s' $(seq 3000) >&2; printf '\\033[2J\\377end' >&2; exit 1"
    )
    with pytest.raises(CommandFailed) as caught:
        run(["sh", "gen.sh"], cwd=tmp_path, env=ENV, timeout=60)
    assert (
        len(str(caught.value)) < 500
        and str(caught.value).isprintable()
        and str(caught.value).endswith("end")
    )


@pytest.mark.parametrize("entry", [{"files": ["1kB"]}, {"command": "echo x"}])
def test_a_folder_that_cannot_be_written_gets_one_line(
    tmp_path: Path, entry: dict[str, Any]
) -> None:
    (tmp_path / "generated").write_text("a file")
    with pytest.raises(WorkloadError, match=r"cannot be written to .*make the folder writable"):
        prepared(parse(entry)[0], tmp_path)


def test_a_full_disk_gets_one_line_and_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(_: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(
        WorkloadError, match="No space left on device: free some space, or choose a smaller size"
    ):
        prepared(parse({"files": ["1kB"]})[0], tmp_path)
    assert list((tmp_path / "generated").iterdir()) == []


@each(
    "entry expected",
    [
        (5, "neither a string nor a table"),
        ({}, "needs exactly one of integers, strings, files, command"),
        ({"integers": [1], "strings": [1]}, "not `integers` and `strings`"),
        ({"integres": [1]}, "no key `integres`; did you mean `integers`"),
        ({"zzz": [1]}, "no key `zzz`; there are: integers, strings, files, command"),
        ({"integers": [1], "content": "text"}, "no key `content`"),
        ({"command": "echo x", "name": 5}, "name = 5 is not a name"),
        ({"files": ["1kB"], "contents": "text"}, "did you mean `content`"),
        ({"integers": []}, "integers is an empty list"),
        ({"integers": 5}, "neither a list nor a range"),
        ({"integers": [1.5]}, "1.5, which is not an integer"),
        ({"integers": [True]}, "True, which is not an integer"),
        ({"integers": [2**70]}, "not an integer"),
        ({"integers": {"from": 1}}, "a range needs `to`"),
        ({"integers": {"form": 1, "to": 2}}, "no key `form`; did you mean `from`"),
        ({"integers": {"from": 2, "to": 1}}, "is not a range"),
        ({"integers": {"from": 0, "to": 1, "scale": "log"}}, "is not a range"),
        ({"integers": {"from": 0, "to": 1, "steps": 0}}, "is not a range"),
        ({"integers": {"from": 0, "to": 1, "scale": "logs"}}, "did you mean `log`"),
        ({"strings": [200_000]}, "a string of 200,000 characters does not fit into an argument"),
        ({"strings": [-1]}, "between 0 and 10GiB"),
        ({"strings": [1], "seed": -1}, "seed = -1 is negative"),
        ({"files": ["11GiB"]}, "between 0 and 10GiB"),
        ({"files": ["1KB"]}, "its unit is one of B, kB"),
        ({"files": ["big"]}, "which is not a size"),
        ({"files": ["1kB"], "content": "word"}, "'word' is not known; did you mean `words`"),
        ({"files": ["1kB"], "content": ["text"]}, "is not known"),
        ({"command": ""}, "names no program"),
        ({"command": 3}, "is not a command"),
        ({"command": "echo 'x"}, "check its quotes"),
        ({"command": "gen {n}"}, "add sizes"),
        ({"command": "gen", "sizes": [1]}, "no {n} to put them in"),
        ({"command": "gen", "timeout": "soon"}, "is not a time"),
        ({"command": "gen", "timeout": True}, "is not a time"),
    ],
)
def test_a_wrong_entry_names_the_cure(entry: object, expected: str) -> None:
    with pytest.raises(UsageError) as caught:
        parse(entry)
    assert (
        expected in str(caught.value)
        and str(caught.value).startswith("workloads")
        and "\n" not in str(caught.value)
    )


def test_a_folder_that_is_measured_in_keeps_its_content_while_perfvcs_writes_into_it(
    tmp_path: Path,
) -> None:
    (tmp_path / "file").touch()
    before = Workload(".").source(tmp_path, ".")
    (tmp_path / ".perf").mkdir()
    (tmp_path / ".perf" / "lock").touch()
    assert before == Workload(".").source(tmp_path, ".")


@pytest.mark.parametrize("compiler", [True, False])
def test_a_daemon_of_a_preparing_command_does_not_outlive_it(
    tmp_path: Path, request: pytest.FixtureRequest, compiler: bool
) -> None:
    if not compiler:
        request.getfixturevalue("no_compiler")
    command = [sys.executable, "-S", "-c", HIDDEN_DAEMON, str(tmp_path / "number")]
    run(command, cwd=tmp_path, env=os.environ, timeout=20)
    assert not psutil.pid_exists(int((tmp_path / "number").read_text()))


def test_a_log_keeps_what_a_preparing_command_says(tmp_path: Path) -> None:
    log = tmp_path / "log"
    with pytest.raises(CommandFailed, match=r"status 3: one \| two \(log: .*log\)"):
        run(
            ["sh", "-c", "echo one; echo two >&2; exit 3"],
            cwd=tmp_path,
            env=os.environ,
            timeout=20,
            log=log,
        )
    assert log.read_text() == "one\ntwo\n"

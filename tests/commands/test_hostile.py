"""Profiles come from other people: whatever is in them, commands answer in plain text or with one
line.
"""

from __future__ import annotations

import json
import re
import subprocess
import unicodedata
from pathlib import Path
from typing import Any

import pytest
from conftest import Perf, Project
from samples import interleaved, noisy, sample_profile

from perfvcs.profile import Collected, Environment, Job, Metric, Profile, Resources
from perfvcs.profile import decoding as format_
from perfvcs.profile.decoding import decode
from perfvcs.profile.validity import Malformed
from perfvcs.repository import Repository
from perfvcs.text.characters import shorten
from perfvcs.text.quantity import quantity

EVIL = "\x1b]0;owned\x07\x9b31m\r\x7f\u202e\u2066\u2028\n</script><script>alert(1)</script>`|*"
OBEYED = re.compile("[\x00-\x09\x0b-\x1f\x7f-\x9f\u200e\u200f\u2028-\u202e\u2066\u2067]")
LISTINGS = [
    ("log",),
    ("log", "--json"),
    ("status",),
    ("status", "--json"),
    ("fsck",),
    ("check",),
    ("check", "-v"),
    ("check", "--json"),
    ("check", "--markdown"),
    ("check", "-q"),
    ("check", "nosuch\x9b"),
    ("check", "--method", EVIL),
    ("rm", f"abcd{EVIL}"),
]


def both(project: Project, *walls: list[float], **overrides: Any) -> list[Profile]:
    commits = [project.commit("one"), project.commit("two")]
    return interleaved(commits, walls or [noisy(0.01), noisy(0.02, seed=2)], **overrides)


def documented(profile: Profile, **fields: Any) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(profile.encode())
    return found | fields


def test_names_full_of_terminal_codes_reach_no_terminal(project: Project, perf: Perf) -> None:
    job = Job(EVIL, EVIL, EVIL, EVIL, EVIL, {EVIL: EVIL}, {EVIL: EVIL}, EVIL, {EVIL: EVIL})
    metrics = {"wall": Metric(EVIL), "cpu": Metric("s")}
    environment = Environment({EVIL: EVIL}, EVIL, {EVIL: EVIL}, [EVIL])
    Repository.find(create=True).store.add(
        both(project, job=job, metrics=metrics, environment=environment), EVIL
    )
    for command in LISTINGS:
        said = perf(*command, code=None)
        assert not OBEYED.search(said.out + said.err), command
        assert said.err.count("\n") <= 1
        if "--json" in command:
            assert said.document is not None
            assert "\\u009b31m" in said.out


def test_files_with_hostile_names_and_fields_are_named_in_one_line(
    project: Project, perf: Perf
) -> None:
    project.commit()
    broken = project.root / f"{EVIL.replace('/', '')}.json"
    broken.write_text(json.dumps({"format": "perfvcs-profile/1", EVIL: 1}))
    said = perf("import", str(broken), code=12)
    assert said.err.count("\n") == 1
    assert not OBEYED.search(said.err)


def test_foreign_paths_in_the_store_are_listed_in_plain_text(project: Project, perf: Perf) -> None:
    repository = Repository.find(create=True)
    repository.store.add([sample_profile(commit=project.commit())], "test")
    git = ["git", f"--git-dir={repository.store.path}"]
    blob = subprocess.run(
        [*git, "hash-object", "-w", "--stdin"], input=b"/etc", capture_output=True, check=True
    ).stdout.strip()
    paths = (b"\xff\x1b]0;x\x07\nlink", b"8c/" + b"8c" * 20 + b"/time-x-" + b"a" * 12 + b".json")
    tree = subprocess.run([*git, "ls-tree", "-z", "main"], capture_output=True, check=True).stdout
    (outer, inner) = (b"120000 blob %s\t%s\0" % (blob, path.rpartition(b"/")[2]) for path in paths)
    for name in (b"8c" * 20, b"8c"):
        made = subprocess.run(
            [*git, "mktree", "-z"], input=inner, capture_output=True, check=True
        ).stdout.strip()
        inner = b"040000 tree %s\t%s\0" % (made, name)
    made = subprocess.run(
        [*git, "mktree", "-z"], input=tree + outer + inner, capture_output=True, check=True
    ).stdout.strip()
    commit = subprocess.run(
        [*git, "commit-tree", "-p", "main", "-m", "x", made.decode()],
        capture_output=True,
        check=True,
    )
    subprocess.run(
        [*git, "update-ref", "refs/heads/main", commit.stdout.strip().decode()], check=True
    )
    said = perf("fsck", code=12)
    assert not OBEYED.search(said.out + said.err)
    assert said.out.count("\n") == 3
    assert len(perf("fsck", "--json", code=12).document["problems"]) == 2
    assert "2 damaged" in perf("status").out
    perf("log")


@pytest.mark.parametrize(
    ("place", "value", "message"),
    [
        (("resources", "execution"), [2**63, 0, 1], "$.resources.execution has a value above"),
        (("resources", "iteration"), [2**80] * 3, "$.resources.iteration has a value above"),
        (("resources", "mark"), [2**64] * 3, "$.resources.mark has a value above"),
        (("resources", "uid", "codes"), [2**70] * 3, "$.resources.uid.codes is out of range"),
        (("design", "executions"), -5, "$.design.executions is not between 0 and"),
        (("design", "executions"), 2**70, "$.design.executions is not between 0 and"),
        (("design", "version"), -1, "$.design.version is not between 0 and"),
        (("design", "warmup"), -1, "$.design.warmup is not between 0 and"),
        (("design", "binaries"), -1, "$.design.binaries is not between 0 and"),
    ],
)
def test_integers_that_no_array_holds_are_refused(
    place: tuple[str, ...], value: Any, message: str
) -> None:
    document = documented(sample_profile())
    inner = document
    for name in place[:-1]:
        inner = inner[name]
    inner[place[-1]] = value
    with pytest.raises(Malformed, match=re.escape(message)):
        decode(json.dumps(document).encode())


def test_fields_and_columns_that_would_fill_the_memory_are_refused_unread(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for name in (
        "perfvcs.profile.decoding.MAX_HEADER",
        "perfvcs.profile.validity.MAX_HEADER",
        "perfvcs.profile.validity.MAX_STACKS",
    ):
        monkeypatch.setattr(name, 5000)
    monkeypatch.setattr(format_, "MAX_ROWS", 100)
    nested = documented(sample_profile(), models=[{"a": [[]] * 3000}])
    with pytest.raises(
        Malformed, match=r"other than \$.resources have 1.,... bytes, over the limit of 5,000"
    ):
        decode(json.dumps(nested).encode())
    stacks = documented(sample_profile(), stacks={"frames": [], "stacks": [[]] * 3000})
    with pytest.raises(Malformed, match=r"\$.stacks has"):
        decode(json.dumps(stacks).encode())
    long = documented(sample_profile())
    long["resources"]["wall"] = [0] * 300
    with pytest.raises(Malformed, match=r"\$.resources.wall has more than 100 rows"):
        decode(json.dumps(long).encode())


@pytest.mark.parametrize(
    "wall",
    [
        [1e308, 1.7e308, 1.797e308] * 2,
        [5e-324, 1e-310, 3e-320] * 2,
        [-0.0, 0.0, 1.0] * 2,
        [1e-300, 1e300] * 3,
        [-1.0, 1e308] * 3,
    ],
)
def test_numbers_at_the_ends_of_the_scale_are_listed_checked_and_drawn(
    project: Project, perf: Perf, tmp_path: Path, wall: list[float]
) -> None:
    Repository.find(create=True).store.add(both(project, wall, [*reversed(wall)]), "test")
    for command in (
        ("log",),
        ("status", "--json"),
        ("check",),
        ("check", "--json"),
        ("check", "--markdown"),
    ):
        said = perf(*command, code=None)
        assert said.code in (0, 3), said
        assert "nan" not in said.out.lower()
    perf("show", "sort", "--no-open", "-o", str(tmp_path / "page.html"), code=None)


def test_the_median_of_huge_measurements_is_no_infinity(project: Project) -> None:
    rows = Resources(
        names=["sort"], uid=[0] * 2, execution=[0] * 2, metrics={"wall": [1.7e308, 1.7e308]}
    )
    repository = Repository.find(create=True)
    commit = project.commit()
    repository.store.add([sample_profile(commit=commit, resources=rows)], "test")
    (one,) = repository.index.measured([commit])
    assert one.summaries[0].medians == (1.7e308,)


def test_long_names_are_cut(project: Project, perf: Perf) -> None:
    uid = "u" * 10_000
    rows = Resources(
        names=[uid],
        uid=[0] * 10,
        execution=list(range(10)),
        metrics={"wall": noisy(0.01), "cpu": noisy(0.01)},
    )
    profiles = both(project, resources=rows, job=Job("n" * 9000, "time", "x"))
    Repository.find(create=True).store.add(profiles, "test")
    for command in ("log", "status", "check"):
        assert len(perf(command).out) < 2500
    assert len(perf("show", "nosuch", code=2).err) < 2500


def test_times_and_sessions_are_only_text(project: Project, perf: Perf) -> None:
    for profile in both(project, collected=Collected("", "", "", "")):
        Repository.find(create=True).store.add([profile], "test")
    assert "degradation" in perf("check", code=3).out


def test_units_and_names_lose_what_a_terminal_obeys() -> None:
    assert quantity(2.0, "\x9bs\x1b") == "2 \ufffds␛"
    assert shorten("a\u2028b\u200fc\u061cd\x85e") == "a\ufffdb\ufffdc\ufffdd\ufffde"


@pytest.mark.parametrize("place", ["options", "models", "postprocessors"])
@pytest.mark.parametrize("depth", [90, 980, 5000])
def test_what_is_nested_too_deep_is_refused_before_it_is_stored(
    project: Project, perf: Perf, place: str, depth: int
) -> None:
    document = documented(sample_profile(commit=project.commit()))
    if place == "options":
        document["job"]["options"] = {"a": "deep"}
    else:
        document[place] = [
            {"a": "deep"} if place == "models" else {"name": "x", "params": {"a": "deep"}}
        ]
    file = project.root / "deep.json"
    file.write_text(json.dumps(document).replace('"deep"', "[" * depth + "]" * depth))
    said = perf("import", "deep.json", code=12)
    assert said.err.count("\n") == 1
    assert "nested deeper than 64 levels" in said.err or "recursion" in said.err
    assert perf("status").out.count("the store holds 0 profiles") == 1


def test_what_nobody_sees_in_titles_names_and_files_is_shown_by_every_command(
    project: Project, perf: Perf
) -> None:
    tags = "".join(chr(0xE0000 + ord(one)) for one in "evil")
    hostile = f"sort\u202e{tags}\u200b"
    project.configure(f'cmd = "true"\nworkloads = ["{hostile}"]')
    project.commit("first")
    project.commit(f"second\u2066{tags}")
    outside = project.root / f"here{tags}"
    said = [perf("collect", "HEAD~1", "HEAD")]
    for words in (
        "status",
        "log",
        "log --json",
        "check",
        "check --json",
        "check --markdown",
        "show --text",
        "history",
        "plan",
        "fsck",
        "rm -n HEAD",
        f"show{tags}",
        f"show {tags}",
        f"accept {tags} --reason {tags}",
        f"import {outside}",
        f"export -o {outside} HEAD",
        f"publish {outside}-site",
        f"-C {outside} status",
    ):
        said.append(perf(*words.split(" "), code=None))
    for one in said:
        assert not {
            character
            for character in one.out + one.err
            if unicodedata.category(character) in ("Cf", "Cc", "Cn")
        } - {"\n"}
    assert any("\ufffd" in one.out for one in said)

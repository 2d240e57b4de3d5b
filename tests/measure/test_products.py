"""Products: other programs, measured in turns with a revision."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import msgspec
import pytest
from conftest import Perf, Project

from perfvcs import profile
from perfvcs.git.project import Project as Git
from perfvcs.git.worktree import CheckoutError
from perfvcs.measure.product import read
from perfvcs.profile.validity import Malformed
from perfvcs.repository import Repository

SHARED = 'cmd = "./bench 1"\nexecutions = 1'


@pytest.fixture
def sorting(project: Project) -> Project:
    """A project whose benchmark prints which program it is."""
    project.configure(SHARED)
    project.write("bench", "#!/bin/sh\necho ours $1 >> $RECORD\n", executable=True)
    project.commit("one")
    return project


@pytest.fixture(autouse=True)
def record(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where the benchmarks write what ran."""
    path = tmp_path / "record"
    path.touch()
    monkeypatch.setenv("RECORD", str(path))
    return path


def program(path: Path, name: str) -> Path:
    path.write_text(f"#!/bin/sh\necho {name} $1 $2 >> $RECORD\n")
    path.chmod(0o755)
    return path


def compared(perf: Perf, *sides: str) -> list[dict[str, Any]]:
    return list(perf("check", *sides, "--json", code=None).document["changes"])


@pytest.mark.usefixtures("sorting")
def test_products_are_measured_in_turns_with_a_revision(
    perf: Perf, record: Path, tmp_path: Path
) -> None:
    other = Project(tmp_path / "other")
    other.write("bench", "#!/bin/sh\necho theirs $1 >> $RECORD\n", executable=True)
    other.commit("theirs")
    theirs = program(tmp_path / "fast sort", "fast")
    said = perf(
        "collect", "-n", "3", "--against", f"there={other.root}", "--against", f"fast='{theirs}' -q"
    )
    assert "\nthere " in said.out and "\nfast " in said.out
    assert (
        sorted(record.read_text().split("\n")[:-1])
        == ["fast -q 1"] * 3 + ["ours 1"] * 3 + ["theirs 1"] * 3
    )
    for name in ("there", "fast"):
        changes = compared(perf, "HEAD", name)
        assert {change["job"] for change in changes} == {"work"}
        assert not {change["word"] for change in changes} & {"new", "missing", "not comparable"}
        assert perf("check", name, code=None).out.partition("\n")[0].split()[2] == f"{name}:"
    assert not {change["word"] for change in compared(perf, "fast", "there")} & {
        "new",
        "missing",
        "not comparable",
    }


@pytest.mark.usefixtures("sorting")
def test_one_program_may_have_two_names(perf: Perf, record: Path, tmp_path: Path) -> None:
    fast = program(tmp_path / "fast", "fast")
    perf("collect", "-n", "2", "--against", f"a={fast}", "--against", f"b={fast}")
    assert record.read_text().count("fast") == 4
    assert not {change["word"] for change in compared(perf, "a", "b")} & {
        "new",
        "missing",
        "not comparable",
    }


def test_a_product_is_not_a_part_of_the_history(
    sorting: Project, perf: Perf, tmp_path: Path
) -> None:
    fast = program(tmp_path / "fast", "fast")
    perf("collect", "-n", "2", "--against", f"fast={fast}")
    perf("check", "fast", code=None)
    assert "n=2 " in perf("status").out and "last verdict" not in perf("status").out
    exported = tmp_path / "rows.csv"
    perf("export", "HEAD", "--table", str(exported))
    assert "fast" not in exported.read_text()
    perf("export", "fast", "--table", str(exported), "--force")
    assert "fast" in exported.read_text()
    second = sorting.commit("two")
    perf("collect", "-n", "2")
    changes = compared(perf, second)
    assert {change["word"] for change in changes} & {
        "same",
        "inconclusive",
        "degradation",
        "improvement",
        "suspected",
    }
    perf("rm", "fast")
    assert "not a revision" in perf("check", "fast", code=2).err


def test_uncommitted_changes_and_revisions_of_another_repository(
    project: Project, tmp_path: Path
) -> None:
    project.commit("ours")
    ours = Git.find()
    other = Project(tmp_path / "other")
    first = other.commit("first", bench="1")
    other.commit("second", bench="2")
    before = read(f"new={other.root}", ours)
    assert read(before.spec, ours) == before
    old = read(f"old={other.root}@{first[:12]}", ours)
    assert old.commit == first and read(old.spec, ours) == old and old.digest != before.digest
    other.write("bench", "3")
    changed = read(f"new={other.root}", ours)
    assert changed.digest != before.digest
    with changed.laid_out(tmp_path / "place") as place:
        assert (place / "bench").read_text() == "3"
    with old.laid_out(tmp_path / "place") as place:
        assert (place / "bench").read_text() == "1"
    assert not (tmp_path / "place").exists() and not other.git(
        "worktree", "list", "--porcelain"
    ).count("place")


def test_a_folder_without_git_is_copied(project: Project, tmp_path: Path) -> None:
    project.commit("ours")
    plain = tmp_path / "plain"
    (plain / "__pycache__").mkdir(parents=True)
    (plain / "bench").write_text("1")
    (plain / "link").symlink_to("bench")
    found = read(f"it={plain}", Git.find())
    with found.laid_out(tmp_path / "place") as place:
        assert sorted(path.name for path in place.iterdir()) == ["bench", "link"]
    (plain / "bench").write_text("2")
    assert read(f"it={plain}", Git.find()).digest != found.digest
    with (
        pytest.raises(CheckoutError, match="changed while it was copied"),
        found.laid_out(tmp_path / "place"),
    ):
        pass
    assert not (tmp_path / "place").exists()


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["fast"], "NAME=FOLDER or NAME=COMMAND"),
        (["=ls"], "NAME=FOLDER or NAME=COMMAND"),
        (["a b=ls"], "letters, digits"),
        (["main=ls"], "`main` is a revision here"),
        (["new=nowhere-at-all"], "not a program on PATH, and not a folder"),
        (["new=./nowhere"], "`./nowhere` is not a program or folder"),
        (["new=ls 'x"], "No closing quotation"),
        (["new=plain@main"], "not the top of a git repository"),
        (["new=empty"], "has no commits yet"),
        (["new=.@nothing"], "`nothing` is not a revision of /"),
        (["new=pipes"], "pipes/pipe is neither a file nor a link, and is not copied"),
        (["new=/proc/self/task"], "cannot be read ("),
        (["new=ls", "new=cat"], "two products are called `new`"),
        ([f"p{number}=ls" for number in range(8)], "8 products are more than the 7"),
    ],
)
def test_what_is_not_a_product_is_refused_in_one_line(
    sorting: Project, perf: Perf, options: list[str], said: str
) -> None:
    (sorting.root / "plain").mkdir()
    (sorting.root / "pipes").mkdir()
    os.mkfifo(sorting.root / "pipes/pipe")
    Project(sorting.root / "empty")
    done = perf(
        "collect", *(word for option in options for word in ("--against", option)), code=None
    )
    assert done.code == 2 and said in done.err and done.err.count("\n") == 1
    assert not (sorting.root / ".perf").exists()


@pytest.mark.usefixtures("sorting")
def test_check_measures_one_product_until_it_is_settled(
    perf: Perf, record: Path, tmp_path: Path
) -> None:
    fast = program(tmp_path / "fast", "fast")
    done = perf("check", "--against", f"fast={fast}", "-n", "3", code=None)
    assert done.out.partition("\n")[0].split()[1:3] == ["->", "fast:"]
    assert record.read_text().count("fast") == 3
    assert "one product" in perf("check", "--against", "a=ls", "--against", "b=ls", code=2).err
    assert "`fast` is a product" in perf("check", "--measure", "HEAD", "fast", code=2).err


@pytest.mark.usefixtures("sorting")
def test_the_environment_of_a_product_may_differ(perf: Perf, tmp_path: Path) -> None:
    perf("collect", "-n", "3", "--against", f"fast={program(tmp_path / 'fast', 'fast')}")
    store, (product,) = Repository.find().store, [one for one in _profiles() if one.design.product]
    fields = product.environment.fields | {"python": "PyPy 7.3"}
    elsewhere = msgspec.structs.replace(
        product, environment=msgspec.structs.replace(product.environment, fields=fields)
    )
    store.replace([(path, elsewhere) for path, one in _stored() if one.design.product], "elsewhere")
    assert {change["word"] for change in compared(perf, "HEAD", "fast")}.isdisjoint(
        {"not comparable"}
    )


@pytest.mark.usefixtures("sorting")
def test_another_session_says_nothing_of_a_product(perf: Perf, tmp_path: Path) -> None:
    fast = program(tmp_path / "fast", "fast")
    perf("collect", "-n", "2", "--against", f"fast={fast}")
    ours = [path for path, one in _stored() if not one.design.product]
    Repository.find().store.remove(ours, "without ours")
    perf("collect", "-n", "2")
    (reason,) = {change["reason"] for change in compared(perf, "HEAD", "fast")}
    assert "perf collect --against" in reason


@pytest.mark.parametrize("name", ["", "../x", "a\x1b[31m", "x" * 65])
@pytest.mark.usefixtures("sorting")
def test_the_name_of_a_stored_product_is_checked(perf: Perf, tmp_path: Path, name: str) -> None:
    perf("collect", "-n", "1", "--against", f"fast={program(tmp_path / 'fast', 'fast')}")
    (product,) = [one for one in _profiles() if one.design.product]
    hostile = msgspec.structs.replace(product.design, product=profile.Product(name))
    with pytest.raises(Malformed, match=r"product\.name"):
        msgspec.structs.replace(product, design=hostile).encode()


def _stored() -> list[tuple[str, profile.Profile]]:
    repository = Repository.find()
    return repository.store.read_many([header.path for header in repository.index.headers()])


def _profiles() -> list[profile.Profile]:
    return [one for _, one in _stored()]

"""``perf export``: profiles of the store become files."""

from __future__ import annotations

import os
import threading
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import pytest
from conftest import TESTS, Perf, Project
from msgspec import structs
from samples import noisy, sample_profile

from perfvcs import formats
from perfvcs.check import compare
from perfvcs.errors import UsageError
from perfvcs.exchange.delivery import into_file
from perfvcs.profile import Job, Profile
from perfvcs.profile.summary import Measured
from perfvcs.repository import Repository


@pytest.fixture
def profile(project: Project) -> Profile:
    """One profile in the store, of HEAD."""
    found = sample_profile(commit=project.commit())
    Repository.find(create=True).store.add([found], "test")
    return found


@pytest.fixture
def another(profile: Profile) -> Profile:
    found = sample_profile(
        [1.0], commit=profile.commit, job=Job("../../evil", "time", "x", workload="a/../b")
    )
    Repository.find().store.add([found], "test")
    return found


def test_one_profile_goes_to_standard_output(perf: Perf, profile: Profile) -> None:
    assert perf("export").out.encode() == profile.encode()
    assert (
        perf("export", "HEAD", "--format", "csv").out
        == "uid,execution,wall [s]\nsort,0,0.01\nsort,1,0.011\nsort,2,0.012\n"
    )
    assert perf("export", "--format", "perun").document["origin"] == profile.commit


def test_a_file_is_written_and_never_overwritten_unasked(perf: Perf, profile: Profile) -> None:
    assert perf("export", "-o", "out.json").out == "wrote out.json\n"
    assert formats.read("out.json") == profile
    Path("out.json").write_text("mine")
    assert (
        "out.json already exists: --force overwrites it"
        in perf("export", "-o", "out.json", code=2).err
    )
    assert perf("export", "-o", "new/").out == "wrote 1 profile into new\n"
    assert Path("new").is_dir()
    assert "file/ is a folder: name a file" in perf("export", "--table", "file/", code=2).err
    assert Path("out.json").read_text() == "mine"
    perf("export", "-o", "out.json", "--force")
    assert formats.read("out.json") == profile
    assert [path.name for path in Path().iterdir() if path.name.endswith(".part")] == []


@pytest.mark.usefixtures("profile")
@pytest.mark.parametrize(
    ("output", "message"),
    [
        (
            "none/out.json",
            "cannot write none/out.json: No such file or directory: choose another -o",
        ),
        ("file/out.json", "cannot write file/out.json: Not a directory"),
        ("n" * 300, "File name too long"),
    ],
)
def test_a_place_that_cannot_be_written_to_is_reported(
    perf: Perf, output: str, message: str
) -> None:
    Path("file").touch()
    said = perf("export", "-o", output, code=2)
    assert message in said.err
    assert said.err.count("\n") == 1


@pytest.mark.usefixtures("profile")
def test_a_full_disk_is_not_blamed_on_the_name(perf: Perf) -> None:
    said = perf("export", "-o", "/dev/full", code=1)
    assert (
        said.err == "perf: /dev/full: the disk is full: free some space and run the command again\n"
    )


@pytest.mark.usefixtures("another")
def test_a_folder_that_cannot_be_made_is_reported(perf: Perf) -> None:
    assert "cannot write /proc/none: " in perf("export", "-o", "/proc/none", code=2).err


def test_a_file_system_without_hard_links_is_written_to(
    monkeypatch: pytest.MonkeyPatch, perf: Perf, profile: Profile
) -> None:
    def link(*_: object, **__: object) -> None:
        raise PermissionError(1, "Operation not permitted")

    monkeypatch.setattr(os, "link", link)
    perf("export", "-o", "out.json")
    assert formats.read("out.json") == profile


def test_a_pipe_is_written_to(perf: Perf, profile: Profile) -> None:
    os.mkfifo("pipe")
    read: list[bytes] = []
    reader = threading.Thread(target=lambda: read.append(Path("pipe").read_bytes()))
    reader.start()
    perf("export", "-o", "pipe")
    reader.join(10)
    assert read == [profile.encode()]


def test_profiles_without_stacks_are_left_out_of_files_of_these(
    perf: Perf,
    profile: Profile,
    another: Profile,  # noqa: ARG001
) -> None:
    said = perf("export", "--format", "folded", "-o", "none/", code=12).err
    assert "no call stacks" in said
    stacks = formats.read(TESTS / "data/formats/py-spy.folded")
    found = structs.replace(stacks, commit=profile.commit, job=Job("work", "samples", "./work"))
    Repository.find().store.add([found], "test")
    said = perf("export", "--format", "folded", "-o", "out/").out
    assert said == "wrote 1 profile into out; 2 have no call stacks\n"
    (file,) = Path("out").iterdir()
    assert ";" in file.read_text()


def test_several_profiles_go_into_a_folder(perf: Perf, profile: Profile, another: Profile) -> None:
    said = perf("export", code=2).err
    assert "these are 2 profiles: name a folder (-o FOLDER/), or one of them by its id: " in said
    assert perf("export", said.split()[-1]).out.startswith('{"format":')
    assert perf("export", "-o", "out").out == "wrote 2 profiles into out\n"
    found = sorted(Path("out").iterdir())
    assert [path.name.rpartition("-")[0] for path in found] == [
        f"{profile.commit[:10]}-time-{name}" for name in ("a-..-b", "sort")
    ]
    assert [formats.read(path) for path in found] == [another, profile]
    assert "already exists" in perf("export", "-o", "out", code=2).err
    perf("export", "-o", "out", "--force")
    assert (
        perf("export", "-o", "out", "--format", "csv", "--job", "sort").out
        == "wrote 1 profile into out\n"
    )
    assert perf("export", "--job", "sort").out.encode() == profile.encode()
    Path("file").write_text("")
    assert "file is a file: name a folder" in perf("export", "-o", "file", code=2).err


@pytest.mark.usefixtures("another")
def test_what_is_exported_and_imported_again_is_there_already(perf: Perf) -> None:
    perf("export", "-o", "out")
    assert perf("import", "out").out == "stored 0 profiles, 2 already stored\n"


@pytest.mark.usefixtures("profile")
def test_a_wrong_request_is_refused(perf: Perf) -> None:
    assert "did you mean `csv`" in perf("export", "--format", "cvs", code=2).err
    assert (
        "no option `delimeter`; did you mean `delimiter`"
        in perf("export", "--format", "csv", "--option", "delimeter=;", code=2).err
    )
    assert perf("export", "--format", "csv", "--option", "delimiter=;").out.startswith(
        "uid;execution;wall [s]\n"
    )
    assert perf("export", "nowhere", code=2).err


def test_a_format_may_only_be_read(monkeypatch: pytest.MonkeyPatch) -> None:
    @dataclass(frozen=True)
    class Foreign:
        suffixes: ClassVar[tuple[str, ...]] = (".x",)

    monkeypatch.setattr(formats, "build", lambda *_: Foreign())
    with pytest.raises(
        UsageError, match=r"can only be read: choose one of .*csv, .*perfvcs, perun"
    ):
        formats.encode(sample_profile(), "foreign")


# profiles compared without a repository


def test_profiles_are_compared_alone_in_sequences_or_as_summaries() -> None:
    old, new = (
        sample_profile(noisy(centre, 20, seed), commit=str(seed) * 40)
        for centre, seed in ((1.0, 1), (1.5, 2))
    )
    reports = [compare(old, new), compare([old], [new]), compare((old,), Measured.of(new))]
    assert reports[0] == reports[1] == reports[2]
    (change,) = reports[0].changes
    assert change.effect == pytest.approx(0.5, abs=0.01)


def test_a_path_that_stands_for_an_open_file_is_written_through_and_stays(tmp_path: Path) -> None:
    with (tmp_path / "page").open("wb") as file:
        name = Path(f"/proc/self/fd/{file.fileno()}")
        into_file(name, b"the page", force=False)
        assert name.is_symlink()
    assert (tmp_path / "page").read_bytes() == b"the page"

"""Reading profiles from files."""

import os
from pathlib import Path

import pytest
from cases import each
from samples import format_of, sample_profile

from perfvcs import formats
from perfvcs.formats import UnreadableFile
from perfvcs.profile.validity import MAX_PROFILE, Malformed


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "some profile.json"
    path.write_bytes(sample_profile().encode())
    return path


def test_a_profile_is_read_from_a_file(file: Path) -> None:
    assert format_of(file) == "perfvcs"
    assert formats.read(file) == sample_profile()
    assert formats.read(file, "perfvcs") == sample_profile()


def test_a_broken_profile_is_named_with_its_place(file: Path) -> None:
    file.write_bytes(file.read_bytes().replace(b'"wall":[0.01,', b'"wall":["fast",'))
    with pytest.raises(Malformed) as caught:
        formats.read(file)
    assert str(file) in str(caught.value)
    assert "$.resources.wall[0]" in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_profile_of_a_newer_format_asks_for_an_update(file: Path) -> None:
    file.write_bytes(b'{"format": "perfvcs-profile/2", "shape": "new"}')
    with pytest.raises(Malformed, match="update perfvcs"):
        formats.read(file)


@pytest.mark.parametrize("content", [b"", b"{}", b"\x7fELF", b"name,value\n", b"[" * 100_000])
def test_what_is_no_profile_is_of_no_known_format(file: Path, content: bytes) -> None:
    file.write_bytes(content)
    with pytest.raises(UnreadableFile, match="none of the formats"):
        formats.read(file)


def test_an_unknown_format_is_named(file: Path) -> None:
    with pytest.raises(UnreadableFile.__base__, match="perfvsc"):
        formats.read(file, "perfvsc")


def test_a_huge_file_is_refused_before_it_is_read(file: Path) -> None:
    with file.open("r+b") as sparse:
        sparse.truncate(MAX_PROFILE + 1)
    with pytest.raises(UnreadableFile, match="over the limit"):
        formats.read(file)


def test_only_regular_files_are_read(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    for path in (tmp_path / "pipe", Path(os.devnull), Path("/dev/zero")):
        with pytest.raises(UnreadableFile, match="not a regular file"):
            formats.read(path)
    for path, reason in ((tmp_path, "[Dd]irectory"), (tmp_path / "none", "No such file")):
        with pytest.raises(UnreadableFile, match=reason):
            formats.read(path)


@pytest.mark.parametrize("name", ["csv", "perfvcs", "perun"])
def test_a_format_that_holds_all_rows_recognises_and_reads_what_it_writes(
    name: str, tmp_path: Path
) -> None:
    profile = sample_profile()
    path = tmp_path / f"profile{formats.suffixes(name)[0]}"
    path.write_bytes(formats.encode(profile, name))
    assert format_of(path) == name
    again = formats.read(path)
    assert again.resources.metrics == profile.resources.metrics
    assert again.resources.names == profile.resources.names
    assert again.resources.execution == profile.resources.execution
    assert again.metrics == profile.metrics
    assert formats.read(str(path), name, {}) == again


@pytest.mark.parametrize("name", formats.members("decode"))
@each(
    "content", [b"", b"\0", b"\xff\xfe", b"{}", b"[[[", b'{"resources": {"a": 1}}', b"{" * 100_000]
)
def test_no_format_takes_what_it_cannot_read(name: str, content: bytes, file: Path) -> None:
    file.write_bytes(content)
    with pytest.raises(Malformed, match=r"some profile\.json"):
        formats.read(file, name)

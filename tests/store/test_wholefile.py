"""Files that are written whole or not at all."""

import errno
import os
import threading
from pathlib import Path

import pytest

from perfvcs.system import disk


@pytest.fixture
def no_unnamed(monkeypatch: pytest.MonkeyPatch) -> None:
    """A file system that has no files without a name."""
    really = os.open

    def refuse(path: str, flags: int, mode: int = 0o777, *, dir_fd: int | None = None) -> int:
        if flags & os.O_TMPFILE == os.O_TMPFILE:
            raise OSError(errno.EOPNOTSUPP, "Operation not supported")
        return really(path, flags, mode, dir_fd=dir_fd)

    monkeypatch.setattr(os, "open", refuse)


@pytest.fixture(params=["unnamed", "no_unnamed", "no /proc"])
def anywhere(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """File systems of every kind."""
    if request.param == "no_unnamed":
        request.getfixturevalue("no_unnamed")
    if request.param == "no /proc":

        def link(*_: object, **__: object) -> None:
            raise FileNotFoundError(errno.ENOENT, "No such file or directory")

        monkeypatch.setattr(os, "link", link)


@pytest.mark.usefixtures("anywhere")
def test_a_file_is_made_and_replaced(tmp_path: Path) -> None:
    path = tmp_path / "file"
    disk.write(path, b"one")
    usual = tmp_path / "usual"
    usual.touch()
    assert path.stat().st_mode == usual.stat().st_mode
    disk.write(path, b"two", 0o755)
    assert path.read_bytes() == b"two"
    assert path.stat().st_mode & 0o777 == 0o755
    assert sorted(path.name for path in tmp_path.iterdir()) == ["file", "usual"]


@pytest.mark.usefixtures("anywhere")
def test_what_cannot_be_written_whole_leaves_the_old_file_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"old")
    really = os.write

    def write(number: int, content: bytes) -> int:
        if len(content) <= 3:
            raise OSError(errno.ENOSPC, "No space left on device")
        return really(number, content[:3])

    monkeypatch.setattr(os, "write", write)
    with pytest.raises(OSError, match="No space left"):
        disk.write(path, b"123456")
    assert path.read_bytes() == b"old"
    assert [path.name for path in tmp_path.iterdir()] == ["file"]


@pytest.mark.usefixtures("anywhere")
def test_no_link_is_written_through(tmp_path: Path) -> None:
    precious = tmp_path / "precious"
    precious.write_bytes(b"mine")
    for name in (".file.part", f".file.{threading.get_native_id()}.part", "file"):
        (tmp_path / name).symlink_to(precious)
    disk.write(tmp_path / "file", b"new")
    assert precious.read_bytes() == b"mine"
    assert (tmp_path / "file").read_bytes() == b"new"
    assert not (tmp_path / "file").is_symlink()


def test_writers_of_one_file_do_not_mix(tmp_path: Path) -> None:
    path = tmp_path / "file"
    contents = [bytes([letter]) * 100_000 for letter in b"abcd"]

    def write(content: bytes) -> None:
        for _ in range(50):
            disk.write(path, content)

    threads = [threading.Thread(target=write, args=(content,)) for content in contents]
    for thread in threads:
        thread.start()
    while any(thread.is_alive() for thread in threads):
        assert not path.exists() or path.read_bytes() in contents
    assert [path.name for path in tmp_path.iterdir()] == ["file"]

"""The collector ``size`` on real files: libraries, archives, wheels."""

from __future__ import annotations

import io
import subprocess
import tarfile
import zipfile
from pathlib import Path

import pytest
from conftest import Perf, Project

from perfvcs import plugins
from perfvcs.collectors.size import Size
from perfvcs.collectors.size.fileparts import parts
from perfvcs.errors import UsageError
from perfvcs.plugins.collector import CollectError, Observations, Run

LIBRARY = "int small(int x) { return x + 1; }\nint large[1000] = {1};\n"
TABLE = "int more[3000] = {2};\n"


def looked(folder: Path, *files: str, largest: int = 50) -> Observations:
    run = Run(("/bin/true",), folder, {}, folder, "job")
    return Size(files, largest).collect(run)


def by_unit(seen: Observations, metric: str) -> dict[str, float]:
    rows = zip(seen.uid, seen.values[metric], strict=True)
    return {uid: value for uid, value in rows if value is not None}


def built(folder: Path, name: str = "lib.so", source: str = LIBRARY, *flags: str) -> Path:
    (folder / "lib.c").write_text(source)
    options = flags or ("-shared", "-fPIC")
    subprocess.run(["gcc", *options, "-o", name, "lib.c"], cwd=folder, check=True)
    return folder / name


class TestFiles:
    def test_the_whole_is_the_sum_of_its_files(self, tmp_path: Path) -> None:
        (tmp_path / "a").write_bytes(b"x" * 100)
        (tmp_path / "b").write_bytes(b"x" * 23)
        assert by_unit(looked(tmp_path, "a", "b"), "bytes") == {"job": 123, "a": 100, "b": 23}
        assert by_unit(looked(tmp_path, "a", "*"), "bytes") == {"job": 123, "a": 100, "b": 23}
        assert by_unit(looked(tmp_path, "a"), "bytes") == {"job": 100}

    def test_a_pattern_for_one_file_is_its_name(self, tmp_path: Path) -> None:
        (tmp_path / "dist").mkdir()
        (tmp_path / "dist" / "p-1.0.whl").write_bytes(b"x")
        (tmp_path / "dist" / "p-1.0.zip").write_bytes(b"xx")
        seen = by_unit(looked(tmp_path, "dist/*.whl", "dist/*.zip"), "bytes")
        assert seen == {"job": 3, "dist/*.whl": 1, "dist/*.zip": 2}

    def test_nothing_found_is_an_error_with_the_cure(self, tmp_path: Path) -> None:
        with pytest.raises(CollectError, match=r"no file is called \*\.so in .*build it first"):
            looked(tmp_path, "*.so")

    def test_links_lead_nowhere(self, tmp_path: Path) -> None:
        inside = tmp_path / "inside"
        inside.mkdir()
        (tmp_path / "secret").write_bytes(b"x" * 9)
        (inside / "link").symlink_to(tmp_path / "secret")
        (inside / "folder").symlink_to(tmp_path)
        with pytest.raises(CollectError):
            looked(inside, "link")
        with pytest.raises(CollectError):
            looked(inside, "folder/secret")

    @pytest.mark.parametrize("pattern", ["/etc/passwd", "../x", "a/../../x", ""])
    def test_patterns_stay_below_the_project(self, pattern: str) -> None:
        with pytest.raises(UsageError, match="is not below the project"):
            Size((pattern,))

    def test_a_text_is_no_list_of_files(self) -> None:
        with pytest.raises(UsageError, match="files: give a list"):
            plugins.build("collectors", "size", {"files": "app"}, "here")


class TestParts:
    @pytest.mark.needs("gcc")
    def test_sections_and_symbols_have_the_sizes_that_readelf_shows(self, tmp_path: Path) -> None:
        found = parts(built(tmp_path))
        assert found["large"] == 4000
        said = subprocess.run(
            ["readelf", "-SW", "lib.so"], cwd=tmp_path, capture_output=True, text=True, check=True
        ).stdout
        (text,) = (line for line in said.splitlines() if " .text " in line)
        assert found[".text"] == int(text.split("]")[1].split()[4], 16)
        assert ".bss" not in found  # it takes no room in the file

    @pytest.mark.needs("gcc")
    def test_the_largest_parts_are_recorded(self, tmp_path: Path) -> None:
        built(tmp_path)
        seen = by_unit(looked(tmp_path, "lib.so", largest=2), "part_bytes")
        assert len(seen) == 2
        assert "large" in seen or ".data" in seen

    @pytest.mark.needs("gcc", "ar")
    def test_a_static_library_has_its_object_files(self, tmp_path: Path) -> None:
        names = ("short.o", "an_object_file_with_a_long_name.o")
        for name in names:
            built(tmp_path, name, LIBRARY, "-c")
        subprocess.run(["ar", "rcs", "all.a", *names], cwd=tmp_path, check=True)
        expected = {name: (tmp_path / name).stat().st_size for name in names}
        assert parts(tmp_path / "all.a") == expected

    def test_a_wheel_has_its_members_as_they_are_packed(self, tmp_path: Path) -> None:
        with zipfile.ZipFile(tmp_path / "p.whl", "w", zipfile.ZIP_DEFLATED) as archive:
            archive.writestr("p/__init__.py", "x = 1\n" * 1000)
            archive.writestr("p/empty.py", "")
        found = parts(tmp_path / "p.whl")
        assert set(found) == {"p/__init__.py", "p/empty.py"}
        assert found["p/empty.py"] < found["p/__init__.py"] < 100

    @pytest.mark.parametrize("mode", ["w", "w:gz", "w:xz", "w:bz2"])
    def test_a_tar_has_its_members(self, tmp_path: Path, mode: str) -> None:
        with tarfile.open(tmp_path / "p.tar", mode) as archive:  # type: ignore[call-overload]
            about = tarfile.TarInfo("p/data")
            about.size = 1234
            archive.addfile(about, io.BytesIO(b"x" * 1234))
        assert parts(tmp_path / "p.tar") == {"p/data": 1234}

    @pytest.mark.needs("gcc")
    def test_damaged_files_have_their_size_alone(self, tmp_path: Path) -> None:
        whole = built(tmp_path).read_bytes()
        for place in range(0, len(whole), len(whole) // 40):
            path = tmp_path / "cut"
            path.write_bytes(whole[:place])
            assert isinstance(parts(path), dict)
            path.write_bytes(whole[:place] + b"\xff" * 64 + whole[place + 64 :])
            assert all(count > 0 for count in parts(path).values())
        assert by_unit(looked(tmp_path, "cut"), "bytes")["job"] > 0

    def test_damaged_archives_have_their_size_alone(self, tmp_path: Path) -> None:
        for head in (b"!<arch>\n" + b"\xff" * 200, b"PK\x05\x06" + b"\xff" * 18, b"\x1f\x8b" * 50):
            (tmp_path / "bad").write_bytes(head)
            assert parts(tmp_path / "bad") == {}

    def test_names_of_members_are_one_printable_line(self, tmp_path: Path) -> None:
        with zipfile.ZipFile(tmp_path / "p.zip", "w") as archive:
            archive.writestr("a\x1b[2J\nb", "x" * 50)
        (name,) = parts(tmp_path / "p.zip")
        assert name.isprintable()


@pytest.mark.needs("gcc")
def test_check_names_what_grew_and_executes_nothing(project: Project, perf: Perf) -> None:
    table = (
        'build = ["gcc -shared -fPIC -o lib.so lib.c"]\n[[job]]\nname = "library"\n'
        'cmd = "false"\ncollectors = [{ name = "size", files = ["*.so"] }]\n'
    )
    project.commit("one", **{"lib.c": LIBRARY, "perf.toml": table, ".gitignore": "*.so\n"})
    project.commit("two", **{"lib.c": LIBRARY + TABLE})
    said = perf("check", "--measure", "HEAD~1", "HEAD", code=3).out
    assert "library became larger: bytes +" in said
    assert "more has +12 kB (new)" in said

"""Builds what setup.cfg describes: refuses a checkout without symbolic links, names its commit, and
makes the same bytes each time.
"""

import gzip
import io
import os
import subprocess
import sys
import tarfile
from pathlib import Path

from setuptools import setup
from setuptools.command.build_py import build_py
from setuptools.command.sdist import sdist

HERE = Path(__file__).parent
BUILT = Path("perfvcs", "_built.py")  # in what is built, never in the checkout

for family in ("collectors", "postprocessors", "views"):
    if (HERE / "perfvcs" / family).is_file():
        sys.exit(
            f"perfvcs/{family} is a file and not a link to {family}/: check out with `git -c"
            " core.symlinks=true`, or build from the sdist"
        )


def described():
    """The text of ``BUILT``: the commit with its time; as it is in an sdist."""
    if (HERE / BUILT).is_file():
        return (HERE / BUILT).read_text()
    try:
        asked = ["git", "-C", str(HERE), "log", "-1", "--format=%H %ct"]
        commit, when = subprocess.run(
            asked, capture_output=True, text=True, check=True
        ).stdout.split()
        changed = subprocess.run(
            ["git", "-C", str(HERE), "status", "--porcelain"],
            capture_output=True,
            text=True,
            check=True,
        ).stdout
    except (OSError, ValueError, subprocess.CalledProcessError):
        commit, when, changed = "", "315532800", ""  # 1980, the first day of a zip
    return (
        '"""Which commit this was built from."""\n\nCOMMIT ='
        f' "{commit}{"+" if changed else ""}"\nWHEN = {when}\n'
    )


os.umask(0o022)  # permissions are part of what is built
TEXT = described()
# zip files of wheels take it
WHEN = int(os.environ.setdefault("SOURCE_DATE_EPOCH", TEXT.rsplit(" ", 1)[1].strip()))


class Build(build_py):
    """Adds ``BUILT``."""

    def run(self):
        super().run()
        if not self.editable_mode:
            target = Path(self.build_lib, BUILT)
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_text(TEXT)
            for path in Path(self.build_lib).rglob("*"):
                path.chmod(mode(path.is_dir() or path.stat().st_mode & 0o100))


class Source(sdist):
    """Adds ``BUILT``, and packs members in one order, with one time and owner."""

    def make_release_tree(self, base_dir, files):
        super().make_release_tree(base_dir, files)
        Path(base_dir, BUILT).write_text(TEXT)

    def make_archive(self, base_name, format, root_dir=None, base_dir=None, owner=None, group=None):
        if format != "gztar":
            return super().make_archive(base_name, format, root_dir, base_dir, owner, group)
        plain = io.BytesIO()
        with tarfile.open(fileobj=plain, mode="w", format=tarfile.PAX_FORMAT) as archive:
            for path in sorted([Path(base_dir), *Path(base_dir).rglob("*")]):
                archive.add(path, recursive=False, filter=uniform)
        packed = Path(f"{base_name}.tar.gz")
        packed.write_bytes(gzip.compress(plain.getvalue(), 9, mtime=WHEN))
        return str(packed)


def uniform(member):
    """A member of the archive without what differs from machine to machine."""
    member.uid = member.gid = 0
    member.uname = member.gname = ""
    member.mtime = WHEN
    member.mode = mode(member.isdir() or member.mode & 0o100)
    return member


def mode(entered_or_executed):
    """The permissions of a file or folder, whatever the umask of the checkout was."""
    return 0o755 if entered_or_executed else 0o644


setup(cmdclass={"build_py": Build, "sdist": Source})

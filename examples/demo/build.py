"""Build the demo's git repository: eight successive releases of sqlparse, one commit each, and the
benchmark on top.

    python examples/demo/build.py FOLDER [--downloads FOLDER]

sqlparse (https://github.com/andialbrecht/sqlparse, BSD licence) splits, parses and formats SQL. It
is pure Python without dependencies, and became slower and faster again between these releases. The
releases come from the package index through pip, as pip is configured; what was downloaded is kept,
so that a second run needs no network. Each commit is one release, tagged with its version, dated
like the release; files, dates and author are fixed, so that the commit ids are the same on every
machine.
"""

from __future__ import annotations

import argparse
import hashlib
import subprocess
import sys
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path, PurePosixPath

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))
from building import AUTHOR, BuildError, git, reported, repository  # noqa: E402

PACKAGE = "sqlparse"


@dataclass(frozen=True)
class Release:
    """One release: its version, its day (UTC) from the project's changelog, and the SHA-256 of its
    wheel.
    """

    version: str
    day: str
    digest: str


RELEASES = (
    Release(
        "0.3.0", "2019-03-11", "40afe6b8d4b1117e7dff5504d7a8ce07d9a1b15aeeade8a2d10f130a834f8177"
    ),
    Release(
        "0.3.1", "2020-02-29", "022fb9c87b524d1f7862b3037e541f68597a730a8843245c349fc93e1643dc4e"
    ),
    Release(
        "0.4.0", "2020-10-07", "0523026398aea9c8b5f7a4a6d5c0829c285b4fbd960c17b5967a369342e21e01"
    ),
    Release(
        "0.4.1", "2020-10-08", "017cde379adbd6a1f15a61873f43e8274179378e95ef3fede90b5aa64d304ed0"
    ),
    Release(
        "0.4.2", "2021-09-10", "48719e356bb8b42991bdbb1e8b83223757b93789c00910a616a071910ca4a64d"
    ),
    Release(
        "0.4.3", "2022-09-23", "0323c0ec29cd52bceabc1b4d9d579e311f3e4961b98d174201d5622a23b85e34"
    ),
    Release(
        "0.4.4", "2023-04-18", "5430a4fe2ac7d0f93e66f1efc6e1338a41884b7ddf2a350cedd20ccc4d9d28f3"
    ),
    Release(
        "0.5.0", "2024-04-13", "c204494cd97479d0e39f28c93d46c0b2d5959c7b9ab904762ea6c7af211c8663"
    ),
)


def wheel(release: Release, downloads: Path) -> Path:
    """The release's wheel in ``downloads``, fetched with pip unless it is there; its digest is
    checked.
    """
    pattern = f"{PACKAGE}-{release.version}-*.whl"
    downloads.mkdir(parents=True, exist_ok=True)
    if not list(downloads.glob(pattern)):
        command = [
            sys.executable,
            "-m",
            "pip",
            "download",
            "--quiet",
            "--disable-pip-version-check",
            "--no-deps",
        ]
        command += [
            "--only-binary",
            ":all:",
            "--dest",
            str(downloads),
            f"{PACKAGE}=={release.version}",
        ]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode:
            last = (done.stderr.strip().splitlines() or ["no message"])[-1]
            raise BuildError(
                f"pip could not download {PACKAGE} {release.version} ({last}): check the network,"
                " then run it again"
            )
    found = next(iter(downloads.glob(pattern)), None)
    if found is None:
        raise BuildError(
            f"pip downloaded no wheel of {PACKAGE} {release.version} into {downloads}: empty that"
            " folder, then run it again"
        )
    if hashlib.sha256(found.read_bytes()).hexdigest() != release.digest:
        raise BuildError(
            f"{found} is not the release that was expected: delete it, then run it again"
        )
    return found


def contents(archive: Path) -> dict[str, bytes]:
    """The package's own files in a wheel, by path; its metadata is left out."""
    files = {}
    with zipfile.ZipFile(archive) as opened:
        for name in opened.namelist():
            if (
                name.startswith(f"{PACKAGE}/")
                and not name.endswith("/")
                and ".." not in PurePosixPath(name).parts
            ):
                files[name] = opened.read(name)
    return files


def commit(
    message: str, seconds: str, files: Mapping[str, bytes], *, clear: bool, tag: str | None = None
) -> bytes:
    """One commit in git fast-import's language; ``seconds`` is its date as git writes it; ``clear``
    drops what was there before.
    """
    who = f"{AUTHOR['NAME']} <{AUTHOR['EMAIL']}> {seconds}".encode()
    text = f"{message}\n".encode()
    lines = [
        b"commit refs/heads/main\nauthor %b\ncommitter %b\ndata %d\n%b\n"
        % (who, who, len(text), text)
    ]
    lines += [b"deleteall\n"] if clear else []
    lines += [
        b"M 100644 inline %b\ndata %d\n%b\n" % (name.encode(), len(data), data)
        for name, data in sorted(files.items())
    ]
    if tag is not None:
        lines.append(b"reset refs/tags/%b\nfrom refs/heads/main\n\n" % tag.encode())
    return b"".join(lines)


def noon(day: str) -> str:
    """Noon of a day in UTC as git writes a date: seconds since 1970 and the zone."""
    return f"{int(datetime.fromisoformat(f'{day}T12:00:00').replace(tzinfo=UTC).timestamp())} +0000"


def build(folder: Path, downloads: Path) -> str:
    """Make the repository in ``folder``, which is missing or empty; returns the id of its newest
    commit.
    """
    with repository(folder) as part:
        archives = [(release, wheel(release, downloads)) for release in RELEASES]
        stream = b"".join(
            commit(
                f"{PACKAGE} {release.version}",
                noon(release.day),
                contents(archive),
                clear=True,
                tag=release.version,
            )
            for release, archive in archives
        )
        overlay = {name: (HERE / name).read_bytes() for name in ("bench/sql.py", "perf.toml")}
        overlay[".gitignore"] = b"__pycache__/\n"
        stream += commit(
            "Measure it: a benchmark and perf.toml", noon(RELEASES[-1].day), overlay, clear=False
        )
        git(part, "fast-import", "--quiet", feed=stream)
        git(part, "reset", "--quiet", "--hard", "main")
    return git(folder, "rev-parse", "HEAD")


def main() -> int:
    """Read the command line, build, and print what was built."""
    parser = argparse.ArgumentParser(
        description="Build the demo's git repository out of eight releases of sqlparse."
    )
    parser.add_argument("folder", type=Path, help="where the repository is made; missing or empty")
    parser.add_argument(
        "--downloads",
        type=Path,
        default=Path("demo/downloads"),
        help="where downloads are kept (%(default)s)",
    )
    chosen = parser.parse_args()

    def made() -> str:
        head = build(chosen.folder, chosen.downloads)
        first, last = RELEASES[0].version, RELEASES[-1].version
        return (
            f"{chosen.folder}: {len(RELEASES)} releases of {PACKAGE}, {first} to {last}, HEAD"
            f" {head[:12]}"
        )

    return reported(made)


if __name__ == "__main__":
    sys.exit(main())

"""What was sealed by anything but the process that measures is not reused."""

from __future__ import annotations

import hashlib
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from conftest import Perf, Project

from perfvcs.measure.builds import Builds
from perfvcs.measure.held import SEAL
from perfvcs.repository import seals

# alters every build that is kept, and seals it as perfvcs does
FORGING = """
import sys
from pathlib import Path
sys.path.insert(0, {source!r})
from perfvcs.measure.builds import _digest
try:
    for place in Path("../../builds").iterdir():
        (place / "tree" / "prog").write_text("exit 7\\n")
        (place / "digest").write_text(_digest(place / "tree"))
except OSError:  # where all but its own folders is read-only
    pass
"""
SOURCE = str(Path(seals.__file__).parents[2])


@pytest.fixture
def built(project: Project, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[], int]:
    """A project of two commits whose builds are counted, in a function; what the second one runs
    alters the builds that are kept.
    """
    count = tmp_path / "count"
    count.touch()
    monkeypatch.setenv("COUNT", str(count))
    project.configure('cmd = "sh prog"', top='build = ["sh build.sh"]\n')
    build = "echo built >>$COUNT\ncp source prog\n"
    project.commit("one", **{"build.sh": build, "source": "true\n"})
    forging = f"{sys.executable} forge.py\n"
    project.commit("two", **{"source": forging, "forge.py": FORGING.format(source=SOURCE)})
    return lambda: len(count.read_text().splitlines())


def test_a_build_that_an_execution_altered_and_sealed_is_made_again(
    perf: Perf, built: Callable[[], int]
) -> None:
    perf("collect", "HEAD~1", "-q")
    assert built() == 1
    perf("collect", "HEAD", "-q", "--committed")
    assert built() == 2
    perf("collect", "HEAD~1", "-q")
    assert built() == 3
    perf("collect", "HEAD~1", "-q")
    assert built() == 3


def test_a_judgement_rejects_what_alters_a_build_that_is_kept(
    project: Project, perf: Perf, built: Callable[[], int]
) -> None:
    perf("collect", "HEAD~1", "-q")
    assert built() == 1
    said = perf("judge", "HEAD~1", "HEAD", "--budget", "40s", code=6)
    assert "changes files of the base's copy, or of a build that is kept: builds/" in said.out
    project.git("checkout", "--quiet", "HEAD~1")
    perf("collect", "-q")
    assert built() == 3  # of both sides of the judgement one was kept, and no longer is


def test_what_is_sealed_meanwhile_holds_only_for_who_sealed_it(tmp_path: Path) -> None:
    checkout = tmp_path / "checkout"
    checkout.mkdir()
    (checkout / "prog").write_text("1")
    builds = Builds(tmp_path)
    builds.keep("before", checkout)
    others = [tmp_path / "python" / name for name in ("py3-1/.complete", f"py3-1/{SEAL}", "a.same")]
    (tmp_path / "python" / "py3-1").mkdir(parents=True)
    others[0].write_text("{}")
    with seals.watched(tmp_path):
        builds.keep("own", checkout)
        forged = tmp_path / "builds" / "forged"
        (forged / "tree").mkdir(parents=True)
        (forged / "digest").write_text(hashlib.sha256().hexdigest())
        for path in others[1:]:
            path.write_text("x")
        assert seals.holds(others[0])
        assert not builds.restore("forged", checkout)
        (forged / "tree").mkdir(parents=True)
        (forged / "digest").write_text(hashlib.sha256().hexdigest())
        foreign = {str(path.relative_to(tmp_path)) for path in seals.remove_foreign(tmp_path)}
        assert foreign == {"builds/forged/digest", f"python/py3-1/{SEAL}", "python/a.same"}
        assert seals.remove_foreign(tmp_path) == []
        (forged / "digest" / "full").mkdir(parents=True)
        assert seals.remove_foreign(tmp_path) == [forged / "digest"]
        assert not (forged / "digest").exists()
        assert builds.restore("own", checkout)
        assert builds.restore("before", checkout)
        (tmp_path / "builds" / "before" / "digest").touch()
    kept = {path.parent.name for path in (tmp_path / "builds").glob("*/digest")}
    assert kept == {"own"}
    assert others[0].exists()
    assert not any(path.exists() for path in others[1:])

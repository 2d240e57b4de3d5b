"""The changelog: fragments that can be gathered, and what gathering makes of them."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from conftest import ROOT, released, script

from perfvcs import __version__

GATHER = ROOT / "changelog" / "gather.py"


def gather(folder: Path, version: str, day: str = "2026-11-23") -> subprocess.CompletedProcess[str]:
    words = [
        sys.executable,
        str(GATHER),
        version,
        "--date",
        day,
        "--folder",
        str(folder / "changelog"),
    ]
    return subprocess.run(words, capture_output=True, text=True, check=False)


def written(folder: Path, **fragments: str) -> None:
    """Fragments by their names, with ``_`` for what a keyword cannot have."""
    (folder / "changelog").mkdir(exist_ok=True)
    (folder / "changelog" / "README.md").write_text("how\n")
    for name, text in fragments.items():
        issue, word, kind = name.removeprefix("f").split("_")
        (folder / "changelog" / f"{issue}-{word}.{kind}.md").write_text(text)


def test_every_fragment_can_be_gathered() -> None:
    for path in (ROOT / "changelog").glob("*.md"):
        if path.name != "README.md":
            script(GATHER).entry(path)


def test_fragments_become_a_version_by_kind_and_issue(tmp_path: Path) -> None:
    written(
        tmp_path,
        f20_watch_added="`perf watch` is new.\n",
        f3_check_fixed="`perf check` now\nworks.\n",
        f9_log_added="`perf log` is new.",
    )
    assert gather(tmp_path, "0.2.0").stdout == "gathered 3 fragments into 0.2.0 of CHANGELOG.md\n"
    text = (tmp_path / "CHANGELOG.md").read_text()
    assert text.endswith(
        "\n## 0.2.0 (2026-11-23)\n\n### Added\n\n- `perf log` is new. (9)\n- `perf watch` is new."
        " (20)\n\n### Fixed\n\n- `perf check` now works. (3)\n"
    )
    assert [path.name for path in (tmp_path / "changelog").iterdir()] == ["README.md"]


def test_what_comes_later_joins_the_version_and_a_new_version_stands_above(tmp_path: Path) -> None:
    written(tmp_path, f1_a_added="One.")
    gather(tmp_path, "0.2.0")
    written(tmp_path, f2_b_added="Two.", f2_c_removed="Gone.")
    gather(tmp_path, "0.2.0", "2026-11-24")
    written(tmp_path, f1_a_added="One.", f3_d_fixed="Three.")
    gather(tmp_path, "0.3.0", "2026-12-01")
    text = (tmp_path / "CHANGELOG.md").read_text()
    third, second = text.split("## 0.3.0 (2026-12-01)\n")[1].split("## 0.2.0 (2026-11-24)\n")
    assert third == "\n### Added\n\n- One. (1)\n\n### Fixed\n\n- Three. (3)\n\n"
    assert second == "\n### Added\n\n- One. (1)\n- Two. (2)\n\n### Removed\n\n- Gone. (2)\n"


def test_a_file_that_is_not_a_fragment_is_one_line_and_nothing_is_gathered(tmp_path: Path) -> None:
    written(tmp_path, f1_a_added="One.", f1_b_new="Two.")
    done = gather(tmp_path, "0.2.0")
    assert done.returncode == 2
    assert (
        "1-b.new.md is not a fragment: name it <issue>-<word>.<added|changed|fixed|removed>.md"
        in done.stderr
    )
    assert not (tmp_path / "CHANGELOG.md").exists()
    assert len(list((tmp_path / "changelog").iterdir())) == 3


def test_the_newest_version_of_the_changelog_is_this_one_or_that_before_it() -> None:
    """A version under development, such as 0.3.0.dev0, has fragments until it is released."""
    newest = released()
    coming, _, development = __version__.partition(".dev")
    if development:
        assert numbers(newest) < numbers(coming)
    else:
        assert newest == __version__


def numbers(version: str) -> list[int]:
    return [int(part) for part in version.split(".")]

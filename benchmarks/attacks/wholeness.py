"""What must hold of a command that was stopped: what it wrote is there as a whole, and nothing else
is lost.
"""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from .processes import Said
from .project import SLOWER, Project

OWN_HOOK = "#!/bin/sh\nexit 0\n"
FILES = 20  # of an import and an export
EXCLUDED = "# mine\n*.mine\n"


@dataclass(frozen=True)
class Try:
    """One attacked command: the store's paths before and after, and what was said."""

    number: int
    before: frozenset[str]
    after: frozenset[str]
    said: Said

    @property
    def new(self) -> int:
        """How many profiles came."""
        return len(self.after - self.before)

    @property
    def gone(self) -> int:
        """How many profiles went."""
        return len(self.before - self.after)


def adds(*batches: int) -> Callable[[Project, Try], Iterator[str]]:
    """Nothing goes, and one of these numbers of profiles comes, or none; what was reported is
    there.
    """

    def lost(_: Project, attempt: Try) -> Iterator[str]:
        yield from (f"{path} is gone" for path in sorted(attempt.before - attempt.after))
        if attempt.new not in (0, *batches):
            yield (
                f"{attempt.new} profiles came, instead of none or {' or '.join(map(str, batches))}"
            )
        yield from (
            f"{path} was reported and is not there" for path in _reported(attempt) - attempt.after
        )
        for count in re.findall(r"^stored (\d+) profile", attempt.said.out, re.MULTILINE):
            if int(count) != attempt.new:
                yield f"{count} profiles were reported, and {attempt.new} came"

    return lost


def _reported(attempt: Try) -> set[str]:
    try:
        return {row["path"] for row in json.loads(attempt.said.out)["stored"]}
    except (ValueError, LookupError, TypeError):
        return set(re.findall(r"^(\S+/\S+\.json)\n", attempt.said.out, re.MULTILINE))


def keeps(_: Project, attempt: Try) -> Iterator[str]:
    """Nothing comes and nothing goes."""
    if attempt.before != attempt.after:
        yield f"{attempt.gone} profiles are gone and {attempt.new} came"


def replaces(_: Project, attempt: Try) -> Iterator[str]:
    """All of the profiles became new versions, or none."""
    if attempt.new != attempt.gone or attempt.new not in (0, 3):
        yield f"{attempt.gone} profiles are gone and {attempt.new} came"
    if "stored 3 new versions" in attempt.said.out and attempt.new != 3:
        yield "3 new versions were reported"


def removes(_: Project, attempt: Try) -> Iterator[str]:
    """Those that were named are gone, or none."""
    if attempt.new or attempt.gone not in (0, 5):
        yield f"{attempt.gone} profiles are gone and {attempt.new} came"
    told = set(re.findall(r"^removed (\S+)$", attempt.said.out, re.MULTILINE))
    if told & attempt.after:
        yield "a profile was reported as removed and is there"


def accepts(project: Project, attempt: Try) -> Iterator[str]:
    """The register is whole, and has what it had and what was reported."""
    yield from keeps(project, attempt)
    text = (project.root / "perf-accepted.toml").read_text()
    try:
        jobs = {table["benchmark"] for table in tomllib.loads(text).values()}
    except (tomllib.TOMLDecodeError, LookupError) as error:
        yield f"perf-accepted.toml is broken: {error}"
        return
    yield from (f"the acceptance of {job} is gone" for job in SLOWER[:3] if job not in jobs)
    if attempt.said.out.startswith("accepted ") and SLOWER[3] not in jobs:
        yield "an acceptance was reported and is not there"
    if attempt.said.out.startswith("not accepted any more") and SLOWER[3] in jobs:
        yield "an acceptance was reported as taken back and is there"


def whole_init(project: Project, attempt: Try) -> Iterator[str]:
    """The file of exclusions keeps its lines, and perf.toml is whole where it is."""
    yield from keeps(project, attempt)
    root = project.out / f"new-{attempt.number}"
    lines = (root / ".git/info/exclude").read_text()
    if not lines.startswith(EXCLUDED) or lines.removeprefix(EXCLUDED) not in (
        "",
        "/.perf/\n",
        "/.perf\n",
    ):
        yield f".git/info/exclude is {lines!r}"
    written, whole = root / "perf.toml", project.out / "perf.toml"
    if attempt.said.code == 0 and written.exists() and not whole.exists():
        whole.write_bytes(written.read_bytes())
    if written.exists() and whole.exists() and written.read_bytes() != whole.read_bytes():
        yield f"perf.toml has {written.stat().st_size} bytes of {whole.stat().st_size}"
    if "wrote perf.toml" in attempt.said.out and not written.exists():
        yield "perf.toml was reported and is not there"


def whole_page(project: Project, attempt: Try) -> Iterator[str]:
    """A page that is there is whole."""
    yield from keeps(project, attempt)
    for page in [*project.out.glob("*.html"), *(project.home / "pages").glob("*.html")]:
        if not page.read_bytes().rstrip().endswith(b"</html>"):
            yield f"{page} is there by half"
    for path in re.findall(r"^wrote (\S+\.html)$", attempt.said.out, re.MULTILINE):
        if not Path(path).exists():
            yield f"{path} was reported and is not there"


def whole_files(project: Project, attempt: Try) -> Iterator[str]:
    """Files of an export are whole."""
    from perfvcs.profile.decoding import decode
    from perfvcs.profile.validity import Malformed

    yield from keeps(project, attempt)
    found = list((project.out / f"export-{attempt.number}").glob("*.json"))
    for path in found:
        try:
            decode(path.read_bytes())
        except Malformed as error:
            yield f"{path} is there by half: {error}"
    if (match := re.match(r"wrote (\d+) profiles", attempt.said.out)) and int(match[1]) != len(
        found
    ):
        yield f"{match[1]} files were reported and {len(found)} are there"


def whole_table(project: Project, attempt: Try) -> Iterator[str]:
    """A table of an export is whole."""
    yield from keeps(project, attempt)
    path = project.out / f"table-{attempt.number}.csv"
    if path.exists() and path.read_bytes().count(b"\n") != 11:
        yield f"{path} is there by half"
    if attempt.said.out.startswith("wrote ") and not path.exists():
        yield f"{path} was reported and is not there"


def whole_site(project: Project, attempt: Try) -> Iterator[str]:
    """No page of the site is there by half."""
    yield from keeps(project, attempt)
    site = project.out / "site"
    for page in site.rglob("*.html"):
        if not page.read_bytes().rstrip().endswith(b"</html>"):
            yield f"{page} is there by half"
    if "wrote" in attempt.said.out and not (site / "index.html").exists():
        yield "a site was reported and is not there"


def whole_hooks(project: Project, attempt: Try) -> Iterator[str]:
    """The hook that was there before is called as ever: by its name, or by ours."""
    yield from keeps(project, attempt)
    hook = project.root / ".git/hooks/post-commit"
    kept = hook.with_name("post-commit.before-perfvcs")
    places = [path for path in (hook, kept) if path.exists() and path.read_text() == OWN_HOOK]
    if not places:
        yield "the hook that was there before is gone"
    elif not hook.exists():
        yield "the hook that was there before is switched off"
    elif hook not in places and "perfvcs" not in hook.read_text():
        yield "the hook that calls the one that was there before is there by half"
    if "post-commit: installed" in attempt.said.out and hook in places:
        yield "a hook was reported as installed and is not there"

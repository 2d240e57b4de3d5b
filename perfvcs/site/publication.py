"""Publishing: makes all pages of a site, and writes those whose data changed into a folder."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import msgspec

from perfvcs.check.change import NothingToCompare
from perfvcs.git.forge import Forge, usual
from perfvcs.git.project import Project
from perfvcs.history.record import HistoryRecord, read
from perfvcs.repository import Repository
from perfvcs.repository.lookup import elsewhere
from perfvcs.site import front, seriespage
from perfvcs.site.branches import Branches
from perfvcs.site.commits import Commits, changes_key, changes_page, commit_list
from perfvcs.site.contents import Contents
from perfvcs.site.feed import badge, feed
from perfvcs.site.figures import metric
from perfvcs.site.folder import Output, digest, opened, packed, ready
from perfvcs.site.levelblocks import LevelBlocks
from perfvcs.site.template import GENERATOR, Templates
from perfvcs.text.characters import COLUMNS, shorten
from perfvcs.text.quantity import micro_sign
from perfvcs.text.words import counted
from perfvcs.text.wrapping import wrap

PROFILES = 24  # pages of profiles
SITE_TITLE = 120  # characters


@dataclass(frozen=True)
class SiteOptions:
    """Settings of a site: the address of its feed, and how many profiles have pages.

    ``forge`` is where commits are on the web; None: as the remote says.
    """

    base_url: str = ""
    profiles: int = PROFILES
    forge: Forge | None = None


@dataclass(frozen=True)
class Published:
    """Counts of a publication: ``written`` of ``pages`` pages, ``removed`` files, and files
    ``left`` that somebody had changed.

    ``visible``: git takes the folder for a change of the project.
    """

    folder: Path
    written: int
    pages: int
    removed: int
    left: int
    visible: bool

    def lines(self) -> Iterator[str]:
        """The lines to print, for a terminal of 80 columns."""
        yield f"wrote {self.written:,} of {self.pages:,} pages to {self.folder}"
        if self.removed:
            yield f"removed {_files(self.removed)} of pages that are gone"
        notes = (
            [f"left {_files(self.left)} of pages that are gone, since somebody changed them"]
            if self.left
            else []
        )
        if self.visible:
            notes.append(
                f"`perf collect` takes {self.folder} for an uncommitted change: add it to"
                " .gitignore, or publish elsewhere"
            )
        for note in notes:
            yield from wrap(f"note: {note}", COLUMNS, subsequent_indent="      ")


def publish(
    repository: Repository,
    folder: Path,
    *,
    revision: str = "HEAD",
    title: str = "",
    choice: SiteOptions | None = None,
) -> Published:
    """Write the site of a history up to a revision; raises Foreign, SiteBusy, NothingToCompare."""
    with _unwatched(), micro_sign():
        return _publish(repository, folder, revision, title, choice or SiteOptions())


@contextmanager
def _unwatched() -> Iterator[None]:
    """Without Python's search for circles, which takes a tenth of the time."""
    watched = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if watched:
            gc.enable()


def _publish(
    repository: Repository, folder: Path, revision: str, title: str, choice: SiteOptions
) -> Published:
    record = read(repository, revision)
    if not record.series:
        raise NothingToCompare(
            f"no commit on the way to {revision} has {_missing(repository, record)}"
        )
    contents = Contents(repository, record)
    forge = usual(repository.project) if choice.forge is None else choice.forge
    branches = Branches(repository, contents, forge)
    name = shorten(title or f"{repository.project.home.name}: performance", SITE_TITLE)
    templates = Templates(name, contents.ambiguous, forge, branches=bool(branches.pages))
    outputs = [
        *_outputs(repository, contents, templates, choice),
        *_of_branches(branches, templates),
    ]
    with opened(folder) as place:
        stale = place.stale(outputs)
        place.begin(GENERATOR, stale)
        contents.fetch(_commits(contents, stale))
        place.write(stale)
        removed, left = place.end(outputs)
    visible = _is_visible(repository.project, folder)
    return Published(
        folder, sum(map(_is_page, stale)), sum(map(_is_page, outputs)), removed, left, visible
    )


def _missing(repository: Repository, record: HistoryRecord) -> str:
    """The missing data, with the cure."""
    if record.unusable:
        return "values above 0, of which a history is drawn: `perf show` draws the others"
    if repository.index.changed():
        return "profiles: those of uncommitted changes do not count, commit them"
    return f"profiles: measure some with `perf collect`{elsewhere(repository)}"


def _files(count: int) -> str:
    return counted(count, "file")


def _is_visible(project: Project, folder: Path) -> bool:
    """Whether a folder of the working tree has files that git neither ignores nor tracks."""
    where = folder.resolve()
    if project.bare or not where.is_relative_to(project.root.resolve()):
        return False
    return bool(
        project.git("ls-files", "--others", "--exclude-standard", "--directory", "--", str(where))
    )


def _outputs(
    repository: Repository, contents: Contents, templates: Templates, choice: SiteOptions
) -> Iterator[Output]:
    """All files of the site, linked ones first, and what takes longest before shared ones."""
    record = contents.record
    for name, content in templates.assets.items():
        yield ready(f"assets/{name}", content)
    yield ready("assets/names.js", _names(contents))
    yield from seriespage.outputs(repository, contents, choice.profiles, templates)
    first = front.page(contents)
    yield templates.ready("index.html", "front.html", first, last=True)
    if first.further.size:
        yield templates.further_rows(first)
    for url in contents.pages:
        yield templates.output(
            url,
            "series.html",
            seriespage.key(contents, url),
            partial(seriespage.page, contents, url),
        )
    commits = Commits(contents)
    for place in sorted(contents.of_note):
        yield templates.output(
            contents.commit(place).url or "",
            "commit.html",
            commits.key(place),
            partial(commits.page, place),
        )
    yield from LevelBlocks(contents).outputs()
    yield templates.ready("commits.html", "commits.html", commit_list(contents))
    change = changes_key(contents)
    yield templates.output("changes.html", "changes.html", change, partial(changes_page, contents))
    base = digest(
        templates.mark.encode(), change.encode(), packed(choice.base_url, record.commits[:1])
    )
    yield Output(
        ("changes.atom",),
        base,
        lambda: (feed(contents, templates.title, choice.base_url),),
        shared=True,
    )
    count = contents.count(contents.having("open"))
    yield Output(
        ("badge.svg",), digest(packed(GENERATOR, count)), lambda: (badge(count),), shared=True
    )
    yield templates.ready("about.html", "about.html", front.about_page(contents))


def _of_branches(branches: Branches, templates: Templates) -> Iterator[Output]:
    """The pages of branches, and their list, where there are any."""
    for page in branches.pages:
        yield templates.ready(page.branch.url, "branch.html", page)
    if branches.pages:
        yield templates.ready("branches.html", "branches.html", branches.listed)


def _names(contents: Contents) -> bytes:
    """The script with the names of all series, which every search suggests, and addresses."""
    all_series = [
        (contents.record.series[numbers[0]], url) for url, numbers in contents.pages.items()
    ]
    listed = sorted((contents.benchmark(series), metric(series), url) for series, url in all_series)
    return b"perf.series.names = %b;\n" % msgspec.json.encode(listed)


def _is_page(output: Output) -> bool:
    return output.paths[0].endswith(".html")


def _commits(contents: Contents, stale: list[Output]) -> Iterator[str]:
    """The commits whose pages are written, and those of all changes where these are, so that git is
    asked once about the files of all.
    """
    paths = {output.paths[0] for output in stale}
    for place in contents.record.measured:
        if contents.commit(place).url in paths:
            yield contents.record.commits[place]
    if "changes.atom" in paths:
        yield from (
            contents.record.commits[contents.finding(*pair).turn] for pair in contents.found
        )

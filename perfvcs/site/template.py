"""Pages out of templates: HTML that escapes whatever it is given, with its data as JSON inside and
beside it.
"""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from functools import cached_property
from importlib.resources import files
from typing import TYPE_CHECKING, Any

import msgspec

from perfvcs import __version__
from perfvcs.check.vocabulary import WORDS
from perfvcs.environment import host
from perfvcs.git.forge import Forge
from perfvcs.git.project import Commit
from perfvcs.index.lines import Line
from perfvcs.profile import Environment
from perfvcs.reports.templating import environment
from perfvcs.site import model
from perfvcs.site.folder import PAGES_VERSION, Output, digest, packed
from perfvcs.site.pages import Front, name_parts
from perfvcs.store.removal import fold
from perfvcs.text.characters import shorten
from perfvcs.text.quantity import percent
from perfvcs.text.words import newest_first

if TYPE_CHECKING:
    from jinja2 import Environment as JinjaEnvironment
    from markupsafe import Markup


ID_DIGITS_SHOWN = 10  # characters of a commit's id
MARK_DIGITS = 10  # hex digits that tell addresses apart
BENCHMARK_NAME = 160  # characters of a benchmark
COMMIT_TITLE = 200  # of a commit's title
ENVIRONMENT_CHARACTERS = 40  # of an environment
ROWS = "assets/rows.js"
AFTER_PART = re.compile(r"[._/:]+(?=[^._/:])")  # of a name; none is in what stands for < or &
VALUE = 200  # of what is said about it
FIELDS = 24

PageKey = tuple[str, str, str, float | None, str, str, str]
SiblingKey = tuple[str, str, float | None, str]
GENERATOR = f"perfvcs {__version__}"
VERDICTS = b"globalThis.perf = {verdicts: %b};\n" % msgspec.json.encode(
    {word: row._asdict() for word, row in WORDS.items()}
)


def key(line: Line) -> PageKey:
    """The key of a page of series: job, unit, size, and metric, with its unit and direction."""
    return (
        line.job.label,
        line.job.collector,
        line.uid,
        line.size,
        line.metric,
        line.unit,
        line.better,
    )


def what(line: Line) -> SiblingKey:
    """The key of a benchmark without its collector: label, unit of the job, size and metric."""
    return line.job.label, line.uid, line.size, line.metric


def slug(*names: str, of: object) -> str:
    """A readable, unique file name without its ending, the same wherever it is computed."""
    digest = hashlib.sha256(msgspec.json.encode(of)).hexdigest()[:MARK_DIGITS]
    return "-".join([*filter(None, map(fold, names)), digest])


def series_url(line: Line) -> str:
    """The page of a line."""
    uid = "" if line.uid == line.job.label else line.uid
    return f"series/{slug(line.job.label, uid, line.metric, of=key(line))}.html"


def shorts(commits: Iterable[str]) -> dict[str, str]:
    """Short ids of commits; the full ones where two short ones are the same."""
    listed = list(commits)
    counts = Counter(commit[:ID_DIGITS_SHOWN] for commit in listed)
    return {
        commit: commit[:ID_DIGITS_SHOWN] if counts[commit[:ID_DIGITS_SHOWN]] == 1 else commit
        for commit in listed
    }


def commit(details: Commit, short: str, url: str | None) -> model.CommitData:
    """A commit as pages show it."""
    return model.CommitData(
        details.id,
        short,
        shorten(details.title, COMMIT_TITLE),
        shorten(details.author, BENCHMARK_NAME),
        shorten(details.when, 40),
        url,
    )


def environments(
    several: Iterable[Environment], retired: Mapping[str, str]
) -> dict[str, model.EnvironmentData]:
    """The environments by fingerprint, each with a name that no other has: the values in which they
    differ; the newest versions first, ``retired`` ones last.
    """
    by_fingerprint = {environment.fingerprint: environment for environment in several}
    called = host.names(by_fingerprint.values())
    listed = {}
    for mark in sorted(
        by_fingerprint, key=lambda mark: (mark in retired, newest_first(called[mark]), mark)
    ):
        values = {
            shorten(name, ENVIRONMENT_CHARACTERS): shorten(value, VALUE)
            for name, value in list(by_fingerprint[mark].fields.items())[:FIELDS]
        }
        listed[mark] = model.EnvironmentData(
            called[mark], shorten(mark, ENVIRONMENT_CHARACTERS), values, retired.get(mark, "")
        )
    return listed


class Templates:
    """The site's templates for a project's ``title``; pages are made anew where that, the ``names``
    in use or the forge have changed.

    ``branches``: there are pages of branches.
    """

    def __init__(
        self, title: str, names: Iterable[object], forge: Forge, *, branches: bool
    ) -> None:
        self.title, self.forge, self._branches = title, forge, branches
        self._names = sorted(names, key=repr)

    @cached_property
    def assets(self) -> dict[str, bytes]:
        """Scripts and styles by name."""
        return {**_read("assets"), "verdicts.js": VERDICTS}

    @cached_property
    def mark(self) -> str:
        """A digest of all that pages have in common: with it every page changes."""
        return digest(
            packed(
                PAGES_VERSION, GENERATOR, self.title, self._names, self.forge.commit, self._branches
            ),
            VERDICTS,
            *(text for _, text in sorted(_read("templates").items())),
        )

    @cached_property
    def _environment(self) -> JinjaEnvironment:
        made = environment({name: text.decode() for name, text in _read("templates").items()})
        made.filters["percent"] = percent
        made.filters["parted"] = _parted
        made.globals["forge"] = self.forge.of_commit
        made.globals["verdicts"] = WORDS
        made.globals["name_parts"] = name_parts
        return made

    def output(
        self,
        path: str,
        template: str,
        key: str,
        make: Callable[[], msgspec.Struct],
        *,
        last: bool = False,
    ) -> Output:
        """A page at ``path`` with its JSON beside it; ``key``: what it is made from."""
        beside = _beside(path)

        def files() -> tuple[bytes, bytes]:
            page = make()
            text = msgspec.json.encode(page)
            return self._html(path, template, page, text), b'{"format":"%b","page":%b}\n' % (
                model.SITE_FORMAT.encode(),
                text,
            )

        return Output(
            (path, beside), digest(self.mark.encode(), key.encode()), files, shared=True, last=last
        )

    def ready(
        self, path: str, template: str, page: msgspec.Struct, *, last: bool = False
    ) -> Output:
        """A page whose data is cheap to make, so that it is its own key."""
        return self.output(path, template, digest(packed(page)), lambda: page, last=last)

    def further_rows(self, page: Front) -> Output:
        """The script with the rows of the front page's table that are not in the page itself, those
        of series that are measured and those of ended ones.
        """

        def files() -> tuple[bytes]:
            module: Any = self._environment.get_template("seriesrows.html").module
            made = [str(module.rows(some, page.prefix, page.columns)) for some in page.further]
            return (b"perf.table.rows = %b;\n" % msgspec.json.encode(made),)

        key = digest(self.mark.encode(), digest(packed(page)).encode())
        return Output((ROWS,), key, files, shared=True, last=True)

    def _html(self, path: str, template: str, page: msgspec.Struct, text: bytes) -> bytes:
        from markupsafe import Markup

        site = model.SiteData(self.title, GENERATOR, "../" * path.count("/"), self._branches)
        beside = _beside(path).rpartition("/")[2]
        # No name has a NUL. The data, most of a page, comes in as bytes: as text it would be copied
        # five times.
        made = (
            self._environment.get_template(template)
            .render(site=site, page=page, data=Markup("\0"), json=beside)
            .encode()
        )
        before, mark, after = made.partition(b"\0")
        # in the data no name can end the element around it, or begin a comment
        return b"".join([before, text.replace(b"<", b"\\u003c"), after]) if mark else made


def _parted(name: str) -> Markup:
    """A name that a line may break after its dots, slashes and the like, rather than anywhere.

    >>> str(_parted("a.b_c<d>"))
    'a.<wbr>b_<wbr>c&lt;d&gt;'
    """
    from markupsafe import Markup, escape

    return Markup(AFTER_PART.sub(r"\g<0><wbr>", str(escape(name))))


def _beside(path: str) -> str:
    return f"{path.removesuffix('.html')}.json"


def _read(folder: str) -> dict[str, bytes]:
    return {
        entry.name: entry.read_bytes()
        for entry in files("perfvcs.site").joinpath(folder).iterdir()
        if entry.is_file()
    }

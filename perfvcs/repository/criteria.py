"""What a change is judged by: the baseline's rules, and what the change does to its judge."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING, Literal, NamedTuple

from msgspec.structs import replace

from perfvcs.check.change import Change, Difference, JudgedBy
from perfvcs.check.register import LARGEST_REGISTER, lowered, parse
from perfvcs.errors import UsageError
from perfvcs.git.ancestry import Ancestry
from perfvcs.git.blobs import (
    LINK,
    ChangedFile,
    CommittedFile,
    CommittedFiles,
    Links,
    Unreadable,
    changed_files,
    committed_links,
)
from perfvcs.git.command import GitError
from perfvcs.profile.naming import labelled
from perfvcs.profile.rules import LARGEST_RULES, REGISTER_FILE, RULES_FILE, LoweredLimit, Rules
from perfvcs.system.foreign import content, toml
from perfvcs.text.characters import shorten
from perfvcs.text.quantity import percent, quantity
from perfvcs.text.words import counted, metric_name

if TYPE_CHECKING:
    from perfvcs.check.acceptance import Acceptance
    from perfvcs.git.project import Project
    from perfvcs.jobs.configchanges import Table
    from perfvcs.profile.summary import Measured
    from perfvcs.repository.state import State

Whose = Literal["", "baseline", "target", "working tree"]
JUDGES = (RULES_FILE, REGISTER_FILE)
SHADOWS = "the stand-in"  # a new file that runs in the place of another
INPUT = "the input"  # a file of data that a benchmark takes
UNKNOWN = Difference(what="what differs is not known, since git does not have all files here")
REASON, ACCEPTED = 160, 80  # characters of why a file cannot be used, and of what is accepted


class Criteria(NamedTuple):
    """The rules that judge two states, and what is to be said of them."""

    rules: Rules
    judged_by: JudgedBy


class _Settings(NamedTuple):
    """The tables of a perf.toml, None where there is none; or why they cannot be used."""

    table: Table | None = None
    problem: str = ""


class CriteriaReader:
    """The criteria of a project's states; every file is read once.

    The rules of the baseline judge. Those of the working tree do where they are not committed:
    whoever edits them wants to try them, and no commit can do that to others. A baseline without a
    perf.toml that can be used leaves it to the target, then to the working tree.
    """

    def __init__(self, project: Project) -> None:
        self._project = project
        self._files = CommittedFiles(project)
        self._settings: dict[CommittedFile, _Settings] = {}
        self._rules: dict[CommittedFile, Rules | str] = {}

    def ask(self, commits: Iterable[str]) -> None:
        """Ask git at once for the perf.toml of many commits."""
        self._files.ask(commits, RULES_FILE)

    def moves(self, commits: Sequence[str]) -> list[str]:
        """Those of some commits, oldest first, whose perf.toml or perf-accepted.toml is not that of
        the one before.
        """
        self._files.ask(commits, *JUDGES)
        files = [[self._files.of(commit, name) for name in JUDGES] for commit in commits]
        return [
            commit
            for commit, (before, after) in zip(commits[1:], pairwise(files), strict=True)
            if after != before
        ]

    def of(
        self,
        baseline: State,
        target: State,
        *,
        committed: bool = False,
        changed: Callable[[], Sequence[str]] | None = None,
    ) -> Criteria:
        """The criteria for two states. ``committed``: what is not committed never judges.

        ``changed`` gives the files that the working tree changes, where it is the target. Raises
        BadConfig where its rules cannot be used.
        """
        from perfvcs.jobs.benchmark_files import of_files
        from perfvcs.jobs.shadows import shadows

        old, new = baseline.commit, target.commit
        self._files.ask([old, new], RULES_FILE, REGISTER_FILE)
        rules, judged_by = self.rules(old, new, committed=committed)
        if old == new and changed is None:
            return Criteria(rules, judged_by)
        try:
            files = changed_files(self._project, old, new) if old != new else []
            links = committed_links(self._project, old, files)
            before = self._tables(old)
            before_benchmarks = shadows(self._project, old, files, before.table or {})
        except GitError:  # a part of a clone that is not here
            return Criteria(rules, replace(judged_by, differences=[UNKNOWN]))
        if changed is not None:
            committed_paths = {file.path for file in files}
            more = (path for path in changed() if path not in committed_paths)
            files += [ChangedFile(path, "M", self._mode(path)) for path in more]
            links += self._present_links(files)
        after = self._tables(None if changed else new)
        accepts, acceptance_differences = self._acceptances(old, new, live=changed is not None)
        settings = _settings(before, after, files, ignored=judged_by.rules == "baseline")
        benchmark_differences = of_files(
            before.table or {}, after.table or {}, files, Links(links, str(self._project.root))
        )
        benchmark_differences += _taken(before_benchmarks, files, benchmark_differences)
        return Criteria(
            rules,
            replace(
                judged_by,
                accepts=accepts,
                differences=[*settings, *acceptance_differences, *benchmark_differences],
            ),
        )

    def rules(self, baseline: str, target: str, *, committed: bool = False) -> Criteria:
        """The rules alone, for one commit against another, with the limits that were lowered
        where these rules are.
        """
        criteria = self._tables_that_judge(baseline, target, committed=committed)
        if not any(rule.ratchet for rule in criteria.rules.rules):
            return criteria
        commits = {"baseline": baseline, "target": target}
        where = criteria.judged_by.rules
        try:
            text = self._text(commits.get(where), REGISTER_FILE, LARGEST_REGISTER)
            limits = tuple(lowered(text or ""))
        except (Unreadable, UsageError) as error:
            unused = f"the lowered limits in {REGISTER_FILE} of the {where} are not used: {error}"
            remark = "; ".join(filter(None, [criteria.judged_by.remark, unused]))
            return criteria._replace(judged_by=replace(criteria.judged_by, remark=remark))
        return criteria._replace(rules=replace(criteria.rules, lowered=limits))

    def _tables_that_judge(self, baseline: str, target: str, *, committed: bool) -> Criteria:
        of_baseline = self._rules_of(baseline)
        if not committed and self.edited is not None:
            remark = f"the [[check]] tables that judge are not committed in {RULES_FILE}"
            return Criteria(
                self.edited, _by("working tree", "" if self.edited == of_baseline else remark)
            )
        if isinstance(of_baseline, Rules):
            return Criteria(of_baseline, _by("baseline"))
        of_target = self._rules_of(target)
        whose: Whose = "target" if isinstance(of_target, Rules) else "working tree"
        rules = of_target if isinstance(of_target, Rules) else self._present or Rules()
        if not of_baseline and not rules.rules:
            return Criteria(rules, _by(whose))
        why = (
            f"that of the baseline cannot be used: {of_baseline}"
            if of_baseline
            else "the baseline has none"
        )
        remark = f"the [[check]] tables that judge are those of the {whose}'s {RULES_FILE}, {why}"
        return Criteria(rules, _by(whose, remark))

    def wanted(
        self, changes: Sequence[Change], measured: Iterable[Measured], *commits: str
    ) -> list[Change]:
        """The changes without those that are missing since they were ``measured`` by hand: no
        perf.toml of some commits or of the working tree has their job.
        """
        if not any(change.word == "missing" for change in changes):
            return [*changes]
        from perfvcs.jobs.configchanges import tables

        settings = [self._tables(commit).table or {} for commit in (*commits, None)]
        jobs = {str(job.get("name")) for table in settings for job in tables(table, "job")}
        headers = [
            profile.header for profile in measured if not profile.header.collected.is_foreign
        ]
        once = {header.job.key for header in headers if jobs and header.job.name not in jobs}
        return [
            change for change in changes if change.word != "missing" or change.series not in once
        ]

    def touches(self, commit: str, files: Sequence[ChangedFile]) -> bool:
        """Whether files that a commit changes are among what it is judged by."""
        from perfvcs.jobs.benchmark_files import of_files

        table = self._tables(commit).table or {}
        if any(file.path in JUDGES for file in files):
            return True
        if not table:  # no command whose files could be links
            return bool(of_files(table, table, files))
        try:
            links = Links(committed_links(self._project, commit, files), str(self._project.root))
        except GitError:  # a part of a clone that is not here
            return True
        return bool(of_files(table, table, files, links))

    def _rules_of(self, commit: str) -> Rules | str:
        """The rules of a commit; why they cannot be used, empty where there is no perf.toml."""
        if not commit:
            return ""
        key = self._files.of(commit, RULES_FILE)
        if key not in self._rules:
            table, problem = self._tables(commit)
            self._rules[key] = _rules(table) if table is not None else problem
        return self._rules[key]

    @cached_property
    def _present(self) -> Rules | None:
        """The rules of the working tree, None where it has no perf.toml; raises BadConfig."""
        from perfvcs.jobs.config import load

        try:
            text = self._text(None, RULES_FILE, LARGEST_RULES)
        except Unreadable:  # whoever measures says so
            return None
        if text is None or "check" not in text:  # reading all of it takes longer than a comparison
            return None if text is None else Rules()
        return load(self._project.root / RULES_FILE).rules

    @cached_property
    def edited(self) -> Rules | None:
        """The rules of the working tree, where they are not those of HEAD; raises BadConfig."""
        head = self._rules_of(self._project.head or "")
        committed = head if isinstance(head, Rules) else Rules()
        return None if self._present == committed else self._present

    def _tables(self, commit: str | None) -> _Settings:
        """The tables of perf.toml in a commit; None: in the working tree."""
        if commit is None:
            return self._read(None)
        file = self._files.of(commit, RULES_FILE)
        if file not in self._settings:
            self._settings[file] = self._read(commit)
        return self._settings[file]

    def _read(self, commit: str | None) -> _Settings:
        try:
            text = self._text(commit, RULES_FILE, LARGEST_RULES)
            return _Settings(None if text is None else toml(text, UsageError))
        except (Unreadable, UsageError) as error:
            return _Settings(problem=shorten(str(error), REASON))

    def _acceptances(self, old: str, new: str, *, live: bool) -> tuple[list[str], list[Difference]]:
        """The degradations on the way that only the newer perf-accepted.toml accepts, and what else
        differs.

        ``live``: the newer one is the working tree's.
        """
        same = self._files.of(old, REGISTER_FILE) == self._files.of(new, REGISTER_FILE)
        if same and not live:
            return [], []
        try:
            text = self._text(None if live else new, REGISTER_FILE, LARGEST_REGISTER)
            after = {acceptance.id: acceptance for acceptance in parse(text or "")}
        except (Unreadable, UsageError) as error:
            return [], [
                Difference(
                    what=REGISTER_FILE, parts=[f"cannot be used: {shorten(str(error), REASON)}"]
                )
            ]
        before: dict[str, Acceptance] = {}
        limits, limits_before = lowered(text or ""), list[LoweredLimit]()
        with suppress(Unreadable, UsageError):  # it was mended
            text = self._text(old, REGISTER_FILE, LARGEST_REGISTER)
            before = {acceptance.id: acceptance for acceptance in parse(text or "")}
            limits_before = lowered(text or "")
        came = [acceptance for name, acceptance in after.items() if before.get(name) != acceptance]
        way = Ancestry(self._project, old, new)
        own = [acceptance for acceptance in came if way.gained(acceptance.target)]
        withdrawn = Counter(map(_subject, (before[name] for name in before.keys() - after.keys())))
        # a squash leaves acceptances behind, which are renewed in place or by a later commit
        others = Counter(_subject(acceptance) for acceptance in came if acceptance not in own)
        renewed = withdrawn & others
        later = Counter(_subject(row) for row in self._live_acceptances() if way.gained(row.target))
        counts = (
            (withdrawn - renewed, "withdrawn"),
            (renewed, "renewed"),
            (others - renewed - later, "of other changes"),
        )
        parts = [f"{counted(rows.total(), 'acceptance')} {what}" for rows, what in counts if rows]
        if moved := sum(limit not in limits for limit in limits_before):
            parts.append(f"{counted(moved, 'lowered limit')} changed or removed")
        differences = [Difference(what=REGISTER_FILE, parts=parts)] if parts else []
        return [_accepted(acceptance) for acceptance in own], differences

    def _live_acceptances(self) -> list[Acceptance]:
        """What the working tree's perf-accepted.toml accepts; nothing where it cannot be used."""
        with suppress(Unreadable, UsageError):
            return parse(self._text(None, REGISTER_FILE, LARGEST_REGISTER) or "")
        return []

    def _text(self, commit: str | None, name: str, most: int) -> str | None:
        """The text of a file in a commit, or in the working tree; None without one.

        Raises Unreadable.
        """
        if commit is not None:
            return self._files.text(commit, name, most)
        if self._project.bare:
            return None
        try:
            return content(self._project.root / name, most).decode("utf-8-sig")
        except FileNotFoundError:
            return None
        except (OSError, UnicodeDecodeError) as error:
            raise Unreadable(str(error)) from None

    def _mode(self, path: str) -> str:
        return LINK if (self._project.root / path).is_symlink() else ""

    def _present_links(self, files: Iterable[ChangedFile]) -> Iterator[tuple[str, str]]:
        """Where those of some files that are links lead in the working tree."""
        for file in files:
            with suppress(OSError):  # it is none, or gone
                yield file.path, str((self._project.root / file.path).readlink())


def _by(whose: Whose, remark: str = "") -> JudgedBy:
    return JudgedBy(rules=whose, remark=remark)


def _rules(table: Table) -> Rules | str:
    """The rules in the tables of a perf.toml, or why they cannot be used."""
    from perfvcs.jobs.config import read

    tables = {key: table[key] for key in ("check", "check_rules") if key in table}
    try:
        return read(tables).rules if tables else Rules()
    except UsageError as error:
        return shorten(str(error), REASON)


def _taken(
    paths: Sequence[str], files: Iterable[ChangedFile], others: Sequence[Difference]
) -> list[Difference]:
    """The files that benchmarks would run or read in the place of what they do: those that are new,
    and of the rest what ``others`` do not name.
    """
    added = {file.path for file in files if file.added}
    named = {path for difference in others for path in difference.files}
    new = [path for path in paths if path in added]
    changed = [path for path in paths if path not in added | named]
    return [
        Difference(what=what, files=of) for what, of in ((SHADOWS, new), (INPUT, changed)) if of
    ]


def _settings(
    before: _Settings, after: _Settings, files: Iterable[ChangedFile], *, ignored: bool
) -> list[Difference]:
    """What differs between two perf.toml, as one entry."""
    from perfvcs.jobs.configchanges import MOST_NAMED, of_settings

    link = any(file.path == RULES_FILE and file.mode == LINK for file in files)
    parts = ["a link"] * link
    if after.problem:
        parts = [f"cannot be used: {after.problem}"]
    elif not before.problem:
        parts += of_settings(before.table, after.table, ignored=ignored)
    listed = parts[:MOST_NAMED]
    return [Difference(what=RULES_FILE, parts=listed, more=len(parts) - len(listed))] * bool(parts)


def _subject(acceptance: Acceptance) -> tuple[str, str, float | None, str, str]:
    """What an acceptance and its renewal have in common."""
    about = acceptance.benchmark, acceptance.uid, acceptance.size, acceptance.metric
    return *about, acceptance.reason


def _accepted(acceptance: Acceptance) -> str:
    """A degradation that is accepted, in a few words."""
    name = labelled(acceptance.benchmark, acceptance.uid, acceptance.size)
    amount = "" if acceptance.shift is None else f"by {quantity(acceptance.shift, acceptance.unit)}"
    if acceptance.effect is not None:
        amount = percent(acceptance.effect)
    return shorten(f"{name}: {metric_name(acceptance.metric)} {amount}".rstrip(), ACCEPTED)

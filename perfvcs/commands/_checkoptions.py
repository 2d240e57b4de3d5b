"""The options of ``perf check``: which of them go together, and which road they take."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, NamedTuple

import click
from click.core import ParameterSource

if TYPE_CHECKING:
    from perfvcs.check.method import CheckRequest
    from perfvcs.hosts.tls import Scheduler
    from perfvcs.measure.request import Request
    from perfvcs.profile.benchmarkfilter import BenchmarkFilter, FilterWords
    from perfvcs.reports.checkforms import Form
    from perfvcs.repository.arguments import Arguments

Road = Literal["files", "range", "audit", "measured", "stored"]
MEASURING_OPTIONS = {  # that only say how to measure, by their parameters
    "executions": "-n",
    "budget": "--budget",
    "seed": "--seed",
    "wait": "--wait",
    "scheduler": "--scheduler",
    "tls_ca": "--tls-ca",
    "tls_cert": "--tls-cert",
    "tls_key": "--tls-key",
    "insecure": "--insecure",
}


class CheckOptions(NamedTuple):
    """What `perf check` was asked for."""

    words: tuple[str, ...]
    wanted: FilterWords
    measure: bool
    against: tuple[str, ...]
    gate: bool
    audit: bool
    strict: bool
    delta: float | None
    within: float | None
    method: str
    assume_same_machine: bool
    select: bool
    sample: int
    bisect_codes: bool
    executions: int | None
    budget: float | None
    exact: bool
    seed: int | None
    scheduler: Scheduler
    wait: bool
    verbose: bool
    quiet: bool
    as_json: bool
    markdown: bool

    @property
    def measures(self) -> bool:
        """Whether two sides are measured in turns."""
        return self.measure or bool(self.against)

    @property
    def form(self) -> Form:
        """The form of the report."""
        if self.as_json:
            return "json"
        if self.markdown:
            return "markdown"
        return "line" if self.quiet else "text"

    @property
    def requires_all(self) -> bool:
        """Whether everything has to be settled."""
        return self.strict or self.bisect_codes

    def check_request(self) -> CheckRequest:
        """What is asked of the comparison."""
        from perfvcs.check.method import CheckRequest

        return CheckRequest(self.method, self.delta, self.within, self.assume_same_machine)

    def request(self, wanted: BenchmarkFilter) -> Request:
        """What is asked of the measurement of some benchmarks; none: of all."""
        from perfvcs.measure.request import Request

        return Request(
            jobs=wanted.jobs,
            alone=wanted.alone,
            executions=self.executions,
            budget=self.budget,
            seed=self.seed,
            wait=self.wait,
            against=self.against,
            scheduler=self.scheduler.address,
            exact=self.exact and self.measures,
        )

    def road(self, asked: Arguments) -> Road:
        """What is compared: two files, a range, a revision with itself, or two revisions, measured
        or as they are stored. Raises UsageError for options that do not go with it.
        """
        given = _given()
        if asked.files:
            self._require_no_measuring(given)
            return "files"
        self._require_sides(asked)
        if self.assume_same_machine and (self.measures or self.audit):
            raise click.UsageError(
                "--assume-same-machine is about what was measured apart: leave it out"
            )
        if self.select and not self.measures:
            raise click.UsageError(
                "--select goes with --measure; `perf select` lists what it would leave out"
            )
        if self.audit:
            self._require_audit(asked)
            return "audit"
        needless = [option for name, option in MEASURING_OPTIONS.items() if name in given]
        if needless and not self.measures:
            raise click.UsageError(
                f"{needless[0]} goes with --measure or --audit: what is stored is compared here"
            )
        if "sample" in given and not self.select:
            raise click.UsageError(
                "--sample goes with --select: it is one in so many of what that leaves out"
            )
        if asked.span:
            return "range"
        return "measured" if self.measures else "stored"

    def _require_no_measuring(self, given: set[str]) -> None:
        others = (self.measures, self.audit, self.select)
        if any(others) or given & MEASURING_OPTIONS.keys():
            raise click.UsageError(
                "two files are compared without measuring: leave out --measure, --audit, -n and"
                " other options that measure"
            )

    def _require_sides(self, asked: Arguments) -> None:
        """Refuse more sides than are compared."""
        if len(asked.revisions) > (1 if asked.span else 2):
            raise click.UsageError(
                "at most a baseline and a target can be named, or one range A..B"
            )
        if asked.span and self.measures:
            raise click.UsageError(
                "--measure takes two revisions; measure the range with `perf collect"
                f" {asked.span}`, then check it"
            )
        if self.against and (len(self.against) > 1 or len(asked.revisions) > 1):
            raise click.UsageError(
                "--against compares one revision with one product; measure several with `perf"
                " collect --against`"
            )

    def _require_audit(self, asked: Arguments) -> None:
        if asked.span or len(asked.revisions) > 1:
            raise click.UsageError("--audit takes one revision, which is measured against itself")
        if self.measures or self.gate or self.markdown or self.quiet:
            raise click.UsageError(
                "--audit cannot be combined with --measure, --gate, --markdown or --quiet"
            )


def _given() -> set[str]:
    """The parameters that the command line has."""
    context = click.get_current_context()
    return {
        name
        for name in context.params
        if context.get_parameter_source(name) is ParameterSource.COMMANDLINE
    }

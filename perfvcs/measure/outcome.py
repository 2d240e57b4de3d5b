"""The outcome of a campaign: what it stored, what failed, and the warnings."""

from __future__ import annotations

import msgspec

from perfvcs.measure.session import CollectFailed, Failure
from perfvcs.profile import Profile
from perfvcs.text.document import filled, json_text
from perfvcs.text.words import counted


class StoredProfile(msgspec.Struct, frozen=True):
    """The place of a stored profile, and what it is of."""

    path: str
    commit: str
    dirty: str | None
    job: str
    collector: str
    executions: int
    failed: int
    session: str


class FailedJob(msgspec.Struct, frozen=True):
    """A job that was given up on a version, and why."""

    job: str
    collector: str
    version: str
    reason: str


class CampaignDocument(msgspec.Struct, frozen=True):
    """What `perf collect --json` prints."""

    stored: list[StoredProfile]
    failed: list[FailedJob]
    warnings: list[str]
    seeds: list[int]


class CampaignOutcome(msgspec.Struct):
    """What a campaign did: the places of the stored profiles, what failed, and warnings about
    noise; whose hosts measured, if any.
    """

    paths: list[str] = msgspec.field(default_factory=list)
    profiles: list[Profile] = msgspec.field(default_factory=list)
    failures: list[Failure] = msgspec.field(default_factory=list)
    warnings: list[str] = msgspec.field(default_factory=list)
    seeds: list[int] = msgspec.field(default_factory=list)
    scheduler: str = ""

    def json(self) -> str:
        """What was stored and what failed, as one JSON object."""
        stored = [
            filled(
                StoredProfile,
                profile,
                profile.design,
                path=path,
                job=profile.job.label,
                collector=profile.job.collector,
                session=profile.collected.session,
            )
            for path, profile in zip(self.paths, self.profiles, strict=True)
        ]
        failed = [
            filled(FailedJob, failure, job=failure.label or failure.name)
            for failure in self.failures
        ]
        return json_text(CampaignDocument(stored, failed, self.warnings, self.seeds))

    def raise_failures(self) -> None:
        """Raise CollectFailed when anything could not be measured, which was said before."""
        if self.failures:
            rest = "the rest is stored" if self.paths else "nothing stored"
            raise CollectFailed(f"{counted(len(self.failures), 'failure')} (see above); {rest}")

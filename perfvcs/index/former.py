"""Jobs that were renamed: what is stored under a former name is read under the present one. Nothing in the store changes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace as with_changes
from typing import TYPE_CHECKING

import msgspec
from msgspec.structs import replace

if TYPE_CHECKING:
    from perfvcs.index.lines import Line
    from perfvcs.profile import Job, Profile
    from perfvcs.summary import Header, Measured, Summary


class FormerNames(msgspec.Struct, frozen=True):
    """The present ``names`` of jobs by their former ones. A unit that was called after its job is renamed with it."""

    names: Mapping[str, str] = msgspec.field(default_factory=dict)

    def __bool__(self) -> bool:
        return bool(self.names)

    def job(self, job: Job) -> Job:
        """A job under its present name."""
        return replace(job, name=self.names[job.name]) if job.name in self.names else job

    def header(self, header: Header) -> Header:
        """The same of a profile's header."""
        return replace(header, job=self.job(header.job)) if header.job.name in self.names else header

    def summary(self, former: str, summary: Summary) -> Summary:
        """A summary of a job of that former name."""
        return replace(summary, uid=self.names[former]) if summary.uid == former else summary

    def measured(self, measured: Measured) -> Measured:
        """The same of a header with its summaries."""
        former = measured.header.job.name
        if former not in self.names:
            return measured
        summaries = [self.summary(former, summary) for summary in measured.summaries]
        return replace(measured, header=self.header(measured.header), summaries=summaries)

    def line(self, line: Line) -> Line:
        """The same of a line."""
        former = line.job.name
        if former not in self.names:
            return line
        return line._replace(job=self.job(line.job), uid=self.names[former] if line.uid == former else line.uid)

    def profile(self, profile: Profile) -> Profile:
        """The same of a whole profile."""
        former = profile.job.name
        if former not in self.names:
            return profile
        present = self.names[former]
        units = [present if name == former else name for name in profile.resources.names]
        models = [replace(entry, uid=present) if entry.uid == former else entry for entry in profile.models]
        rows = with_changes(profile.resources, names=units)
        return replace(profile, job=self.job(profile.job), resources=rows, models=models)

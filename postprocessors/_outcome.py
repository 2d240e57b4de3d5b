"""Adds the results of a postprocessor to a profile."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from typing import TYPE_CHECKING

import msgspec

from perfvcs.entries import AnyEntry, as_written
from perfvcs.errors import UsageError
from perfvcs.profile import Metric, Processed, Profile
from perfvcs.validity import MAX_HEADER, METRIC_NAME

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

LARGEST_ENTRIES = MAX_HEADER - (
    1 << 20
)  # of the entries of all postprocessors; the rest is for what else is in a profile's header
OutcomeColumn = tuple[str, Sequence[float | None]]  # unit, values


def name_of(member: DataclassInstance) -> str:
    """The name of a postprocessor, from its file: ``moving-average``."""
    return type(member).__module__.rpartition(".")[2].replace("_", "-")


def conclude(
    profile: Profile, member: DataclassInstance, models: Sequence[AnyEntry] = (), columns: Mapping[str, OutcomeColumn] | None = None,
    word: str = "",
) -> Profile:  # fmt: skip
    """The profile with the results of a postprocessor in the place of those that it left there before.

    ``columns`` are, per metric, unit and values of ``<metric>.<word>``: recorded, never judged. Earlier columns of that ``word`` go,
    whichever metric they belong to. Raises UsageError where the profile could not be written.
    """
    name = name_of(member)
    entries = [*(entry for entry in profile.models if entry.postprocessor != name), *models]
    if models and (size := len(msgspec.json.encode(list(map(as_written, entries))))) > LARGEST_ENTRIES:
        raise UsageError(
            f"{profile.job.label or 'the profile'} would have {size:,} bytes of models, and {LARGEST_ENTRIES:,} is the most: name fewer "
            "metrics "
            "with of, or, of a regression, give keep=best"
        )
    metrics, values = dict(profile.metrics), dict(profile.resources.metrics)
    new = {f"{metric}.{word}": column for metric, column in (columns or {}).items()}
    earlier = {metric for metric, about in metrics.items() if word and metric.endswith(f".{word}") and about.better == "none"}
    for gone in earlier - new.keys():
        del metrics[gone], values[gone]
    for column, (unit, numbers) in new.items():
        if not METRIC_NAME.fullmatch(column):
            raise UsageError(f"the column `{column[:80]}` would have too long a name: name other metrics with of")
        metrics[column], values[column] = Metric(unit, "none"), list(numbers)
    done = [processed for processed in profile.postprocessors if processed.name != name]
    # as it will be read again: a tuple becomes a list
    done.append(Processed(name, msgspec.json.decode(msgspec.json.encode(asdict(member)))))
    return msgspec.structs.replace(
        profile, models=entries, metrics=metrics, resources=replace(profile.resources, metrics=values), postprocessors=done
    )

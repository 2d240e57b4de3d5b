"""The check of a commit: a check run, a commit status where that is all that a token may write, and
GitLab's status; the service fails in every way.
"""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest
from forges import Answer, Service

from perfvcs.check.change import Report
from perfvcs.ci.civerdict import CiVerdict, CiWord, Receipt
from perfvcs.ci.forgeservice import Insistence
from perfvcs.ci.posting import set_check
from perfvcs.ci.surroundings import Surroundings

TOKEN, COMMIT = "ghs_0123456789abcdef", "a" * 40
QUICK = Insistence(seconds=20.0, pause=0.001)


@pytest.fixture
def job(service: Service) -> Surroundings:
    return Surroundings(
        "github", api=service.address, project="ada/project", token=TOKEN, commit=COMMIT
    )


def refusal(status: int) -> Answer:
    return status, {}, json.dumps({"message": "Resource not accessible"}).encode()


def verdict_of(word: CiWord = "fine", *why: str) -> CiVerdict:
    return CiVerdict(
        word=word,
        report=Report(baseline="1", target="2", method="auto", changes=[]),
        receipt=Receipt(comparisons=0, settled=0),
        why=list(why),
    )


def told(job: Surroundings, verdict: CiVerdict | None = None, **secrets: str) -> str:
    return set_check(job, verdict or verdict_of(), "perf/main", secrets, QUICK)


@pytest.mark.parametrize(
    ("word", "conclusion"),
    [
        ("fine", "success"),
        ("untouched", "success"),
        ("degraded", "failure"),
        ("unsettled", "failure"),
        ("failed", "failure"),
    ],
)
def test_it_passes_where_the_job_does(
    service: Service, job: Surroundings, word: CiWord, conclusion: str
) -> None:
    assert told(job, verdict_of(word)) == f"check perf/main: {conclusion}"
    ((where, run),) = service.checks
    assert where == "/repos/ada/project/check-runs"
    assert (run["head_sha"], run["conclusion"]) == (COMMIT, conclusion)


@pytest.mark.parametrize("status", [403, 404])
def test_a_token_that_may_write_no_check_writes_a_commit_status(
    service: Service, job: Surroundings, status: int
) -> None:
    service.faults.append(refusal(status))
    assert told(job, verdict_of("degraded")) == ("check perf/main: failure, as a commit status")
    ((where, given),) = service.checks
    assert where == f"/repos/ada/project/statuses/{COMMIT}"
    assert (given["state"], given["context"]) == ("failure", "perf/main")
    assert 0 < len(given["description"]) <= 140


def test_a_token_that_may_write_neither_is_told_what_to_allow(
    service: Service, job: Surroundings
) -> None:
    service.faults += [refusal(403), refusal(403)]
    assert "let the job write (`checks: write`, or `statuses: write`)" in told(job)


def test_gitlab_has_a_status_of_the_pipeline(service: Service) -> None:
    job = Surroundings(
        "gitlab", api=service.address, project="12", token=TOKEN, commit=COMMIT, pipeline=77
    )
    assert told(job, verdict_of("degraded")) == "check perf/main: failed"
    ((where, given),) = service.checks
    assert where == f"/projects/12/statuses/{COMMIT}"
    assert (given["state"], given["name"], given["pipeline_id"]) == ("failed", "perf/main", 77)


def test_a_service_that_has_a_bad_moment_is_asked_again(
    service: Service, job: Surroundings
) -> None:
    service.faults += [(502, {}, b"<html>"), (429, {"Retry-After": "0"}, b"")]
    assert told(job, verdict_of("fine")) == "check perf/main: success"
    assert len(service.checks) == 1


def test_without_a_token_a_service_or_a_commit_it_ends_in_a_line(job: Surroundings) -> None:
    assert "there is no token" in told(replace(job, token=""))
    assert "no check: there is no service" in told(Surroundings("plain"))
    assert told(replace(job, commit="")) == (
        "no check: nothing says which commit this job is about"
    )


def test_secrets_are_not_repeated_and_long_texts_fit(service: Service, job: Surroundings) -> None:
    secret = "hunter2-hunter2"
    long = verdict_of("failed", f"{secret} is wrong", "é" * 1000, "x" * 100_000)
    assert "failure" in told(job, long, GITLAB_TOKEN=secret)
    run: dict[str, Any] = service.checks[0][1]
    assert secret not in json.dumps(run)
    assert len(run["output"]["title"]) <= 140
    assert len(run["output"]["summary"].encode()) <= 65_535

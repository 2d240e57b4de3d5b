"""What a CI service puts into the environment for its own jobs and nobody else: tokens, and the files that steer the job."""

from __future__ import annotations

import re
from collections.abc import Mapping

SECRET = re.compile(
    r"(GITHUB|GH|GH_ENTERPRISE|GITHUB_ENTERPRISE|GITLAB|GL|PERFVCS)_TOKEN|ACTIONS_\w*(TOKEN|URL)|INPUT_\w*TOKEN|"
    r"CI_\w*(TOKEN|PASSWORD)|CI_(?=\w*JWT)\w+|CI_REPOSITORY_URL|CI_SERVER_TLS_KEY_FILE"
)
STEERING = re.compile(
    r"GITHUB_(ENV|PATH|OUTPUT|STATE|STEP_SUMMARY)|GITLAB_ENV_FILE"
)  # what is written there changes the steps that follow
SHORTEST_TOKEN = 8  # characters of a token; what is shorter stands in ordinary text, too
HIDDEN = "***"


def secrets(environ: Mapping[str, str]) -> list[str]:
    """The values of the tokens in an environment, the longest first."""
    found = {value for name, value in environ.items() if SECRET.fullmatch(name) and len(value) >= SHORTEST_TOKEN}
    return sorted(found, key=len, reverse=True)


def without_secrets(environ: Mapping[str, str]) -> dict[str, str]:
    """The environment without a CI service's tokens and the files that steer its job."""
    return {name: value for name, value in environ.items() if not SECRET.fullmatch(name) and not STEERING.fullmatch(name)}


def hidden(text: str, environ: Mapping[str, str]) -> str:
    """A text with stars in the place of every token of an environment.

    >>> hidden("https://ci:0123456789@example.org", {"CI_JOB_TOKEN": "0123456789"})
    'https://ci:***@example.org'
    """
    for secret in secrets(environ):
        text = text.replace(secret, HIDDEN)
    return text

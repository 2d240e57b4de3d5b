"""Variables of measured programs: seeds that are set, and secrets of a CI service that are not."""

from __future__ import annotations

import re
from collections.abc import Mapping

SECRET = (
    r"(GITHUB|GH|GH_ENTERPRISE|GITHUB_ENTERPRISE|GITLAB|GL|PERFVCS)_TOKEN|ACTIONS_\w*(TOKEN|URL)|INPUT_\w*TOKEN|"
    r"CI_\w*(TOKEN|PASSWORD)|CI_(?=\w*JWT)\w+|CI_REPOSITORY_URL|CI_SERVER_TLS_KEY_FILE"
)
STEERING = re.compile(
    r"GITHUB_(ENV|PATH|OUTPUT|STATE|STEP_SUMMARY)|GITLAB_ENV_FILE"
)  # what is written there changes the steps that follow
SHORTEST_TOKEN = 8  # characters of a token; what is shorter stands in ordinary text, too
HIDDEN = "***"
SEED = "PERFVCS_SEED"
SEED_PLACEHOLDER = "{seed}"


def secrets(environ: Mapping[str, str]) -> list[str]:
    """The values of the tokens in an environment, the longest first."""
    tokens = {
        value
        for name, value in environ.items()
        if re.fullmatch(SECRET, name) and len(value) >= SHORTEST_TOKEN
    }
    return sorted(tokens, key=len, reverse=True)


def without_secrets(environ: Mapping[str, str]) -> dict[str, str]:
    """The environment without a CI service's tokens and the files that steer its job."""
    return {
        name: value
        for name, value in environ.items()
        if not re.fullmatch(SECRET, name) and not STEERING.fullmatch(name)
    }


def hidden(text: str, environ: Mapping[str, str]) -> str:
    """A text with stars in the place of every token of an environment.

    >>> hidden("https://ci:0123456789@example.org", {"CI_JOB_TOKEN": "0123456789"})
    'https://ci:***@example.org'
    """
    for secret in secrets(environ):
        text = text.replace(secret, HIDDEN)
    return text


def seeded(env: Mapping[str, str], seed: int) -> dict[str, str]:
    """The environment with the seeds that it does not set itself; ``seed`` is 0 (hashing is not
    random) to 2**31 - 1.

    Python, Perl and Lua take theirs. Ruby, Node and Go have no such variable, and files that are
    loaded first would cost them milliseconds.
    """
    seeds = {
        SEED: str(seed),
        "PYTHONHASHSEED": str(seed),
        "PERL_HASH_SEED": f"{seed:#x}",
        "PERL_PERTURB_KEYS": "2" if seed else "0",  # 2: the order of keys follows from the seed
        "PERL_RAND_SEED": str(seed),  # since Perl 5.38
        "LUA_INIT": f"math.randomseed({seed})",
    }
    return seeds | dict(env)

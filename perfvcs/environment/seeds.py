"""Seeds of random numbers and of hashing, as the measured programs' languages take them from the environment."""

from __future__ import annotations

from collections.abc import Mapping

SEED = "PERFVCS_SEED"
SEED_PLACEHOLDER = "{seed}"


def seeded(env: Mapping[str, str], seed: int) -> dict[str, str]:
    """The environment with the seeds that it does not set itself; ``seed`` is 0 (hashing is not random) to 2**31 - 1.

    Python, Perl and Lua take theirs. Ruby, Node and Go have no such variable, and files that are loaded first would cost them
    milliseconds.
    """
    own = {
        SEED: str(seed),
        "PYTHONHASHSEED": str(seed),
        "PERL_HASH_SEED": f"{seed:#x}",
        "PERL_PERTURB_KEYS": "2" if seed else "0",  # 2: the order of keys follows from the seed
        "PERL_RAND_SEED": str(seed),  # since Perl 5.38
        "LUA_INIT": f"math.randomseed({seed})",
    }
    return own | dict(env)

"""``perf mcp``."""

from __future__ import annotations

import click

from perfvcs.commands._options import flag
from perfvcs.text.examples import examples


@examples(
    ("perf mcp", "serve the coding agent that starts it"),
    ("perf mcp --trust-config", "let it run what perf.toml says later, too"),
)
@click.command()
@flag("--trust-config", "Also run the commands of a perf.toml that changed since the server began.")
def command(*, trust_config: bool) -> None:
    """Serve this repository's measurements to a coding agent, by the Model Context Protocol over
    standard input and output.

    Its tools are judge, measure, compare, hotspots, why, history, plan and benchmarks. Runs only
    the commands of perf.toml as it was when the server began.
    """
    from perfvcs.agents.trusted import TrustedSettings
    from perfvcs.errors import UsageError
    from perfvcs.repository import Repository

    project = Repository.find(create=True).project
    try:
        from perfvcs.agents.relay import relay_input
        from perfvcs.agents.tools import server
    except ImportError as error:
        if (error.name or "").partition(".")[0] not in ("anyio", "mcp", "pydantic"):
            raise
        raise UsageError("perf mcp needs the SDK of the protocol: pip install mcp") from None
    serving = server(project.root, TrustedSettings(project, trusting=trust_config))
    relay_input()
    serving.run("stdio")

"""``roofctl mcp``: tools for coding agents."""

from __future__ import annotations

from importlib.util import find_spec

import click

from roofctl.cli.common import talk_options


@click.command()
@talk_options
def mcp() -> None:
    """Serve report, explain, compare and gpus to a coding agent, over the Model Context Protocol (extra mcp).

    It reads requests on stdin and answers on stdout until stdin ends: an agent starts it. It reads captures and
    profiles in its working directory and wherever the agent names a path; it runs and writes nothing.

    \b
    Example:
      roofctl mcp
    as the entry of an agent's configuration:
      {"mcpServers": {"roofctl": {"command": "roofctl", "args": ["mcp"]}}}
    """
    from roofctl.core.errors import InputError

    if find_spec("mcp") is None:
        raise InputError("the package mcp is not installed", hint="pip install 'roofctl[mcp]'")
    from roofctl.agent.server import server

    server().run("stdio")

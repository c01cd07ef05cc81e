"""The server of ``roofctl mcp``: the tools over the Model Context Protocol, on standard input and output."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from mcp.server.mcpserver import MCPServer
from mcp.server.mcpserver.exceptions import ToolError

from roofctl import __version__
from roofctl.agent.tools import TOOLS, error_text
from roofctl.core.errors import RoofctlError

_INSTRUCTIONS = """\
Rooflines of GPU kernels. Start with report: it names what limits each kernel, the headroom in ms and the next step, and
has done: true where nothing is worth a change. explain has the evidence for one kernel. After a change profile again
(roofctl profile ./app, in a shell), and compare. A value that is null is not known; it is not zero."""


def _reporting(tool: Callable[..., dict[str, Any]]) -> Callable[..., dict[str, Any]]:
    """``tool`` with errors of roofctl as errors of the tool: their text reaches the agent."""

    @functools.wraps(tool)
    def call(*args: Any, **kwargs: Any) -> dict[str, Any]:
        try:
            return tool(*args, **kwargs)
        except RoofctlError as error:
            raise ToolError(error_text(error)) from error

    return call


def server() -> MCPServer[Any]:
    """The server with its tools, not yet running."""
    made: MCPServer[Any] = MCPServer("roofctl", instructions=_INSTRUCTIONS, version=__version__, log_level="ERROR")
    for tool in TOOLS:
        made.tool()(_reporting(tool))
    return made

"""``roofctl mcp`` with the client of the package mcp, in process and over a pipe."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
from mcp import Client, StdioServerParameters

from roofctl.agent.server import server
from roofctl.cli.main import main

CAPTURES = Path(__file__).parent.parent / "data" / "captures-h200"


def asked(question: Callable[[Client], Awaitable[Any]], of: Any = None) -> Any:
    async def talk() -> Any:
        async with Client(of or server()) as client:
            return await question(client)

    return asyncio.run(talk())


def called(tool: str, **arguments: Any) -> dict[str, Any]:
    result = asked(lambda client: client.call_tool(tool, arguments))
    assert not result.is_error, result.content
    assert json.loads(result.content[0].text) == result.structured_content
    return dict(result.structured_content)


def refused(tool: str, **arguments: Any) -> str:
    result = asked(lambda client: client.call_tool(tool, arguments))
    assert result.is_error
    return str(result.content[0].text)


def test_the_tools_are_described() -> None:
    tools = {tool.name: tool for tool in asked(lambda client: client.list_tools()).tools}
    assert set(tools) == {"report", "explain", "compare", "gpus"}
    assert all(tool.description for tool in tools.values())
    assert tools["compare"].input_schema["required"] == ["before", "after"]
    assert tools["report"].input_schema["properties"]["model"]["enum"] == ["instruction", "flop"]


def test_report_is_the_brief_one_or_all(capsys: pytest.CaptureFixture[str]) -> None:
    path = str(CAPTURES / "limits")
    assert main(["report", path, "--format", "brief", "-q"]) == 0
    brief = json.loads(capsys.readouterr().out)
    assert called("report", inputs=[path]) == {"inputs": ["limits"], **brief}
    assert main(["report", path, "--format", "json", "-q", "--kernel", "tail"]) == 0
    full = json.loads(capsys.readouterr().out)
    assert called("report", inputs=[path], kernel="tail", full=True) == {"inputs": ["limits"], **full}


def test_report_without_input_takes_the_newest(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "roofctl-captures").mkdir()
    (tmp_path / "roofctl-captures" / "mine").symlink_to(CAPTURES / "known")
    monkeypatch.chdir(tmp_path)
    assert called("report")["inputs"] == ["mine"]
    monkeypatch.chdir(CAPTURES / "known")
    assert "there is no capture in" in refused("report")
    assert "roofctl profile ./app" in refused("report")


def test_explain_has_the_evidence() -> None:
    answer = called("explain", kernel="tail", inputs=[str(CAPTURES / "limits")])
    (kernel,) = answer["kernels"]
    assert (answer["gpu"], kernel["short_name"], kernel["limit"]) == ("NVIDIA H200", "limit_tail", "tail")
    assert kernel["verdict"].startswith("tail")
    assert 0 < kernel["use"]["issue"] < 1
    assert "no kernel" in refused("explain", kernel="no_such", inputs=[str(CAPTURES / "limits")])
    assert "is not a regular expression" in refused("explain", kernel="(", inputs=[str(CAPTURES / "limits")])


def test_compare_is_that_of_the_command(capsys: pytest.CaptureFixture[str]) -> None:
    paths = [str(CAPTURES / name) for name in ("verify", "known")]
    assert main(["compare", *paths, "--format", "json", "-q", "--kernel", "copy", "--group", "kernel"]) == 0
    expected = json.loads(capsys.readouterr().out)
    assert called("compare", before=paths[0], after=paths[1], kernel="copy") == expected


def test_gpus() -> None:
    names = [each["name"] for each in called("gpus")["gpus"]]
    assert "h200" in names
    assert names == sorted(names)
    assert called("gpus", name="h200-sxm")["name"] == "h200"
    assert "there is no GPU profile named 'h2000'; near: " in refused("gpus", name="h2000")


def test_over_a_pipe_as_an_agent_starts_it() -> None:
    program = StdioServerParameters(command=sys.executable, args=["-m", "roofctl", "mcp"])
    result = asked(lambda client: client.call_tool("report", {"inputs": [str(CAPTURES / "known")]}), program)
    assert result.structured_content["gpu"] == "NVIDIA H200"


def test_it_ends_with_its_input() -> None:
    child = subprocess.run(
        [sys.executable, "-m", "roofctl", "mcp"], input=b"", capture_output=True, timeout=60, check=True
    )
    assert (child.stdout, child.stderr) == (b"", b"")


def test_without_the_package(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr("roofctl.cli.mcp.find_spec", lambda _name: None)
    assert main(["mcp"]) == 2
    assert "pip install 'roofctl[mcp]'" in capsys.readouterr().err

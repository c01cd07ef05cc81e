"""The commands of README and docs: each one that needs no GPU runs, and prints what the page shows.

Rules for the pages:

* ``sh`` blocks hold commands. ``# needs …`` on a line of its own: the commands below it, to the end of the block, need
  something that a test has not (a GPU, minutes, a release of ncu). ``# exit code N`` behind a command: it ends so.
  Commands that install are recognised as such. All others are single commands of roofctl, with ``> FILE`` at most.
* ``text`` blocks show lines that the commands above them print.
* ``yaml NAME`` blocks are files that the commands below them use.
* ``sql`` blocks query the export of the page above them; ``python`` blocks run as they are.
* A block without a language is a drawing or a form, and holds no command.
"""

from __future__ import annotations

import re
import shlex
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import click
import pytest

from roofctl.cli.main import cli, main

ROOT = Path(__file__).parent.parent.parent
CAPTURES = ROOT / "tests" / "data" / "captures-h200"
NVPROF = ROOT / "tests" / "data" / "nvprof-11.8-v100s"
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]

_LANGUAGES = {"", "sh", "text", "yaml", "sql", "python"}
_INSTALLS = re.compile(r"\b(pip|pipx|uv tool) install\b")
_NEEDS = re.compile(r"# needs ")
_EXIT_CODE = re.compile(r"# exit code (\d+)")


@dataclass(frozen=True)
class Block:
    """A fenced block: its page, the line of its text, the words behind the fence, and the text."""

    page: Path
    line: int
    info: tuple[str, ...]
    text: str

    @property
    def language(self) -> str:
        return self.info[0] if self.info else ""

    @property
    def place(self) -> str:
        return f"{self.page.relative_to(ROOT)}:{self.line}"


@dataclass(frozen=True)
class Command:
    """A command line, without its comment; whether it can run here, and the exit code that the page states."""

    place: str
    line: str
    runs: bool
    exit_code: int


def blocks(page: Path) -> list[Block]:
    """All fenced blocks of a page, in order."""
    fenced: list[Block] = []
    start, info, lines = 0, (), []
    for number, line in enumerate(page.read_text(encoding="utf-8").splitlines(), 1):
        if not line.startswith("```"):
            lines.append(line)
        elif start:
            fenced.append(Block(page, start, info, "\n".join(lines)))
            start = 0
        else:
            start, info, lines = number + 1, tuple(line[3:].split()), []
    assert start == 0, f"{page}: the block of line {start - 1} has no end"
    return fenced


def commands(block: Block) -> Iterator[Command]:
    """The commands of a ``sh`` block."""
    needs = False
    for number, line in enumerate(re.sub(r"\\\n", "  ", block.text).splitlines(), block.line):
        if line.startswith("#"):
            needs = needs or bool(_NEEDS.match(line))
        elif line.strip():
            code = _EXIT_CODE.search(line)
            runs = not needs and not _INSTALLS.search(line)
            command = re.sub(r"\s+#.*", "", line)
            yield Command(f"{block.page.name}:{number}", command, runs, int(code[1]) if code else 0)


BLOCKS = [block for page in PAGES for block in blocks(page)]
COMMANDS = [command for block in BLOCKS if block.language == "sh" for command in commands(block)]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A working folder with what the pages name: captures, files of nvprof, ranks, a GPU profile's place."""
    (tmp_path / "tests").mkdir()
    (tmp_path / "tests" / "data").symlink_to(ROOT / "tests" / "data")
    shutil.copy(CAPTURES / "known" / "capture.csv", tmp_path)
    shutil.copy(CAPTURES / "report" / "report.ncu-rep", tmp_path)
    for name in ("metrics", "events", "timing"):
        shutil.copy(NVPROF / f"{name}.csv", tmp_path)
    for name, source in {"before": "known", "after": "verify", "roofctl-captures/gemms": "gemms"}.items():
        shutil.copytree(CAPTURES / source, tmp_path / name)
    (tmp_path / "ranks").mkdir()
    for rank in range(4):
        shutil.copy(CAPTURES / "known" / "capture.csv", tmp_path / "ranks" / f"rank{rank}.csv")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def run(command: Command, capsys: pytest.CaptureFixture[str]) -> str:
    """Run a command of roofctl, with its ``> FILE``; its output, both streams."""
    program, *arguments = shlex.split(command.line)
    assert program == "roofctl", f"{command.place}: say what {command.line!r} needs"
    target = arguments.pop() if ">" in arguments else None
    code = main([argument for argument in arguments if argument != ">"])
    out, err = capsys.readouterr()
    if target:
        Path(target).write_text(out, encoding="utf-8")
    assert code == command.exit_code, f"{command.place}: {command.line}\nexit code {code}\n{out}{err}"
    return out + err


def words(text: str) -> list[str]:
    """The lines of a text without what depends on the width of columns."""
    return [" ".join(line.split()) for line in text.splitlines() if line.strip()]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_commands_run_and_print_what_the_page_shows(
    page: Path, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    output = ""
    for block in blocks(page):
        if block.language == "sh":
            output = "".join(run(command, capsys) for command in commands(block) if command.runs)
        elif block.language == "text":
            absent = [line for line in words(block.text) if line not in words(output)]
            assert absent == [], f"{block.place}: not printed by the commands above"
        elif block.language == "yaml" and len(block.info) > 1:
            (folder / block.info[1]).parent.mkdir(exist_ok=True)
            (folder / block.info[1]).write_text(block.text, encoding="utf-8")
        elif block.language == "python":
            exec(compile(block.text, block.place, "exec"), {})  # noqa: S102 - our own documentation


@pytest.mark.parametrize("block", [b for b in BLOCKS if b.language == "sql"], ids=lambda block: block.place)
def test_queries_run(block: Block, folder: Path) -> None:
    duckdb = pytest.importorskip("duckdb", reason="duckdb is not installed: the SQL is not run")
    assert main(["export", str(folder / "ranks"), "--parquet", "launches"]) == 0
    assert duckdb.sql(block.text).fetchall()


@pytest.mark.parametrize("command", [c for c in COMMANDS if not c.runs], ids=lambda command: command.place)
def test_options_exist_where_the_command_cannot_run(command: Command) -> None:
    program, *arguments = shlex.split(re.split(r" [&|>]+ ", command.line)[0], comments=True)
    if program != "roofctl":
        assert not program.startswith("shell/") or (ROOT / program).is_file()
        return
    node: click.Command = cli
    while isinstance(node, click.Group):
        node = node.commands[arguments.pop(0)]
    node.make_context(str(node.name), arguments)


def test_every_block_is_of_a_known_kind() -> None:
    assert [block.place for block in BLOCKS if block.language not in _LANGUAGES] == []
    drawings = [block for block in BLOCKS if not block.language]
    assert [block.place for block in drawings if re.search(r"^\s*(\$ |roofctl [a-z-])", block.text, re.MULTILINE)] == []


def leaves(node: click.Command, path: str) -> Iterator[str]:
    """The words of every command, such as ``roofctl gpus list``."""
    if isinstance(node, click.Group):
        for name, inner in node.commands.items():
            yield from leaves(inner, f"{path} {name}")
    else:
        yield path


@pytest.mark.parametrize("path", list(leaves(cli, "roofctl")))
def test_every_command_is_shown(path: str) -> None:
    assert [command.place for command in COMMANDS if f"{command.line} ".startswith(f"{path} ")]


def test_every_page_is_listed() -> None:
    index = (ROOT / "docs" / "index.md").read_text(encoding="utf-8")
    assert [page.name for page in PAGES[1:] if page.name != "index.md" and f"({page.name})" not in index] == []


def anchors(page: Path) -> set[str]:
    """The fragments that link to a page's headings."""
    headings = re.findall(r"^#+ (.+)$", page.read_text(encoding="utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-") for heading in headings}


def test_links_and_pictures_exist() -> None:
    dead = []
    for page in PAGES:
        for target, fragment in re.findall(r"\]\(([^)#]*)#?([^)]*)\)", page.read_text(encoding="utf-8")):
            file = page.parent / target if target else page
            if target.startswith("http"):
                continue
            if not file.exists() or (fragment and fragment not in anchors(file)):
                dead.append(f"{page.name}: {target}#{fragment}")
    assert dead == []


def test_files_of_the_source_tree_exist() -> None:
    paths = re.compile(r"`((?:roofctl|kernels|profiles|shell|tests|benchmarks)/[\w./-]*)`")
    named = {name for page in PAGES for name in paths.findall(page.read_text(encoding="utf-8"))}
    written = {block.info[1] for block in BLOCKS if block.language == "yaml" and len(block.info) > 1}
    assert sorted(name for name in named - written if not (ROOT / name).exists()) == []


@pytest.mark.parametrize("options", [(), ("--model", "flop"), ("--times",)], ids=["instruction", "flop", "times"])
def test_the_reference_names_every_column(options: tuple[str, ...], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["report", str(CAPTURES / "known"), "--format", "csv", *options]) == 0
    columns = capsys.readouterr().out.splitlines()[0].split(",")
    reference = (ROOT / "docs" / "reference.md").read_text(encoding="utf-8")
    assert [column for column in columns if f"`{column}`" not in reference] == []

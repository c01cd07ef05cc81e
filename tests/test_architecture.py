"""The structure of the package: imports point down, heavy libraries have owners, only the command line prints or exits."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parent.parent / "roofctl"
MODULES = {
    path.relative_to(PACKAGE): ast.parse(path.read_text(encoding="utf-8")) for path in sorted(PACKAGE.rglob("*.py"))
}

# Each part of the package and the parts that it may import; `cli` and `__main__` may import all.
BELOW: dict[str, set[str]] = {
    "__init__": set(),
    "core": set(),
    "quantities": {"core"},
    "captures": {"core"},
    "cuda": {"core"},
    "advice": {"core"},
    "profilers": {"__init__", "captures", "core", "cuda", "quantities", "readers"},
    "launches": {"core", "quantities"},
    "readers": {"core", "cuda", "launches", "quantities"},
    "roofline": {"advice", "core", "launches", "quantities"},
    "gpus": {"core", "quantities", "roofline"},
    "study": {"captures", "core", "gpus", "launches", "quantities", "readers", "roofline"},
    "plots": {"core", "roofline"},
    "output": {"__init__", "core", "launches", "plots", "quantities", "readers", "roofline", "study"},
    "microbench": {"__init__", "core", "cuda", "gpus"},
    "verify": {"captures", "core", "cuda", "gpus", "launches", "profilers", "quantities", "readers", "roofline", "study"},
    "agent": {"__init__", "core", "gpus", "output", "roofline", "study"},
    "doctor": {"captures", "core", "cuda", "gpus", "profilers", "quantities"},
}  # fmt: skip
COMMAND_LINE = {"cli", "__main__"}
EVERYTHING = {*COMMAND_LINE, "api", "pytest_plugin"}
# Scripts that run in a child process: their result is printed on stdout, any failure included.
SCRIPTS = {Path("doctor/child.py"), Path("readers/ncurep/child.py")}

# Who may import a heavy or dangerous library; a name is a part, or a module in it.
OWNERS: dict[str, set[str]] = {
    "pandas": {
        "api",
        "launches",
        "study/device",
        "roofline/kernel",
        "readers/convert",
        "readers/parts",
        "readers/nsys_export",
    },
    "pyarrow": {"readers", "output/parquet"},
    "matplotlib": {"api", "plots"},
    "plotly": set(),
    "numpy": {"launches", "plots", "readers"},
    "rich": {"output"},
    "pydantic": {"captures/read", "gpus"},
    "pydantic_core": {"captures/read", "gpus"},
    "demangle": {"core/mangling"},
    "yaml": {"advice", "core/yaml_text", "gpus", "quantities", "plots/style_file", "verify/known_limits"},
    "pycuda": {"microbench"},
    "pynvml": {"microbench"},
    "ncu_report": {"readers/ncurep/child"},
    "subprocess": {"core/process"},
    "multiprocessing": {"core/parallel"},
    "click": {"cli"},
    "mcp": {"agent/server"},
    "ctypes": {"doctor/child", "microbench/graphs"},
}
HEAVY = ("pandas", "pyarrow", "matplotlib", "plotly", "pycuda", "rich", "pydantic", "numpy")


def part_of(path: Path) -> str:
    return path.parts[0].removesuffix(".py")


def imports(tree: ast.AST) -> Iterator[tuple[int, str]]:
    """Every dotted name that a module imports, wherever the statement stands."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from ((node.lineno, alias.name) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, "imports are absolute"
            yield from ((node.lineno, f"{node.module}.{alias.name}") for alias in node.names)


def parts_used(tree: ast.AST) -> Iterator[tuple[int, str]]:
    for number, name in imports(tree):
        package, _, rest = name.partition(".")
        if package == "roofctl":
            first = rest.partition(".")[0]
            yield number, first if (PACKAGE / first).is_dir() or (PACKAGE / f"{first}.py").is_file() else "__init__"


def test_every_part_has_its_imports_listed() -> None:
    assert {part_of(path) for path in MODULES} - EVERYTHING <= set(BELOW)


def test_the_listed_imports_have_no_cycle() -> None:
    settled: set[str] = set()
    while ready := {part for part, below in BELOW.items() if below <= settled} - settled:
        settled |= ready
    assert set(BELOW) - settled == set()


@pytest.mark.parametrize("path", MODULES, ids=str)
def test_imports_point_down(path: Path) -> None:
    part = part_of(path)
    if part == "__init__":
        return  # for type checkers: at run time the public names are imported when they are used
    allowed = {*BELOW, "cli", "api"} if part in EVERYTHING else {part, *BELOW[part]}
    assert [f"{path}:{line} {part} -> {used}" for line, used in parts_used(MODULES[path]) if used not in allowed] == []


@pytest.mark.parametrize("library", OWNERS)
def test_a_heavy_library_has_its_owners(library: str) -> None:
    users = {
        path.with_suffix("").as_posix()
        for path, tree in MODULES.items()
        for _, name in imports(tree)
        if name.partition(".")[0] == library
    }
    owners = OWNERS[library]
    assert {user for user in users if user not in owners and user.partition("/")[0] not in owners} == set()


def test_children_start_in_one_place_only() -> None:
    starters = {
        f"{path}:{node.lineno}"
        for path, tree in MODULES.items()
        for node in ast.walk(tree)
        if isinstance(node, ast.Attribute) and node.attr in {"system", "popen", "execv", "execvp", "fork", "posix_spawn"}
        and isinstance(node.value, ast.Name) and node.value.id == "os"
    }  # fmt: skip
    assert starters == set()


@pytest.mark.parametrize(
    "path", [path for path in MODULES if part_of(path) not in COMMAND_LINE and path not in SCRIPTS], ids=str
)
def test_only_the_command_line_prints_or_exits(path: Path) -> None:
    faults = []
    for node in ast.walk(MODULES[path]):
        if isinstance(node, ast.Call):
            called = ast.unparse(node.func)
            if called in {"print", "exit", "quit", "sys.exit", "os._exit", "click.echo"} or called.startswith(
                ("sys.stdout", "sys.stderr")
            ):
                faults.append(f"{path}:{node.lineno} {called}")
        elif isinstance(node, ast.Name) and node.id == "SystemExit":
            faults.append(f"{path}:{node.lineno} SystemExit")
    assert faults == []


@pytest.mark.parametrize("path", [path for path in MODULES if path not in SCRIPTS], ids=str)
def test_no_error_is_caught_wholesale(path: Path) -> None:
    handlers = [node for node in ast.walk(MODULES[path]) if isinstance(node, ast.ExceptHandler)]
    broad = [h.lineno for h in handlers if h.type is None or ast.unparse(h.type) in {"Exception", "BaseException"}]
    # A handler that raises again has caught nothing.
    kept = [h.lineno for h in handlers if h.lineno in broad and not any(isinstance(n, ast.Raise) for n in ast.walk(h))]
    assert kept == []


@pytest.mark.parametrize("path", [path for path in MODULES if path.name == "__init__.py"], ids=str)
def test_an_init_file_only_re_exports(path: Path) -> None:
    def re_exports(node: ast.stmt) -> bool:
        docstring = isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
        if path == Path("__init__.py") and (isinstance(node, ast.If) or getattr(node, "name", "") == "__getattr__"):
            return True  # the public names are imported when they are used
        names = {ast.unparse(target) for target in node.targets} if isinstance(node, ast.Assign) else set()
        return docstring or isinstance(node, ast.Import | ast.ImportFrom) or bool(names & {"__all__", "__version__"})

    assert [node.lineno for node in MODULES[path].body if not re_exports(node)] == []


def test_class_names_are_unique() -> None:
    names = [node.name for tree in MODULES.values() for node in ast.walk(tree) if isinstance(node, ast.ClassDef)]
    assert sorted(name for name, times in Counter(names).items() if times > 1) == []


def test_at_most_four_modules_stand_outside_the_parts() -> None:
    assert len([path for path in MODULES if len(path.parts) == 1]) <= 4


@pytest.mark.parametrize("path", MODULES, ids=str)
def test_modules_and_functions_are_short(path: Path) -> None:
    assert len((PACKAGE / path).read_text(encoding="utf-8").splitlines()) <= 400
    lengths = {
        f"{path}:{node.lineno} {node.name}": (node.end_lineno or node.lineno) - node.lineno + 1
        for node in ast.walk(MODULES[path])
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    }
    assert {name: lines for name, lines in lengths.items() if lines > 60} == {}


HELP = f"""
import contextlib, io, sys
import click
from roofctl.cli.main import cli, main

def walk(command, path=()):
    yield path
    for name, inner in getattr(command, "commands", {{}}).items():
        yield from walk(inner, (*path, name))

for path in walk(cli):
    with contextlib.redirect_stdout(io.StringIO()):
        assert main([*path, "--help"]) == 0, path
    loaded = [name for name in {HEAVY!r} if name in sys.modules]
    assert not loaded, (path, loaded)
    print("roofctl", *path)
"""


def test_help_loads_nothing_heavy() -> None:
    """All in one fresh interpreter: a heavy import by any of them would show."""
    child = subprocess.run([sys.executable, "-c", HELP], capture_output=True, text=True, timeout=60, check=False)
    assert child.stderr == ""
    assert {"roofctl", "roofctl report", "roofctl plot", "roofctl gpus list"} <= set(child.stdout.splitlines())


def test_the_heavy_libraries_are_really_there_to_be_loaded() -> None:
    """The test above would pass in an environment without them."""
    program = "import sys, pandas, matplotlib, rich, pydantic, numpy; print(*sorted(sys.modules))"
    child = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=True)
    assert {"pandas", "matplotlib", "rich", "pydantic", "numpy"} <= set(child.stdout.split())

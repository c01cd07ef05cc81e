"""What is shipped beside the code: profiles, kernels, scripts, README, and packages that hold them all."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tarfile
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from roofctl import __version__
from roofctl.cli.main import cli
from roofctl.core.profile_files import profile_files
from roofctl.core.resources import demo_capture, shipped
from roofctl.gpus import load_profile

ROOT = Path(__file__).parent.parent
PROFILES = profile_files(ROOT / "profiles")
SCRIPTS = sorted((ROOT / "shell").glob("*.sh"))
README = (ROOT / "README.md").read_text(encoding="utf-8")

# The last part of keys whose values are text; every other value must be a number (or null).
WORDS = {
    "name",
    "aliases",
    "description",
    "nvml_names",
    "chip",
    "die",
    "compute_capability",
    "sources",
    "notes",
    "type",
}


def values(document: Any, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Any]]:
    """Facts of a profile with their place: what stands under ``value``, and plain leaves."""
    if isinstance(document, dict) and "value" in document:
        yield path, document["value"]
    elif isinstance(document, dict):
        for key, inner in document.items():
            yield from values(inner, (*path, key))
    else:
        yield path, document


def test_the_shipped_folders_are_found_in_a_source_tree() -> None:
    assert shipped("profiles") == ROOT / "profiles"
    assert shipped("kernels") == ROOT / "kernels"
    assert (demo_capture() / "capture.json").is_file()
    assert len(PROFILES) >= 20


@pytest.mark.parametrize("path", PROFILES, ids=lambda path: path.stem)
def test_every_profile_loads_and_its_numbers_are_numbers(path: Path) -> None:
    assert load_profile(path).name == path.stem
    # 4800e9 and 4.8e12 are strings to YAML 1.1: only 4.8e+12 is a number.
    document = yaml.safe_load(path.read_text(encoding="utf-8"))
    wrong = [
        (".".join(place), value)
        for place, value in values(document)
        if not WORDS & set(place)
        and not (value is None or (isinstance(value, (int, float)) and not isinstance(value, bool)))
    ]
    assert wrong == []


@pytest.mark.parametrize("path", SCRIPTS, ids=lambda path: path.name)
def test_every_script_is_sound_bash(path: Path) -> None:
    child = subprocess.run(["bash", "-n", str(path)], capture_output=True, text=True, timeout=20, check=False)
    assert (child.returncode, child.stderr) == (0, "")
    assert path.read_text(encoding="utf-8").startswith("#!")
    assert os.access(path, os.X_OK)


def test_there_are_scripts() -> None:
    assert SCRIPTS


@pytest.mark.parametrize("command", cli.commands)
def test_readme_names_every_command(command: str) -> None:
    assert f"roofctl {command}" in README


def test_readme_links_and_pictures_exist() -> None:
    targets = [part.split(")")[0] for part in README.split("](")[1:]]
    local = [target.split("#")[0] for target in targets if not target.startswith(("http", "#", "mailto"))]
    assert [target for target in local if not (ROOT / target).exists()] == []


def test_readme_is_short() -> None:
    assert 900 <= len(README.split()) <= 1300


@pytest.mark.parametrize(
    "command",
    [
        "python3 -m venv .venv && .venv/bin/pip install -q . && .venv/bin/roofctl demo",
        ".venv/bin/pip install -q '.[test]' && .venv/bin/python -m pytest",
    ],
    ids=["demo", "tests"],
)
def test_readme_has_the_two_commands_for_a_clean_clone(command: str) -> None:
    assert f"```sh\n{command}\n```" in README


# --- packages ---------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def dist(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A source distribution, and the wheel that is built from it."""
    folder = tmp_path_factory.mktemp("dist")
    child = subprocess.run(
        [sys.executable, "-m", "build", "--no-isolation", "--outdir", str(folder), str(ROOT)],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
        cwd=folder,
    )
    assert child.returncode == 0, child.stdout + child.stderr
    return folder


def sources(folder: str) -> set[str]:
    """Files of a folder that belong to the project: no caches, nothing hidden."""
    found = (path.relative_to(ROOT) for path in (ROOT / folder).rglob("*") if path.is_file())
    return {path.as_posix() for path in found if not any(part.startswith((".", "__pycache__")) for part in path.parts)}


def test_the_wheel_holds_code_data_profiles_and_kernels(dist: Path) -> None:
    with zipfile.ZipFile(dist / f"roofctl-{__version__}-py3-none-any.whl") as wheel:
        names = set(wheel.namelist())
    expected = {f"roofctl/_shipped/{name}" for folder in ("profiles", "kernels") for name in sources(folder)} | sources(
        "roofctl"
    )
    assert expected - names == set()
    strangers = {name for name in names if not name.startswith(("roofctl/", f"roofctl-{__version__}.dist-info/"))}
    assert strangers == set()
    assert f"roofctl-{__version__}.dist-info/licenses/LICENSE" in names


def test_the_source_distribution_holds_what_building_and_testing_need(dist: Path) -> None:
    with tarfile.open(dist / f"roofctl-{__version__}.tar.gz") as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    expected = {
        name
        for folder in ("roofctl", "kernels", "profiles", "shell", "tests", "docs", "benchmarks")
        for name in sources(folder)
    }
    pictures = {path.relative_to(ROOT).as_posix() for path in (ROOT / ".github" / "images").iterdir()}
    assert {*expected, *pictures, "README.md", "LICENSE", "pyproject.toml"} - names == set()


def test_an_installed_wheel_works_outside_the_repository(dist: Path, tmp_path: Path) -> None:
    site = tmp_path / "site"
    install = [
        sys.executable,
        "-m",
        "pip",
        "install",
        "--quiet",
        "--no-deps",
        "--no-index",
        "--disable-pip-version-check",
    ]
    subprocess.run([*install, "--target", str(site), *map(str, dist.glob("*.whl"))], timeout=60, check=True)

    def run(*arguments: str) -> str:
        environment = {**os.environ, "PYTHONPATH": str(site), "PYTHONWARNINGS": "error"}
        child = subprocess.run(
            arguments, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=60, check=False
        )
        assert child.returncode == 0, child.stderr
        return child.stdout

    where = run(
        sys.executable,
        "-c",
        "import roofctl.core.resources as r; print(r.__file__); print(r.shipped('profiles')); print(r.shipped('kernels'))",
    )
    assert all(line.startswith(str(site)) for line in where.splitlines())
    example = ROOT / "tests" / "data" / "ncu-2025.3-h200" / "known_counts-all-logfile.csv"
    report = json.loads(run(sys.executable, "-m", "roofctl", "report", str(example), "--format", "json", "-q"))
    assert report["gpu"]["profile"] == "h200"
    assert len(report["kernels"]) == 12

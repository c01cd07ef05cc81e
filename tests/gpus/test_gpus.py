"""GPU profiles: what is shipped, what is refused with which message, which one a name gives, which ceilings follow."""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from roofctl.core.errors import InputError
from roofctl.core.profile_files import measured_files, profile_files
from roofctl.core.resources import shipped
from roofctl.gpus import (
    GpuProfile,
    Measured,
    all_profiles,
    find_measured,
    find_profile,
    launch_seconds,
    load_measured,
    load_profile,
    match_device,
    measured_roofline,
    theoretical_roofline,
)
from roofctl.gpus.ceilings import L2_CLOCK_UNKNOWN
from roofctl.gpus.check import file_problems
from roofctl.gpus.match import plain_name
from roofctl.gpus.schema import FACT_BASES
from roofctl.gpus.spelling import yaml_number
from roofctl.gpus.store import alias_clashes, canonical, checked_name, profile_index
from roofctl.gpus.writer import as_data, copy_as, render, skeleton
from roofctl.roofline.model import Clock

SHIPPED = profile_files(shipped("profiles"))
NAMES = ["a10", "a100-pcie-40gb", "a100-pcie-80gb", "a100-sxm4-40gb", "a100-sxm4-80gb", "a10g", "a16", "a30", "a40", "a800", "b200", "b300", "gb10", "gb200", "gb300", "gh200-144gb", "gh200-96gb", "gtx1080", "h100-nvl", "h100-pcie", "h100-sxm", "h20", "h200", "h800", "l20", "l4", "l40s", "orin", "p100-pcie", "p100-sxm2", "rtx-a6000", "rtx-pro-6000-blackwell", "rtx2070", "rtx2080ti", "rtx3060", "rtx3070", "rtx3080", "rtx3090", "rtx4080", "rtx4090", "rtx5070", "rtx5080", "rtx5090", "t4", "thor", "v100", "v100-pcie", "v100s"]  # fmt: skip

GOOD = """\
schema: 1
name: tiny
aliases: [small, tiny-gpu]
description: "A GPU for tests"
nvml_names: {value: ["NVIDIA Tiny"], basis: driver, source: sheet}
chip: gh100
die: GH100
compute_capability: "9.0"
sources:
  sheet: "a data sheet"
sm_count: {value: 10, basis: vendor, source: sheet}
schedulers_per_sm: {value: 4, basis: vendor, source: sheet}
clocks:
  sm_boost_hz: {value: 1.0e+9, basis: vendor, source: sheet}
  tensor_boost_hz: {value: 9.0e+8, basis: vendor, source: sheet}
l1:
  bytes_per_sm: {value: 1024, basis: vendor, source: sheet}
  bytes_per_clock_per_sm: {value: 128, basis: vendor, source: sheet}
shared:
  max_bytes_per_sm: {value: 1024, basis: vendor, source: sheet}
  bytes_per_clock_per_sm: {value: 128, basis: vendor, source: sheet}
l2:
  bytes: {value: 4096, basis: vendor, source: sheet}
  partitions: {value: null, basis: unknown}
  slices: {value: 8, basis: vendor, source: sheet}
  bytes_per_clock: {value: 512, basis: derived, source: sheet}
memory:
  type: {value: HBM3, basis: vendor, source: sheet}
  bus_bits: {value: 1024, basis: vendor, source: sheet}
  clock_hz: {value: 1.5e+9, basis: vendor, source: sheet}
  datasheet_bytes_per_second: {value: 4.0e+11, basis: vendor, source: sheet}
flops_per_clock_per_sm:
  fp32: {value: 256, basis: vendor, source: sheet}
  fp16_tc: {value: 4096, basis: vendor, source: sheet}
  fp64_tc: {value: 256, basis: vendor, source: sheet}
datasheet_flops_per_second:
  fp32: {value: 2.5e+12, basis: vendor, source: sheet}
notes:
  - "not a real card"
"""

MEASURED = """\
schema: 1
profile: tiny
gpu_name: NVIDIA Tiny
measured_at: "2026-01-31T12:00:00Z"
roofctl_version: "0.1.0"
ceilings:
  hbm: {value: 3.5e+11, unit: B/s, best: 3.6e+11, p5: 3.4e+11, p95: 3.55e+11, samples: 20, sm_clock_hz: 1.0e+9,
        method: "triad, 2 reads and 1 write", mixes: {read: 3.7e+11}}
  l1: {value: 1.2e+12, unit: B/s, best: 1.21e+12, p5: 1.19e+12, p95: 1.21e+12, samples: 20, sm_clock_hz: 1.0e+9,
       method: "16-byte loads"}
  issue: {value: 3.9e+10, unit: warp_inst/s, best: 3.95e+10, p5: 3.8e+10, p95: 3.95e+10, samples: 20,
          sm_clock_hz: 9.9e+8, method: "FFMA chains"}
provenance: {driver: "580", anything: [1, 2]}
"""


@pytest.fixture(autouse=True)
def own_folders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither the user's real folder nor the repository's ./profiles plays a part."""
    work = tmp_path / "work"
    work.mkdir()
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.chdir(work)


@pytest.fixture
def local() -> Path:
    folder = Path.cwd() / "profiles"
    folder.mkdir()
    return folder


@pytest.fixture
def user(tmp_path: Path) -> Path:
    folder = tmp_path / "config" / "roofctl" / "profiles"
    folder.mkdir(parents=True)
    return folder


def write(folder: Path, name: str, text: str = GOOD) -> Path:
    path = folder / f"{name}.yaml"
    path.write_text(text.replace("name: tiny\n", f"name: {name}\n"), encoding="utf-8")
    return path


def tiny(folder: Path, text: str = GOOD) -> GpuProfile:
    return load_profile(write(folder, "tiny", text))


def complaint(folder: Path, text: str) -> list[str]:
    with pytest.raises(InputError) as caught:
        tiny(folder, text)
    first, *problems = str(caught.value).splitlines()
    assert "tiny.yaml" in first
    return [problem.strip() for problem in problems]


# --- what is shipped


def test_every_gpu_is_shipped() -> None:
    assert sorted(NAMES) == sorted(path.stem for path in SHIPPED)


@pytest.mark.parametrize("path", SHIPPED, ids=lambda path: path.stem)
def test_shipped_profile_loads_with_its_sources(path: Path) -> None:
    profile = load_profile(path)
    assert profile.name == path.stem
    assert all(fact.basis in FACT_BASES for _, fact in profile.facts())
    used = {fact.source for _, fact in profile.facts()} - {None}
    assert used == set(profile.sources), "a source that no fact uses, or the reverse"


@pytest.mark.parametrize("path", SHIPPED, ids=lambda path: path.stem)
def test_shipped_base_clock_is_stated_and_below_the_boost_clock(path: Path) -> None:
    clocks = load_profile(path).clocks
    assert clocks.sm_base_hz is not None, "say that it is unknown"
    if clocks.sm_base_hz.value is None:
        assert clocks.sm_base_hz.note
    else:
        assert 0.3 < clocks.sm_base_hz.value / clocks.sm_boost_hz.value < 1


def test_h200_base_clock_is_that_of_the_kept_capture() -> None:
    """Of its longest kernel (50 ms): in short ones the counter's window holds time in which no SM ran."""
    path = Path(__file__).parent.parent / "data" / "captures-h200" / "base-clock" / "capture.csv"
    with path.open(encoding="utf-8", newline="") as file:
        _units, *rows = csv.DictReader(file)
    longest = max(rows, key=lambda row: float(row["gpu__time_duration.sum"]))
    seen = float(longest["sm__cycles_elapsed.avg.per_second"])
    assert find_profile("h200").profile.sm_base_hz == pytest.approx(seen, rel=1e-3)


@pytest.mark.parametrize("path", SHIPPED, ids=lambda path: path.stem)
def test_shipped_numbers_are_numbers_to_yaml(path: Path) -> None:
    def texts(value: object) -> Iterator[str]:
        if isinstance(value, dict):
            for key, item in value.items():
                if key not in ("compute_capability", "aliases"):
                    yield from texts(item)
        elif isinstance(value, list):
            for item in value:
                yield from texts(item)
        elif isinstance(value, str):
            yield value

    data = yaml.safe_load(path.read_text(encoding="utf-8"))
    assert not [text for text in texts(data) if re.fullmatch(r"[\d.]+(e[+-]?\d+)?", text)]


def test_shipped_files_have_no_key_twice() -> None:
    assert list(alias_clashes(SHIPPED)) == []


def test_aliases_and_names_are_unique_over_all_shipped_profiles() -> None:
    claimed = [name for found in all_profiles() for name in (found.profile.name, *found.profile.aliases)]
    assert len(claimed) == len(set(claimed))
    assert all(name == canonical(name) for name in claimed)


def test_nvml_names_are_unique_over_all_shipped_profiles() -> None:
    names = [
        plain_name(n) for found in all_profiles() for n in set(map(plain_name, found.profile.nvml_names.value or ()))
    ]
    assert len(names) == len(set(names))


@pytest.mark.parametrize("path", SHIPPED, ids=lambda path: path.stem)
def test_computed_rates_agree_with_the_data_sheet(path: Path) -> None:
    profile = load_profile(path)
    printed = profile.memory.datasheet_bytes_per_second.value
    assert printed is not None
    assert profile.pin_bytes_per_second == pytest.approx(printed, rel=0.025)
    for precision, fact in profile.datasheet_flops_per_second.items():
        if (profile.name, precision) != ("l40s", "int4_tc"):  # its data sheet prints the INT8 rate, see its notes
            assert profile.flops_per_second(precision) == pytest.approx(fact.value, rel=0.025), precision


@pytest.mark.parametrize(
    ("name", "peak", "l1", "hbm_pin"),
    [
        ("v100", 4.896e11, 1.56672e13, 8.98048e11),
        ("v100-pcie", 4.416e11, 1.41312e13, 8.98048e11),
        ("v100s", 5.1104e11, 1.635328e13, 1.133568e12),
        ("t4", 2.544e11, 4.0704e12, 3.20064e11),
        ("a100-sxm4-40gb", 6.0912e11, 1.949184e13, 1.5552e12),
        ("a100-sxm4-80gb", 6.0912e11, 1.949184e13, 2.03904e12),
        ("a100-pcie-80gb", 6.0912e11, 1.949184e13, 1.93536e12),
        ("a30", 3.2256e11, 1.032192e13, 9.3312e11),
        ("a10", 4.8816e11, 1.562112e13, 6.00096e11),
        ("rtx3090", 5.5596e11, 1.779072e13, 9.36096e11),
        ("rtx4090", 1.29024e12, 4.128768e13, 1.008096e12),
        ("rtx5090", 1.63676e12, 5.237632e13, 1.792128e12),
        ("l4", 4.7328e11, 1.514496e13, 3.00048e11),
        ("l40s", 1.43136e12, 4.580352e13, 8.64096e11),
        ("h100-pcie", 8.0028e11, 2.560896e13, 2.03904e12),
        ("h100-sxm", 1.04544e12, 3.345408e13, 3.35232e12),
        ("h200", 1.04544e12, 3.345408e13, 4.814304e12),
        ("gh200-96gb", 1.04544e12, 3.345408e13, 4.022784e12),
        ("gh200-144gb", 1.04544e12, 3.345408e13, 4.916736e12),
        ("b200", 1.16328e12, 3.722496e13, 7.67232e12),
    ],
)
def test_theoretical_limits(name: str, peak: float, l1: float, hbm_pin: float) -> None:
    roofline = theoretical_roofline(find_profile(name).profile)
    assert roofline.peak.per_second == pytest.approx(peak, rel=1e-9)
    assert roofline.bandwidth("l1").bytes_per_second == pytest.approx(l1, rel=1e-9)
    assert roofline.bandwidth("hbm").bytes_per_second == pytest.approx(hbm_pin, rel=1e-9)


def test_h200_l2_runs_at_its_own_clock() -> None:
    profile = find_profile("h200").profile
    l2 = theoretical_roofline(profile).bandwidth("l2")
    assert l2.bytes_per_second == pytest.approx(10.281344e12)
    assert (l2.clock.hz, l2.clock.domain) == (1.709e9, "l2")
    assert l2.origin == "94 slices x 64 B at 1.709 GHz"
    assert profile.l2.slices.basis == profile.clocks.l2_hz.basis == "driver"
    assert any("96 slices" in note for note in profile.notes)


@pytest.mark.parametrize(
    ("name", "key", "basis"),
    [
        ("h200", "memory.bus_bits", "driver"),
        ("h200", "clocks.sm_base_hz", "driver"),
        ("a100-sxm4-40gb", "clocks.sm_base_hz", "third-party"),
        ("l4", "clocks.sm_base_hz", "memory"),
        ("h100-sxm", "clocks.sm_base_hz", "unknown"),
        ("h200", "memory.clock_hz", "driver"),
        ("h200", "l2.bytes", "driver"),
        ("h200", "memory.datasheet_bytes_per_second", "vendor"),
        ("b200", "memory.bus_bits", "third-party"),
        ("h100-sxm", "l2.bytes_per_clock", "derived"),
        ("t4", "l2.bytes_per_clock", "unknown"),
        ("v100", "sm_count", "driver"),
        ("a100-sxm4-80gb", "memory.clock_hz", "memory"),
        ("rtx5090", "flops_per_clock_per_sm.fp32", "vendor"),
        ("rtx5090", "flops_per_clock_per_sm.fp16_tc", "memory"),
    ],
)
def test_basis_of_shipped_facts(name: str, key: str, basis: str) -> None:
    assert dict(find_profile(name).profile.facts())[key].basis == basis


# --- what is refused


def test_good_profile_loads(tmp_path: Path) -> None:
    profile = tiny(tmp_path)
    assert profile.aliases == ("small", "tiny-gpu")
    assert profile.sm_base_hz is None, "a file from before it was a fact stays valid"
    assert profile.peak_instructions_per_second == 4e10
    assert profile.pin_bytes_per_second == pytest.approx(3.84e11)
    assert profile.l1_bytes_per_second == profile.shared_bytes_per_second == 1.28e12
    assert profile.flops_per_second("fp32") == 2.56e12
    assert profile.flops_per_second("fp16_tc") == 4096 * 10 * 9e8, "the tensor clock"
    assert profile.flops_per_second("fp64_tc") == 256 * 10 * 1e9, "FP64 tensor runs at the boost clock"
    assert profile.flops_per_second("bf16") is None
    with pytest.raises(ValueError, match="frozen"):
        profile.name = "other"


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ("value: 4.0e+11", "value: 4800e9", "datasheet_bytes_per_second.value: seen '4800e9' (a text), expected a number: YAML takes 4800e9 for text, write 4.8e+12"),
        ("value: 1.5e+9", "value: 4.8e12", "clock_hz.value: seen '4.8e12' (a text), expected a number: YAML takes 4.8e12 for text, write 4.8e+12"),
        ("sm_count: {value: 10", 'sm_count: {value: "10"', "sm_count.value: seen '10' (a text), expected a whole number: write 10 without quotes"),
        ("sm_count: {value: 10", "sm_count: {value: 10.0", "sm_count.value: seen 10.0 (a number), expected a whole number: write 10"),
        ("sm_count: {value: 10", "sm_count: {value: ten", "sm_count.value: seen 'ten' (a text), expected a whole number"),
        ("sm_count: {value: 10", "sm_count: {value: true", "sm_count.value: seen True (a truth value), expected a whole number"),
        ("sm_count: {value: 10", "sm_count: {value: 0", "sm_count.value: seen 0 (a whole number), expected a number above 0"),
        ("sm_count: {value: 10, basis: vendor", "sm_count: {value: null, basis: unknown", "sm_count.value: seen null, expected a whole number; it must be known"),
        ("value: 1.5e+9", "value: -1.5e+9", "memory.clock_hz.value: seen -1500000000.0 (a number), expected a number above 0"),
        ("value: 1.5e+9", "value: .inf", "memory.clock_hz.value: seen inf (a number), expected a finite number"),
        ("sm_count: {value: 10, basis: vendor, source: sheet}", "sm_count: 10", "sm_count: seen 10 (a whole number), expected a fact {value: ..., basis: ..., source: ...}"),
        ("sm_count: {value: 10, basis: vendor, source: sheet}\n", "", "sm_count: missing; expected a fact"),
        ("l1:\n  bytes_per_sm", "l1:\n  size", "l1.bytes_per_sm: missing"),
        ("chip: gh100", "chips: gh100", "chips: unknown key; did you mean chip?"),
        ("chip: gh100", "chip: GH100", "chip: seen 'GH100' (a text), expected a chip as ncu names it"),
        ("die: GH100", "zzz: 1", "zzz: unknown key; expected one of name, aliases"),
        ("bus_bits: {value: 1024, basis: vendor, source: sheet}", "bus_bits: {value: 1024, basis: vendor, source: sheet, unit: bit}", "memory.bus_bits.unit: unknown key; expected one of value, basis, source, note"),
        ("basis: derived", "basis: guessed", "l2.bytes_per_clock.basis: seen 'guessed' (a text), expected 'vendor', 'driver'"),
        ('"9.0"', "9.0", 'compute_capability: seen 9.0 (a number), expected a quoted text such as "9.0"'),
        ('"9.0"', '"sm_90"', 'compute_capability: seen \'sm_90\' (a text), expected a quoted text such as "9.0"'),
        ("value: null, basis: unknown", "value: null, basis: vendor, source: sheet", "l2.partitions: seen value null with basis vendor; expected basis unknown"),
        ("value: null, basis: unknown", "value: 2, basis: unknown", "l2.partitions: seen value 2 with basis unknown"),
        ("basis: derived, source: sheet", "basis: derived", "l2.bytes_per_clock: seen basis derived without a source"),
        ("basis: derived, source: sheet", "basis: derived, source: book", "l2.bytes_per_clock.source: seen 'book' (a text), expected a key of sources (sheet)"),
        ("  fp32: {value: 256", "  fp_32: {value: 256", "flops_per_clock_per_sm.fp_32: unknown key; expected 'fp64'"),
        ("aliases: [small, tiny-gpu]", "aliases: small", "aliases: seen 'small' (a text), expected a list"),
        ("aliases: [small, tiny-gpu]", "aliases: [Small_One]", "aliases.0: seen 'Small_One' (a text), expected a lower-case name"),
        ("name: tiny", "name: big", "name: seen 'big' (a text) in tiny.yaml, expected tiny"),
        ("notes:", "on: 1\nnotes:", "top: seen the key True (a truth value), expected a text (put the key in quotes)"),
        ("  sheet: ", "  9: ", "sources: seen the key 9 (a whole number)"),
        ("schema: 1\n", "", "schema: missing; expected schema: 1"),
        ("schema: 1", "schema: one", "schema: seen 'one' (a text), expected 1"),
        ("schema: 1", "schema: true", "schema: seen True (a truth value), expected 1"),
        ("schema: 1", "schema: 0", "schema: seen 0 (a whole number), expected 1"),
        ("die: GH100", "die: GH100\ndie: GH200", "die: written twice; expected once"),
        ("  slices: ", "  bytes: ", "l2.bytes: written twice"),
        ("  tensor_boost_hz:", "  sm_base_hz: {value: 1.0e+9, basis: vendor, source: sheet}\n  tensor_boost_hz:", "line 13, clocks: seen sm_base_hz 1e+09 and sm_boost_hz 1e+09; expected the base below the boost clock"),
        ("  tensor_boost_hz:", "  sm_base_hz: {value: 900e6, basis: vendor, source: sheet}\n  tensor_boost_hz:", "clocks.sm_base_hz.value: seen '900e6' (a text), expected a number: YAML takes 900e6 for text, write 9.0e+8"),
        ("  tensor_boost_hz:", "  sm_base_hz: {value: null, basis: vendor, source: sheet}\n  tensor_boost_hz:", "clocks.sm_base_hz: seen value null with basis vendor"),
        ("  tensor_boost_hz:", "  sm_base_hz: 9.0e+8\n  tensor_boost_hz:", "clocks.sm_base_hz: seen 900000000.0 (a number), expected a fact"),
    ],
)  # fmt: skip
def test_problem_names_key_and_expectation(tmp_path: Path, old: str, new: str, expected: str) -> None:
    assert old in GOOD
    problems = complaint(tmp_path, GOOD.replace(old, new, 1))
    assert any(expected in problem for problem in problems), problems


def test_all_problems_are_listed_in_the_order_of_the_file(tmp_path: Path) -> None:
    text = GOOD.replace('"9.0"', "9.0").replace("value: 1.5e+9", "value: 1e9").replace("chip:", "chips:")
    problems = complaint(tmp_path, text)
    assert [problem.split(":")[0] for problem in problems] == [
        "chip",
        "line 6, chips",
        "line 8, compute_capability",
        "line 30, memory.clock_hz.value",
    ]


def test_newer_schema_says_upgrade(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="schema: seen 2, this roofctl knows 1") as caught:
        tiny(tmp_path, GOOD.replace("schema: 1", "schema: 2").replace("chip:", "renamed:"))
    assert "upgrade" in caught.value.hint


@pytest.mark.parametrize(
    ("text", "pattern"),
    [
        ("schema: 1\nname: [a, b\nx: 1\n", r"tiny\.yaml, line 3, column \d+: not valid YAML"),
        ("a: 1\n\tb: 2\n", r"line 2, column 1: not valid YAML"),
        ("a: 0132\n", r"line 1, column 4: not valid YAML: 0132 is no plain decimal number"),
        ("a: 1:30\n", r"1:30 is no plain decimal number"),
        ("a: [1_000, 0x10]\n", r"1_000 is no plain decimal number"),
        ("a: &x 1\nb: *x\n", r"line 1, column \d+: not valid YAML: references"),
        ("a: &x [*x]\n", r"not valid YAML: references"),
        ("a: 1\n---\nb: 2\n", r"not valid YAML"),
        ("a: !!python/name:os.system x\n", r"line 1, column 4: not valid YAML"),
        ("a: 2024-13-45\n", r"a value cannot be read"),
        ("", r"seen null at the top, expected a mapping"),
        ("- 1\n- 2\n", r"seen \[1, 2\] \(a list\) at the top"),
    ],
)
def test_broken_yaml_says_where(tmp_path: Path, text: str, pattern: str) -> None:
    path = tmp_path / "tiny.yaml"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(InputError, match=pattern):
        load_profile(path)


def test_files_that_are_not_text(tmp_path: Path) -> None:
    binary = tmp_path / "tiny.yaml"
    binary.write_bytes(b"name: \xff\xfe")
    with pytest.raises(InputError, match="not a text file in UTF-8"):
        load_profile(binary)
    with pytest.raises(InputError, match="cannot be read: No such file"):
        load_profile(tmp_path / "none.yaml")
    with pytest.raises(InputError, match="cannot be read: Is a directory"):
        load_profile(tmp_path)


# --- what is found


@pytest.mark.parametrize(
    ("given", "name", "how"),
    [
        ("h200", "h200", "name h200"),
        ("H200", "h200", "name h200"),
        ("a100", "a100-sxm4-40gb", "alias a100 -> a100-sxm4-40gb"),
        ("A100_80GB", "a100-sxm4-80gb", "alias a100-80gb -> a100-sxm4-80gb"),
        ("h100", "h100-sxm", "alias h100 -> h100-sxm"),
        ("gh200", "gh200-96gb", "alias gh200 -> gh200-96gb"),
        ("RTX 4090", "rtx4090", "alias rtx-4090 -> rtx4090"),
        ("v100-sxm2", "v100", "alias v100-sxm2 -> v100"),
        ("h200-sxm-141gb", "h200", "alias h200-sxm-141gb -> h200"),
    ],
)
def test_names_and_aliases(given: str, name: str, how: str) -> None:
    found = find_profile(given)
    assert (found.profile.name, found.how, found.layer) == (name, how, "packaged")


def test_layers_in_order(local: Path, user: Path) -> None:
    mine = write(user, "h200")
    assert find_profile("h200").layer == "user"
    assert find_profile("h200").path == mine
    nearer = write(local, "h200")
    assert (find_profile("h200").layer, find_profile("h200").path) == ("./profiles", nearer)
    found = find_profile("profiles/h200.yaml")
    assert (found.layer, found.how) == ("path", "path profiles/h200.yaml")


def test_alias_of_a_nearer_layer_beats_a_shipped_name(local: Path) -> None:
    write(local, "mine", GOOD.replace("small", "h200"))
    assert find_profile("h200").how == "alias h200 -> mine"


def test_cwd_argument(tmp_path: Path) -> None:
    folder = tmp_path / "elsewhere" / "profiles"
    folder.mkdir(parents=True)
    write(folder, "tiny")
    assert find_profile("tiny", cwd=tmp_path / "elsewhere").layer == "./profiles"
    assert find_profile("profiles/tiny.yaml", cwd=tmp_path / "elsewhere").layer == "path"
    with pytest.raises(InputError):
        find_profile("tiny")


def test_a_checkout_has_one_layer_for_its_own_folder() -> None:
    assert find_profile("h200", cwd=shipped("profiles").parent).layer == "packaged"


def test_unknown_name_lists_near_ones(local: Path) -> None:
    (local / "broken.yaml").write_text("name: [", encoding="utf-8")
    with pytest.raises(InputError, match=r"no GPU profile named 'h210'; near: .*h200") as caught:
        find_profile("h210")
    assert "roofctl gpus list" in caught.value.hint
    assert "broken.yaml" in str(caught.value)


def test_missing_path_and_measured_file_as_profile(local: Path) -> None:
    with pytest.raises(InputError, match=r"no GPU profile at none\.yaml"):
        find_profile("none.yaml")
    (local / "h200.measured.yaml").write_text(MEASURED, encoding="utf-8")
    with pytest.raises(InputError, match="a measured result, not a GPU profile"):
        find_profile("profiles/h200.measured.yaml")
    assert profile_files(local) == ()
    assert [path.name for path in measured_files(local)] == ["h200.measured.yaml"]


def test_broken_neighbour_does_not_stop_a_lookup_but_a_broken_hit_does(local: Path) -> None:
    write(local, "broken", GOOD.replace("chip:", "chips:"))
    write(local, "tiny")
    assert find_profile("small").profile.name == "tiny"
    with pytest.raises(InputError, match="chips: unknown key"):
        find_profile("broken")
    assert [path.name for path, _ in profile_index().broken] == ["broken.yaml"]


def test_one_alias_in_two_files_of_a_layer_is_an_error(local: Path) -> None:
    write(local, "one")
    write(local, "two")
    with pytest.raises(InputError, match=r"alias small belongs to .*one\.yaml and .*two\.yaml"):
        find_profile("small")
    assert list(alias_clashes(profile_files(local))) == [
        "the name small belongs to one.yaml and two.yaml",
        "the name tiny-gpu belongs to one.yaml and two.yaml",
    ]


def test_all_profiles_shows_a_name_once(local: Path) -> None:
    write(local, "h200")
    found = [found for found in all_profiles() if found.profile.name == "h200"]
    assert [item.layer for item in found] == ["./profiles"]


@pytest.mark.parametrize("name", ["", "../x", "a/b", "-x", "x.measured", "ü"])
def test_names_that_cannot_be_files(name: str) -> None:
    with pytest.raises(InputError, match="cannot be the name"):
        checked_name(name)


def test_checked_name_is_canonical() -> None:
    assert checked_name("My H200.yaml") == "my-h200"


# --- devices


@pytest.mark.parametrize(
    ("device", "name"),
    [
        ("NVIDIA H200", "h200"),
        ("nvidia h200", "h200"),
        ("H200", "h200"),
        ("Tesla V100S-PCIE-32GB (0)", "v100s"),
        ("V100S-PCIE-32GB", "v100s"),
        ("NVIDIA A100-SXM4-40GB", "a100-sxm4-40gb"),
        ("A100-SXM4-40GB (1)", "a100-sxm4-40gb"),
        ("Tesla V100-SXM2-16GB (12)", "v100"),
        ("NVIDIA Tesla V100-SXM2-32GB", "v100"),
        ("GeForce RTX 3090", "rtx3090"),
        ("NVIDIA H100 80GB HBM3", "h100-sxm"),
        ("NVIDIA GH200 480GB", "gh200-96gb"),
    ],
)
def test_device_names(device: str, name: str) -> None:
    profiles, reason = match_device(device)
    assert [profile.name for profile in profiles] == [name]
    assert device in reason


def test_unknown_device_gives_candidates_of_its_compute_capability() -> None:
    profiles, reason = match_device("NVIDIA H900", "9.0")
    hopper = {"h100-pcie", "h100-sxm", "h100-nvl", "h800", "h20", "h200", "gh200-96gb", "gh200-144gb"}
    assert {profile.name for profile in profiles} == hopper
    assert "compute capability 9.0" in reason
    profiles, reason = match_device("NVIDIA H900", "9.0", 114)
    assert [profile.name for profile in profiles] == ["h100-pcie"]
    assert "114 SMs" in reason
    assert len(match_device("NVIDIA H900", "9.0", 77)[0]) == len(hopper), "no SM count fits: all candidates stay"


def test_device_that_nothing_fits() -> None:
    assert match_device("Strange GPU")[0] == []
    profiles, reason = match_device("Strange GPU", "3.5")
    assert profiles == []
    assert "3.5" in reason


def test_device_with_fewer_sms_than_its_profile_is_noted() -> None:
    profiles, reason = match_device("NVIDIA H200", "9.0", 16)
    assert [profile.name for profile in profiles] == ["h200"]
    assert "although the device has 16 SMs and the GPU profile 132" in reason


def test_own_profile_for_a_device_comes_first(local: Path) -> None:
    write(local, "my-h200", GOOD.replace("NVIDIA Tiny", "NVIDIA H200"))
    assert [profile.name for profile in match_device("NVIDIA H200")[0]] == ["my-h200", "h200"]


# --- ceilings


def test_origins_are_short_and_clocks_are_stated() -> None:
    roofline = theoretical_roofline(find_profile("h100-pcie").profile)
    assert (roofline.gpu, roofline.basis) == ("h100-pcie", "theoretical")
    assert roofline.peak.origin == "114 SMs x 4 at 1.755 GHz"
    assert roofline.bandwidth("l1").clock.domain == "sm"
    assert roofline.bandwidth("hbm").origin == "pin rate"
    assert roofline.bandwidth("hbm").clock.domain == "memory"
    assert L2_CLOCK_UNKNOWN in roofline.bandwidth("l2").origin
    assert roofline.absent == {}


@pytest.mark.parametrize("name", ["h200", "a100", "t4"])
def test_another_sm_clock_scales_only_the_sm_domain(name: str) -> None:
    profile = find_profile(name).profile
    clock = Clock(1.2e9, "sm", "captured")
    direct, scaled = theoretical_roofline(profile, clock), theoretical_roofline(profile).at_clock(clock)
    assert direct.peak.per_second == pytest.approx(scaled.peak.per_second)
    assert "at 1.2 GHz" in direct.peak.origin
    for level in ("l1", "l2", "hbm"):
        ours, theirs = direct.bandwidth(level), scaled.bandwidth(level)
        assert (ours is None) == (theirs is None)
        if ours and theirs:
            assert ours.bytes_per_second == pytest.approx(theirs.bytes_per_second)
    assert direct.bandwidth("hbm") == theoretical_roofline(profile).bandwidth("hbm")
    assert direct.bandwidth("l2") == theoretical_roofline(profile).bandwidth("l2")


def test_unknown_levels_are_absent_with_a_reason(tmp_path: Path) -> None:
    assert theoretical_roofline(find_profile("t4").profile).absent == {
        "l2": "bytes per clock of the L2 are not known (not published)"
    }
    unknown = "{value: null, basis: unknown}"
    text = GOOD.replace("clock_hz: {value: 1.5e+9, basis: vendor, source: sheet}", f"clock_hz: {unknown}")
    sheet_only = theoretical_roofline(tiny(tmp_path, text))
    assert sheet_only.bandwidth("hbm").bytes_per_second == 4e11
    assert (sheet_only.bandwidth("hbm").origin, sheet_only.bandwidth("hbm").clock) == ("data sheet", None)
    text = text.replace("{value: 4.0e+11, basis: vendor, source: sheet}", unknown)
    text = text.replace("{value: 128, basis: vendor, source: sheet}", unknown)
    nothing = theoretical_roofline(tiny(tmp_path, text))
    assert nothing.bandwidth("hbm") is None
    assert set(nothing.absent) == {"l1", "hbm"}
    assert tiny(tmp_path, text).pin_bytes_per_second is None


def test_own_l2_clock_without_even_slices(tmp_path: Path) -> None:
    own = "  l2_hz: {value: 2.0e+9, basis: driver, source: sheet}\nl1:"
    text = GOOD.replace("l1:", own, 1).replace("slices: {value: 8", "slices: {value: 7")
    assert theoretical_roofline(tiny(tmp_path, text)).bandwidth("l2").origin == "512 B/clk at 2 GHz"


# --- measured results


def measured_text(old: str = "", new: str = "") -> str:
    return MEASURED.replace(old, new, 1) if old else MEASURED


def test_measured_roofline(local: Path) -> None:
    write(local, "tiny")
    (local / "tiny.measured.yaml").write_text(MEASURED, encoding="utf-8")
    found = find_profile("tiny")
    measured = find_measured(found)
    assert isinstance(measured, Measured)
    roofline = measured_roofline(found.profile, measured)
    assert roofline.basis == "measured"
    assert roofline.peak.per_second == 3.9e10
    assert roofline.peak.clock == Clock(9.9e8, "sm", "while measured")
    assert roofline.bandwidth("hbm").bytes_per_second == 3.5e11
    assert roofline.bandwidth("hbm").clock.domain == "memory"
    assert roofline.bandwidth("hbm").origin == "triad, 2 reads and 1 write"
    assert roofline.bandwidth("l1").clock.domain == "sm"
    assert roofline.absent == {"l2": "L2 was not measured on this GPU"}
    assert measured.ceilings["hbm"].mixes == {"read": 3.7e11}


LAUNCH = """\
  launch: {value: 2.1e-6, unit: s, best: 2.0e-6, p5: 2.05e-6, p95: 2.2e-6, samples: 20, sm_clock_hz: 1.0e+9,
           method: "stream: launches 512", mixes: {stream: 2.1e-6, graph: 1.3e-6}}
provenance:"""


def test_the_time_of_a_launch_is_measured_or_not_known(tmp_path: Path) -> None:
    path = tmp_path / "tiny.measured.yaml"
    path.write_text(MEASURED, encoding="utf-8")
    assert launch_seconds(None) is None
    assert launch_seconds(load_measured(path)) is None, "a file from before it was measured stays valid"
    path.write_text(measured_text("provenance:", LAUNCH), encoding="utf-8")
    measured = load_measured(path)
    assert launch_seconds(measured) == 2.1e-6
    roofline = measured_roofline(tiny(tmp_path), measured)
    assert [bandwidth.level for bandwidth in roofline.bandwidths] == ["l1", "hbm"], "a time is no rate"


def test_a_time_is_a_launch_and_a_launch_is_a_time(tmp_path: Path) -> None:
    path = tmp_path / "tiny.measured.yaml"
    path.write_text(measured_text("provenance:", LAUNCH.replace("unit: s", "unit: B/s")), encoding="utf-8")
    assert any("seen launch in B/s; expected s" in problem for problem in file_problems(path))
    path.write_text(measured_text("provenance:", LAUNCH.replace("  launch:", "  fp32:")), encoding="utf-8")
    assert any("seen fp32 in s; expected a rate, only launch is a time" in problem for problem in file_problems(path))


def test_board_memory_has_the_label_of_its_kind() -> None:
    labels = {found.profile.memory.type.value: found.profile.memory_label for found in all_profiles()}
    assert {kind for kind, label in labels.items() if label == "HBM"} == {"HBM2", "HBM2e", "HBM3", "HBM3e"}
    assert {kind for kind, label in labels.items() if label == "DRAM"} == {
        "GDDR5X",
        "GDDR6",
        "GDDR6X",
        "GDDR7",
        "LPDDR5",
        "LPDDR5X",
    }


def test_board_memory_of_unknown_kind_is_dram(tmp_path: Path) -> None:
    profile = tiny(tmp_path)
    unknown = profile.memory.type.model_copy(update={"value": None, "basis": "unknown"})
    memory = profile.memory.model_copy(update={"type": unknown})
    assert profile.memory_label == "HBM"
    assert profile.model_copy(update={"memory": memory}).memory_label == "DRAM"


def test_measured_without_issue_rate_keeps_the_theoretical_peak(local: Path) -> None:
    measured = yaml.safe_load(MEASURED)
    del measured["ceilings"]["issue"]
    path = local / "tiny.measured.yaml"
    path.write_text(yaml.safe_dump(measured), encoding="utf-8")
    roofline = measured_roofline(tiny(local), load_measured(path))
    assert roofline.peak.basis == "theoretical"
    assert "issue" in roofline.absent


def test_the_h200_is_shipped_with_a_measurement_and_others_without() -> None:
    measured = find_measured(find_profile("h200"))
    assert measured is not None
    assert measured.gpu_name == "NVIDIA H200"
    assert find_measured(find_profile("h100-sxm")) is None


def test_user_result_goes_before_one_beside_the_profile_only_for_shipped_ones(local: Path, user: Path) -> None:
    write(local, "tiny")
    (user / "tiny.measured.yaml").write_text(measured_text("NVIDIA Tiny", "user's"), encoding="utf-8")
    assert find_measured(find_profile("tiny")).gpu_name == "user's"
    (local / "tiny.measured.yaml").write_text(measured_text("NVIDIA Tiny", "local"), encoding="utf-8")
    assert find_measured(find_profile("tiny")).gpu_name == "local"
    (user / "h200.measured.yaml").write_text(measured_text("profile: tiny", "profile: h200"), encoding="utf-8")
    assert find_measured(find_profile("h200")).profile == "h200"


def test_measured_of_another_profile_is_refused(local: Path) -> None:
    write(local, "tiny")
    (local / "tiny.measured.yaml").write_text(measured_text("profile: tiny", "profile: h200"), encoding="utf-8")
    with pytest.raises(InputError, match="holds results of h200, not of tiny"):
        find_measured(find_profile("tiny"))


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ("value: 3.5e+11", "value: 350e9", "ceilings.hbm.value: seen '350e9' (a text), expected a number: YAML takes 350e9 for text, write 3.5e+11"),
        ("unit: B/s", "unit: GB/s", "ceilings.hbm.unit: seen 'GB/s' (a text), expected 'B/s', 'warp_inst/s', 'FLOP/s' or 's'"),
        ("unit: warp_inst/s", "unit: FLOP/s", "ceilings: seen issue in FLOP/s; expected warp_inst/s"),
        ("p5: 3.4e+11", "p5: 3.9e+11", "ceilings.hbm: seen p5 3.9e+11 above p95 3.55e+11"),
        ("samples: 20", "samples: 0", "ceilings.hbm.samples: seen 0 (a whole number), expected a number above 0"),
        ('"2026-01-31T12:00:00Z"', "yesterday", "measured_at: seen 'yesterday'; expected a time in ISO form"),
        ('"2026-01-31T12:00:00Z"', "2026-01-31", "measured_at: seen datetime.date(2026, 1, 31) (date), expected a text (put it in quotes)"),
        ("provenance:", "source:", "source: unknown key"),
        ("schema: 1", "schema: 7", "schema: seen 7, this roofctl knows 1"),
    ],
)  # fmt: skip
def test_measured_problems(tmp_path: Path, old: str, new: str, expected: str) -> None:
    path = tmp_path / "tiny.measured.yaml"
    path.write_text(measured_text(old, new), encoding="utf-8")
    assert any(expected in problem for problem in file_problems(path)), file_problems(path)
    with pytest.raises(InputError):
        load_measured(path)


# --- writing


@pytest.mark.parametrize(
    ("value", "text"),
    [(132, "132"), (4.8e12, "4.8e+12"), (9e11, "9.0e+11"), (1.0501e10, "1.0501e+10"), (1e-3, "1.0e-3"), (0.1, "1.0e-1"), (1e22, "1.0e+22"), (4814304000000.0, "4.814304e+12")],
)  # fmt: skip
def test_numbers_are_written_as_yaml_reads_them(value: float, text: str) -> None:
    assert yaml_number(value) == text
    assert yaml.safe_load(text) == value
    assert type(yaml.safe_load(text)) is type(value)


@pytest.mark.parametrize("value", [1 / 3, 1.1e9 / 7, 123456789.123456789, 2.0**0.5 * 1e12])
def test_odd_numbers_survive_writing(value: float) -> None:
    assert yaml.safe_load(yaml_number(value)) == value


@pytest.mark.parametrize("path", SHIPPED, ids=lambda path: path.stem)
def test_shipped_profile_survives_writing(path: Path, tmp_path: Path) -> None:
    profile = load_profile(path)
    copy = tmp_path / path.name
    copy.write_text(render(as_data(profile), {}), encoding="utf-8")
    assert load_profile(copy) == profile


def test_copy_keeps_facts_and_drops_names(tmp_path: Path) -> None:
    original = find_profile("h200").profile
    path = tmp_path / "mine.yaml"
    path.write_text(copy_as("mine", original), encoding="utf-8")
    copy = load_profile(path)
    assert (copy.name, copy.aliases, copy.nvml_names.value) == ("mine", (), None)
    assert copy.memory == original.memory
    assert copy.notes == original.notes


def test_skeleton_asks_for_what_must_be_known_and_for_nothing_else(tmp_path: Path) -> None:
    path = tmp_path / "new-gpu.yaml"
    path.write_text(skeleton("new-gpu"), encoding="utf-8")
    keys = [re.sub(r"^line \d+, ", "", problem).split(":")[0] for problem in file_problems(path)]
    assert keys == ["chip", "die", "compute_capability", "sm_count.value", "clocks.sm_boost_hz.value"]


def test_texts_are_quoted_where_yaml_would_misread_them() -> None:
    data = {
        "name": "x",
        "list": ["yes", "no: way", "1.0", "null", "plain", "it's", 'a "quote"', "ü"],
        "sources": {"a: b": "c"},
    }
    assert yaml.safe_load(render(data, {"name": "why"})) == {"schema": 1, **data}

"""Write a GPU profile as YAML that people fill in: a fact a line, explained, with numbers that PyYAML reads as such."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

import yaml

from roofctl.core.precisions import PRECISIONS
from roofctl.gpus.schema import FACT_BASES, SCHEMA_VERSION, GpuProfile
from roofctl.gpus.spelling import yaml_number

_INTRO: Final = f"""\
A GPU profile: the facts that theoretical ceilings are computed from.
Check it with: roofctl gpus validate FILE

A fact is {{value: ..., basis: ..., source: ...}}, with an optional note.
  basis   {" | ".join(FACT_BASES)}
          vendor: in a document of the vendor. driver: read from the driver or its counters on a real card.
          derived: computed from other facts. memory: written from memory, to be confirmed.
          unknown: nobody knows; then the value is null, and only then.
  source  a key of "sources" below, where the document's title stands.

Units are SI and stand in the names: Hz, bytes, bytes per second, FLOP per second (an FMA is 2), dense.

Traps of YAML:
  4.8e+12 is a number; 4800e9 and 4.8e12 are texts. Write a point and a signed exponent.
  Quote the compute capability: "10.0". Unquoted it is a number and loses its last 0.
  Whole numbers take no point: 132, not 132.0. No thousands separators."""

COMMENTS: Final[Mapping[str, str]] = {
    "": _INTRO,
    "name": "The file's name without .yaml.",
    "aliases": "Other names for --profile, lower case: [h200-sxm]. One alias belongs to one profile.",
    "nvml_names": "Names as nvidia-smi -L prints them; captures find their profile by these.",
    "chip": "The chip's family as ncu names it (ncu --list-chips), and the exact die.",
    "compute_capability": "Quoted: nvidia-smi --query-gpu=compute_cap --format=csv",
    "sources": "Key: title of the document, as precise as you have it.",
    "sm_count": "Must be known: peak = SMs x schedulers x boost clock. Schedulers are 4 since Volta.",
    "clocks": "sm_boost_hz must be known (nvidia-smi -q -d CLOCK, Max Clocks, SM). sm_base_hz (may be left out) is\n"
    "the clock under ncu --clock-control base: sm__cycles_elapsed.avg.per_second of a long kernel.\n"
    "tensor_boost_hz is the clock that the data sheet's tensor peaks assume.\n"
    "l2_hz (may be left out): lts__cycles_elapsed.avg.per_second.",
    "l1": "L1 and shared memory together; 128 B per clock and SM on most chips, 64 on Turing.",
    "l2": "bytes_per_clock = slices x 64 B as a rule; unknown unless it is published or was read with counters.",
    "memory": "Pin rate = 2 x clock_hz x bus_bits / 8. Take both from the driver where you can.",
    "flops_per_clock_per_sm": "Whole numbers per SM and clock, an FMA is 2; leave out what the GPU lacks.\n"
    "Keys: " + ", ".join([*PRECISIONS][:7]) + ",\n" + ", ".join([*PRECISIONS][7:]),
    "datasheet_flops_per_second": "As printed on the data sheet, without sparsity (half of a sparse figure).",
    "notes": "Sentences for people.",
}

_PLAIN_WORD: Final = re.compile(r"^[A-Za-z][A-Za-z0-9_-]*$")


def skeleton(name: str) -> str:
    """An empty GPU profile: what must be known fails validation, the rest may stay unknown."""
    unknown = {"value": None, "basis": "unknown", "source": None}
    data: dict[str, Any] = {
        "name": name,
        "aliases": [],
        "description": f"GPU {name}",
        "nvml_names": unknown,
        "chip": None,
        "die": None,
        "compute_capability": None,
        "sources": {"datasheet": "title of the data sheet, with its date"},
        "sm_count": unknown,
        "schedulers_per_sm": {"value": 4, "basis": "memory", "source": "datasheet"},
        "clocks": {"sm_boost_hz": unknown, "sm_base_hz": unknown, "tensor_boost_hz": unknown},
        "l1": {"bytes_per_sm": unknown, "bytes_per_clock_per_sm": unknown},
        "shared": {"max_bytes_per_sm": unknown, "bytes_per_clock_per_sm": unknown},
        "l2": {"bytes": unknown, "partitions": unknown, "slices": unknown, "bytes_per_clock": unknown},
        "memory": {
            "type": unknown,
            "bus_bits": unknown,
            "clock_hz": unknown,
            "datasheet_bytes_per_second": unknown,
        },
        "flops_per_clock_per_sm": {"fp64": unknown, "fp32": unknown},
        "datasheet_flops_per_second": {},
        "notes": [],
    }
    return render(data, COMMENTS)


def copy_as(name: str, profile: GpuProfile) -> str:
    """The facts of ``profile`` under another name, without the names that must stay unique."""
    data = as_data(profile) | {
        "name": name,
        "aliases": [],
        "description": f"{profile.description}, changed",
        "nvml_names": {"value": None, "basis": "unknown", "source": None},
    }
    return render(data, COMMENTS)


def written(profile: GpuProfile) -> str:
    """A profile as the text of its file, every key explained."""
    return render(as_data(profile), COMMENTS)


def as_data(profile: GpuProfile) -> dict[str, Any]:
    """The profile as plain data, in the order of the file."""
    return profile.model_dump(mode="json", exclude_unset=True)


def render(data: Mapping[str, Any], comments: Mapping[str, str]) -> str:
    """``data`` as YAML text, with ``comments`` (dotted key -> text; "" for the top) above their keys."""
    lines = [*_comment(comments.get(""), ""), f"schema: {SCHEMA_VERSION}"]
    after_block = False
    for key, value in data.items():
        is_block = isinstance(value, dict) and not _is_fact(value)
        if key in comments or is_block or after_block:
            lines.append("")
        lines += [*_comment(comments.get(key), ""), *_entry(key, value, "")]
        after_block = is_block
    return "\n".join(lines) + "\n"


def _comment(text: str | None, indent: str) -> Iterator[str]:
    for line in text.splitlines() if text else ():
        yield f"{indent}# {line}".rstrip()


def _is_fact(value: Mapping[str, Any]) -> bool:
    return "basis" in value


def _entry(key: str, value: Any, indent: str) -> Iterator[str]:
    if isinstance(value, dict) and value and not _is_fact(value):
        yield f"{indent}{_scalar(key)}:"
        for inner_key, inner in value.items():
            yield from _entry(inner_key, inner, indent + "  ")
    elif key == "notes" and value:
        yield f"{indent}{key}:"
        yield from (f"{indent}  - {_scalar(item)}" for item in value)
    else:
        yield f"{indent}{_scalar(key)}: {_flow(value)}"


def _flow(value: Any) -> str:
    if isinstance(value, dict):
        return "{" + ", ".join(f"{key}: {_flow(inner)}" for key, inner in value.items()) + "}"
    if isinstance(value, list | tuple):
        return "[" + ", ".join(_flow(item) for item in value) + "]"
    return _scalar(value)


def _scalar(value: Any) -> str:
    if value is None:
        return "null"
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, int | float):
        return yaml_number(value)
    # A JSON text is a YAML text; a plain text stays plain where YAML reads it as one.
    if _PLAIN_WORD.match(value) and yaml.safe_load(value) == value:
        return str(value)
    return json.dumps(value, ensure_ascii=False)

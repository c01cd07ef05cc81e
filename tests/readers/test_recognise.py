"""Which files are a profiler's, whatever their names."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from roofctl.readers.recognise import kind_of

from support.shapes import FULL, L, ncu_details, ncu_raw, nvprof_metrics

RAW = ncu_raw((L("k(int)", FULL),)).encode()
NSYS = b"Time (%),Total Time (ns),Instances,Avg (ns),Name\n100,5,1,5,k\n"
KINDS: dict[str, tuple[bytes, str]] = {
    "raw page": (RAW, "table"),
    "UTF-16": (RAW.decode().encode("utf-16"), "table"),
    "gzip": (gzip.compress(RAW), "table"),
    "details page under banners": (b"==PROF== Connected\n" + ncu_details([L("k(int)", FULL)]).encode(), "table"),
    "nvprof": (nvprof_metrics({"inst_executed": 1}).encode(), "table"),
    "nsys": (b"\nProcessing [x.sqlite] with [cuda_gpu_kern_sum.py]...\n" + NSYS, "table"),
    "database": (b"SQLite format 3\0", "table"),
    "report": (b"NVR\0\0\0\0\0", "report"),
    "packed report": (gzip.compress(b"NVR\0\0\0\0\0"), "report"),
    "notes that quote a table": (b"# Notes\n\n" + RAW, ""),
    "other table": (b"name,value\nk,1\n", ""),
    "nothing": (b"", ""),
    "damaged": (b"\x1f\x8b\x08\x00", ""),
    "program": (b"\x7fELF\0\0", ""),
}


@pytest.mark.parametrize("case", KINDS)
def test_the_content_decides(case: str, tmp_path: Path) -> None:
    content, kind = KINDS[case]
    (tmp_path / "x").write_bytes(content)
    assert kind_of(tmp_path / "x") == kind


def test_what_cannot_be_read_is_none(tmp_path: Path) -> None:
    assert kind_of(tmp_path / "nosuch") == ""

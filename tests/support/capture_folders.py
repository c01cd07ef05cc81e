"""Capture folders made up for tests."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from support.shapes import FULL, L, ncu_raw

BARE = {name: value for name, value in FULL.items() if not name.startswith("device__")}


MANIFEST: dict[str, Any] = {
    "schema": 1,
    "argv": ["./app"],
    "cwd": "/home/user",
    "profiler": "ncu",
    "profiler_version": "2025.3.1",
    "profiler_path": "/usr/bin/ncu",
    "metric_sets": ["instruction"],
    "counters": [],
    "host": "node7",
    "started": "2026-11-29T10:00:00+00:00",
    "ended": "2026-11-29T10:00:05+00:00",
    "data": ["capture.csv"],
    "commands": [],
}


def capture(root: Path, name: str, *launches: L, **facts: Any) -> Path:
    folder = root / "roofctl-captures" / name
    folder.mkdir(parents=True)
    given = launches or (L("k(int)", BARE, cc=""),)
    (folder / "capture.csv").write_text(ncu_raw(given), encoding="utf-8")
    (folder / "capture.json").write_text(json.dumps({**MANIFEST, **facts}), encoding="utf-8")
    return folder

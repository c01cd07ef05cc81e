"""Memory walls: where accesses of known pattern stand, and what is flagged instead of drawn."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from roofctl.cli.main import main
from roofctl.core.errors import InputError
from roofctl.core.notes import Note
from roofctl.plots.style import KernelStyle, PlotOptions
from roofctl.plots.walls import walls
from roofctl.roofline.analyse import analyse
from roofctl.roofline.model import GLOBAL_WALLS, SHARED_WALLS, Bandwidth, KernelPoints, Peak, Point, Roofline
from roofctl.roofline.walls import wall_points

from support.shapes import FULL, L, ncu_raw, parts, write
from support.tables import kernels as table_of

DATA = Path(__file__).parent.parent / "data" / "captures-h200" / "known"
REQUESTS = "l1tex__t_requests_pipe_lsu_mem_global_op_{}.sum"
SECTORS = "l1tex__t_sectors_pipe_lsu_mem_global_op_{}.sum"
SHARED = "smsp__inst_executed_op_shared_{}_pred_on_any.sum"
PLAIN_SHARED = "smsp__inst_executed_op_shared_{}.sum"
EXACT = "smsp__sass_l1tex_data_pipe_lsu_wavefronts_mem_shared_op_{}.sum"
ROOF = Roofline(
    "toy",
    Peak(1000e9, "theoretical"),
    (Bandwidth("l1", 32e12, "theoretical"),),
    shared=Bandwidth("shared", 32e12, "theoretical"),
)


def found(
    counters: dict[str, object], spaces: tuple[str, ...] = ("global", "shared")
) -> tuple[dict[str, Point], list[Note]]:
    text = ncu_raw([L("k(int)", {**FULL, **counters})])
    results = analyse(table_of(parts(text), "kernel", "gh100"), None)
    (kernel,), notes = wall_points(results.kernels, spaces)  # type: ignore[arg-type]
    return {point.level: point for point in kernel.points}, notes


def test_loads_and_stores_stand_apart() -> None:
    points, _ = found(
        {
            REQUESTS.format("ld"): 1_000,
            SECTORS.format("ld"): 4_000,
            REQUESTS.format("st"): 1_000,
            SECTORS.format("st"): 32_000,
        }
    )
    assert points["global load"].intensity == 1 / 4
    assert points["global store"].intensity == 1 / 32
    assert points["global load"].per_second == pytest.approx(1_000 / 100e-6)


def test_shared_counts_exact_wavefronts_of_warps_with_a_lane_on() -> None:
    points, _ = found({SHARED.format("ld"): 100, PLAIN_SHARED.format("ld"): 4_000, EXACT.format("ld"): 3_200})
    assert points["shared load"].intensity == 1 / 32
    assert points["shared load"].caveat == ""


def test_an_intensity_above_the_possible_is_flagged_and_not_drawn() -> None:
    # 4,000 instructions, 1,000 of them with every lane off, move 3,000 wavefronts.
    points, notes = found({PLAIN_SHARED.format("ld"): 4_000, EXACT.format("ld"): 3_000})
    assert "shared load" not in points
    (warning,) = [note.text for note in notes if note.warning]
    assert "shared load: not drawn: 1.33 instructions per transaction, above the possible 1" in warning
    assert "warps whose lanes were all predicated off" in warning


def test_no_other_cause_is_named_than_the_one_that_can_be() -> None:
    _, notes = found({SHARED.format("ld"): 4_000, EXACT.format("ld"): 3_000})
    (warning,) = [note.text for note in notes if note.warning]
    assert warning.endswith("above the possible 1: the counters do not belong together (k)")


def test_hardware_wavefronts_make_the_point_hollow() -> None:
    points, notes = found({SHARED.format("ld"): 500})
    assert points["shared load"].caveat == "the counts are not exact"
    assert any("1-7 % above the true value" in note.text for note in notes)


def test_what_is_missing_names_its_metric_set() -> None:
    points, notes = found({}, ("global",))
    assert points == {}
    assert any("the metric set requests brings it (roofctl profile --set requests)" in note.text for note in notes)


def test_no_access_is_no_point_and_the_reason_is_on_the_picture() -> None:
    none = {name.format(op): 0 for name in (REQUESTS, SECTORS) for op in ("ld", "st")}
    points, notes = found(none, ("global",))
    assert points == {}
    assert notes == []
    figure = drawn(Point("shared load", 1.0, 1.0, 1e9, work="shared"), missing={"global load": "no such access"})
    assert "no global point: no such access" in [text.get_text() for text in figure.texts]


def test_bulk_copies_are_distinguished_from_no_access() -> None:
    data = DATA.parent / "gemms"
    from roofctl.roofline.analyse import Selection
    from roofctl.study.analyse import AnalysisRequest, analyse_inputs

    analysis = analyse_inputs(AnalysisRequest(inputs=(data,), selection=Selection(kernel="nvjet_sm90_hsh")))
    (kernel,), _ = wall_points(analysis.results.kernels, ("global",))
    assert set(kernel.missing.values()) == {"no request at L1: bulk copies (TMA) pass it by"}


@pytest.mark.parametrize(
    ("kernel", "expected"),
    [
        ("known_triad", {"global load": 1 / 4, "global store": 1 / 4}),
        ("known_copy", {"global load": 1 / 4, "global store": 1 / 4}),
        ("known_strided_1", {"global load": 1 / 4}),
        ("known_strided_8", {"global load": 1 / 32}),
        ("known_strided_32", {"global load": 1 / 32}),
        ("known_transpose_naive", {"global load": 1 / 4, "global store": 1 / 32}),
        ("known_transpose_conflicted", {"global load": 1 / 4, "global store": 1 / 4, "shared load": 1 / 32, "shared store": 1}),
        ("known_transpose_padded", {"global load": 1 / 4, "global store": 1 / 4, "shared load": 1, "shared store": 1}),
    ],
)  # fmt: skip
def test_known_patterns_stand_on_their_walls_on_an_h200(kernel: str, expected: dict[str, float]) -> None:
    from roofctl.roofline.analyse import Selection
    from roofctl.study.analyse import AnalysisRequest, analyse_inputs

    analysis = analyse_inputs(AnalysisRequest(inputs=(DATA,), selection=Selection(kernel=f"^{kernel}$")))
    (points,), _ = wall_points(analysis.results.kernels, ("global", "shared"))
    assert {p.level: p.intensity for p in points.points} == pytest.approx(expected)


# --- the picture ------------------------------------------------------------------------------------------------------


def drawn(*points: Point, **options: Any) -> Any:
    kernel = KernelPoints("k", "k", points, missing=options.get("missing", {}))
    return walls([ROOF], [kernel], options.get("spaces", ("global", "shared")), options.get("style", PlotOptions()))


def artists(ax: Any, gid: str) -> list[Any]:
    return [line for line in ax.get_lines() if (line.get_gid() or "") == gid]


IN_SHARED = Point("shared load", 1.0, 1.0, 1e9, work="shared")


def test_walls_are_drawn_named_and_valued() -> None:
    figure = drawn(Point("global load", 4.0, 0.25, 1e9, work="global"), IN_SHARED)
    left, right = figure.axes
    assert sorted(line.get_xdata()[0] for line in artists(left, "wall-global")) == sorted(
        w.intensity for w in GLOBAL_WALLS
    )
    assert sorted(line.get_xdata()[0] for line in artists(right, "wall-shared")) == sorted(
        w.intensity for w in SHARED_WALLS
    )
    labels = [t.get_text() for t in left.texts if t.get_gid() == "wall-label"]
    assert any(label.startswith("stride 0") and label.endswith("\n1") for label in labels)
    assert any(label.endswith("\n1/32") and "stride" in label for label in labels)
    assert any(t.get_text() == "32-way\nconflict\n1/32" for t in right.texts)


def test_a_wall_ends_at_the_roof() -> None:
    left, right = drawn(Point("global load", 4.0, 0.25, 1e9, work="global"), IN_SHARED).axes
    tops = {line.get_xdata()[0]: line.get_ydata()[1] for line in artists(left, "wall-global")}
    assert tops[1 / 4] == pytest.approx(250.0)  # 1000 GTXN/s x 1/4
    tops = {line.get_xdata()[0]: line.get_ydata()[1] for line in artists(right, "wall-shared")}
    assert tops[1] == pytest.approx(250.0)  # 32 TB/s in wavefronts of 128 bytes


def test_points_go_to_their_panel() -> None:
    left, right = drawn(
        Point("global load", 4.0, 0.25, 2e9, work="global"), Point("shared store", 1.0, 1.0, 3e9, work="shared")
    ).axes
    (load,) = artists(left, "point-global-load")
    assert (load.get_xdata()[0], load.get_ydata()[0]) == (0.25, 2.0)
    (store,) = artists(right, "point-shared-store")
    assert (store.get_xdata()[0], store.get_ydata()[0]) == (1.0, 3.0)
    assert load.get_marker() != store.get_marker()


def test_a_space_without_a_point_has_a_footnote_instead_of_a_panel() -> None:
    missing = {"shared load": "no such access", "shared store": "no such access"}
    figure = drawn(Point("global load", 4.0, 0.25, 2e9, work="global"), missing=missing)
    assert [ax.get_xlabel() for ax in figure.axes] == ["Global requests per 32-byte sector"]
    assert "no shared point: no such access" in [text.get_text() for text in figure.texts]


def test_nothing_to_draw_names_the_reason() -> None:
    with pytest.raises(InputError, match=r"no kernel has a global memory access to draw \(global load: no time\)"):
        drawn(spaces=("global",), missing={"global load": "no time"})


def test_colour_and_marker_of_a_kernel_are_kept() -> None:
    style = PlotOptions(kernels={"k": KernelStyle(color="red", marker="s")})
    left, _ = drawn(Point("global load", 4.0, 0.25, 2e9, work="global"), IN_SHARED, style=style).axes
    (load,) = artists(left, "point-global-load")
    assert (load.get_markerfacecolor(), load.get_marker()) == ("red", "s")


def test_as_a_user(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    target = tmp_path / "w.svg"
    assert main(["plot", str(DATA), "--walls", "global,shared", "-o", str(target)]) == 0
    svg = target.read_text(encoding="utf-8")
    assert "Global memory at L1" in svg
    assert "Shared memory" in svg
    err = capsys.readouterr().err
    assert err.count("Wrote") == 1
    assert "note: ceilings measured on NVIDIA H200" in err
    assert main(["plot", str(DATA), "--walls", "global", "--profile", "v100", "-o", str(tmp_path / "v.svg")]) == 0
    assert "ceilings and fractions are not this GPU's" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--walls", "texture"], "'texture' is not global or shared"),
        (["--walls", ""], "is not global or shared"),
        (["--walls", "global", "--mode", "time"], "--walls belongs to the instruction model"),
        (["--walls", "global", "--model", "flop"], "--walls belongs to the instruction model"),
        (["--walls", "global", "--level", "l2"], "--walls alone has no levels"),
        (["--walls", "shared", "--mode", "multi"], "--walls shared is a picture of its own"),
        (["--walls", "global", "--spread"], "--spread belongs to rooflines, not to memory walls"),
        (["--walls", "global", "--instructions", "issued"], "--instructions issued belongs to rooflines"),
        (["--mode", "time", "--instructions", "issued"], "--instructions issued belongs to the rooflines of rates"),
        (["--model", "flop", "--instructions", "issued"], "--instructions issued belongs to --model instruction"),
    ],
)
def test_what_does_not_go_together(options: list[str], words: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["plot", str(DATA), *options]) == 2
    assert words in capsys.readouterr().err


def test_a_capture_without_the_counters_says_which_sets_bring_them(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    facts = {**FULL, "device__attribute_display_name": "NVIDIA H200"}
    (path,) = write(tmp_path, a=ncu_raw([L("k(int)", facts)]))
    assert main(["plot", str(path), "--walls", "global", "-o", str(tmp_path / "a.png")]) == 2
    err = capsys.readouterr().err
    assert "global load: l1tex__t_requests_pipe_lsu_mem_global_op_ld.sum not captured; the metric set requests" in err
    assert "--set default" in err
    assert not (tmp_path / "a.png").exists()

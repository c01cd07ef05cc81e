"""The page in a real browser: what it shows, what its controls do, the keyboard, and hostile names."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import pytest

from roofctl.cli.main import main
from roofctl.output.html import write_page
from roofctl.output.html_data import PageOptions
from roofctl.study.analyse import AnalysisRequest
from roofctl.study.variants import analyse_variants

from support.browser import Opened, chromium, opened
from support.shapes import FULL, L, ncu_raw, write

pytest.importorskip("plotly", reason="plotly, the extra html, is not installed")

CAPTURES = Path(__file__).parent.parent / "data" / "captures-h200"
KNOWN = CAPTURES / "known"
H200 = {"device__attribute_display_name": "NVIDIA H200", "launch__sm_count": 132}
HOSTILE = (
    "<script>window.stolen=1</script>(int)",
    "</script><img src=x onerror=window.stolen=1>(int)",
    "<b onmouseover=window.stolen=1>\"'`${window.stolen=1}$x^2$</b>(int)",
    "a\u202eb\u2066c(int)",
    "n" * 10_000 + "(int)",
    "__proto__(int)",
)


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    yield from chromium()


def page_of(folder: Path, *inputs: Path, options: PageOptions | None = None) -> Path:
    """A page of each input as a capture of its own."""
    captures = [analyse_variants(AnalysisRequest(inputs=(path,))) for path in inputs]
    write_page(folder / "page.html", captures, options)
    return folder / "page.html"


@pytest.fixture(scope="module")
def known_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return page_of(tmp_path_factory.mktemp("known"), KNOWN)


@pytest.fixture
def known(browser: Any, known_file: Path) -> Iterator[Opened]:
    with opened(browser, known_file) as shown:
        yield shown
        assert shown.errors == []


def rows(shown: Opened) -> list[str]:
    """Names of the kernels in the table."""
    return [str(text) for text in shown.page.locator("#table tbody th").all_inner_texts()]


def count(shown: Opened, what: str) -> int:
    """Number of points or lines of a kind in the picture."""
    if what == "points":
        return int(shown.js("chart.picture.points.length"))
    return int(shown.js(f"chart.picture.lines.filter((line) => line.kind === '{what}').length"))


def choose(shown: Opened, name: str, value: str) -> None:
    shown.page.check(f'input[name="{name}"][value="{value}"]')


# --- what it shows ----------------------------------------------------------------------------------------------------


def test_page_opens_without_network_and_without_error(known: Opened) -> None:
    assert [address.split(":")[0] for address in known.requests] == ["file"]
    headings = known.page.locator("h2").all_inner_texts()
    assert headings == ["Verdict", "Roofline", "Kernels", "Provenance"]
    assert "15 kernels" in known.text("#time-text")
    assert "could be saved" in known.text("#headroom-text")
    assert known.page.locator("#first-list li").count() == 5
    assert len(rows(known)) == 15
    assert count(known, "points") == 15


def test_hover_shows_full_name_launches_times_uses_limit_and_advice(known: Opened) -> None:
    known.page.locator("#chart").scroll_into_view_if_needed()
    assert not known.page.locator("#hover").is_visible()
    known.page.mouse.move(*known.point())
    known.page.wait_for_selector("#hover:not([hidden])")
    card = known.text("#hover")
    row = known.js(
        "(({kernel, launches, limit_label, advice}) => ({kernel, launches, limit_label, advice}))(rowsOf(view())[0])"
    )
    assert row["kernel"] in card
    for word in ("Launches", "Time", "Limit", "Headroom", row["limit_label"], "HBM"):
        assert word in card
    if row["advice"]:
        assert row["advice"][0]["text"] in card
    assert known.page.locator("#hover .uses .use").count() > 1
    assert known.page.locator(".ring").count() >= 1
    known.page.mouse.move(5, 5)
    known.page.wait_for_selector("#hover", state="hidden")


# --- controls ---------------------------------------------------------------------------------------------------------


def test_levels_add_points_and_ceilings(known: Opened) -> None:
    assert (count(known, "points"), count(known, "slope")) == (15, 1)
    known.page.check('#levels input[value="l1"]')
    known.page.check('#levels input[value="l2"]')
    assert count(known, "slope") == 3
    assert count(known, "points") > 30
    known.page.uncheck('#levels input[value="hbm"]')
    assert set(known.js("chart.picture.points.map((point) => point.level)")) == {"l1", "l2"}


def test_each_ceiling_has_a_label_in_the_picture_or_in_the_key(known: Opened) -> None:
    choose(known, "model", "flop")
    choose(known, "ceilings", "both")
    for level in ("l1", "l2"):
        known.page.check(f'#levels input[value="{level}"]')
    written = set(known.page.locator("#chart text.ceiling").all_text_contents())
    key = set(known.page.locator("#key > span").all_inner_texts())
    lines = set(known.js("chart.picture.lines.map((line) => line.label)"))
    assert lines <= written | key
    assert len(lines) > 6


def test_model_and_precision(known: Opened) -> None:
    assert not known.page.locator("#precisions").is_visible()
    choose(known, "model", "flop")
    assert "FLOP/s" in known.js("chart.plot.layout.yaxis.title.text")
    boxes = known.page.locator("#precisions input")
    works = boxes.evaluate_all("(boxes) => boxes.map((box) => box.value)")
    assert {"fp64", "fp32", "bf16_tensor"} & set(works)
    before, peaks = count(known, "points"), count(known, "peak")
    boxes.first.uncheck()
    assert count(known, "points") < before
    assert count(known, "peak") < peaks
    assert works[0] not in known.js("shownRows().map((row) => row.precision)")


def test_ceilings_measured_theoretical_both(known: Opened) -> None:
    measured = known.js("chart.picture.lines[0].ys[1] / chart.picture.lines[0].xs[1]")
    choose(known, "ceilings", "theoretical")
    assert known.js("chart.picture.lines[0].ys[1] / chart.picture.lines[0].xs[1]") > measured
    assert "theoretical ceilings" in known.text("#subtitle")
    choose(known, "ceilings", "both")
    assert count(known, "slope") == 2
    labels = known.js("chart.picture.lines.map((line) => line.label)")
    assert any(label.endswith(", measured") for label in labels)
    assert any(label.endswith(", theoretical") for label in labels)


def test_walls_of_global_and_shared_memory(known: Opened) -> None:
    choose(known, "chart", "walls")
    assert count(known, "wall") == 5
    assert known.page.locator("h2").all_inner_texts()[1] == "Memory walls"
    choose(known, "space", "shared")
    assert "shared instructions" in known.js("chart.plot.layout.xaxis.title.text")
    assert any("32-way conflict" in label for label in known.js("chart.picture.lines.map((line) => line.label)"))
    choose(known, "model", "flop")
    assert known.page.locator("h2").all_inner_texts()[1] == "Roofline"


def test_axes_log_and_linear(known: Opened) -> None:
    assert known.js("chart.plot.layout.xaxis.type") == "log"
    choose(known, "axes", "linear")
    assert known.js("[chart.plot.layout.xaxis.type, chart.plot.layout.yaxis.range[0]]") == ["linear", 0]


def test_slider_hides_kernels_of_a_small_share(known: Opened) -> None:
    known.page.locator("#share").focus()
    for _ in range(11):
        known.page.keyboard.press("ArrowRight")
    assert 0 < len(rows(known)) < 15
    assert known.text("#share-text").startswith("5%: ")
    assert known.page.locator("#share").get_attribute("aria-valuetext") == known.text("#share-text")
    known.page.click("#reset")
    assert len(rows(known)) == 15


def test_a_limit_of_the_verdict_shows_its_kernels_only(known: Opened) -> None:
    button = known.page.locator("#time-list button").first
    label = button.get_attribute("data-label")
    button.click()
    assert set(known.js("shownRows().map((row) => row.limit_label)")) == {label}
    assert known.page.locator("#time-list button").first.get_attribute("aria-pressed") == "true"


# --- the table --------------------------------------------------------------------------------------------------------


def test_filter_keeps_rows_and_points_by_name_and_limit(known: Opened) -> None:
    known.page.fill("#filter", "ATOMICS")
    known.page.wait_for_function("() => shownRows().length === 1")
    assert rows(known) == ["known_atomics"]
    assert count(known, "points") == 1
    assert known.text("#count").startswith("1 of 15 kernels, ")
    known.page.fill("#filter", "no such kernel")
    known.page.wait_for_function("() => shownRows().length === 0")
    assert known.text("#chart .empty") == "No kernel has a point here."


def test_table_sorts_by_a_column_and_back_with_what_is_not_known_last(known: Opened) -> None:
    known.page.click('#table button[data-key="gips"]')
    values = known.js("sorted(shownRows(), tableColumns()).map((row) => row.gips)")
    assert values == sorted(values, reverse=True)
    header = known.page.locator('#table th:has(button[data-key="gips"])')
    assert header.get_attribute("aria-sort") == "descending"
    known.page.click('#table button[data-key="gips"]')
    assert header.get_attribute("aria-sort") == "ascending"
    assert rows(known) == known.js("shownRows().sort((a, b) => a.gips - b.gips).map((row) => row.shown_name)")
    known.page.click('#table button[data-key="use.l1"]')
    known.page.click('#table button[data-key="use.l1"]')
    uses = known.js("sorted(shownRows(), tableColumns()).map((row) => row.use.l1 ?? null)")
    present = [use for use in uses if use is not None]
    assert uses == sorted(present) + [None] * (len(uses) - len(present))


def test_rows_and_points_are_linked(known: Opened) -> None:
    known.page.locator("#table tbody tr").nth(3).click()
    name = known.js("rowsOf(view())[3].kernel")
    assert name in known.text("#details")
    assert known.page.locator(".ring").count() == 1
    known.page.locator("#chart").scroll_into_view_if_needed()
    known.page.mouse.click(*known.point(1))
    known.page.wait_for_function("() => state.selected === 1")
    assert known.page.locator("tr[aria-current]").get_attribute("data-row") == "1"


def test_isolated_kernel_is_alone_on_all_levels(known: Opened) -> None:
    known.page.locator("#table tbody tr").nth(2).click()
    known.page.click("#isolate")
    assert len(rows(known)) == 1
    assert set(known.js("chart.picture.points.map((point) => point.row.index)")) == {2}
    assert set(known.js("chart.picture.points.map((point) => point.level)")) == {"l1", "l2", "hbm"}
    known.page.click("#isolate")
    assert len(rows(known)) == 15


# --- keyboard and screen reader ---------------------------------------------------------------------------------------


def test_first_tab_leads_past_the_picture(known: Opened) -> None:
    known.page.keyboard.press("Tab")
    assert known.js("document.activeElement.className") == "skip"
    known.page.keyboard.press("Enter")
    known.page.wait_for_function("() => document.activeElement.id === 'kernels'")


def test_arrow_keys_go_through_points_and_are_announced(known: Opened) -> None:
    known.page.locator("#chart").focus()
    known.page.keyboard.press("Home")
    xs = known.js("chart.picture.points.map((point) => point.x).sort((a, b) => a - b)")
    selected = "chart.picture.points.find((point) => point.row.index === state.selected).x"
    assert known.js(selected) == xs[0]
    known.page.keyboard.press("ArrowRight")
    assert known.js(selected) == xs[1]
    announced = known.text("#live")
    assert known.js("rowsOf(view())[state.selected].short_name") in announced
    assert "of the time" in announced
    known.page.keyboard.press("ArrowUp")
    known.page.keyboard.press("i")
    assert len(rows(known)) == 1
    known.page.keyboard.press("Escape")
    assert len(rows(known)) == 15
    assert known.js("state.selected") is None


def test_arrow_keys_go_through_rows_and_enter_selects(known: Opened) -> None:
    known.page.locator("#table tbody button").first.focus()
    known.page.keyboard.press("ArrowDown")
    known.page.keyboard.press("ArrowDown")
    known.page.keyboard.press("Enter")
    assert known.js("state.selected") == 2


def test_every_control_has_a_name_and_focus_stays_on_it(known: Opened) -> None:
    nameless = """[...document.querySelectorAll('button, input, select')].filter((each) => !each.closest('[hidden]')
      && !(each.labels && [...each.labels].some((label) => label.textContent.trim()))
      && !each.textContent.trim() && !each.getAttribute('aria-label')).map((each) => each.outerHTML)"""
    assert known.js(nameless) == []
    known.page.locator('input[name="model"][value="instruction"]').focus()
    known.page.keyboard.press("ArrowRight")
    assert known.js("document.activeElement.value") == "flop"
    assert known.js("view().model") == "flop"
    assert known.js("document.documentElement.lang") == "en"
    assert known.page.locator("#table th:not([scope])").count() == 0


# --- theme, width, paper ----------------------------------------------------------------------------------------------


def test_dark_as_the_system_says_and_by_the_button(browser: Any, known_file: Path) -> None:
    back = "getComputedStyle(document.body).backgroundColor"
    with opened(browser, known_file, color_scheme="dark") as shown:
        assert shown.js(back) == "rgb(20, 23, 28)"
        assert shown.js("chart.plot.layout.plot_bgcolor") == "#14171c"
        shown.page.click("#theme")
        assert shown.js(back) == "rgb(255, 255, 255)"
        assert shown.js("chart.plot.layout.plot_bgcolor") == "#ffffff"
        assert shown.errors == []


def luminance(color: str) -> float:
    """Relative luminance of ``#rrggbb`` after WCAG 2."""
    parts = [int(color[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_text_has_contrast(scheme: str, browser: Any, known_file: Path) -> None:
    pairs = [
        ("ink", "back"),
        ("ink", "card"),
        ("faint", "back"),
        ("faint", "card"),
        ("accent", "back"),
        ("accent", "card"),
    ]
    with opened(browser, known_file, color_scheme=scheme) as shown:
        for one, other in [*pairs, ("warn", "warn-back"), ("ink", "mark"), ("accent", "mark")]:
            light = sorted(luminance(shown.js(f"theme('{name}')")) for name in (one, other))
            assert (light[1] + 0.05) / (light[0] + 0.05) >= 4.5, (one, other)


def test_narrow_window_has_no_sideways_scrolling(browser: Any, known_file: Path) -> None:
    with opened(browser, known_file, viewport={"width": 360, "height": 740}) as shown:
        assert shown.js("document.documentElement.scrollWidth") <= 360
        assert shown.js("chart.plot.getBoundingClientRect().width") > 250
        assert shown.errors == []


def test_on_paper_there_are_no_controls_and_the_picture_is_light(browser: Any, known_file: Path) -> None:
    with opened(browser, known_file, color_scheme="dark") as shown:
        assert shown.page.pdf(format="A4").startswith(b"%PDF")
        shown.page.emulate_media(media="print")
        assert not shown.page.locator(".controls").first.is_visible()
        assert shown.page.locator("#time-text").is_visible()
        assert shown.page.locator("#table").is_visible()
        assert shown.errors == []


# --- downloads --------------------------------------------------------------------------------------------------------


def download(shown: Opened, button: str) -> bytes:
    with shown.page.expect_download() as waiting:
        shown.page.click(f"#save-{button}")
    return Path(waiting.value.path()).read_bytes()


def test_json_and_csv_are_those_of_the_report(known: Opened, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["report", str(KNOWN), "--format", "json"]) == 0
    assert json.loads(download(known, "json")) == json.loads(capsys.readouterr().out)
    assert main(["report", str(KNOWN), "--format", "csv"]) == 0
    expected = capsys.readouterr().out.splitlines()
    made = download(known, "csv").decode().splitlines()
    assert made[0] == expected[0]
    assert len(made) == len(expected)
    assert [line.split(",")[:3] for line in made] == [line.split(",")[:3] for line in expected]


def test_svg_has_the_picture_its_texts_and_no_script(known: Opened) -> None:
    known.page.check('#levels input[value="l1"]')
    root = ET.fromstring(download(known, "svg"))  # noqa: S314 - our own
    texts = ["".join(each.itertext()) for each in root.iter("{http://www.w3.org/2000/svg}text")]
    assert "known" in texts
    assert any(text.startswith("HBM 4.") for text in texts)
    assert any(text.startswith("Issue ") for text in texts)
    assert any("known_atomics" in text for text in texts)
    tags = {each.tag.split("}")[1] for each in root.iter()}
    assert not tags & {"script", "foreignObject", "image"}


def test_png_is_twice_the_size_of_the_picture(known: Opened) -> None:
    image = download(known, "png")
    assert image.startswith(b"\x89PNG")
    assert int.from_bytes(image[16:20], "big") == 2 * known.js("Math.round(chart.plot.getBoundingClientRect().width)")


# --- hostile names, several captures, many kernels --------------------------------------------------------------------


def test_hostile_names_are_text(browser: Any, tmp_path: Path) -> None:
    launches = [L(name, id=str(number)) for number, name in enumerate(HOSTILE)]
    paths = write(tmp_path, capture=ncu_raw(launches, extra=H200))
    file = page_of(tmp_path, *paths, options=PageOptions(title="<img src=x onerror=window.stolen=1>"))
    with opened(browser, file) as shown:
        assert shown.text("#title") == "<img src=x onerror=window.stolen=1>"
        assert set(shown.js("rowsOf(view()).map((row) => row.kernel)")) == set(HOSTILE)
        for index in range(len(HOSTILE)):
            shown.page.locator("#table tbody tr").nth(index).click()
            shown.page.locator("#chart").scroll_into_view_if_needed()
            shown.page.mouse.move(5, 5)
            shown.page.mouse.move(*shown.point(index))
            shown.page.wait_for_selector("#hover:not([hidden])")
        shown.page.fill("#filter", "<script>")
        shown.page.wait_for_function("() => shownRows().length === 1")
        shown.page.locator("#table tbody tr").click()
        assert shown.text("#details .full") == HOSTILE[0]
        shown.page.click("#reset")
        names = " ".join(rows(shown))
        assert "a\\u202eb\\u2066c" in names
        assert "\u202e" not in names
        svg = download(shown, "svg")
        ET.fromstring(svg)  # noqa: S314 - our own
        csv = download(shown, "csv").decode()
        assert HOSTILE[1] in csv
        assert shown.js("typeof window.stolen") == "undefined"
        assert shown.js("document.querySelectorAll('img, b, iframe, object').length") == 0
        assert shown.js("document.documentElement.scrollWidth") <= 1440
        assert [address for address in shown.requests if not address.startswith(("file:", "data:", "blob:"))] == []
        assert shown.errors == []


def test_captures_are_chosen_by_a_list(browser: Any, tmp_path: Path) -> None:
    file = page_of(tmp_path, KNOWN, CAPTURES / "gemms")
    with opened(browser, file) as shown:
        assert shown.text("#title") == "known"
        shown.page.select_option("#capture", "1")
        assert shown.text("#title") == "gemms"
        assert "known_atomics" not in rows(shown)
        assert shown.errors == []


def test_gpu_that_is_not_known_has_points_and_no_ceilings(browser: Any, tmp_path: Path) -> None:
    file = page_of(tmp_path, *write(tmp_path, capture=ncu_raw([L("a(int)"), L("b(int)", id="1")])))
    with opened(browser, file) as shown:
        assert count(shown, "slope") == count(shown, "peak") == 0
        assert count(shown, "points") == 2
        assert not shown.page.locator("#ceilings").is_visible()
        assert "no ceilings" in shown.text("#subtitle")
        assert shown.errors == []


def test_five_thousand_kernels_stay_usable(browser: Any, tmp_path: Path) -> None:
    launches = [
        L(f"kernel_{number}(int)", {**FULL, "gpu__time_duration.sum": 100_000 + 7919 * number % 90_000}, id=str(number))
        for number in range(5000)
    ]
    file = page_of(tmp_path, *write(tmp_path, capture=ncu_raw(launches, extra=H200)))
    started = time.monotonic()
    with opened(browser, file) as shown:
        assert len(rows(shown)) == 200
        assert count(shown, "points") == 5000
        shown.page.fill("#filter", "kernel_4999")
        shown.page.wait_for_function("() => shownRows().length === 1")
        assert rows(shown) == ["kernel_4999"]
        shown.page.click("#reset")
        shown.page.click("#more")
        assert len(rows(shown)) == 1200
        assert shown.errors == []
    # About a tenth of this on a laptop; a machine may be busy.
    assert time.monotonic() - started < 60


@pytest.fixture(scope="module")
def compared_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The page of a GPT-2 step with its vocabulary padded, compared with the one before."""
    target = tmp_path_factory.mktemp("compared") / "compared.html"
    captures = Path(__file__).parent.parent / "data" / "captures-h200"
    inputs = [str(captures / name) for name in ("gpt2-50257", "gpt2-50304")]
    assert main(["compare", *inputs, "-o", str(target), "-q"]) == 0
    return target


def test_a_comparison_shows_times_changes_and_moves(browser: Any, compared_file: Path) -> None:
    with opened(browser, compared_file) as page:
        text = page.page.inner_text("#compare-text")
        assert text.startswith("Compared with gpt2-50257: all kernels 7.606 ms → 4.711 ms (−38.1%)")
        heads = page.page.locator("#table thead th").all_inner_texts()
        assert [head.split()[0] for head in heads][3:6] == ["time", "before", "change"]
        row = page.page.locator("#table tbody tr", has_text="nvjet bf16 128x256x64 TNN").inner_text()
        assert "−87.1%" in row
        arrows = (
            "document.querySelector('.plot').data.filter((trace) => trace.marker && trace.marker.symbol === 'arrow')"
        )
        assert page.js(f"{arrows}.length") == 1
        page.page.uncheck("#before")
        assert page.js(f"{arrows}.length") == 0
        assert page.errors == []

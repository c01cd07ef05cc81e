"""The page as a file: one of its own, its data, names that are hostile, and how it is asked for."""

from __future__ import annotations

import base64
import hashlib
import json
import re
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

from roofctl.cli.main import main
from roofctl.core.errors import InputError
from roofctl.output import html
from roofctl.output.html_data import PageOptions, page_data
from roofctl.output.report import document
from roofctl.study.analyse import AnalysisRequest
from roofctl.study.variants import Variants, analyse_variants

from support.shapes import FULL, L, ncu_raw, write

pytest.importorskip("plotly", reason="plotly, the extra html, is not installed")

CAPTURES = Path(__file__).parent.parent / "data" / "captures-h200"
KNOWN = CAPTURES / "known"
H200 = {"device__attribute_display_name": "NVIDIA H200", "launch__sm_count": 132}


@pytest.fixture(scope="module")
def known() -> Variants:
    return analyse_variants(AnalysisRequest(inputs=(KNOWN,)))


class _Elements(HTMLParser):
    """Start tags with their attributes, and the text of each script."""

    def __init__(self) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.scripts: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        if tag == "script":
            self.scripts.append("")

    def handle_data(self, data: str) -> None:
        if self.tags and self.tags[-1][0] == "script" and self.cdata_elem == "script":
            self.scripts[-1] += data


def parsed(text: str) -> _Elements:
    elements = _Elements()
    elements.feed(text)
    return elements


def data_of(text: str) -> dict[str, Any]:
    """The data of a page as the browser reads it: the text between the tags of its script element."""
    found = re.search(r'<script type="application/json" id="data">(.*?)</script>', text, re.DOTALL)
    assert found
    data: dict[str, Any] = json.loads(found[1])
    return data


# --- one file ---------------------------------------------------------------------------------------------------------


def test_page_loads_nothing_and_allows_its_own_scripts_only(known: Variants) -> None:
    elements = parsed(html.page([known]))
    names = {"src", "data", "action", "formaction", "poster", "background", "srcset"}
    assert not [(tag, attributes) for tag, attributes in elements.tags if names & attributes.keys()]
    assert {attributes["href"] for _, attributes in elements.tags if "href" in attributes} == {"#kernels"}
    policy = next(attributes["content"] for tag, attributes in elements.tags if "http-equiv" in attributes) or ""
    assert "default-src 'none'" in policy
    run = [text for text in elements.scripts if not text.startswith("{")]
    hashes = {base64.b64encode(hashlib.sha256(text.encode()).digest()).decode() for text in run}
    assert set(re.findall(r"'sha256-([^']+)'", policy)) == hashes
    assert len(run) == 2
    assert "'unsafe-inline'" not in policy.split("script-src")[1].split(";")[0]


def test_style_of_page_loads_nothing(known: Variants) -> None:
    style = html.page([known]).split("<style>")[1].split("</style>")[0]
    assert "url(" not in style
    assert "@import" not in style


def test_own_scripts_parse_no_markup() -> None:
    files = Path(html.__file__).parent / "html_files"
    text = "".join((files / name).read_text(encoding="utf-8") for name in html.SCRIPTS)
    for way in ("innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval(", "new Function"):
        assert way not in text
    assert {path.name for path in files.iterdir()} == {*html.SCRIPTS, "page.css", "page.html"}


# --- its data ---------------------------------------------------------------------------------------------------------


def test_page_has_the_documents_of_the_report_in_both_models_with_both_kinds_of_ceilings(known: Variants) -> None:
    data = json.loads(json.dumps(page_data([known])))
    (capture,) = data["captures"]
    views = {(view["model"], view["basis"]): view for view in capture["views"]}
    assert views.keys() == {(m, b) for m in ("instruction", "flop") for b in ("measured", "theoretical")}
    for analysis, view in zip(known.analyses, capture["views"], strict=True):
        columns = {name: data["pool"][at] for name, at in view["columns"].items()}
        length = len(columns["kernel"])
        kernels = [{name: column[row] for name, column in columns.items()} for row in range(length)]
        assert {**view["document"], "kernels": kernels} == json.loads(json.dumps(document(analysis)))


def test_a_column_that_views_share_is_stored_once(known: Variants) -> None:
    data = page_data([known])
    texts = [json.dumps(column) for column in data["pool"]]
    assert len(texts) == len(set(texts))


def test_verdict_counts_each_kernel_once_in_both_models(known: Variants) -> None:
    for view in page_data([known])["captures"][0]["views"]:
        verdict = view["verdict"]
        assert sum(entry["kernels"] for entry in verdict["limits"]) == 15
        assert sum(entry["seconds"] for entry in verdict["limits"]) == pytest.approx(verdict["seconds"])
        assert verdict["time"].endswith("of it.")
        assert "kernels" in verdict["time"]


def test_headroom_that_not_all_counters_support_is_an_upper_bound(known: Variants) -> None:
    view = page_data([known])["captures"][0]["views"][0]
    counted = [each.limit.counted for each in known.first.results.explained]
    assert not all(counted)
    assert view["verdict"]["headroom"].startswith("Less than ")
    assert "it may be much less" in view["verdict"]["headroom"]


def test_capture_without_times_has_no_headroom_and_no_share(tmp_path: Path) -> None:
    counters = {name: value for name, value in FULL.items() if "time" not in name}
    data = page_data([variants(tmp_path, [L("a(int)", counters), L("b(int)", counters)])])
    verdict = data["captures"][0]["views"][0]["verdict"]
    assert verdict["time"] == "2 launches of 2 kernels; no time was captured"
    assert verdict["headroom"] == "How much could be saved is not known: no kernel has a known bound."
    assert verdict["seconds"] is None


def test_page_of_a_gpu_that_is_not_known_has_no_ceilings_and_says_why(tmp_path: Path) -> None:
    data = page_data([variants(tmp_path, [L("a(int)")], extra={})])
    (capture,) = data["captures"]
    assert {view["basis"] for view in capture["views"]} == {None}
    assert ["GPU", "not named in the capture"] in capture["provenance"]
    assert any(term == "GPU profile" and text.startswith("none: ") for term, text in capture["provenance"])


def test_why_there_is_no_flop_roofline_is_kept(tmp_path: Path) -> None:
    data = page_data([variants(tmp_path, [L("a(int)")])])
    models = {view["model"] for view in data["captures"][0]["views"]}
    absent = data["captures"][0]["absent"]
    assert models == {"instruction"} if absent else models == {"instruction", "flop"}
    assert all(text for text in absent.values())


def test_provenance_has_capture_profiler_gpu_clock_and_version(known: Variants) -> None:
    pairs = dict(page_data([known])["captures"][0]["provenance"])
    assert pairs["capture"] == "known"
    assert pairs["profiler"].startswith("ncu 20")
    assert re.fullmatch(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d to .*\d\d:\d\d:\d\d UTC", pairs["captured"])
    assert pairs["GPU"] == "NVIDIA H200"
    assert pairs["GPU profile"].startswith("h200 (gh100")
    assert "as captured" in pairs["SM clock of the ceilings"]


# --- hostile names ----------------------------------------------------------------------------------------------------

HOSTILE = (
    "<script>window.stolen=1</script>(int)",
    "</script><img src=x onerror=window.stolen=1>(int)",
    "<!--<script>(int)",
    "\"'`${window.stolen=1}$x^2$\\(a\\)(int)",
    "{{data}}{{script}}(int)",
    "a\u202eb\u2066c(int)",
    "\u05d0\u05d1\u05d2(int)",
    "n" * 10_000 + "(int)",
    "__proto__(int)",
)


def variants(folder: Path, launches: list[L], extra: dict[str, Any] | None = None) -> Variants:
    paths = write(folder, capture=ncu_raw(launches, extra=H200 if extra is None else extra))
    return analyse_variants(AnalysisRequest(inputs=tuple(paths)))


def test_hostile_names_end_no_script_and_come_back_as_they_were(tmp_path: Path) -> None:
    launches = [L(name, id=str(number)) for number, name in enumerate(HOSTILE)]
    text = html.page([variants(tmp_path, launches)], PageOptions(title="</title><script>alert(1)</script>"))
    elements = parsed(text)
    plain = parsed(html.page([variants(tmp_path, [L("plain(int)")])]))
    assert [tag for tag, _ in elements.tags] == [tag for tag, _ in plain.tags]
    data = data_of(text)
    view = data["captures"][0]["views"][0]
    assert set(data["pool"][view["columns"]["kernel"]]) == set(HOSTILE)
    assert data["title"] == "</title><script>alert(1)</script>"


def test_json_in_a_script_has_no_markup_and_no_nan() -> None:
    assert html.to_script({"a": "</script><!--"}) == '{"a":"\\u003c/script>\\u003c!--"}'
    with pytest.raises(ValueError, match=r"NaN|Out of range"):
        html.to_script({"a": float("nan")})


# --- commands ---------------------------------------------------------------------------------------------------------


def test_report_and_plot_write_the_same_page(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["report", str(KNOWN), "--html", str(tmp_path / "a.html")]) == 0
    streams = capsys.readouterr()
    assert streams.out == ""
    assert f"Wrote {tmp_path / 'a.html'}" in streams.err
    assert "note: ceilings measured on NVIDIA H200" in streams.err
    assert main(["plot", str(KNOWN), "-o", str(tmp_path / "b.html")]) == 0
    assert (tmp_path / "a.html").read_bytes() == (tmp_path / "b.html").read_bytes()


def test_plot_s_levels_walls_and_title_are_what_the_page_shows_first(tmp_path: Path) -> None:
    target = tmp_path / "a.html"
    assert main(["plot", str(KNOWN), "-o", str(target), "--level", "l2", "--title", "T", "--model", "flop"]) == 0
    data = data_of(target.read_text(encoding="utf-8"))
    assert (data["levels"], data["title"], data["chart"]) == (["l2"], "T", "roofline")
    assert data["captures"][0]["views"][0]["model"] == "flop"
    assert main(["plot", str(KNOWN), "-o", str(target), "--walls", "shared", "--force"]) == 0
    data = data_of(target.read_text(encoding="utf-8"))
    assert (data["chart"], data["spaces"]) == ("walls", ["shared"])


def test_page_has_the_kernels_that_were_asked_for(tmp_path: Path) -> None:
    target = tmp_path / "a.html"
    assert main(["report", str(KNOWN), "--kernel", "atomics", "--html", str(target)]) == 0
    data = data_of(target.read_text(encoding="utf-8"))
    view = data["captures"][0]["views"][0]
    assert data["pool"][view["columns"]["short_name"]] == ["known_atomics"]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--format", "json"], "--format json is for text on stdout"),
        (["--times"], "--times is for text on stdout"),
        (["--columns", "time"], "--columns is for text on stdout"),
    ],
)
def test_options_of_text_have_no_meaning_for_a_page(
    options: list[str], message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["report", str(KNOWN), "--html", str(tmp_path / "a.html"), *options]) == 2
    assert message in capsys.readouterr().err


@pytest.mark.parametrize("options", [["--mode", "time"], ["--color", "a=red"], ["--label", "a=b"]])
def test_options_of_pictures_have_no_meaning_for_a_page(
    options: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["plot", str(KNOWN), "-o", str(tmp_path / "a.html"), *options]) == 2
    assert "is for pictures; a page has controls of its own" in capsys.readouterr().err


def test_page_replaces_no_file_unless_forced(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    target = tmp_path / "a.html"
    target.write_text("mine", encoding="utf-8")
    assert main(["report", str(KNOWN), "--html", str(target)]) == 2
    assert "--force" in capsys.readouterr().err
    assert target.read_text() == "mine"
    assert main(["report", str(KNOWN), "--html", str(target), "--force"]) == 0
    assert target.read_text(encoding="utf-8").startswith("<!DOCTYPE html>")


def test_page_needs_a_name_that_says_html(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["report", str(KNOWN), "--html", str(tmp_path / "a.png")]) == 2
    assert "a page is HTML, not .png\nhint: use a name that ends in .html" in capsys.readouterr().err


def test_without_plotly_the_extra_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(html, "find_spec", lambda _name: None)
    with pytest.raises(InputError):
        html.check_plotly()
    assert main(["report", str(KNOWN), "--html", str(tmp_path / "a.html")]) == 2
    assert "a page needs plotly, which is not installed\nhint: pip install 'roofctl[html]'" in capsys.readouterr().err
    assert not list(tmp_path.iterdir())

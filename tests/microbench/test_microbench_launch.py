"""The time of a launch: how it is measured on a GPU in plain Python, and what goes to the driver."""

from __future__ import annotations

import ctypes
import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import click.testing
import pytest

from roofctl.cli.calibrate import calibrate
from roofctl.cli.gpus import gpus
from roofctl.core.errors import DeviceError
from roofctl.cuda.toolchain import Toolchain
from roofctl.gpus import find_profile, launch_seconds, load_measured
from roofctl.microbench import bench as benches
from roofctl.microbench import launch, pycuda_device
from roofctl.microbench.bench import Bench
from roofctl.microbench.calibrate import CalibrationRequest, session
from roofctl.microbench.device import Graph, KernelLaunch
from roofctl.microbench.graphs import Graphs
from roofctl.microbench.outcomes import Absent, Ceiling, Outcome
from roofctl.microbench.pycuda_device import PycudaDevice

from support.fake_device import FakeDevice, FakeTools


def outcomes(device: FakeDevice, *, quick: bool = False) -> list[Outcome]:
    heard: list[Outcome] = []
    with session(CalibrationRequest(levels=("launch",), quick=quick), lambda: device, tools=FakeTools) as opened:  # type: ignore[arg-type]
        opened.measure(heard.append)
    if opened.failures:
        raise opened.failures[0][1]
    return heard


def ceiling(device: FakeDevice, *, quick: bool = False) -> Ceiling:
    (found,) = [outcome for outcome in outcomes(device, quick=quick) if isinstance(outcome, Ceiling)]
    return found


# --- what is measured ---


def test_the_interval_in_a_stream_counts_and_the_others_are_kept() -> None:
    found = ceiling(FakeDevice(event_seconds=1e-6))
    assert found.value == pytest.approx(2.1e-6, rel=2e-3)
    assert found.chosen == "stream"
    assert list(found.mixes) == ["stream", "single", "graph"]
    assert found.mixes["graph"].result.median == pytest.approx(1.3e-6, rel=2e-3)
    assert found.mixes["single"].result.median == pytest.approx(3.1e-6), "with what the events cost"
    assert found.theoretical is found.factor is None
    assert found.sampled.reservations == ()
    assert found.method == "stream: launches 512, queued_in_ms 2.052, wait_ms 4.0"


def test_of_times_the_best_is_the_smallest() -> None:
    found = ceiling(FakeDevice(noise=(1.0, 1.02, 0.99)))
    result = found.sampled.result
    assert result.best == pytest.approx(0.99 * 2.1e-6)
    assert result.best <= result.p5 <= result.median <= result.p95
    assert result.samples == 20


def test_it_costs_less_than_half_a_second_of_the_gpu() -> None:
    device = FakeDevice()
    waits: list[float] = []
    clock = device._clock

    def clocked(job: KernelLaunch) -> None:
        waits.append(job.values[1] * 1e-9)
        clock(job)

    device._clock = clocked  # type: ignore[method-assign]
    ceiling(device)
    assert 0.1 < sum(waits) + device.seconds < 0.5


def test_quick_takes_fewer_samples_and_says_so() -> None:
    found = ceiling(FakeDevice(), quick=True)
    assert found.sampled.result.samples == 6
    assert found.sampled.reservations == ("only 6 samples of 20",)


def test_a_slow_host_waits_longer() -> None:
    found = ceiling(FakeDevice(queue_seconds=25e-6))
    assert found.value == pytest.approx(2.1e-6)
    assert found.sampled.settings == {"launches": 512, "queued_in_ms": 12.825, "wait_ms": 16.0}


def test_a_host_that_is_made_to_wait_queues_fewer() -> None:
    """A driver with a short queue holds the host up until the wait is over, however long it is."""
    device = FakeDevice()
    timed = device.time

    def time(jobs: Any, lead: Any = ()) -> Any:
        found = timed(jobs, lead)
        full = len(jobs) > 300
        return replace(found, queue_seconds=lead[0].values[1] * 1e-9 + 1e-4) if full else found

    device.time = time  # type: ignore[method-assign]
    found = ceiling(device)
    assert found.sampled.settings["launches"] == 256
    assert found.value == pytest.approx(2.1e-6)
    assert found.mixes["graph"].settings["launches"] == 512, "a graph is queued at once"


def test_what_the_host_delayed_is_never_a_number() -> None:
    with pytest.raises(DeviceError, match=r"128 launches could not be queued within 64 ms") as caught:
        ceiling(FakeDevice(queue_seconds=1e-3))
    assert "CPU" in caught.value.hint


def test_a_sample_that_was_queued_late_is_left_out() -> None:
    device = FakeDevice()
    timed, calls = device.time, iter(range(10_000))

    def time(jobs: Any, lead: Any = ()) -> Any:
        found = timed(jobs, lead)
        late = len(jobs) > 1 and next(calls) % 4 == 3
        return replace(found, seconds=9e-3, queue_seconds=5e-3) if late else found

    device.time = time  # type: ignore[method-assign]
    found = ceiling(device)
    assert found.sampled.result.p95 == pytest.approx(2.1e-6)
    assert found.sampled.result.samples == 20


def test_a_device_that_does_not_report_how_long_queueing_took_proves_nothing() -> None:
    device = FakeDevice()
    timed = device.time
    device.time = lambda jobs, lead=(): replace(timed(jobs, lead), queue_seconds=None)  # type: ignore[method-assign]
    with pytest.raises(DeviceError, match="could not be queued"):
        ceiling(device)


def test_time_that_does_not_grow_with_the_launches_is_doubted() -> None:
    (doubt,) = ceiling(FakeDevice(event_seconds=1e-3)).sampled.reservations
    assert doubt == "half as many launches took 74% of the time"


def test_without_graphs_the_interval_in_a_stream_remains() -> None:
    absent, found = outcomes(FakeDevice(graphs=False))
    assert isinstance(found, Ceiling)
    assert list(found.mixes) == ["stream", "single"]
    assert absent == Absent("launch graph", "this driver has no CUDA graphs")


def test_a_cold_gpu_is_warmed_a_tenth_of_a_second(monkeypatch: pytest.MonkeyPatch) -> None:
    device = FakeDevice()
    bench = Bench(device, FakeTools("sm_90a"), replace(benches.FULL, warm_seconds=0.5))  # type: ignore[arg-type]
    launch._warm(bench)
    assert device.launched.count("clock_probe") == 25
    monkeypatch.setattr(bench, "effort", replace(benches.FULL, warm_seconds=0.0))
    launch._warm(bench)
    assert device.launched.count("clock_probe") == 25


# --- what is shown and kept ---


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "profiles").mkdir()
    (tmp_path / "profiles" / "h200.yaml").write_text(find_profile("h200").path.read_text())
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.setattr(Toolchain, "find", FakeTools)
    return tmp_path


def run(monkeypatch: pytest.MonkeyPatch, device: FakeDevice, *arguments: str) -> click.testing.Result:
    monkeypatch.setattr(pycuda_device, "open_device", lambda _index: device)
    return click.testing.CliRunner().invoke(calibrate, ["--level", "launch", *arguments], standalone_mode=False)


def test_a_launch_is_shown_as_a_time_and_read_back(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    result = run(monkeypatch, FakeDevice())
    assert result.exception is None
    row = result.stdout.splitlines()[1].split()
    assert row[:8] == ["launch", "2.100", "µs", "none", "2.100", "µs", "0.0%", "1980"]
    assert "launch: stream 2.100 µs  single 2.100 µs  graph 1.300 µs" in result.stdout
    assert "2.100 µs" in click.testing.CliRunner().invoke(gpus, ["show", "h200", "--history"]).stdout
    measured = load_measured(folder / "profiles" / "h200.measured.yaml")
    assert measured.ceilings["launch"].unit == "s"
    assert launch_seconds(measured) == pytest.approx(2.1e-6)
    assert set(measured.ceilings["launch"].mixes) == {"stream", "single", "graph"}
    level = measured.provenance["levels"]["launch"]
    assert (level["theoretical"], level["factor"]) == (None, None)
    assert level["mixes"]["stream"]["work_per_sample"] == 512.0

    slower = run(monkeypatch, FakeDevice(launch_seconds=2.31e-6))
    assert "  launch: +10.00%" in slower.stderr
    shown = click.testing.CliRunner().invoke(gpus, ["show", "h200"]).stdout
    (line,) = [line for line in shown.splitlines() if line.startswith("launch")]
    assert line.split()[:4] == ["launch", "2.310", "µs", "measured"]


def test_a_doubtful_launch_is_marked_without_a_factor(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    result = run(monkeypatch, FakeDevice(), "--quick", "--no-write")
    assert " none  !  " in result.stdout.splitlines()[1].replace("       ", "  ")
    assert "! launch stream: only 6 samples of 20" in result.stdout


def test_json_has_seconds(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    data = json.loads(run(monkeypatch, FakeDevice(), "--json", "--no-write").stdout)
    assert data["ceilings"]["launch"]["value"] == pytest.approx(2.1e-6)


# --- graphs, through the driver's library ---


class Library:
    """libcuda as ctypes gives it; a function in ``failing`` returns its code, one in ``missing`` is not there."""

    def __init__(self, *, failing: dict[str, int] | None = None, missing: tuple[str, ...] = ()) -> None:
        self.calls: list[str] = []
        self._failing, self._missing = failing or {}, missing

    def __getattr__(self, name: str) -> Callable[..., int]:
        if name.startswith("__") or name in self._missing:
            raise AttributeError(name)

        def function(*arguments: Any) -> int:
            self.calls.append(name)
            if name == "cuGetErrorName":
                arguments[1]._obj.value = b"CUDA_ERROR_STREAM_CAPTURE_INVALIDATED"
                return 0
            if name == "cuStreamEndCapture":
                arguments[1]._obj.value = 11
            if name.startswith("cuGraphInstantiate"):
                assert arguments[1].value == 11
                arguments[0]._obj.value = 22
            return self._failing.get(name, 0)

        return function


def test_a_graph_is_captured_launched_and_destroyed() -> None:
    library = Library()
    graphs = Graphs(library)
    made = graphs.capture(5, lambda: library.calls.append("submit"))
    graphs.launch(made, 5)
    graphs.destroy(made)
    assert made == 22
    assert library.calls == [
        "cuStreamBeginCapture_v2", "submit", "cuStreamEndCapture", "cuGraphInstantiateWithFlags", "cuGraphDestroy",
        "cuGraphLaunch", "cuGraphExecDestroy",
    ]  # fmt: skip


def test_an_older_driver_has_another_way_to_make_one() -> None:
    library = Library(missing=("cuGraphInstantiateWithFlags",))
    assert Graphs(library).capture(5, lambda: None) == 22
    assert "cuGraphInstantiate_v2" in library.calls


@pytest.mark.parametrize("name", ["cuStreamBeginCapture_v2", "cuGraphLaunch"])
def test_a_driver_without_graphs_says_what_is_missing(name: str) -> None:
    graphs = Graphs(Library(missing=(name,)))
    with pytest.raises(DeviceError, match=rf"this driver has no CUDA graphs \({name} is missing\)"):
        graphs.launch(graphs.capture(5, lambda: None), 5)


@pytest.mark.parametrize(
    "name", ["cuStreamBeginCapture_v2", "cuStreamEndCapture", "cuGraphInstantiateWithFlags", "cuGraphLaunch"]
)
def test_a_refused_graph_is_named_with_the_drivers_error(name: str) -> None:
    library = Library(failing={name: 901})
    graphs = Graphs(library)
    with pytest.raises(DeviceError, match=rf"{name} failed: CUDA_ERROR_STREAM_CAPTURE_INVALIDATED"):
        graphs.launch(graphs.capture(5, lambda: None), 5)


def test_an_error_without_a_name_is_a_number() -> None:
    library = Library(failing={"cuGraphLaunch": 7, "cuGetErrorName": 1})
    library.__dict__["cuGetErrorName"] = lambda _code, _text: 1
    with pytest.raises(DeviceError, match="cuGraphLaunch failed: error 7"):
        Graphs(library).launch(1, 2)


def test_a_failure_while_captured_ends_the_capture() -> None:
    library = Library()

    def fails() -> None:
        raise DeviceError("no such kernel")

    with pytest.raises(DeviceError, match="no such kernel"):
        Graphs(library).capture(5, fails)
    assert library.calls[-1] == "cuStreamEndCapture"


def test_a_machine_without_the_library() -> None:
    def load(name: str) -> Any:
        raise OSError(f"{name}: cannot open shared object file")

    with pytest.raises(DeviceError, match=r"CUDA graphs need libcuda\.so\.1"):
        Graphs.open(load)


# --- the real device, over a driver that only notes what it is asked ---


class Note:
    """An event, stream, module, function or device: every call is a line in ``log``."""

    handle = 7

    def __init__(self, log: list[str], name: str) -> None:
        self._log, self._name = log, name

    def __getattr__(self, name: str) -> Any:
        def call(*_arguments: Any, **_options: Any) -> Any:
            self._log.append(f"{self._name}.{name}")
            values: dict[str, Any] = {
                "time_till": 1.5, "get_function": Note(self._log, "function"), "pci_bus_id": "none",
                "compute_capability": (9, 0), "retain_primary_context": Note(self._log, "context"),
            }  # fmt: skip
            return values.get(name, 1)

        return call


class Driver:
    class Error(Exception):
        pass

    def __init__(self, log: list[str]) -> None:
        self.log, self.device_attribute = log, Note(log, "attribute")

    def __getattr__(self, name: str) -> Any:
        if name == "get_driver_version":
            return lambda: 13000
        return lambda *_: Note(self.log, name.lower())


@pytest.fixture
def device(monkeypatch: pytest.MonkeyPatch) -> tuple[PycudaDevice, list[str], Library]:
    log: list[str] = []
    library = Library()
    library.calls = log
    monkeypatch.setattr(pycuda_device.Nvml, "open", lambda _bus: None)
    monkeypatch.setattr(Graphs, "open", lambda: Graphs(library))
    opened = PycudaDevice(Driver(log), 0)
    opened.load("launch.cu", b"")
    log.clear()
    return opened, log, library


EMPTY = KernelLaunch("launch.cu", "empty", 1, 32, "", ())


def test_a_graph_is_made_once_and_before_the_time_starts(device: tuple[PycudaDevice, list[str], Library]) -> None:
    opened, log, _ = device
    timing = opened.time([Graph(EMPTY, 3)])
    assert timing.seconds == pytest.approx(1.5e-3)
    assert timing.queue_seconds is not None
    assert 0 < timing.queue_seconds < 1
    assert log.count("function.prepared_async_call") == 3
    records = [place for place, line in enumerate(log) if line == "event.record"]
    assert log.index("cuGraphDestroy") < records[0]
    assert log[records[0] : records[1] + 1] == ["event.record", "cuGraphLaunch", "event.record"]
    opened.run([Graph(EMPTY, 3)])
    assert log.count("cuStreamBeginCapture_v2") == 1
    opened.close()
    assert log.count("cuGraphExecDestroy") == 1


def test_a_pycuda_that_hides_its_streams() -> None:
    with pytest.raises(DeviceError, match="does not give the handle of a stream"):
        pycuda_device._handle(object())


def test_launches_in_a_stream_lie_between_the_events(device: tuple[PycudaDevice, list[str], Library]) -> None:
    opened, log, _ = device
    opened.time([EMPTY] * 2, [EMPTY])
    calls = [line for line in log if line in ("event.record", "function.prepared_async_call")]
    assert calls == [
        "function.prepared_async_call", "event.record", "function.prepared_async_call",
        "function.prepared_async_call", "event.record",
    ]  # fmt: skip


def test_the_drivers_own_arguments_fit_ctypes() -> None:
    """Handles are addresses: as plain ints ctypes would cut them to 32 bits."""
    seen: list[Any] = []

    class Wide:
        def cuGraphLaunch(self, *arguments: Any) -> int:  # noqa: N802 - the driver's name
            seen.extend(arguments)
            return 0

    Graphs(Wide()).launch(1 << 40, 1 << 41)
    assert all(isinstance(argument, ctypes.c_void_p) for argument in seen)
    assert [argument.value for argument in seen] == [1 << 40, 1 << 41]

"""Children: quiet runs, streamed runs, and stopping processes with all descendants, with real processes."""

from __future__ import annotations

import os
import select
import signal
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import pytest

from roofctl.core import process
from roofctl.core.errors import ToolFailed, ToolNotFound, ToolTimeout
from roofctl.core.process_tree import Family

SOON = (0.3, 0.3)


def alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except OSError:
        return False


def wait_for(condition, seconds: float = 5.0) -> bool:
    limit = time.monotonic() + seconds
    while not condition() and time.monotonic() < limit:
        time.sleep(0.02)
    return bool(condition())


def test_run_keeps_both_streams_and_the_code():
    done = process.run(["sh", "-c", "echo out; echo err >&2; exit 3"])
    assert (done.stdout, done.stderr, done.returncode, done.signal) == ("out\n", "err\n", 3, None)


def test_run_names_the_signal_as_a_shell_does():
    done = process.run(["sh", "-c", "kill -SEGV $$"])
    assert (done.returncode, done.signal) == (128 + 11, 11)
    assert process.signal_name(done.signal) == "SIGSEGV"
    assert process.signal_name(99) == "signal 99"


def test_run_adds_to_the_environment_and_changes_folder(tmp_path):
    done = process.run(["sh", "-c", 'echo $ROOFCTL_X $PWD; test -n "$PATH"'], env={"ROOFCTL_X": "é"}, cwd=tmp_path)
    assert done.stdout.split() == ["é", str(tmp_path)]


def test_run_gives_no_input_and_survives_bytes_that_are_no_text():
    done = process.run(["sh", "-c", r"cat; printf '\377x'"])
    assert done.stdout == "\ufffdx"


def test_checked_raises_with_the_end_of_the_output():
    assert process.run(["true"]).checked().returncode == 0
    with pytest.raises(ToolFailed, match=r"sh exited 2:\n  line3\n(.*\n){4}  line8$") as caught:
        process.run(["sh", "-c", "for i in 1 2 3 4 5 6 7 8; do echo line$i; done; exit 2"]).checked("do this")
    assert caught.value.hint == "do this"
    with pytest.raises(ToolFailed, match=r"false exited 1 and printed nothing$"):
        process.run(["false"]).checked()
    with pytest.raises(ToolFailed, match="ended by SIGKILL"):
        process.run(["sh", "-c", "kill -9 $$"]).checked()


@pytest.mark.parametrize(
    ("argv", "text"), [(["/nosuch/tool"], "no such program"), (["/etc/hostname"], "cannot be run")]
)
@pytest.mark.parametrize("start", [process.run, process.stream])
def test_what_cannot_start_is_not_found(argv, text, start):
    with pytest.raises(ToolNotFound, match=text):
        start(argv)


def test_a_file_that_is_no_program_is_not_found(tmp_path):
    path = tmp_path / "tool"
    path.write_bytes(b"\x7fELF nonsense")
    path.chmod(0o755)
    with pytest.raises(ToolNotFound, match="cannot be run"):
        process.run([path])


def test_run_past_its_time_is_stopped_with_its_children(tmp_path):
    began = time.monotonic()
    with pytest.raises(ToolTimeout, match=r"within 0.3 s"):
        process.run(["sh", "-c", f"sleep 60 & echo $! > {tmp_path}/pid; wait | cat"], timeout=0.3)
    assert time.monotonic() - began < 5
    assert wait_for(lambda: not alive(int((tmp_path / "pid").read_text())))


def test_stream_leaves_output_alone(capfd):
    done = process.stream(["sh", "-c", "echo out; echo err >&2; exit 4"])
    assert capfd.readouterr() == ("out\n", "err\n")
    assert (done.returncode, done.stopped, done.signal) == (4, None, None)


def test_stream_polls_while_it_waits_and_once_more():
    calls = []
    process.stream(["sleep", "0.5"], poll=lambda: calls.append(time.monotonic()))
    assert len(calls) >= 4


def test_stream_times_out_by_interrupt_first(tmp_path):
    script = f"trap 'echo interrupted > {tmp_path}/how; exit 5' INT; while :; do sleep 0.05; done"
    done = process.stream(["sh", "-c", script], timeout=0.3, patience=SOON)
    assert (done.stopped, done.returncode) == ("timeout", 5)
    assert (tmp_path / "how").read_text() == "interrupted\n"


def test_stream_terminates_what_ignores_an_interrupt(tmp_path):
    script = f"trap '' INT; trap 'echo term > {tmp_path}/how; exit 6' TERM; while :; do sleep 0.05; done"
    done = process.stream(["sh", "-c", script], timeout=0.2, patience=SOON)
    assert (done.stopped, done.returncode) == ("timeout", 6)


def test_stream_kills_the_deaf_and_those_who_left_the_group(tmp_path):
    script = (
        f"trap '' INT TERM; setsid sh -c 'trap \"\" TERM; echo $$ > {tmp_path}/far; while :; do sleep 0.05; done' & "
        f"sh -c 'trap \"\" INT TERM; echo $$ > {tmp_path}/near; while :; do sleep 0.05; done' & while :; do sleep 0.05; done"
    )
    done = process.stream(["sh", "-c", script], timeout=0.5, patience=SOON)
    assert (done.stopped, done.signal) == ("timeout", signal.SIGKILL)
    for name in ("far", "near"):
        assert not alive(int((tmp_path / name).read_text()))


def test_stream_waits_for_children_that_outlive_a_stopped_profiler(tmp_path):
    script = (
        f'sh -c \'trap "" INT; trap "echo late > {tmp_path}/how; exit" TERM; while :; do sleep 0.05; done\' & '
        "trap 'exit 0' INT; while :; do sleep 0.05; done"
    )
    done = process.stream(["sh", "-c", script], timeout=0.3, patience=SOON)
    assert (done.stopped, done.returncode) == ("timeout", 0)
    assert (tmp_path / "how").read_text() == "late\n"


def test_a_profiler_that_dies_of_ctrl_c_leaves_no_deaf_application(tmp_path):
    # The application stays in the group, but is nobody's child that we know.
    script = f"sh -c 'trap \"\" INT TERM; echo $$ > {tmp_path}/pid; while :; do sleep 0.05; done' & wait"
    sent = []

    def poll() -> None:
        if not sent and (tmp_path / "pid").exists() and (tmp_path / "pid").read_text():
            sent.append(os.kill(os.getpid(), signal.SIGINT))

    done = process.stream(["sh", "-c", script], poll=poll, patience=SOON)
    assert done.stopped == "interrupt"
    assert not alive(int((tmp_path / "pid").read_text()))


def test_a_worker_that_left_is_known_from_before_its_parent_ended(tmp_path):
    worker = f"setsid sh -c 'trap \"\" INT; echo $$ > {tmp_path}/pid; while :; do sleep 0.05; done'"
    sent = []

    def poll() -> None:
        if not sent and time.monotonic() - began > 2.5:
            sent.append(os.kill(os.getpid(), signal.SIGINT))

    began = time.monotonic()
    done = process.stream(["sh", "-c", f"{worker} & sleep 60"], poll=poll, patience=SOON)
    assert done.stopped == "interrupt"
    assert not alive(int((tmp_path / "pid").read_text()))


def test_what_an_application_leaves_running_is_its_own_business(tmp_path):
    done = process.stream(["sh", "-c", f"sleep 5 & echo $! > {tmp_path}/pid"], patience=SOON)
    assert done.stopped is None
    pid = int((tmp_path / "pid").read_text())
    assert alive(pid)
    os.kill(pid, signal.SIGKILL)


def test_stream_leaves_nobody_behind_when_the_caller_fails(tmp_path):
    def poll() -> None:
        if (tmp_path / "pid").exists():
            raise RuntimeError("mine")

    with pytest.raises(RuntimeError, match="mine"):
        process.stream(["sh", "-c", f"echo $$ > {tmp_path}/pid; sleep 60"], poll=poll)
    assert wait_for(lambda: not alive(int((tmp_path / "pid").read_text())))


@pytest.mark.parametrize(
    ("number", "reason"), [(signal.SIGINT, "interrupt"), (signal.SIGTERM, "terminate"), (signal.SIGHUP, "terminate")]
)
def test_signals_to_us_stop_the_group(number, reason):
    sent = []

    def poll() -> None:
        if not sent:
            sent.append(os.kill(os.getpid(), number))

    before = signal.getsignal(number)
    done = process.stream(["sh", "-c", "trap 'exit 9' INT; while :; do sleep 0.05; done"], poll=poll, patience=SOON)
    assert (done.stopped, done.returncode) == (reason, 9)
    assert signal.getsignal(number) is before


def test_a_second_interrupt_does_not_wait():
    times = []

    def poll() -> None:
        times.append(time.monotonic())
        if len(times) in (3, 6):
            os.kill(os.getpid(), signal.SIGINT)

    began = time.monotonic()
    done = process.stream(["sh", "-c", "trap '' INT; while :; do sleep 0.05; done"], poll=poll, patience=(60, 60))
    assert done.stopped == "interrupt"
    assert done.signal == signal.SIGTERM
    assert time.monotonic() - began < 10


def test_ignored_signals_stay_ignored():
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        sent = []

        def poll() -> None:
            if not sent:
                sent.append(os.kill(os.getpid(), signal.SIGHUP))

        assert process.stream(["sleep", "0.3"], poll=poll).stopped is None
    finally:
        signal.signal(signal.SIGHUP, before)


def test_family_forgets_numbers_that_are_used_again():
    child = subprocess.Popen(["sleep", "60"])
    family = Family(child.pid)
    family.look()
    assert family.alive()
    family._known = {pid: known._replace(started="0") for pid, known in family._known.items()}
    assert not family.alive()
    child.kill()
    child.wait()


# On a terminal -----------------------------------------------------------------------------------------------

PROGRAM = textwrap.dedent(
    """
    import fcntl, sys, termios
    fcntl.ioctl(0, termios.TIOCSCTTY, 0)
    from roofctl.core import process
    done = process.stream(["sh", "-c", sys.argv[1]], patience=(1, 1))
    print("DONE", done.stopped, done.returncode, flush=True)
    print("MINE", sys.stdin.readline().strip(), flush=True)
    """
)


class Terminal:
    """Our stream() in a child that has a terminal of its own."""

    def __init__(self, script: str) -> None:
        self.seen = ""
        self.master, other = os.openpty()
        command = [sys.executable, "-c", PROGRAM, script]
        self.child = subprocess.Popen(command, stdin=other, stdout=other, stderr=other, start_new_session=True)
        os.close(other)

    def write(self, text: str) -> None:
        os.write(self.master, text.encode())

    def expect(self, text: str, seconds: float = 10.0) -> str:
        limit = time.monotonic() + seconds
        while text not in self.seen and time.monotonic() < limit:
            if select.select([self.master], [], [], 0.1)[0]:
                try:
                    self.seen += os.read(self.master, 4096).decode(errors="replace")
                except OSError:
                    break
        assert text in self.seen, self.seen
        return self.seen

    def close(self) -> None:
        self.child.kill()
        self.child.wait()
        os.close(self.master)


@pytest.fixture
def on_terminal():
    opened: list[Terminal] = []

    def start(script: str) -> Terminal:
        opened.append(Terminal(script))
        return opened[-1]

    yield start
    for terminal in opened:
        terminal.close()


def test_an_application_can_read_the_terminal_and_we_get_it_back(on_terminal):
    terminal = on_terminal("echo ready; read x; echo got-$x")
    terminal.expect("ready")
    terminal.write("hello\n")
    terminal.expect("got-hello")
    terminal.expect("DONE None 0")
    terminal.write("again\n")
    terminal.expect("MINE again")


def test_ctrl_c_on_the_terminal_is_an_interrupt(on_terminal):
    terminal = on_terminal("trap 'exit 3' INT; echo ready; while :; do sleep 0.05; done")
    terminal.expect("ready")
    terminal.write("\x03")
    terminal.expect("DONE interrupt 3", seconds=0.9)
    terminal.write("again\n")
    terminal.expect("MINE again")


def test_ctrl_c_on_the_terminal_ends_those_who_ignore_it(on_terminal, tmp_path):
    terminal = on_terminal(
        f"sh -c 'trap \"\" INT TERM; echo $$ > {tmp_path}/pid; echo ready; while :; do sleep 0.05; done' & wait"
    )
    terminal.expect("ready")
    terminal.write("\x03")
    terminal.expect("DONE interrupt")
    assert not alive(int((tmp_path / "pid").read_text()))


def test_ctrl_c_twice_on_the_terminal_goes_on_to_terminate(on_terminal):
    terminal = on_terminal("trap 'echo no' INT; trap 'exit 4' TERM; echo ready; while :; do sleep 0.05; done")
    terminal.expect("ready")
    terminal.write("\x03")
    terminal.expect("no")
    time.sleep(0.4)
    terminal.write("\x03")
    terminal.expect("DONE interrupt 4", seconds=0.9)


def test_ctrl_z_and_back(on_terminal):
    # Without a shell to stop into, being continued follows at once: the application must go on and hear us.
    terminal = on_terminal("echo ready; read x; echo got-$x")
    terminal.expect("ready")
    terminal.write("\x1a")
    time.sleep(0.5)
    terminal.write("hello\n")
    terminal.expect("got-hello")
    terminal.expect("DONE None 0")


@pytest.mark.parametrize("descriptors", [True, False])
def test_the_end_of_a_child_is_seen_with_or_without_process_descriptors(monkeypatch, descriptors):
    if not descriptors:
        monkeypatch.delattr(os, "pidfd_open")
    assert process.stream(["sh", "-c", "sleep 0.3; exit 5"]).returncode == 5

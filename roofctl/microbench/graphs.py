"""CUDA graphs through the driver's own library: pycuda has no call for them."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from typing import Any, Final

from roofctl.core.errors import DeviceError

_LIBRARY: Final = "libcuda.so.1"
_RELAXED: Final = 2
"""CU_STREAM_CAPTURE_MODE_RELAXED: Python may free memory of its own while a stream is captured."""
_HINT: Final = "the interval between launches in a stream is measured without graphs"


class Graphs:
    """Makes, launches and destroys graphs; a handle is the address that the driver gave."""

    def __init__(self, library: Any) -> None:
        self._cuda = library

    @classmethod
    def open(cls, load: Callable[[str], Any] = ctypes.CDLL) -> Graphs:
        """The driver's library; raises DeviceError where it is missing."""
        try:
            return cls(load(_LIBRARY))
        except OSError as error:
            raise DeviceError(f"CUDA graphs need {_LIBRARY}: {error}") from error

    def capture(self, stream: int, submit: Callable[[], None]) -> int:
        """The executable graph of what ``submit`` puts into ``stream``, which must hold nothing else.

        Raises DeviceError when the driver has no graphs or refuses one.
        """
        graph = ctypes.c_void_p()
        self._call("cuStreamBeginCapture_v2", ctypes.c_void_p(stream), ctypes.c_int(_RELAXED))
        try:
            submit()
        finally:
            # Whatever happened, the stream must not stay captured.
            code = self._function("cuStreamEndCapture")(ctypes.c_void_p(stream), ctypes.byref(graph))
        self._check("cuStreamEndCapture", code)
        try:
            return self._instantiate(graph)
        finally:
            self._call("cuGraphDestroy", graph)

    def launch(self, graph: int, stream: int) -> None:
        """Queue one run of an executable graph."""
        self._call("cuGraphLaunch", ctypes.c_void_p(graph), ctypes.c_void_p(stream))

    def destroy(self, graph: int) -> None:
        """Give an executable graph back."""
        self._call("cuGraphExecDestroy", ctypes.c_void_p(graph))

    def _instantiate(self, graph: ctypes.c_void_p) -> int:
        made = ctypes.c_void_p()
        if getattr(self._cuda, "cuGraphInstantiateWithFlags", None) is not None:
            self._call("cuGraphInstantiateWithFlags", ctypes.byref(made), graph, ctypes.c_ulonglong(0))
        else:
            # Before CUDA 11.4; the last three are for a message about a bad node.
            self._call("cuGraphInstantiate_v2", ctypes.byref(made), graph, None, None, ctypes.c_size_t(0))
        if not made.value:
            raise DeviceError("the driver made no graph", hint=_HINT)
        return made.value

    def _call(self, name: str, *arguments: Any) -> None:
        self._check(name, self._function(name)(*arguments))

    def _function(self, name: str) -> Any:
        function = getattr(self._cuda, name, None)
        if function is None:
            raise DeviceError(f"this driver has no CUDA graphs ({name} is missing)", hint=_HINT)
        return function

    def _check(self, name: str, code: int) -> None:
        if code:
            text = ctypes.c_char_p()
            known = self._function("cuGetErrorName")(ctypes.c_int(code), ctypes.byref(text)) == 0 and text.value
            why = text.value.decode(errors="replace") if known and text.value else f"error {code}"
            raise DeviceError(f"{name} failed: {why}", hint=_HINT)

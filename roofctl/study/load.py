"""What a user names as input: files, capture folders, names of captures, or nothing for the newest one."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Final

from roofctl.captures import find as search
from roofctl.captures import read as captures
from roofctl.captures.manifest import ROOT, Manifest, is_capture
from roofctl.core.errors import InputError, RoofctlError
from roofctl.core.gpu import Gpu
from roofctl.core.kernel_filter import NameFilter
from roofctl.core.mangling import demangled_names
from roofctl.core.notes import Note
from roofctl.core.parallel import each, processors
from roofctl.launches.table import Part
from roofctl.readers import read as readers
from roofctl.readers.ncurep import packed
from roofctl.readers.numbers import DecimalSeparator
from roofctl.readers.recognise import kind_of
from roofctl.study.standard_input import STANDARD_INPUT, is_standard_input, kept

Watch = Callable[[int, int], None]
"""Called with the number of sources read so far and of all sources."""

_NAMED: Final = 8
"""Among up to as many inputs those that a user names must be readable; others that are not are left out."""
_LISTED: Final = 10
_FILE_SECONDS, _REPORT_SECONDS, _BYTES_PER_SECOND = 0.002, 0.1, 4e6
"""Rough cost of reading: per file, per report, and by size."""
_WORTH_SECONDS: Final = 2.0
"""Seconds that other processes must save at least: starting them takes one."""


@dataclass(frozen=True)
class Source:
    """One input: the files that hold its counts, and the manifest where it is a capture folder.

    ``rank`` is that of the manifest, else the one in the name. ``problem`` is why it cannot be read, where that is
    known already. ``found``: in a folder or by a pattern, not named by the user.
    """

    label: str
    files: tuple[Path, ...]
    manifest: Manifest | None = None
    rank: int | None = None
    problem: RoofctlError | None = None
    found: bool = False


@dataclass(frozen=True)
class Reading:
    """Labels and parts of the sources that could be read, and why the others could not."""

    labels: tuple[str, ...]
    parts: tuple[Part, ...]
    unread: tuple[RoofctlError, ...]

    def notes(self) -> list[Note]:
        """A warning for each source that is left out."""
        return left_out(self.unread)


def left_out(unread: Sequence[RoofctlError]) -> list[Note]:
    """A warning for each source that is left out; of very many, the rest of them only with -v."""
    notes = [Note(f"left out: {error.message}", warning=True) for error in unread]
    if len(notes) <= _LISTED:
        return notes
    more = Note(f"left out: {len(notes) - _LISTED:,} more inputs (-v names them)", warning=True)
    return [*notes[:_LISTED], more, *(replace(note, detail=True) for note in notes[_LISTED:])]


def locate(inputs: Sequence[Path], cwd: Path | None = None) -> list[Source]:
    """Sources that the inputs mean; no input means the newest capture in ``roofctl-captures``.

    An input may be a file, a capture, the name of one, a folder of them, or a pattern. Raises InputError for one
    that is none of these, and for a file that is named twice.
    """
    here = cwd or Path.cwd()
    sources: list[Source] = []
    for path in inputs or [captures.resolve(None, here)]:
        sources += _searched(path, here) or [_locate(path, here)]
    seen: set[Path] = set()
    for source in sources:
        for path in source.files:
            if path.resolve() in seen:
                raise InputError(f"{path} is given twice; its launches would count double", hint="give each file once")
            seen.add(path.resolve())
    return _labeled_apart(_ranked(sources), here)


def _labeled_apart(sources: Sequence[Source], here: Path) -> list[Source]:
    """The sources, captures of the same name labeled by their folders: labels tell captures apart."""
    labels = [source.label for source in sources]
    return [
        replace(source, label=os.path.relpath(source.files[0].parent, here))
        if labels.count(source.label) > 1 and source.manifest and source.files
        else source
        for source in sources
    ]


def _searched(path: Path, here: Path) -> list[Source]:
    """Sources in a folder that is no capture, or those that a pattern matches; empty for any other path."""
    if is_capture(here / path) or _is_capture_name(path, here):
        return []
    errors: list[OSError] = []
    if (here / path).is_dir():
        paths = search.inside(here / path, errors.append, kind_of)
    elif search.is_pattern(here / path):
        paths = [each for match in search.matching(path, here) for each in _expanded(match, here, errors)]
    else:
        return []

    def named(each: Path | str) -> Path:
        return Path(each) if path.is_absolute() else Path(os.path.relpath(each, here))

    return [*(_tried(named(each), here) for each in paths), *(_forbidden(named(e.filename), e) for e in errors)]


def _expanded(match: Path, here: Path, errors: list[OSError]) -> list[Path]:
    folder = (here / match).is_dir() and not is_capture(here / match)
    return search.inside(here / match, errors.append, kind_of) if folder else [here / match]


def _forbidden(folder: Path, error: OSError) -> Source:
    """A folder that cannot be read, below one that was searched."""
    problem = InputError(f"{folder} cannot be read: {error.strerror}", hint="ask its owner for the right to read it")
    return Source(str(folder), (), problem=problem, found=True)


def _tried(path: Path, here: Path) -> Source:
    try:
        return replace(_locate(path, here), found=True)
    except InputError as error:
        return Source(str(path), (), problem=error, found=True)


def _ranked(sources: Sequence[Source]) -> list[Source]:
    places = [source.files[0].parent if source.manifest and source.files else Path(source.label) for source in sources]
    ranks = search.ranks(places)
    return [
        replace(source, rank=source.manifest.rank if source.manifest and source.manifest.rank is not None else rank)
        for source, rank in zip(sources, ranks, strict=True)
    ]


def _locate(path: Path, here: Path) -> Source:
    if kind := search.special(here / path):
        raise InputError(
            f"{path} is a {kind}", hint="write it to a file, and give that file; or pipe it in, and give -"
        )
    if is_standard_input(path, here):
        return Source(STANDARD_INPUT, (kept(),))
    # A name without a suffix may be a capture's; anything else that is not there is a missing file.
    if (here / path).is_file() or (path.suffix and not (here / path).is_dir() and not _is_capture_name(path, here)):
        return Source(str(path), (path,))
    return _capture(captures.resolve(path, here))


def _is_capture_name(path: Path, here: Path) -> bool:
    return is_capture(here / ROOT / path)


def _capture(folder: Path) -> Source:
    return Source(folder.name, tuple(captures.data_files(folder)), captures.read_manifest(folder))


def read(sources: Sequence[Source], decimal: DecimalSeparator | None) -> list[Part]:
    """Parts of all sources, with the notes and GPU facts that a manifest adds to what its files say.

    Raises InputError (or CounterAccessError) for the first that cannot be read.
    """
    return [part for source in sources for part in read_one(source, decimal)]


def read_many(sources: Sequence[Source], decimal: DecimalSeparator | None, watch: Watch | None = None) -> Reading:
    """As ``read``, for few or many: found sources, and some of many, are left out where they cannot be read.

    Raises the error of the first that must be readable and is not, or that of the first when it is so with all.
    """
    labels: list[str] = []
    parts: list[Part] = []
    unread: list[RoofctlError] = []
    watch = watch or unwatched
    results = each(partial(_attempt, decimal), sources, worthwhile=worthwhile(sources), preload=[__name__])
    try:
        with closing(results):
            for source, result in zip(sources, results, strict=True):
                if isinstance(result, RoofctlError):
                    unread.append(result)
                    check_enough(source, unread, len(sources))
                else:
                    labels.append(source.label)
                    parts += result
                watch(len(labels) + len(unread), len(sources))
    finally:
        watch(len(sources), len(sources))
    return Reading(tuple(labels), tuple(parts), tuple(unread))


def check_enough(source: Source, unread: Sequence[RoofctlError], of: int) -> None:
    """Raise an error of sources that cannot be read, the last of them ``source``, unless they may be left out.

    They may when they were found, or are some of many; never all of them.
    """
    if of <= _NAMED and not source.found:
        raise unread[-1]
    if len(unread) == of:
        raise unread[0]


def unwatched(done: int, of: int) -> None:
    """The default of ``watch``: does nothing."""


def worthwhile(sources: Sequence[Source], more: float = 0.0) -> bool:
    """Whether several processes are faster than one on these sources, with ``more`` seconds of work on each."""
    files = [path for source in sources for path in source.files if path.is_file()]
    seconds = len(sources) * more + sum(path.stat().st_size for path in files) / _BYTES_PER_SECOND
    seconds += sum(_REPORT_SECONDS if path.suffix in (".ncu-rep", ".ncu-repz") else _FILE_SECONDS for path in files)
    return seconds * (1 - 1 / processors()) > _WORTH_SECONDS


def _attempt(decimal: DecimalSeparator | None, source: Source) -> list[Part] | RoofctlError:
    try:
        return read_one(source, decimal)
    except RoofctlError as error:
        return error


def read_one(source: Source, decimal: DecimalSeparator | None) -> list[Part]:
    """Parts of one source. Raises InputError (or CounterAccessError) when it cannot be read."""
    if source.problem:
        raise source.problem
    if source.label == STANDARD_INPUT:
        read = partial(readers.read_file, decimal=decimal)
        return [_demangled(part) for part in packed.read_as(source.files[0], Path(STANDARD_INPUT), read)]
    parts = [_demangled(part) for path in source.files for part in readers.read_file(path, decimal=decimal)]
    manifest = source.manifest
    if manifest is None:
        return parts
    gpu = _gpu(parts, manifest)
    parts = [_completed(part, source.label, manifest, gpu) for part in parts]
    return [replace(parts[0], notes=(*_notes(source.label, manifest), *parts[0].notes)), *parts[1:]]


def _demangled(part: Part) -> Part:
    """A part with its mangled kernel names demangled: that of a kernel is the same in every file."""
    forms = demangled_names(part.frame["kernel"].unique())
    if not forms:
        return part
    names = part.frame["kernel"]
    return replace(part, frame=part.frame.assign(kernel=names.map(forms).where(names.isin(list(forms)), names)))


def _gpu(parts: Sequence[Part], manifest: Manifest) -> Gpu | None:
    """The GPU of the manifest, or the one that a file names: nvidia-smi may number GPUs otherwise than CUDA does."""
    rows = [part.frame.dropna(subset=["device"]) for part in parts]
    named = next((frame.iloc[0] for frame in rows if len(frame)), None)
    if named is None or (manifest.gpu and manifest.gpu.name == named["device"]):
        return manifest.gpu
    capability = named["compute_capability"]
    return Gpu(named["device"], capability if isinstance(capability, str) else None)


def _completed(part: Part, label: str, manifest: Manifest, gpu: Gpu | None) -> Part:
    """A part under its capture's name, with the capture's GPU where the file names none."""
    frame = part.frame
    if manifest.filter_when_read:
        chosen = NameFilter(manifest.kernel, manifest.kernel_base, manifest.exclude)
        frame = frame[frame["kernel"].isin([name for name in frame["kernel"].unique() if chosen.keeps(name)])]
        if frame.empty:
            raise InputError(
                f"capture {label} holds no kernel that its own filters keep ({chosen.given()})",
                hint="capture again with other filters",
            )
    if gpu:
        for column, value in (("device", gpu.name), ("compute_capability", gpu.compute_capability)):
            if value and not frame[column].notna().any():
                frame = frame.assign(**{column: value})
    return replace(part, frame=frame, source=label)


def _notes(label: str, manifest: Manifest) -> list[Note]:
    """Notes on a capture: whether it is incomplete, what was not counted, clock and cache control."""
    reason = manifest.incomplete
    notes = [Note(f"incomplete capture {label}: {reason}", warning=True, incomplete=True)] if reason else []
    notes += [
        Note(f"capture {label}: {name} was not counted: {why}", detail=True) for name, why in manifest.left_out.items()
    ]
    controls = (("clock control", manifest.clock_control), ("cache control", manifest.cache_control))
    settings = ", ".join(f"{name} {value}" for name, value in controls if value)
    if settings:
        notes.append(Note(f"capture {label}: {manifest.profiler} {manifest.profiler_version}, {settings}", detail=True))
    return notes

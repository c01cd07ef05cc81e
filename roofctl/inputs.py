"""What a user names as input: files, capture folders, names of captures, or nothing for the newest one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from roofctl import captures, readers
from roofctl.captures import GpuFacts, Manifest
from roofctl.counts import Note, Part
from roofctl.errors import InputError
from roofctl.names import matches
from roofctl.readers.numbers import Mark


@dataclass(frozen=True)
class Source:
    """One input: the files that hold its counts, and the manifest where it is a capture folder."""

    label: str
    files: tuple[Path, ...]
    manifest: Manifest | None = None


def locate(inputs: Sequence[Path], cwd: Path | None = None) -> list[Source]:
    """Sources that the inputs mean; no input means the newest capture in ``roofctl-captures``.

    Raises InputError for a path that is neither, and for a file that is named twice.
    """
    here = cwd or Path.cwd()
    sources = [_locate(path, here) for path in inputs] if inputs else [_capture(captures.resolve(None, here))]
    seen: set[Path] = set()
    for source in sources:
        for path in source.files:
            if path.resolve() in seen:
                raise InputError(f"{path} is given twice; its launches would count double", hint="give each file once")
            seen.add(path.resolve())
    return sources


def _locate(path: Path, here: Path) -> Source:
    # A name without a suffix may be a capture's; anything else that is not there is a missing file.
    if (here / path).is_file() or (path.suffix and not (here / path).is_dir() and not _is_capture_name(path, here)):
        return Source(str(path), (path,))
    return _capture(captures.resolve(path, here))


def _is_capture_name(path: Path, here: Path) -> bool:
    return captures.is_capture(here / captures.ROOT / path)


def _capture(folder: Path) -> Source:
    return Source(folder.name, tuple(captures.data_files(folder)), captures.read_manifest(folder))


def read(sources: Sequence[Source], mark: Mark | None) -> list[Part]:
    """Parts of all sources, with the notes and GPU facts that a manifest adds to what its files say."""
    return [part for source in sources for part in _read(source, mark)]


def _read(source: Source, mark: Mark | None) -> list[Part]:
    parts = [part for path in source.files for part in readers.read_file(path, mark=mark)]
    manifest = source.manifest
    if manifest is None:
        return parts
    gpu = _gpu(parts, manifest)
    parts = [_completed(part, source.label, manifest, gpu) for part in parts]
    return [replace(parts[0], notes=(*_notes(source.label, manifest), *parts[0].notes)), *parts[1:]]


def _gpu(parts: Sequence[Part], manifest: Manifest) -> GpuFacts | None:
    """The GPU of the manifest, or the one that a file names: nvidia-smi may number GPUs otherwise than CUDA does."""
    rows = [part.frame.dropna(subset=["device"]) for part in parts]
    named = next((frame.iloc[0] for frame in rows if len(frame)), None)
    if named is None or (manifest.gpu and manifest.gpu.name == named["device"]):
        return manifest.gpu
    capability = named["compute_capability"]
    return GpuFacts(named["device"], capability if isinstance(capability, str) else None)


def _completed(part: Part, label: str, manifest: Manifest, gpu: GpuFacts | None) -> Part:
    """A part under its capture's name, with the capture's GPU where the file is silent."""
    frame = part.frame
    if manifest.filter_when_read:
        frame = frame[[matches(kernel, manifest.kernel, manifest.exclude) for kernel in frame["kernel"]]]
        if frame.empty:
            raise InputError(
                f"capture {label} holds no kernel that its own filters keep "
                f"(--kernel {manifest.kernel!r} --exclude {manifest.exclude!r})",
                hint="capture again with other filters",
            )
    if gpu:
        for column, value in (("device", gpu.name), ("compute_capability", gpu.compute_capability)):
            if value and not frame[column].notna().any():
                frame = frame.assign(**{column: value})
    return replace(part, frame=frame, source=label)


def _notes(label: str, manifest: Manifest) -> list[Note]:
    """What the manifest says that a reader of the numbers must know."""
    notes = [Note(f"capture {label}: {manifest.incomplete}", warning=True)] if manifest.incomplete else []
    notes += [Note(f"capture {label}: {name} was not counted: {why}") for name, why in manifest.left_out.items()]
    controls = (("clock control", manifest.clock_control), ("cache control", manifest.cache_control))
    said = ", ".join(f"{name} {value}" for name, value in controls if value)
    if said:
        notes.append(Note(f"capture {label}: {manifest.profiler} {manifest.profiler_version}, {said}", detail=True))
    return notes

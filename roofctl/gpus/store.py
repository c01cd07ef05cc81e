"""Where GPU profiles live, and how a name or a device finds one.

Order of the layers: a path, ``./profiles``, the user's folder, the shipped ones.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from roofctl.core.errors import InputError, RoofctlError
from roofctl.core.profile_files import MEASURED_SUFFIX, Layer, is_measured, layers, profile_files, user_profiles
from roofctl.core.resources import shipped
from roofctl.gpus.check import load_measured, load_profile
from roofctl.gpus.light import LightFile, is_light, load_light
from roofctl.gpus.schema import NAME_PATTERN, GpuProfile, Measured
from roofctl.gpus.yamlfile import read_document

_NAME_HINT: Final = "roofctl gpus list shows every name; roofctl gpus new NAME starts a new one"


@dataclass(frozen=True)
class FoundProfile:
    """A GPU profile, its file, how it was found ("alias a100 -> a100-sxm4-40gb") and in which layer."""

    profile: GpuProfile
    path: Path
    how: str
    layer: Layer

    @property
    def gpu(self) -> str:
        """The GPU as ceilings name it: the profile's name, or the device's own where no profile describes it."""
        return self.profile.description if self.layer == "report" else self.profile.name


@dataclass(frozen=True)
class ProfileIndex:
    """All GPU profiles that names can reach, and the files that cannot be read as one."""

    found: tuple[FoundProfile, ...]
    broken: tuple[tuple[Path, InputError], ...]


def profile_index(cwd: Path | None = None, names: Collection[str] | None = None) -> ProfileIndex:
    """Every reachable GPU profile, or those of these names, first layer first; one name appears once."""
    found: dict[str, FoundProfile] = {}
    broken: list[tuple[Path, InputError]] = []
    for layer, folder in layers(cwd):
        for path in profile_files(folder):
            if path.stem in found or (names is not None and path.stem not in names):
                continue
            try:
                found[path.stem] = FoundProfile(load_profile(path), path, f"name {path.stem}", layer)
            except InputError as error:
                if not _holds_ceilings(path):
                    broken.append((path, error))
    return ProfileIndex(tuple(found.values()), tuple(broken))


def profiles_with_text(text: str, cwd: Path | None = None) -> tuple[FoundProfile, ...]:
    """Readable GPU profiles whose name some file has that holds ``text``, in any case: only these are parsed."""

    def has_text(path: Path) -> bool:
        try:
            return text.casefold() in " ".join(path.read_text(encoding="utf-8").split()).casefold()
        except (OSError, ValueError):
            return False

    names = {path.stem for _, folder in layers(cwd) for path in profile_files(folder) if has_text(path)}
    return profile_index(cwd, names).found


def all_profiles(cwd: Path | None = None) -> tuple[FoundProfile, ...]:
    """Every readable GPU profile that a name can reach."""
    return profile_index(cwd).found


def find_profile(name_or_path: str | Path, *, cwd: Path | None = None) -> FoundProfile:
    """The GPU profile that a user means: a path (with a slash or ending in .yaml), a name or an alias.

    Names ignore case and take ``_`` and space for ``-``. Raises InputError with near matches.
    """
    text = str(name_or_path).strip()
    if isinstance(name_or_path, Path) or "/" in text or text.endswith(".yaml"):
        return _by_path(text, cwd)
    name = canonical(text)
    for layer, folder in layers(cwd):
        files = profile_files(folder)
        exact = next((path for path in files if canonical(path.stem) == name), None)
        if exact is not None:
            return FoundProfile(_complete(exact), exact, f"name {exact.stem}", layer)
        aliased = _by_alias(name, files, layer)
        if aliased is not None:
            return aliased
    raise _unknown(text, profile_index(cwd))


def find_light(
    name_or_path: str | Path, own_levels: tuple[str, ...] = (), *, cwd: Path | None = None
) -> LightFile | None:
    """The file of ceilings that a user means by a path or a name; None where it is none of that kind.

    ``own_levels`` are memory levels of the user's own. Raises InputError that lists what is wrong with it.
    """
    text = str(name_or_path).strip()
    if isinstance(name_or_path, Path) or "/" in text or text.endswith(".yaml"):
        path = Path(text).expanduser()
        paths = [path if path.is_absolute() or cwd is None else cwd / path]
    else:
        name = canonical(text)
        named = (path for _, folder in layers(cwd) for path in profile_files(folder) if canonical(path.stem) == name)
        paths = [*named][:1]
    usable = [path for path in paths if path.is_file() and not is_measured(path)]
    if not usable or not is_light(document := read_document(usable[0])):
        return None
    return load_light(usable[0], document, own_levels)


def _holds_ceilings(path: Path) -> bool:
    try:
        return is_light(read_document(path))
    except InputError:
        return False


def canonical(name: str) -> str:
    """A name as lookups compare it: lower case, ``-`` for ``_`` and space."""
    return re.sub(r"[\s_]+", "-", name.strip()).casefold()


def checked_name(name: str) -> str:
    """``name`` in the form that files carry; raises InputError when it cannot be one."""
    plain = canonical(name.removesuffix(".yaml"))
    if not re.match(NAME_PATTERN, plain) or is_measured(Path(f"{plain}.yaml")):
        raise InputError(
            f"{name!r} cannot be the name of a GPU profile",
            hint="use lower-case letters, digits, - and ., for example my-h200",
        )
    return plain


def is_packaged(name: str) -> bool:
    """Whether roofctl ships a GPU profile under this very name."""
    return (shipped("profiles") / f"{name}.yaml").is_file()


def write_profile(path: Path, text: str, *, force: bool) -> None:
    """Write a new GPU profile; raises InputError for a file that exists, unless ``force`` replaces it."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("w" if force else "x", encoding="utf-8") as file:
            file.write(text)
    except FileExistsError as error:
        raise InputError(f"{path} exists", hint="choose another name, or replace it with --force") from error
    except OSError as error:
        raise RoofctlError(f"{path} cannot be written: {error.strerror or error}") from error


def find_measured(found: FoundProfile) -> Measured | None:
    """The measured result that belongs to a profile: beside its file or in the user's folder.

    The user's own result goes before one that lies beside a shipped profile.
    """
    if found.layer == "report":
        return None
    name = f"{found.profile.name}{MEASURED_SUFFIX}"
    places = [found.path.parent / name, user_profiles() / name]
    if found.layer == "packaged":
        places.reverse()
    path = next((place for place in places if place.is_file()), None)
    if path is None:
        return None
    measured = load_measured(path)
    if measured.profile != found.profile.name:
        raise InputError(
            f"{path} holds results of {measured.profile}, not of {found.profile.name}",
            hint=f"rename it to {measured.profile}{MEASURED_SUFFIX}",
        )
    return measured


def alias_clashes(files: tuple[Path, ...]) -> Iterator[str]:
    """Names and aliases that several profiles of one folder claim, one sentence each."""
    owners: dict[str, list[str]] = {}
    for found in _readable(files):
        for name in dict.fromkeys(map(canonical, (found.profile.name, *found.profile.aliases))):
            owners.setdefault(name, []).append(found.path.name)
    for name, paths in sorted(owners.items()):
        if len(paths) > 1:
            yield f"the name {name} belongs to {' and '.join(paths)}"


def _by_path(text: str, cwd: Path | None) -> FoundProfile:
    path = Path(text).expanduser()
    path = path if path.is_absolute() or cwd is None else cwd / path
    if is_measured(path):
        raise InputError(
            f"{path} is a measured result, not a GPU profile",
            hint=f"name the profile it belongs to: {path.name.removesuffix(MEASURED_SUFFIX)}",
        )
    if not path.is_file():
        raise InputError(f"there is no GPU profile at {path}", hint=_NAME_HINT)
    return FoundProfile(_complete(path), path, f"path {path}", "path")


def _complete(path: Path) -> GpuProfile:
    """The GPU profile in ``path``. Raises InputError for a file of ceilings, which lacks the facts of a GPU."""
    if is_light(read_document(path)):
        raise InputError(
            f"{path} holds ceilings only, not the facts of a GPU",
            hint="report, plot, gpus show and gpus validate take it; elsewhere name a GPU profile (roofctl gpus list)",
        )
    return load_profile(path)


def _by_alias(name: str, files: tuple[Path, ...], layer: Layer) -> FoundProfile | None:
    owners = [found for found in _readable(files) if name in map(canonical, found.profile.aliases)]
    if len(owners) > 1:
        paths = " and ".join(str(found.path) for found in owners)
        raise InputError(f"the alias {name} belongs to {paths}", hint="take it out of all but one")
    if not owners:
        return None
    owner = owners[0]
    return FoundProfile(owner.profile, owner.path, f"alias {name} -> {owner.profile.name}", layer)


def _readable(files: tuple[Path, ...]) -> Iterator[FoundProfile]:
    """The profiles that load; a broken file must not stop the lookup of another name."""
    for path in files:
        try:
            profile = load_profile(path)
        except InputError:
            continue
        yield FoundProfile(profile, path, "", "path")


def _unknown(text: str, known: ProfileIndex) -> InputError:
    names = [name for found in known.found for name in (found.profile.name, *found.profile.aliases)]
    wanted = canonical(text)
    near = difflib.get_close_matches(wanted, names, n=5, cutoff=0.5)
    message = f"there is no GPU profile named {text!r}"
    if near:
        message += f"; near: {', '.join(near)}"
    if known.broken:
        message += "".join(f"\n  not looked into, since it cannot be read: {path}" for path, _ in known.broken)
    return InputError(message, hint=_NAME_HINT)

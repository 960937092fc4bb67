"""What a source's name stands for: folder, GGUF file, adapter on a base, or a hub snapshot."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from pathlib import Path

from rewardable.engines.hf.digests import weight_files, weights_digest
from rewardable.errors import ConfigError, DataError

ADAPTER_CONFIG = "adapter_config.json"
HUB_PATTERNS = ["*.safetensors", "*.json", "*.model", "*.txt", "*.jinja"]


@dataclass(frozen=True, kw_only=True)
class Checkpoint:
    """Local files of a policy. ``gguf`` is a file name in ``folder``, ``adapter`` a folder."""

    source: str
    folder: Path
    gguf: str = ""
    adapter: Path | None = None

    @property
    def weights(self) -> str:
        """Digest of the weights, without the adapter's."""
        files = [self.folder / self.gguf] if self.gguf else model_files(self.folder)
        return weights_digest(files)

    @property
    def adapter_digest(self) -> str:
        """Digest of the adapter's weights and scale, or ``""``."""
        if self.adapter is None:
            return ""
        files = weight_files(self.adapter, "adapter_model")
        return weights_digest([*files, self.adapter / ADAPTER_CONFIG])

    @property
    def name(self) -> str:
        """Short name for people: the folder's, with its parent's for a trainer's checkpoint."""
        path = Path(self.source)
        if path.name.startswith("checkpoint") and path.resolve().parent.name:
            return f"{path.resolve().parent.name}/{path.name}"
        return path.name.removesuffix(".gguf") or path.resolve().name


def locate(source: str, adapter: str = "") -> Checkpoint:
    """Find the files of ``source``; ConfigError says what is missing and what was expected."""
    path = Path(source).expanduser()
    if path.is_file():
        if path.suffix != ".gguf":
            raise ConfigError(f"{source} is a file; expected a folder or a .gguf file.")
        found = Checkpoint(source=source, folder=path.parent, gguf=path.name)
    elif path.is_dir():
        found = _in_folder(source, path)
    else:
        found = Checkpoint(source=source, folder=_download(source))
    if not adapter:
        return found
    if found.adapter is not None:
        raise ConfigError(f"{source} is an adapter already; adapter={adapter!r} cannot be added.")
    if not (Path(adapter) / ADAPTER_CONFIG).is_file():
        raise ConfigError(f"adapter folder {adapter} has no {ADAPTER_CONFIG}.")
    return replace(found, adapter=Path(adapter), source=adapter)


def _in_folder(source: str, folder: Path) -> Checkpoint:
    has_model = (folder / "config.json").is_file() and bool(model_files(folder))
    if (folder / ADAPTER_CONFIG).is_file():
        if has_model:
            raise ConfigError(
                f"{source} holds a whole model and an adapter, so it is unclear which is meant: "
                f"move one away, or name the base and pass adapter={source!r}."
            )
        return _on_base(source, folder)
    if has_model:
        return Checkpoint(source=source, folder=folder)
    gguf = sorted(folder.glob("*.gguf"))
    if len(gguf) == 1:
        return Checkpoint(source=source, folder=folder, gguf=gguf[0].name)
    inside = sorted(p.parent.name for p in folder.glob("*/config.json"))
    hint = f" Did you mean one of its folders: {', '.join(inside)}?" if inside else ""
    raise ConfigError(
        f"{source} holds no model: expected config.json with weights, {ADAPTER_CONFIG}, "
        f"or one .gguf file (found {len(gguf)}).{hint}"
    )


def _on_base(source: str, folder: Path) -> Checkpoint:
    """Resolve an adapter's base. A base that cannot be had is an error that names it."""
    raw = json.loads((folder / ADAPTER_CONFIG).read_text(encoding="utf-8"))
    base = raw.get("base_model_name_or_path") or ""
    if not base:
        raise ConfigError(f"{source}/{ADAPTER_CONFIG} names no base_model_name_or_path.")
    if not weight_files(folder, "adapter_model"):
        raise ConfigError(f"{source} has {ADAPTER_CONFIG} but no adapter_model.safetensors.")
    beside = folder / base
    try:
        found = locate(str(beside) if beside.is_dir() and not Path(base).exists() else base)
    except ConfigError as error:
        raise ConfigError(
            f"{source} is an adapter on the base {base!r}, which cannot be opened ({error}). "
            f"Put the base there, or open the base and pass adapter={source!r}."
        ) from error
    if found.adapter is not None:
        raise ConfigError(f"{source} is an adapter on {base!r}, which is an adapter itself.")
    return replace(found, adapter=folder, source=source)


def model_files(folder: Path) -> list[Path]:
    """Return the files with a whole model's weights."""
    return weight_files(folder, "model") or weight_files(folder, "pytorch_model")


def _download(source: str) -> Path:
    """Return the local snapshot of a hub model, downloading what is missing."""
    from huggingface_hub import snapshot_download
    from huggingface_hub.errors import HfHubHTTPError, HFValidationError

    if source.count("/") > 1 or source.startswith((".", "/", "~")):
        raise ConfigError(f"no such folder or file: {source}.")
    try:
        folder = Path(snapshot_download(source, allow_patterns=HUB_PATTERNS))
        if not model_files(folder):
            folder = Path(snapshot_download(source, allow_patterns=[*HUB_PATTERNS, "*.bin"]))
    except (HFValidationError, HfHubHTTPError, OSError) as error:
        first = str(error).strip().split("\n")[0]
        raise ConfigError(
            f"{source!r} is no local folder, and the hub gave no such model: {first}"
        ) from error
    if not model_files(folder):
        raise DataError(f"the hub's {source!r} holds no weights that transformers reads.")
    return folder

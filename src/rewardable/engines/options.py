"""How an engine is opened."""

from __future__ import annotations

from dataclasses import dataclass

from rewardable.errors import ConfigError, unknown_name

DEVICES_NOTE = "'auto', 'cpu', 'cuda', 'cuda:1', 'mps'"
DTYPES = ("auto", "float32", "bfloat16", "float16")
PROMPT_FORMATS = ("auto", "chat", "raw")


@dataclass(frozen=True, kw_only=True, slots=True)
class EngineOptions:
    """Where and how a policy runs. None of these fields but the template changes its key.

    device: ``auto`` takes a GPU when there is one. device_map: as in transformers.
    dtype: ``auto`` is bfloat16 where the processor gains from it, else float32.
    adapter: folder of a LoRA adapter to put on the source.
    template_from: folder, hub id, GGUF or ``.jinja`` file whose chat template is used.
    prompt_format: ``chat`` wants a chat template, ``raw`` uses none, ``auto`` one if it is there.
    batch_rows: most sequences decoded at once; 0 chooses from model size and memory.
    arguments: ``ENGINE.KEY=VALUE`` texts for the engines ``http`` and ``vllm``.
    shared_prefix: let the samples of a prompt share its key-value cache where the model allows.
    """

    device: str = "auto"
    dtype: str = "auto"
    device_map: str = ""
    adapter: str = ""
    template_from: str = ""
    prompt_format: str = "auto"
    batch_rows: int = 0
    shared_prefix: bool = True
    arguments: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        """Refuse unknown names and a negative batch with a ConfigError."""
        if self.dtype not in DTYPES:
            raise unknown_name("dtype", self.dtype, DTYPES)
        if self.prompt_format not in PROMPT_FORMATS:
            raise unknown_name("prompt format", self.prompt_format, PROMPT_FORMATS)
        if self.batch_rows < 0:
            raise ConfigError(f"batch_rows must be >= 0 (0 is automatic), got {self.batch_rows}.")
        if not self.device:
            raise ConfigError(f"device must be one of {DEVICES_NOTE}, got ''.")

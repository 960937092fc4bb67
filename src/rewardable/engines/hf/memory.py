"""How many rows fit, and what an allocator's refusal looks like."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Any

import torch

ROWS_MOST = 2048
ROWS_CPU_LARGE = 128
"""Above about this many rows a model of 100 M parameters gains nothing on a CPU: it computes."""
SMALL_PARAMETERS = 20_000_000
MEMORY_SHARE = 0.4


def is_out_of_memory(error: BaseException) -> bool:
    """Tell whether ``error`` is an allocation that failed, on a GPU or in main memory."""
    if isinstance(error, torch.OutOfMemoryError | MemoryError):
        return True
    text = str(error).lower()
    signs = ("out of memory", "can't allocate memory", "not enough memory", "alloc_cpu")
    return isinstance(error, RuntimeError) and any(sign in text for sign in signs)


def free_memory(device: torch.device) -> int:
    """Return the bytes that are free on ``device`` now."""
    if device.type == "cuda":
        return int(torch.cuda.mem_get_info(device)[0])
    return os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")


@dataclass(frozen=True, kw_only=True)
class RowCost:
    """Bytes that one decoded row needs: cached tokens, and logits with their probabilities."""

    per_token: int
    vocabulary: int

    @classmethod
    def of(cls, model: Any) -> RowCost:
        """Read the cost from the model's configuration; unknown parts count as a usual size."""
        config = model.config.get_text_config()
        heads = getattr(config, "num_attention_heads", 8)
        width = getattr(config, "head_dim", None) or config.hidden_size // heads
        kv_heads = getattr(config, "num_key_value_heads", None) or heads
        item = torch.finfo(next(model.parameters()).dtype).bits // 8
        layers = getattr(config, "num_hidden_layers", 32)
        return cls(per_token=2 * layers * kv_heads * width * item, vocabulary=config.vocab_size)

    def rows(self, memory: int, tokens: int) -> int:
        """Return how many rows of ``tokens`` fit into the planned share of ``memory`` bytes."""
        row = self.per_token * tokens * 2 + self.vocabulary * 24
        return max(1, int(memory * MEMORY_SHARE) // max(row, 1))


def automatic_rows(model: Any, device: torch.device, tokens: int) -> int:
    """Choose the batch size for rows of ``tokens`` tokens (prompt and completion)."""
    parameters = sum(p.numel() for p in model.parameters())
    most = ROWS_MOST
    if device.type == "cpu" and parameters > SMALL_PARAMETERS:
        most = ROWS_CPU_LARGE
    return max(1, min(most, RowCost.of(model).rows(free_memory(device), tokens)))

"""Over how many processes a run is spread."""

from __future__ import annotations

import torch
from accelerate import PartialState


def processes() -> PartialState:
    """Return this process's place among all; accelerate is told where there is no accelerator.

    Untold, it takes each of several processes on processors for the only one.
    """
    return PartialState(cpu=not torch.cuda.is_available())

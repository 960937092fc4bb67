"""What TRL's trainers log, ours among it, into the log book."""

from __future__ import annotations

from typing import Any

from transformers import TrainerCallback

from rewardable.train.logs.book import LogBook


class StepLog(TrainerCallback):
    """Keeps a :class:`LogBook` on the main process; on others it does nothing."""

    def __init__(self, book: LogBook) -> None:
        self.book = book

    def on_train_begin(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        """Make ready to go on where the trainer does."""
        if state.is_world_process_zero:
            self.book.begin(state.global_step)

    def on_log(self, args: Any, state: Any, control: Any, logs: Any = None, **_: Any) -> None:
        """Write the row."""
        if state.is_world_process_zero and logs:
            self.book.note(state.global_step, state.max_steps, logs)

    def on_step_end(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        """Hand rollouts on before the checkpoint is written."""
        if state.is_world_process_zero and control.should_save:
            self.book.hand_on()

    def on_save(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        """Bring the rows into columns."""
        if state.is_world_process_zero:
            self.book.save()

    def on_train_end(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        """Hand the last rollouts on, and bring the last rows into columns."""
        if state.is_world_process_zero:
            self.book.save()

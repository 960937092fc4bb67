"""Verifiers with every bad habit, importable in a worker process."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from dataclasses import dataclass
from typing import Any

from rewardable.records import Completion, Outcome, Prompt, Verdict


@dataclass(frozen=True)
class Habits:
    """``right`` is CORRECT, ``wrong`` is WRONG; other texts name what goes wrong."""

    name: str = "habits"
    version: str = "1"

    def verify(self, prompt: Prompt, completion: Completion) -> Any:
        match completion.text.split("|")[0]:
            case "raise":
                raise ValueError("bad answer\nwith details")
            case "exit":
                sys.exit(3)
            case "float":
                return 1.0
            case "nan":
                return Verdict(outcome=Outcome.WRONG, verifier="habits", version="1",
                               parts={"format": float("nan")})  # fmt: skip
            case "score":
                return Verdict(outcome=Outcome.WRONG, verifier="habits", version="1", score=7.0)
            case "other":
                return Verdict(outcome=Outcome.CORRECT, verifier="inner", version="0")
            case "interrupt":
                raise KeyboardInterrupt
            case text:
                return self._dangerous(text, completion)

    def _dangerous(self, text: str, completion: Completion) -> Verdict:
        match text:
            case "hang":
                time.sleep(600)
            case "deaf":
                signal.signal(signal.SIGTERM, signal.SIG_IGN)
                time.sleep(600)
            case "die":
                os._exit(5)
            case "segfault":
                os.kill(os.getpid(), signal.SIGSEGV)
            case "child":
                child = subprocess.Popen(["sleep", "600"])
                with open(completion.text.split("|")[1], "w") as file:
                    file.write(f"{os.getpid()} {child.pid}")
                time.sleep(600)
            case "slow":
                time.sleep(0.2)
            case "noise":
                print("a verifier that prints")  # noqa: T201
        outcome = Outcome.WRONG if text == "wrong" else Outcome.CORRECT
        return Verdict(outcome=outcome, verifier="habits", version="1")


class Unloadable(Habits):
    """Cannot be built again in another process."""

    def __reduce__(self) -> Any:
        return _refuse, ()


def _refuse() -> None:
    raise RuntimeError("no licence key")

"""A real vLLM server with SmolLM2. These tests run in an environment of their own."""

from __future__ import annotations

import importlib.util
import os
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest

collect_ignore_glob = [] if importlib.util.find_spec("vllm") else ["test_*.py"]
"""`make test-engines` runs these; no other environment has vLLM."""

START_S = 900
CONTEXT = 512


class RealServer:
    """vLLM's server as a process group that can be killed and started again on its port."""

    def __init__(self, model: str, *more: str) -> None:
        self.command = [
            sys.executable, "-m", "vllm.entrypoints.openai.api_server", "--model", model,
            "--served-model-name", "smollm2", "--dtype", "float32", "--enforce-eager",
            "--max-model-len", str(CONTEXT), "--gpu-memory-utilization", "0.3", *more,
        ]  # fmt: skip
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self.port = probe.getsockname()[1]
        self.log = Path(os.environ.get("TMPDIR", "/tmp")) / f"vllm-server-{self.port}.log"

    @property
    def source(self) -> str:
        return f"http://127.0.0.1:{self.port}/v1#smollm2"

    def start(self) -> None:
        """Start; returns at once."""
        with self.log.open("ab") as log:
            self.process = subprocess.Popen(
                [*self.command, "--host", "127.0.0.1", "--port", str(self.port)],
                stdout=log, stderr=log, start_new_session=True,
            )  # fmt: skip

    def wait(self) -> None:
        until = time.monotonic() + START_S
        while time.monotonic() < until:
            try:
                urllib.request.urlopen(f"http://127.0.0.1:{self.port}/v1/models", timeout=5)
                return
            except OSError:
                if self.process.poll() is not None:
                    break
                time.sleep(0.5)
        pytest.fail(f"the server did not start:\n{self.log.read_text()[-3000:]}")

    def kill(self) -> None:
        """Kill -9 the server and its workers."""
        os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()


@pytest.fixture(scope="session")
def smollm2(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Folder of SmolLM2 as a plain checkpoint: $REWARDABLE_SMOLLM2, or made of the GGUF file."""
    named = os.environ.get("REWARDABLE_SMOLLM2")
    if named and Path(named, "config.json").is_file():
        return named
    folder = Path(named) if named else tmp_path_factory.mktemp("smollm2")
    script = Path(__file__).resolve().parents[2] / "recipes" / "smollm2" / "prepare.py"
    subprocess.run([sys.executable, str(script), "--out", str(folder)], check=True)
    return str(folder)


@pytest.fixture(scope="session")
def adapter(smollm2: str, tmp_path_factory: pytest.TempPathFactory) -> str:
    """Folder of a LoRA adapter that changes the policy."""
    import torch
    from peft import LoraConfig, get_peft_model
    from transformers import AutoModelForCausalLM

    torch.manual_seed(0)
    model = AutoModelForCausalLM.from_pretrained(smollm2, dtype=torch.float32)
    adapted = get_peft_model(model, LoraConfig(r=4, target_modules=["q_proj", "v_proj"]))
    for name, weight in adapted.named_parameters():
        if "lora_B" in name:
            torch.nn.init.normal_(weight, std=0.02)
    folder = tmp_path_factory.mktemp("adapter")
    adapted.save_pretrained(str(folder))
    return str(folder)


@pytest.fixture(scope="session")
def server(smollm2: str, adapter: str) -> Iterator[RealServer]:
    one = RealServer(
        smollm2, "--enable-lora", "--max-lora-rank", "8", "--lora-modules", f"lora={adapter}"
    )
    one.start()
    try:
        one.wait()
        yield one
    finally:
        one.kill()

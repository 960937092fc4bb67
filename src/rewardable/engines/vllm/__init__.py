"""Policies sampled by vLLM in this process. See ``docs/serving.md``."""

"""Policies behind OpenAI-compatible servers. See ``docs/serving.md``."""

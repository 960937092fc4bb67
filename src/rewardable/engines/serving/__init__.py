"""A small OpenAI-compatible server of one policy, so that other tools can sample it.

Standard library only. ``server`` speaks HTTP, ``asking`` reads requests, ``replies`` writes
answers, ``worker`` draws the rows of all waiting requests together, ``encoder`` lets a request
bring text or token ids instead of messages.
"""

"""The joiners: each file carries one job from its configuration to its result.

They parse nothing and print nothing. What they do is told through ``on_event`` callbacks that
take a :class:`~rewardable.workflows.events.Event`.
"""

from __future__ import annotations

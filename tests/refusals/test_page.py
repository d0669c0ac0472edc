"""docs/errors is generated from the table."""

import subprocess
import sys
from pathlib import Path

SCRIPT = Path(__file__).resolve().parents[2] / "scripts" / "errors.py"


def test_pages_are_up_to_date() -> None:
    # in a process of its own, where nobody else has registered functions
    command = [sys.executable, str(SCRIPT), "--check"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"run python scripts/errors.py:\n{done.stderr}"

"""The pictures of the page in docs/images, which scripts/screenshots.py takes."""

from __future__ import annotations

import struct
from pathlib import Path

import pytest

IMAGES = Path(__file__).resolve().parents[2] / "docs" / "images"


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_pictures_are_there_and_small(scheme):
    data = (IMAGES / f"explain-{scheme}.png").read_bytes()
    width, height = struct.unpack(">II", data[16:24])
    assert data.startswith(b"\x89PNG")
    assert (width, height) == (1400, 1120)
    assert len(data) < 250_000

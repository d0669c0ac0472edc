"""Postprocessors by kind."""

from __future__ import annotations

import pytest

from te_sched import meta_schedule as ms
from te_sched.errors import DeclarationError


def test_create_rejects_other_kinds() -> None:
    with pytest.raises(DeclarationError, match="'tpu' is not a kind of target"):
        ms.Postproc.create("tpu")

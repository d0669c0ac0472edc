"""Operators of the first notebooks about graphs."""

from __future__ import annotations

from typing import Any

from te_sched.ir.graph import GraphCall
from te_sched.relax import op

__all__ = ["dense"]


def dense(data: Any, weight: Any, out_dtype: str = "") -> GraphCall:
    """data @ weight.T"""
    return op.matmul(data, op.permute_dims(weight), out_dtype)

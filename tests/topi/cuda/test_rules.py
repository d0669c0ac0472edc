"""Schedules for GPUs lower, and compute in kernels."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from te_sched import topi
from te_sched.ir.stmt import Allocate, AttrStmt, BufferStore, For, Stmt
from te_sched.ir.visitor import children, walk
from te_sched.topi import nn
from tests.topi.running import Case
from tests.topi.scheduled import (
    ALL,
    WEIGHTS,
    A,
    lowered,
    plain,
)


def is_thread(node: Any) -> bool:
    return isinstance(node, AttrStmt) and node.key == "thread_extent"


def outside(node: Any) -> Iterator[Any]:
    """The statements down to the outermost bindings of threads, which are the kernels."""
    yield node
    if not is_thread(node):
        for child in children(node):
            if isinstance(child, Stmt):
                yield from outside(child)


@ALL
def test_cuda_schedule_computes_in_kernels_only(one: Case, name: str) -> None:
    body = lowered(one, topi.cuda, name)
    assert any(map(is_thread, outside(body)))
    assert not any(isinstance(node, For | BufferStore) for node in outside(body)), body


@ALL
def test_cuda_kernels_fit_a_block(one: Case, name: str) -> None:
    for kernel in filter(is_thread, outside(lowered(one, topi.cuda, name))):
        threads: dict[str, int] = {}
        for node in filter(is_thread, walk(kernel)):
            extent = node.value.value
            assert threads.setdefault(node.node.thread_tag, extent) == extent
        assert any(tag.startswith("blockIdx") for tag in threads)
        assert np.prod([n for tag, n in threads.items() if tag.startswith("thread")]) <= 1024


def test_cuda_contraction_fetches_its_inputs_into_shared_memory() -> None:
    one = plain("dense", nn.dense, A, WEIGHTS)
    body = lowered(one, topi.cuda, "dense")
    buffers = [node.buffer_var for node in walk(body) if isinstance(node, Allocate)]
    scopes = sorted(var.pointer.scope for var in buffers)
    assert scopes == ["local", "shared", "shared"]


def test_cuda_inlines_injective_producers() -> None:
    text = str(
        lowered(plain("chain", lambda x: nn.relu(topi.exp(x) + 1), A), topi.cuda, "injective")
    )
    assert "T.allocate" not in text
    assert "T.exp" in text

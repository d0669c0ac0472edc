"""Functions of paged caches by TVM's names."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import numpy as np
import pytest

import te_sched
from te_sched import nd
from te_sched.errors import ArgumentError, ArgumentTypeError, CallError
from te_sched.relax.vm import ShapeTuple
from te_sched.relax.vm.paged_cache import RopeMode
from tests.relax.vm.paged_caches import (
    HEADS,
    LAYERS,
    QUERY_HEADS,
    SIZE,
    Reference,
    machine_of,
    new_cache,
)


def _function(name: str) -> Any:
    return te_sched.get_global_func(f"vm.builtin.{name}")


def test_a_program_of_functions_equals_numpy() -> None:
    cache, reference = new_cache(machine_of()), Reference(RopeMode.NORMAL, "float32")
    _function("kv_state_add_sequence")(cache, 3)
    reference.add(3)
    values = np.random.default_rng(0).standard_normal((5, QUERY_HEADS + 2 * HEADS, SIZE))
    qkv, output = nd.array(values.astype("float32")), nd.empty((5, QUERY_HEADS, SIZE))
    _function("kv_state_begin_forward")(cache, ShapeTuple([3]), ShapeTuple([5]))
    attend = _function("attention_kv_cache_attention_with_fused_qkv")
    for layer in range(LAYERS):
        attend(cache, layer, 1.0, qkv, output)
    _function("kv_state_end_forward")(cache)
    np.testing.assert_allclose(output.numpy(), reference.attention(3, qkv.numpy(), 1.0), 1e-5, 1e-5)
    _function("kv_state_fork_sequence")(cache, 3, 4, 2)
    _function("kv_state_popn")(cache, np.int64(3), 1)
    assert _function("attention_kv_cache_get_total_sequence_length")(cache) == 6
    assert _function("attention_kv_cache_get_num_available_pages")(cache) == 15
    keys, stored = (nd.empty((LAYERS, 2, HEADS, SIZE)) for _ in range(2))
    _function("attention_kv_cache_debug_get_kv")(cache, 4, 0, 2, keys, stored)
    np.testing.assert_allclose(keys.numpy()[1], reference.tokens[3][0][:2], 1e-5, 1e-5)
    np.testing.assert_array_equal(stored.numpy()[0], qkv.numpy()[:2, -HEADS:])
    _function("kv_state_remove_sequence")(cache, 3)
    assert not _function("attention_kv_cache_empty")(cache)
    _function("kv_state_clear")(cache)
    assert _function("attention_kv_cache_empty")(cache)


def test_functions_are_found_before_machines_are_used() -> None:
    call = "te_sched.get_global_func('vm.builtin.kv_state_popn').__name__"
    program = f"import te_sched, te_sched.relax; print({call})"
    run = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert run.stdout == "_popn\n", run.stderr


@pytest.mark.parametrize(
    ("name", "args", "message"),
    [
        ("kv_state_add_sequence", ("0",), "the sequence is '0', expected an int"),
        ("kv_state_add_sequence", (True,), "the sequence is True, expected an int"),
        ("kv_state_popn", (0, 1.5), "the count is 1.5, expected an int"),
        ("kv_state_begin_forward", (0, 1), "the sequences is an int, expected a ShapeTuple"),
        ("kv_state_begin_forward", ([0], ["x"]), "an element of the lengths is 'x'"),
    ],
)
def test_wrong_arguments_are_refused(name: str, args: tuple[Any, ...], message: str) -> None:
    cache = new_cache(machine_of())
    cache.add_sequence(0)
    with pytest.raises(ArgumentTypeError, match=message):
        _function(name)(cache, *args)


def test_other_values_than_caches_are_refused() -> None:
    with pytest.raises(ArgumentTypeError, match=r"(?s)the cache is a list.*TIRPagedKVCache"):
        _function("kv_state_clear")([1])


def test_trees_of_tokens_and_kernels_of_others_are_refused() -> None:
    cache = new_cache(machine_of())
    cache.add_sequence(0)
    with pytest.raises(CallError, match=r"(?s)a tree of tokens.*fork a sequence"):
        _function("kv_state_begin_forward")(cache, [0], [2], ShapeTuple([-1, 0]))
    create = _function("paged_attention_kv_cache_create")
    with pytest.raises(
        CallError, match=r"(?s)called with 2 arguments, expected 7.*TIRPagedKVCache"
    ):
        create(ShapeTuple([1]), 2)


def test_caches_without_tokens_are_refused() -> None:
    with pytest.raises(ArgumentError, match=r"(?s)made with the sizes \(8, 0, 64, 16\)"):
        new_cache(machine_of(), 0)

"""Caches of keys and values: appended to in place, and viewed without a copy."""

from __future__ import annotations

import numpy as np
import pytest

import te_sched
from te_sched import nd
from te_sched.errors import CallError
from te_sched.relax.vm import ShapeTuple
from te_sched.relax.vm.model_builtins import MODEL_BUILTINS, AttentionCache


def _cache(size: int, dtype: str = "float32") -> AttentionCache:
    return AttentionCache(nd.zeros((size, 2), dtype), ShapeTuple([size, 2]), 0)


@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "float16"])
def test_elements_stand_one_after_the_other_as_memory_grows(dtype: str) -> None:
    cache = _cache(2, dtype)
    for number in range(5):
        cache.append(nd.array(np.full((1, 2), number, "float32"), dtype=dtype))
    view = cache.view(ShapeTuple([5, 2]))
    assert view.dtype == dtype
    np.testing.assert_array_equal(view.numpy().astype("float32")[:, 0], range(5))


def test_a_view_is_memory_of_the_cache() -> None:
    cache = _cache(4)
    cache.append(nd.array(np.ones((1, 2), "float32")))
    view = cache.view(ShapeTuple([1, 2]))
    cache.append(nd.array(np.ones(2, "float32") * 2))
    assert cache.view(ShapeTuple([2, 2])).address == view.address
    np.testing.assert_array_equal(view.numpy(), [[1, 1]])


def test_a_cache_refuses_other_elements_and_views() -> None:
    cache = _cache(4)
    with pytest.raises(CallError, match="dtype float64 is appended to a cache"):
        cache.append(nd.zeros((1, 2), "float64"))
    with pytest.raises(CallError, match=r"the cache is viewed as \(1, 2\)"):
        cache.view(ShapeTuple([1, 2]))


def test_functions_are_called_with_the_place(capsys: pytest.CaptureFixture[str]) -> None:
    calls: list[object] = []
    te_sched.register_func("tests.debug", lambda *args: calls.append(args))
    invoke = MODEL_BUILTINS["vm.builtin.invoke_debug_func"]
    assert invoke("effect", "tests.debug", "model.py:3", 1, 2) == "effect"
    assert calls == [("model.py:3", 1, 2)]
    invoke("effect", "vm.builtin.debug_print", "model.py:4", nd.array(np.float32([1])))
    assert capsys.readouterr().out.startswith("model.py:4: shape = (1,), dtype = float32")
    te_sched.runtime.remove_global_func("tests.debug")

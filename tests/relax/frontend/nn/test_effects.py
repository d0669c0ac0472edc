"""States that functions of a model pass on: of input and output, and caches of keys."""

from __future__ import annotations

import numpy as np
import pytest

from te_sched import nd, relax, tir
from te_sched.errors import GraphError
from te_sched.relax.frontend import nn

N = tir.Var("n", "int64")


class Cached(nn.Module):
    """All elements so far, of a cache for one at first."""

    def __init__(self) -> None:
        self.cache = nn.KVCache(1, [3])

    def forward(self, x: nn.Tensor, n: tir.Var) -> nn.Tensor:
        self.cache.append(x)
        return self.cache.view(n)


def test_a_cache_grows_from_call_to_call() -> None:
    spec = {"forward": {"x": nn.spec.Tensor([1, 3], "float32"), "n": int}}
    module, _ = Cached().export_tvm(spec)
    machine = relax.VirtualMachine(relax.build(module, "llvm"))
    (cache,) = machine["_initialize_effect"]()
    rows = np.arange(12, dtype="float32").reshape(4, 3)
    for count, row in enumerate(rows, 1):
        size = relax.vm.ShapeTuple([count])
        result, (cache,) = machine["forward"](nd.array(row[None]), size, cache)
        np.testing.assert_array_equal(result.numpy(), rows[:count])


def test_states_are_parameters_inside_of_a_function_alone() -> None:
    effect = nn.IOEffect()
    with pytest.raises(GraphError, match="the state of IOEffect is used outside of a function"):
        _ = effect.state
    (var,) = effect.create("")
    assert (var.name_hint, effect.state) == ("_io", var)
    other = relax.Var("other", relax.ObjectStructInfo())
    effect.set_state([other])
    assert effect.finalize() == [other]
    with pytest.raises(GraphError, match="outside of a function"):
        effect.finalize()


def test_first_states_are_bound_with_their_names() -> None:
    builder = relax.BlockBuilder()
    cache = nn.KVCache(4, [2, 3], "float16")
    with builder.function("main", []):
        bound = [*nn.IOEffect().emit_init("x", builder), *cache.emit_init("keys", builder)]
        builder.emit_func_output(relax.Tuple(tuple(bound)))
    text = builder.get().script()
    assert [var.name_hint for var in bound] == ["x_io", "keys"]
    assert 'R.zeros(R.shape([4, 2, 3]), dtype="float16")' in text
    assert "vm.builtin.attention_kv_cache_create" in text


def test_elements_have_the_dtype_of_the_cache() -> None:
    class Model(nn.Module):
        def __init__(self) -> None:
            self.cache = nn.KVCache(1, [3])

        def forward(self, x: nn.Tensor) -> nn.Tensor:
            self.cache.append(x)
            return x

    model = Model()
    model.cache.to("float16")
    assert model.cache.dtype == "float16"
    spec = {"forward": {"x": nn.spec.Tensor([1, 3], "float32")}}
    with pytest.raises(GraphError, match="is appended to a cache of float16"):
        model.export_tvm(spec, debug=True)

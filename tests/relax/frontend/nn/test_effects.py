"""States that functions of a model pass on: of input and output, and caches of keys."""

from __future__ import annotations

import numpy as np
import pytest

from te_sched import nd, relax, tir
from te_sched.errors import GraphError
from te_sched.relax.frontend import nn
from te_sched.target import Target

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


class Attending(nn.Module):
    """Attention of a token to all tokens so far, of two sequences."""

    def __init__(self) -> None:
        self.keys, self.values = nn.KVCache(4, [2, 3, 8]), nn.KVCache(4, [2, 3, 8])

    def forward(self, q: nn.Tensor, k: nn.Tensor, v: nn.Tensor, n: tir.Var) -> nn.Tensor:
        self.keys.append(k)
        self.values.append(v)
        parts = [q, self.keys.view(n), self.values.view(n)]
        swapped = [nn.op.permute_dims(part, [1, 0, 2, 3]) for part in parts]
        return nn.op.scaled_dot_product_attention(*swapped)


def test_attention_of_a_token_reads_caches_in_place() -> None:
    """Kernels of loops over all tokens are products and the softmax: none copies a cache."""
    step = nn.spec.Tensor([1, 2, 3, 8], "float32")
    module, _ = Attending().export_tvm({"forward": dict.fromkeys("qkv", step) | {"n": int}})
    with Target("llvm"):
        scheduled = relax.get_pipeline("processor")(module)
    names = [name for name, func in scheduled.functions_of_loops.items() if "n: " in str(func)]
    kernels = {name.removeprefix("fused_").split("_")[0] for name in names}
    assert kernels <= {"NT", "softmax"}
    machine = relax.VirtualMachine(relax.build(module, "llvm"))
    states = machine["_initialize_effect"]()
    rng = np.random.default_rng(0)
    rows = rng.standard_normal((6, 3, 2, 3, 8)).astype("float32")
    for count in range(1, 7):
        arguments = map(nd.array, rows[count - 1][:, None])
        result, states = machine["forward"](*arguments, relax.vm.ShapeTuple([count]), *states)
        query, keys, values = rows[count - 1, 0], rows[:count, 1], rows[:count, 2]
        weights = np.exp(np.einsum("bhd,nbhd->bhn", query, keys) / np.sqrt(8))
        weights /= weights.sum(-1, keepdims=True)
        expected = np.einsum("bhn,nbhd->bhd", weights, values)
        np.testing.assert_allclose(result.numpy()[:, 0], expected, 1e-4, 1e-5)

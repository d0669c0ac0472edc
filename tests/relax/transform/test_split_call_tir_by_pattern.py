"""The pass SplitCallTIRByPattern: what fcodegen is given, the text, and that the graph computes the
same.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import te_sched
from te_sched import nd, relax
from te_sched.errors import GraphError
from te_sched.ir.stmt import IRModule
from te_sched.relax.transform.split_call_tir_by_pattern import SplitCallTIRByPattern
from te_sched.runtime.registry import registered_names, remove_global_func
from te_sched.script import tir as T


@T.prim_func
def product(a: T.handle, b: T.handle, c: T.handle, M: T.int64, N: T.int64, K: T.int64):
    A = T.match_buffer(a, (M, K), "float32")
    B = T.match_buffer(b, (K, N), "float32")
    C = T.match_buffer(c, (M, N), "float32")
    for i0, i1, i2 in T.grid(M, N, K):
        with T.block("product"):
            i, j, k = T.axis.remap("SSR", [i0, i1, i2])
            with T.init():
                C[i, j] = T.float32(0)
            C[i, j] = C[i, j] + A[i, k] * B[k, j]


@T.prim_func
def bias(a: T.handle, b: T.handle, c: T.handle, M: T.int64, N: T.int64):
    A = T.match_buffer(a, (M, N), "float32")
    B = T.match_buffer(b, (T.int64(1), N), "float32")
    C = T.match_buffer(c, (M, N), "float32")
    for i0, i1 in T.grid(M, N):
        with T.block("bias"):
            i, j = T.axis.remap("SS", [i0, i1])
            C[i, j] = A[i, j] + B[T.int64(0), j]


@T.prim_func
def both(a: T.handle, c: T.handle, M: T.int64):
    A = T.match_buffer(a, (M,), "float32")
    C = T.match_buffer(c, (M,), "float32")
    for i0 in range(M):
        with T.block("one"):
            i = T.axis.spatial(M, i0)
            C[i] = A[i]
    for i0 in range(M):
        with T.block("two"):
            i = T.axis.spatial(M, i0)
            C[i] = C[i] + A[i]


@pytest.fixture(autouse=True)
def _nothing_stays() -> Any:
    before = set(registered_names())
    yield
    for name in set(registered_names()) - before:
        remove_global_func(name)


def layer(rows: int = 2, after: Any = relax.op.nn.relu) -> IRModule:
    """relu(a @ b + c), as one function."""
    infos = {"a": (rows, 4), "b": (4, 3), "c": (1, 3)}
    params = [
        relax.Var(name, relax.TensorStructInfo(size, "float32")) for name, size in infos.items()
    ]
    builder = relax.BlockBuilder()
    with builder.function("main", params):
        with builder.dataflow():
            y = builder.emit(relax.op.add(relax.op.matmul(*params[:2]), params[2]))
            y = builder.emit_output(after(y))
        builder.emit_func_output(y)
    passes = [relax.transform.LegalizeOps(), relax.transform.AnnotateTIROpPattern()]
    passes += [relax.transform.FuseOps(), relax.transform.FuseTIR()]
    return te_sched.transform.Sequential(passes)(builder.get())


def _computed(mod: IRModule) -> Any:
    given = [np.random.rand(*size).astype("float32") - 0.5 for size in ((2, 4), (4, 3), (1, 3))]
    machine = relax.VirtualMachine(relax.build(mod, "llvm"), te_sched.cpu())
    found = machine["main"](*map(nd.array, given)).numpy()
    np.testing.assert_allclose(found, np.maximum(given[0] @ given[1] + given[2], 0), rtol=1e-4)


def _multiply(a: Any, b: Any, out: Any) -> None:
    out.copyfrom(a.numpy() @ b.numpy())


def _add(a: Any, b: Any, c: Any, out: Any) -> None:
    out.copyfrom(a.numpy() @ b.numpy() + c.numpy())


@pytest.mark.parametrize("count", [1, 2])
def test_a_library_computes_the_first_blocks(count: int) -> None:
    seen: list[Any] = []

    def codegen(matches: list[Any]) -> Any:
        seen.extend(matches)
        inputs = [*matches[0].matched_buffers[:2], matches[1].matched_buffers[1]][: count + 1]
        return [(_multiply, _add)[count - 1], count, inputs]

    mod = SplitCallTIRByPattern([bias, product], codegen)(layer())
    assert [one.pattern for one in seen] == [product, bias]
    assert [[int(size) for size in one.symbol_values] for one in seen] == [[2, 3, 4], [2, 3]]
    assert [one.name for one in seen[0].matched_buffers] == ["a", "b", "matmul_intermediate"]
    text = mod["main"].script()
    assert f'R.call_dps_packed("fused_matmul_add_relu", (a, b{", c" * (count - 1)}),' in text
    assert f"R.call_tir(unfused_epilogue, (lv{(', c', ',')[count - 1]})," in text
    assert str(mod["unfused_epilogue"]).count("T.block(") == (3 if count == 1 else 2)
    _computed(mod)


def test_all_blocks_are_replaced() -> None:
    def codegen(matches: list[Any]) -> Any:
        return [_add, 2, [*matches[0].matched_buffers[:2], matches[1].matched_buffers[1]]]

    def without_relu(x: Any) -> Any:
        return x

    mod = SplitCallTIRByPattern([product, bias], codegen)(layer(after=without_relu))
    assert "call_tir" not in mod["main"].script()
    assert "unfused_epilogue" not in mod.functions


def test_texts_are_kept_with_the_function() -> None:
    def codegen(matches: list[Any]) -> Any:
        return ["void {global_symbol}() {}", 1, matches[0].matched_buffers[:2]]

    mod = SplitCallTIRByPattern([product], codegen)(layer())
    name = "fused_matmul_add_relu"
    assert mod[name].attrs["c_source"] == f"void {name}() {{}}"


def test_what_does_not_match_stays() -> None:
    before = layer()
    for patterns, count in (([bias], 1), ([product], 0)):
        mod = SplitCallTIRByPattern(patterns, lambda _, n=count: ["", n, []])(before)
        assert "fused_matmul_add_relu" in mod.functions
        assert "call_dps_packed" not in mod["main"].script()
        _computed(mod)


def test_other_graphs_stay() -> None:
    builder = relax.BlockBuilder()
    x = relax.Var("x", relax.TensorStructInfo((4,), "float32"))
    with builder.function("main", [x]):
        builder.emit_func_output(builder.emit(relax.op.exp(x)))
    mod = SplitCallTIRByPattern([product], lambda _: 0)(builder.get())
    assert mod["main"].script() == builder.get()["main"].script()


@pytest.mark.parametrize(
    ("returned", "message"),
    [
        (lambda found: "", "fcodegen returns ''"),
        (lambda found: ["", 2, []], "fcodegen returns"),
        (
            lambda found: ["", 1, [found[0].matched_buffers[2]]],
            "fcodegen takes matmul_intermediate",
        ),
    ],
)
def test_rejects_what_fcodegen_returns(returned: Any, message: str) -> None:
    with pytest.raises(GraphError, match=message):
        SplitCallTIRByPattern([product], returned)(layer())


def test_rejects_patterns_of_two_blocks() -> None:
    with pytest.raises(GraphError, match="pattern both has 2 blocks, expected 1"):
        SplitCallTIRByPattern([both], lambda found: ["", 0, []])


@T.prim_func
def twice(a: T.handle, c: T.handle):
    A = T.match_buffer(a, (4,), "float32")
    C = T.match_buffer(c, (4,), "float32")
    B = T.alloc_buffer((4,))
    D = T.alloc_buffer((4,))
    for i0 in range(4):
        with T.block("one"):
            i = T.axis.spatial(4, i0)
            B[i] = A[i] * T.float32(2)
    for i0 in range(4):
        with T.block("two"):
            i = T.axis.spatial(4, i0)
            D[i] = B[i] * T.float32(2)
    for i0 in range(4):
        with T.block("three"):
            i = T.axis.spatial(4, i0)
            C[i] = B[i] + D[i]


@T.prim_func
def double(a: T.handle, c: T.handle, M: T.int32):
    A = T.match_buffer(a, (M,), "float32")
    C = T.match_buffer(c, (M,), "float32")
    for i0 in range(M):
        with T.block("one"):
            i = T.axis.spatial(M, i0)
            C[i] = A[i] * T.float32(2)


def test_rejects_a_rest_that_needs_two_values() -> None:
    info = relax.TensorStructInfo((4,), "float32")
    x = relax.Var("x", info)
    builder = relax.BlockBuilder()
    name = builder.add_func(twice, "twice")
    with builder.function("main", [x]):
        builder.emit_func_output(builder.emit(relax.call_tir(name, (x,), info)))

    def codegen(found: list[Any]) -> Any:
        return ["", 2, [found[0].matched_buffers[0]]]

    with pytest.raises(GraphError, match="function twice cannot be split after 2 blocks"):
        SplitCallTIRByPattern([double], codegen)(builder.get())

"""Concatenations of many parts become a copy of each; others stay as they are."""

import numpy as np
import pytest

import te_sched
from te_sched import relax, te, topi
from te_sched.lowering.blocks.split_concatenations import split_concatenations
from te_sched.script import tir as T


def joined(sizes, axis, finish=lambda joined: joined):
    """A concatenation of parts of two dimensions, those along the axis given."""
    shapes = [(size, 3) if axis == 0 else (3, size) for size in sizes]
    parts = [te.placeholder(shape, name=f"A{at}") for at, shape in enumerate(shapes)]
    result = finish(topi.concatenate(tuple(parts), axis))
    return te.create_prim_func([*parts, result], index_dtype_override="int64"), shapes


@pytest.mark.parametrize("axis", [0, 1])
@pytest.mark.parametrize("finish", [lambda one: one, topi.nn.relu], ids=["alone", "relu"])
def test_copies_compute_the_same(axis, finish):
    sizes = [1, 4, 2, 1, 1, 5, 3, 2, 7, 1, 2]
    func, shapes = joined(sizes, axis, finish)
    made = split_concatenations(func)
    text = made.script()
    assert "if_then_else" not in text
    assert all(f"T_concat_{number}" in text for number in range(len(sizes)))
    arrays = [np.random.default_rng(0).random(one, "float32") for one in shapes]
    out = np.empty((sum(sizes), 3) if axis == 0 else (3, sum(sizes)), "float32")
    te_sched.build(made)(*arrays, out)
    np.testing.assert_array_equal(out, np.concatenate(arrays, axis))


@T.prim_func
def other_choices(A: T.Buffer((40,)), B: T.Buffer((40,))):
    for i in range(40):
        with T.block("B"):
            v = T.axis.spatial(40, i)
            B[v] = T.if_then_else(
                v >= 4,
                T.if_then_else(v >= 8, A[v], A[v] + T.float32(1)),
                T.if_then_else(A[v] < T.float32(0), A[v], T.float32(2)),
            )


def test_few_parts_unknown_sizes_and_other_choices_stay():
    few, _ = joined([2] * 8, 1)
    n = te.var("n", "int64")
    unknown, _ = joined([n, *[2] * 9], 1)
    for func in (few, unknown, other_choices):
        assert split_concatenations(func) is func


def test_a_graph_joins_many_values():
    """Proofs about nested conditions took ten seconds."""
    info = relax.TensorStructInfo((2, 3), "float32")
    values = [relax.Var(f"x{number}", info) for number in range(120)]
    builder = relax.BlockBuilder()
    with builder.function("main", values):
        builder.emit_func_output(builder.emit(relax.op.concat(values, axis=1)))
    machine = relax.VirtualMachine(relax.build(builder.get()), te_sched.cpu())
    arrays = [np.full((2, 3), number, "float32") for number in range(120)]
    found = machine["main"](*[te_sched.nd.array(one) for one in arrays])
    np.testing.assert_array_equal(found.numpy(), np.concatenate(arrays, 1))

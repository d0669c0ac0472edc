"""What blocks compute by themselves."""

import pytest

from te_sched import te, tir, topi
from te_sched.ir.expr import BufferRegion, Range
from te_sched.ir.ops import const
from te_sched.script import tir as T
from te_sched.tensorir.facts import computations as facts
from te_sched.tensorir.facts.computations import Correspondence


def block(*tensors, name=None):
    """The block of the last tensor, or of a name."""
    sch = tir.Schedule(te.create_prim_func(list(tensors)))
    return sch.get(sch.get_block(name or tensors[-1].op.name))


def placeholders(*shapes, dtype="float32"):
    return [te.placeholder(shape, dtype, name) for shape, name in zip(shapes, "ABC", strict=False)]


def matmul(dtype="float32"):
    A, B = placeholders((8, 16), (16, 4), dtype=dtype)
    k = te.reduce_axis((0, 16), name="k")
    product = te.compute(
        (8, 4), lambda i, j: te.sum(A[i, k].astype("float32") * B[k, j].astype("float32"), k), "P"
    )
    return block(A, B, product)


def test_kinds_of_blocks():
    (A,) = placeholders((8, 16))
    total, doubled = block(A, topi.sum(A, axis=1)), block(A, topi.add(A, 1.0))
    assert facts.is_reduction(total)
    assert facts.has_reduction(total)
    assert not facts.is_injective(total)
    assert facts.is_injective(doubled)
    assert not facts.is_reduction(doubled)


def test_copies_and_transpositions():
    (A,) = placeholders((8, 16))
    transposed = block(A, topi.transpose(A))
    assert facts.is_copy(transposed)
    assert facts.is_transposition(transposed)
    flat = block(A, topi.reshape(A, (128,)))
    assert facts.is_copy(flat)
    assert not facts.is_transposition(flat)
    assert not facts.is_copy(block(A, topi.exp(A)))


def test_affine_copies_are_along_rows() -> None:
    (A,) = placeholders((4, 6))
    rows = te.compute((2, 2, 6), lambda i, j, k: A[i * 2 + j, k], "rows")
    assert facts.is_affine_copy(block(A, rows))
    assert facts.is_affine_copy(block(A, topi.cast(A, "float16")))
    assert facts.is_affine_copy(block(A, topi.transpose(A)))
    assert not facts.is_affine_copy(block(A, topi.reshape(A, (24,))))
    assert not facts.is_affine_copy(block(A, te.compute((4, 3), lambda i, j: A[i, j * 2], "B")))
    assert not facts.is_affine_copy(block(A, topi.exp(A)))


def test_operands_are_without_the_result():
    node = matmul()
    assert [one.buffer.name for one in facts.inputs_of(node)] == ["A", "B"]
    assert [one.buffer.name for one in facts.loads_of(node)] == ["A", "B"]
    i, _, k = [one.var for one in node.iter_vars]
    assert facts.indices_of(facts.inputs_of(node)[0]) == {i, k}
    store = facts.stored(node)
    assert store is not None
    assert store.buffer.name == "P"


@pytest.mark.parametrize("dtype", ["float32", "float16"])
def test_factors_of_a_sum_of_products(dtype):
    left, right = facts.factors_of(matmul(dtype))
    assert (left.buffer.name, right.buffer.name) == ("A", "B")


def test_sums_and_other_reductions():
    (A,) = placeholders((8, 16))
    total = facts.summand_of(block(A, topi.sum(A, axis=1)))
    assert total is not None
    assert facts.factors_of(block(A, topi.sum(A, axis=1))) is None
    assert facts.summand_of(block(A, topi.max(A, axis=1))) is None


def test_the_iterators_of_a_product_by_their_parts():
    A, B = placeholders((3, 8, 16), (3, 4, 16))
    axes = facts.product_axes(block(A, B, topi.nn.batch_matmul(A, B)))
    assert [[one.dom.extent.value for one in part] for part in axes] == [[3], [8], [4], [16]]
    assert facts.product_axes(block(A, topi.sum(A, axis=1))) is None
    x, w = placeholders((1, 16), (4, 16))  # a row of one value has no iterator
    assert facts.product_axes(block(x, w, topi.nn.dense(x, w))) is None


def test_branches_and_calls():
    (A,) = placeholders((8,))
    chosen = te.compute((8,), lambda i: te.if_then_else(i < 4, te.exp(A[i]), 0.0), "chosen")
    node = block(A, chosen)
    assert facts.has_branch(node)
    assert {"tir.exp", "tir.if_then_else"} <= facts.calls_of(node)
    assert not facts.has_branch(block(A, topi.add(A, 1.0)))


@T.prim_func
def accesses(A: T.Buffer((8, 9), "float32"), B: T.Buffer((8, 9), "float32")):
    for i, j in T.grid(8, 8):
        with T.block("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = A[vi, vj + 1] + A[vj, vi] + A[vi, vi] + A[vi, 0] + A[vi + vj, 0]


@pytest.mark.parametrize(
    ("number", "expected"),
    [
        (0, Correspondence(True, True)),
        (1, Correspondence(False, True)),
        (2, Correspondence(True, False)),
        (3, Correspondence(True, True)),
        (4, None),
    ],
)
def test_how_reads_follow_writes(number, expected):
    sch = tir.Schedule(accesses)
    node = sch.get(sch.get_block("B"))
    load = facts.loads_of(node)[number]
    read = BufferRegion(load.buffer, [Range(index, const(1)) for index in load.indices])
    assert facts.correspondence(read, node.writes[0]) == expected
    is_in_order = expected == Correspondence(True, True)
    assert facts.follows([read], node.writes) == is_in_order
    assert not facts.follows([read], [*node.writes] * 2)

"""Positions of elements in storage, and the alignment of temporaries."""

from __future__ import annotations

import te_sched
from te_sched import te
from te_sched.arith.analyzer import Analyzer
from te_sched.ir import ops
from te_sched.ir.expr import Expr, Var
from te_sched.lowering.positions import row_major, weighted_sum

N, J = Var("n"), Var("j")


def position(indices: list[Expr], *shape: Expr | int) -> str:
    return str(Analyzer().simplify(row_major(indices, [ops.convert(size) for size in shape])))


def test_quotient_and_remainder_are_joined() -> None:
    quotient, remainder = ops.floordiv(J - 1, 48), ops.floormod(J - 1, 48)
    assert position([quotient, remainder], 50, 48) == "j - 1"
    assert position([quotient, ops.add(remainder, 2)], 50, 48) == "j + 1"
    assert position([quotient, remainder], 50, 24) == "(j - 1) // 48 * 24 + (j + 47) % 48"


def test_quotient_leaves_a_sum_when_it_is_joined() -> None:
    quotient, remainder = ops.floordiv(J, 50), ops.floormod(J, 50)
    several = ops.add(ops.add(Var("k"), Var("m") * 3), quotient)
    assert position([several, remainder], 7, 50) == "m * 150 + k * 50 + j"
    symbolic = ops.add(ops.add(Var("k"), Var("m") * 3), ops.floordiv(J, N))
    assert position([symbolic, ops.floormod(J, N)], N, N) == "j + (m * 3 + k) * n"


def test_symbolic_quotient_and_remainder_are_joined() -> None:
    quotient, remainder = ops.floordiv(J, N), ops.floormod(J, N)
    assert position([ops.convert(0), quotient, remainder], N, N, N) == "j"
    assert position([Var("k"), quotient, remainder], N, N, N) == "j + k * n * n"


def test_alignment_counts_elements_without_gaps() -> None:
    A = te.placeholder((30, 24), name="A")
    B = te.compute((30, 24), lambda i, j: A[i, j] + 1.0, name="B")
    C = te.compute((28, 24), lambda i, j: B[i, j] + B[i + 2, j], name="C")
    s = te.create_schedule(C.op)
    s[B].compute_at(s[C], C.op.axis[1])
    s[B].storage_align(B.op.axis[0], 32, 8)
    text = te_sched.lower(s, [A, C], simple_mode=True).script()
    assert "B_1 = T.Buffer((24,), data=B, align=8)" in text


def test_products_with_strides_keep_their_order() -> None:
    flat = weighted_sum([Var("i"), J, Var("l")], [N * 24, N * 8, ops.convert(8)])
    assert str(Analyzer().simplify(flat)) == "i * n * 24 + j * n * 8 + l * 8"
    flat = weighted_sum([Var("i"), J], [N * 8, ops.convert(8)])
    assert str(Analyzer().simplify(flat)) == "j * 8 + i * n * 8"


def test_congruent_remainder_belongs_to_the_quotient() -> None:
    quotient, remainder = ops.floordiv(N * 32 + J, 7), ops.floormod(N * 4 + J, 7)
    assert position([quotient, remainder], 10, 7) == "n * 32 + j"
    assert "%" in position([quotient, ops.floormod(N * 5 + J, 7)], 10, 7)


def test_only_the_last_quotient_of_a_symbolic_dimension_is_joined() -> None:
    found = position([ops.floordiv(J, N) + 1, ops.floormod(J, N)], N, N)
    assert found == "(j // n + 1) * n + j % n"


def test_dimensions_are_simplified_one_by_one() -> None:
    index = N * 16 + J
    rows, columns = ops.floordiv(ops.floordiv(index, 3), 4), ops.floormod(index // 3, 4)
    found = position([rows - N, columns, ops.floormod(index, 3)], 4, 4, 3)
    assert found == "(n * 16 + j) // 12 * 12 + (n * 4 + j) % 12 // 3 * 3 + (n + j) % 3 - n * 12"


def test_split_index_of_a_reader_is_simplified_before_the_region() -> None:
    A = te.placeholder((35,), name="A")
    B = te.compute((35,), lambda i: A[i] + 1.0, name="B")
    C = te.compute((7, 5), lambda i, j: B[i * 5 + j], name="C")
    s = te.create_schedule(C.op)
    _, inner = s[C].split(s[C].fuse(*C.op.axis), factor=16)
    s[B].compute_at(s[C], inner)
    text = te_sched.lower(s, [A, C], simple_mode=True).script()
    index = "(i_j_fused_outer * 16 + i_j_fused_inner) // 5 * 5 + (i_j_fused_outer"
    assert f"A[{index} + i_j_fused_inner) % 5] + T.float32(1)" in text


def test_quotients_of_remainders_by_symbols_are_joined() -> None:
    found = position([J // (N * N), J % (N * N) // N, J % N], 32, N, N)
    assert found == "j"
    assert position([J // (N * N), J % (N * N) // (N + 1), J % N], 32, N, N) != "j"

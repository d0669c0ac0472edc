"""What back ends share: writers of nodes, calls compared with the table, pointers."""

from __future__ import annotations

import pytest

from te_sched.codegen.calls import intrinsic_of, of_type, operator_of, target_of, writer_of
from te_sched.errors import BuildError, Subject
from te_sched.ir import expr as E
from te_sched.ir import ops
from tests.codegen.programs import buffer

X, A = E.Var("x", "float32"), buffer("A", [8], "int8")
ELEMENT = E.BufferLoad(A, (E.IntImm(3),))


def call(op: str, *arguments: object) -> E.Call:
    return E.Call("float32", op, tuple(map(ops.convert, arguments)))


def test_nodes_without_a_writer_are_refused() -> None:
    assert writer_of({E.Var: "name"}, X) == "name"
    where = (Subject("buffer", "A", "buffer A"),)
    with pytest.raises(BuildError, match=r"^cannot generate code for") as caught:
        writer_of({E.Var: "name"}, ELEMENT, where)
    assert caught.value.names("buffer") == ["A"]


@pytest.mark.parametrize(
    ("node", "name"), [(E.FloorDiv, "floordiv"), (E.LE, "le"), (E.And, "and"), (E.Max, "max")]
)
def test_names_of_operators(node: type[E.BinaryOp], name: str) -> None:
    assert operator_of(node(X, X)) == name


@pytest.mark.parametrize(
    ("node", "name"),
    [
        *[(call("tir.exp", X), "exp"), (call("tir.of_tomorrow", X, 1), "of_tomorrow")],
        (call("tir.popcount", 5), "popcount"),
    ],
)
def test_names_of_intrinsics(node: E.Call, name: str) -> None:
    assert intrinsic_of(node) == name


@pytest.mark.parametrize(
    ("node", "fault"),
    [
        (call("tir.exp", X, X), "^tir.exp has 2 arguments, expected 1\n"),
        (call("tir.exp", 5), '^exp expects floats, got int32\n(?s:.*)astype\\("float32"\\)'),
        (call("tir.popcount", X), "^popcount expects integers, got float32\n(?s:.*)reinterpret"),
    ],
)
def test_intrinsics_unlike_their_row_are_refused(node: E.Call, fault: str) -> None:
    with pytest.raises(BuildError, match=fault):
        intrinsic_of(node)


def test_pointers_have_an_element() -> None:
    assert target_of(call("tir.address_of", ELEMENT)) is ELEMENT
    kind = E.Call("float16", "tir.type_annotation", ())
    access = target_of(call("tir.tvm_access_ptr", kind, A.data, 5, 1, 1))
    assert access is not None
    assert access.buffer.data is A.data
    assert (access.dtype, access.indices[0].value) == ("float16", 5)
    others = (A.data, call("tir.address_of", X), call("tir.tvm_access_ptr", kind, X + 1.0, 5, 1, 1))
    assert [target_of(pointer) for pointer in others] == [None, None, None]


def test_values_of_a_type_are_not_cast_to_it() -> None:
    vector = E.Broadcast(X, 4)
    assert of_type(vector, "float32") is vector
    assert (type(of_type(vector, "int8")), of_type(vector, "int8").dtype) == (E.Cast, "int8x4")

"""Operations made by statements."""

import pytest

from te_sched import te, tir
from te_sched.errors import DeclarationError


def packed(ins, outs):
    return tir.call_packed("f", *ins, *outs)


def test_extern_makes_buffers_for_its_tensors():
    A = te.placeholder((4, 5), name="A")
    E = te.extern((4,), [A], packed, name="E")
    assert (E.dtype, E.op.input_tensors) == ("float32", (A,))
    assert E.op.output_placeholders[0].elem_offset.name == "elem_offset"


def test_extern_of_several_outputs():
    A = te.placeholder((4, 5))
    E = te.extern([(4,), (5,)], [A], packed, dtype=["float32", "int8"], name="E")
    assert [tensor.name for tensor in E] == ["E.v0", "E.v1"]
    assert E[1].dtype == "int8"


def test_extern_with_declared_buffers():
    A = te.placeholder((4, 5))
    Ab = tir.decl_buffer(A.shape, A.dtype, strides=[te.var("s"), 1])
    E = te.extern((4,), [A], packed, in_buffers=[Ab])
    assert E.op.input_placeholders == (Ab,)


@pytest.mark.parametrize(
    ("arguments", "match"),
    [
        ({"inputs": []}, "extern E needs a dtype"),
        ({"dtype": ["int8", "int8"]}, "extern E has 1 outputs but 2 dtypes"),
        ({"fcompute": lambda ins, outs: None}, "returns None"),
        (
            {"in_buffers": [tir.decl_buffer((3,), name="Ab")]},
            "buffer Ab of extern E for tensor A has 1 dimensions, expected 2",
        ),
        ({"inputs": [3]}, "an input of extern E is 3, expected a tensor"),
        ({"shape": (-4,)}, "an extent of "),
    ],
)
def test_extern_rejects(arguments, match):
    given = {"shape": (4,), "inputs": [te.placeholder((4, 5), name="A")], "fcompute": packed}
    with pytest.raises(DeclarationError, match=match):
        te.extern(**{**given, **arguments}, name="E")

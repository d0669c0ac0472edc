"""Buffers: declaration, pointers, vectors."""

import pytest

from te_sched.errors import DeclarationError
from te_sched.ir import expr as E
from te_sched.ir.buffer import buffer_region, decl_buffer, element_offset, store_in
from te_sched.ir.structural import structural_equal


def test_decl_buffer_defaults():
    buffer = decl_buffer((4, 5), "float16", name="B")
    assert (buffer.scope(), buffer.data_alignment, buffer.offset_factor) == ("global", 128, 1)
    assert buffer.strides == ()
    assert buffer.elem_offset.value == 0


def test_decl_buffer_offset_factor_makes_an_offset():
    buffer = decl_buffer((4,), name="B", offset_factor=16, scope="shared")
    assert buffer.elem_offset.name == "B_elem_offset"
    assert buffer.scope() == "shared"


def test_decl_buffer_of_bool_points_to_bytes():
    assert decl_buffer((4,), "bool").data.pointer.element == "int8"


def test_decl_buffer_auto_broadcast_has_strides():
    assert [s.name for s in decl_buffer((4, 5), buffer_type="auto_broadcast").strides] == [
        "stride",
        "stride",
    ]


@pytest.mark.parametrize(
    ("arguments", "match"),
    [
        ({"shape": (4, -5)}, "an extent of buffer buffer must not be negative, got -5"),
        ({"shape": (4.5,)}, "an extent of "),
        ({"shape": (4, 5), "strides": [5]}, "one stride for each dimension"),
        ({"shape": (4,), "dtype": "float3"}, "unknown data type"),
        ({"shape": (4,), "buffer_type": "round"}, "auto_broadcast"),
        (
            {"shape": (4,), "data": E.Var("p", "handle")},
            "the data of buffer buffer is variable p, expected a pointer vari",
        ),
    ],
)
def test_decl_buffer_rejects(arguments, match):
    with pytest.raises(DeclarationError, match=match):
        decl_buffer(**arguments)


def test_a_single_stride_of_one_is_that_of_a_compact_buffer():
    assert decl_buffer((4, 5), strides=[1]).strides == ()
    assert [int(one) for one in decl_buffer((4,), strides=[1]).strides] == [1]


def test_access_ptr_covers_the_rest_of_the_buffer():
    pointer = decl_buffer((4, 5)).access_ptr("rw", offset=7)
    assert [a.value for a in pointer.args[2:]] == [7, 13, 3]


def test_access_ptr_with_strides_counts_the_gaps():
    stride = E.Var("s", "int32")
    pointer = decl_buffer((4, 5), strides=[stride, 1]).access_ptr("w")
    assert structural_equal(pointer.args[3], stride * 4)


def test_access_ptr_rejects_unknown_access():
    with pytest.raises(DeclarationError, match='"r", "w" or "rw"'):
        decl_buffer((4,)).access_ptr("q")


def test_vload_of_a_vector():
    load = decl_buffer((4, 8)).vload((1, 0), "float32x4")
    assert load.dtype == "float32x4"
    assert load.indices[1].lanes == 4


def test_vload_rejects_other_elements_and_dimensions():
    buffer = decl_buffer((4, 8), name="B")
    with pytest.raises(DeclarationError, match="of float32"):
        buffer.vload((1, 0), "int8x4")
    with pytest.raises(DeclarationError, match="buffer B has 2 dimensions but 1 index given"):
        buffer.vload((1,))


def test_slices_are_vectors():
    buffer = decl_buffer((16,))
    assert buffer[0:8:2].dtype == "float32x4"
    with pytest.raises(
        DeclarationError, match="the length of a slice of buffer buffer is not constant"
    ):
        _ = buffer[0 : E.Var("n", "int32") : 2]


def test_slices_are_regions_and_values():
    buffer = decl_buffer((16, 8), name="B")
    n = E.Var("n", "int32")
    assert str(buffer[0:n, 3]) == "B[0:n, 3]"
    assert str(buffer[2, 0:4] + buffer[3, 4:8]) == "B[2, 0:4] + B[3, 4:8]"
    assert buffer[2, 0:4].dtype == "float32x4"
    with pytest.raises(DeclarationError, match=r"the number of elements of region .* is not const"):
        _ = buffer[0:n, 3] + 1.0
    with pytest.raises(DeclarationError, match="a region of buffer B has a step"):
        _ = buffer[0:8:2, 0:4]
    with pytest.raises(DeclarationError, match="3 is not a region of a buffer"):
        buffer_region(3)


def test_stores_convert_their_values():
    buffer = decl_buffer((16,), name="B")
    assert str(store_in(buffer, 2, 1)).endswith("B[2] = T.float32(1)")
    assert str(store_in(buffer, slice(0, 4), 1)).endswith("B[0:4] = T.Broadcast(T.float32(1), 4)")


def test_offset_of_and_flattened_buffer():
    i, j = E.Var("i"), E.Var("j")
    assert structural_equal(element_offset(decl_buffer((4, 5)), (i, j)), i * 5 + j)
    flat = decl_buffer((5, 6, 7), axis_separators=[1]).get_flattened_buffer()
    assert [extent.value for extent in flat.shape] == [5, 42]


def test_vstore_converts_its_value():
    stored = decl_buffer((8,), name="B").vstore([0], E.Ramp(E.IntImm(0), E.IntImm(1), 4))
    assert stored.value.dtype == "float32x4"

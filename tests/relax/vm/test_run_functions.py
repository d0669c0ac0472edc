"""Functions that operators call when a graph runs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from te_sched import nd, relax, tir
from te_sched.errors import CallError, GraphAssertionError
from te_sched.relax import op
from te_sched.relax.vm import run_functions

DATA = np.array([3, 1, 3, 2, 1], "int64")


def ran(build: Callable[[Any], Any], *arrays: Any) -> Any:
    """The result of a function of one vector."""
    n = tir.Var("n", "int64")
    x = relax.Var("x", relax.TensorStructInfo([n], "int64"))
    builder = relax.BlockBuilder()
    with builder.function("main", [x], pure=False):
        builder.emit_func_output(builder.emit(build(x)))
    machine = relax.VirtualMachine(relax.build(builder.get(), "llvm"), nd.cpu())
    return machine["main"](*[nd.array(one) for one in arrays or (DATA,)])


def test_unique_in_the_order_of_the_first_of_each() -> None:
    found = ran(lambda x: op.unique(x, False, True, True, True))
    values, first, inverse, counts = [one.numpy().tolist() for one in found]
    assert (values, first, counts) == ([3, 1, 2], [0, 1, 3], [2, 2, 1])
    assert np.array(values)[inverse].tolist() == DATA.tolist()


def test_unique_slices_along_an_axis() -> None:
    rows = nd.array(np.array([[2, 1], [0, 0], [2, 1]]))
    assert run_functions.unique(rows, 0, axis=0).numpy().tolist() == [[2, 1], [0, 0]]
    assert run_functions.unique(rows, 1, axis=0).numpy().tolist() == [[0, 0], [2, 1]]


@pytest.mark.parametrize(("value", "columns"), [(5, 1), (0, 0)])
def test_nonzero_of_a_scalar_has_no_row(value: int, columns: int) -> None:
    assert run_functions.nonzero(nd.array(np.array(value))).shape == (0, columns)


def test_print_writes_values(capsys: pytest.CaptureFixture[str]) -> None:
    ran(lambda x: op.print(x, relax.Tuple([x, x]), format="{} of {}"), DATA[:2])
    ran(lambda x: op.print(x, relax.PrimValue(4)), DATA[:1])
    assert capsys.readouterr().out == "[3 1] of ([3 1], [3 1])\n[3] 4\n"


def test_assertions_that_fail_raise() -> None:
    ran(lambda x: op.assert_op(relax.const(True), x, "wrong {}"))
    with pytest.raises(GraphAssertionError, match=r"wrong \[3 1 3 2 1\]"):
        ran(lambda x: op.assert_op(relax.const(False), x, "wrong {}"))
    with pytest.raises(AssertionError, match="an assertion of the graph does not hold"):
        ran(lambda x: op.assert_op(relax.PrimValue(x.struct_info.shape.values[0] % 2 == 0)))


def test_fields_of_tensors() -> None:
    found = ran(lambda x: relax.Tuple([x.ndim, x.shape[0], x.strides[0], x.dtype.bits]))
    assert tuple(found) == (1, 5, 1, 64)
    lanes = ran(lambda x: relax.Tuple([x.dtype.type_code, x.dtype.lanes, x.byte_offset]))
    assert tuple(lanes) == (0, 1, 0)
    assert ran(lambda x: x.elem_offset) == 0


def test_a_list_that_grows_twice_has_both_elements() -> None:
    """A list stays as it is, and its elements are those of its dtype, also of bfloat16."""
    first, *others = [nd.array(np.full((2, 1), number, "float32")) for number in range(3)]
    begin = run_functions.append(None, first)
    for other in others:
        whole = run_functions.append(begin, other)
        result = run_functions.stack(whole, first, relax.vm.ShapeTuple([9]), "float32")
        assert result.numpy().tolist() == [[[0], [0]], other.numpy().tolist()]


def test_a_list_without_elements_has_the_shape_that_is_given() -> None:
    like = nd.array(np.array(True))
    result = run_functions.stack(None, like, relax.vm.ShapeTuple([2, 0]), "bfloat16")
    assert (result.shape, str(result.dtype)) == ((0, 2, 0), "bfloat16")


def test_elements_of_other_shapes_are_refused() -> None:
    arrays = [nd.array(np.zeros(size, "float32")) for size in (2, 3)]
    elements = run_functions.append(run_functions.append(None, arrays[0]), arrays[1])
    with pytest.raises(
        CallError, match=r"a list has elements of different shapes, \(2,\) and \(3,\)"
    ):
        run_functions.stack(elements, arrays[0], relax.vm.ShapeTuple([2]), "float32")


def test_elements_are_joined_along_an_axis_in_which_they_differ() -> None:
    parts = [np.arange(2 * size, dtype="int32").reshape(2, size) for size in (1, 0, 3)]
    elements = None
    for part in parts:
        elements = run_functions.append(elements, nd.array(part))
    like, shape = nd.array(np.array(1)), relax.vm.ShapeTuple([2, 5])
    result = run_functions.join(elements, like, shape, "int32", 1)
    np.testing.assert_array_equal(result.numpy(), np.concatenate(parts, 1))
    assert run_functions.join(None, like, shape, "int32", 1).shape == (2, 0)
    assert run_functions.length(elements).numpy() == 3
    with pytest.raises(CallError, match=r"different shapes, \(2, 1\) and \(2, 0\)"):
        run_functions.join(elements, like, shape, "int32", 0)


@pytest.mark.parametrize(("position", "expected"), [(0, 0), (2, 2), (-1, 2)])
def test_an_element_of_a_list(position: int, expected: int) -> None:
    elements = None
    for number in range(3):
        elements = run_functions.append(elements, nd.array(np.array(number)))
    assert run_functions.item(elements, nd.array(np.array([position]))).numpy() == expected
    with pytest.raises(CallError, match="position 3 is outside of a sequence of 3 elements"):
        run_functions.item(elements, nd.array(np.array(3)))

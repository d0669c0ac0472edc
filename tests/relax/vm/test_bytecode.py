"""Instructions: registers, texts, shapes as values."""

import numpy as np
import pytest

from te_sched.errors import GraphError
from te_sched.relax.vm.bytecode import ExecutableFunction, ShapeTuple
from tests.relax.vm.choosing import choosing


def test_text_is_that_of_tvm():
    assert choosing().as_text() == (
        "@main:\n"
        "  If    %0, 3\n"
        "  call  test.vm.add      in: %1, %2       dst: %3\n"
        "  goto  2\n"
        "  call  test.vm.mul      in: %1, %2       dst: %3\n"
        "  ret   %3\n\n"
        "@test.vm.add packed_func;\n\n"
        "@test.vm.mul packed_func;\n\n"
    )
    assert 'ib.emit_call("test.vm.add", args=[ib.r(1), ib.r(2)]' in choosing().as_python()
    with pytest.raises(GraphError, match="no function 'main' that can be called"):
        choosing()["main"]


@pytest.mark.parametrize("other", [(2, 3), [2, 3], ShapeTuple(2, 3), ShapeTuple(np.array([2, 3]))])
def test_a_shape_equals_tuples_and_lists(other):
    shape = ShapeTuple([2, 3])
    assert shape == other
    assert (shape != other) is False
    assert shape != [3, 2]
    assert hash(shape) == hash((2, 3))


def test_registers_are_those_that_instructions_name():
    function = choosing().bytecode.functions[0]
    assert function.registers == 4
    assert ExecutableFunction("f", ("x", "y")).registers == 2

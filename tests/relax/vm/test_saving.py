"""Bytecode and plans as plain data."""

import pickle

import numpy as np
import pytest

import te_sched
from te_sched.relax.vm.bytecode import ShapeTuple, TypeName
from te_sched.relax.vm.saving import as_plain, bytes_of_constants, from_plain
from tests.relax.vm.choosing import choosing


def test_saving_rejects_unknown_constants(tmp_path):
    executable = choosing()
    executable.bytecode.constants.append(object())
    with pytest.raises(te_sched.errors.CallError, match="cannot save a constant"):
        executable.export_library(tmp_path / "x.tar")


CONSTANTS = [
    te_sched.nd.array(np.float32([[1, 2]])),
    *(ShapeTuple([2, 3]), TypeName("int8"), 3, 2.5, True, "text", np.float64(1.5)),
]


def test_what_is_saved_is_read_again():
    bytecode = choosing().bytecode
    bytecode.constants += CONSTANTS
    data = as_plain(bytecode, {}, has_kernels=False)
    read, plans = from_plain(pickle.loads(pickle.dumps(data)))
    assert (read.functions, plans) == (bytecode.functions, {})
    first, *rest = read.constants
    np.testing.assert_array_equal(first.numpy(), CONSTANTS[0].numpy())
    assert rest == CONSTANTS[1:]
    assert [type(one) for one in rest[-2:]] == [str, float]
    assert bytes_of_constants(bytecode) == 8


@pytest.mark.parametrize(
    ("instruction", "fault"),
    [
        (["call", 9, [], ["r", 0]], "has operand 9"),
        (["call", 1, [["c", 0]], ["r", 0]], "has operand 0"),
        (["ret", ["r", -3]], "has operand -3"),
        (["ret", ["r", "0"]], "has operand '0'"),
        (["goto", 5], "jumps out of the function"),
        (["if", ["r", 0], -1], "jumps out of the function"),
    ],
)
def test_instructions_that_name_what_is_not_there_are_refused(instruction, fault):
    data = as_plain(choosing().bytecode, {}, has_kernels=False)
    data["functions"][0][3][0] = instruction
    with pytest.raises(ValueError, match=f"instruction 0 of main .*{fault}"):
        from_plain(data)

"""Numbers that int64 does not hold, in texts."""

import numpy as np
import pytest

import te_sched
from te_sched.script import from_source

TEXT = """
from tvm.script import tir as T
@T.prim_func
def main(A: T.Buffer((2,), "uint64")):
    for i in range(2):
        A[i] = {}
"""


@pytest.mark.parametrize(
    ("number", "value"),
    [
        ('T.max_value("uint64")', 2**64 - 1),
        ("T.uint64(9223372036854775809)", 2**63 + 1),
        ("T.large_uint_imm(T.uint32(3), T.uint32(2147483648))", 2**63 + 3),
    ],
)
def test_large_numbers_are_read_back(number: str, value: int) -> None:
    func = from_source(TEXT.format(number))
    text = func.script()
    assert "T.large_uint_imm(T.uint32(" in text
    assert from_source(text).script() == text
    array = te_sched.nd.array(np.zeros(2, "uint64"))
    te_sched.build(from_source(text))(array)
    assert array.numpy().tolist() == [value] * 2

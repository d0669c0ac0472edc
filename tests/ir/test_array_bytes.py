"""Arrays as the bytes in which TVM stores them."""

from __future__ import annotations

import numpy as np
import pytest

from te_sched.ir.array_bytes import array_bytes, read_array

ARRAY = np.arange(6, dtype="float32").reshape(2, 3)


def test_bytes_of_an_array() -> None:
    data = b"before" + array_bytes(ARRAY)
    read = read_array(data, 6)
    np.testing.assert_array_equal(read.elements, ARRAY)
    assert (read.dtype, read.end) == ("float32", len(data))


def test_bytes_of_other_things_are_no_array() -> None:
    with pytest.raises(ValueError, match="not valid"):
        read_array(b"\0" * 64)


def test_array_that_is_cut_off_is_refused() -> None:
    with pytest.raises(ValueError, match="cut off"):
        read_array(array_bytes(ARRAY)[:-1])

"""Arrays of other libraries."""

from __future__ import annotations

from te_sched.contrib.dlpack import to_pytorch_func


def test_functions_take_arrays_of_other_libraries_as_they_are():
    assert to_pytorch_func(len) is len

"""Data types that programs can be written with, but not executed."""

from __future__ import annotations

import pytest

from te_sched import te
from te_sched.analysis.programs.data_types import check_data_types
from te_sched.errors import BuildError


@pytest.mark.parametrize("dtype", ["int4", "uint4", "int2"])
def test_types_that_no_target_has_are_refused(dtype: str) -> None:
    a = te.placeholder((4,), name="A", dtype=dtype)
    with pytest.raises(BuildError, match=f"cannot generate code for values of type {dtype}"):
        check_data_types(te.create_prim_func([a, te.compute((4,), lambda i: a[i], name="B")]))

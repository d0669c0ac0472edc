"""Pickled data creates objects of listed classes only."""

from __future__ import annotations

import os
import pickle
from typing import Any

import pytest

from te_sched.ir.argument_sizes import Size
from te_sched.ir.expr import Var
from te_sched.unpickling import load_pickled

SIZE = Size("dimension 0 of A", Var("n"))
CLASSES = {
    **{"te_sched.ir.argument_sizes": {"Size"}, "te_sched.ir.expr": {"Var"}},
    "te_sched.ir.dtypes": {"DType"},
}


def test_names_of_other_modules_in_a_listed_module_are_refused() -> None:
    with pytest.raises(pickle.UnpicklingError, match="is not a class of this module"):
        load_pickled(b"cte_sched.ir.stmt\nVar\n.", {"te_sched.ir.stmt": {"Var"}})


def test_objects_of_listed_classes_are_read() -> None:
    twin = load_pickled(pickle.dumps(SIZE), CLASSES)
    assert (twin.what, twin.extent.name) == (SIZE.what, "n")
    old = pickle.dumps(SIZE).replace(b"te_sched.ir.argument_sizes", b"te_sched.ir.of_older_files")
    with pytest.raises(pickle.UnpicklingError, match=r"of_older_files.Size is not part of a progr"):
        load_pickled(old, CLASSES)
    moved = {"te_sched.ir.of_older_files": "te_sched.ir.argument_sizes"}
    assert load_pickled(old, CLASSES, moved).what == SIZE.what


class _Call:
    """An object that pickle makes by a call."""

    def __init__(self, function: Any, *args: Any) -> None:
        self.call = function, args

    def __reduce__(self) -> Any:
        return self.call


@pytest.mark.parametrize(
    ("data", "fault"),
    [
        (pickle.dumps(_Call(os.system, "false")), "(posix|nt).system is not part of a program"),
        (pickle.dumps(_Call(getattr, 1, "real")), "getattr is not part of a program"),
        (b"cte_sched.ir.expr\nVar.__init__\n.", "Var.__init__ is not part of a program"),
        (pickle.dumps(SIZE)[:-5], "^pickle data was truncated"),
        (b"", "EOFError: "),
        (pickle.dumps(_Call(Var, 1, 2, 3, 4, 5, 6, 7)), "TypeError: "),
        ("\ud800".encode(errors="surrogatepass"), "invalid load key"),
    ],
)
def test_other_data_is_refused(data: bytes, fault: str) -> None:
    with pytest.raises(pickle.UnpicklingError, match=fault):
        load_pickled(data, CLASSES)

"""Lowered functions of graphs as calls by name."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from te_sched.errors import GraphError
from te_sched.ir.graph import If
from te_sched.ir.stmt import IRModule
from te_sched.relax.vm.call_writer import CallWriter, graph_functions
from te_sched.script import ir as I
from te_sched.script import relax as R
from te_sched.script import tir as T


class Listing(CallWriter[str]):
    """Lists the calls; a value is a text."""

    machine = "machine"

    def __init__(self, module: IRModule) -> None:
        super().__init__(module)
        self.calls: list[str] = []

    def constant(self, value: object) -> str:
        return repr(value)

    def integer(self, value: int) -> str:
        return f"i{value}"

    def function(self, name: str) -> str:
        return f"f[{name}]"

    def call(self, name: str, args: Sequence[str], is_void: bool = False) -> str:
        self.calls.append(f"{name}({', '.join(args)})")
        return "nothing" if is_void else f"%{len(self.calls)}"

    def choice(self, expr: If) -> str:
        return f"{self.expr(expr.true_branch)} or {self.expr(expr.false_branch)}"

    def end_life(self, value: str) -> str:
        self.calls.append(f"end of {value}")
        return "nothing"


def listing(module: IRModule) -> tuple[list[str], str]:
    """The calls of `main`, whose parameters are written by their names, and its result."""
    func = graph_functions(module)["main"]
    writer = Listing(module)
    writer.values.update({var: var.name_hint for var in func.params})
    result = writer.expr(func.body)
    return writer.calls, result


def test_calls_are_listed_in_order() -> None:
    @I.ir_module
    class Module:
        @T.prim_func
        def copy(A: T.Buffer((4,), "float32"), B: T.Buffer((4,), "float32")):
            for i in range(4):
                B[i] = A[i]

        @R.function(pure=False)
        def main(x: R.Tensor((4,), "float32")) -> R.Tensor((4,), "float32"):
            storage = R.vm.alloc_storage(R.shape([16]), R.prim_value(0), R.dtype("uint8"))
            y = R.vm.alloc_tensor(storage, R.prim_value(0), R.shape([4]), R.dtype("float32"))
            cls = Module
            _ = cls.copy(x, y)
            _1 = R.vm.kill_object(storage)
            return y

    calls, result = listing(Module)
    assert [call.split("(")[0] for call in calls] == [
        *("vm.builtin.alloc_storage", "vm.builtin.alloc_tensor", "copy", "end of %1"),
    ]
    assert calls[2:] == ["copy(x, %2)", "end of %1"]
    assert result == "%2"


def test_tuples_and_copies_are_calls() -> None:
    @R.function
    def main(x: R.Tensor((4,), "float32"), y: R.Tensor((4,), "float32")):
        z = x
        t = (z, y)
        return t[1]

    calls, result = listing(IRModule({"main": main}))
    assert calls == [
        *("vm.builtin.copy(x)", "vm.builtin.make_tuple(%1, y)", "vm.builtin.tuple_getitem(%2, i1)"),
    ]
    assert result == "%3"


def test_operators_without_a_rule_are_refused() -> None:
    @R.function
    def main(x: R.Tensor((4,), "float32")):
        return R.add(x, x)

    with pytest.raises(GraphError, match=r"cannot run operator relax\.add"):
        listing(IRModule({"main": main}))


def test_symbolic_sizes_are_refused() -> None:
    @R.function
    def main(x: R.Tensor(("n",), "float32")):
        n = T.int64()
        return R.shape([n])

    with pytest.raises(GraphError, match=r"the sizes of R\.shape\(\[n\]\) are not computed"):
        listing(IRModule({"main": main}))

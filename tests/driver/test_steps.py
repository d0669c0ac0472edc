"""What the steps of a build refuse."""

from __future__ import annotations

import pytest

from te_sched import driver, te, tir
from te_sched.driver import build
from te_sched.errors import BuildError, DeclarationError
from te_sched.ir.expr import Call, StringImm
from te_sched.ir.op import Op
from te_sched.ir.stmt import IRModule, PrimFunc
from te_sched.lowering.pipeline import lower
from te_sched.schedule.schedule import create_schedule
from te_sched.target import Target
from tests.driver.programs import declare


def test_race_is_refused_unless_insisted_on() -> None:
    schedule, args, k = declare()
    schedule[args[2]].parallel(k)
    with pytest.raises(BuildError, match="cannot parallelize reduction axis k of stage C"):
        build(schedule, args)
    build(schedule, args, verify=False)


@pytest.mark.parametrize("place", ["variable", "memory"])
def test_hand_written_loops_reject_what_is_used_after_them(place: str) -> None:
    B = tir.decl_buffer((4,), "float32", "B")
    ib = tir.ir_builder.create()
    p = ib.buffer_ptr(B)
    with ib.for_range(0, 4, name="k") as k:
        t = ib.allocate("float32", (4,), "t")
        p[k] = t[0] = 1.0
    p[k if place == "variable" else 0] = t[0] if place == "memory" else 2.0
    body, message = ib.get(), r"variable (k|t) is used outside of its definition"
    with pytest.raises(DeclarationError, match=message):
        te.extern((4,), [], lambda ins, outs: body, name="B", dtype="float32")
    with pytest.raises(BuildError, match=message):
        build(PrimFunc((B.data,), body, {B.data: B}))


def test_double_buffers_in_parallel_loops_are_refused_in_functions_too():
    A = te.placeholder((8, 16), name="A")
    B = te.compute((8, 16), lambda i, j: A[i, j] + 1.0, name="B")
    C = te.compute((8, 16), lambda i, j: B[i, j] * 2.0, name="C")
    s = create_schedule(C.op)
    s[B].compute_at(s[C], C.op.axis[0])
    s[B].double_buffer()
    s[C].parallel(C.op.axis[0])
    for inputs in ((s, [A, C]), (lower(s, [A, C], stop_after="schedule_ops"),)):
        with pytest.raises(BuildError, match="double-buffer stage B in the parallel loop i"):
            build(*inputs)


def test_a_caller_of_a_function_that_is_missing_is_refused():
    call = Call("int32", Op.get("tir.call_function"), (StringImm("nothing"),))
    caller = tir.PrimFunc((), tir.Evaluate(call), {}, {"global_symbol": "f"})
    with pytest.raises(BuildError, match="cannot call function 'nothing' of the module"):
        driver.build_with_callers(IRModule({}), {"f": caller}, Target("llvm"))

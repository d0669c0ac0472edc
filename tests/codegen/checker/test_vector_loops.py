"""Loops around a store to registers, executed at once: the same findings, counters and results."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from te_sched.codegen.checker import Report, check_program, statements
from te_sched.codegen.checker.vector_loops import VectorLoop
from te_sched.ir import expr as E
from te_sched.ir import stmt as S
from tests.codegen.checker import kernels as k


def product() -> S.IRModule:
    """Registers are loaded from shared memory and multiplied, in loops."""

    def build(ib: Any, A: Any, C: Any, bx: Any, tx: Any) -> None:
        s = ib.allocate("float32", 64, "s_shared", scope="shared")
        a = ib.allocate("float32", 4, "a_local", scope="local")
        c = ib.allocate("float32", 16, "c_local", scope="local")
        with ib.for_range(0, 16, name="start") as start:
            c[start] = E.FloatImm(0.0)
        with ib.for_range(0, 3, name="k") as step:
            s[tx] = A[bx * 64 + tx]
            k.wait(ib)
            with ib.for_range(0, 4, name="load") as load:
                a[load] = s[(tx * 2 + load + step) % 64]
            with ib.for_range(0, 4, name="i") as i, ib.for_range(0, 4, name="j") as j:
                c[i * 4 + j] = c[i * 4 + j] + a[i] * a[j]
            k.wait(ib)
        with ib.for_range(0, 16, name="out") as out:
            C[(bx * 64 + tx) * 16 + out] = c[out]

    return k.program(build, [k.array("A", 128), k.array("C", 2048)], bx=2, tx=64)


def checked(
    module: S.IRModule, max_steps: int | None = None
) -> tuple[Report, np.ndarray[Any, Any]]:
    result = np.full(2048, np.nan, np.float32)
    arguments = [np.arange(128, dtype=np.float32), result]
    return check_program(module, arguments, max_steps=max_steps), result


EDITS: dict[str, tuple[k.Mutation, ...]] = {
    "none": (),
    "a sum that is not initialized": (k.with_iterations("start", 15),),
    "too few registers": (k.with_room("a_local", 3),),
    "shared memory out of bounds": (k.loaded_at("s_shared", lambda v: v.tx + v.load),),
    "shared memory not written": (k.without_store("s_shared"),),
    "no barrier before the loads": (k.without_barrier(0),),
    "no barrier after them": (k.without_barrier(1),),
    "iterations that store one element": (k.stored_at("c_local", lambda v: v.i * 3 + v.j, 1),),
    "iterations that store what others load": (
        k.loaded_at("c_local", lambda v: (v.i * 4 + v.j + 15) % 16),
    ),
    "elements that differ between threads": (k.loaded_at("a_local", lambda v: (v.i + v.tx) % 4),),
    "stores of some threads": (k.store_only_where("c_local", lambda v: v.tx < 40),),
    "loads of some threads": (k.store_only_where("a_local", lambda v: v.tx < 40),),
}


@pytest.mark.parametrize("name", EDITS)
def test_reports_are_those_of_single_iterations(name: str, monkeypatch: Any) -> None:
    module = product()
    for edit in EDITS[name]:
        module = edit(module)
    report, result = checked(module)
    monkeypatch.setattr(statements, "nest_of", lambda node: None)
    expected, one_by_one = checked(module)
    assert report.to_dict() == expected.to_dict()
    np.testing.assert_array_equal(result, one_by_one)


@pytest.mark.parametrize("steps", [17, 20, 21, 41])
def test_step_limit_is_that_of_single_iterations(steps: int, monkeypatch: Any) -> None:
    report, result = checked(product(), max_steps=steps)
    monkeypatch.setattr(statements, "nest_of", lambda node: None)
    expected, one_by_one = checked(product(), max_steps=steps)
    assert report.to_dict() == expected.to_dict()
    np.testing.assert_array_equal(result, one_by_one)


def test_iterations_are_executed_at_once(monkeypatch: Any) -> None:
    executed = []
    run = VectorLoop.run

    def noted(loop: VectorLoop) -> bool:
        executed.append((loop.extents, run(loop)))
        return executed[-1][1]

    monkeypatch.setattr(VectorLoop, "run", noted)
    assert checked(product())[0].ok
    assert executed == [((16,), True), *[((4,), True), ((4, 4), True)] * 3]

"""Functions and modules: what they are made of, and where they come from."""

from __future__ import annotations

import pickle

import pytest

import te_sched
from te_sched import te
from te_sched.errors import DeclarationError, OperandError, ScheduleError
from te_sched.ir.expr import IntImm
from te_sched.ir.stmt import Evaluate, IRModule, PrimFunc
from te_sched.ir.structural import structural_equal
from te_sched.lowering.device.split_kernels import split_kernels
from te_sched.lowering.device.unify_threads import unify_threads

WRITTEN = PrimFunc((), Evaluate(IntImm(0)), {})


def lowered() -> PrimFunc:
    B = te.compute((4,), lambda i: i, name="B")
    s = te.create_schedule(B.op)
    s[B].bind(B.op.axis[0], te.thread_axis("threadIdx.x"))
    return te_sched.lower(s, [B])["main"]


def test_a_function_knows_where_it_comes_from() -> None:
    host = unify_threads(lowered())
    kernel = split_kernels(host)["main_kernel"]
    assert [one.origin for one in (WRITTEN, host, kernel)] == ["written", "schedule", "kernel"]


def test_the_origin_stays_and_is_no_part_of_the_program() -> None:
    func = lowered()
    other = func.with_body(WRITTEN.body).without_attr("from_legacy_te_schedule")
    assert other.origin == "schedule"
    again = PrimFunc((), WRITTEN.body, {}, origin="schedule")
    assert structural_equal(again, WRITTEN)
    assert again.script() == WRITTEN.script()


def test_the_attribute_of_tvm_tells_the_origin_unless_it_is_given() -> None:
    marked = WRITTEN.with_attr("from_legacy_te_schedule", True)
    assert marked.origin == "written"
    assert PrimFunc((), WRITTEN.body, {}, marked.attrs).origin == "schedule"


def test_modules_reject_names_that_they_do_not_have() -> None:
    module = IRModule.from_expr(WRITTEN)
    assert "main" in module
    with pytest.raises(DeclarationError, match="use one of main"):
        module["other"]


def test_functions_of_modules_are_listed_in_order() -> None:
    first, second = PrimFunc((), Evaluate(IntImm(0)), {}), PrimFunc((), Evaluate(IntImm(1)), {})
    module = IRModule({"a": first, "b": second})
    assert module.functions.items()[1] == ("b", second)
    assert [name.name_hint for name, _ in module.functions.items()] == ["a", "b"]
    assert pickle.loads(pickle.dumps(module)).functions.items()[0][0] == "a"


def test_functions_of_a_module_are_exchanged():
    first, second = [PrimFunc((), Evaluate(IntImm(value)), {}) for value in (1, 2)]
    module = IRModule({"f": first})
    before, copy = module.functions, module.clone()
    module["g"] = second
    module.update_func(module.get_global_var("f"), second)
    assert (module["f"], sorted(module.functions)) == (second, ["f", "g"])
    assert (list(before), copy["f"]) == (["f"], first)
    module.update({"h": first})
    module.update(IRModule({"g": first}))
    del module["f"]
    assert {name: func is first for name, func in module.functions.items()} == {
        "g": True,
        "h": True,
    }
    with pytest.raises(DeclarationError, match="has no function 'f'"):
        del module["f"]
    for wrong in (lambda: module.update({"f": 3}), lambda: module.update_func("f", 3)):
        with pytest.raises(DeclarationError, match=r"expected a (function|BaseFunc)"):
            wrong()


def test_attributes_of_a_module_are_those_of_a_copy():
    module = IRModule({}, {"a": 1})
    assert module.with_attrs({"b": 2, "c": 3}).without_attr("a").attrs == {"b": 2, "c": 3}
    assert (module.with_attr("a", 2).attrs, module.attrs) == ({"a": 2}, {"a": 1})


def test_functions_are_built_before_they_are_called():
    func = PrimFunc((), Evaluate(IntImm(0)), {}, {"global_symbol": "f"})
    with pytest.raises(OperandError, match=r"function f is called(.*\n)*.*te_sched.build\(f\)"):
        func(1)


def test_functions_are_scheduled_as_blocks():
    func = WRITTEN
    with pytest.raises(ScheduleError, match=r"got a PrimFunc(.*\n)*.*te_sched.tir.Schedule"):
        te.create_schedule(func)

"""A name of TVM that te_sched does not have: the error says what there is instead."""

import pytest

import te_sched as tvm
from te_sched.compat.names import FIRST_GENERATION


@pytest.mark.parametrize(
    ("module", "name", "advice"),
    [
        (tvm, "auto_scheduler", "te_sched has no te_sched.auto_scheduler: .*te_sched.tune"),
        (
            tvm.te,
            "extern_primfunc",
            "te_sched has no te_sched.te.extern_primfunc: .* use te.extern",
        ),
        (tvm.tir, "ScheduleState", "te_sched has no te_sched.tir.ScheduleState: .*tir.Schedule"),
        (tvm.te, "nothing", r"te_sched has no te_sched\.te\.nothing$"),
        (tvm.nd, "__nothing__", "module 'te_sched.nd' has no attribute '__nothing__'"),
    ],
)
def test_modules_advise(module, name, advice):
    with pytest.raises(AttributeError, match=advice):
        getattr(module, name)


def test_names_that_are_loaded_late_are_there():
    assert callable(tvm.te.create_schedule)
    assert callable(tvm.te.hybrid.script)
    assert callable(tvm.runtime.load_module)


OF_TVM = (
    *("ir.Range", "ir.Array", "ir.transform", "tir.Any", "tir.stmt_seq", "tir.stmt_list"),
    *("arith.ConstIntBound", "arith.ModularSet", "arith.IntervalSet", "runtime.ShapeTuple"),
    *("transform.Pass", "target.target", "script.ir_builder", "relax.dataflow", "topi.math"),
    *("meta_schedule.tune_te", "te.schedule", "container", "build_module"),
)


@pytest.mark.parametrize("name", [*OF_TVM, *sorted(FIRST_GENERATION)])
def test_names_that_programs_of_tvm_have_lead_to_them(name):
    *modules, last = name.split(".")
    module = tvm
    for one in modules:
        module = getattr(module, one)
    if hasattr(module, last):
        return
    with pytest.raises(AttributeError, match=r"after te_sched\.compat\.install\(\)"):
        getattr(module, last)


@pytest.mark.parametrize("name", ["nothing", "script.nothing", "tir.nothing", "topi.nothing"])
def test_other_names_do_not(name):
    *modules, last = name.split(".")
    module = tvm
    for one in modules:
        module = getattr(module, one)
    with pytest.raises(AttributeError, match=last) as caught:
        getattr(module, last)
    assert "install" not in str(caught.value)

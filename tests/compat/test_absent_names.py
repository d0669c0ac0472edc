"""A name of TVM that te_sched does not have: the error says what there is instead."""

import pytest

import te_sched as tvm


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

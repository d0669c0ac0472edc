"""Instruments of passes are called around each pass, in the order of the context."""

import pytest

import te_sched
from te_sched import IRModule, instrument, te, tir
from te_sched.errors import LoweringError
from te_sched.passes import ModulePass
from te_sched.transform import PassContext, Sequential, module_pass


@module_pass(opt_level=2, name="late")
def late(mod, context):
    return mod.with_attr("level", context.opt_level)


@instrument.pass_instrument
class Recorder:
    def __init__(self, omitted=()):
        self.calls, self.omitted = [], omitted

    def enter_pass_ctx(self):
        self.calls.append("enter")

    def exit_pass_ctx(self):
        self.calls.append("exit")

    def should_run(self, mod, info):
        return info.name not in self.omitted

    def run_before_pass(self, mod, info):
        self.calls.append(f"before {info.name}")

    def run_after_pass(self, mod, info):
        self.calls.append(f"after {info.name}")


def test_instruments_see_each_pass_and_the_sequence():
    recorder = Recorder(omitted=["tir.RemoveNoOp"])
    passes = Sequential([tir.transform.Simplify(), tir.transform.RemoveNoOp(), late])
    with PassContext(instruments=[recorder]):
        assert passes(IRModule()).attrs == {"level": 2}
    around = ["before tir.Simplify", "after tir.Simplify", "before late", "after late"]
    assert recorder.calls == ["enter", "before sequential", *around, "after sequential", "exit"]


def test_instruments_see_the_passes_of_lower_and_may_skip_them():
    A = te.placeholder((8,), name="A")
    B = te.compute((8,), lambda i: A[i] + 1.0, name="B")
    s = te.create_schedule(B.op)
    s[B].unroll(B.op.axis[0])
    recorder = Recorder(omitted=["tir.UnrollLoop", "mark"])
    mark = tir.transform.prim_func_pass(lambda func, *_: func, name="mark")
    added = {"tir.add_lower_pass": [(0, mark)]}
    with PassContext(instruments=[recorder], config=added):
        text = str(te_sched.lower(s, [A, B]))
    assert "T.unroll(8)" in text
    assert recorder.calls[1:3] == ["before tir.InjectPrefetch", "after tir.InjectPrefetch"]
    assert recorder.calls[-2] == "after tir.CommonSubexprElimTIR"
    assert recorder.calls.count("before tir.Simplify") == 3


def test_added_passes_are_seen_once():
    recorder = Recorder()
    mark = tir.transform.prim_func_pass(lambda func, *_: func.with_attr("marked", 1), name="mark")
    with PassContext(instruments=[recorder], config={"tir.add_lower_pass": [(0, mark)]}):
        module = te_sched.lower(tir.PrimFunc((), tir.Evaluate(0), {}))
    assert module["main"].attrs["marked"] == 1
    assert recorder.calls.count("before mark") == recorder.calls.count("after mark") == 1


def test_a_sequence_omits_passes_of_a_higher_level_and_disabled_ones():
    with PassContext(opt_level=1):
        assert not Sequential([late])(IRModule()).attrs
        assert late(IRModule()).attrs  # called by itself, it runs
    with PassContext(disabled_pass=["late"]):
        assert not Sequential([late])(IRModule()).attrs
    with PassContext(opt_level=0, required_pass=["late"]):
        assert Sequential([late])(IRModule()).attrs


def test_instruments_that_were_entered_are_left_if_a_later_one_fails():
    class Broken(instrument.PassInstrument):
        def enter_pass_ctx(self):
            raise RuntimeError("no")

    first = Recorder()
    with pytest.raises(RuntimeError), PassContext(instruments=[first, Broken()]):
        pass
    assert first.calls == ["enter", "exit"]
    assert PassContext.current().instruments == []


def test_override_instruments_leaves_the_old_ones():
    first, second = Recorder(), Recorder()
    with PassContext(instruments=[first]) as context:
        context.override_instruments([second])
    assert (first.calls, second.calls) == (["enter", "exit"], ["enter", "exit"])


def test_times_are_nested():
    timing = instrument.PassTimingInstrument()
    with PassContext(instruments=[timing]):
        Sequential([late], name="all")(IRModule())
        lines = timing.render().splitlines()
    assert [line.split(":")[0] for line in lines] == ["all", "\tlate"]
    with pytest.warns(UserWarning, match="no passes have been measured"):
        assert timing.render() == ""


def test_modules_are_printed(capsys):
    module = IRModule({"f": tir.PrimFunc((), tir.Evaluate(7), {})})
    printing = instrument.PassPrintingInstrument(["late"], ["tir.Simplify"])
    with PassContext(instruments=[printing]):
        Sequential([late, tir.transform.Simplify()])(module)
    heads = [line for line in capsys.readouterr().out.splitlines() if "Pass:" in line]
    assert [line.split(" The meta data")[0] for line in heads] == [
        "Before Running Pass:",
        "After Running Pass:",
    ]


def test_passes_reject_what_is_no_module():
    with pytest.raises(LoweringError, match="pass late expects a module, got an int"):
        late(3)
    broken = module_pass(lambda mod, context: None, opt_level=0, name="broken")
    with pytest.raises(LoweringError, match="pass broken must return a module"):
        broken(IRModule())
    with pytest.raises(LoweringError, match="pass_instrument cannot decorate an int"):
        instrument.pass_instrument(3)


def test_a_class_of_passes_keeps_its_name_and_attributes():
    @te_sched.transform.module_pass(opt_level=0)
    class Tagged:
        def __init__(self, tag):
            self.tag = tag

        def transform_module(self, mod, context):
            return mod.with_attr("tag", self.tag)

    one = Tagged("a")
    assert isinstance(one, ModulePass)
    assert (one.tag, one.info.name) == ("a", "Tagged")
    assert one(IRModule()).attrs == {"tag": "a"}

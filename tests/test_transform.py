"""Sequences of passes, and passes of functions."""

import pytest

from te_sched import lower, relax, tir, transform
from te_sched.errors import DeclarationError
from te_sched.transform import PassContext, Sequential
from tests.transformed import functions, schedule


def test_passes_compose():
    mod = lower(*schedule("unroll"), stop_after="flatten_storage")
    done = Sequential([tir.transform.UnrollLoop(), tir.transform.Simplify()])(mod)
    assert "b[3]" in str(done)
    assert "b[3]" not in str(mod)


def test_module_pass_is_given_the_context():
    @transform.module_pass(opt_level=0)
    def keep(mod, context):
        assert isinstance(context, PassContext)
        return mod

    mod = lower(*schedule())
    assert keep(mod) is mod


@pytest.mark.parametrize(
    ("make", "help"),
    [
        (transform.module_pass, "give lambda mod, ctx: mod"),
        (tir.transform.prim_func_pass, "give lambda func, mod, ctx: func"),
        (relax.transform.function_pass, "give lambda func, mod, ctx: func"),
    ],
)
def test_functions_of_passes_take_what_passes_give(make, help):
    def keep(value):
        return value

    with pytest.raises(
        DeclarationError, match=r"the function of pass keep takes 1 argument, expected"
    ) as e:
        make(keep, opt_level=0)
    assert e.value.help == help


def test_passes_over_modules_are_passes():
    for one in (tir.transform.Filter(lambda func: True), tir.transform.AnnotateEntryFunc()):
        assert isinstance(one, tir.transform.ModulePass)
        assert Sequential([one])(functions())["f"].attrs is not None


def test_a_sequence_is_a_pass() -> None:
    assert isinstance(Sequential([]), tir.transform.ModulePass)


def test_print_ir_writes_the_module_and_keeps_it(capsys):
    module = lower(*schedule(""))
    passes = Sequential([transform.PrintIR("first"), tir.transform.Simplify()])
    assert str(passes(module)) == str(module)
    written = capsys.readouterr().err
    assert written == f"PrintIR(first):\n{module}\n"


def test_one_pass_is_refused_with_a_list_of_it():
    with pytest.raises(DeclarationError, match=r"give a list of it: Sequential\(\[...\]\)"):
        Sequential(tir.transform.Simplify())

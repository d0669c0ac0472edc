"""What passes may rely on: each rule is broken once."""

import numpy as np
import pytest

import te_sched
from te_sched import IRModule, relax, tir
from te_sched.errors import GraphError, TeSchedError
from te_sched.relax.analysis import check_well_formed, well_formed
from te_sched.script import from_source
from te_sched.script import ir as I
from te_sched.script import relax as R
from te_sched.script import tir as T

INFO = relax.TensorStructInfo([4], "float32")


def var(name, info=INFO, kind=relax.Var):
    return kind(name, info)


def function(bindings, params, result, kind=relax.BindingBlock, **options):
    seq = relax.SeqExpr([kind(bindings)], result)
    return relax.Function(params, seq, INFO, **options)


def bound(name, value, kind=relax.Var):
    one = var(name, kind=kind)
    return one, relax.VarBinding(one, value)


def rejects(obj, match):
    with pytest.raises(GraphError, match=match):
        check_well_formed(obj, check_struct_info=False)


def test_a_good_module_is_well_formed():
    @I.ir_module
    class Module:
        @R.function
        def main(x: R.Tensor(("n", 4), "float32"), c: R.Tensor((), "bool")):
            with R.dataflow():
                y = R.add(x, x)
                z = R.exp(y)
                R.output(z)
            if c:
                v = R.add(z, z)
                w = R.exp(v)
            else:
                w = R.exp(z)
            return w

    assert well_formed(Module)
    check_well_formed(Module["main"])


def test_variables_are_bound_once_before_they_are_used():
    x = var("x")
    rejects(relax.Function([], x, INFO), "variable x is used where it is not defined")
    y, first = bound("y", x)
    rejects(function([first, first], [x], y), "variable y is bound more than once")


def test_dataflow_variables_stay_in_their_block():
    x = var("x")
    y, binding = bound("y", x, relax.DataflowVar)
    rejects(function([binding], [x], y), "DataflowVar y is bound outside of a dataflow block")
    outside = function([binding], [x], y, relax.DataflowBlock)
    rejects(outside, "variable y is used where it is not defined")
    rejects(relax.Function([y], y, INFO), "parameter y is a DataflowVar")


def test_parameters_have_struct_infos():
    x = var("x", None)
    with pytest.raises(Exception, match="no struct info"):
        relax.Function([x], x, INFO)


def test_values_are_in_normal_form():
    x = var("x")
    nested = relax.op.add(x, relax.op.add(x, x))
    y, binding = bound("y", nested)
    rejects(function([binding], [x], y), "an argument of relax.add is not a variable or constant")
    y, binding = bound("y", relax.SeqExpr([], x))
    rejects(function([binding], [x], y), "a sequence of blocks is a value")
    y, binding = bound("y", tir.PrimFunc([], tir.Evaluate(0), {}))
    rejects(function([binding], [x], y), "a PrimFunc is a value")
    y, binding = bound("y", relax.Call(relax.Function([x], x), [x]))
    rejects(function([binding], [x], y), "a function is called where it is defined")
    y, binding = bound("y", relax.Tuple([relax.op.add(x, x)]))
    rejects(function([binding], [x], y), "an element of a tuple is not a variable or constant")


def test_bodies_and_branches_are_sequences():
    x, c = var("x"), var("c", relax.TensorStructInfo([], "bool"))
    choice = relax.If(c, x, x)
    y, binding = bound("y", choice)
    check_well_formed(function([binding], [x, c], y), check_struct_info=False)
    in_dataflow = function([binding], [x, c], y, relax.DataflowBlock)
    rejects(in_dataflow, "a dataflow block has a branch")
    broken = function([binding], [x, c], y)
    object.__setattr__(choice, "true_branch", x)
    rejects(broken, "a branch is not a sequence of blocks")
    object.__setattr__(broken, "body", x)
    rejects(broken, "the body of function main is not a sequence of blocks")


def test_sizes_are_defined_in_one_function():
    n = tir.Var("n", "int64")
    x = var("x", relax.TensorStructInfo([n], "float32"))
    y = var("y", relax.TensorStructInfo([n], "float32"))
    both = IRModule({"f": relax.Function([x], x), "g": relax.Function([y], y)})
    rejects(both, "variable n of sizes is defined in two functions")
    z = var("z", relax.TensorStructInfo([n * 2], "float32"))
    rejects(relax.Function([z], z, INFO), "parameter z has size n, which is not defined there")


def test_names_of_functions():
    x = var("x")
    y, binding = bound("y", relax.Call(relax.GlobalVar("absent"), [x]))
    rejects(IRModule({"f": function([binding], [x], y)}), "function absent is not in the module")
    named = relax.Function([x], x).with_attr("global_symbol", "g")
    rejects(IRModule({"f": named}), "function f has the global symbol 'g'")


def test_effects():
    x = var("x")
    _, binding = bound("y", relax.op.print(x, format="{}"))
    rejects(function([binding], [x], x), "a pure function has a call with effects")
    impure = function([binding], [x], x, relax.DataflowBlock, is_pure=False)
    rejects(impure, "a dataflow block has a call with effects")
    forced = relax.Function([x], x, INFO, False, {"relax.force_pure": True})
    rejects(forced, "has the attribute relax.force_pure, but is not pure")


def test_struct_infos_agree():
    x = var("x")
    y = var("y", relax.TensorStructInfo([4], "int32"))
    contradicts = function([relax.VarBinding(y, x)], [x], x)
    relax.block_builder.update_struct_info(contradicts.body, INFO)
    with pytest.raises(GraphError, match=r"variable y is .*float32.*, declared as .*int32"):
        check_well_formed(contradicts)
    unknown = function([relax.VarBinding(var("z", None), x)], [x], x)
    with pytest.raises(GraphError, match="the struct info of variable z is not known"):
        check_well_formed(unknown)
    z = var("z", None)
    block = relax.BindingBlock([relax.VarBinding(z, x)])
    no_result = relax.Function([x], relax.SeqExpr([block], z))
    rejects(no_result, "the struct info of the result of function main is not known")


def test_calls_of_prim_funcs_fit_their_parameters():
    @T.prim_func(private=True)
    def twice(A: T.Buffer((16,), "float16"), B: T.Buffer((16,), "float16")):
        for i in range(16):
            with T.block("B"):
                vi = T.axis.remap("S", [i])
                B[vi] = A[vi] * T.float16(2)

    def module(shape, out, op=relax.op.call_tir, *more):
        builder = relax.BlockBuilder(IRModule({"twice": twice}))
        a = var("a", relax.TensorStructInfo(shape, "float16"))
        with builder.function("main", [a]):
            name = builder.get().get_global_var("twice")
            call = op(name, [a], *more, relax.TensorStructInfo(out, "float16"))
            builder.emit_func_output(builder.emit(call))
        return builder.get()

    assert well_formed(module([16], [16]))
    for shape, out in (([32], [16]), ([16], [32]), ([4, 4], [16])):
        with pytest.raises(GraphError, match=r"twice is called with .*, expected"):
            check_well_formed(module(shape, out))
    inplace = module([16], [16], relax.op.call_tir_inplace, [0])
    with pytest.raises(GraphError, match="twice has 2 parameters, the call gives 1"):
        check_well_formed(inplace)


SPOIL = """
@I.ir_module
class Module:
    @T.prim_func(private=True)
    def spoil(A: T.Buffer((4,), "float32"), B: T.Buffer((4,), "float32")):
        for i in range(4):
            with T.block("B"):
                vi = T.axis.remap("S", [i])
                B[vi] = A[vi]
                A[vi] = T.float32(-1)

    @R.function
    def main(x: R.Tensor((4,), "float32")):
        a = R.exp(x)
        y = CALL
        z = R.add(a, y)
        return z
"""


@pytest.mark.parametrize(
    "call",
    [
        "R.call_tir(Module.spoil, (a,), out_sinfo=R.Tensor((4,), 'float32'))",
        "R.call_dps_packed('spoil', (a,), out_sinfo=R.Tensor((4,), 'float32'))",
    ],
)
def test_functions_that_write_their_inputs_are_refused(call):
    names = {"I": I, "R": R, "T": T}
    text = r"spoil writes A, which relax\.call_\w+ gives it as an input"
    with pytest.raises(TeSchedError, match=text):
        from_source(SPOIL.replace("CALL", call), names)
    module = from_source(SPOIL.replace("CALL", call), names, check_well_formed=False)
    with pytest.raises(GraphError, match=text) as error:
        relax.build(module, "llvm")
    assert "call_tir_inplace(..., inplace_indices=[0], ...)" in error.value.help
    with pytest.raises(GraphError, match=text):
        check_well_formed(module)


def test_a_function_in_whose_input_a_result_is_written_is_called():
    call = (
        "R.call_tir_inplace(Module.spoil, (x,), [0, -1], "
        "out_sinfo=[R.Tensor((4,), 'float32'), R.Tensor((4,), 'float32')])"
    )
    text = SPOIL.replace("a = R.exp(x)", f"pair = {call}").replace("y = CALL", "a = pair[0]")
    text = text.replace("R.add(a, y)", "R.add(a, pair[1])")
    module = from_source(text, {"I": I, "R": R, "T": T})
    machine = relax.VirtualMachine(relax.build(module, "llvm"), te_sched.cpu())
    found = machine["main"](te_sched.nd.array(np.arange(4, dtype="float32"))).numpy()
    np.testing.assert_array_equal(found, [-1, 0, 1, 2])


def test_results_in_place_of_an_argument_have_its_struct_info():
    from te_sched.relax.analysis.well_formed import check_prim_func_call

    a = var("a", relax.TensorStructInfo([16], "float16"))
    out = relax.TensorStructInfo([32], "float16")
    attrs = relax.op.call_tir_inplace(relax.GlobalVar("f"), [a], [0], a.struct_info).attrs
    call = relax.Call(
        relax.op.call_tir_inplace(relax.GlobalVar("f"), [a], [0], a.struct_info).op,
        [relax.GlobalVar("f"), relax.Tuple([a])],
        attrs,
        [out],
    )
    info = relax.FuncStructInfo([a.struct_info], relax.TupleStructInfo([]), False)
    with pytest.raises(GraphError, match=r"f writes .*32.* in place of"):
        check_prim_func_call(call, info)


def test_what_is_wrong_is_written_to_the_standard_error(capsys):
    x = var("x")
    assert not well_formed(relax.Function([], x, INFO))
    assert "This IR is not well formed: variable x" in capsys.readouterr().err


def test_a_tuple_without_fields_is_declared_for_any_tuple():
    @R.function
    def pair(x: R.Tensor((4,), "float32")) -> R.Tuple:
        return (x, x)

    assert str(pair.ret_struct_info) == "R.Tuple"
    check_well_formed(pair)
    x = var("x")
    seq = relax.SeqExpr([], x)
    seq.struct_info_ = INFO
    wrong = relax.Function([x], seq, relax.TupleStructInfo([]))
    with pytest.raises(GraphError, match="declared as R"):
        check_well_formed(wrong)

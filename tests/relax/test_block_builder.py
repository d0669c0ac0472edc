"""The builder of graphs: names, blocks, functions of the module, normal form."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from te_sched import relax, tir, topi
from te_sched.errors import GraphError
from te_sched.ir import Op, assert_structural_equal, structural_hash
from te_sched.ir.stmt import PrimFunc
from te_sched.relax import block_builder
from te_sched.script import ir as I
from te_sched.script import relax as R
from te_sched.script import tir as T

N = tir.Var("n", "int64")
INFO = relax.TensorStructInfo([N, 4], "float32")


def variable(name: str = "x") -> relax.Var:
    return relax.Var(name, INFO)


def test_bindings_are_named_and_outputs_leave_their_block() -> None:
    x = variable()
    builder = relax.BlockBuilder()
    with builder.function("main", [x], attrs={"a": 1}, pure=False):
        first = builder.emit(relax.op.add(x, relax.op.add(x, x)))
        with builder.dataflow():
            inner = builder.emit(relax.op.add(first, x), name_hint="sum")
            assert builder.current_block_is_dataflow()
            out = builder.emit_output((inner, x))
        builder.emit_func_output([out, first])

    @R.function(pure=False)
    def main(x: R.Tensor(("n", 4), "float32")):
        R.func_attr({"a": 1})
        gv = R.add(x, x)
        gv1 = R.add(x, gv)
        with R.dataflow():
            sum = R.add(gv1, x)
            gv2 = (sum, x)
            R.output(gv2)
        return (gv2, gv1)

    assert builder.get()["main"].script() == main.script()
    assert builder.lookup_binding(first).op == "relax.add"
    assert builder.lookup_binding(x) is None


def test_functions_with_the_same_structure_are_one() -> None:
    x = variable()
    builder = relax.BlockBuilder()
    with builder.function("main", [x]):
        a = builder.emit_te(topi.add, x, x)
        b = builder.emit_te(topi.add, a, a)
        c = builder.emit_te(topi.multiply, b, x, primfunc_name_hint="add")
        builder.emit_func_output(c)
    assert sorted(builder.get().functions) == ["add", "add1", "main"]
    assert_structural_equal(a.struct_info, b.struct_info)
    name = builder.add_func(builder.get()["add1"], "copy")
    assert name == "add1"
    builder.update_func("add1", builder.get()["add"])
    assert builder.add_func(builder.get()["add"], "other") in ("add", "add1")


def test_functions_are_hashed_to_choose_from_several_alike(monkeypatch: pytest.MonkeyPatch) -> None:
    hashed: list[type[Any]] = []

    def spy(node: Any) -> int:
        hashed.append(type(node))
        return structural_hash(node)

    monkeypatch.setattr(block_builder, "structural_hash", spy)
    x = variable()
    first = relax.BlockBuilder()
    with first.function("main", [x]):
        sums = [first.emit_te(topi.add, x, x)]
        assert not hashed
        sums += [first.emit_te(topi.add, sums[0], tir.const(k, "float32")) for k in (1, 2, 3, 2)]
        assert hashed == [PrimFunc] * 5  # the second of four constants is compared with the first
        first.emit_func_output(sums)
    assert sorted(first.get().functions) == ["add", "add1", "add2", "add3", "main"]
    builder = relax.BlockBuilder(first.get())
    del hashed[:]
    assert builder.add_func(builder.get()["add2"], "copy") == "add2"
    assert set(hashed) == {PrimFunc}  # the constants of graphs may be large
    assert builder.add_func(builder.get()["main"], "main2") == "main"
    assert set(hashed) == {PrimFunc}


def test_functions_that_change_are_known_to_calls_in_normal_form() -> None:
    wide, narrow = [relax.TensorStructInfo([4], dtype) for dtype in ("float64", "float32")]

    def function(info: relax.StructInfo) -> relax.Function:
        x = relax.Var("x", info)
        return relax.Function([x], x)

    builder = relax.BlockBuilder()
    name = builder.add_func(builder.normalize(function(wide)), "f")
    call = relax.Call(relax.GlobalVar(str(name)), [relax.Var("x", wide)])
    normal = builder.normalize(call)
    assert normal.struct_info == wide
    assert builder.normalize(normal) is normal
    builder.update_func(name, builder.normalize(function(narrow)))
    changed = builder.normalize(relax.Call(normal.op, [relax.Var("x", narrow)]))
    assert changed.op.struct_info.ret == narrow
    assert builder.normalize(relax.Tuple([normal.args[0]])).struct_info.fields[0] == wide


def test_functions_open_inside_of_others() -> None:
    x, y = variable(), variable("y")
    builder = relax.BlockBuilder()
    with builder.function("main", [x]):
        with builder.function("inner", [y], private=True):
            inner = builder.emit_func_output(builder.emit(relax.op.add(y, y)))
        builder.emit_func_output(builder.emit(inner(x)))
    assert builder.get()["main"].ret_struct_info == INFO
    assert "global_symbol" not in builder.get()["inner"].attrs
    assert relax.BlockBuilder.current() is None


def test_sequences_in_bindings_are_spliced() -> None:
    x = variable()
    inside = relax.Var("i", INFO)
    block = relax.DataflowBlock([relax.VarBinding(inside, relax.op.add(x, x))])
    builder = relax.BlockBuilder()
    with builder.function("main", [x]):
        value = builder.emit(relax.SeqExpr([block], inside))
        builder.emit_func_output(value)
    kinds = [type(one).__name__ for one in builder.get()["main"].body.blocks]
    assert kinds == ["DataflowBlock", "BindingBlock"]


def test_void_values_are_empty_tuples() -> None:
    builder = relax.BlockBuilder()
    nothing = relax.Var("u", relax.TupleStructInfo([]))
    assert str(builder.normalize(relax.Tuple([nothing, variable()]))) == "(R.tuple(), x)"


def test_casts_define_sizes_that_results_do_not_show() -> None:
    x = relax.Var("x", relax.TensorStructInfo(dtype="int8", ndim=1))
    m = tir.Var("m", "int64")
    builder = relax.BlockBuilder()
    with builder.function("main", [x]):
        with builder.dataflow():
            inner = builder.match_cast(x, relax.TensorStructInfo([m], "int8"), "c")
            out = builder.emit_output(inner)
        builder.emit_func_output(out)
    function = builder.get()["main"]
    assert inner.name_hint == "c"
    assert function.body.blocks[0].bindings[1].var.struct_info.shape[0] is m
    assert function.ret_struct_info == relax.TensorStructInfo(dtype="int8", ndim=1)


def test_conditions_know_what_both_branches_are() -> None:
    cond = relax.Var("c", relax.PrimStructInfo("bool"))
    three, four = (relax.Var(f"v{n}", relax.TensorStructInfo([n], "int8")) for n in (3, 4))
    builder = relax.BlockBuilder()
    with builder.function("main", [cond, three, four]):
        value = builder.emit(relax.If(cond, relax.op.add(three, three), four))
        builder.emit_func_output(value)
    assert value.struct_info == relax.TensorStructInfo(dtype="int8", ndim=1)
    branch = builder.get()["main"].body.blocks[0].bindings[0].value.true_branch
    assert len(branch.blocks[0].bindings) == 1


def in_function(act: Any) -> Any:
    def run() -> None:
        builder = relax.BlockBuilder()
        with builder.function("main", [variable()]):
            act(builder)

    return run


def without_parameters() -> None:
    builder = relax.BlockBuilder()
    with builder.function("main"):
        builder.emit_func_output(variable())


def twice_with_a_name() -> None:
    builder = relax.BlockBuilder()
    for _ in range(2):
        with builder.function("main", []):
            builder.emit_func_output(relax.const(1))


def hidden_variable() -> None:
    x = variable()
    builder = relax.BlockBuilder()
    with builder.function("main", [x]):
        with builder.dataflow():
            inner = builder.emit(relax.op.add(x, x))
            used = relax.VarBinding(variable("u"), relax.op.add(inner, x))
            value = builder.emit(relax.SeqExpr([relax.BindingBlock([used])], used.var))
            out = builder.emit_output(value)
        builder.emit_func_output(out)


FAULTS = {
    "function main has no result": in_function(lambda builder: None),
    "no function is open": lambda: relax.BlockBuilder().emit_func_output(variable()),
    "function main has a result already": in_function(
        lambda builder: [builder.emit_func_output(relax.const(n)) for n in (1, 2)]
    ),
    "the parameters of function main are given twice": in_function(
        lambda builder: builder.emit_func_output(relax.const(1), [variable()])
    ),
    "function main has no parameters": without_parameters,
    "function main exists in the module already": twice_with_a_name,
    "a dataflow block stands outside of a function": lambda: (
        relax.BlockBuilder().dataflow().__enter__()
    ),
    "emit_output stands outside of a dataflow block": in_function(
        lambda builder: builder.emit_output(variable())
    ),
    "no block is open": lambda: relax.BlockBuilder().emit(variable()),
    "3 is not an expression of a graph": lambda: relax.BlockBuilder().normalize(3),
    "variable lv is used outside of its dataflow block": hidden_variable,
    "a parameter is 3": lambda: relax.BlockBuilder().function("f", [3]).__enter__(),
    "there is no operator 'relax.nonsense'": lambda: relax.BlockBuilder().normalize(
        relax.Call(Op("relax.nonsense"), [])
    ),
}


@pytest.mark.parametrize("message", FAULTS)
def test_faults(message: str) -> None:
    with pytest.raises(GraphError, match=f"^{message}"):
        FAULTS[message]()


def without_an_output(is_returned: bool) -> None:
    x = variable()
    builder = relax.BlockBuilder()
    with builder.function("main", [x]):
        with builder.dataflow():
            inner = builder.emit(relax.op.add(x, x))
        builder.emit_func_output(inner if is_returned else builder.emit(relax.op.exp(inner)))


@pytest.mark.parametrize("is_returned", [True, False])
def test_values_of_dataflow_blocks_are_used_inside(is_returned: bool) -> None:
    fault = r"variable lv is used outside of its dataflow block\n(.|\n)*not an output of the block"
    with pytest.raises(GraphError, match=fault) as caught:
        without_an_output(is_returned)
    assert caught.value.help.endswith("builder.emit_output(lv)")


def test_scopes_for_tests() -> None:
    builder = relax.BlockBuilder()
    with builder.testing_scope([N]):
        assert builder.normalize(relax.op.add(variable(), variable())).struct_info == INFO
        assert builder.current_block_is_dataflow()
        bound = builder.emit(relax.op.exp(variable()))
        assert str(builder.lookup_binding(bound).op) == "relax.exp"
    assert bound.name_hint == "lv"
    assert builder.get_unique_name("lv") == "lv1"


def test_calls_of_functions_of_a_module() -> None:
    @I.ir_module
    class M:
        @R.function
        def f(x: R.Tensor(("m", 4), "float32")) -> R.Tensor(("m",), "float32"):
            m = T.int64()
            return R.call_pure_packed("g", x, sinfo_args=R.Tensor((m,), "float32"))

    builder = relax.BlockBuilder(M)
    call = builder.normalize(relax.GlobalVar("f")(variable()))
    assert call.struct_info == relax.TensorStructInfo([N], "float32")


def test_an_expression_that_is_an_argument_twice_is_bound_once() -> None:
    x = variable()
    builder = relax.BlockBuilder()
    once = relax.op.exp(x)
    with builder.function("main", [x]):
        with builder.dataflow():
            first = builder.emit(relax.op.multiply(once, once))
            second = builder.emit_output(relax.op.add(relax.op.tanh(once), first))
            same = builder.emit(once)
        with builder.dataflow():  # what other blocks bind may be hidden
            third = builder.emit_output(relax.op.add(once, second))
        builder.emit_func_output(third)
    names = [
        str(one.value) for block in builder.get()["main"].body.blocks for one in block.bindings
    ]
    assert names == [
        "R.exp(x)",
        "R.multiply(lv, lv)",
        "R.tanh(lv)",
        "R.add(lv2, lv1)",
        "lv",
        "R.exp(x)",
        "R.add(lv4, gv)",
    ]
    assert builder.lookup_binding(same) is builder._bindings[first].args[0]


NEGATIVE: list[Callable[[], relax.Expr]] = [
    lambda: relax.op.zeros((-1,), "float32"),
    lambda: relax.op.eye(-1),
    lambda: relax.op.repeat(relax.const([1, 2]), -1),
    lambda: relax.op.tile(relax.const([1, 2]), (2, -1)),
    lambda: relax.op.nn.pad(relax.const([1, 2]), (-3, 0)),
    lambda: relax.op.nn.adaptive_avg_pool1d(relax.const([[[1.0]]]), -1),
    lambda: relax.op.split(relax.op.zeros((-1,), "float32"), 2),
]


@pytest.mark.parametrize("build", NEGATIVE)
def test_results_of_negative_sizes_are_refused(build: Callable[[], relax.Expr]) -> None:
    with pytest.raises(GraphError, match=r"a size of the result of relax\..* is -[12]"):
        relax.BlockBuilder().normalize(build())


def test_bindings_are_undone_with_an_error() -> None:
    x = relax.Var("x", relax.TensorStructInfo((4,), "float32"))
    builder = relax.BlockBuilder()

    def write() -> None:
        with builder.undone_by_errors():
            wide = builder.emit(relax.op.concat([x, x], 0))
            builder.emit(relax.op.add(wide, x))

    with builder.function("main", [x]):
        first = builder.emit(relax.op.exp(x))
        with pytest.raises(GraphError, match=r"relax\.add"):
            write()
        builder.emit_func_output(first)
    ((binding,),) = [block.bindings for block in builder.get()["main"].body.blocks]
    assert binding.var is first


def test_sizes_of_parameters_have_values_in_a_sequence() -> None:
    n = tir.Var("n", "int64")
    param = relax.Var("p", relax.TensorStructInfo((n,), "float32"))
    builder = relax.BlockBuilder()
    with builder.function("main", []):
        known: list[bool] = []

        def write() -> relax.Expr:
            known.append(builder.has_value(n))
            return param

        builder.sequence(write)
        builder.sequence(write, [param])
        known.append(builder.has_value(n))
        builder.emit_func_output(relax.const(1))
    assert known == [False, True, False]

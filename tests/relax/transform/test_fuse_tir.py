"""FuseTIR: primitive functions become one function of blocks, which computes the same."""

import re

import numpy as np
import pytest

import te_sched
from te_sched import relax, tir, topi
from te_sched.errors import GraphError
from te_sched.ir import structural_equal
from te_sched.relax.transform import FuseTIR
from te_sched.relax.transform.fuse_tir import fuse_functions
from te_sched.script import tir as T
from tests.relax.described import described_module

VECTOR = relax.TensorStructInfo([8], "float32")
PAIR = relax.TupleStructInfo([VECTOR, VECTOR])


def primitive(write, *infos, name="fused", module=None):
    """A module with a primitive function, and `main`, which calls it."""
    builder = relax.BlockBuilder(module)
    params = [relax.Var(one, info) for one, info in zip("xyz", infos, strict=False)]
    with builder.function(name, params, {"Primitive": 1}, private=True):
        with builder.dataflow():
            output = write(builder, *params)
        gvar = builder.emit_func_output(output)
    params = [relax.Var(one, info) for one, info in zip("xyz", infos, strict=False)]
    with builder.function("main", params):
        with builder.dataflow():
            output = builder.emit_output(relax.Call(gvar, params))
        builder.emit_func_output(output)
    return builder.get()


def output(builder, function, *args, **kwargs):
    return builder.emit_output(builder.call_te(function, *args, **kwargs))


def run(func, *arrays):
    te_sched.build(func)(*arrays)


def test_a_chain_becomes_one_function():
    def write(builder, x):
        return output(builder, topi.exp, builder.emit_te(topi.exp, builder.emit_te(topi.add, x, x)))

    module = FuseTIR()(primitive(write, VECTOR))
    assert described_module(module) == {"main": "(x) gv1* = fused(x); gv1"}
    assert [str(name) for name in module.functions] == ["fused", "main"]
    text = module["fused"].script()
    assert re.findall(r'T.block\("(\w+)"\)', text) == ["root", "T_add", "compute", "compute_1"]
    assert "def main(x: T.Buffer" in text
    assert "compute_intermediate_1: T.Buffer" in text
    assert "T_add_intermediate = T.alloc_buffer" in text
    x, out = te_sched.nd.array(np.linspace(-1, 0, 8, dtype="float32")), te_sched.nd.empty((8,))
    run(module["fused"], x, out)
    np.testing.assert_allclose(out.numpy(), np.exp(np.exp(2 * x.numpy())), 1e-5)


def test_elements_of_tuples_that_are_used_become_parameters():
    def write(builder, x):
        return output(builder, topi.exp, builder.emit(relax.TupleGetItem(x, 1)))

    module = FuseTIR()(primitive(write, PAIR))
    assert described_module(module) == {"main": "(x) lv1 = x[1]; gv1* = fused(lv1); gv1"}
    assert [one.name for one in module["fused"].buffer_map.values()] == [
        "x_1",
        "compute_intermediate",
    ]


def test_several_results_and_aliases():
    def write(builder, x):
        pair = builder.emit(relax.Tuple([x, builder.emit_te(topi.exp, x)]))
        first = builder.emit_output(relax.TupleGetItem(pair, 1))
        return relax.Tuple([first, output(builder, topi.add, first, relax.TupleGetItem(pair, 0))])

    module = FuseTIR()(primitive(write, VECTOR))
    func = module["fused"]
    assert len(func.params) == 3
    arrays = [te_sched.nd.array(np.full(8, 2, "float32")), *[te_sched.nd.empty((8,))] * 2]
    arrays[2] = te_sched.nd.empty((8,))
    run(func, *arrays)
    np.testing.assert_allclose(arrays[1].numpy(), np.exp(arrays[0].numpy()), 1e-5)
    np.testing.assert_allclose(arrays[2].numpy(), np.exp(arrays[0].numpy()) + 2, 1e-5)


def test_sizes_of_shapes_become_parameters():
    n = tir.Var("n", "int64")

    def write(builder, x):
        del x
        return output(builder, topi.exp, builder.emit_te(topi.full, [n], "float32", 0.0))

    module = FuseTIR()(primitive(write, relax.ShapeStructInfo([n])))
    assert described_module(module) == {"main": "(x) gv1* = fused([n]); gv1"}
    func = module["fused"]
    assert [one.name for one in func.params] == ["p_output0", "n"]
    out = te_sched.nd.empty((5,))
    run(func, out, 5)
    np.testing.assert_allclose(out.numpy(), np.ones(5), 1e-6)


@T.prim_func(private=True)
def scaled(a: T.handle, b: T.handle):
    n = T.int64()
    A = T.match_buffer(a, (n,))
    B = T.match_buffer(b, (n,))
    for i in range(n):
        with T.block("scaled"):
            vi = T.axis.remap("S", [i])
            B[vi] = A[vi] * T.float32(2)


@T.prim_func(private=True)
def doubled(A: T.Buffer((8,))):
    for i in range(8):
        with T.block("doubled"):
            vi = T.axis.remap("S", [i])
            A[vi] = A[vi] * T.float32(2)


def test_functions_of_symbolic_sizes_get_known_sizes():
    def write(builder, x):
        name = builder.add_func(scaled, "scaled")
        y = builder.emit(relax.op.call_tir(name, [x], VECTOR))
        return builder.emit_output(relax.op.call_tir(name, [y], VECTOR))

    func = FuseTIR()(primitive(write, VECTOR))["fused"]
    assert "n" not in [one.name for one in tir.analysis.undefined_vars(func.body, func.params)]
    x, out = te_sched.nd.array(np.arange(8, dtype="float32")), te_sched.nd.empty((8,))
    run(func, x, out)
    np.testing.assert_array_equal(out.numpy(), 4 * x.numpy())


def test_calls_in_place_write_the_buffer_of_the_input():
    def write(builder, x):
        name = builder.add_func(doubled, "doubled")
        y = builder.emit_te(topi.add, x, x)
        return builder.emit_output(relax.op.call_tir_inplace(name, [y], [0], VECTOR))

    func = FuseTIR()(primitive(write, VECTOR))["fused"]
    x, out = te_sched.nd.array(np.arange(8, dtype="float32")), te_sched.nd.empty((8,))
    run(func, x, out)
    np.testing.assert_array_equal(out.numpy(), 4 * x.numpy())


def test_a_result_in_an_input_is_called_in_place():
    def write(builder, x):
        name = builder.add_func(doubled, "doubled")
        return builder.emit_output(relax.op.call_tir_inplace(name, [x], [0], VECTOR))

    module = FuseTIR()(primitive(write, VECTOR))
    call = module["main"].body.blocks[0].bindings[0].value
    assert (str(call.op), call.attrs.inplace_indices) == ("relax.call_tir_inplace", [0])
    assert len(module["fused"].params) == 1


def test_an_input_that_is_overwritten_but_not_returned_is_copied():
    def write(builder, x):
        name = builder.add_func(doubled, "doubled")
        y = builder.emit(relax.op.call_tir_inplace(name, [x], [0], VECTOR))
        return builder.emit_output(builder.call_te(topi.add, y, y))

    module = FuseTIR()(primitive(write, VECTOR))
    call = module["main"].body.blocks[0].bindings[0].value
    assert str(call.op) == "relax.call_tir"
    x, out = te_sched.nd.array(np.arange(8, dtype="float32")), te_sched.nd.empty((8,))
    run(module["fused"], x, out)
    np.testing.assert_array_equal(out.numpy(), 4 * np.arange(8))
    np.testing.assert_array_equal(x.numpy(), np.arange(8))


def test_regions_of_one_buffer_are_united():
    """The block reads x[i - 1] and x[i], which were two buffers: TVM keeps the first region."""

    def write(builder, x):
        return output(builder, topi.exp, builder.emit_te(topi.concatenate, (x, x), axis=0))

    block = FuseTIR()(primitive(write, VECTOR))["fused"].body.block.body.seq[0].body.block
    assert len({one.buffer for one in block.reads}) == len(block.reads) == 1


def test_a_function_named_fused_and_one_of_that_name_before():
    def write(builder, x):
        return output(builder, topi.exp, x)

    module = te_sched.IRModule({"fused": scaled})
    fused = FuseTIR()(primitive(write, VECTOR, name="fused_1", module=module))
    assert [str(name) for name in fused.functions] == ["fused_1", "main"]


def test_a_module_without_primitive_functions_stays():
    builder = relax.BlockBuilder()
    x = relax.Var("x", VECTOR)
    with builder.function("main", [x]):
        builder.emit_func_output(builder.emit_te(topi.exp, x))
    module = builder.get()
    assert structural_equal(FuseTIR()(module), module)


def test_libraries_are_refused_with_their_binding():
    def write(builder, x):
        called = relax.Call(relax.ExternFunc("library"), [x], None, [VECTOR])
        return builder.emit_output(called)

    with pytest.raises(GraphError, match="cannot fuse function fused: binding gv does not call"):
        FuseTIR()(primitive(write, VECTOR))


def test_functions_that_are_missing_are_refused():
    def write(builder, x):
        return builder.emit_output(relax.op.call_tir(relax.GlobalVar("gone"), [x], VECTOR))

    with pytest.raises(GraphError, match="binding gv calls gone"):
        FuseTIR()(primitive(write, VECTOR))


def test_constants_are_refused():
    def write(builder, x):
        return output(builder, topi.add, x, relax.const(1.0))

    with pytest.raises(GraphError, match="is used, which is not a tensor of the function"):
        FuseTIR()(primitive(write, VECTOR))


def test_a_wrong_number_of_tensors_is_refused():
    def write(builder, x):
        name = builder.add_func(scaled, "scaled")
        return builder.emit_output(relax.op.call_tir(name, [x, x], VECTOR))

    with pytest.raises(GraphError, match="binding gv gives scaled 3 tensors, expected 2"):
        FuseTIR()(primitive(write, VECTOR))


def test_a_result_that_is_returned_twice_is_refused():
    def write(builder, x):
        y = output(builder, topi.exp, x)
        return relax.Tuple([y, y])

    with pytest.raises(GraphError, match="cannot fuse function fused: its result is"):
        FuseTIR()(primitive(write, VECTOR))


def test_unknown_shapes_are_refused():
    def write(builder, x):
        name = builder.add_func(scaled, "scaled")
        return builder.emit_output(relax.op.call_tir(name, [x], VECTOR))

    with pytest.raises(GraphError, match="the shape of x is not known"):
        FuseTIR()(primitive(write, relax.TensorStructInfo(None, "float32", ndim=1)))


def test_unknown_numbers_of_an_argument_are_refused():
    n = tir.Var("n", "int64")

    def write(builder, x):
        del x
        return output(builder, topi.full, [n], "float32", 0.0)

    module = primitive(write, relax.ShapeStructInfo([n]))
    x = relax.Var("x", relax.ShapeStructInfo(ndim=1))
    builder = relax.BlockBuilder(module)
    with builder.function("other", [x]):
        builder.emit_func_output(builder.emit(relax.Call(module.get_global_var("fused"), [x])))
    with pytest.raises(GraphError, match="size n of a call of fused is not known"):
        FuseTIR()(builder.get())
    with pytest.raises(GraphError, match="the numbers in argument 0 of fused are not known"):
        fuse_functions(builder.get())


@T.prim_func(private=True)
def separated(a: T.handle, b: T.handle):
    A = T.match_buffer(a, (4, 8), axis_separators=[1])
    B = T.match_buffer(b, (4, 8))
    for i, j in T.grid(4, 8):
        with T.block("separated"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = A[vi, vj]


def test_buffers_of_other_layouts_are_refused():
    matrix = relax.TensorStructInfo([4, 8], "float32")

    def write(builder, x):
        name = builder.add_func(separated, "separated")
        y = builder.emit(relax.op.call_tir(name, [x], matrix))
        return builder.emit_output(relax.op.call_tir(name, [y], matrix))

    with pytest.raises(GraphError, match="Inconsistent buffers B_intermediate and A mapped"):
        FuseTIR()(primitive(write, matrix))

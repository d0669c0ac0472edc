"""Relations of sizes that only a call can check: numpy's result if they hold, else an error."""

import numpy as np
import pytest

import te_sched
from te_sched import IRModule, nd, relax, tir
from te_sched.errors import ArgumentError, CallError, GraphError
from te_sched.relax import op
from te_sched.relax.size_relations import relations_of
from te_sched.relax.transform.collect_size_relations import collect_size_relations
from te_sched.script import ir as I
from te_sched.script import relax as R
from te_sched.script import tir as T


def module_of(shapes, call):
    """A function of tensors of shapes, in which a str is a variable."""
    variables = {}
    infos = [
        relax.TensorStructInfo(
            [
                variables.setdefault(one, tir.Var(one, "int64")) if isinstance(one, str) else one
                for one in shape
            ],
            "float32",
        )
        for shape in shapes
    ]
    params = [relax.Var(f"x{at}", info) for at, info in enumerate(infos)]
    builder = relax.BlockBuilder()
    with builder.function("main", params):
        builder.emit_func_output(builder.emit(call(variables, *params)))
    return builder.get()


def run(module, *arrays):
    machine = relax.VirtualMachine(relax.build(module, "llvm -opt-level=0"), te_sched.cpu())
    return machine["main"](*[nd.array(one) for one in arrays])


def counting(*shape):
    return np.arange(np.prod(shape), dtype="float32").reshape(shape)


def conv(v, x, w):
    return op.nn.conv2d(x, w)


def attention(v, q, k, value):
    return op.nn.attention(q, k, value)


# The shapes, the call, numpy's function, shapes that fit, others that do not, the error.
CASES = {
    "reshape": (
        *([("n",)], lambda v, x: op.reshape(x, (4, 5)), lambda x: x.reshape(4, 5)),
        *([(20,)], [(7,)], "numbers of elements of relax.reshape differ: n = 7 and 20"),
    ),
    "reshape of the rest": (
        *([("n",)], lambda v, x: op.reshape(x, (4, -1)), lambda x: x.reshape(4, -1)),
        *([(8,)], [(7,)], r"differ: n = 7 and n // 4 \* 4 = 4"),
    ),
    "matmul": (
        *([(4, "k"), ("m", 2)], lambda v, x, y: op.matmul(x, y), lambda x, y: x @ y),
        *([(4, 3), (3, 2)], [(4, 3), (7, 2)], "summed sizes of relax.matmul differ: k = 3 and m"),
    ),
    "einsum": (
        *([("n",), ("m",)], lambda v, x, y: op.einsum((x, y), "i,i->"), np.dot),
        *([(3,), (3,)], [(3,), (4,)], "sizes of i of relax.einsum differ: n = 3 and m = 4"),
    ),
    "broadcast_to": (
        *([("n",)], lambda v, x: op.broadcast_to(x, (2, 5)), lambda x: np.broadcast_to(x, (2, 5))),
        *([(5,)], [(7,)], "sizes of relax.broadcast_to differ: n = 7 and 5"),
    ),
    "squeeze": (
        *([("n", 4)], lambda v, x: op.squeeze(x, [0]), lambda x: x[0]),
        *([(1, 4)], [(3, 4)], "relax.squeeze differ: n = 3 and 1"),
    ),
    "attention": (
        *([(1, "s", 1, 2), (1, "t", 1, 2), (1, "u", 1, 2)], attention, None),
        *([(1, 3, 1, 2), (1, 4, 1, 2), (1, 4, 1, 2)], [(1, 3, 1, 2), (1, 4, 1, 2), (1, 5, 1, 2)]),
        "sequences of key and value of relax.nn.attention differ: t = 4 and u = 5",
    ),
    "channels": (
        *([(1, "c", 4, 4), (2, "d", 3, 3)], conv, None),
        *([(1, 2, 4, 4), (2, 2, 3, 3)], [(1, 3, 4, 4), (2, 2, 3, 3)]),
        "input channels of relax.nn.conv2d differ: c = 3 and d = 2",
    ),
    "window": (
        *([(1, 2, "h", "w"), (2, 2, 3, 3)], conv, None),
        *([(1, 2, 3, 4), (2, 2, 3, 3)], [(1, 2, 4, 2), (2, 2, 3, 3)]),
        "padded size of the data of relax.nn.conv2d is w = 2, expected at least 3",
    ),
    "groups": (
        *([(1, "c", 3), (2, 1, 1)], lambda v, x, w: op.nn.conv1d(x, w, groups=2), None),
        *([(1, 2, 3), (2, 1, 1)], [(1, 3, 3), (2, 1, 1)], "input channels of relax.nn.conv1d"),
    ),
    "groups of outputs": (
        *([(1, 2, 3), ("c", 1, 1)], lambda v, x, w: op.nn.conv1d(x, w, groups=2), None),
        *([(1, 2, 3), (4, 1, 1)], [(1, 2, 3), (3, 1, 1)], "output channels in 2 groups"),
    ),
    "pool": (
        *([(1, 1, "h", 4)], lambda v, x: op.nn.max_pool2d(x, (3, 3)), None),
        *([(1, 1, 3, 4)], [(1, 1, 1, 4)], "relax.nn.max_pool2d is h = 1, expected at least 3"),
    ),
    "group_norm": (
        [(1, "c", 2), (4,), (4,)],
        lambda v, x, g, b: op.nn.group_norm(x, g, b, 2, 1, [2]),
        *(None, [(1, 4, 2), (4,), (4,)], [(1, 6, 2), (4,), (4,)], "differ: c = 6 and 4"),
    ),
    "topk": (
        *([("n",)], lambda v, x: op.topk(x, 2, 0, "values"), lambda x: np.sort(x)[::-1][:2]),
        *([(3,)], [(1,)], "size along axis 0 of relax.topk is n = 1, expected at least 2"),
    ),
    "take of a constant index": (
        *([("n", "m")], lambda v, x: op.take(x, relax.const([1], "int64"), 0), lambda x: x[[1]]),
        *([(2, 0)], [(1, 0)], "size along axis 0 of relax.take is n = 1, expected at least 2"),
    ),
    "take of a number": (
        *([("n", "m")], lambda v, x: op.take(x, relax.PrimValue(0), 0), lambda x: x[0]),
        *([(1, 3)], [(0, 0)], "size along axis 0 of relax.take is n = 0, expected at least 1"),
    ),
    "zeros": (
        [("n",)],
        lambda v, x: op.zeros(relax.ShapeExpr([v["n"] - 5]), "float32"),
        lambda x: np.zeros(len(x) - 5),
        *([(7,)], [(2,)], "result of relax.zeros is n - 5 = -3, expected at least 0"),
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_sizes_fit_or_are_refused_when_the_function_is_entered(case):
    shapes, call, expected, fitting, others, text = CASES[case]
    module = module_of(shapes, call)
    for built in (
        module,
        relax.transform.LegalizeOps()(module),
        relax.get_pipeline("zero")(module),
    ):
        machine = relax.VirtualMachine(relax.build(built, "llvm -opt-level=0"), te_sched.cpu())
        arrays = [counting(*shape) for shape in fitting]
        result = machine["main"](*map(nd.array, arrays)).numpy()
        if expected is not None:
            np.testing.assert_allclose(result, expected(*arrays))
        with pytest.raises(ArgumentError, match=text):
            machine["main"](*[nd.array(counting(*shape)) for shape in others])


def test_relations_are_neither_printed_nor_compared():
    module = module_of([("n",)], lambda v, x: op.reshape(x, (4, 5)))
    new = collect_size_relations(module)
    assert [str(one.condition) for one in relations_of(new["main"])] == ["n == T.int64(20)"]
    assert new.script() == module.script()
    te_sched.ir.assert_structural_equal(new, module)
    assert te_sched.ir.structural_hash(new) == te_sched.ir.structural_hash(module)
    assert collect_size_relations(new)["main"] is new["main"]


def test_relations_are_kept_in_files():
    module = relax.transform.LegalizeOps()(module_of([("n",)], lambda v, x: op.reshape(x, (4, 5))))
    read = te_sched.ir.load_json(te_sched.ir.save_json(module))
    with pytest.raises(ArgumentError, match="n = 7 and 20"):
        run(read, counting(7))


def test_proved_relations_are_not_checked():
    module = module_of([("n", 6)], lambda v, x: op.reshape(x, (v["n"] * 2, 3)))
    assert not relations_of(collect_size_relations(module)["main"])


def test_sizes_of_data_are_checked_after_their_cast():
    @I.ir_module
    class Module:
        @R.function
        def main(x: R.Tensor(("n",), "float32")):
            k = T.int64()
            found = R.nonzero(x)
            cast = R.match_cast(found, R.Tensor((1, k), "int64"))
            return R.reshape(cast, (3,))

    values = np.array([0, 1, 2, 0, 3], "float32")
    assert run(Module, values).numpy().tolist() == [1, 2, 4]
    with pytest.raises(ArgumentError, match="differ: k = 5 and 3"):
        run(Module, values + 1)


def test_relations_of_a_branch_hold_where_it_is_taken():
    @I.ir_module
    class Module:
        @R.function
        def main(c: R.Tensor((), "bool"), x: R.Tensor(("n",), "float32")):
            n = T.int64()
            if c:
                y = R.reshape(x, (4,))
                z = y
            else:
                _k = R.zeros(R.shape([n - 9 + 9]), "float32")
                z = R.zeros((4,), "float32")
            return z

    yes, no = np.array(True), np.array(False)
    assert run(Module, yes, counting(4)).numpy().tolist() == [0, 1, 2, 3]
    assert run(Module, no, counting(7)).numpy().tolist() == [0] * 4
    with pytest.raises(ArgumentError, match=r"shape \(7,\), expected 4"):
        run(Module, yes, counting(7))


def test_branches_check_sizes_that_they_define():
    @I.ir_module
    class Module:
        @R.function
        def main(c: R.Tensor((), "bool"), x: R.Tensor(("n",), "float32")):
            if c:
                k = T.int64()
                found = R.nonzero(x)
                cast = R.match_cast(found, R.Tensor((1, k), "int64"))
                _less = R.zeros(R.shape([k - 1]), "int64")
                z = R.reshape(cast, (2,))
            else:
                z = R.zeros((2,), "int64")
            return z

    module = collect_size_relations(Module)
    assert collect_size_relations(module)["main"] is module["main"]
    assert run(Module, np.array(True), counting(3)).numpy().tolist() == [1, 2]
    with pytest.raises(ArgumentError, match=r"shape \(3,\), expected 2"):
        run(Module, np.array(True), counting(4))
    with pytest.raises(ArgumentError, match=r"shape \(1,\), expected 0"):
        run(Module, np.array(True), counting(1))


def test_annotations_of_variables_are_checked():
    @I.ir_module
    class Module:
        @R.function
        def main(x: R.Tensor(("n",), "float32"), y: R.Tensor(("m",), "float32")):
            m = T.int64()
            z: R.Tensor((m,), "float32") = R.exp(x)
            return z

    with pytest.raises(ArgumentError, match="of its variable z differ: n = 3 and m = 4"):
        run(Module, counting(3), counting(4))


def test_relations_of_fused_functions_are_those_of_the_caller():
    @I.ir_module
    class Module:
        @R.function(private=True)
        def inner(x: R.Tensor(("n",), "float32")) -> R.Tensor((4,), "float32"):
            R.func_attr({"Primitive": True})
            with R.dataflow():
                y = R.reshape(x, (4,))
                R.output(y)
            return y

        @R.function
        def main(x: R.Tensor(("k", 2), "float32")) -> R.Tensor((4,), "float32"):
            k = T.int64()
            cls = Module
            with R.dataflow():
                y = R.reshape(x, (k * 2,))
                z = cls.inner(y)
                R.output(z)
            return z

    found = relations_of(collect_size_relations(Module)["main"])
    assert [str(one.condition) for one in found] == ["k * T.int64(2) == T.int64(4)"]


def test_relations_follow_the_variables_of_sizes():
    legal = relax.transform.LegalizeOps()(
        module_of([(4, "k"), ("m", 2)], lambda v, x, y: op.matmul(x, y))
    )
    copy = relax.utils.copy_with_new_vars(legal["main"])
    with pytest.raises(ArgumentError, match="differ: k = 3 and m = 7"):
        run(legal.with_functions({"main": copy}), counting(4, 3), counting(7, 2))
    one = relax.transform.BindSymbolicVars({"k": 3})(legal)
    with pytest.raises(ArgumentError, match="differ: 3 and m = 7"):
        run(one, counting(4, 3), counting(7, 2))
    both = relax.transform.BindSymbolicVars({"k": 3, "m": 3})(legal)
    assert run(both, counting(4, 3), counting(3, 2)).shape == (4, 2)
    with pytest.raises(GraphError, match=r"of relax\.matmul in main are 3 and 7"):
        relax.build(relax.transform.BindSymbolicVars({"k": 3, "m": 7})(legal), "llvm -opt-level=0")


def test_numbers_may_be_negative():
    @I.ir_module
    class Module:
        @R.function
        def main(s: R.Prim(value="n")):
            n = T.int64()
            return R.zeros(R.shape([n]), "float32")

    machine = relax.VirtualMachine(relax.build(Module, "llvm -opt-level=0"), te_sched.cpu())
    assert machine["main"](3).shape == (3,)
    with pytest.raises(ArgumentError, match="is n = -3, expected at least 0"):
        machine["main"](-3)


def test_absurd_sizes_are_refused():
    module = module_of(
        [("n",)], lambda v, x: op.zeros(relax.ShapeExpr([v["n"] * 2**40]), "float32")
    )
    with pytest.raises(CallError, match="unable to allocate"):
        run(module, counting(2))


@pytest.mark.parametrize("call", [conv, lambda v, x, w: op.nn.max_pool2d(x, (3, 3))])
def test_windows_larger_than_the_data_are_refused(call):
    with pytest.raises(GraphError, match=r"padded size of the data .* is 2, expected at least 3"):
        module_of([(1, 2, 2, 4), (2, 2, 3, 3)], call)


def test_static_functions_are_not_touched():
    module = module_of([(4,)], lambda v, x: op.exp(x))
    assert collect_size_relations(module) is module
    assert isinstance(collect_size_relations(IRModule({})), IRModule)


@pytest.mark.parametrize("count", [0, 1, 3, 5, 6, 7])
def test_parts_end_where_the_tensor_does(count):
    x = counting(count)
    places = run(module_of([("n",)], lambda v, x: op.split(x, [2, 5])), x)
    for found, wanted in zip(places, np.split(x, [2, 5]), strict=True):
        np.testing.assert_array_equal(found.numpy(), wanted)
    module = module_of([("n",)], lambda v, x: op.split(x, 3))
    each = -(-count // 3)
    if each * 2 > count:
        with pytest.raises(
            ArgumentError, match=r"is n - \(n \+ 2\) // 3 \* 2 = -1, expected at least 0"
        ):
            run(module, x)
        return
    for found, at in zip(run(module, x), range(3), strict=True):
        np.testing.assert_array_equal(found.numpy(), x[each * at : each * at + each])


@pytest.mark.parametrize("count", [0, 1, 2, 7])
@pytest.mark.parametrize(
    ("begin", "end", "step"),
    [
        (lambda n: 0, lambda n: n - 1, 1),
        (lambda n: 0, lambda n: n // 2, 1),
        (lambda n: n - 3, lambda n: n, 1),
        (lambda n: n - 1, lambda n: 0, -1),
        (lambda n: n // 2, lambda n: n - 1, 2),
        (lambda n: 2 - n, lambda n: n * 2, 1),
    ],
)
def test_bounds_of_slices_may_be_expressions(begin, end, step, count):
    def call(v, x):
        bounds = [relax.PrimValue(tir.IntImm("int64", 0) + one(v["n"])) for one in (begin, end)]
        return op.strided_slice(x, [0], bounds[:1], bounds[1:], [step])

    x = counting(count)
    expected = x[begin(count) : end(count) : step]
    np.testing.assert_array_equal(run(module_of([("n",)], call), x).numpy(), expected)


def test_slices_of_stride_zero_are_refused():
    bounds = [relax.Var(name, relax.TensorStructInfo([1], "int64")) for name in "bes"]
    x = relax.Var("x", relax.TensorStructInfo([tir.Var("n", "int64")], "float32"))
    builder = relax.BlockBuilder()
    with builder.function("main", [x, *bounds]):
        builder.emit_func_output(builder.emit(op.dynamic_strided_slice(x, *bounds)))
    begin, end = np.array([0]), np.array([4])
    assert run(builder.get(), counting(5), begin, end, np.array([2])).numpy().tolist() == [0, 2]
    with pytest.raises(ArgumentError, match="a shape has the size -1, expected 0 or more"):
        run(builder.get(), counting(5), begin, end, np.array([0]))


def test_products_sum_over_the_size_that_is_known():
    def call(v, x):
        return op.matmul(x, relax.const(np.ones((3, 2), "float32")))

    module = module_of([("n", "m")], call)
    np.testing.assert_array_equal(run(module, counting(4, 3)).numpy()[:, 0], [3, 12, 21, 30])
    with pytest.raises(ArgumentError, match=r"relax\.matmul differ: m = 2 and 3"):
        run(module, counting(4, 2))


def test_static_parts_may_begin_behind_the_end():
    parts = run(module_of([(2, 2)], lambda v, x: op.split(x, [2, 5], 1)), counting(2, 2))
    assert [one.shape for one in parts] == [(2, 2), (2, 0), (2, 0)]


def test_slices_downwards_to_the_size_are_empty():
    def call(v, x):
        return op.strided_slice(x, [0], [-3], [relax.PrimValue(v["k"])], [-1])

    for count in (0, 1, 4):
        assert run(module_of([("k",)], call), counting(count)).shape == (0,)


def test_nothing_is_reshaped_to_a_symbolic_size():
    module = module_of([("n", 0)], lambda v, x: op.reshape(x, (v["n"] - 3,)))
    assert run(module, counting(3, 0)).shape == (0,)
    with pytest.raises(ArgumentError, match=r"relax\.reshape differ: 0 and n - 3 = 1"):
        run(module, counting(4, 0))


def test_extents_that_are_conditions_are_not_numbers():
    def call(v, x):
        return op.split(op.strided_slice(x, [1], [-3], [relax.PrimValue(v["p"] - 3)]), 2, 1)

    parts = run(
        module_of([("k", 1), ("p",)], lambda v, x, y: call(v, x)), counting(2, 1), counting(4)
    )
    assert [one.shape for one in parts] == [(2, 1), (2, 0)]


def test_a_program_is_not_refused_for_sizes_that_its_relations_exclude() -> None:
    """The part of two columns that a product sums over has one column for few sizes alone."""
    builder = relax.BlockBuilder()
    m, n, k = (tir.Var(name, "int64") for name in "mnk")
    x = relax.Var("x", relax.TensorStructInfo((m, n, k), "float32"))
    pair = relax.Var("pair", relax.TensorStructInfo((m, 2), "float32"))
    row = relax.Var("row", relax.TensorStructInfo((1, 4), "float32"))
    with builder.function("main", [x, pair, row]):
        part = builder.emit(relax.op.strided_slice(pair, [1], [n], [k - 3], [-1]))
        builder.emit_func_output(builder.emit(relax.op.matmul(part, row)))
    machine = relax.VirtualMachine(relax.build(builder.get(), "llvm -opt-level=0"), te_sched.cpu())
    values = np.arange(4, dtype="float32").reshape(2, 2)
    found = machine["main"](np.ones((2, 2, 3), "float32"), values, np.ones((1, 4), "float32"))
    assert found.numpy().tolist() == [[1.0] * 4, [3.0] * 4]
    with pytest.raises(ArgumentError, match=r"the summed sizes of relax\.matmul"):
        machine["main"](np.ones((2, 0, 3), "float32"), values, np.ones((1, 4), "float32"))

"""Arguments are checked against annotations."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from typing import Annotated, Any

import numpy as np
import pytest

import te_sched
from te_sched import autotvm, nd, relax, te, tir, topi
from te_sched import meta_schedule as ms
from te_sched.compat import arith
from te_sched.errors import (
    DeclarationError,
    ElementError,
    GraphTypeError,
    ParameterError,
    SourceLocation,
    TeSchedError,
    repr_of,
)
from te_sched.signatures import (
    ParameterKind,
    bound,
    checked,
    checked_as,
    kind_of_annotation,
    raise_unbound,
    scores_of,
)
from te_sched.te.tensor import Tensor
from te_sched.transform import PassContext

A = te.placeholder((8, 8), name="A")
Even = Annotated[Any, ParameterKind(lambda value: value % 2 == 0, "an even number")]
Words = Sequence[str]


@checked
def taken(
    count: int = 0,
    text: str | None = None,
    tensors: Sequence[Tensor] = (),
    even: Even = 0,
    flag: bool = False,
    size: float = 0.0,
    table: Mapping[str, Any] | None = None,
    dtype: str = "",
    *rest: int,
) -> tuple[Any, ...]:
    return (count, text, tensors, even, flag, size, table, dtype, *rest)


def test_checked_takes_what_annotations_say() -> None:
    right = (np.int64(2), None, [A], 4, 1, te.const(1.5), {"a": 1}, None, 5)
    assert taken(*right) == right  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("given", "match"),
    [
        ({"count": 1.5}, r"argument count of taken is 1\.5, expected an int"),
        ({"count": 10**5000}, r"count of taken is an int of 16610 bits"),
        ({"text": 3}, "text of taken is 3, expected a str or None"),
        ({"tensors": [A, 3]}, "element 1 of argument tensors of taken is 3, expected a Tensor"),
        ({"tensors": [A] * 99 + [[A]]}, r"element 99 of argument .* is \[.*, expected a Tensor"),
        ({"tensors": A}, "expected a list or tuple"),
        ({"even": 3}, "expected an even number"),
        ({"flag": np.zeros(3)}, "expected True or False"),
        ({"size": 1j}, "size of taken is 1j, expected a number"),
        ({"table": [1]}, "expected a dictionary or None"),
    ],
)
def test_checked_rejects(given: dict[str, Any], match: str) -> None:
    with pytest.raises(DeclarationError, match=match):
        taken(**given)


def test_checked_rejects_of_many() -> None:
    with pytest.raises(DeclarationError, match="argument rest of taken is 'x'"):
        taken(0, None, (), 0, False, 0.0, None, "", 1, "x")  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("annotation", "words"),
    [
        ("Words | None", "a list or tuple, each a str or None"),
        ("np.ndarray[Any, Any]", "anything"),
        ("tuple[int, str]", "a list or tuple"),
        ("tuple[te.Tensor, ...]", "a list or tuple, each a Tensor"),
        ("int | Unknown", "anything"),
    ],
)
def test_annotations_are_read_as_python_does(annotation: str, words: str) -> None:
    assert kind_of_annotation(annotation, globals()).words == words


def test_checked_as_leaves_parameters_to_the_function() -> None:
    function = checked_as(te_sched.CallError, but=("left",))(lambda left: left)
    assert function(object)


def test_long_values_are_named_by_their_kind() -> None:
    inner: list[Any] = []
    for _ in range(100_000):
        inner = [inner]
    assert repr_of(inner) == "a list"
    assert repr_of("x" * 1000) == "a str"
    assert repr_of(np.ones((2, 2))) == "an ndarray"
    assert repr_of(nd.array(np.ones((2, 2)))) == "an NDArray"
    assert repr_of(np.ones(2)) == "array([1., 1.])"


def test_elements_of_lists_of_values_are_named() -> None:
    x = relax.Var("x", relax.TensorStructInfo((2, 2), "float32"))
    with pytest.raises(GraphTypeError) as caught:
        relax.op.concat([x, np.ones((2, 2))])
    what = "element 1 of argument tensors of relax.op.concat"
    assert caught.value.fault == f"{what} is an ndarray, expected a value of a graph"
    assert caught.value.help.endswith("or a constant: relax.const(value)")


def deep(depth: int) -> Any:
    total: Any = te.var("n")
    for _ in range(depth):
        total = tir.Add(total, 1)
    return total


@pytest.mark.parametrize(
    "use",
    [
        lambda e: te_sched.ir.structural_equal(e, deep(60_000)),
        lambda e: tir.stmt_functor.substitute(e, {te.var("m"): 1}),
        lambda e: tir.stmt_functor.ir_transform(e, None, lambda node: None),
        lambda e: arith.Analyzer().simplify(e),
        lambda e: topi.utils.get_const_int(e),
        lambda e: str(e),
    ],
)
def test_deep_expressions_are_refused(use: Any) -> None:
    with pytest.raises(TeSchedError, match="nested too deeply"):
        use(deep(60_000))


@pytest.mark.parametrize(
    ("use", "match"),
    [
        (lambda: topi.sum(A, axis=1.5), "axis of topi.sum is 1.5, expected an integer"),
        (lambda: topi.reshape(A, None), "newshape of topi.reshape is None"),
        (lambda: topi.nn.relu(3), "expected a Tensor"),
        (
            lambda: topi.nn.pool2d(A, (0, 2), 1, 1, 0, "max", False, "HW"),
            "pool2d kernel must be at least 1, got 0",
        ),
        (
            lambda: topi.nn.pool2d(A, 2, -1, 1, 0, "max", False, "HW"),
            "pool2d stride must be at least 1, got -1",
        ),
        (lambda: topi.arange(0, 1, 0.0), "a step that is not 0"),
        (
            lambda: topi.gather_nd(A, te.placeholder((9,), "int32"), 0),
            "9 indices do not fit A of rank 2",
        ),
        (
            lambda: topi.strided_slice(A, (0,), (1, 2)),
            "begin and end and axes differ in length: 1 and 2 and 1",
        ),
        (lambda: topi.utils.get_const_int(te.var("n")), "not a constant integer"),
        (lambda: topi.utils.get_const_float(3), "not a constant float"),
        (lambda: topi.utils.ceil_div(1, 0), "ceil_div divides by 0"),
        (lambda: topi.utils.const_vector([[1], [1, 2]]), "to an array"),
        (lambda: te.const(1j), "the constant "),
        (lambda: te.const(10**400, "float32"), "the constant "),
        (lambda: te.reinterpret(3, te.const(1.0)), "unknown data type 3"),  # type: ignore[arg-type]
        (lambda: tir.Allocate(3, "float32", 4, True, 0), "buffer_var of tir.Allocate is 3"),
        (lambda: tir.For("i", 0, 8, 0, 0), "expected a Var"),
        (lambda: tir.IterVar(3, "i", 0), r"tir\.IterVar needs a domain and a name, got 3 and 'i'"),
        (lambda: te_sched.IRModule(3), "functions of IRModule"),  # type: ignore[arg-type]
        (lambda: nd.device("cpu", "x"), "device_id of device is 'x'"),  # type: ignore[arg-type]
        (lambda: te_sched.cpu("x"), "device number is 'x', expected an int"),  # type: ignore[arg-type]
        (lambda: te_sched.device(10**5000, 0), "it has more than 31 bits"),
        (
            lambda: te_sched.contrib.cblas.matmul(A, te.placeholder((4,))),
            "tensor placeholder has 1 dimensions, expected 2",
        ),
        (lambda: te_sched.testing.requires_llvm(int), "neither a function nor a class"),
        (
            lambda: te_sched.testing.assert_allclose("a", 1),
            "cannot compare 'a': it is not an array of numbers",
        ),
    ],
)
def test_hostile_arguments_are_refused(use: Any, match: str) -> None:
    with pytest.raises(TeSchedError, match=match):
        use()


def test_elements_that_are_not_there_are_index_errors() -> None:
    array = nd.array(np.zeros(4, "float32"))
    assert len(list(array)) == 4
    with pytest.raises(ElementError, match=r"read element 2\*\*70|read element \d+"):
        array[2**70]
    with pytest.raises(IndexError, match="write element 9"):
        array[9] = 1.0


def test_names_that_are_loaded_late_are_completed() -> None:
    found = subprocess.run(
        [
            sys.executable,
            "-c",
            "import te_sched; from te_sched import te; print(*dir(te_sched), *dir(te))",
        ],
        capture_output=True,
        text=True,
        check=True,
    ).stdout.split()
    assert {"explain", "topi", "compat", "create_schedule", "hybrid"} <= {*found}
    assert not {"importlib", "sys", "typing", "_LATE", "_config"} & {*found}


def failing() -> Any:
    raise ZeroDivisionError("no model")


@pytest.mark.parametrize(
    ("predict", "match"),
    [
        (lambda: [1.0], "the shape \\(1,\\)"),
        (lambda: [[1.0], [2.0]], "the shape \\(2, 1\\)"),
        (lambda: [[1.0], [2.0, 3.0]], "ValueError"),
        (lambda: None, "of type object"),
        (lambda: [None, 1.0], "of type object"),
        (lambda: ["1.0", "2.0"], "of type <U3"),
        (lambda: [1j, 2.0], "of type complex128"),
        (lambda: [1.0, float("nan")], "score 1 is not a number"),
        (failing, "ZeroDivisionError: no model"),
    ],
)
def test_scores_reject_what_is_not_a_number_for_each_candidate(predict: Any, match: str) -> None:
    with pytest.raises(TeSchedError, match="cost model object does not predict 2 scores") as caught:
        scores_of(object(), predict, 2)
    assert re.search(match, caught.value.why)


def test_scores_keep_the_errors_of_te_sched() -> None:
    def refuse() -> Any:
        raise DeclarationError("the model is not trained")

    with pytest.raises(DeclarationError, match="the model is not trained"):
        scores_of(object(), refuse, 1)
    assert scores_of(object(), lambda: [True, 2], 2).tolist() == [1.0, 2.0]


C = te.compute((8, 8), lambda i, j: A[i, j] + 1, name="C")
S = te.create_schedule(C.op)
ROW, COLUMN = C.op.axis
K = te.reduce_axis((0, 8), "k")
X = relax.Var("x", relax.TensorStructInfo((4, 8), "float32"))


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: S[C].tile(ROW, COLUMN, 4), "^tile is called without y_factor\n"),
        (
            lambda: S[C].split(ROW, factr=4),
            r"^split has no parameter factr \(did you mean 'factor'",
        ),
        (lambda: S[C].bind(ROW), "^bind is called without thread_ivar\n"),
        (lambda: S[C].unroll(ROW, COLUMN), "^unroll takes 1 argument by position, got 2\n"),
        (lambda: te.compute((8,), lambda i: A[i, 0], nam="D"), "no parameter nam .*'name'"),
        (lambda: te.placeholder(), "^te.placeholder is called without shape\n"),
        (lambda: te.placeholder((8,), shape=4), "wrong arguments: multiple values for .*'shape'"),
        (lambda: te.sum(A[0, K], axes=K), r"^sum has no parameter axes \(did you mean 'axis'"),
        (lambda: te.create_schedule(C.op, C.op), "^argument ops of create_schedule must be a list"),
        (lambda: te_sched.build(S, [A, C], targt="llvm"), "^build has no parameter targt .*target"),
        (lambda: te_sched.lower(S, [A, C], simple=1), "^lower has no parameter simple .*simple_m"),
        (lambda: te_sched.cpu(0, 1), "^cpu takes 1 argument by position, got 2"),
        (lambda: te_sched.nd.array(), "^nd.array is called without values"),
        (lambda: te_sched.target.Target("llvm", hst=1), "^Target has no parameter hst .*'host'"),
        (lambda: PassContext(opt_lvl=3), "^PassContext has no parameter opt_lvl .*'opt_level'"),
        (lambda: ms.tune_tir(C, max_trials=4), "no parameter max_trials .*'max_trials_global'"),
        (lambda: topi.nn.softmax(A, axes=1), "^topi.nn.softmax has no parameter axes .*'axis'"),
        (lambda: relax.op.matmul(X), "^relax.op.matmul is called without x2\n"),
        (lambda: relax.op.sum(X, axes=1), "^relax.op.sum has no parameter axes .*'axis'"),
        (lambda: relax.op.reshape(X, newshape=(32,)), "no parameter newshape .*'shape'"),
    ],
)
def test_calls_with_other_parameters(call: Callable[[], Any], message: str) -> None:
    with pytest.raises(ParameterError, match=message) as caught:
        call()
    error = caught.value
    assert isinstance(error, TypeError)
    assert error.__cause__ is None
    assert error.help
    assert error.about[-1].file == __file__  # type: ignore[union-attr]
    assert S.trace.entries == []


def test_errors_of_types_inside_of_a_function_stay() -> None:
    with pytest.raises(TypeError, match="unsupported operand") as caught:
        bound(lambda value: value + "a")(1)
    assert not isinstance(caught.value, ParameterError)


def test_functions_of_c_keep_their_errors() -> None:
    raise_unbound(min, "min", (), {})
    with pytest.raises(TypeError, match="min expected at least 1 argument"):
        bound(min)()


def test_functions_without_parameters_are_told_so() -> None:
    def nothing() -> None: ...

    with pytest.raises(ParameterError, match=r"takes 0 arguments by .*\n.*\n.*no parameter"):
        bound(nothing)(1)


SLIPS = [
    (lambda: te.placeholder((8, 8), "A"), "argument 2 of te.placeholder is dtype: write name='A'"),
    (lambda: te.placeholder((8, 8), "A", "int8"), ": write dtype='int8', name='A', or use one of"),
    (lambda: te.placeholder("A", (8, 8)), r": give the shape first, te.placeholder\(\(8, 8\), "),
    (lambda: tir.decl_buffer((8, 8), "A"), "argument 2 of decl_buffer is dtype: write name='A'"),
    (lambda: nd.empty(4, 5), r"pass them as a list: nd.empty\(\[4, 5\]\)"),
    (lambda: nd.empty(4, 5, "int8"), r"as a list: nd.empty\(\[4, 5\], \.\.\.\)"),
    (lambda: te.placeholder(te.var("n"), 4), r"te.placeholder\(\[n, 4\]\)"),
    (
        lambda: tir.Var("int32", "x"),
        r"argument 2 of tir.Var is dtype: write tir.Var\('x', 'int32'\)",
    ),
    (lambda: tir.SizeVar("int64", "x"), r"write tir.SizeVar\('x', 'int64'\)"),
    (lambda: tir.Cast(te.var("n"), "int64"), r"1 of tir.Cast .* write tir.Cast\('int64', n\)"),
    (lambda: tir.const("int32", 3), r"write tir.const\(3, 'int32'\)"),
    (lambda: te.var("n", "m"), "argument 2 of te.var is dtype: use one of bool"),
    (lambda: relax.op.zeros((4,), "x"), "argument 2 of relax.op.zeros is dtype: use one of bool"),
    (lambda: nd.array([1.0], "float32"), "write dtype='float32'"),
    (lambda: nd.array([1.0], "cpu"), r"write te_sched.device\('cpu'\)"),
    (lambda: nd.array([1.0], "A"), r"use te_sched.cpu\(0\)"),
]


@pytest.mark.parametrize(("call", "help"), SLIPS)
def test_an_argument_in_the_position_of_the_dtype_is_named(call, help):
    with pytest.raises(TeSchedError, match=help):
        call()


@pytest.mark.parametrize(
    "call",
    [
        lambda: te.placeholder((8,), dtype="A"),
        lambda: te.placeholder((8,), "flaot32"),
    ],
)
def test_other_unknown_dtypes_are_not_called_arguments(call):
    with pytest.raises(DeclarationError, match="unknown data type") as caught:
        call()
    assert caught.value.help.startswith("use one of bool")


b = te.compute((8, 8), lambda i, j: A[i, j] + 1.0, name="b")
s = te.create_schedule(b.op)
buffer = tir.decl_buffer((8, 8))
SEPARATE = [
    (lambda: te.create_prim_func(A, b), "ops of create_prim_func", r"\(\[A, b\]\)"),
    (lambda: te.create_schedule(A.op, b.op), "ops of create_schedule", r"\(\[A, b\]\)"),
    (lambda: te_sched.build(s, A, b, "llvm"), "args of build", r"\(..., \[A, b\], ...\)"),
    (lambda: te_sched.build(s, A, b, target="llvm"), "args of build", r"\[A, b\], ...\)"),
    (lambda: te_sched.lower(s, te.var("n"), A), "args of lower", r"\(..., \[n, A\]\)"),
    (lambda: te_sched.explain(s, A, b), "args of explain", r"\(..., \[A, b\]\)"),
    (lambda: topi.concatenate(A, b, 0), "a_tuple of topi.concatenate", r"\(\[A, b\], ...\)"),
    (lambda: topi.reshape(A, 64, 1), "newshape of topi.reshape", r"\(..., \[64, 1\]\)"),
    (lambda: te.compute(8, 8, lambda i, j: i), "shape of te.compute", r"\(\[8, 8\], ...\)"),
]


@pytest.mark.parametrize(("call", "argument", "help"), SEPARATE)
def test_values_given_one_by_one_for_a_list_are_refused(call, argument, help):
    text = rf"argument {argument} must be a list, got 2 arguments: (.|\n)*as a list: \w.*{help}"
    with pytest.raises(ParameterError, match=text):
        call()


@pytest.mark.parametrize(
    "call",
    [
        lambda: te_sched.build(s, [A, b], 5),
        lambda: te_sched.lower(s, A, {A: buffer}),
        lambda: te_sched.lower(s, A),
        lambda: te.create_prim_func(A, "int3"),
    ],
)
def test_other_wrong_arguments_are_not_taken_for_lists(call):
    with pytest.raises(TeSchedError) as caught:
        call()
    assert not isinstance(caught.value, ParameterError)


@pytest.mark.parametrize("function", [te_sched.explain, te_sched.tune, te.create_prim_func])
def test_functions_that_are_loaded_late_refuse_unknown_parameters(function):
    with pytest.raises(ParameterError, match="has no parameter threads"):
        function(s, threads=1)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: tir.Cast("int32"), "^tir.Cast is called without value\n"),
        (lambda: tir.BufferLoad(buffer, [0, 0], index=0), "^tir.BufferLoad has no parameter index"),
        (lambda: tir.SeqStmt(), "^tir.SeqStmt is called without seq\n"),
    ],
)
def test_constructors_of_nodes_name_their_parameters(call, message):
    with pytest.raises(ParameterError, match=message):
        call()


class _Callbacks:
    """Calls of user's functions with other parameters than te_sched passes."""

    @staticmethod
    def template() -> Any:
        @autotvm.template("signatures/template")
        def template(n: int, m: int) -> Any: ...

        return autotvm.task.create("signatures/template", args=(8,), target="llvm")

    @staticmethod
    def mutator() -> Any:
        class Mutator(relax.PyExprMutator):
            def visit_call_(self) -> Any: ...  # type: ignore[override]

        return Mutator

    @staticmethod
    def space() -> Any:
        return ms.space_generator.ScheduleFn(lambda sch, extra: None)

    @staticmethod
    def identity() -> Any:
        k = te.reduce_axis((0, 8), name="k")
        smallest = te.comm_reducer(lambda x, y: x + y, lambda: te.const(0))
        return te.compute((8,), lambda i: smallest(A[i, k], axis=k))

    @staticmethod
    def tuner() -> Any:
        task = autotvm.task.create(_add, args=(8,), target="llvm")
        options = autotvm.measure_option(builder="local", runner="local")
        tuner = autotvm.tuner.RandomTuner(task)
        return tuner.tune(n_trial=1, measure_option=options, callbacks=[lambda tuner: None])

    @staticmethod
    def call_packed() -> Any:
        te_sched.register_func("signatures.one", lambda value: 1, override=True)
        call = te.extern(
            (8,),
            [A],
            lambda ins, outs: tir.call_packed("signatures.one", ins[0], outs[0]),
            dtype="float32",
            name="B",
        )
        func = te_sched.build(te.create_schedule(call.op), [A, call], target="llvm")
        return func(nd.array(np.zeros((8, 8), "float32")), nd.array(np.zeros(8, "float32")))

    @staticmethod
    def call_packed_of_a_graph() -> Any:
        te_sched.register_func("signatures.one", lambda value: value, override=True)
        x = relax.Var("x", relax.TensorStructInfo([8], "float32"))
        builder = relax.BlockBuilder()
        with builder.function("main", [x], pure=False):
            call = relax.op.call_pure_packed("signatures.one", x, x, sinfo_args=x.struct_info)
            builder.emit_func_output(builder.emit(call))
        machine = relax.VirtualMachine(relax.build(builder.get(), "llvm"), te_sched.cpu())
        return machine["main"](nd.array(np.zeros(8, "float32")))


_EXP = relax.dpl.is_op("relax.exp")(relax.dpl.wildcard())


@autotvm.template("signatures/add")
def _add(n: int) -> Any:
    source = te.placeholder((n,), name="source")
    result = te.compute((n,), lambda i: source[i] + 1.0, name="result")
    autotvm.get_config().define_knob("unused", [1, 2])
    return te.create_schedule(result.op), [source, result]


@pytest.mark.parametrize(
    ("use", "match"),
    [
        (_Callbacks.template, "template template is called without m"),
        (_Callbacks.mutator, "Mutator.visit_call_ takes 0 arguments, expected 1"),
        (_Callbacks.space, "ScheduleFn takes 2 arguments, expected 1"),
        (_Callbacks.identity, "identity of reducer reduce takes 0 arguments, expected 1"),
        (lambda: tir.transform.Apply(lambda: None), "tir.Apply takes 0 arguments, expected 1"),
        (lambda: tir.transform.Filter(lambda: True), "tir.Filter takes 0 arguments, expected 1"),
        (
            lambda: relax.dpl.PatternMatchingRewriter.from_pattern(_EXP, lambda expr: expr),
            "rewrite_call takes 1 argument, expected 2",
        ),
        (
            lambda: relax.transform.LegalizeOps({"relax.exp": lambda call: call}),
            "the rule of relax.exp takes 1 argument, expected 2",
        ),
        (
            lambda: relax.transform.FuseOpsByPattern([("a.exp", _EXP, {}, lambda: True)]),
            "check of pattern a.exp takes 0 arguments, expected 1",
        ),
        (_Callbacks.tuner, "tune callback takes 1 argument, expected 3"),
        (
            _Callbacks.call_packed_of_a_graph,
            'call_packed "signatures.one" takes 1 argument, expected 2',
        ),
        (_Callbacks.call_packed, 'call_packed "signatures.one" takes 1 argument, expected 2'),
    ],
)
def test_functions_with_other_parameters_are_refused(use: Any, match: str) -> None:
    with pytest.raises(ParameterError, match=match) as caught:
        use()
    assert caught.value.__suppress_context__
    assert any(isinstance(one, SourceLocation) and one.file for one in caught.value.about)

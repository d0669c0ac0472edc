"""Declaring tensors and axes."""

import numpy as np

from te_sched import te, tir, topi
from te_sched.errors import DeclarationError, OperandError, TruthError
from tests.refusals.table import mistake

A = te.placeholder((8, 8), name="A")
X = te.placeholder((8,), name="X")
N = te.placeholder((8,), "int32", name="N")
k = te.reduce_axis((0, 8), name="k")


@mistake(
    "A function without a value",
    DeclarationError,
    "the function of compute C returns None, expected an expression",
)
def no_value():
    te.compute((8,), lambda i: None, name="C")


@no_value.help
def _():
    te.compute((8,), lambda i: X[i] + 1.0, name="C")


@mistake(
    "Another number of parameters than of dimensions",
    DeclarationError,
    "the shape of compute C has 2 dimensions but its function takes 1",
)
def wrong_arity():
    te.compute((8, 8), lambda i: X[i], name="C")


@wrong_arity.help
def _():
    te.compute((8, 8), lambda i, j: X[i], name="C")


@mistake(
    "No function",
    DeclarationError,
    r"the function of compute C is 1\.0, expected a function of the ind",
)
def no_function():
    te.compute((8,), 1.0, name="C")


@no_function.help
def _():
    te.compute((8,), lambda i: te.const(1.0, "float32"), name="C")


@mistake("Too few indices", DeclarationError, "tensor A has 2 dimensions but 1 index given")
def too_few_indices():
    te.compute((8,), lambda i: A(i), name="C")


@too_few_indices.help
def _():
    te.compute((8,), lambda i: A(i, 0), name="C")


@mistake(
    "A row for an element",
    DeclarationError,
    r"tensor A has 2 dimensions but 1 index given(.|\n)*one index for each",
)
def row_for_an_element():
    te.compute((8,), lambda i: A[i] + 1.0, name="C")


@row_for_an_element.help
def _():
    te.compute((8,), lambda i: A[i][0] + 1.0, name="C")


@mistake(
    "A tensor for an element", DeclarationError, r"as a scalar expression(.|\n)*index it: T_add\[i"
)
def tensor_for_an_element():
    te.compute((8,), lambda i: X + 1.0, name="C")


@tensor_for_an_element.help
def _():
    te.compute((8,), lambda i: X[i] + 1.0, name="C")


@mistake(
    "An index that is not an integer",
    DeclarationError,
    r"index 0 of tensor X has dtype float32, expected an integer(.|\n)*cast it",
)
def float_index():
    te.compute((8,), lambda i: X[X[i]], name="C")


@float_index.help
def _():
    te.compute((8,), lambda i: X[X[i].astype("int32")], name="C")


@mistake("Python's if", TruthError, r"truth value(.|\n)*te\.if_then_else", issue=7102)
def python_if():
    te.compute((8,), lambda i: X[i] if i < 4 else 0.0, name="C")


@python_if.help
def _():
    te.compute((8,), lambda i: te.if_then_else(i < 4, X[i], 0.0), name="C")


@mistake("Python's and", TruthError, r"truth value(.|\n)*te\.all", issue=7102)
def python_and():
    te.compute((8,), lambda i: te.if_then_else(i > 0 and i < 4, X[i], 0.0), name="C")


@python_and.help
def _():
    te.compute((8,), lambda i: te.if_then_else(te.all(i > 0, i < 4), X[i], 0.0), name="C")


@mistake("A comparison of three", TruthError, r"truth value", issue=18341)
def chained_comparison():
    te.compute((8,), lambda i: te.if_then_else(0 < i < 4, X[i], 0.0), name="C")


@chained_comparison.help
def _():
    te.compute((8,), lambda i: te.if_then_else(te.all(i > 0, i < 4), X[i], 0.0), name="C")


@mistake(
    "A symbolic extent in an if",
    TruthError,
    r"n == 1 has no truth value in Python(.|\n)*te\.if_then_else",
)
def condition_on_an_extent():
    n = te.var("n")
    if n == 1:
        return


@condition_on_an_extent.help
def _():
    n = te.var("n")
    P = te.placeholder((n,), name="P")
    te.compute((n,), lambda i: te.if_then_else(n == 1, 0.0, P[i]), name="C")


@mistake("Python's max", OperandError, "cannot iterate over var i")
def python_max():
    te.compute((8,), lambda i: X[max(i)], name="C")


@python_max.help
def _():
    te.compute((8,), lambda i: X[te.max(i, 0)], name="C")


@mistake("Python's sum", OperandError, r"cannot iterate over tensor X(.|\n)*te\.sum")
def python_sum():
    te.compute((1,), lambda i: sum(X), name="C")


@python_sum.help
def _():
    te.compute((1,), lambda i: te.sum(X[k], axis=k), name="C")


@mistake("int() of an element", OperandError, r"int\(\)(.|\n)*cast it")
def python_int():
    te.compute((8,), lambda i: X[int(X[i])], name="C")


@python_int.help
def _():
    te.compute((8,), lambda i: X[X[i].astype("int32")], name="C")


@mistake("The operator **", OperandError, r"use te\.power")
def power():
    te.compute((8,), lambda i: X[i] ** 2, name="C")


@power.help
def _():
    te.compute((8,), lambda i: te.power(X[i], 2.0), name="C")


@mistake(
    "A reduction inside an expression",
    DeclarationError,
    r"compute C uses a reduction inside an expression(.|\n)*a tensor of its own",
    issue=848,
)
def nested_reduction():
    te.compute((8,), lambda i: te.sum(A[i, k], axis=k) / 8.0, name="C")


@nested_reduction.help
def _():
    total = te.compute((8,), lambda i: te.sum(A[i, k], axis=k), name="total")
    te.compute((8,), lambda i: total[i] / 8.0, name="C")


@mistake("A reduction over a data axis", DeclarationError, r"over i(.|\n)*te\.reduce_axis")
def reduction_over_a_data_axis():
    te.compute((8,), lambda i: te.sum(A[i, i], axis=i), name="C")


@reduction_over_a_data_axis.help
def _():
    te.compute((8,), lambda i: te.sum(A[i, k], axis=k), name="C")


@mistake("A reduction axis given twice", DeclarationError, r"te\.sum names an axis twice: k, k")
def axis_twice():
    te.compute((1,), lambda i: te.sum(A[k, k], axis=[k, k]), name="C")


@axis_twice.help
def _():
    te.compute((1,), lambda i: te.sum(A[k, k], axis=k), name="C")


@mistake("The end before the beginning", DeclarationError, r"negative|before", issue=12373)
def reversed_domain():
    te.reduce_axis((8, 0), name="r")


@reversed_domain.help
def _():
    te.reduce_axis((0, 8), name="r")


@mistake("One number for a domain", DeclarationError, r"a pair \(min, end\)(.|\n)*\(0, extent\)")
def domain_of_one_number():
    te.reduce_axis(8, name="r")


@domain_of_one_number.help
def _():
    te.reduce_axis((0, 8), name="r")


@mistake(
    "te.max of one value", DeclarationError, r"te\.max of one value needs an axis to reduce over"
)
def reduction_without_axis():
    te.compute((8,), lambda i: te.max(A[i, k]), name="C")


@reduction_without_axis.help
def _():
    te.compute((8,), lambda i: te.max(A[i, k], axis=k), name="C")


@mistake(
    "A combiner of another type",
    DeclarationError,
    "the combiner of reducer reduce has dtype bool, expected float32",
)
def combiner_of_another_type():
    largest = te.comm_reducer(lambda x, y: x > y, lambda t: te.min_value(t))
    te.compute((8,), lambda i: largest(A[i, k], axis=k), name="C")


@combiner_of_another_type.help
def _():
    largest = te.comm_reducer(lambda x, y: te.max(x, y), lambda t: te.min_value(t))
    te.compute((8,), lambda i: largest(A[i, k], axis=k), name="C")


@mistake(
    "An identity of another type",
    DeclarationError,
    "the identity of reducer reduce has dtype int32, expected float32",
)
def identity_of_another_type():
    total = te.comm_reducer(lambda x, y: x + y, lambda t: 0)
    te.compute((8,), lambda i: total(A[i, k], axis=k), name="C")


@identity_of_another_type.help
def _():
    total = te.comm_reducer(lambda x, y: x + y, lambda t: te.const(0, t))
    te.compute((8,), lambda i: total(A[i, k], axis=k), name="C")


@mistake(
    "A negative extent",
    DeclarationError,
    r"an extent of placeholder P must not be negative, got -1(.|\n)*0 is allowed",
)
def negative_extent():
    te.placeholder((-1, 8), name="P")


@negative_extent.help
def _():
    te.placeholder((te.var("n"), 8), name="P")


@mistake(
    "An extent that is not an integer",
    DeclarationError,
    r"an extent of placeholder P is 2\.5, expected an integer(.|\n)*give an int",
)
def float_extent():
    te.placeholder((2.5,), name="P")


@float_extent.help
def _():
    te.placeholder((5 // 2,), name="P")


@mistake("An axis for an extent", DeclarationError, "an extent of placeholder ")
def axis_for_an_extent():
    te.placeholder((k,), name="P")


@axis_for_an_extent.help
def _():
    te.placeholder((k.dom.extent,), name="P")


@mistake(
    "A data type that does not exist",
    DeclarationError,
    r"unknown data type 'flaot32'(.|\n)*mean 'float32'",
)
def misspelled_dtype():
    te.placeholder((8,), "flaot32", name="P")


@misspelled_dtype.help
def _():
    te.placeholder((8,), "float32", name="P")


@mistake("Bits of a fraction", DeclarationError, r"float32")
def bits_of_a_fraction():
    te.compute((8,), lambda i: X[i] & 1, name="C")


@bits_of_a_fraction.help
def _():
    te.compute((8,), lambda i: X[i].astype("int32") & 1, name="C")


@mistake("A value that no expression is", DeclarationError, r"list|convert|cannot")
def list_in_an_expression():
    te.compute((8,), lambda i: X[i] + [1, 2], name="C")


@list_in_an_expression.help
def _():
    te.compute((8,), lambda i: X[i] + te.if_then_else(i % 2 == 0, 1.0, 2.0), name="C")


@mistake("A constant that does not fit", DeclarationError, r"300(.|\n)*int8|int8(.|\n)*300")
def constant_too_large():
    te.const(300, "int8")


@constant_too_large.help
def _():
    te.const(300, "int16")


@mistake(
    "Select of a number",
    DeclarationError,
    r"condition of tir\.Select has dtype float32, expected bool",
)
def select_of_a_number():
    te.compute((8,), lambda i: tir.Select(X[i], X[i], 0.0), name="C")


@select_of_a_number.help
def _():
    te.compute((8,), lambda i: tir.Select(X[i] > 0.0, X[i], te.const(0.0)), name="C")


@mistake("A function of mathematics of an integer", DeclarationError, r"int32")
def exp_of_an_integer():
    te.compute((8,), lambda i: te.exp(N[i]), name="C")


@exp_of_an_integer.help
def _():
    te.compute((8,), lambda i: te.exp(N[i].astype("float32")), name="C")


@mistake("A division by zero", DeclarationError, r"zero")
def division_by_zero():
    te.compute((8,), lambda i: N[i // 0], name="C")


@division_by_zero.help
def _():
    te.compute((8,), lambda i: N[i // 2], name="C")


@mistake(
    "Several reductions in a tuple",
    DeclarationError,
    "compute C returns a tuple of different reductions",
)
def different_reductions():
    te.compute((8,), lambda i: (te.sum(A[i, k], axis=k), te.max(A[i, k], axis=k)), name="C")


@different_reductions.help
def _():
    te.compute((8,), lambda i: te.sum(A[i, k], axis=k), name="C")
    te.compute((8,), lambda i: te.max(A[i, k], axis=k), name="D")


@mistake("A number for the tag of threads", DeclarationError, r"thread_axis")
def thread_axis_of_a_number():
    te.thread_axis((0, 8), 3)


@thread_axis_of_a_number.help
def _():
    te.thread_axis((0, 8), "threadIdx.x")


@mistake(
    "The update of a scan reads what is not there yet",
    DeclarationError,
    r"update update of scan scan reads state\[t, j\] before it is comput",
)
def scan_reads_itself():
    state = te.placeholder((8, 4), name="state")
    init = te.compute((1, 4), lambda _, j: X[j], name="init")
    update = te.compute((8, 4), lambda t, j: state[t, j] + 1.0, name="update")
    te.scan(init, update, state)


@scan_reads_itself.help
def _():
    state = te.placeholder((8, 4), name="state")
    init = te.compute((1, 4), lambda _, j: X[j], name="init")
    update = te.compute((8, 4), lambda t, j: state[t - 1, j] + 1.0, name="update")
    te.scan(init, update, state)


@mistake("An extern operation of unknown type", DeclarationError, "extern C needs a dtype")
def extern_without_type():
    te.extern((8,), [X, N], lambda ins, outs: tir.call_packed("f", *ins, *outs), name="C")


@extern_without_type.help
def _():
    te.extern(
        (8,), [X, N], lambda ins, outs: tir.call_packed("f", *ins, *outs), "C", dtype="float32"
    )


@mistake(
    "An intrinsic that does nothing",
    DeclarationError,
    "tensor intrinsic tensor_intrin has neither a body nor both a res",
)
def intrinsic_without_body():
    copy = te.compute((8,), lambda i: X[i], name="copy")
    te.decl_tensor_intrin(copy.op, lambda ins, outs: None)


@intrinsic_without_body.help
def _():
    copy = te.compute((8,), lambda i: X[i], name="copy")

    def call(ins, outs):
        return tir.call_extern("int32", "copy", outs[0].access_ptr("w"), ins[0].access_ptr("r"))

    te.decl_tensor_intrin(copy.op, call)


@mistake("A value that doubles again and again", DeclarationError, r"tensor of its own")
def doubled_without_end():
    def power(i):
        value = X[i]
        for _ in range(30):
            value = value * value
        return value

    te.compute((8,), power, name="P")


@doubled_without_end.help
def _():
    P = X
    for number in range(30):
        P = te.compute((8,), lambda i, read=P: read[i] * read[i], name=f"P{number}")


@mistake("A shape that reads data", DeclarationError, r"an extent of compute C reads data: N\[0\]")
def shape_of_data():
    te.compute((N[0],), lambda i: X[i], name="C")


@shape_of_data.help
def _():
    n = te.var("n")
    te.compute((n,), lambda i: X[i], name="C")


def _after(out):
    ib = tir.ir_builder.create()
    p = ib.buffer_ptr(out)
    with ib.for_range(0, 8, name="j") as j:
        p[j] = 1.0
    p[j] = 2.0
    return ib.get()


def _inside(out):
    ib = tir.ir_builder.create()
    p = ib.buffer_ptr(out)
    with ib.for_range(0, 8, name="j") as j:
        p[j] = 1.0
    p[7] = 2.0
    return ib.get()


@mistake(
    "A loop's variable after its loop",
    DeclarationError,
    r"variable j is used outside of its definition(.|\n)*inside of the scope that makes it",
)
def variable_after_its_loop():
    te.extern((8,), [X], lambda ins, outs: _after(outs[0]), name="C")


@variable_after_its_loop.help
def _():
    te.extern((8,), [X], lambda ins, outs: _inside(outs[0]), name="C")


@te.hybrid.script
def _reused(a):
    b = output_tensor((8,), "float32")  # noqa: F821
    j = 1.0
    for j in range(8):
        b[j] = a[j]
    return b


@te.hybrid.script
def _of_its_own(a):
    b = output_tensor((8,), "float32")  # noqa: F821
    first = 1.0
    for j in range(8):
        b[j] = a[j] * first
    return b


@mistake(
    "A loop of a hybrid script over a name that has a value",
    DeclarationError,
    r"hybrid script: the loop would overwrite j, which has a value bef(.|\n)*another name",
)
def loop_over_a_name():
    _reused(X)


@loop_over_a_name.help
def _():
    _of_its_own(X)


@mistake(
    "An operator of topi with an axis that is not an integer", DeclarationError, r"axis of topi"
)
def axis_that_is_no_integer():
    topi.sum(X, axis=0.5)


@axis_that_is_no_integer.help
def _():
    topi.sum(X, axis=0)


@mistake(
    "A function of numpy",
    OperandError,
    r"numpy\.exp cannot be applied to X\[i\](.|\n)*use te\.exp for elements",
)
def function_of_numpy():
    te.compute((8,), lambda i: np.exp(X[i]), name="C")


@function_of_numpy.help
def _():
    te.compute((8,), lambda i: te.exp(X[i]), name="C")


@mistake(
    "numpy's maximum",
    OperandError,
    r"numpy\.maximum cannot be applied to X\[i\](.|\n)*use te\.max for elements",
)
def maximum_of_numpy():
    te.compute((8,), lambda i: np.maximum(X[i], 0), name="C")


@maximum_of_numpy.help
def _():
    te.compute((8,), lambda i: te.max(X[i], 0), name="C")


@mistake(
    "numpy's sum of a tensor",
    OperandError,
    r"numpy\.sum cannot be applied to tensor X(.|\n)*use te\.sum for elements",
)
def sum_of_numpy():
    te.compute((), lambda: np.sum(X), name="C")


@sum_of_numpy.help
def _():
    te.compute((), lambda: te.sum(X[k], axis=k), name="C")


@mistake(
    "The truth of a tensor",
    DeclarationError,
    r"tensor X has no truth value(.|\n)*compare with None",
)
def truth_of_a_tensor():
    def add(bias):
        return te.compute((8,), lambda i: X[i] + bias[i] if bias else X[i], name="C")

    add(X)


@truth_of_a_tensor.help
def _():
    def add(bias):
        return te.compute((8,), lambda i: X[i] if bias is None else X[i] + bias[i], name="C")

    add(X)


@mistake(
    "A slice of a tensor to reduce",
    DeclarationError,
    r"index 1 of tensor A is a slice(.|\n)*k = te\.reduce_axis\(\(0, 8\)\)",
)
def slice_to_reduce():
    te.compute((8,), lambda i: te.sum(A[i, :]), name="C")


@slice_to_reduce.help
def _():
    te.compute((8,), lambda i: te.sum(A[i, k], axis=k), name="C")


@mistake(
    "One value for min in a hybrid script",
    DeclarationError,
    "wrong arguments: min takes 2 values or more, got 1",
)
def one_value_for_min():
    @te.hybrid.script
    def least(a):
        c = output_tensor((8,), "float32")  # noqa: F821
        for i in range(8):
            c[i] = min(a[i])
        return c

    least(X)


@one_value_for_min.help
def _():
    @te.hybrid.script
    def least(a):
        c = output_tensor((8,), "float32")  # noqa: F821
        for i in range(8):
            c[i] = min(a[i], 1.0)
        return c

    least(X)


@mistake(
    "A reduction axis without a reduction",
    DeclarationError,
    r"compute C uses reduction axis k without a reduction over it(.|\n)*te\.sum\(",
)
def free_reduction_axis():
    te.compute((8,), lambda i: A[i, k], name="C")


@free_reduction_axis.help
def _():
    te.compute((8,), lambda i: te.sum(A[i, k], axis=k), name="C")


@mistake(
    "A reduction over another axis",
    DeclarationError,
    "compute C uses reduction axis k but reduces over m(.|\n)*nothing reduces over k",
)
def reduction_over_another_axis():
    m = te.reduce_axis((0, 8), name="m")
    te.compute((8,), lambda i: te.sum(A[i, k], axis=m), name="C")


@reduction_over_another_axis.help
def _():
    te.compute((8,), lambda i: te.sum(A[i, k], axis=k), name="C")

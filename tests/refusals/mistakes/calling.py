"""Calling: arguments that a compiled function cannot take."""

import numpy as np

import te_sched
from te_sched import nd, te, tir
from te_sched.errors import CallError
from tests.refusals.table import mistake

n = te.var("n")
A = te.placeholder((n, 8), name="A")
B = te.compute((n, 8), lambda i, j: A[i, j] * 2.0, name="B")
double = te_sched.build(te.create_schedule(B.op), [A, B], name="double")


@mistake("Too few arguments", CallError, r"double\(\) takes 2 arguments, got 1\n(.|\n)*are A, B")
def too_few_arguments():
    double(np.zeros((4, 8), "float32"))


@too_few_arguments.help
def _():
    double(np.zeros((4, 8), "float32"), np.zeros((4, 8), "float32"))


@mistake("Arguments by name", CallError, r"by position, got B=(.|\n)*are A, B(.|\n)*double\(A, B\)")
def arguments_by_name():
    double(np.zeros((4, 8), "float32"), B=np.zeros((4, 8), "float32"))


@arguments_by_name.help
def _():
    double(np.zeros((4, 8), "float32"), np.zeros((4, 8), "float32"))


@mistake("Timing with arguments by name", CallError, r"by position, got A=\.\.\., B=")
def timing_by_name():
    timer = double.time_evaluator("double", te_sched.cpu(0), number=1)
    timer(A=np.zeros((4, 8), "float32"), B=np.zeros((4, 8), "float32"))


@timing_by_name.help
def _():
    timer = double.time_evaluator("double", te_sched.cpu(0), number=1)
    timer(np.zeros((4, 8), "float32"), np.zeros((4, 8), "float32"))


@mistake(
    "An array of another type",
    CallError,
    r"has dtype float64, expected float32(.|\n)*astype",
)
def array_of_another_type():
    double(np.zeros((4, 8)), np.zeros((4, 8), "float32"))


@array_of_another_type.help
def _():
    double(np.zeros((4, 8)).astype("float32"), np.zeros((4, 8), "float32"))


@mistake(
    "An array of another shape",
    CallError,
    r"argument A has shape \(4, 9\), expected 8 along axis 1",
)
def array_of_another_shape():
    double(np.zeros((4, 9), "float32"), np.zeros((4, 9), "float32"))


@array_of_another_shape.help
def _():
    double(np.zeros((4, 8), "float32"), np.zeros((4, 8), "float32"))


@mistake("An array of other dimensions", CallError, r"A(.|\n)*1 dim|\(8,\)")
def array_of_other_dimensions():
    double(np.zeros(8, "float32"), np.zeros((1, 8), "float32"))


@array_of_other_dimensions.help
def _():
    double(np.zeros((1, 8), "float32"), np.zeros((1, 8), "float32"))


@mistake(
    "Sizes that do not agree",
    CallError,
    r"argument B has shape\[0\] 5, expected 4: n is 4 by shape\[0\] of argument A",
)
def sizes_that_do_not_agree():
    double(np.zeros((4, 8), "float32"), np.zeros((5, 8), "float32"))


@sizes_that_do_not_agree.help
def _():
    double(np.zeros((4, 8), "float32"), np.zeros((4, 8), "float32"))


@mistake(
    "A transposed array for declared strides", CallError, r"strides(.|\n)*numpy\.ascontiguousarray"
)
def transposed_array():
    rows = tir.decl_buffer((n, 8), "float32", "rows", strides=[8, 1])
    copy = te_sched.build(te.create_schedule(B.op), [rows, B], binds={A: rows})
    copy(np.zeros((8, 4), "float32").T, np.zeros((4, 8), "float32"))


@transposed_array.help
def _():
    rows = tir.decl_buffer((n, 8), "float32", "rows", strides=[8, 1])
    copy = te_sched.build(te.create_schedule(B.op), [rows, B], binds={A: rows})
    copy(np.ascontiguousarray(np.zeros((8, 4), "float32").T), np.zeros((4, 8), "float32"))


@mistake("A list for an array", CallError, r"must be an array, got a list")
def list_for_an_array():
    double([[0.0] * 8] * 4, np.zeros((4, 8), "float32"))


@list_for_an_array.help
def _():
    double(nd.array([[0.0] * 8] * 4), np.zeros((4, 8), "float32"))


@mistake("A read-only output", CallError, r"read-only")
def read_only_output():
    b = np.zeros((4, 8), "float32")
    b.flags.writeable = False
    double(np.zeros((4, 8), "float32"), b)


@read_only_output.help
def _():
    double(np.zeros((4, 8), "float32"), np.zeros((4, 8), "float32"))


@mistake("A size that is not an integer", CallError, r"m")
def size_that_is_no_integer():
    m = te.var("m")
    P = te.placeholder((8,), name="P")
    Q = te.compute((8,), lambda i: P[i] + m, name="Q")
    add = te_sched.build(te.create_schedule(Q.op), [m, P, Q])
    add(2.5, np.zeros(8, "float32"), np.zeros(8, "float32"))


@size_that_is_no_integer.help
def _():
    m = te.var("m", "float32")
    P = te.placeholder((8,), name="P")
    Q = te.compute((8,), lambda i: P[i] + m, name="Q")
    add = te_sched.build(te.create_schedule(Q.op), [m, P, Q])
    add(2.5, np.zeros(8, "float32"), np.zeros(8, "float32"))


@mistake("A negative size", CallError, r"\(m - 8\) = -4(.|\n)*an extent is 0 or more")
def negative_size():
    m = te.var("m")
    P = te.placeholder((m,), name="P")
    Q = te.compute((m - 8,), lambda i: P[i + 8], name="Q")
    tail = te_sched.build(te.create_schedule(Q.op), [P, Q])
    tail(np.zeros(4, "float32"), np.zeros(0, "float32"))


@negative_size.help
def _():
    m = te.var("m")
    P = te.placeholder((m,), name="P")
    Q = te.compute((m - 8,), lambda i: P[i + 8], name="Q")
    tail = te_sched.build(te.create_schedule(Q.op), [P, Q])
    tail(np.zeros(9, "float32"), np.zeros(1, "float32"))


@mistake("The largest of no values", CallError, r"max")
def maximum_of_nothing():
    m = te.var("m")
    P = te.placeholder((m,), name="P")
    r = te.reduce_axis((0, m), name="r")
    Q = te.compute((1,), lambda i: te.max(P[r], axis=r), name="Q")
    largest = te_sched.build(te.create_schedule(Q.op), [P, Q])
    largest(np.zeros(0, "float32"), np.zeros(1, "float32"))


@maximum_of_nothing.help
def _():
    m = te.var("m")
    P = te.placeholder((m,), name="P")
    r = te.reduce_axis((0, m), name="r")
    Q = te.compute((1,), lambda i: te.max(P[r], axis=r), name="Q")
    largest = te_sched.build(te.create_schedule(Q.op), [P, Q])
    largest(np.zeros(1, "float32"), np.zeros(1, "float32"))


@mistake("A function that the module does not have", CallError, r"'duoble'(.|\n)*mean 'double'")
def unknown_function():
    double["duoble"]


@unknown_function.help
def _():
    double["double"]


@mistake("An unregistered packed function", CallError, r"thrice_of(.|\n)*register_func")
def unregistered_function():
    te_sched.get_global_func("thrice_of")


@unregistered_function.help
def _():
    te_sched.register_func("thrice", lambda x: 2 * x, override=True)
    te_sched.get_global_func("thrice")


@mistake("Timing nothing", CallError, r"number >= 1")
def timing_nothing():
    double.time_evaluator("double", te_sched.cpu(0), number=0)


@timing_nothing.help
def _():
    double.time_evaluator("double", te_sched.cpu(0), number=1)


@mistake("Timing for ever", CallError, r"argument min_repeat_ms of time_evaluator is inf")
def timing_for_ever():
    double.time_evaluator("double", te_sched.cpu(0), min_repeat_ms=float("inf"))


@timing_for_ever.help
def _():
    double.time_evaluator("double", te_sched.cpu(0), min_repeat_ms=1)


@mistake(
    "Timing nowhere",
    CallError,
    r"time_evaluator of 'double' needs a device(.|\n)*time_evaluator\(name, dev\)",
)
def timing_nowhere():
    double.time_evaluator("double", None)


@timing_nowhere.help
def _():
    double.time_evaluator("double", te_sched.cpu(0))


@mistake("A copy into an array of another shape", CallError, r"cannot copy an array of shape \(")
def copy_of_another_shape():
    nd.array(np.zeros(4, "float32")).copyto(nd.empty((5,)))


@copy_of_another_shape.help
def _():
    nd.array(np.zeros(4, "float32")).copyto(nd.empty((4,)))


@mistake("Rows of different lengths", CallError, r"rows of the same length")
def ragged_rows():
    nd.array([[1.0], [1.0, 2.0]])


@ragged_rows.help
def _():
    nd.array([[1.0, 0.0], [1.0, 2.0]])


@mistake("A negative extent of an array", CallError, r"^negative dimensions are not allowed")
def negative_array():
    nd.empty((-1, 8))


@negative_array.help
def _():
    nd.empty((0, 8))


@mistake("The output over the input", CallError, r"overlap|share|memory")
def output_over_input():
    F = te.compute((n, 8), lambda i, j: A[n - 1 - i, j], name="F")
    flip = te_sched.build(te.create_schedule(F.op), [A, F])
    a = np.zeros((4, 8), "float32")
    flip(a, a)


@output_over_input.help
def _():
    F = te.compute((n, 8), lambda i, j: A[n - 1 - i, j], name="F")
    flip = te_sched.build(te.create_schedule(F.op), [A, F])
    flip(np.zeros((4, 8), "float32"), np.zeros((4, 8), "float32"))


@mistake("A callback that returns no number", CallError, r"callback")
def callback_of_text():
    te_sched.register_extern("text_of", lambda x: "text", override=True)
    F = te.compute((4,), lambda i: tir.call_extern("float32", "text_of", A[i, 0]), name="F")
    te_sched.build(te.create_schedule(F.op), [A, F])(
        np.zeros((4, 8), "float32"), np.zeros(4, "float32")
    )


@callback_of_text.help
def _():
    te_sched.register_extern("text_of", lambda x: 1.0, override=True)
    F = te.compute((4,), lambda i: tir.call_extern("float32", "text_of", A[i, 0]), name="F")
    te_sched.build(te.create_schedule(F.op), [A, F])(
        np.zeros((4, 8), "float32"), np.zeros(4, "float32")
    )


def _split_by_a_number():
    factor = te.var("factor")
    s = te.create_schedule(B.op)
    s[B].split(B.op.axis[0], factor=factor)
    return te_sched.build(s, [A, B, factor])


@mistake(
    "A split factor of 0, told by the call",
    CallError,
    r"factor of axis i of B is factor = 0, expected at least 1(.|\n)*by argument factor",
)
def split_factor_told_as_zero():
    _split_by_a_number()(np.zeros((4, 8), "float32"), np.zeros((4, 8), "float32"), 0)


@split_factor_told_as_zero.help
def _():
    _split_by_a_number()(np.zeros((4, 8), "float32"), np.zeros((4, 8), "float32"), 4)


@mistake(
    "More iterations than a type counts",
    CallError,
    r"a term of the number of iterations(.|\n)*expected at most 2147483647(.|\n)*int32 holds",
)
def iterations_beyond_the_type():
    _split_by_a_number()(np.zeros((4, 8), "float32"), np.zeros((4, 8), "float32"), 2**31 - 1)


@iterations_beyond_the_type.help
def _():
    _split_by_a_number()(np.zeros((4, 8), "float32"), np.zeros((4, 8), "float32"), 1024)

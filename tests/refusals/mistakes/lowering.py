"""Lowering: schedules that are no program."""

import te_sched
from te_sched import te, tir
from te_sched.errors import BuildError, LoweringError, ScheduleError
from tests.refusals.table import mistake

n = te.var("n")
A = te.placeholder((64, 64), name="A")
B = te.compute((64, 64), lambda i, j: A[i, j] * 2.0, name="B")
k = te.reduce_axis((0, 64), name="k")
C = te.compute((64, 64), lambda i, j: te.sum(A[i, k] * B[k, j], axis=k), name="C")
X = te.placeholder((n,), name="X")
Y = te.compute((n,), lambda i: X[i] + 1.0, name="Y")


def multiply_by_row(columns: int) -> te.TensorIntrin:
    """Adds up the products of a row and a matrix with so many columns."""
    a = te.placeholder((64,), name="a")
    b = te.placeholder((64, columns), name="b")
    r = te.reduce_axis((0, 64), name="r")
    c = te.compute((columns,), lambda j: te.sum(a[r] * b[r, j], axis=r), name="c")

    def call(ins, outs):
        return tir.call_packed("multiply_by_row", *ins, *outs)

    return te.decl_tensor_intrin(c.op, call, name="multiply_by_row")


@mistake(
    "No arguments",
    LoweringError,
    r"args is required(.|\n)*te_sched\.lower\(s, \[A, B, C\]\)",
)
def no_arguments():
    te_sched.lower(te.create_schedule(C.op))


@no_arguments.help
def _():
    te_sched.lower(te.create_schedule(C.op), [A, C])


@mistake("One tensor for the list of arguments", LoweringError, r"args must be a list of tensors")
def one_argument():
    te_sched.lower(te.create_schedule(C.op), C)


@one_argument.help
def _():
    te_sched.lower(te.create_schedule(C.op), [A, C])


@mistake("A tensor twice among the arguments", LoweringError, r"A is given twice(.|\n)*once")
def argument_twice():
    te_sched.lower(te.create_schedule(C.op), [A, A, C])


@argument_twice.help
def _():
    te_sched.lower(te.create_schedule(C.op), [A, C])


@mistake(
    "A number among the arguments",
    LoweringError,
    r"args\[0\] must be a tensor, buffer or variable, got 64",
)
def number_as_argument():
    te_sched.lower(te.create_schedule(C.op), [64, C])


@number_as_argument.help
def _():
    te_sched.lower(te.create_schedule(C.op), [A, C])


@mistake(
    "A pass that does not exist",
    LoweringError,
    r"unknown pass in stop_after(.|\n)*mean 'unroll_loops'",
)
def unknown_pass():
    te_sched.lower(te.create_schedule(C.op), [A, C], stop_after="unroll_loop")


@unknown_pass.help
def _():
    te_sched.lower(te.create_schedule(C.op), [A, C], stop_after="unroll_loops")


@mistake(
    "A vector of unknown length",
    LoweringError,
    r"stage Y \(declared at(.|\n)*vectorize at(.|\n)*split the axis by a constant",
)
def vectorize_a_symbolic_axis():
    s = te.create_schedule(Y.op)
    s[Y].vectorize(Y.op.axis[0])
    te_sched.lower(s, [X, Y])


@vectorize_a_symbolic_axis.help
def _():
    s = te.create_schedule(Y.op)
    outer, inner = s[Y].split(Y.op.axis[0], factor=8)
    s[Y].vectorize(inner)
    te_sched.build(s, [X, Y])


@mistake(
    "A loop of unknown length unrolled",
    LoweringError,
    r"cannot unroll loop i: its extent n(.|\n)*unroll at(.|\n)*split the axis by a constant",
)
def unroll_a_symbolic_axis():
    s = te.create_schedule(Y.op)
    s[Y].unroll(Y.op.axis[0])
    te_sched.lower(s, [X, Y])


@unroll_a_symbolic_axis.help
def _():
    s = te.create_schedule(Y.op)
    outer, inner = s[Y].split(Y.op.axis[0], factor=8)
    s[Y].unroll(inner)
    te_sched.build(s, [X, Y])


@mistake(
    "A stage attached where not all its readers are",
    LoweringError,
    r"compute_at at(.|\n)*B is computed here   <-- not in the loops of E",
    issue=3610,
)
def attached_beside_a_reader():
    E = te.compute((64, 64), lambda i, j: B[i, j] + C[i, j], name="E")
    s = te.create_schedule(E.op)
    s[B].compute_at(s[C], C.op.axis[0])
    te_sched.lower(s, [A, E])


@attached_beside_a_reader.help
def _():
    E = te.compute((64, 64), lambda i, j: B[i, j] + C[i, j], name="E")
    s = te.create_schedule(E.op)
    s[C].compute_at(s[E], E.op.axis[0])
    s[B].compute_at(s[E], E.op.axis[0])
    te_sched.build(s, [A, E])


@mistake(
    "A stage attached to an axis that was fused then",
    LoweringError,
    r"attached at axis i of stage C(.|\n)*call compute_at with one of the axes(.|\n)*loops:",
    issue=5917,
)
def attached_to_an_axis_fused_later():
    s = te.create_schedule(C.op)
    i, j = C.op.axis
    s[B].compute_at(s[C], i)
    s[C].fuse(i, j)
    te_sched.lower(s, [A, C])


@attached_to_an_axis_fused_later.help
def _():
    s = te.create_schedule(C.op)
    i, j = C.op.axis
    fused = s[C].fuse(i, j)
    s[B].compute_at(s[C], fused)
    te_sched.build(s, [A, C])


@mistake("A virtual thread of unknown number", LoweringError, r"virtual thread(.|\n)*nparts")
def symbolic_virtual_threads():
    s = te.create_schedule(Y.op)
    s[Y].bind(Y.op.axis[0], te.thread_axis("vthread"))
    te_sched.lower(s, [X, Y])


@symbolic_virtual_threads.help
def _():
    s = te.create_schedule(Y.op)
    outer, inner = s[Y].split(Y.op.axis[0], nparts=4)
    s[Y].bind(outer, te.thread_axis("vthread"))
    te_sched.lower(s, [X, Y])


@mistake(
    "Two extents of one thread axis",
    LoweringError,
    r"conflicting extents 16 and 64(.|\n)*stage B \(decl(.|\n)*axis i \(bind at(.|\n)*same extent",
)
def two_extents_of_a_thread():
    thread = te.thread_axis("threadIdx.x")
    s = te.create_schedule(C.op)
    i, j = C.op.axis
    outer, inner = s[C].split(j, factor=16)
    s[C].bind(inner, thread)
    s[B].compute_at(s[C], outer)
    s[B].bind(B.op.axis[0], thread)
    te_sched.lower(s, [A, C])


@two_extents_of_a_thread.help
def _():
    thread = te.thread_axis("threadIdx.x")
    s = te.create_schedule(C.op)
    i, j = C.op.axis
    outer, inner = s[C].split(j, factor=16)
    s[C].bind(inner, thread)
    s[B].compute_at(s[C], outer)
    part, rest = s[B].split(B.op.axis[0], factor=16)
    s[B].bind(rest, thread)
    te_sched.lower(s, [A, C])


@mistake("An intrinsic of another shape", LoweringError, r"multiply_by_row(.|\n)*declar")
def tensorize_another_shape():
    s = te.create_schedule(C.op)
    s[C].tensorize(C.op.axis[1], multiply_by_row(32))
    te_sched.lower(s, [A, C])


@tensorize_another_shape.help
def _():
    s = te.create_schedule(C.op)
    s[C].tensorize(C.op.axis[1], multiply_by_row(64))
    te_sched.lower(s, [A, C])


@mistake("An intrinsic of another computation", LoweringError, r"multiply_by_row")
def tensorize_another_computation():
    s = te.create_schedule(B.op)
    s[B].tensorize(B.op.axis[1], multiply_by_row(64))
    te_sched.lower(s, [A, B])


@tensorize_another_computation.help
def _():
    a = te.placeholder((64,), name="a")
    b = te.compute((64,), lambda j: a[j] * 2.0, name="b")

    def call(ins, outs):
        return tir.call_packed("double_row", *ins, *outs)

    s = te.create_schedule(B.op)
    s[B].tensorize(B.op.axis[1], te.decl_tensor_intrin(b.op, call, name="double_row"))
    te_sched.lower(s, [A, B])


@mistake("tensorize before split", LoweringError, r"no longer a loop(.|\n)*call tensorize last")
def tensorize_before_split():
    s = te.create_schedule(C.op)
    s[C].tensorize(C.op.axis[1], multiply_by_row(64))
    s[C].split(C.op.axis[1], factor=32)
    te_sched.lower(s, [A, C])


@tensorize_before_split.help
def _():
    s = te.create_schedule(C.op)
    outer, inner = s[C].split(C.op.axis[1], factor=32)
    s[C].tensorize(outer, multiply_by_row(64))
    te_sched.lower(s, [A, C])


@mistake(
    "No schedule",
    LoweringError,
    r"expects a schedule, got a Tensor(.|\n)*what te\.create_schedule returned",
)
def lower_a_tensor():
    te_sched.lower(C, [A, C])


@lower_a_tensor.help
def _():
    te_sched.lower(te.create_schedule(C.op), [A, C])


@mistake("A size that is not bound", BuildError, r"variable m(.|\n)*add m to the arguments")
def free_size():
    m = te.var("m")
    F = te.compute((64,), lambda i: A[i, 0] * m, name="F")
    te_sched.build(te.create_schedule(F.op), [A, F])


@free_size.help
def _():
    m = te.var("m")
    F = te.compute((64,), lambda i: A[i, 0] * m, name="F")
    te_sched.build(te.create_schedule(F.op), [m, A, F])


@mistake("Unrolling everything", LoweringError, r"would make 266240 statements(.|\n)*inner part")
def unrolled_without_end():
    s = te.create_schedule(C.op)
    for axis in (*C.op.axis, k):
        s[C].unroll(axis)
    te_sched.lower(s, [A, C])


@unrolled_without_end.help
def _():
    s = te.create_schedule(C.op)
    s[C].unroll(s[C].split(k, 8)[1])
    te_sched.lower(s, [A, C])


@mistake(
    "Inlining what is read twice, again and again",
    ScheduleError,
    r"inline T\d+ into T\d+(.|\n)*compute_root",
)
def inlined_without_end():
    last = A
    for number in range(30):
        last = te.compute(
            A.shape, lambda i, j, read=last: read[i, j] * read[j, i], name=f"T{number}"
        )
    s = te.create_schedule(last.op)
    for stage in s.stages[1:-1]:
        stage.compute_inline()
    te_sched.lower(s, [A, last])


@inlined_without_end.help
def _():
    last = A
    for number in range(30):
        last = te.compute(
            A.shape, lambda i, j, read=last: read[i, j] * read[j, i], name=f"T{number}"
        )
    te_sched.lower(te.create_schedule(last.op), [A, last])


@mistake(
    "One buffer for two tensors",
    LoweringError,
    r"A and D are bound to one buffer, M(.|\n)*a buffer for each tensor",
)
def one_buffer_for_two_tensors():
    D = te.compute((64, 64), lambda i, j: A[j, i] * 2.0, name="D")
    M = tir.decl_buffer((64, 64), "float32", "M")
    te_sched.lower(te.create_schedule(D.op), [A, D], binds={A: M, D: M})


@one_buffer_for_two_tensors.help
def _():
    D = te.compute((64, 64), lambda i, j: A[j, i] * 2.0, name="D")
    M, R = (tir.decl_buffer((64, 64), "float32", name) for name in "MR")
    te_sched.lower(te.create_schedule(D.op), [A, D], binds={A: M, D: R})


@mistake("Arguments in no order", LoweringError, r"args must be a list .*, got a set")
def arguments_in_a_set():
    te_sched.lower(te.create_schedule(Y.op), {X, Y})


@arguments_in_a_set.help
def _():
    te_sched.lower(te.create_schedule(Y.op), [X, Y])


@mistake(
    "An option of another type",
    LoweringError,
    r"tir\.disable_vectorize of PassContext must be True or False",
)
def option_of_another_type():
    te_sched.transform.PassContext(config={"tir.disable_vectorize": "False"})


@option_of_another_type.help
def _():
    te_sched.transform.PassContext(config={"tir.disable_vectorize": False})

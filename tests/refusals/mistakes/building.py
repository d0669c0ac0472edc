"""Building: programs that may not run as they are scheduled, or for which there is no code."""

import te_sched
from te_sched import te, tir
from te_sched.errors import BuildError
from tests.refusals.table import mistake

A = te.placeholder((64, 64), name="A")
B = te.compute((64, 64), lambda i, j: A[i, j] * 2.0, name="B")
k = te.reduce_axis((0, 64), name="k")
C = te.compute((64, 64), lambda i, j: te.sum(A[i, k] * B[k, j], axis=k), name="C")


@mistake(
    "A parallel reduction axis",
    BuildError,
    r"parallel(.|\n)*axis k \(parallel at(.|\n)*rfactor",
    issue=7420,
)
def parallel_reduction():
    s = te.create_schedule(C.op)
    s[C].parallel(k)
    te_sched.build(s, [A, C])


@parallel_reduction.help
def _():
    s = te.create_schedule(C.op)
    parts = s.rfactor(C, k)
    s[parts].parallel(s[parts].op.axis[0])
    te_sched.build(s, [A, C])


@mistake(
    "A part of a reduction axis in parallel",
    BuildError,
    r"for k\.outer \(parallelized\)   <-- refused",
)
def parallel_part_of_a_reduction():
    s = te.create_schedule(C.op)
    outer, inner = s[C].split(k, factor=16)
    s[C].reorder(outer, *C.op.axis, inner)
    s[C].parallel(outer)
    te_sched.build(s, [A, C])


@parallel_part_of_a_reduction.help
def _():
    s = te.create_schedule(C.op)
    outer, inner = s[C].split(k, factor=16)
    s[C].reorder(C.op.axis[0], outer, C.op.axis[1], inner)
    s[C].parallel(C.op.axis[0])
    te_sched.build(s, [A, C])


@mistake(
    "A data axis fused with a reduction axis, in parallel",
    BuildError,
    r"do not fuse data axes with reduction axes",
)
def parallel_fused_reduction():
    s = te.create_schedule(C.op)
    s[C].parallel(s[C].fuse(C.op.axis[1], k))
    te_sched.build(s, [A, C])


@parallel_fused_reduction.help
def _():
    s = te.create_schedule(C.op)
    s[C].parallel(s[C].fuse(*C.op.axis))
    te_sched.build(s, [A, C])


@mistake("Blocks that reduce", BuildError, r"blockIdx\.x(.|\n)*axis k")
def blocks_that_reduce():
    s = te.create_schedule(C.op)
    s[C].bind(k, te.thread_axis("blockIdx.x"))
    te_sched.build(s, [A, C], "cuda")


@blocks_that_reduce.help
def _():
    s = te.create_schedule(C.op)
    s[B].compute_inline()
    i, j = C.op.axis
    s[C].bind(i, te.thread_axis("blockIdx.x"))
    s[C].bind(j, te.thread_axis("threadIdx.x"))
    te_sched.build(s, [A, C], "cuda")


@mistake("A scan in parallel over time", BuildError, r"total\.idx(.|\n)*scan")
def parallel_scan():
    state = te.placeholder((8, 64), name="state")
    init = te.compute((1, 64), lambda _, j: A[0, j], name="init")
    update = te.compute((8, 64), lambda t, j: state[t - 1, j] + A[t, j], name="update")
    total = te.scan(init, update, state, [A], name="total")
    s = te.create_schedule(total.op)
    s[total].parallel(total.op.scan_axis)
    te_sched.build(s, [A, total])


@parallel_scan.help
def _():
    state = te.placeholder((8, 64), name="state")
    init = te.compute((1, 64), lambda _, j: A[0, j], name="init")
    update = te.compute((8, 64), lambda t, j: state[t - 1, j] + A[t, j], name="update")
    total = te.scan(init, update, state, [A], name="total")
    s = te.create_schedule(total.op)
    s[update].parallel(update.op.axis[1])
    te_sched.build(s, [A, total])


@mistake(
    "Reading beyond a placeholder", BuildError, r"reads A at 64(.|\n)*stage F(.|\n)*guard the read"
)
def read_beyond():
    F = te.compute((64, 64), lambda i, j: A[i + 1, j], name="F")
    te_sched.build(te.create_schedule(F.op), [A, F])


@read_beyond.help
def _():
    F = te.compute(
        (64, 64), lambda i, j: te.if_then_else(te.all(i < 63), A[i + 1, j], 0.0), name="F"
    )
    te_sched.build(te.create_schedule(F.op), [A, F])


@mistake("Reading before a placeholder", BuildError, r"reads A at -1 in dimension 1")
def read_before():
    F = te.compute((64, 64), lambda i, j: A[i, j - 1], name="F")
    te_sched.build(te.create_schedule(F.op), [A, F])


@read_before.help
def _():
    F = te.compute((64, 63), lambda i, j: A[i, j], name="F")
    te_sched.build(te.create_schedule(F.op), [A, F])


@mistake("Reducing beyond a placeholder", BuildError, r"reads A(.|\n)*64 elements there")
def reduce_beyond():
    r = te.reduce_axis((0, 65), name="r")
    F = te.compute((64,), lambda i: te.sum(A[i, r], axis=r), name="F")
    te_sched.build(te.create_schedule(F.op), [A, F])


@reduce_beyond.help
def _():
    r = te.reduce_axis((0, 64), name="r")
    F = te.compute((64,), lambda i: te.sum(A[i, r], axis=r), name="F")
    te_sched.build(te.create_schedule(F.op), [A, F])


@mistake(
    "A result that is not returned",
    BuildError,
    r"output C is not among the arguments(.|\n)*add C to args",
)
def lost_output():
    te_sched.build(te.create_schedule(C.op), [A])


@lost_output.help
def _():
    te_sched.build(te.create_schedule(C.op), [A, C])


@mistake(
    "An input that is not an argument",
    BuildError,
    r"accesses A, which is not among its(.|\n)*add A to the",
)
def missing_input():
    te_sched.build(te.create_schedule(C.op), [C])


@missing_input.help
def _():
    te_sched.build(te.create_schedule(C.op), [A, C])


@mistake(
    "An argument that the schedule does not compute",
    BuildError,
    r"argument F is not computed by the schedule",
)
def foreign_argument():
    F = te.compute((64, 64), lambda i, j: A[i, j], name="F")
    te_sched.build(te.create_schedule(C.op), [A, C, F])


@foreign_argument.help
def _():
    F = te.compute((64, 64), lambda i, j: A[i, j], name="F")
    te_sched.build(te.create_schedule([C.op, F.op]), [A, C, F])


@mistake("More elements than an index can count", BuildError, r"4294967296(.|\n)*int64")
def too_many_elements():
    P = te.placeholder((2**16, 2**16), "int8", name="P")
    F = te.compute((2**16, 2**16), lambda i, j: P[i, j], name="F")
    te_sched.build(te.create_schedule(F.op), [P, F])


@too_many_elements.help
def _():
    n = te.const(2**16, "int64")
    P = te.placeholder((n, n), "int8", name="P")
    F = te.compute((n, n), lambda i, j: P[i, j], name="F")
    te_sched.build(te.create_schedule(F.op), [P, F])


@mistake("No program", BuildError, r"got a Tensor(.|\n)*pass a Schedule with args")
def build_a_tensor():
    te_sched.build(C, [A, C])


@build_a_tensor.help
def _():
    te_sched.build(te.create_schedule(C.op), [A, C])


@mistake("A target that does not exist", BuildError, r"is not a target kind(.|\n)*mean 'cuda'")
def unknown_target():
    te_sched.build(te.create_schedule(C.op), [A, C], "cudaa")


@unknown_target.help
def _():
    te_sched.build(te.create_schedule(C.op), [A, C], "llvm")


@mistake("A target without code", BuildError, r"no code for opencl(.|\n)*lower\(\) also prints")
def target_without_code():
    te_sched.build(te.create_schedule(C.op), [A, C], "opencl")


@target_without_code.help
def _():
    te_sched.build(te.create_schedule(C.op), [A, C], "llvm")


@mistake("A processor that does not exist", BuildError, r"skylak(.|\n)*use one like skylake")
def unknown_processor():
    te_sched.build(te.create_schedule(C.op), [A, C], "llvm -mcpu=skylak")


@unknown_processor.help
def _():
    te_sched.build(te.create_schedule(C.op), [A, C], "llvm -mcpu=skylake")


@mistake("An option that does not exist", BuildError, r"is not an option of llvm(.|\n)*mean 'mcpu'")
def unknown_option():
    te_sched.build(te.create_schedule(C.op), [A, C], "llvm -mcpuu=native")


@unknown_option.help
def _():
    te_sched.build(te.create_schedule(C.op), [A, C], "llvm -mcpu=native")


@mistake("An unknown external function", BuildError, r"no_such_function")
def unknown_external():
    F = te.extern(
        (64,),
        [A],
        lambda ins, outs: tir.call_extern("int32", "no_such_function", outs[0].data),
        name="F",
        dtype="float32",
    )
    te_sched.build(te.create_schedule(F.op), [A, F])


@unknown_external.help
def _():
    te_sched.register_extern("fill_in", lambda data: 0, override=True)
    F = te.extern(
        (64,),
        [A],
        lambda ins, outs: tir.call_extern("int32", "fill_in", outs[0].data),
        name="F",
        dtype="float32",
    )
    te_sched.build(te.create_schedule(F.op), [A, F])


@mistake("An intrinsic with too few arguments", BuildError, r"has 0 arguments, expected 1")
def intrinsic_without_arguments():
    F = te.compute((64,), lambda i: tir.call_intrin("float32", "tir.exp"), name="F")
    te_sched.build(te.create_schedule(F.op), [F])


@intrinsic_without_arguments.help
def _():
    F = te.compute((64,), lambda i: tir.call_intrin("float32", "tir.exp", A[i, 0]), name="F")
    te_sched.build(te.create_schedule(F.op), [A, F])


@mistake("Vectors as long as the data", BuildError, r"vectors of 65536 lanes(.|\n)*by 8 or 16")
def vectors_without_end():
    V = te.placeholder((65536,), name="V")
    W = te.compute(V.shape, lambda i: V[i] * 2.0, name="W")
    s = te.create_schedule(W.op)
    s[W].vectorize(W.op.axis[0])
    te_sched.build(s, [V, W])


@vectors_without_end.help
def _():
    V = te.placeholder((65536,), name="V")
    W = te.compute(V.shape, lambda i: V[i] * 2.0, name="W")
    s = te.create_schedule(W.op)
    _, lanes = s[W].split(W.op.axis[0], 16)
    s[W].vectorize(lanes)
    te_sched.build(s, [V, W])


@mistake(
    "A split that is promised to be even, and is not",
    BuildError,
    r"split of axis k of stage C without a guard has 11 \* 6 = 66 iterations, expected 64",
)
def broken_promise():
    s = te.create_schedule(C.op)
    s[C].split(k, factor=6, disable_predication=True)
    te_sched.build(s, [A, C])


@broken_promise.help
def _():
    s = te.create_schedule(C.op)
    s[C].split(k, factor=6)
    te_sched.build(s, [A, C])


@mistake(
    "A count of booleans by their sum",
    BuildError,
    r"cannot sum booleans in stage D(.|\n)*the sum of bool is bool",
)
def count_of_booleans():
    D = te.compute((64,), lambda i: te.sum(A[i, k] > 0.0, axis=k), name="D")
    te_sched.build(te.create_schedule(D.op), [A, D])


@count_of_booleans.help
def _():
    D = te.compute((64,), lambda i: te.sum((A[i, k] > 0.0).astype("int32"), axis=k), name="D")
    te_sched.build(te.create_schedule(D.op), [A, D])


@mistake(
    "An index of which a part is beyond 64 bits",
    BuildError,
    r"of an index overflows 64 bits(.|\n)*clamp the operands",
)
def index_beyond_64_bits():
    row = te.placeholder((8,), name="row")
    far = te.compute((60000,), lambda i: row[te.min(i * i * i * i * i, 7)], name="far")
    te_sched.build(te.create_schedule(far.op), [row, far])


@index_beyond_64_bits.help
def _():
    row = te.placeholder((8,), name="row")
    far = te.compute((60000,), lambda i: row[te.min(i, 7)], name="far")
    te_sched.build(te.create_schedule(far.op), [row, far])

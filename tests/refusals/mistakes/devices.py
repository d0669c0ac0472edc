"""Programs for a GPU: what it cannot run."""

import numpy as np

import te_sched
from te_sched import nd, te
from te_sched.errors import AccessError, BuildError, MemoryKindError
from tests.refusals.table import mistake

A = te.placeholder((64, 64), name="A")
B = te.compute((64, 64), lambda i, j: A[i, j] * 2.0, name="B")
C = te.compute((64, 64), lambda i, j: B[i, j] + 1.0, name="C")
k = te.reduce_axis((0, 64), name="k")
R = te.compute((64,), lambda i: te.sum(A[i, k], axis=k), name="R")


@mistake(
    "Nothing is bound", BuildError, r"stage R(.|\n)*te\.thread_axis\(\"blockIdx\.x\"\)", issue=410
)
def nothing_bound():
    s = te.create_schedule(R.op)
    te_sched.build(s, [A, R], "cuda")


@nothing_bound.help
def _():
    s = te.create_schedule(R.op)
    s[R].bind(R.op.axis[0], te.thread_axis("blockIdx.x"))
    te_sched.build(s, [A, R], "cuda")


@mistake(
    "One of the stages is not bound", BuildError, r"B is computed outside(.|\n)*compute_inline"
)
def one_stage_unbound():
    s = te.create_schedule(C.op)
    s[C].bind(C.op.axis[0], te.thread_axis("blockIdx.x"))
    te_sched.build(s, [A, C], "cuda")


@one_stage_unbound.help
def _():
    s = te.create_schedule(C.op)
    s[B].compute_inline()
    s[C].bind(C.op.axis[0], te.thread_axis("blockIdx.x"))
    te_sched.build(s, [A, C], "cuda")


@mistake("Too many threads in one axis", BuildError, r"from 1 to 1024, got 4096(.|\n)*split")
def long_thread_axis():
    s = te.create_schedule(C.op)
    s[B].compute_inline()
    s[C].bind(s[C].fuse(*C.op.axis), te.thread_axis("threadIdx.x"))
    te_sched.build(s, [A, C], "cuda")


@long_thread_axis.help
def _():
    s = te.create_schedule(C.op)
    s[B].compute_inline()
    block, thread = s[C].split(s[C].fuse(*C.op.axis), factor=256)
    s[C].bind(block, te.thread_axis("blockIdx.x"))
    s[C].bind(thread, te.thread_axis("threadIdx.x"))
    te_sched.build(s, [A, C], "cuda")


@mistake("Too many threads in a block", BuildError, r"4096 threads in a block(.|\n)*at most 1024")
def large_block():
    s = te.create_schedule(C.op)
    s[B].compute_inline()
    s[C].bind(C.op.axis[0], te.thread_axis("threadIdx.y"))
    s[C].bind(C.op.axis[1], te.thread_axis("threadIdx.x"))
    te_sched.build(s, [A, C], "cuda")


@large_block.help
def _():
    s = te.create_schedule(C.op)
    s[B].compute_inline()
    block, thread = s[C].split(C.op.axis[0], factor=4)
    s[C].bind(block, te.thread_axis("blockIdx.x"))
    s[C].bind(thread, te.thread_axis("threadIdx.y"))
    s[C].bind(C.op.axis[1], te.thread_axis("threadIdx.x"))
    te_sched.build(s, [A, C], "cuda")


def in_registers(scope):
    D = te.compute((64, 64), lambda i, j: A[i, j] / R[i], name="D")
    s = te.create_schedule(D.op)
    s[D].bind(D.op.axis[0], te.thread_axis("blockIdx.x"))
    s[D].bind(D.op.axis[1], te.thread_axis("threadIdx.x"))
    s[R].compute_at(s[D], D.op.axis[0])
    s[R].bind(k, te.thread_axis("threadIdx.x"))
    s[R].set_scope(scope)
    te_sched.build(s, [A, D], "cuda")


@mistake(
    "Threads reduce into registers",
    BuildError,
    r"threads of threadIdx\.x cannot reduce over k in stage R(.|\n)*is local(.|\n)*\"shared\"",
)
def reduced_in_registers():
    in_registers("local")


@reduced_in_registers.help
def _():
    in_registers("shared")


@mistake(
    "Two axes of a stage on the same threads",
    BuildError,
    r"axes i and j of stage C are both bound to threadIdx\.x(.|\n)*fuse i and j",
)
def two_axes_on_one_thread():
    s = te.create_schedule(C.op)
    s[B].compute_inline()
    s[C].bind(C.op.axis[0], te.thread_axis("threadIdx.x"))
    s[C].bind(C.op.axis[1], te.thread_axis("threadIdx.x"))
    te_sched.build(s, [A, C], "cuda")


@two_axes_on_one_thread.help
def _():
    s = te.create_schedule(C.op)
    s[B].compute_inline()
    s[C].bind(C.op.axis[0], te.thread_axis("blockIdx.x"))
    s[C].bind(C.op.axis[1], te.thread_axis("threadIdx.x"))
    te_sched.build(s, [A, C], "cuda")


@mistake(
    "Stages with different numbers of threads",
    BuildError,
    r"of 32 and of 64(.|\n)*stage C \(decl",
    issue=1660,
)
def different_numbers_of_threads():
    s = te.create_schedule(C.op)
    block = C.op.axis[0]
    s[C].bind(block, te.thread_axis("blockIdx.x"))
    s[C].bind(C.op.axis[1], te.thread_axis("threadIdx.x"))
    s[B].compute_at(s[C], block)
    s[B].set_scope("shared")
    outer, inner = s[B].split(B.op.axis[1], factor=32)
    s[B].bind(inner, te.thread_axis("threadIdx.x"))
    te_sched.build(s, [A, C], "cuda")


@different_numbers_of_threads.help
def _():
    s = te.create_schedule(C.op)
    block = C.op.axis[0]
    s[C].bind(block, te.thread_axis("blockIdx.x"))
    outer, inner = s[C].split(C.op.axis[1], factor=32)
    s[C].bind(inner, te.thread_axis("threadIdx.x"))
    s[B].compute_at(s[C], block)
    s[B].set_scope("shared")
    outer, inner = s[B].split(B.op.axis[1], factor=32)
    s[B].bind(inner, te.thread_axis("threadIdx.x"))
    te_sched.build(s, [A, C], "cuda")


@mistake("Too much shared memory", BuildError, r"65536 bytes of shared memory(.|\n)*smaller tiles")
def too_much_shared_memory():
    P = te.placeholder((4, 16384), name="P")
    Q = te.compute((4, 16384), lambda i, j: P[i, 16383 - j], name="Q")
    s = te.create_schedule(Q.op)
    shared = s.cache_read(P, "shared", [Q])
    s[Q].bind(Q.op.axis[0], te.thread_axis("blockIdx.x"))
    s[shared].compute_at(s[Q], Q.op.axis[0])
    te_sched.build(s, [P, Q], "cuda")


@too_much_shared_memory.help
def _():
    P = te.placeholder((4, 16384), name="P")
    Q = te.compute((4, 16384), lambda i, j: P[i, 16383 - j], name="Q")
    s = te.create_schedule(Q.op)
    shared = s.cache_read(P, "shared", [Q])
    s[Q].bind(Q.op.axis[0], te.thread_axis("blockIdx.x"))
    outer, inner = s[Q].split(Q.op.axis[1], factor=1024)
    s[shared].compute_at(s[Q], outer)
    te_sched.build(s, [P, Q], "cuda")


@mistake(
    "Memory of a warp, read by another one",
    BuildError,
    r"written by one warp and read by another(.|\n)*threadIdx\.x = 0 to 31(.|\n)*P\.warp\[63\]",
)
def memory_of_another_warp():
    P = te.placeholder((256,), name="P")
    Q = te.compute((256,), lambda i: P[i // 64 * 64 + 63 - i % 64], name="Q")
    s = te.create_schedule(Q.op)
    kept = s.cache_read(P, "warp", [Q])
    block, thread = s[Q].split(Q.op.axis[0], factor=64)
    s[Q].bind(block, te.thread_axis("blockIdx.x"))
    s[Q].bind(thread, te.thread_axis("threadIdx.x"))
    s[kept].compute_at(s[Q], block)
    _, own = s[kept].split(kept.op.axis[0], factor=64)
    s[kept].bind(own, te.thread_axis("threadIdx.x"))
    te_sched.build(s, [P, Q], "cuda")


@memory_of_another_warp.help
def _():
    P = te.placeholder((256,), name="P")
    Q = te.compute((256,), lambda i: P[i // 64 * 64 + 63 - i % 64], name="Q")
    s = te.create_schedule(Q.op)
    kept = s.cache_read(P, "shared", [Q])
    block, thread = s[Q].split(Q.op.axis[0], factor=64)
    s[Q].bind(block, te.thread_axis("blockIdx.x"))
    s[Q].bind(thread, te.thread_axis("threadIdx.x"))
    s[kept].compute_at(s[Q], block)
    _, own = s[kept].split(kept.op.axis[0], factor=64)
    s[kept].bind(own, te.thread_axis("threadIdx.x"))
    te_sched.build(s, [P, Q], "cuda")


@mistake("Shared memory of unknown size", BuildError, r"stage P\.shared(.|\n)*constant size")
def shared_memory_of_unknown_size():
    n = te.var("n")
    P = te.placeholder((4, n), name="P")
    Q = te.compute((4, n), lambda i, j: P[i, n - 1 - j], name="Q")
    s = te.create_schedule(Q.op)
    shared = s.cache_read(P, "shared", [Q])
    s[Q].bind(Q.op.axis[0], te.thread_axis("blockIdx.x"))
    s[shared].compute_at(s[Q], Q.op.axis[0])
    te_sched.build(s, [P, Q], "cuda")


@shared_memory_of_unknown_size.help
def _():
    n = te.var("n")
    P = te.placeholder((4, n), name="P")
    Q = te.compute((4, n), lambda i, j: P[i, n - 1 - j], name="Q")
    s = te.create_schedule(Q.op)
    shared = s.cache_read(P, "shared", [Q])
    outer, inner = s[Q].split(Q.op.axis[1], factor=32)
    s[Q].bind(Q.op.axis[0], te.thread_axis("blockIdx.x"))
    s[shared].compute_at(s[Q], outer)
    te_sched.build(s, [P, Q], "cuda")


@mistake(
    "Threads for a processor", BuildError, r"no device threads(.|\n)*parallel\(\) or vectorize\(\)"
)
def threads_for_a_processor():
    s = te.create_schedule(R.op)
    s[R].bind(R.op.axis[0], te.thread_axis("threadIdx.x"))
    te_sched.build(s, [A, R], "llvm")


@threads_for_a_processor.help
def _():
    s = te.create_schedule(R.op)
    s[R].parallel(R.op.axis[0])
    te_sched.build(s, [A, R], "llvm")


@mistake("Arrays of the processor for a GPU", MemoryKindError, r"main|cpu|numpy|device")
def arrays_of_the_processor():
    s = te.create_schedule(R.op)
    s[R].bind(R.op.axis[0], te.thread_axis("blockIdx.x"))
    sums = te_sched.build(s, [A, R], "cuda")
    device = te_sched.emulated_cuda(0)
    a = nd.array(np.zeros((64, 64), "float32"), device)
    sums(a, nd.array(np.zeros(64, "float32"), te_sched.cpu(0)))


@arrays_of_the_processor.help
def _():
    s = te.create_schedule(R.op)
    s[R].bind(R.op.axis[0], te.thread_axis("blockIdx.x"))
    sums = te_sched.build(s, [A, R], "cuda")
    device = te_sched.emulated_cuda(0)
    a = nd.array(np.zeros((64, 64), "float32"), device)
    sums(a, nd.array(np.zeros(64, "float32"), device))


rows = te.placeholder((64,), "int32", name="rows")
G = te.compute((64, 64), lambda i, j: A[rows[i], j], name="G")


def gathered(first):
    s = te.create_schedule(G.op)
    s[G].bind(G.op.axis[0], te.thread_axis("blockIdx.x"))
    s[G].bind(G.op.axis[1], te.thread_axis("threadIdx.x"))
    gather = te_sched.build(s, [A, rows, G], "cuda")
    values = np.zeros((64, 64), "float32"), np.arange(first, first + 64, dtype="int32")
    device = te_sched.emulated_cuda(0)
    gather(*[nd.array(one, device) for one in (*values, values[0])])


@mistake(
    "An index from memory outside of a tensor, on the emulated device",
    AccessError,
    r"read A at 64 in dimension 0(.|\n)*blockIdx.x = 63 and threadIdx.x = 0",
)
def index_outside_in_a_kernel():
    gathered(1)


@index_outside_in_a_kernel.help
def _():
    gathered(0)


def written_by_hand(extent, index):
    buffers = [te_sched.tir.decl_buffer((64,), "float32", name) for name in "PQ"]
    ib = te_sched.tir.ir_builder.create()
    tx = te.thread_axis("threadIdx.x")
    ib.scope_attr(tx, "thread_extent", extent)
    p, q = (ib.buffer_ptr(buffer) for buffer in buffers)
    q[index(tx.var)] = p[tx.var]
    handles = [te_sched.tir.Var(buffer.name, "handle") for buffer in buffers]
    func = te_sched.tir.PrimFunc(handles, ib.get(), dict(zip(handles, buffers, strict=True)))
    te_sched.build(func, target="cuda")


@mistake(
    "Threads of a kernel by hand that write one element",
    BuildError,
    r"race on Q between threads(.|\n)*threadIdx.x = 0 and threadIdx.x = 1 both write Q\[0\]",
)
def threads_that_meet():
    written_by_hand(64, lambda tx: tx // 2)


@threads_that_meet.help
def _():
    written_by_hand(64, lambda tx: tx)


@mistake(
    "A kernel of a negative number of threads",
    BuildError,
    r"threadIdx.x .* got -64(.|\n)*positive",
)
def negative_threads():
    written_by_hand(-64, lambda tx: tx)


@negative_threads.help
def _():
    written_by_hand(64, lambda tx: tx)

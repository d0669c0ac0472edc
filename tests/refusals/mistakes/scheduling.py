"""Scheduling: primitives that are asked for something impossible."""

import te_sched
from te_sched import te, tir
from te_sched.errors import DeclarationError, ScheduleError
from tests.refusals.table import mistake

A = te.placeholder((64, 64), name="A")
B = te.compute((64, 64), lambda i, j: A[i, j] * 2.0, name="B")
k = te.reduce_axis((0, 64), name="k")
C = te.compute((64, 64), lambda i, j: te.sum(A[i, k] * B[k, j], axis=k), name="C")
D = te.compute((64, 64), lambda i, j: C[i, j] + 1.0, name="D")


@mistake(
    "A split factor of 0", ScheduleError, r"least 1, got 0(.|\n)*stage D(.|\n)*positive", issue=9805
)
def split_by_zero():
    s = te.create_schedule(D.op)
    s[D].split(D.op.axis[0], factor=0)


@split_by_zero.help
def _():
    s = te.create_schedule(D.op)
    s[D].split(D.op.axis[0], factor=4)
    te_sched.build(s, [A, D])


@mistake(
    "An axis as a split factor",
    ScheduleError,
    r"split factor of axis i reads axis j of the same stage(.|\n)*stage D(.|\n)*give an int",
)
def split_by_axis():
    s = te.create_schedule(D.op)
    s[D].split(D.op.axis[0], factor=D.op.axis[1])


@split_by_axis.help
def _():
    s = te.create_schedule(D.op)
    s[D].split(D.op.axis[0], factor=4)
    te_sched.build(s, [A, D])


@mistake(
    "A negative number of parts",
    ScheduleError,
    r"nparts of axis i must be at least 1, got -4",
    issue=9805,
)
def split_into_negative_parts():
    s = te.create_schedule(D.op)
    s[D].split(D.op.axis[0], nparts=-4)


@split_into_negative_parts.help
def _():
    s = te.create_schedule(D.op)
    s[D].split(D.op.axis[0], nparts=4)
    te_sched.build(s, [A, D])


@mistake("A split factor that is not an integer", ScheduleError, r"got 16.0(.|\n)*for example 16")
def split_by_a_fraction():
    s = te.create_schedule(D.op)
    s[D].split(D.op.axis[0], factor=64 / 4)


@split_by_a_fraction.help
def _():
    s = te.create_schedule(D.op)
    s[D].split(D.op.axis[0], factor=64 // 4)
    te_sched.build(s, [A, D])


@mistake("Both factor and nparts", ScheduleError, r"got both(.|\n)*give either")
def split_by_both():
    s = te.create_schedule(D.op)
    s[D].split(D.op.axis[0], factor=4, nparts=16)


@split_by_both.help
def _():
    s = te.create_schedule(D.op)
    s[D].split(D.op.axis[0], nparts=16)
    te_sched.build(s, [A, D])


@mistake(
    "An axis that was split already",
    ScheduleError,
    r"the axis was split into i\.outer, i\.inner at",
)
def axis_split_already():
    s = te.create_schedule(D.op)
    i, j = D.op.axis
    s[D].split(i, factor=8)
    s[D].parallel(i)


@axis_split_already.help
def _():
    s = te.create_schedule(D.op)
    i, j = D.op.axis
    outer, inner = s[D].split(i, factor=8)
    s[D].parallel(outer)
    te_sched.build(s, [A, D])


@mistake("An axis that was fused already", ScheduleError, r"the axis was fused into i\.j\.fused at")
def axis_fused_already():
    s = te.create_schedule(D.op)
    i, j = D.op.axis
    s[D].fuse(i, j)
    s[D].split(i, factor=8)


@axis_fused_already.help
def _():
    s = te.create_schedule(D.op)
    i, j = D.op.axis
    fused = s[D].fuse(i, j)
    s[D].split(fused, factor=8)
    te_sched.build(s, [A, D])


@mistake(
    "An axis of another stage", ScheduleError, r"axis j: it is an axis of stage C(.|\n)*loops:"
)
def axis_of_another_stage():
    s = te.create_schedule(D.op)
    s[D].vectorize(C.op.axis[1])


@axis_of_another_stage.help
def _():
    s = te.create_schedule(D.op)
    s[D].vectorize(D.op.axis[1])
    te_sched.build(s, [A, D])


@mistake(
    "An axis of an earlier declaration",
    ScheduleError,
    r"axis i: it is not the i of stage E\n(.|\n)*uses the E declared at .*s\[E\]\.op\.axis",
)
def axis_of_an_earlier_declaration():
    E = te.compute((64, 64), lambda i, j: A[i, j] + 1.0, name="E")
    i, j = E.op.axis
    E = te.compute((64, 64), lambda i, j: A[i, j] + 2.0, name="E")
    s = te.create_schedule(E.op)
    s[E].split(i, factor=8)


@axis_of_an_earlier_declaration.help
def _():
    E = te.compute((64, 64), lambda i, j: A[i, j] + 2.0, name="E")
    s = te.create_schedule(E.op)
    s[E].split(s[E].op.axis[0], factor=8)
    te_sched.build(s, [A, E])


@mistake("The name of an axis", ScheduleError, r"got a str(.|\n)*its axes: i, j")
def name_of_an_axis():
    s = te.create_schedule(D.op)
    s[D].unroll("j")


@name_of_an_axis.help
def _():
    s = te.create_schedule(D.op)
    s[D].unroll(D.op.axis[1])
    te_sched.build(s, [A, D])


@mistake("Axes fused that are not neighbors", ScheduleError, r"k is not next to(.|\n)*i, j, k")
def fuse_strangers():
    s = te.create_schedule(D.op)
    s[C].fuse(C.op.axis[0], k)


@fuse_strangers.help
def _():
    s = te.create_schedule(D.op)
    i, j = C.op.axis
    s[C].reorder(j, i, k)
    s[C].fuse(i, k)
    te_sched.build(s, [A, D])


@mistake("An axis twice in an order", ScheduleError, r"axis i is given twice(.|\n)*axis once")
def reorder_twice():
    s = te.create_schedule(D.op)
    i, j = D.op.axis
    s[D].reorder(i, j, i)


@reorder_twice.help
def _():
    s = te.create_schedule(D.op)
    i, j = D.op.axis
    s[D].reorder(j, i)
    te_sched.build(s, [A, D])


@mistake(
    "A vectorized reduction axis",
    ScheduleError,
    r"vectorize reduction axis k of stage C(.|\n)*depend on each other(.|\n)*use one of i, j",
    issue=1795,
)
def vectorize_a_reduction():
    s = te.create_schedule(D.op)
    s[C].vectorize(k)


@vectorize_a_reduction.help
def _():
    s = te.create_schedule(D.op)
    i, j = C.op.axis
    s[C].reorder(i, k, j)
    s[C].vectorize(j)
    te_sched.build(s, [A, D])


@mistake(
    "A thread axis that does not exist", DeclarationError, r"threadIdx\.w(.|\n)*did you mean 'thr"
)
def bind_to_unknown_threads():
    s = te.create_schedule(D.op)
    s[D].bind(D.op.axis[0], te.thread_axis("threadIdx.w"))


@bind_to_unknown_threads.help
def _():
    s = te.create_schedule(D.op)
    s[D].bind(D.op.axis[0], te.thread_axis("threadIdx.x"))


@mistake("The name of a thread axis", ScheduleError, r"to 'threadIdx\.x'(.|\n)*te\.thread_axis\(")
def bind_to_a_name():
    s = te.create_schedule(D.op)
    s[D].bind(D.op.axis[0], "threadIdx.x")


@bind_to_a_name.help
def _():
    s = te.create_schedule(D.op)
    s[D].bind(D.op.axis[0], te.thread_axis("threadIdx.x"))


@mistake(
    "compute_at an axis that is not a loop any more",
    ScheduleError,
    r"axis was split into(.|\n)*its axes: i\.outer(.|\n)*for i\.outer   <-- comes from i",
    issue=5917,
)
def attach_to_a_split_axis():
    s = te.create_schedule(D.op)
    s[D].split(D.op.axis[0], factor=8)
    s[C].compute_at(s[D], D.op.axis[0])


@attach_to_a_split_axis.help
def _():
    s = te.create_schedule(D.op)
    outer, inner = s[D].split(D.op.axis[0], factor=8)
    s[C].compute_at(s[D], outer)
    te_sched.build(s, [A, D])


@mistake("compute_at a stage that does not use it", ScheduleError, r"attach it to a consumer: D")
def attach_to_no_consumer():
    s = te.create_schedule(D.op)
    s[C].compute_at(s[B], B.op.axis[0])


@attach_to_no_consumer.help
def _():
    s = te.create_schedule(D.op)
    s[C].compute_at(s[D], D.op.axis[0])
    te_sched.build(s, [A, D])


@mistake("compute_at itself", ScheduleError, r"cannot compute stage C inside itself", issue=7898)
def attach_to_itself():
    s = te.create_schedule(D.op)
    s[C].compute_at(s[C], C.op.axis[0])


@attach_to_itself.help
def _():
    s = te.create_schedule(D.op)
    s[C].compute_at(s[D], D.op.axis[0])
    te_sched.build(s, [A, D])


@mistake("compute_at a stage of another schedule", ScheduleError, r"another schedule", issue=139)
def attach_to_another_schedule():
    s, t = te.create_schedule(D.op), te.create_schedule(D.op)
    s[C].compute_at(t[D], D.op.axis[0])


@attach_to_another_schedule.help
def _():
    s = te.create_schedule(D.op)
    s[C].compute_at(s[D], D.op.axis[0])
    te_sched.build(s, [A, D])


@mistake("compute_at a tensor", ScheduleError, r"expected a stage, got a Tensor(.|\n)*s\[B\]\.comp")
def attach_to_a_tensor():
    s = te.create_schedule(D.op)
    s[C].compute_at(D, D.op.axis[0])


@attach_to_a_tensor.help
def _():
    s = te.create_schedule(D.op)
    s[C].compute_at(s[D], D.op.axis[0])
    te_sched.build(s, [A, D])


@mistake("compute_at of an output", ScheduleError, r"C is an output(.|\n)*s\.cache_write\(C")
def attach_an_output():
    s = te.create_schedule([C.op, D.op])
    s[C].compute_at(s[D], D.op.axis[0])


@attach_an_output.help
def _():
    s = te.create_schedule([C.op, D.op])
    local = s.cache_write(C, "local")
    s[local].compute_at(s[C], C.op.axis[0])
    te_sched.build(s, [A, C, D])


@mistake("An inlined output", ScheduleError, r"it is an output(.|\n)*inline what it reads")
def inline_an_output():
    s = te.create_schedule(D.op)
    s[D].compute_inline()


@inline_an_output.help
def _():
    s = te.create_schedule(D.op)
    s[B].compute_inline()
    te_sched.build(s, [A, D])


@mistake(
    "An inlined reduction", ScheduleError, r"it is a reduction(.|\n)*use compute_at", issue=902
)
def inline_a_reduction():
    s = te.create_schedule(D.op)
    s[C].compute_inline()


@inline_a_reduction.help
def _():
    s = te.create_schedule(D.op)
    s[C].compute_at(s[D], D.op.axis[1])
    te_sched.build(s, [A, D])


@mistake("An inlined input", ScheduleError, r"stage A: it is a PlaceholderOp, not a te\.compute")
def inline_an_input():
    s = te.create_schedule(D.op)
    s[A].compute_inline()


@inline_an_input.help
def _():
    s = te.create_schedule(D.op)
    s[B].compute_inline()
    te_sched.build(s, [A, D])


@mistake("rfactor of a stage without a reduction", ScheduleError, r"stage D: it is not a reduction")
def factor_no_reduction():
    s = te.create_schedule(D.op)
    s.rfactor(D, D.op.axis[0])


@factor_no_reduction.help
def _():
    s = te.create_schedule(D.op)
    s.rfactor(C, k)
    te_sched.build(s, [A, D])


@mistake("rfactor of a data axis", ScheduleError, r"expected a reduction axis(.|\n)*use one of k")
def factor_a_data_axis():
    s = te.create_schedule(D.op)
    s.rfactor(C, C.op.axis[0])


@factor_a_data_axis.help
def _():
    s = te.create_schedule(D.op)
    outer, inner = s[C].split(k, factor=8)
    s.rfactor(C, inner)
    te_sched.build(s, [A, D])


@mistake(
    "rfactor of a part, where the other is fused with a data axis",
    ScheduleError,
    r"another loop of the reduction, j\.k\.outer\.fused, was made from(.|\n)*before you fuse j",
)
def factor_beside_a_fused_axis():
    s = te.create_schedule(D.op)
    outer, inner = s[C].split(k, factor=8)
    s[C].fuse(C.op.axis[1], outer)
    s.rfactor(C, inner)


@factor_beside_a_fused_axis.help
def _():
    s = te.create_schedule(D.op)
    outer, inner = s[C].split(k, factor=8)
    parts = s.rfactor(C, inner)
    s[parts].fuse(parts.op.axis[2], parts.op.reduce_axis[0])
    te_sched.build(s, [A, D])


@mistake("rfactor to a place that does not exist", ScheduleError, r"from 0 to 2, or from -3 to -1")
def factor_to_nowhere():
    s = te.create_schedule(D.op)
    s.rfactor(C, k, factor_axis=3)


@factor_to_nowhere.help
def _():
    s = te.create_schedule(D.op)
    s.rfactor(C, k, factor_axis=2)
    te_sched.build(s, [A, D])


@mistake(
    "cache_read into a memory that does not exist", ScheduleError, r"'share'(.|\n)*mean 'shared'"
)
def cache_in_unknown_memory():
    s = te.create_schedule(D.op)
    s.cache_read(A, "share", [B])


@cache_in_unknown_memory.help
def _():
    s = te.create_schedule(D.op)
    s.cache_read(A, "shared", [B])


@mistake("cache_read for a stage that does not read", ScheduleError, r"does not read A(.|\n)*B, C")
def cache_for_no_reader():
    s = te.create_schedule(D.op)
    s.cache_read(A, "local", [D])


@cache_for_no_reader.help
def _():
    s = te.create_schedule(D.op)
    s.cache_read(A, "local", [B, C])
    te_sched.build(s, [A, D])


@mistake("cache_read twice", ScheduleError, r"does not read A but the copy A\.shared")
def cache_twice():
    s = te.create_schedule(D.op)
    s.cache_read(A, "shared", [C])
    s.cache_read(A, "local", [C])


@cache_twice.help
def _():
    s = te.create_schedule(D.op)
    shared = s.cache_read(A, "shared", [C])
    s.cache_read(shared, "local", [C])


@mistake("cache_write of an input", ScheduleError, r"not a te\.compute")
def cache_write_of_an_input():
    s = te.create_schedule(D.op)
    s.cache_write(A, "local")


@cache_write_of_an_input.help
def _():
    s = te.create_schedule(D.op)
    s.cache_write(C, "local")
    te_sched.build(s, [A, D])


@mistake(
    "cache_write after a reduction axis was split",
    ScheduleError,
    r"k\.outer is a reduction axis(.|\n)*before the reduction axes are split",
    issue=10325,
)
def cache_write_too_late():
    s = te.create_schedule(D.op)
    s[C].split(k, factor=8)
    s.cache_write(C, "local")


@cache_write_too_late.help
def _():
    s = te.create_schedule(D.op)
    local = s.cache_write(C, "local")
    s[local].split(s[local].op.reduce_axis[0], factor=8)
    te_sched.build(s, [A, D])


@mistake(
    "A memory that does not exist", ScheduleError, r"'cache'(.|\n)*global, shared, warp, local"
)
def unknown_scope():
    s = te.create_schedule(D.op)
    s[C].set_scope("cache")


@unknown_scope.help
def _():
    s = te.create_schedule(D.op)
    s[C].set_scope("local")


@mistake("Two buffers for an output", ScheduleError, r"the caller owns(.|\n)*an intermediate stage")
def double_buffer_an_output():
    s = te.create_schedule(D.op)
    s[D].double_buffer()


@double_buffer_an_output.help
def _():
    s = te.create_schedule(D.op)
    s[B].double_buffer()


@mistake("storage_align of a reduction axis", ScheduleError, r"axis k of stage C(.|\n)*axes: i, j")
def align_a_reduction_axis():
    s = te.create_schedule(D.op)
    s[C].storage_align(k, 32, 8)


@align_a_reduction_axis.help
def _():
    s = te.create_schedule(D.op)
    s[C].storage_align(C.op.axis[0], 32, 8)
    te_sched.build(s, [A, D])


@mistake(
    "A stage of tensors that were declared again", ScheduleError, r"declared again(.|\n)*A, B, C, D"
)
def declared_again():
    s = te.create_schedule(D.op)
    D2 = te.compute((64, 64), lambda i, j: C[i, j] + 1.0, name="D")
    s[D2].parallel(D2.op.axis[0])


@declared_again.help
def _():
    s = te.create_schedule(D.op)
    s[D].parallel(D.op.axis[0])
    te_sched.build(s, [A, D])


@mistake("A schedule of nothing", ScheduleError, r"at least one output, got none")
def schedule_of_nothing():
    te.create_schedule([])


@schedule_of_nothing.help
def _():
    te.create_schedule([D.op])


@mistake("A schedule of a name", ScheduleError, r"must be an operation(.|\n)*give the outputs")
def schedule_of_a_name():
    te.create_schedule(["D"])


@schedule_of_a_name.help
def _():
    s = te.create_schedule([D.op])
    te_sched.build(s, [A, D])


@mistake(
    "tensorize with no intrinsic", ScheduleError, r"expected a tensor intrinsic(.|\n)*decl_tensor_i"
)
def tensorize_with_a_name():
    s = te.create_schedule(D.op)
    s[C].tensorize(k, "gemv")


@tensorize_with_a_name.help
def _():
    a, b = te.placeholder((64,), name="a"), te.placeholder((64, 64), name="b")
    r = te.reduce_axis((0, 64), name="r")
    c = te.compute((64,), lambda j: te.sum(a[r] * b[r, j], axis=r), name="c")

    def call(ins, outs):
        return tir.call_packed("gemv", *ins, *outs)

    s = te.create_schedule(D.op)
    s[C].tensorize(C.op.axis[1], te.decl_tensor_intrin(c.op, call, name="gemv"))
    te_sched.lower(s, [A, D])


@mistake("prefetch of what is not read", ScheduleError, r"does not read it(.|\n)*fetch one of A, B")
def prefetch_a_stranger():
    s = te.create_schedule(D.op)
    s[C].prefetch(D, C.op.axis[0], 1)


@prefetch_a_stranger.help
def _():
    s = te.create_schedule(D.op)
    s[C].prefetch(B, C.op.axis[0], 1)
    te_sched.build(s, [A, D])


def _ragged():
    lengths = te.placeholder((64,), "int32", name="L")

    def row(i):
        r = te.reduce_axis((0, lengths[i]), name="r")
        return te.sum(A[i, r], axis=r)

    total = te.compute((64,), row, name="T")
    return lengths, total, te.create_schedule(total.op)


@mistake(
    "rfactor by an axis whose extent differs from element to element",
    ScheduleError,
    r"axis r.outer .* its extent .*L\[i\].* differs(.|\n)*factor the inner axis",
)
def rfactor_of_ragged_rows():
    _, total, s = _ragged()
    outer, _inner = s[total].split(total.op.reduce_axis[0], factor=4)
    s.rfactor(total, outer)


@rfactor_of_ragged_rows.help
def _():
    lengths, total, s = _ragged()
    _outer, inner = s[total].split(total.op.reduce_axis[0], factor=4)
    s.rfactor(total, inner)
    te_sched.build(s, [lengths, A, total])


@mistake("A split factor that reads data", ScheduleError, r"reads data: L\[0\](.|\n)*te\.var")
def split_by_data():
    lengths, total, s = _ragged()
    s[total].split(total.op.axis[0], factor=lengths[0])


@split_by_data.help
def _():
    lengths, total, s = _ragged()
    factor = te.var("factor")
    s[total].split(total.op.axis[0], factor=factor)
    te_sched.build(s, [lengths, A, total, factor])


@mistake(
    "Split and fuse, many times",
    ScheduleError,
    r"characters, more than 20000(.|\n)*leave out splits that a fuse undoes",
)
def split_and_fuse_many_times():
    s, axis = te.create_schedule(D.op), D.op.axis[0]
    for _ in range(30):
        axis = s[D].fuse(*s[D].split(axis, factor=4))


@split_and_fuse_many_times.help
def _():
    s = te.create_schedule(D.op)
    s[D].split(D.op.axis[0], factor=4)
    te_sched.build(s, [A, D])

"""Programs that touch memory as they must not end with an error that says where; others run."""

from __future__ import annotations

import re

import numpy as np
import pytest

import te_sched
from te_sched import AccessError, BuildError, te, tir
from tests.golden import execution
from tests.golden.smaller import sized
from tests.sampling import sampled_programs

N = 8
X = te.placeholder((N,), name="X")
M = te.placeholder((N, N), name="M")
J = te.placeholder((N,), "int32", name="J")
BROKEN = {}


def broken(message):
    """Note a program: a function that gives arguments, and the values of those that have any."""

    def note(function):
        BROKEN[function.__name__] = (function, message)
        return function

    return note


def x(*values):
    array = np.arange(N, dtype="float32")
    array[: len(values)] = values
    return array


def j(**changes):
    array = np.arange(N, dtype="int32")
    for place, value in changes.items():
        array[int(place[1:])] = value
    return array


def grid():
    return np.arange(N * N, dtype="float32").reshape(N, N)


def body_of(write, ins, outs):
    builder = tir.ir_builder.create()
    write(builder, *[builder.buffer_ptr(one) for one in (*ins, *outs)])
    return builder.get()


def hand_written(write, inputs=(X,), name="E"):
    """A te.extern whose body `write(builder, pointers...)` makes."""

    out = te.extern(
        [(N,)],
        list(inputs),
        lambda ins, outs: body_of(write, ins, outs),
        name=name,
        dtype="float32",
    )
    return [*inputs, out]


# -- indices out of bounds -------------------------------------------------------------------------


@broken(r"read X at 8 in dimension 0(.*\n)*.*J\[i\] is 8 where i = 3, and X has the indices 0 to 7")
def gather_beyond():
    return [X, J, te.compute((N,), lambda i: X[J[i]], name="E")], [x(), j(_3=8)]


@broken(r"read X at -1 in dimension 0(.*\n)*.*where i = 0")
def gather_before():
    return [X, J, te.compute((N,), lambda i: X[J[i]], name="E")], [x(), j(_0=-1)]


@broken(r"read X at 2147483647 in dimension 0")
def gather_far_beyond():
    return [X, J, te.compute((N,), lambda i: X[J[i]], name="E")], [x(), j(_0=2**31 - 1)]


@broken(r"read M at 9 in dimension 1(.*\n)*.*i = 0 and j = 5")
def gather_of_columns():
    return [M, J, te.compute((N, N), lambda i, j: M[i, J[j]], name="E")], [grid(), j(_5=9)]


@broken(r"read M at 70 in dimension 0")
def gather_of_rows():
    return [M, J, te.compute((N, N), lambda i, j: M[J[i], j], name="E")], [grid(), j(_1=70)]


@broken(r"read X at 9 in dimension 0(.*\n)*.*the index J\[J\[i\]\] is 9 where i = 4")
def gather_by_a_gather():
    return [X, J, te.compute((N,), lambda i: X[J[J[i]]], name="E")], [x(), j(_4=7, _7=9)]


@broken(r"read J at 11 in dimension 0(.*\n)*.*the index J\[i\] is 11")
def gather_by_a_gather_beyond():
    return [X, J, te.compute((N,), lambda i: X[J[J[i]]], name="E")], [x(), j(_2=11)]


@broken(r"read X at 8 in dimension 0(.*\n)*.*J\[k\] is 8 where k = 3")
def gather_in_a_reduction():
    k = te.reduce_axis((0, N), "k")
    return [X, J, te.compute((1,), lambda i: te.sum(X[J[k]], k), name="E")], [x(), j(_3=8)]


@broken(r"read X at 14 in dimension 0(.*\n)*.*J\[i\] \* 2 is 14")
def gather_by_a_product():
    return [X, J, te.compute((N,), lambda i: X[J[i] * 2], name="E")], [x(), j(_0=0, _4=7)]


@broken(r"read X at 9 in dimension 0")
def gather_below_a_condition():
    taken = te.compute((N,), lambda i: te.if_then_else(i > 2, X[J[i]], 0.0), name="E")
    return [X, J, taken], [x(), j(_0=99, _5=9)]


@broken(r"read X at 9 in dimension 0")
def gather_below_a_condition_on_data():
    taken = te.compute((N,), lambda i: te.if_then_else(J[i] < 10, X[J[i]], 0.0), name="E")
    return [X, J, taken], [x(), j(_0=99, _5=9)]


@broken(r"read X at 12 in dimension 0")
def gather_by_a_condition():
    taken = te.compute((N,), lambda i: te.if_then_else(X[J[i]] > 0.0, 1.0, 0.0), name="E")
    return [X, J, taken], [x(), j(_4=12)]


@broken(r"read X at 8 in dimension 0")
def selection_of_a_gather():
    taken = te.compute((N,), lambda i: tir.Select(i < 4, X[J[i]], 0.0), name="E")
    return [X, J, taken], [x(), j(_2=8, _6=99)]


@broken(r"read X at -5 in dimension 0")
def gather_of_negative_indices_of_python():
    return [X, J, te.compute((N,), lambda i: X[J[i] - 5], name="E")], [x(), j()]


@broken(r"write E at 8 in dimension 0(.*\n)*.*the index i \+ 1 is 8 where i = 7")
def store_beyond():
    def write(builder, a, out):
        with builder.for_range(0, N, name="i") as i:
            out[i + 1] = a[i]

    return hand_written(write), [x()]


@broken(r"write E at -1 in dimension 0")
def store_before():
    def write(builder, a, out):
        with builder.for_range(0, N, name="i") as i:
            out[i - 1] = a[i]

    return hand_written(write), [x()]


@broken(r"read X at 8 in dimension 0")
def load_beyond_in_an_extern():
    def write(builder, a, out):
        with builder.for_range(0, N, name="i") as i:
            out[i] = a[i + 1]

    return hand_written(write), [x()]


@broken(r"write E at 30 in dimension 0")
def scatter_beyond():
    def write(builder, a, places, out):
        with builder.for_range(0, N, name="i") as i:
            out[i] = 0.0
        with builder.for_range(0, N, name="i") as i:
            out[places[i]] = a[i]

    return hand_written(write, (X, J)), [x(), j(_6=30)]


@broken(r"read E at 30 in dimension 0")
def scatter_and_add_beyond():
    def write(builder, a, places, out):
        with builder.for_range(0, N, name="i") as i:
            out[i] = 0.0
        with builder.for_range(0, N, name="i") as i:
            out[places[i]] += a[i]

    return hand_written(write, (X, J)), [x(), j(_6=30)]


@broken(r"write room at 4 in dimension 0")
def store_beyond_an_allocation():
    def write(builder, a, out):
        room = builder.allocate("float32", 4, name="room")
        with builder.for_range(0, N, name="i") as i:
            room[i] = a[i]
            out[i] = room[i]

    return hand_written(write), [x()]


@broken(r"write E at 8 in dimension 0")
def while_without_end():
    def write(builder, a, out):
        place = builder.allocate("int32", 1, name="place")
        place[0] = 0
        with builder.while_loop(a[0] < 1.0):
            out[place[0]] = a[0]
            place[0] = place[0] + 1

    return hand_written(write), [x()]


@broken(r"read X at 8 in dimension 0(.*\n)*.*where i = 7")
def hybrid_beyond():
    @te.hybrid.script
    def shifted(a):
        out = output_tensor((8,), "float32")  # noqa: F821
        for i in range(8):
            out[i] = a[i + 1]
        return out

    return [X, shifted(X)], [x()]


# -- reads of what nobody wrote --------------------------------------------------------------------


@broken(r"read E\[0\] before it is written")
def sum_without_a_beginning():
    def write(builder, a, out):
        with builder.for_range(0, N, name="i") as i:
            out[0] += a[i]

    return hand_written(write), [x()]


@broken(r"read room\[7\] before it is written(.*\n)*.*where i = 0")
def allocation_read_backwards():
    def write(builder, a, out):
        room = builder.allocate("float32", N, name="room")
        with builder.for_range(0, N, name="i") as i:
            room[i] = a[i]
            out[i] = room[7 - i]

    return hand_written(write), [x()]


@broken(r"read F\[4\] before it is written(.*\n)*.*i = 4")
def temporary_written_in_part():
    def write(builder, a, out):
        with builder.for_range(0, 4, name="i") as i:
            out[i] = a[i]

    half = hand_written(write, name="F")[1]
    return [X, te.compute((N,), lambda i: half[i] + 1.0, name="E")], [x()]


@broken(r"read F\[1\] before it is written")
def temporary_written_where_data_say():
    def write(builder, a, out):
        with builder.for_range(0, N, name="i") as i, builder.if_scope(a[i] > 1.0):
            out[i] = a[i]

    some = hand_written(write, name="F")[1]
    return [X, te.compute((N,), lambda i: some[i] * 2.0, name="E")], [x(5.0)]


@broken(r"read count\[0\] before it is written")
def counter_without_a_beginning():
    def write(builder, a, out):
        count = builder.allocate("float32", 1, name="count")
        with builder.for_range(0, N, name="i") as i:
            count[0] = count[0] + a[i]
            out[i] = count[0]

    return hand_written(write), [x()]


# -- iterations that meet --------------------------------------------------------------------------


@broken(r"read E\[0\] in two iterations of the parallel loop i(.*\n)*.*i = 1 reads it.*i = 0 wrote")
def parallel_sum():
    def write(builder, a, out):
        out[0] = 0.0
        with builder.for_range(0, N, name="i", kind="parallel") as i:
            out[0] += a[i]

    return hand_written(write), [x()]


@broken(r"write E\[3\] in two iterations of the parallel loop i(.*\n)*.*i = 6 .*i = 2 wrote it")
def parallel_scatter():
    def write(builder, a, places, out):
        with builder.for_range(0, N, name="i", kind="parallel") as i:
            out[places[i]] = a[i]

    return hand_written(write, (X, J)), [x(), j(_2=3, _3=0, _0=2, _6=3)]


@broken(r"write room\[1\] in two iterations of the parallel loop j(.*\n)*.*j = 1 .*j = 0 read it")
def parallel_read_of_the_next():
    def write(builder, a, out):
        room = builder.allocate("float32", N + 1, name="room")
        with builder.for_range(0, N + 1, name="i") as i:
            room[i] = 0.0
        with builder.for_range(0, N, name="i", kind="parallel") as i:
            out[i] = room[i + 1]
            room[i] = a[i]

    return hand_written(write), [x()]


@broken(
    r"write one\[0\] in two iterations of the parallel loop i(.*\n)*.*i = 1 .*i = 0 (wrote|read)"
)
def parallel_loop_with_a_common_temporary():
    def write(builder, a, out):
        one = builder.allocate("float32", 1, name="one")
        with builder.for_range(0, N, name="i", kind="parallel") as i:
            one[0] = a[i]
            out[i] = one[0]

    return hand_written(write), [x()]


@broken(r"in two iterations of the parallel loop k(.*\n)*.*k = 1 reads it.*k = 0 wrote it")
def parallel_reduction():
    k = te.reduce_axis((0, N), "k")
    total = te.compute((N,), lambda i: te.sum(M[i, k], k), name="E")

    def change(s):
        s[total].reorder(k, total.op.axis[0])
        s[total].parallel(k)

    return [M, total], [grid()], change


@broken(r"in two iterations of the vectorized loop i(.*\n)*.*i = 1 reads it.*i = 0 wrote it")
def vectorized_sum():
    def write(builder, a, out):
        out[0] = 0.0
        with builder.for_range(0, N, name="i", kind="vectorize") as i:
            out[0] += a[i]

    return hand_written(write), [x()]


@broken(r"read E\[0\] in two iterations of the parallel loop j(.*\n)*.*j = 2 reads it.*j = 0 wrote")
def parallel_loop_with_gaps():
    def write(builder, a, out):
        with builder.for_range(0, N, name="i") as i:
            out[i] = 0.0
        loop = builder.for_range(0, N, name="i", kind="parallel")
        with loop as i, builder.if_scope(tir.all(i % 2 < 1, a[i] > -1.0)):
            out[0] = out[0] + a[i]

    return hand_written(write), [x()]


# -- numbers that do not fit -----------------------------------------------------------------------


@broken(r"i \* n is 2147483648 where i = 2, which int32 does not hold, in the index i \* n % 8")
def product_that_overflows():
    n = te.var("n")
    return [X, n, te.compute((N,), lambda i: X[(i * n) % N], name="E")], [x(), 2**30]


@broken(r"i \+ n is 2147483648 where i = 1, which int32 does not hold")
def sum_that_overflows():
    n = te.var("n")
    return [X, n, te.compute((N,), lambda i: X[(i + n) % N], name="E")], [x(), 2**31 - 1]


@broken(r"which int32 does not hold")
def product_of_data_that_overflows():
    taken = te.compute((N,), lambda i: X[te.abs(J[i] * 65536) % N], name="E")
    return [X, J, taken], [x(), j(_2=2**16)]


@broken(r"the place of V\[n - 1, m - 1\] in memory is \d+, which int32 does not hold")
def place_that_overflows():
    n, m, row, column = (te.var(name) for name in ("n", "m", "row", "column"))
    buffer = tir.decl_buffer((n, m), name="V", strides=[row, column])
    wide = te.placeholder((n, m), name="V")
    last = te.compute((1,), lambda i: wide[n - 1, m - 1], name="E")
    array = np.lib.stride_tricks.as_strided(np.zeros(1, "float32"), (2**16, 2**16), (0, 0))
    return [buffer, last], [array], None, {wide: buffer}


@pytest.mark.parametrize("name", BROKEN)
def test_sanitized_program_stops_before(name):
    make, message = BROKEN[name]
    args, values, *more = make()
    change, binds = (*more, None, None)[:2]
    out = args[-1]
    s = te.create_schedule(out.op)
    if change is not None:
        change(s)
    function = te_sched.build(s, args, binds=binds, verify=False, sanitize=True)
    result = np.zeros([int(extent) for extent in out.shape], "float32")
    with pytest.raises(AccessError, match=message) as caught:
        function(*values, result)
    assert re.search(r"stage \S+ \(declared at .*test_sanitize.py:\d+\)", caught.value.where)


def test_sanitized_program_computes_the_same():
    k = te.reduce_axis((0, N), "k")
    product = te.compute((N, N), lambda i, j: te.sum(M[i, k] * M[k, j], k), name="E")
    s = te.create_schedule(product.op)
    _, inner = s[product].split(product.op.axis[1], factor=4)
    s[product].parallel(product.op.axis[0])
    s[product].vectorize(inner)
    a, result = grid(), np.zeros((N, N), "float32")
    te_sched.build(s, [M, product], sanitize=True)(a, result)
    np.testing.assert_array_equal(result, a @ a)


def test_lowered_program_can_be_sanitized():
    taken = te.compute((N,), lambda i: X[J[i]], name="E")
    s = te.create_schedule(taken.op)
    s[taken].vectorize(taken.op.axis[0])
    function = te_sched.build(te_sched.lower(s, [X, J, taken]), sanitize=True)
    with pytest.raises(AccessError, match=r"read X at 8(.*\n)*.*lane = 3"):
        function(x(), j(_3=8), x())


def test_what_is_refuted_is_refused_before_it_is_instrumented():
    n = te.var("n")
    source = te.placeholder((n, n), name="A")
    result = te.compute((n, n), lambda i, j: source[i, j] + 1.5, name="B")
    s = te.create_schedule(result.op)
    s.cache_read(source, "local", [result])
    outer, _ = s[result].split(result.op.axis[0], nparts=8)
    _, inner = s[result].split(outer, factor=8)
    s[result].bind(inner, te.thread_axis("vthread"))
    with pytest.raises(BuildError, match="belongs to one vthread, which is not known there"):
        te_sched.build(s, [source, result], sanitize=True)


def test_sanitize_rejects_cuda():
    s = te.create_schedule(te.compute((N,), lambda i: X[i], name="E").op)
    with pytest.raises(BuildError, match=r"checked mode.*\n.*module.check"):
        te_sched.build(s, [X, s.outputs[0].output(0)], target="cuda", sanitize=True)


class Sanitizing:
    """te_sched, whose programs are watched."""

    def __getattr__(self, name):
        return getattr(te_sched, name)

    def build(self, *args, **options):
        return te_sched.build(*args, **options, sanitize=True)


PROGRAMS = [pytest.param(one, id=f"{one.family}-{one.name}") for one in sampled_programs()]


@pytest.mark.parametrize("program", PROGRAMS)
def test_nothing_is_found_in_legal_programs(program):
    scripts, module = program.golden("script"), sized(program)
    for step, (schedule, args) in enumerate(module.steps(te_sched)):
        if execution.why_not_on_cpu(schedule, scripts[step]) is None:
            execution.run(Sanitizing(), module, schedule, args, step)

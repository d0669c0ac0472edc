"""Features of programs: a row of numbers for each store."""

from __future__ import annotations

import random
import textwrap
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from te_sched import script, te, tir
from te_sched.errors import DeclarationError, LoweringError
from te_sched.ir.stmt import BufferStore, PrimFunc
from te_sched.meta_schedule import MeasureCandidate, TuneContext, feature_extractor
from te_sched.meta_schedule.feature_extractor import PerStoreFeature, RandomFeatureExtractor, stores
from te_sched.meta_schedule.feature_extractor import index_sums as forms
from te_sched.tir.schedule import Schedule

_OPERATIONS = ("mad", "addsub", "mul", "divmod", "cmp", "mathfunc", "otherfunc")
_OF_A_BUFFER = (
    *("read", "write", "both", "bytes", "unique_bytes", "lines", "unique_lines"),
    *("loop", "serial", "none", "dis_iter", "dis_bytes", "ct"),
    *("bytes_d", "unique_bytes_d", "lines_d", "unique_lines_d", "stride"),
)
NAMES = (
    *(f"{kind}_{one}" for kind in ("float", "int") for one in _OPERATIONS),
    *("bool_op", "select_op"),
    *(
        f"{kind}_{one}"
        for kind in ("vec", "unroll", "parallel")
        for one in ("num", "prod", "len", *range(8))
    ),
    *("is_gpu", "blockIdx.x", "blockIdx.y", "blockIdx.z"),
    *("threadIdx.x", "threadIdx.y", "threadIdx.z", "vthread"),
    *(f"B{number}.{one}" for number in range(5) for one in _OF_A_BUFFER),
    *(f"curve{number}" for number in range(10)),
    *("alloc_size", "alloc_prod", "alloc_outer_prod", "alloc_inner_prod"),
    *("outer_prod", "num_loops", "auto_unroll_max_step"),
)


def features(what: PrimFunc | Schedule | str, target: str = "llvm") -> list[dict[str, float]]:
    """The numbers by name, before the logarithm; of a text, of the function with its body."""
    if isinstance(what, str):
        what = function(what)
    sch = what if isinstance(what, Schedule) else Schedule(what)
    context = TuneContext(target=target)
    (rows,) = PerStoreFeature().extract_from(context, [MeasureCandidate(sch, None)])
    assert rows.shape[1] == len(NAMES)
    return [dict(zip(NAMES, (2**row - 1).round(6).tolist(), strict=True)) for row in rows.numpy()]


def function(body: str) -> PrimFunc:
    """A function of float buffers A and B of (64, 64) and C of (64,), and of int32 I of (64,)."""
    text = """
    # from tvm.script import tir as T
    @T.prim_func
    def main(A: T.Buffer((64, 64)), B: T.Buffer((64, 64)), C: T.Buffer((64,)),
             I: T.Buffer((64,), "int32")):
    """
    found = script.from_source(
        textwrap.dedent(text) + textwrap.indent(textwrap.dedent(body), "    ")
    )
    assert isinstance(found, PrimFunc)
    return found


def picked(row: dict[str, float], *names: str) -> tuple[float, ...]:
    return tuple([row[name] for name in names])


def matmul(n: int) -> PrimFunc:
    """A matrix product."""
    A, B = te.placeholder((n, n), name="A"), te.placeholder((n, n), name="B")
    k = te.reduce_axis((0, n), "k")
    C = te.compute((n, n), lambda i, j: te.sum(A[i, k] * B[k, j], axis=k), name="C")
    return te.create_prim_func([A, B, C])


def test_a_product_moves_its_matrices() -> None:
    (row,) = features(matmul(64))
    assert picked(row, "float_addsub", "float_mul", "outer_prod", "num_loops") == (
        *[64**3] * 3,
        3,
    )
    # B walks down columns, A along rows, C stays: most cache lines first.
    assert picked(row, "B0.stride", "B1.stride", "B2.stride") == (64, 1, 0)
    assert picked(row, "B0.lines", "B1.lines", "B2.lines") == (64**3, 64**3 / 16, 64**2 / 16)
    assert picked(row, "B0.dis_iter", "B1.dis_iter", "B2.dis_iter") == (64**2, 64, 1)
    assert picked(row, "B2.dis_bytes", "B2.both", "B2.ct") == (12, 1, 64)
    # After all iterations: two operations each, three matrices of four bytes.
    assert row["curve9"] == pytest.approx(2 * 64**3 / (3 * 4 * 64**2))


def test_annotated_loops_are_described() -> None:
    sch = Schedule(matmul(64))
    i, j, _ = sch.get_loops(sch.get_block("C"))
    outer, inner = sch.split(j, [None, 16])
    sch.parallel(i)
    sch.vectorize(inner)
    sch.unroll(outer)
    sch.annotate(i, "pragma_auto_unroll_max_step", 32)
    (row,) = features(sch)
    assert picked(row, "vec_num", "vec_prod", "vec_len", "vec_7") == (1, 16, 16, 1)
    assert picked(row, "unroll_len", "parallel_len", "auto_unroll_max_step") == (4, 64, 32)
    assert row["vec_0"] == 0


def test_an_allocated_buffer_has_the_size_of_its_region() -> None:
    sch = Schedule(matmul(64))
    block = sch.get_block("C")
    i, j, k = sch.get_loops(block)
    (i_0, i_1), (j_0, j_1) = sch.split(i, [None, 8]), sch.split(j, [None, 16])
    sch.reorder(i_0, j_0, i_1, j_1, k)
    local = sch.cache_write(block, 0, "global")
    sch.reverse_compute_at(local, j_0)
    update, copy = features(sch)
    assert picked(update, "alloc_size", "alloc_outer_prod", "alloc_inner_prod") == (
        8 * 16 * 4,
        8 * 4,
        8 * 16 * 64,
    )
    # i_0 * 8 + i_1 of A and j_0 * 16 + j_1 of B are computed; C_global is indexed from its region.
    assert picked(update, "int_addsub", "int_mul") == (2 * 64**3, 2 * 64**3)
    # The region is used again in each iteration of j_0.
    assert picked(copy, "alloc_size", "B0.write", "B1.loop", "B1.ct") == (64 * 64 * 4, 1, 1, 4)


def test_data_are_used_again_by_a_later_store() -> None:
    first, second, third = features("""
        for i in range(64):
            for j in range(16):
                B[i, j] = A[i, j] * T.float32(2)
            for j in range(16):
                C[j] = A[i, j] + B[i, j]
            for j in range(8):
                B[i, j] = A[i, j]
    """)
    assert first["B0.none"] == 1
    # A: 16 iterations ago, while the first store touched 2 and this one 3 * 16 elements in a row.
    assert picked(second, "B0.serial", "B0.ct", "B0.dis_iter") == (1, 1, 16)
    assert second["B0.dis_bytes"] == 4 * (16 + 16 + 16 + 16) + 4 * 16 // 64
    assert picked(third, "B0.serial", "B0.ct", "B0.dis_iter") == (1, 2, 8)


def test_threads_are_one_loop_for_each_axis() -> None:
    sch = Schedule(matmul(64))
    block = sch.get_block("C")
    shared = sch.cache_read(block, 0, "shared")
    i, j, k = sch.get_loops(block)
    i_0, i_1 = sch.split(i, [None, 16])
    sch.reorder(i_0, i_1, j, k)
    sch.bind(i_0, "blockIdx.x")
    sch.bind(i_1, "vthread.x")
    sch.bind(j, "threadIdx.x")
    sch.compute_at(shared, j)
    sch.bind(sch.get_loops(shared)[-1], "threadIdx.x")
    copy, update = features(sch, "cuda")
    for row in (copy, update):
        threads = ("is_gpu", "blockIdx.x", "blockIdx.y", "threadIdx.x", "vthread")
        assert picked(row, *threads) == (1, 4, 1, 64, 16)
    assert copy["outer_prod"] == 4 * 16 * 64 * 16  # the inner loop of threadIdx.x counts once
    assert features(sch)[0]["threadIdx.x"] == 1  # not for a processor


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("A[i, 0] / T.exp(C[i])", {"float_divmod": 64, "float_mathfunc": 64}),
        ('T.call_extern("float32", "f", A[i, 0])', {"float_otherfunc": 64}),
        ("T.max(A[i, 0], C[i])", {"float_cmp": 64}),
        ("T.Select(I[i] < 3 and I[i] > 1, A[i, 0], C[i])", {"int_cmp": 128, "bool_op": 64}),
        ("T.if_then_else(i < 64, A[i, 0], C[i])", {"int_cmp": 0, "float_mathfunc": 64}),
        ("T.if_then_else(i * 2 < 64, A[i, 0], C[i])", {"int_cmp": 64, "int_mul": 64}),
        ("A[i // 8 * 8 + i % 8, 0]", {"int_divmod": 128, "int_mul": 64, "int_addsub": 64}),
        ("A[(i * 8 + 3) // 8, 0]", {"int_divmod": 0, "int_mul": 0}),
        ("A[(i * 8 + 3) % 8, 0]", {"int_divmod": 0, "B1.unique_bytes": 4}),
        ("A[T.min(i, 3), 0]", {"B0.unique_bytes": 16}),
        ("A[T.max(i, 60), 0]", {"B0.unique_bytes": 16}),
        ("A[i * i, 0]", {"B0.unique_bytes": 64 * 4}),
        ("A[I[i] * 2, 0]", {"int_mul": 64, "B0.unique_bytes": 64 * 4}),
        ("C[i] + C[63 - i]", {"float_addsub": 64, "B0.unique_bytes": 64 * 4}),
        ('T.Cast("float32", I[i] * I[i])', {"int_mul": 64}),
        ("T.Let(x + x, where={x: A[i, 0]})", {"float_addsub": 64}),
    ],
)
def test_values_have_operations_and_regions(value: str, expected: dict[str, float]) -> None:
    (row,) = features(f"x = T.float32()\nfor i in range(64):\n    B[0, i] = {value}")
    assert {name: row[name] for name in expected} == expected


def test_the_stride_of_digits_is_that_of_the_first_iterations() -> None:
    (row,) = features("for i in range(64):\n    B[i // 8, i % 8] = A[i % 4 * 16, i // 4]")
    assert picked(row, "B0.stride", "B1.stride") == (16 * 64, 1)
    (row,) = features("for i in range(64):\n    B[i, 0] = A[T.min(i, 3), T.max(i, 2)]")
    assert picked(row, "B0.stride", "B1.stride") == (64, 64)


def test_statements_around_a_store_are_read() -> None:
    (row,) = features("""
        with T.LetStmt(5) as n:
            for i in range(2, 10):
                for j in range(T.min(i, 7)):
                    while C[0] < T.float32(1):
                        if i < 5:
                            B[i + n, j] = A[i, j]
    """)
    assert picked(row, "outer_prod", "num_loops") == (8 * 7, 2)
    assert picked(row, "B0.unique_bytes", "B1.unique_bytes") == (8 * 7 * 4,) * 2


def test_a_view_is_the_buffer_it_is_of() -> None:
    (row,) = features("""
        for i in range(4):
            with T.block("B"):
                v = T.axis.spatial(4, i)
                T.reads(A[v * 16:v * 16 + 16, 0:64])
                T.writes(B[v, 0:64])
                S = T.match_buffer(A[v * 16:v * 16 + 16, 0:64], (16, 64), offset_factor=1)
                for j in range(16):
                    B[v, j] = S[j, 0]
    """)
    assert picked(row, "B0.unique_bytes", "B0.stride", "B0.none") == (64 * 4, 64, 1)


@pytest.mark.parametrize("value", ["T.float32(1)", 'T.Cast("float32", 1)'])
def test_a_store_of_a_constant_has_no_row(value: str) -> None:
    assert features(f"for i in range(64):\n    C[i] = {value}") == []


def test_sizes_that_are_not_known_count_once() -> None:
    n = te.var("n")
    A = te.placeholder((n, 4), name="A")
    B = te.compute((n, 4), lambda i, j: A[i, j] + 1.0, name="B")
    (row,) = features(te.create_prim_func([A, B]))
    assert picked(row, "outer_prod", "B0.unique_bytes") == (4, 16)


def test_loops_without_iterations_touch_nothing() -> None:
    (row,) = features("for j in range(0, -1):\n    C[j] = C[j] + T.float32(1)")
    assert picked(row, "B0.unique_bytes", "B0.bytes", "outer_prod") == (0, 4, 1)


def test_features_follow_a_schedule_that_changes() -> None:
    sch, context, extractor = Schedule(matmul(64)), TuneContext(target="llvm"), PerStoreFeature()
    candidates = [MeasureCandidate(sch, None)]
    before, again = (extractor.extract_from(context, candidates)[0].numpy() for _ in range(2))
    assert (before == again).all()
    sch.parallel(sch.get_loops(sch.get_block("C"))[0])
    after = extractor.extract_from(context, candidates)[0].numpy()
    assert after[0, NAMES.index("parallel_num")] == 1
    assert before[0, NAMES.index("parallel_num")] == 0


def test_a_value_that_is_nested_deeply_is_read() -> None:
    (store,) = _of_value(lambda e: _plus_ones(e, 20_000))
    assert store.operations[stores.FLOATS + 1] == 20_000


def _plus_ones(e: Any, count: int) -> Any:
    for _ in range(count):
        e = e + 1.0
    return e


def test_a_program_that_is_nested_too_deeply_is_refused() -> None:
    C = tir.decl_buffer((4,), name="C")
    body: Any = BufferStore(C, tir.const(1.0, "float32"), (tir.const(0, "int32"),))
    for _ in range(60_000):
        body = tir.IfThenElse(tir.Var("c", "bool"), body, None)
    func = PrimFunc((), body, {})
    with pytest.raises(LoweringError, match=r"(?s)extract the features.*nested too deeply"):
        stores.read(func)


def test_the_size_of_rows_follows_the_options() -> None:
    extractor = PerStoreFeature(2, 4, cache_line_bytes=128)
    (rows,) = extractor.extract_from(
        TuneContext(target="llvm"), [MeasureCandidate(Schedule(matmul(64)), None)]
    )
    assert rows.shape == (1, 64 + 2 * 18 + 4)


@pytest.mark.parametrize(
    ("create", "message"),
    [
        (lambda: PerStoreFeature(0), "buffers_per_store is 0, expected a number"),
        (
            lambda: PerStoreFeature(cache_line_bytes="1"),
            "PerStoreFeature is '1', expected",
        ),
        (lambda: PerStoreFeature(extract_workload=True), "features of the unscheduled program"),
        (lambda: feature_extractor.create("per-store"), "'per-store' is not a feature extractor"),
    ],
)
def test_extractors_refuse_bad_options(create: Callable[[], Any], message: str) -> None:
    with pytest.raises(DeclarationError, match=message):
        create()


def test_an_extractor_is_created_by_its_name() -> None:
    assert isinstance(feature_extractor.create(), PerStoreFeature)
    extractor = RandomFeatureExtractor()
    assert feature_extractor.create(extractor) is extractor


def test_random_features_depend_on_the_seed_alone() -> None:
    first, second = RandomFeatureExtractor(seed=3), RandomFeatureExtractor(seed=3)
    candidates, context = [MeasureCandidate(Schedule(matmul(8)), None)] * 5, TuneContext()
    for a, b in zip(
        first.extract_from(context, candidates),
        second.extract_from(context, candidates),
        strict=True,
    ):
        assert (a.numpy() == b.numpy()).all()
    state = first.random_state
    a = first.extract_from(context, candidates)[0].numpy()
    first.random_state = state
    assert np.array_equal(a, first.extract_from(context, candidates)[0].numpy())


_LOOPS = tuple([forms.LoopLevel(extent, depth, "serial") for depth, extent in enumerate((3, 4, 2))])


@pytest.mark.parametrize("seed", range(100))
def test_quotients_and_remainders_have_their_values(seed: int) -> None:
    rng = random.Random(seed)
    scales = [rng.randint(-9, 40) for _ in _LOOPS]
    base, divisor, other = rng.randint(-50, 50), rng.randint(1, 24), rng.randint(1, 6)
    whole = forms.constant(base)
    for loop, scale in zip(_LOOPS, scales, strict=True):
        whole = forms.plus(whole, forms.variable(loop), scale)
    for form, meaning in [
        (forms.floor_divided(whole, divisor), lambda v: v // divisor),
        (forms.remainder(whole, divisor), lambda v: v % divisor),
        (
            forms.remainder(forms.floor_divided(whole, other), divisor),
            lambda v: v // other % divisor,
        ),
    ]:
        low, last = forms.bounds(form)
        for place in np.ndindex(3, 4, 2):
            value = meaning(base + int(np.dot(place, scales)))
            assert low <= value <= last
            assert _value(form, place) == value


def _value(form: forms.IndexSum, place: tuple[int, ...]) -> int:
    """The value of a form in one iteration."""
    total = form.base
    for term, scale in form.terms.items():
        if isinstance(term, forms.LoopLevel):
            total += scale * place[term.depth]
        else:
            inside = _value(term.operands[0], place)
            quotient = inside // term.divisor
            total += scale * (quotient if term.kind == "//" else inside - quotient * term.divisor)
    return total


def test_digits_of_outer_loops_are_no_part_of_local_indices() -> None:
    sch = Schedule(matmul(64))
    block = sch.get_block("C")
    local = sch.cache_write(block, 0, "local")
    i, j, k = sch.get_loops(block)
    (i_0, i_1), (j_0, j_1) = sch.split(i, [None, 8]), sch.split(j, [None, 16])
    sch.reorder(i_0, j_0, i_1, j_1, k)
    sch.reverse_compute_at(local, sch.fuse(i_0, j_0))
    update, copy = features(sch)
    # The fused loop gives i_0 and j_0, of A and B; C_local begins at their tile.
    assert picked(update, "int_divmod", "alloc_size") == (2 * 64**3, 8 * 16 * 4)
    assert picked(copy, "int_divmod", "int_addsub") == (0, 0)


def _of_value(value: Callable[[Any], Any]) -> Any:
    """The features of one store of a value of a loop variable and a buffer's element."""
    i, A = tir.Var("i", "int32"), tir.decl_buffer((64,), "float32", name="A")
    store = BufferStore(A, value(A[i * 3 + 1]), (i,))
    loop = tir.For(i, 0, 16, "serial", store)
    handle = tir.Var("a", "handle")
    return stores.read(PrimFunc((handle,), loop, {handle: A})).stores


def test_shared_expressions_are_counted_as_often_as_they_are_written() -> None:
    def doubled(e: Any) -> Any:
        e = e * 2.0
        return e + e

    (shared,) = _of_value(lambda e: doubled(doubled(e)))
    (written,) = _of_value(lambda e: _unshared(doubled(doubled(e))))
    assert shared.operations == written.operations


def _unshared(e: Any) -> Any:
    if type(e) in (tir.Add, tir.Mul):
        return type(e)(_unshared(e.a), _unshared(e.b))
    return type(e)(e.buffer, e.indices) if type(e) is tir.BufferLoad else e


def test_expressions_that_share_one_many_times_take_linear_time() -> None:
    def shared(e: Any) -> Any:
        for _ in range(60):
            e = e + e
        return e

    (store,) = _of_value(shared)
    assert store.operations[stores.FLOATS + 1] == 2**60 - 1


def test_shared_indices_take_linear_time() -> None:
    i, A = tir.Var("i", "int32"), tir.decl_buffer((64,), "float32", name="A")
    index = i
    for _ in range(60):
        index = tir.FloorMod(index + index, i)  # not a function of loops
    store = BufferStore(A, A[index], (i,))
    handle = tir.Var("a", "handle")
    func = PrimFunc((handle,), tir.For(i, 0, 16, "serial", store), {handle: A})
    assert len(stores.read(func).stores[0].accesses) == 2

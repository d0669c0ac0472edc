"""Programs that TVM 0.19 scheduled: the text after each step, the refused steps, the trace, and the
results. TVM's literals are written as te_sched writes them.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import te_sched
from te_sched import config, te, tir
from te_sched.errors import BuildError, CallError, LoweringError, TeSchedError
from te_sched.script import from_source
from te_sched.trace.trace import Trace
from tests.tensorir.programs import GIVEN, MATMUL, OTHERS, STAGES, function, program

FILE = Path(__file__).parents[1] / "golden" / "tensorir" / "schedules.json"
PROGRAMS: dict[str, dict[str, Any]] = json.loads(FILE.read_text())


def apply(sch: Any, code: str) -> Any:
    """Apply a step, in which b and l find blocks and loops by the name of the block."""
    scope = {
        "sch": sch,
        "b": sch.get_block,
        "l": lambda name: sch.get_loops(sch.get_block(name)),
    }
    return eval(code, scope)


@pytest.mark.parametrize("name", PROGRAMS)
def test_steps(name: str) -> None:
    program = PROGRAMS[name]
    sch = tir.Schedule(from_source(program["source"]), seed=1)
    for number, text in enumerate(program["scripts"]):
        assert sch.mod.script() == text
        for step, code in program["refused"]:
            if step == number:
                with pytest.raises(TeSchedError) as caught:
                    apply(sch, code)
                assert caught.value.help
                assert sch.mod.script() == text
        if number < len(program["steps"]):
            apply(sch, program["steps"][number])
    assert str(sch.trace) == program["trace"]
    again = sch.trace.replay(tir.Schedule(from_source(program["source"])))
    assert again.mod.script() == text
    saved = json.loads(json.dumps(sch.trace.as_json()))
    other = tir.Schedule(from_source(program["source"]))
    Trace.apply_json_to_schedule(saved, other)
    assert other.mod.script() == text
    assert str(other.trace) == program["trace"]


@pytest.mark.parametrize("name", PROGRAMS)
def test_results(name: str) -> None:
    program, is_for_gpu = PROGRAMS[name], name.startswith("g")
    sch = tir.Schedule(from_source(program["scripts"][-1]))
    rng = np.random.default_rng(0)
    data = [
        rng.integers(-8, 8, shape).astype(dtype) if "int" in dtype else rng.random(shape, dtype)
        for _, shape, dtype in program["args"]
    ]
    device = te_sched.emulated_cuda(0) if is_for_gpu else te_sched.cpu(0)
    arrays = [te_sched.nd.array(one, device) for one in data]
    try:
        with config.scoped(verify_passes=False):
            module = te_sched.build(sch.mod, target="cuda" if is_for_gpu else "llvm")
        module(*arrays)
    except (BuildError, CallError):  # a layout of an argument has another shape
        assert not program["runs"]
        return
    names = [one[0] for one in program["args"][: program["inputs"]]]
    scope: dict[str, Any] = {"np": np}
    body = "".join(f"    {line}\n" for line in program["reference"].splitlines())
    exec(f"def reference({', '.join(names)}):\n{body}", scope)
    expected = scope["reference"](*data[: program["inputs"]])
    for array, one in zip(arrays[program["inputs"] :], expected, strict=True):
        np.testing.assert_allclose(array.numpy(), one, rtol=1e-4, atol=1e-4)


def test_traces_of_instructions() -> None:
    Trace, Kind, Instruction = (
        tir.schedule.Trace,
        tir.schedule.InstructionKind,
        tir.schedule.Instruction,
    )
    block, *loops = tir.BlockRV(), tir.LoopRV(), tir.LoopRV(), tir.LoopRV()
    trace = Trace(
        [
            Instruction(Kind.get("GetBlock"), [], ["B", "main"], [block]),
            Instruction(Kind.get("GetLoops"), [block], [], loops[:1]),
            Instruction(Kind.get("Split"), [loops[0], None, 4], [True, False], loops[1:]),
            Instruction(Kind.get("Annotate"), [block, {"a": [1, "x"], "b": 2}], ["note"], []),
            Instruction(Kind.get("EnterPostproc"), [], [], []),
            Instruction(Kind.get("GetChildBlocks"), [block], [], []),
        ]
    )
    assert trace.as_python(remove_postproc=True) == [
        'b0 = sch.get_block(name="B", func_name="main")',
        "l1, = sch.get_loops(block=b0)",
        "l2, l3 = sch.split(loop=l1, factors=[None, 4], preserve_unit_iters=True, "
        "disable_predication=False)",
        'sch.annotate(block_or_loop=b0, ann_key="note", ann_val={"a": [1, "x"], "b": 2})',
    ]
    assert len(trace.simplified(remove_postproc=False)) == 5
    source = from_source(GIVEN + OTHERS["accumulated"])
    sch, other = tir.Schedule(source), tir.Schedule(source)
    trace.apply_to_schedule(sch, remove_postproc=True)
    Trace.apply_json_to_schedule(json.loads(json.dumps(trace.as_json(True))), other)
    assert sch.mod.script() == other.mod.script()
    assert sch.get(sch.get_block("B")).annotations == {"note": {"a": [1, "x"], "b": 2}}
    last = trace.insts[-1]
    assert trace.pop().same_as(last)
    assert [one.kind.name for one in trace.insts if not one.kind.is_pure] == [
        "Split",
        "Annotate",
        "EnterPostproc",
    ]
    with pytest.raises(TeSchedError, match="there is no kind of instruction 'Spit'"):
        Kind.get("Spit")
    with pytest.raises(TeSchedError, match="the kind of an instruction cannot be a str"):
        Instruction("Split", [], [], [])


def test_other_decisions() -> None:
    sch = tir.Schedule(from_source(GIVEN + MATMUL), seed=1)
    loops = sch.get_loops(sch.get_block("C"))
    factors = sch.sample_perfect_tile(loops[0], n=2, decision=[2, 4])
    sch.split(loops[0], factors)
    inst = sch.trace.insts[2]
    assert sch.trace.decisions == {inst: [2, 4]}
    other = tir.Schedule(from_source(GIVEN + MATMUL))
    sch.trace.with_decision(inst, [4, 2], remove_postproc=False).apply_to_schedule(other, False)
    assert [other.get(one).extent for one in other.get_loops("C")][:2] == [4, 2]
    again = tir.Schedule(from_source(GIVEN + MATMUL))
    sch.trace.apply_to_schedule(again, False, lambda entry, arguments, decision: [8, 1])
    assert [again.get(one).extent for one in again.get_loops("C")][:2] == [8, 1]


def test_decisions_that_a_trace_does_not_have_are_sampled_again() -> None:
    sch = tir.Schedule(from_source(GIVEN + MATMUL), seed=1)
    loop = sch.get_loops(sch.get_block("C"))[0]
    sch.split(loop, sch.sample_perfect_tile(loop, n=2, decision=[2, 4]))
    open_trace = tir.schedule.Trace(sch.trace.insts, {})
    assert open_trace.decisions == {}
    extents = set()
    for seed in range(1, 1 << 30, 1 << 27):
        other = tir.Schedule(from_source(GIVEN + MATMUL), seed=seed)
        open_trace.apply_to_schedule(other, False)
        extents.add(other.get(other.get_loops("C")[0]).extent.value)
    assert len(extents) > 1
    assert list(sch.trace.decisions.values()) == [[2, 4]]


def test_what_is_not_a_program_is_told() -> None:
    sch = tir.Schedule(from_source(GIVEN + MATMUL))
    with pytest.raises(BuildError, match=r"schedule: sch\.mod"):
        te_sched.build(sch)
    with pytest.raises(LoweringError, match=r"schedule: sch\.mod"):
        te_sched.lower(sch)
    with pytest.raises(AttributeError, match=r"no attribute 'splt'(.|\n)*did you mean 'split'"):
        _ = sch.splt


def test_deep_programs() -> None:
    sch = tir.Schedule(from_source(GIVEN + OTHERS["accumulated"]))
    for _ in range(400):
        sch.add_unit_loop("B")
    outer, *_, inner = sch.get_loops("B")
    sch.split(outer, [None, 4])
    sch.fuse(*sch.get_loops("B")[:3])
    sch.unroll(inner)
    assert len(sch.get_loops("B")) == 400


@pytest.mark.parametrize(
    ("decision", "loops", "recorded"),
    [(0, ["i", "ax0"], 0), (1, ["i", "j"], 1), (7, ["i", "j"], 1), (-1, ["i", "j"], -1)],
)
def test_places_are_sampled_or_given(decision: int, loops: list[str], recorded: int) -> None:
    sch = tir.Schedule(from_source(GIVEN + STAGES))
    place = sch.sample_compute_location("B", decision=decision)
    sch.compute_at("B", place)
    assert [one.name for one in sch.get_loops("B")] == loops
    assert f"sch.sample_compute_location(block=b0, decision={recorded})" in str(sch.trace)


@pytest.mark.parametrize(
    ("loops", "sizes", "recorded"),
    [
        ("i, j, k", (1, 8, 2), [-1, 1, 1, 1]),
        ("i, j, k", (4, 1, 2), [0, 0, 0, 0]),
        ("k, i, j", (4, 8, 2), [0, 0, 0, 0]),
        ("k, i, j", (4, 8, 1), [-1, 1, 2, 2]),
        ("i, k, j", (4, 1, 2), [0, 1, 1, 1]),
        ("i, k, j", (4, 8, 1), [0, 0, 2, 2]),
    ],
)
def test_places_leave_out_loops_of_one_iteration_and_inside_reductions(
    loops: str, sizes: tuple[int, int, int], recorded: list[int]
) -> None:
    extents = dict(zip("ijk", sizes, strict=True))
    source = f"""
@T.prim_func
def main(A: T.Buffer({sizes}, "float32"), C: T.Buffer({sizes[:2]}, "float32")):
    B = T.alloc_buffer({sizes})
    for i, j, k in T.grid{sizes}:
        with T.block("B"):
            vi, vj, vk = T.axis.remap("SSS", [i, j, k])
            B[vi, vj, vk] = A[vi, vj, vk] + 1.0
    for {loops} in T.grid{tuple(extents[name] for name in loops.split(", "))}:
        with T.block("C"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            with T.init():
                C[vi, vj] = 0.0
            C[vi, vj] = C[vi, vj] + B[vi, vj, vk]
"""
    for decision, place in enumerate(recorded):
        sch = tir.Schedule(from_source(source))
        sch.compute_at("B", sch.sample_compute_location("B", decision=decision))
        assert f"decision={place})" in str(sch.trace)
    a = np.arange(np.prod(sizes), dtype="float32").reshape(sizes)
    c = np.zeros(sizes[:2], "float32")
    te_sched.build(sch.mod)(a, c)
    np.testing.assert_allclose(c, (a + 1).sum(axis=2))


@pytest.mark.parametrize(
    ("sizes", "places"),
    [
        ((2, 1, 2, 3, 2), [0, 2]),  # i is parallel, of one iteration: the loops of k0 and k1 count
        ((2, 3, 2, 3, 2), [0]),
        ((2, 1, 2, 1, 2), [0, 2]),
        ((2, 1, 1, 3, 2), [0]),
    ],
)
def test_parallel_loops_of_one_iteration_do_not_end_the_places_in_reductions(
    sizes: tuple[int, ...], places: list[int]
) -> None:
    _, m, _, n, _ = sizes
    source = f"""
@T.prim_func
def main(A: T.Buffer({sizes}, "float32"), C: T.Buffer(({m}, {n}), "float32")):
    B = T.alloc_buffer({sizes})
    for i0, i1, i2, i3, i4 in T.grid{sizes}:
        with T.block("B"):
            v0, v1, v2, v3, v4 = T.axis.remap("SSSSS", [i0, i1, i2, i3, i4])
            B[v0, v1, v2, v3, v4] = A[v0, v1, v2, v3, v4] + 1.0
    for k0, i, k1, j, k2 in T.grid{sizes}:
        with T.block("C"):
            v0, vi, v1, vj, v2 = T.axis.remap("RSRSR", [k0, i, k1, j, k2])
            with T.init():
                C[vi, vj] = 0.0
            C[vi, vj] = C[vi, vj] + B[v0, vi, v1, vj, v2]
"""
    sch = tir.Schedule(from_source(source), seed=1)
    for _ in range(100):
        sch.sample_compute_location("B")
    found = {int(one) for one in re.findall(r"decision=(-?\d+)", str(sch.trace))}
    assert sorted(found) == [-2, -1, *places]


@pytest.mark.parametrize(
    ("block", "decision", "recorded"),
    [("B", -3, -1), ("B", 0, -1), ("B", 1, 1), ("B", 3, 2), ("C", 0, -1), ("C", -2, -1)],
)
def test_places_that_are_none_mean_those_around_them(
    block: str, decision: int, recorded: int
) -> None:
    sch = tir.Schedule(from_source(GIVEN + STAGES))
    for place, factors in ((1, [8, 1]), (0, [1, 8])):
        sch.split(sch.get_loops("C")[place], factors)
    sch.sample_compute_location(block, decision=decision)
    assert str(sch.trace).rstrip().endswith(f"decision={recorded})")


@pytest.mark.parametrize(("decision", "recorded"), [(0, -1), (1, 1), (2, 1)])
def test_loops_around_a_block_are_no_places_for_it(decision: int, recorded: int) -> None:
    sch = tir.Schedule(from_source(GIVEN + STAGES))
    sch.compute_at("B", sch.get_loops("C")[0])
    sch.compute_at("B", sch.sample_compute_location("B", decision=decision))
    assert f"decision={recorded})" in str(sch.trace)
    assert len(sch.get_loops("B")) == 2


def test_annotations_of_loops_are_not_those_of_loops_that_initialize() -> None:
    """Their kinds are."""
    sch = tir.Schedule(from_source(GIVEN + MATMUL))
    i, j, k = sch.get_loops("C")
    sch.annotate(i, "pragma_auto_unroll_max_step", 16)
    sch.vectorize(j)
    sch.reorder(k, j)
    sch.decompose_reduction("C", i)
    before, inner = [sch.get(one) for one in sch.get_loops("C_init")]
    assert not before.annotations
    assert inner.kind == "vectorized"
    assert sch.get(i).annotations


def test_blocks_that_begin_or_continue_others_stay() -> None:
    sch = tir.Schedule(from_source(GIVEN + MATMUL))
    sch.decompose_reduction("C", sch.get_loops("C")[2])
    for name in ("C_init", "C_update"):
        sch.sample_compute_location(name, decision=0)
        assert str(sch.trace).rstrip().endswith("decision=-1)")


@pytest.mark.parametrize("decision", [None, -2, -1, 0, 1])
def test_results_that_others_read_stay(decision: int | None) -> None:
    A = te.placeholder((8, 8), name="A")
    B = te.compute((8, 8), lambda i, j: A[i, j] * 2, name="B")
    C = te.compute((8, 8), lambda i, j: B[i, j] + 1, name="C")
    for seed in range(1, 2**31, 2**28):
        sch = tir.Schedule(te.create_prim_func([A, B, C]), seed=seed)
        sch.compute_at("B", sch.sample_compute_location("B", decision=decision))
        assert "decision=-1)" in str(sch.trace)  # as TVM


def test_a_sampled_place_may_be_inline() -> None:
    sch = tir.Schedule(from_source(GIVEN + STAGES))
    sch.compute_at("B", sch.sample_compute_location("B", decision=-2))
    assert [sch.get(one).name_hint for one in sch.get_child_blocks("root")] == ["C"]
    assert "compute_inline" not in str(sch.trace)
    again = tir.Schedule(from_source(GIVEN + STAGES))
    sch.trace.apply_to_schedule(again, False)
    assert again.mod.script() == sch.mod.script()
    drawn = {
        tir.Schedule(from_source(GIVEN + STAGES), seed=seed).sample_compute_location("B").key.name
        for seed in range(1, 2**31, 2**26 + 3)
    }
    assert drawn == {"inline", "root", "i", "j"}


MATMUL_OF_COPY = function(
    "A:8,8 W:8,8 C:8,8",
    """
B = T.alloc_buffer((8, 8), "float32")
for i, k in T.grid(8, 8):
    with T.block("B"):
        vi, vk = T.axis.remap("SS", [i, k])
        B[vi, vk] = A[vi, vk] * T.float32(2)
for i, j, k in T.grid(8, 8, 8):
    with T.block("C"):
        vi, vj, vk = T.axis.remap("SSR", [i, j, k])
        with T.init():
            C[vi, vj] = T.float32(0)
        C[vi, vj] = C[vi, vj] + B[vi, vk] * W[vk, vj]
""",
)


def test_a_data_parallel_loop_of_one_iteration_ends_the_reduction_loops() -> None:
    sch = tir.Schedule(program(MATMUL_OF_COPY))
    i, j, k = sch.get_loops("C")
    j_0, j_1 = sch.split(j, [8, 1])

    def places() -> set[str]:
        twins = [sch.copy() for _ in range(200)]
        return {twin.sample_compute_location("B").name for twin in twins}

    assert places() == {"inline", "root", "i", "j_0"}
    sch.reorder(i, j_0, k, j_1)
    assert places() == {"inline", "root", "i", "j_0", "k"}


def test_a_schedule_without_primitives_has_the_functions_given() -> None:
    func = from_source(GIVEN + STAGES)
    assert tir.Schedule(func).mod["main"].same_as(func)


def test_what_indices_of_declared_regions_read_comes_first() -> None:
    text = """
# from tvm.script import tir as T

@T.prim_func
def main(P: T.Buffer((8,), "int32"), X: T.Buffer((8,), "float32"), O: T.Buffer((8,), "float32")):
    W = T.alloc_buffer((8,), "int32")
    for i in range(8):
        with T.block("W"):
            vi = T.axis.spatial(8, i)
            W[vi] = T.max(P[vi], 0)
    for i in range(8):
        with T.block("O"):
            vi = T.axis.spatial(8, i)
            O[vi] = X[W[vi]]
"""
    sch = tir.Schedule(from_source(text))
    sch.compute_inline("W")
    assert [region.buffer.name for region in sch.get(sch.get_block("O")).reads] == ["P", "X"]
    positions = np.arange(8, dtype="int32")[::-1].copy()
    values, out = np.arange(8, dtype="float32"), te_sched.nd.array(np.zeros(8, "float32"))
    te_sched.build(sch.mod)(te_sched.nd.array(positions), te_sched.nd.array(values), out)
    np.testing.assert_array_equal(out.numpy(), values[positions])


def test_compute_at_keeps_within_the_iterators_where_outer_loops_have_one_iteration() -> None:
    sch = tir.Schedule(program(STAGES.replace("8", "1")))
    i, _ = sch.get_loops("C")
    outer, _ = sch.split(i, [None, 4])
    sch.compute_at("B", outer, preserve_unit_loops=True)
    assert [sch.get(loop).extent for loop in sch.get_loops("B")] == [1, 1, 1]


UNIT = function(
    "A:1,8 W:1,8 C:8",
    """
for i, u, k in T.grid(8, 1, 8):
    with T.block("C"):
        vi, vu, vk = T.axis.remap("SRR", [i, u, k])
        with T.init():
            C[vi] = T.float32(0)
        C[vi] = C[vi] + A[vu, vk] * W[vu + 0 * vi, vk]
""",
)


def test_an_iterator_of_one_value_is_data_parallel_in_a_new_layout() -> None:
    sch = tir.Schedule(program(UNIT))
    sch.transform_block_layout("C", lambda i, u, k: (u, i, k))
    axes = sch.get(sch.get_block("C")).iter_vars
    assert [axis.kind for axis in axes] == ["DataPar", "DataPar", "CommReduce"]


def test_reindex_leaves_iterators_of_one_value_out_of_sums() -> None:
    text = UNIT.replace("A[vu, vk]", "A[vu, vk + vu]").replace("W[vu + 0 * vi, vk]", "W[vu, vk]")
    sch = tir.Schedule(program(text))
    sch.reindex("C", ("read", 0))
    assert str(sch.get(sch.get_block("C")).reads[0]) == "A_reindex[vu, vk]"


def test_a_fused_loop_of_one_iteration_is_its_value() -> None:
    sch = tir.Schedule(program(STAGES.replace("8", "1")))
    sch.fuse(sch.get_loops("C")[0])
    assert "vi = T.axis.spatial(1, 0)" in sch.mod.script()


PADDED = function(
    "A:8 C:7",
    """
B = T.alloc_buffer((8,), "float32")
for i_0, i_1 in T.grid(2, 4):
    with T.block("B"):
        vi = T.axis.spatial(8, i_0 * 4 + i_1)
        T.where(i_0 * 4 + i_1 < 7)
        B[vi] = A[vi] * T.float32(2)
for i in range(7):
    with T.block("C"):
        vi = T.axis.spatial(7, i)
        C[vi] = B[vi] + T.float32(1)
""",
)


def test_a_predicate_that_follows_from_the_inlined_block_is_stated_once() -> None:
    sch = tir.Schedule(program(PADDED))
    sch.reverse_compute_inline("C")
    (where,) = [line for line in sch.mod.script().splitlines() if "T.where" in line]
    assert where.strip() == "T.where(i_0 * 4 + i_1 < 7)"
    values, out = np.arange(8, dtype="float32"), te_sched.nd.array(np.zeros(7, "float32"))
    te_sched.build(sch.mod)(te_sched.nd.array(values), out)
    np.testing.assert_array_equal(out.numpy(), values[:7] * 2 + 1)


THREE = function(
    "A:8 D:8",
    """
B = T.alloc_buffer((8,), "float32")
C = T.alloc_buffer((8,), "float32")
for i in range(8):
    with T.block("B"):
        vi = T.axis.spatial(8, i)
        B[vi] = A[vi]
for i in range(8):
    with T.block("C"):
        vi = T.axis.spatial(8, i)
        C[vi] = A[vi]
for i in range(8):
    with T.block("D"):
        vi = T.axis.spatial(8, i)
        D[vi] = C[vi] * B[vi]
""",
)


def test_producers_are_in_the_order_of_the_reads() -> None:
    sch = tir.Schedule(program(THREE))
    assert [block.name for block in sch.get_producers("D")] == ["C", "B"]

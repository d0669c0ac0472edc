"""Programs that TVM 0.19 scheduled: the text after each step, the refused steps, the trace, and the
results. TVM's literals are written as te_sched writes them.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import te_sched
from te_sched import config, tir
from te_sched.errors import BuildError, CallError, TeSchedError
from te_sched.script import from_source
from te_sched.trace.trace import Trace
from tests.tensorir.programs import function, program

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

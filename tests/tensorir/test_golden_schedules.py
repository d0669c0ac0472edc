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
from te_sched.errors import BuildError, TeSchedError
from te_sched.script import from_source
from te_sched.trace.trace import Trace

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
    except BuildError:
        assert not program["runs"]
        return
    module(*arrays)
    names = [one[0] for one in program["args"][: program["inputs"]]]
    scope: dict[str, Any] = {"np": np}
    body = "".join(f"    {line}\n" for line in program["reference"].splitlines())
    exec(f"def reference({', '.join(names)}):\n{body}", scope)
    expected = scope["reference"](*data[: program["inputs"]])
    for array, one in zip(arrays[program["inputs"] :], expected, strict=True):
        np.testing.assert_allclose(array.numpy(), one, rtol=1e-4, atol=1e-4)

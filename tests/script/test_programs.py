"""Programs that TVM 0.19 printed, scheduled and lowered: read, printed, lowered and run here."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import te_sched
from te_sched.ir.structural import structural_difference
from te_sched.ir.verify import verify
from te_sched.script import from_source

FILE = Path(__file__).parents[1] / "golden" / "tensorir" / "programs.json"
PROGRAMS: dict[str, dict[str, Any]] = json.loads(FILE.read_text())


@pytest.mark.parametrize("name", PROGRAMS)
def test_source_is_printed(name: str) -> None:
    program = PROGRAMS[name]
    assert from_source(program["source"]).script() == program["printed"]


@pytest.mark.parametrize("name", PROGRAMS)
def test_what_is_printed_is_read(name: str) -> None:
    for text in (PROGRAMS[name]["printed"], PROGRAMS[name]["scheduled"]):
        module = from_source(text)
        assert module.script() == text
        assert structural_difference(from_source(module.script()), module) is None
        verify(module["main"], "blocks")


@pytest.mark.parametrize("name", PROGRAMS)
def test_lowered_text(name: str) -> None:
    with te_sched.config(verify_passes=True):
        module = te_sched.lower(from_source(PROGRAMS[name]["scheduled"]))
    assert module.script() == PROGRAMS[name]["lowered"]


@pytest.mark.parametrize("name", [name for name, one in PROGRAMS.items() if one["runs"]])
def test_results(name: str) -> None:
    program, is_for_gpu = PROGRAMS[name], name.startswith("g")
    rng = np.random.default_rng(0)
    data = [
        rng.integers(-8, 8, shape).astype(dtype) if "int" in dtype else rng.random(shape, dtype)
        for _, shape, dtype in program["args"]
    ]
    device = te_sched.emulated_cuda(0) if is_for_gpu else te_sched.cpu(0)
    arrays = [te_sched.nd.array(one, device) for one in data]
    module = te_sched.build(
        from_source(program["scheduled"]), target="cuda" if is_for_gpu else "llvm"
    )
    module(*arrays)
    names = [one[0] for one in program["args"][: program["inputs"]]]
    scope: dict[str, Any] = {"np": np}
    body = "".join(f"    {line}\n" for line in program["reference"].splitlines())
    exec(f"def reference({', '.join(names)}):\n{body}", scope)
    expected = scope["reference"](*data[: program["inputs"]])
    for array, wanted in zip(arrays[program["inputs"] :], expected, strict=True):
        np.testing.assert_allclose(array.numpy(), wanted, rtol=1e-4, atol=1e-4)

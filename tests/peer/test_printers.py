"""Both printers over the corpus: TVM lowers, the bridge converts, te_sched prints."""

from __future__ import annotations

import re

import pytest

tvm = pytest.importorskip("tvm")

from te_sched.ir.printer import primfn, script  # noqa: E402
from te_sched.ir.stmt import IRModule  # noqa: E402
from te_sched.ir.verify import verify  # noqa: E402
from tests.golden.corpus import Program, as_golden, programs  # noqa: E402
from tests.peer.bridge import from_tvm, lowered, passes_of, tvm_passes_of  # noqa: E402

_FLOAT = re.compile(r"T\.float(\d+)\((-?[0-9][0-9.e+-]*)\)")
_PREFLATTENED = re.compile(r"(?<=preflattened_buffer_map = \{).*(?=\} \{)")

# The address in this golden is the tutorial's, not TVM's.
TUTORIAL = {"17_prefetch"}
# TVM 0.9 lowered these otherwise than TVM 0.17: merged conditions, guards, common subexpressions.
OLDER_LOWERING = {
    *("gemm_gpu_registers", "g60010", "g60020", "g60060", "r20030", "r20055", "r20080"),
    *("r20094", "r20125"),
}


def _ids(program: Program) -> str:
    return program.name


def _as_017(text: str) -> str:
    """TVM 0.19's text with the floats of TVM 0.17."""
    return _FLOAT.sub(lambda match: f"T.float{match[1]}({float(match[2]):.17g})", text)


def _ordered(text: str) -> str:
    """TVM 0.9 has more than four preflattened buffers in the order of their addresses."""
    return _PREFLATTENED.sub(
        lambda match: ", ".join(sorted(re.split(r", (?=\w+: \w+: )", match[0]))), text
    )


@pytest.mark.parametrize("program", programs(), ids=_ids)
def test_corpus_prints_as_its_goldens(program: Program) -> None:
    for step, (schedule, args) in enumerate(program.steps(tvm)):
        module = IRModule({"main": lowered(schedule, args)})
        if program.name not in TUTORIAL:
            assert as_golden(script(module)).rstrip() == program.golden("script")[step]
        if program.name not in TUTORIAL | OLDER_LOWERING:
            golden = program.golden("primfn")[step]
            assert _ordered(as_golden(primfn(module)).rstrip()) == _ordered(golden)


@pytest.mark.parametrize("program", programs("primitives", "programs"), ids=_ids)
def test_script_is_tvms_after_every_pass(program: Program) -> None:
    for schedule, args in program.steps(tvm):
        for name, _, after in tvm_passes_of(schedule, args):
            assert script(from_tvm(after)) == _as_017(str(after)), name


@pytest.mark.parametrize("program", programs("primitives", "programs"), ids=_ids)
def test_tvms_programs_verify_at_every_level(program: Program) -> None:
    leaves = {
        "tir.StorageFlatten": "flat",
        "tir.VectorizeLoop": "vector",
        "tir.CommonSubexprElimTIR": "final",
    }
    for schedule, args in program.steps(tvm):
        level = "buffers"
        for name, _, after in passes_of(schedule, args):
            level = leaves.get(name, level)
            verify(after, level)

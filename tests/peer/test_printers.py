"""Both printers over the corpus: TVM lowers, the bridge converts, te_sched prints."""

from __future__ import annotations

import re

import pytest

pytest.importorskip("tvm")

from te_sched.ir.printer import primfn, script
from te_sched.ir.stmt import IRModule
from tests.golden.corpus import Program, as_golden, programs, without_chance
from tests.golden.known_differences import KNOWN_DIFFERENCES
from tests.peer.bridge import corpus_passes, from_tvm, lowered
from tests.sampling import programs_for_peers

_FLOAT = re.compile(r"T\.float(\d+)\((-?[0-9][0-9.e+-]*)\)")

# The address in this golden is the tutorial's, not TVM's.
TUTORIAL = {"17_prefetch"}


def _ids(program: Program) -> str:
    return program.name


def _as_017(text: str) -> str:
    """TVM 0.19's text with the floats of TVM 0.17."""
    return _FLOAT.sub(lambda match: f"T.float{match[1]}({float(match[2]):.17g})", text)


@pytest.mark.parametrize("program", programs_for_peers(), ids=_ids)
def test_corpus_prints_as_its_goldens(program: Program) -> None:
    for step, recorded in enumerate(corpus_passes(program)):
        module = IRModule({"main": lowered(recorded)})
        if program.name not in TUTORIAL:
            assert as_golden(script(module)).rstrip() == program.golden("script")[step]
        older = (program.name, step, "primfn") in KNOWN_DIFFERENCES
        if program.name not in TUTORIAL and not older:
            golden = program.golden("primfn")[step]
            assert without_chance(as_golden(primfn(module)).rstrip()) == without_chance(golden)


@pytest.mark.parametrize("program", programs("primitives", "programs"), ids=_ids)
def test_script_is_tvms_after_every_pass(program: Program) -> None:
    for recorded in corpus_passes(program):
        for name, before, after in recorded:
            if before["main"].same_as(after["main"]):
                continue
            assert script(from_tvm(after)) == _as_017(str(after)), name

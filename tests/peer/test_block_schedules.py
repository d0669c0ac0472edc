"""A small campaign of random schedules of blocks.

`python -m tests.peer.block_schedules --count 2000 --seed 1` is the long campaign.
"""

from __future__ import annotations

import collections

import pytest

pytest.importorskip("tvm")

from te_sched.script import from_source
from tests.peer.block_schedules.campaign import Comparison, recorded
from tests.peer.block_schedules.sources import SOURCES, Instance
from tests.peer.block_schedules.verdicts import fault_of, fault_of_theirs
from tests.peer.differential import interpret
from tests.peer.differential.faults import OUTSIDE
from tests.sampling import IS_CAMPAIGN
from tests.tensorir.programs import GIVEN


def test_small_campaign(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TE_SCHED_EMULATE", "1")
    totals: collections.Counter[str] = collections.Counter()
    for seed, events in recorded(1, 200 if IS_CAMPAIGN else 16):
        totals += Comparison(seed, events).counts
    assert totals["results, the same"] == totals["results"] > 0
    assert totals["texts, the same"] >= 0.95 * totals["texts"] > 0
    assert totals["traces, the same"] >= 0.95 * totals["traces"] > 0


def test_sources_are_of_different_kinds() -> None:
    assert len({source.body for source in SOURCES.values()}) == len(SOURCES)


TABLE = """
@I.ir_module
class Module:
  @T.prim_func
  def main(A: T.Buffer((4, 8), "float32"), B: T.Buffer((4,), "float32")):
    table = T.alloc_buffer((4,), "int32")
    for i in range(4):
        with T.block("table"):
            v = T.axis.spatial({domain}, i)
            table[v] = v
    for i, k in T.grid(4, 8):
        with T.block("B"):
            vi, vk = T.axis.remap("SR", [i, k])
            T.reads(A[vi, vk])
            T.writes(B[vi])
            with T.init():
                B[vi] = T.float32(0)
            B[vi] = B[vi] + A[table[vi], vk]
"""


@pytest.mark.parametrize(
    ("theirs", "ours", "is_excuse"), [(3, 4, True), (4, 4, False), (3, 3, False), (4, 3, False)]
)
def test_faults_that_only_one_of_two_programs_has(theirs: int, ours: int, is_excuse: bool) -> None:
    program = Instance("row sums", "", [(4, 8), (4,)])
    one, other = [GIVEN + TABLE.format(domain=domain) for domain in (theirs, ours)]
    found = fault_of_theirs(one, from_source(other), program)
    assert found == ("iterator v is 3, outside of its domain" if is_excuse else "")


def test_faults_of_programs_with_other_layouts_of_arguments_are_found() -> None:
    program = Instance("row sums", "", [(4, 8), (4,)])
    text = GIVEN + TABLE.format(domain=4).replace("r((4, 8)", "r((8, 4)").replace("table[vi]", "vi")
    transposed = text.replace("A[vi, vk]", "A[vk, vi]")
    assert fault_of(transposed, program) == ""
    assert "out of bounds" in fault_of(transposed.replace("A[vk", "A[vk + 1"), program)


def test_stores_of_programs_that_are_too_long_to_execute_are_checked(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(interpret, "_MOST_STEPS", 1)
    program = Instance("row sums", "", [(4, 8), (4,)])
    text = GIVEN + TABLE.format(domain=4)
    assert fault_of(text, program) == ""
    assert fault_of(text.replace("B[vi]", "B[vi + 1]"), program) == OUTSIDE

"""Regions that blocks access after a change."""

from __future__ import annotations

from te_sched.ir.visitor import replace
from te_sched.tensorir.regions import buffers_in, with_regions
from tests.tensorir.programs import MATMUL
from tests.tensorir.schedules import scheduled


def test_buffers_by_their_data() -> None:
    sch = scheduled(MATMUL)
    buffers = buffers_in(sch.get(sch.get_block("C")))
    assert sorted(buffer.name for buffer in buffers.values()) == ["A", "B", "C"]
    assert all(buffer.data is data for data, buffer in buffers.items())


def test_regions_are_those_of_the_body() -> None:
    sch = scheduled(MATMUL)
    c, d = [sch.get(sch.get_block(name)) for name in "CD"]
    for block in (c, d):
        bare = with_regions(replace(block, reads=(), writes=()))
        assert [str(region) for region in bare.reads] == [str(region) for region in block.reads]
        assert [str(region) for region in bare.writes] == [str(region) for region in block.writes]
    other = with_regions(replace(d, body=replace(d.body, value=d.body.value.b)))
    assert (other.reads, [str(region) for region in other.writes]) == ((), ["D[vi, vj]"])

"""Functions in which each block has one loop for each of its iterators."""

import pytest

from te_sched import te, tir, topi
from te_sched.dlight.gpu.normal_form import inline_spatial, iterators_of, kinds_of, normalize
from te_sched.script import from_source
from tests.dlight.functions import applied, tensor

HEAD = """
@T.prim_func
def main(A: T.Buffer((4,), "float32"), B: T.Buffer((4,), "float32")):
    C = T.alloc_buffer((4,), "float32")
    with T.block("B"):
"""


def schedule_of(declared):
    return tir.Schedule(te.create_prim_func(declared))


def test_iterators_of_one_value_are_left_out():
    sch = schedule_of(applied(lambda a: topi.sum(a, axis=1), 1, 9))
    (block,) = normalize(sch)
    iterators = iterators_of(sch, block)
    assert kinds_of(sch, block) == "SR"
    assert [(one.place, one.kind, int(one.extent)) for one in iterators] == [
        (0, "S", 1),
        (1, "R", 9),
    ]


def test_a_sum_of_all_gets_a_spatial_iterator():
    sch = schedule_of(applied(topi.sum, 6, 7))
    (block,) = normalize(sch)
    assert kinds_of(sch, block) == "SRR"


def test_a_store_outside_of_loops_needs_no_iterators_and_other_statements_do():
    body = "    T.reads(A[0])\n        T.writes(B[0])"
    store = from_source(f"{HEAD}    {body}\n        B[0] = A[0]\n")
    loop = from_source(f"{HEAD}    {body}\n        for i in range(4):\n            B[i] = A[i]\n")
    assert len(normalize(tir.Schedule(store))) == 1
    assert normalize(tir.Schedule(loop)) is None


@pytest.mark.parametrize("change", ["parallel", "split"])
def test_scheduled_loops_have_no_normal_form(change):
    sch = schedule_of(applied(topi.exp, 4, 8))
    loop = sch.get_loops(sch.get_child_blocks(sch.get_block("root"))[0])[0]
    getattr(sch, change)(loop, *([[2, None]] if change == "split" else []))
    assert normalize(sch) is None


def test_elements_are_inlined_into_what_they_read_or_what_reads_them():
    a = tensor(4, 8)
    before = schedule_of([a, topi.sum(topi.exp(topi.negative(a)), axis=1)])
    after = schedule_of([a, topi.tanh(topi.negative(topi.sum(a, axis=1)))])
    for sch, kinds in ((before, ["SR"]), (after, ["SR", "S"])):
        blocks = inline_spatial(sch, normalize(sch))
        assert [kinds_of(sch, one) for one in blocks] == kinds

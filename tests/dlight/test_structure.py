"""What rules share: functions without a schedule, inlining, and how a block is a product."""

import numpy as np
import pytest

import te_sched
from te_sched import te, tir, topi
from te_sched.dlight import structure
from te_sched.ir.expr import BufferLoad
from te_sched.ir.visitor import walk
from tests.dlight.functions import applied, product, tensor

N = te.var("n", "int64")


def schedule_of(declared):
    return tir.Schedule(te.create_prim_func(declared))


def names(sch):
    return [structure.node_of(sch, one).name_hint for one in structure.blocks_of(sch)]


@pytest.mark.parametrize("change", ["parallel", "vectorize", "unroll", "annotate", "split"])
def test_a_loop_that_was_changed_is_a_schedule(change):
    sch = schedule_of(applied(topi.exp, 4, 8))
    assert structure.is_untouched(sch, structure.blocks_of(sch))
    loop = sch.get_loops(structure.blocks_of(sch)[0])[-1]
    arguments = {"annotate": ["pragma", 1], "split": [[None, 2]]}
    getattr(sch, change)(loop, *arguments.get(change, []))
    assert not structure.is_untouched(sch, structure.blocks_of(sch))


def test_a_step_that_is_not_legal_changes_nothing():
    sch = schedule_of(applied(topi.exp, 4, 8))
    before, block = str(sch.mod), structure.blocks_of(sch)[0]
    assert not structure.attempt(lambda: sch.compute_inline(block))
    assert str(sch.mod) == before
    assert structure.attempt(lambda: sch.parallel(sch.get_loops(block)[0]))
    assert str(sch.mod) != before


def test_elements_are_inlined_up_to_a_sum():
    a = tensor(4, 8)
    total = topi.sum(topi.exp(topi.negative(a)), axis=1)
    sch = schedule_of([a, topi.tanh(topi.add(total, 1.0))])
    structure.inline_injective(sch)
    assert names(sch) == ["compute_1", "compute_red", "compute_2"]


def test_a_chain_that_doubles_does_not_become_one_expression():
    a = tensor(4, 8)
    value = a
    for _ in range(12):
        value = topi.add(topi.multiply(value, topi.tanh(value)), 1.0)
    sch = schedule_of([a, value])
    structure.inline_injective(sch)
    sizes = [sum(1 for _ in walk(structure.node_of(sch, x).body)) for x in structure.blocks_of(sch)]
    assert 1 < len(sizes) < 6
    assert max(sizes) < 5000
    x, y = np.full((4, 8), 0.5, "float32"), np.zeros((4, 8), "float32")
    te_sched.build(sch.mod, target="llvm -opt-level=0")(x, y)
    for _ in range(12):
        x = x * np.tanh(x) + 1
    np.testing.assert_allclose(y, x, 1e-5)


def test_copies_of_constants_are_inlined_into_a_sum():
    a, w = tensor(4, 8), tensor(8, 4, name="W")
    func = te.create_prim_func([a, w, topi.nn.matmul(a, topi.transpose(topi.transpose(w)))])
    sch = tir.Schedule(func)
    structure.inline_injective(sch, [func.buffer_map[func.params[1]]])
    assert len(names(sch)) == 1


@pytest.mark.parametrize(
    ("declared", "expected"),
    [
        (product(16, 32, 8), (1, 1, 0, True, True)),
        (product(16, 1, 8), None),
        (applied(lambda a: topi.sum(a, axis=1), 4, 8), None),
    ],
)
def test_how_a_block_is_a_product(declared, expected):
    sch = schedule_of(declared)
    contraction = structure.contraction_of(structure.node_of(sch, structure.blocks_of(sch)[0]))
    assert expected == (
        contraction
        and (
            *(contraction.wide, contraction.column, contraction.row),
            *(contraction.is_plain, contraction.is_contiguous),
        )
    )


def test_steps_of_neighbors_in_memory() -> None:
    i, k = te.var("i"), te.var("k")
    buffer = te_sched.tir.decl_buffer((8, 8))
    steps = {(k, i): 1, (k, i + k): 1, (k, k + i * 2): 2, (k, i * 3): 3, (i, k): None, (i, i): None}
    for indices, step in steps.items():
        assert structure.step_along(BufferLoad(buffer, indices), i) == step
        assert structure.is_along(BufferLoad(buffer, indices), i) == (step == 1)


@pytest.mark.parametrize(("sizes", "is_worth"), [((4, 8), False), ((64, 8), True), ((N, 2), True)])
def test_blocks_of_open_sizes_are_shared_if_calls_say_so(sizes, is_worth) -> None:
    sch = schedule_of(applied(topi.exp, *sizes))
    axes = structure.node_of(sch, structure.blocks_of(sch)[0]).iter_vars
    assert structure.is_worth_sharing(axes, 512) == is_worth

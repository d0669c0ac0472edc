"""Cut loops beside live TVM: texts of the corpus and of random uneven splits, and single bounds."""

from __future__ import annotations

import operator
import random
import re
from typing import Any

import pytest

tvm = pytest.importorskip("tvm")

import te_sched  # noqa: E402
from te_sched import tir  # noqa: E402
from te_sched.arith.deduce import deduce_bound  # noqa: E402
from te_sched.arith.int_set import NOTHING, IntervalSet  # noqa: E402
from te_sched.ir.expr import IntImm, Var  # noqa: E402
from te_sched.transform import PassContext  # noqa: E402
from tests.golden.corpus import Program  # noqa: E402
from tests.sampling import programs_for_peers, sampled  # noqa: E402

OPTIONS: list[dict[str, bool]] = [
    {},
    {"partition_const_loop": True},
    {"partition_const_loop": True, "no_unroll_loop_with_extent_one": True},
]
# The order in which TVM joins several bounds is that of addresses: its texts vary between runs.
BY_ADDRESSES = ("r20080", "r20105")
# TVM cannot vectorize or unroll what it has cut.
REFUSED = ("r20020", "r20023", "r20044")
# Of an extent that is always 1, te_sched does not see it.
OTHERWISE = ("r20127", "17_prefetch")
_FLOAT = re.compile(r"T\.float(\d+)\(([^()]*)\)")


def same_floats(text: str) -> str:
    body = text.partition("def main")[2].rstrip()
    return _FLOAT.sub(lambda found: f"F{found[1]}({float(found[2].strip(chr(34)))})", body)


def both(make: Any, options: dict[str, bool]) -> tuple[list[str], list[str]]:
    """What te_sched and TVM print for the schedules that `make` gives for an implementation."""
    with PassContext(config={"tir.LoopPartition": options}):
        ours = [te_sched.lower(s, list(args)).script() for s, args in make(te_sched)]
    with tvm.transform.PassContext(config={"tir.LoopPartition": options}):
        theirs = [tvm.lower(s, list(args)).script(show_meta=False) for s, args in make(tvm)]
    return [same_floats(text) for text in ours], [same_floats(text) for text in theirs]


def chosen() -> list[Program]:
    """The programs of the corpus that both cut, or a sample of them."""
    known = (*BY_ADDRESSES, *REFUSED, *OTHERWISE)
    return [program for program in programs_for_peers() if program.name not in known]


@pytest.mark.parametrize("program", chosen(), ids=lambda program: program.name)
def test_the_corpus_is_cut_as_by_tvm(program: Program) -> None:
    for options in OPTIONS:
        ours, theirs = both(program.steps, options)
        assert ours == theirs


def uneven(seed: int) -> Any:
    """Schedules of one or two stages in uneven tiles, for an implementation."""

    def make(library: Any) -> Any:
        pick, te = random.Random(seed), library.te
        n: Any = pick.choice([97, 100, te.var("n")])
        m = pick.choice([30, 61])
        A = te.placeholder((n, m), name="A")
        k = te.reduce_axis((0, m), "k")
        B = te.compute((n, m), lambda i, j: A[i, j] * 2.0, name="B")
        if pick.random() < 0.5:
            C = te.compute((n,), lambda i: te.sum(B[i, k], axis=k), name="C")
        else:
            C = te.compute((n, m), lambda i, j: B[i, j] + 1.0, name="C")
        s = te.create_schedule(C.op)
        leaves = [s[C].split(axis, pick.choice([3, 4, 7, 8])) for axis in s[C].op.axis]
        if pick.random() < 0.4:
            leaves[0] = [*s[C].split(leaves[0][0], 5), leaves[0][1]]
        for axis in s[C].op.reduce_axis:
            s[C].split(axis, pick.choice([4, 8]))
        inner = leaves[-1][-1]
        choice = pick.randrange(4)
        if choice == 0 and not s[C].op.reduce_axis:
            s[C].vectorize(inner)
        elif choice == 1:
            s[B].compute_at(s[C], leaves[0][0])
        elif choice == 2:
            s[C].parallel(leaves[0][0])
        yield s, [A, C]

    return make


@pytest.mark.parametrize("options", OPTIONS[:2], ids=["default", "constant"])
@pytest.mark.parametrize("seed", sampled(range(20), 5))
def test_uneven_splits_are_cut_as_by_tvm(seed: int, options: dict[str, bool]) -> None:
    ours, theirs = both(uneven(seed), options)
    assert ours == theirs


def test_bounds_are_tvms() -> None:
    compare = [operator.lt, operator.le, operator.gt, operator.ge]

    def condition(library: Any, i: Any, j: Any, n: Any, pick: random.Random) -> Any:
        for _ in range(pick.randrange(1, 5)):
            other = pick.choice([j, n, j * 3, library.floordiv(j, 4), n * 2, 7])
            factor = pick.choice([2, 3, 4, 8, 32])
            i = pick.choice([i + other, other + i, i - other, other - i, i * factor])
            if pick.random() < 0.3:
                i = library.floordiv(i, factor)
        return pick.choice(compare)(i, pick.choice([n, n * 4 + 3, 64, 999]))

    whole = {"min": 0, "max": 31}
    for seed in range(200):
        i, j, n = (Var(name, "int32") for name in "ijn")
        ours = deduce_bound(
            i,
            condition(tir, i, j, n, random.Random(seed)),
            {j: IntervalSet(*[IntImm(end, "int32") for end in whole.values()])},
        )
        x, y, z = (tvm.te.var(name) for name in "ijn")
        domains = {y: tvm.arith.IntervalSet(*whole.values())}
        asked = condition(tvm.tir, x, y, z, random.Random(seed))
        theirs = tvm.arith.deduce_bound(x, asked, domains, domains)
        if str(theirs.min_value) == "pos_inf":
            assert ours is NOTHING, asked
            continue
        for value in (-50, 0, 1, 33, 64, 1000):
            ends = [None if end is None else eval(str(end), {"n": value}) for end in ours]
            inf = {"neg_inf": None, "pos_inf": None}
            wanted = [
                eval(str(end), {"n": value, **inf}) for end in (theirs.min_value, theirs.max_value)
            ]
            assert ends == wanted, asked

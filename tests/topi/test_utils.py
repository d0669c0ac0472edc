"""The utilities and tags that operators and schedules share."""

from __future__ import annotations

import numpy as np
import pytest

from te_sched import te, topi
from te_sched.topi import utils
from tests.topi.running import Case, case, check, floats


def test_constants_are_read_from_expressions() -> None:
    n = te.var("n")
    assert utils.get_const_int(te.const(3) + 1) == 4
    assert utils.get_const_tuple((te.const(3), 4, n)) == (3, 4, n)
    assert utils.get_const_float(te.const(1.5)) == 1.5
    assert utils.equal_const_int(te.const(1), 1)
    assert not utils.equal_const_int(n, 1)
    assert utils.is_dynamic_shape((3, n))
    with pytest.raises(ValueError, match="n is not a constant integer"):
        utils.get_const_int(n)


def test_indices_are_raveled_and_unraveled() -> None:
    i, j = te.var("i"), te.var("j")
    assert str(utils.ravel_index([i, j], (3, 4))) == "i * 4 + j"
    assert [str(one) for one in utils.unravel_index(i, (3, 4, 5))] == [
        "i // 5 // 4",
        "i // 5 % 4",
        "i % 5",
    ]


def test_numbers() -> None:
    assert utils.prod((2, 3)) == 6
    assert utils.prod(()) == 1
    assert utils.get_max_power2_factor(48) == 16
    assert utils.get_max_power2_factor(48, 4) == 4
    assert utils.ceil_div(7, 2) == 4
    assert utils.simplify(te.var("n") * 0 + 3).value == 3


def test_traverse_inline_inlines_what_broadcasts_and_visits_the_rest() -> None:
    a, b = te.placeholder((4, 6)), te.placeholder((5, 6))
    out = topi.nn.relu(topi.add(topi.nn.dense(topi.exp(a), b), 1))
    s = te.create_schedule(out.op)
    seen: list[str] = []
    utils.traverse_inline(s, out.op, lambda op: seen.append(op.tag))
    assert seen == ["dense", "elemwise", "elemwise"]
    assert [stage.attach_type.name for stage in s.stages if stage.op.name == "T_add"] == ["INLINE"]


CASES = [
    case(
        "const_matrix",
        lambda x: te.compute((2, 2), lambda i, j: x(i, j) * topi.utils.const_matrix(MATRIX)(i, j)),
        lambda x: x * MATRIX,
        floats(2, 2),
    )
]


MATRIX = np.array([[1, 2], [3, 4]], "float32")


@pytest.mark.parametrize("one", CASES, ids=str)
def test_computes_what_numpy_computes(one: Case) -> None:
    check(one)

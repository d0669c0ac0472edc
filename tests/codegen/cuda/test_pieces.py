"""Parentheses: none that is missing, few that are not needed."""

from __future__ import annotations

import operator
import random
from collections.abc import Callable

import pytest

from te_sched.codegen.cuda.pieces import (
    UNARY,
    Piece,
    call,
    conditional,
    converted,
    element,
    negated,
    offset,
    operation,
)

a, b, c = (Piece(name) for name in "abc")
TEXTS = {
    "a - b - c": operation("-", operation("-", a, b), c),
    "a - (b - c)": operation("-", a, operation("-", b, c)),
    "a * (b + c)": operation("*", a, operation("+", b, c)),
    "a - -1": operation("-", a, Piece("-1", UNARY)),
    "(a + b) >> c": operation(">>", operation("+", a, b), c),  # C needs none, readers do
    "a + b < c": operation("<", operation("+", a, b), c),
    "(a < b) == c": operation("==", operation("<", a, b), c),
    "a && b && c": operation("&&", operation("&&", a, b), c),
    "(a && b) || c": operation("||", operation("&&", a, b), c),
    "a == b && c": operation("&&", operation("==", a, b), c),
    "(a ? b : c) + a": operation("+", conditional(a, b, c), a),
    "a || b ? b : (a ? b : c)": conditional(operation("||", a, b), b, conditional(a, b, c)),
    "(int)(a + b)": converted("int", operation("+", a, b)),
    "(int)f(a + b, c)": converted("int", call("f", operation("+", a, b), c)),
    "!(a < b)": negated(operation("<", a, b)),
    "a[b + c]": element("a", operation("+", b, c)),
    "a + b * c": offset("a", operation("*", b, c)),
    "(int*)a + b": offset("(int*)a", b),
    "a": offset("a", Piece("0")),
}
PYTHON: dict[str, Callable[[int, int], int]] = {  # which ranks these operators as C does
    **{"+": operator.add, "-": operator.sub, "*": operator.mul, "%": operator.mod},
    **{"<<": operator.lshift, ">>": operator.rshift},
    **{"&": operator.and_, "|": operator.or_, "^": operator.xor},
}


@pytest.mark.parametrize("text", TEXTS)
def test_text(text: str) -> None:
    assert TEXTS[text].text == text


def test_a_cast_that_is_no_offset_still_needs_parentheses() -> None:
    assert element(offset("(int*)a", Piece("0")).at(15), b).text == "((int*)a)[b]"


def test_texts_mean_what_was_built() -> None:
    generator = random.Random(0)

    def tree(depth: int) -> tuple[Piece, int]:
        if depth == 0:
            value = generator.randrange(1, 9)
            return Piece(str(value)), value
        symbol = generator.choice(list(PYTHON))
        (left, x), (right, y) = tree(depth - 1), tree(generator.randrange(depth))
        if (symbol in ("<<", ">>") and not 0 <= y < 64) or (symbol == "%" and y == 0):
            symbol = "-"
        return operation(symbol, left, right), PYTHON[symbol](x, y)

    for _ in range(300):
        piece, value = tree(4)
        assert eval(piece.text) == value, piece.text

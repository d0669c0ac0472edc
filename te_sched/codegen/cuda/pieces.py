"""Pieces of C++ text with the precedence of their outermost operator.

Owns where parentheses are needed. Must not know the IR.
"""

from __future__ import annotations

from typing import NamedTuple

PRIMARY, POSTFIX, UNARY, MULTIPLY, ADD, SHIFT, COMPARE, EQUAL = 16, 15, 14, 13, 12, 11, 10, 9
BIT_AND, BIT_XOR, BIT_OR, AND, OR, CONDITIONAL = 8, 7, 6, 5, 4, 3


class Piece(NamedTuple):
    """The text of one scalar value."""

    text: str
    level: int = PRIMARY

    def at(self, level: int) -> str:
        """The text as an operand that binds at least as strongly as `level`."""
        return self.text if self.level >= level else f"({self.text})"


class PieceLanes(list[Piece]):
    """The lanes of a value; `whole` is the vector variable whose lanes they are, if they are.

    `are_pairs` says that it is an array of vectors of two lanes.
    """

    whole: str | None = None
    are_pairs: bool = False


_LEVELS = {
    **{"*": MULTIPLY, "/": MULTIPLY, "%": MULTIPLY, "+": ADD, "-": ADD, "<<": SHIFT, ">>": SHIFT},
    **{"<": COMPARE, "<=": COMPARE, ">": COMPARE, ">=": COMPARE, "==": EQUAL, "!=": EQUAL},
    **{"&": BIT_AND, "^": BIT_XOR, "|": BIT_OR, "&&": AND, "||": OR},
}


def operation(operator: str, a: Piece, b: Piece) -> Piece:
    """a operator b. Operators that readers confuse get parentheses also where C needs none."""
    level = _LEVELS[operator]
    if operator in ("+", "-", "*", "/", "%"):
        left, right = a.at(level), b.at(level + 1)
    elif operator in ("<", "<=", ">", ">=", "==", "!="):
        left, right = a.at(ADD), b.at(ADD)
    elif operator in ("&&", "||"):
        left, right = (
            piece.text if piece.level == level or piece.level >= EQUAL else f"({piece.text})"
            for piece in (a, b)
        )
    else:
        left, right = a.at(UNARY), b.at(UNARY)
    return Piece(f"{left} {operator} {right}", level)


def conditional(test: Piece, yes: Piece, no: Piece) -> Piece:
    """test ? yes : no"""
    return Piece(f"{test.at(OR)} ? {yes.at(OR)} : {no.at(OR)}", CONDITIONAL)


def call(function: str, *arguments: Piece) -> Piece:
    """function(arguments...)"""
    return Piece(f"{function}({', '.join(argument.text for argument in arguments)})", POSTFIX)


def converted(kind: str, value: Piece) -> Piece:
    """(kind)value"""
    return Piece(f"({kind}){value.at(UNARY)}", UNARY)


def negated(value: Piece) -> Piece:
    """!value"""
    return Piece(f"!{value.at(UNARY)}", UNARY)


def element(array: str, index: Piece) -> Piece:
    """array[index]"""
    return Piece(f"{array}[{index.text}]", POSTFIX)


def offset(pointer: str, index: Piece) -> Piece:
    """pointer + index"""
    if index.text == "0":
        return Piece(pointer, UNARY if pointer.startswith("(") else PRIMARY)
    return operation("+", Piece(pointer, UNARY), index)

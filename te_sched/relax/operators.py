"""The operators of graphs: what is known of each, by name ("relax.add").

`infer(call, builder)`, or `infer(call)`, returns the struct info of a call with normalized
arguments, and raises a GraphError if they do not fit; `builder.analyzer` proves and simplifies
sizes. Passes keep their own
knowledge of an operator as an attribute ("FLegalize", "TMixedPrecisionPolicy", ...), so that an
operator is one row with a column for each pass. Must not know any operator.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar

from te_sched.errors import GraphError, did_you_mean
from te_sched.ir.graph import GraphCall, OpAttrs
from te_sched.ir.op import ATTRIBUTES, Op
from te_sched.ir.struct_info import StructInfo

Infer = Callable[[GraphCall, Any], StructInfo]
_Inference = TypeVar("_Inference", bound=Callable[..., StructInfo])


@dataclass(frozen=True)
class Operator:
    """What is known of an operator: its name, and its attributes (`te_sched.ir.Op.get_attr`)."""

    name: str
    attributes: dict[str, Any]

    @property
    def infer(self) -> Infer:
        """The function that infers the struct info of a call."""
        found: Infer = self.attributes["FInferStructInfo"]
        return found

    @property
    def is_pure(self) -> bool:
        """Whether calls have no effects."""
        return bool(self.attributes.get("FPurity", True))

    @property
    def calls_program(self) -> bool:
        """Whether calls run functions of the program, which pure calls promise to be without
        effects; `relax.build` keeps them even if nothing uses their results.
        """
        return bool(self.attributes.get("FCallsProgram", False))


OPERATORS: dict[str, Operator] = {}


def register_operator(
    name: str, *, is_pure: bool = True, **attributes: Any
) -> Callable[[_Inference], _Inference]:
    """A decorator of the function that infers the struct info of calls of an operator."""

    def register(infer: _Inference) -> _Inference:
        known = ATTRIBUTES.setdefault(name, {})
        needs_builder = infer.__code__.co_argcount > 1
        full = infer if needs_builder else lambda call, _: infer(call)
        known |= {"FInferStructInfo": full, "FPurity": is_pure, **attributes}
        OPERATORS[name] = Operator(name, known)
        return infer

    return register


def operator_of(op: Any) -> Operator:
    """The operator of a call; GraphError if there is none with its name."""
    name = str(op)
    found = OPERATORS.get(name)
    if found is not None:
        return found
    if "FInferStructInfo" in ATTRIBUTES.get(name, {}):  # registered by a program
        return Operator(name, ATTRIBUTES[name])
    raise GraphError(
        f"there is no operator {name!r}",
        "",
        f"use an operator of relax.op{did_you_mean(name, OPERATORS)}",
    )


def make_call(name: str, args: Any, **attrs: Any) -> GraphCall:
    """A call of an operator with attributes, in the order in which they are printed.

    The dtype "void", as which an unknown one is printed, is "".
    """
    attrs = {
        key: "" if key.endswith("dtype") and str(value) == "void" else value
        for key, value in attrs.items()
    }
    return GraphCall(Op.get(name), tuple(args), OpAttrs(attrs) if attrs else None)

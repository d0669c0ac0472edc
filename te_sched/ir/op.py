"""What programs say of intrinsics: their names, their effects, and rules that replace them.

Owns the rules that users register; `lower.replace_intrinsics` applies them. Must not know targets.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from te_sched.errors import DeclarationError, repr_of
from te_sched.ir.intrinsic_table import EFFECTS, Effect
from te_sched.signatures import checked

Rule = Callable[[Any], Any]

# Rules by the intrinsic and the key of the target; of several, the one of the highest level.
RULES: dict[str, dict[str, tuple[int, Rule]]] = {}
DEFAULT_KEY = "default"


class Op(str):
    """The name of an intrinsic ("tir.exp"), as an object."""

    __slots__ = ()

    @property
    def name(self) -> str:
        """The name as a plain string."""
        return str(self)

    @staticmethod
    def get(op_name: str) -> Op:
        """The intrinsic of a name."""
        return Op(op_name)

    def same_as(self, other: object) -> bool:
        """Whether both are the same intrinsic."""
        return self == other


@checked
def register_op_attr(op_name: str, attr_key: str, value: Any = None, level: int = 10) -> Any:
    """Say something of an intrinsic; te_sched has a use for its "TCallEffectKind" alone.

    Without a value it is a decorator.
    """
    if value is None:
        return lambda decorated: register_op_attr(op_name, attr_key, decorated, level)
    if attr_key == "TCallEffectKind":
        if value not in tuple(Effect):
            raise DeclarationError(
                f"unknown call effect {repr_of(value)} for {op_name}",
                "",
                f"use one of {', '.join(f'{one.value} ({one.name})' for one in Effect)}",
            )
        EFFECTS[op_name] = Effect(value)
    elif attr_key.endswith(".FLowerIntrinsic"):
        register_intrin_lowering(op_name, attr_key.rpartition(".")[0], f=value, level=level)
    return value


@checked
def register_intrin_lowering(
    op_name: str, target: str, *, f: Rule | None = None, level: int = 10
) -> Any:
    """Give what stands for calls of an intrinsic on a kind of target ("llvm", "default", ...).

    `f` is given the call and gives an expression, or the call itself, or None, to leave it. Of two
    rules the one of the higher level holds. Without `f` it is a decorator.
    """
    if f is None:
        return lambda decorated: register_intrin_lowering(op_name, target, f=decorated, level=level)
    if not op_name.startswith("tir."):
        raise DeclarationError(
            f'the name of an intrinsic must begin with "tir.", got {op_name!r}',
            "",
            f'write "tir.{op_name}"',
        )
    rules = RULES.setdefault(op_name, {})
    if target in rules and rules[target][0] == level and rules[target][1] is not f:
        raise DeclarationError(
            f"{op_name} has a lowering rule of level {level} for {target} already",
            "",
            "give another level; the rule with the highest level applies",
        )
    if target not in rules or rules[target][0] <= level:
        rules[target] = (level, f)
    return f

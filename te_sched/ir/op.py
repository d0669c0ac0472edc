"""Intrinsics as objects, with effects and lowering rules that users register.

Owns the registered rules; `lowering.replace_intrinsics` applies them. Must not know targets.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from te_sched.absent_names import tell_of_absent_names as _tell_of_absent_names
from te_sched.errors import DeclarationError, did_you_mean, repr_of
from te_sched.ir.intrinsic_table import EFFECTS, Effect
from te_sched.signatures import checked

Rule = Callable[[Any], Any]

# Rules by intrinsic and key of the target; the rule of the highest level applies.
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
        """The intrinsic or operator with a name; DeclarationError if graphs have no such operator.

        >>> Op.get("tir.exp")
        'tir.exp'
        """
        op = OPS.get(op_name)
        if op is None:
            _check_operator(op_name)
            op = OPS.setdefault(op_name, Op(op_name))
        return op

    def same_as(self, other: object) -> bool:
        """Whether both are the same intrinsic."""
        return self == other

    def get_attr(self, attr_name: str) -> Any:
        """The value of an attribute; None if it was not registered.

        >>> register_op_attr("demo.scaled", "FPurity", True)
        True
        >>> Op.get("demo.scaled").get_attr("FPurity"), Op.get("demo.scaled").get_attr("FLegalize")
        (True, None)
        """
        return ATTRIBUTES.get(self, {}).get(attr_name)

    def has_attr(self, attr_name: str) -> bool:
        """Whether an attribute was registered."""
        return attr_name in ATTRIBUTES.get(self, {})

    def reset_attr(self, attr_name: str) -> None:
        """Remove an attribute."""
        ATTRIBUTES.get(self, {}).pop(attr_name, None)
        CHANGED_BY_PROGRAMS.add(str(self))


def _check_operator(name: str) -> None:
    """Refuse operators of graphs that are not registered, once some are."""
    graph_names = [key for key in ATTRIBUTES if key.startswith("relax.")]
    is_of_graphs = name.startswith("relax.") or "." not in name
    if not graph_names or name in ATTRIBUTES or not is_of_graphs:
        return
    by_last = {graph_name.rpartition(".")[2]: graph_name for graph_name in graph_names}
    last = name.rpartition(".")[2]
    advice = f"use an operator of relax.op, such as 'relax.add'{did_you_mean(last, by_last)}"
    if last in by_last:
        advice = f"use {by_last[last]!r}"
    elif last == "dense":  # of older versions
        advice = "use 'relax.matmul', with 'relax.permute_dims' of the weight"
    raise DeclarationError(f"there is no operator {name!r}", "", advice)


# All intrinsics that are used, by name.
OPS: dict[str, Op] = {}
# What was registered of intrinsics and operators of graphs: by name, then by name of the attribute.
ATTRIBUTES: dict[str, dict[str, Any]] = {}
# The names of those whose attributes were set or removed by the functions below.
CHANGED_BY_PROGRAMS: set[str] = set()


@checked
def register_op_attr(op_name: str, attr_key: str, value: Any = None, level: int = 10) -> Any:
    """Set an attribute of an intrinsic or an operator of graphs.

    "TCallEffectKind" and "KEY.FLowerIntrinsic" of intrinsics have an effect, and what the passes of
    graphs read: "FInferStructInfo", "FLegalize", "FPurity", ... Without a value, returns a
    decorator.
    """
    if value is None:
        return lambda decorated: register_op_attr(op_name, attr_key, decorated, level)
    ATTRIBUTES.setdefault(op_name, {})[attr_key] = value
    CHANGED_BY_PROGRAMS.add(op_name)
    if attr_key == "TCallEffectKind":
        if value not in tuple(Effect):
            raise DeclarationError(
                f"unknown effect of {op_name}: {repr_of(value)}",
                "",
                f"use one of {', '.join(f'{effect.value} ({effect.name})' for effect in Effect)}",
            )
        EFFECTS[op_name] = Effect(value)
    elif attr_key.endswith(".FLowerIntrinsic"):
        register_intrin_lowering(op_name, attr_key.rpartition(".")[0], f=value, level=level)
    return value


@checked
def register_intrin_lowering(
    op_name: str, target: str, *, f: Rule | None = None, level: int = 10
) -> Any:
    """Register a rule that replaces calls of an intrinsic for a target ("llvm", "default", ...).

    `f` takes the call and returns an expression; the call or None leave it unchanged. Of several
    rules the one of the highest level applies. Without `f`, returns a decorator.
    """
    if f is None:
        return lambda decorated: register_intrin_lowering(op_name, target, f=decorated, level=level)
    if not op_name.startswith("tir."):
        raise DeclarationError(
            f"unknown intrinsic {op_name!r}",
            'names of intrinsics begin with "tir.", such as "tir.exp"',
            f'write "tir.{op_name}"',
        )
    rules = RULES.setdefault(op_name, {})
    if target in rules and rules[target][0] == level and rules[target][1] is not f:
        raise DeclarationError(
            f"a rule of level {level} for {op_name} on {target} exists already",
            "",
            "give another level; the rule of the highest level is used",
        )
    if target not in rules or rules[target][0] <= level:
        rules[target] = (level, f)
    return f


_tell_of_absent_names(__name__)

"""Parameters of functions that a call changes: states, which a machine keeps, and arguments.

A function is a graph of values: the new values of such parameters are its last results. Attributes
say which parameters these are ("state": names of parameters, each with the name of the state, or
"" for an argument of the caller) and which function makes the first values of states
("initial_state"). Importers write the attributes, the virtual machine and passes read them. Must
not know how states are kept.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from te_sched.errors import GraphError, repr_of
from te_sched.ir.graph import GraphFunction

STATE = "state"
INITIAL_STATE = "initial_state"


@dataclass(frozen=True, slots=True)
class StateUse:
    """The parameters of a function whose new values are its last results.

    `updates` are pairs of a parameter and the name of a state, "" for arguments; `initializer`
    is the function that returns the first values of the states, in this order.

    >>> StateUse((("cache", "layer.cache"), ("x", "")), "first").states
    ('layer.cache',)
    """

    updates: tuple[tuple[str, str], ...]
    initializer: str = ""

    @property
    def states(self) -> tuple[str, ...]:
        """The names of the states, in the order of their new values."""
        return tuple([state for _, state in self.updates if state])

    @property
    def held(self) -> tuple[str, ...]:
        """The parameters that the machine gives."""
        return tuple([param for param, state in self.updates if state])

    def attributes(self) -> dict[str, object]:
        """The attributes of a function that say this."""
        return {STATE: dict(self.updates), INITIAL_STATE: self.initializer}


def state_use_of(func: GraphFunction, params: Sequence[str]) -> StateUse | None:
    """What the attributes of a function with these names of parameters say; None without them.

    Raises
    ------
    GraphError if they name what is not a parameter.

    >>> from te_sched import relax
    >>> x = relax.Var("x", relax.TensorStructInfo([2], "float32"))
    >>> func = relax.Function([x], x).with_attr("state", {"x": "total"})
    >>> state_use_of(func, ["x"]).states
    ('total',)
    """
    names = func.attrs.get(STATE)
    if not names:
        return None
    updates = tuple([(str(param), str(state)) for param, state in dict(names).items()])
    unknown = [param for param, _ in updates if param not in params]
    if unknown:
        raise GraphError(
            f"the attribute {STATE!r} of a function names {repr_of(unknown[0])}",
            f"its parameters are {', '.join(params)}",
            "name parameters, each with the name of its state",
        )
    return StateUse(updates, str(func.attrs.get(INITIAL_STATE, "")))

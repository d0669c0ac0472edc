"""Index maps as JSON in the form of TVM's `save_json`, as traces have them.

    {"root": 1, "nodes": [{"type_key": ""}, {"type_key": "tir.IndexMap", "attrs": {...}}, ...]}

A node refers to others by their numbers; number 0 is None. Must not know schedules.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import Any

from te_sched.deep_recursion import walks_deeply
from te_sched.errors import DeclarationError, TeSchedError, repr_of
from te_sched.ir import dtypes, ops
from te_sched.ir import expr as E
from te_sched.ir.expr import Call, Cast, Expr, FloatImm, IntImm, Select, Var
from te_sched.ir.index_map import IndexMap

_BINARY = {f"tir.{kind.__name__}": kind for kind in (*ops.BUILDERS, E.Mod)}
_NONE = {"type_key": ""}


@walks_deeply("save an index map", DeclarationError)
def save_index_map(index_map: IndexMap) -> str:
    """The JSON of an index map.

    >>> from te_sched.arith.index_functions import map_of
    >>> mapping, _ = map_of(lambda i, j: [j, i // 4])
    >>> load_index_map(save_index_map(mapping))
    T.index_map(lambda i, j: (j, i // 4))
    """
    writer = _Writer()
    root = writer.number(index_map)
    return json.dumps({"root": root, "nodes": writer.nodes, "b64ndarrays": [], "attrs": {}})


@walks_deeply("load an index map", DeclarationError)
def load_index_map(text: str) -> IndexMap:
    """The index map that `save_index_map` or TVM saved.

    Raises
    ------
    DeclarationError for another text.
    """
    try:
        document = json.loads(text)
        made = _Reader(document["nodes"]).node(document["root"])
    except TeSchedError as error:
        raise _damaged(error.fault) from None
    except (ValueError, TypeError, LookupError, AttributeError, RecursionError) as error:
        raise _damaged(f"{type(error).__name__}: {error}") from None
    if not isinstance(made, IndexMap):
        raise _damaged(f"it is {repr_of(made)}")
    return made


def _damaged(why: str) -> DeclarationError:
    return DeclarationError(
        "cannot load an index map from this JSON", why, "give what a trace or tvm.ir.save_json has"
    )


class _Writer:
    """Collects nodes; each is listed once, before its parts."""

    def __init__(self) -> None:
        self.nodes: list[Any] = [_NONE]
        self.known: dict[int, int] = {}

    def number(self, value: Any) -> int:
        """The number of a node, after adding it and its parts."""
        if value is None:
            return 0
        if id(value) in self.known:
            return self.known[id(value)]
        made = len(self.nodes)
        self.known[id(value)] = made
        row: dict[str, Any] = {}
        self.nodes.append(row)
        row |= self.row(value)
        return made

    def row(self, value: Any) -> dict[str, Any]:
        """The row of a node."""
        kind = type(value)
        if kind is IndexMap:
            names = ("initial_indices", "final_indices", "inverse_index_map")
            return {"type_key": "tir.IndexMap", "attrs": self.parts(value, names)}
        if kind is tuple:
            return {"type_key": "Array", "data": [self.number(one) for one in value]}
        if kind is str:
            return {"type_key": "runtime.String", "repr_str": value}
        if kind is _PrimType:
            return {"type_key": "PrimType", "attrs": {"dtype": value.dtype}}
        if kind is _Operator:
            return {"type_key": "Op", "repr_str": value.name}
        if kind in (IntImm, FloatImm):
            return self.expression(kind.__name__, value, {"value": f"{value.value!r}"})
        if kind is Var:
            parts = {"name": self.part(value.name), "type_annotation": self.part(_PrimType(value))}
            return self.expression("tir.Var", value, parts)
        if kind is Call:
            args = {"op": self.part(_Operator(value)), "args": self.part(value.args)}
            return self.expression("tir.Call", value, args)
        key = f"tir.{kind.__name__}"
        if key not in _FIELDS:
            raise DeclarationError(
                f"cannot save {repr_of(value)} as JSON",
                f"it is a {kind.__name__}",
                "use arithmetic of the indices in index maps",
            )
        return self.expression(key, value, self.parts(value, _FIELDS[key]))

    def parts(self, value: Any, names: Sequence[str]) -> dict[str, str]:
        """The numbers of some parts of a node."""
        return {name: self.part(getattr(value, name)) for name in names}

    def part(self, value: Any) -> str:
        """The number of a part, as rows have it."""
        if isinstance(value, str | _PrimType | _Operator):  # each is a node of its own
            self.nodes.append(self.row(value))
            return str(len(self.nodes) - 1)
        return str(self.number(value))

    def expression(self, key: str, value: Expr, attrs: dict[str, str]) -> dict[str, Any]:
        """The row of an expression."""
        return {"type_key": key, "attrs": {**attrs, "dtype": value.dtype, "span": "0"}}


class _PrimType:
    """The type of a variable."""

    def __init__(self, var: Var) -> None:
        self.dtype = var.dtype


class _Operator:
    """The operation of a call."""

    def __init__(self, call: Call) -> None:
        self.name = str(call.op)


_FIELDS: dict[str, tuple[str, ...]] = {
    **dict.fromkeys(_BINARY, ("a", "b")),
    **{"tir.Not": ("a",), "tir.Cast": ("value",)},
    "tir.Select": ("condition", "true_value", "false_value"),
}


class _Reader:
    """Makes nodes of rows."""

    def __init__(self, rows: Sequence[Any]) -> None:
        self.rows = rows
        self.known: dict[int, Any] = {}
        self.open: set[int] = set()

    def node(self, given: Any) -> Any:
        """The node with a number."""
        number = int(given)
        if not 0 <= number < len(self.rows) or number in self.open:
            raise ValueError(f"there is no node {number}")
        if number not in self.known:
            self.open.add(number)
            self.known[number] = self.made(self.rows[number])
            self.open.discard(number)
        return self.known[number]

    def made(self, row: Any) -> Any:
        """The node of a row."""
        key, attrs = row["type_key"], row.get("attrs", {})
        if "dtype" in attrs:
            dtypes.spelled(attrs["dtype"])  # refuses others
        if key == "":
            return None
        if key in ("runtime.String", "Op"):
            return row["repr_str"]
        if key == "Array":
            return tuple([self.node(one) for one in row["data"]])
        if key == "tir.IndexMap":
            return self.index_map(attrs)
        if key in _CONSTANTS:
            return _CONSTANTS[key](attrs["value"], attrs["dtype"])
        if key in ("tir.Var", "tir.SizeVar"):
            return Var(self.node(attrs["name"]), attrs["dtype"])
        if key == "tir.Call":
            args = self.node(attrs["args"])
            return Call(attrs["dtype"], self.node(attrs["op"]), tuple(map(ops.convert, args)))
        parts = [_expression(self.node(attrs[name])) for name in _FIELDS[key]]
        if key == "tir.Cast":
            return Cast(attrs["dtype"], *parts)
        if key == "tir.Select":
            return Select(*parts)
        if key == "tir.Not":
            return E.Not(*parts)
        if parts[0].dtype != parts[1].dtype:
            raise ValueError(f"{key} of {parts[0].dtype} and {parts[1].dtype}")
        return _BINARY[key](*parts)

    def index_map(self, attrs: Any) -> IndexMap:
        """The index map of a row."""
        initial = self.node(attrs["initial_indices"])
        final = tuple(map(_expression, self.node(attrs["final_indices"])))
        inverse = self.node(attrs["inverse_index_map"])
        if not all(type(one) is Var for one in initial):
            raise ValueError("an initial index is not a variable")
        if inverse is not None and not isinstance(inverse, IndexMap):
            raise ValueError("the inverse is not an index map")
        return IndexMap(initial, final, inverse)


def _expression(value: Any) -> Expr:
    if not isinstance(value, Expr):
        raise ValueError(f"{repr_of(value)} is not an expression")
    return value


_CONSTANTS: dict[str, Callable[[Any, str], Expr]] = {
    "IntImm": lambda value, dtype: IntImm(int(value), dtype),
    "FloatImm": lambda value, dtype: FloatImm(float(value), dtype),
}

"""Index maps as JSON in the form of TVM's objects, in which traces have them.

    {"root": 1, "nodes": [{"type_key": ""}, {"type_key": "tir.IndexMap", "attrs": {...}}, ...], ...}

Attributes are texts, also the numbers of other nodes; number 0 is None. Must not know traces.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from te_sched.errors import DeclarationError
from te_sched.ir import expr as E
from te_sched.ir.expr import Expr, FloatImm, IntImm, Var
from te_sched.ir.index_map import IndexMap
from te_sched.ir.serialization import load_json, save_json
from te_sched.signatures import check_fields

_OPERANDS: Mapping[type, Sequence[str]] = {
    **dict.fromkeys((E.Add, E.Sub, E.Mul, E.Div, E.Mod, E.FloorDiv, E.FloorMod), ("a", "b")),
    **dict.fromkeys((E.Min, E.Max, E.EQ, E.NE, E.LT, E.LE, E.GT, E.GE), ("a", "b")),
    **dict.fromkeys((E.And, E.Or), ("a", "b")),
    E.Not: ("a",),
    E.Cast: ("value",),
    E.Select: ("condition", "true_value", "false_value"),
}
_KINDS = {f"tir.{kind.__name__}": kind for kind in _OPERANDS}
_MAP = "tir.IndexMap"


class _UnknownNode(Exception):
    pass


def saved_map(mapping: IndexMap) -> str:
    """The JSON of a map; of one with other nodes than arithmetic in te_sched's own form.

    >>> i = Var("i", "int32")
    >>> loaded_map(saved_map(IndexMap((i,), (i // 4, i % 4))))
    T.index_map(lambda i: (i // 4, i % 4))
    """
    writer = _Writer()
    try:
        root = writer.number(mapping)
    except _UnknownNode:
        return save_json(mapping)
    document = {
        "root": root,
        "nodes": writer.nodes,
        "b64ndarrays": [],
        "attrs": {"tvm_version": "0.19.0"},
    }
    return json.dumps(document, indent=2)


def loaded_map(text: Any) -> IndexMap:
    """The map of a JSON that `saved_map` or TVM made.

    Raises
    ------
    DeclarationError for other texts.
    """
    try:
        document = json.loads(text)
        if "te_sched" in document:
            found = load_json(text)
        else:
            found = _Reader(document["nodes"]).node(document["root"])
    except (KeyError, IndexError, TypeError, ValueError, AttributeError, RecursionError) as error:
        raise _damaged(f"{type(error).__name__}: {error}") from None
    if not isinstance(found, IndexMap):
        raise _damaged("it is of another object")
    check_fields(found)
    return found


def _damaged(why: str) -> DeclarationError:
    fault = "invalid JSON of an index map"
    return DeclarationError(fault, why, "pass what as_json of a trace returned")


class _Writer:
    """Numbers nodes in the order in which TVM visits them: each before what it refers to."""

    def __init__(self) -> None:
        self.nodes: list[Any] = [{"type_key": ""}]
        self._known: dict[Any, int] = {}

    def number(self, value: Any) -> int:
        """The number of a node."""
        if value is None:
            return 0
        if value not in self._known:
            self._known[value] = len(self.nodes)
            row: dict[str, Any] = {}
            self.nodes.append(row)
            self._fill(row, value)
        return self._known[value]

    def _fill(self, row: dict[str, Any], value: Any) -> None:
        kind = type(value)
        attributes: dict[str, Any] = {}
        if kind is IndexMap:
            row["type_key"] = _MAP
            attributes["initial_indices"] = self._array(value.initial_indices)
            attributes["final_indices"] = self._array(value.final_indices)
            attributes["inverse_index_map"] = self.number(value.inverse_index_map)
        else:
            row["type_key"] = f"tir.{kind.__name__}"
            attributes |= {"dtype": value.dtype, "span": 0}
            if kind is Var:
                attributes["name"] = self._new(
                    {"type_key": "runtime.String", "repr_str": value.name}
                )
                annotation = {"type_key": "PrimType", "attrs": {"dtype": value.dtype}}
                attributes["type_annotation"] = self._new(annotation)
            elif kind is IntImm or kind is FloatImm:
                row["type_key"] = kind.__name__
                is_whole = kind is IntImm
                attributes["value"] = int(value.value) if is_whole else f"{value.value:.17g}"
            elif kind in _OPERANDS:
                for name in _OPERANDS[kind]:
                    attributes[name] = self.number(getattr(value, name))
            else:
                raise _UnknownNode
        row["attrs"] = {name: str(attributes[name]) for name in sorted(attributes)}

    def _array(self, values: Sequence[Expr]) -> int:
        row: dict[str, Any] = {"type_key": "Array"}
        found = self._new(row)
        row["data"] = [self.number(one) for one in values]
        return found

    def _new(self, row: dict[str, Any]) -> int:
        self.nodes.append(row)
        return len(self.nodes) - 1


class _Reader:
    """Makes nodes of rows."""

    def __init__(self, rows: Sequence[Mapping[str, Any]]) -> None:
        self._rows = rows
        self._known: dict[int, Any] = {0: None}

    def node(self, number: Any) -> Any:
        """The node with a number."""
        place = int(number)
        if place not in self._known:
            if not 0 < place < len(self._rows):
                raise ValueError(f"there is no node {place}")
            self._known[place] = _UNFINISHED
            self._known[place] = self._made(self._rows[place])
        found = self._known[place]
        if found is _UNFINISHED:
            raise ValueError(f"node {place} contains itself")
        return found

    def _made(self, row: Mapping[str, Any]) -> Any:
        key = row["type_key"]
        if key == "runtime.String":
            return str(row["repr_str"])
        if key == "Array":
            return tuple(map(self.node, row["data"]))
        attributes = row["attrs"]
        if key == _MAP:
            names = ("initial_indices", "final_indices", "inverse_index_map")
            return IndexMap(*[self.node(attributes[name]) for name in names])
        if key == "tir.Var":
            return Var(self.node(attributes["name"]), attributes["dtype"])
        if key == "IntImm":
            return IntImm(int(attributes["value"]), attributes["dtype"])
        if key == "FloatImm":
            return FloatImm(float(attributes["value"]), attributes["dtype"])
        if key not in _KINDS:
            raise ValueError(f"unknown kind of node {key}")
        kind = _KINDS[key]
        operands = [self.node(attributes[name]) for name in _OPERANDS[kind]]
        made = kind(attributes["dtype"], *operands) if kind is E.Cast else kind(*operands)
        check_fields(made)
        return made


_UNFINISHED = object()

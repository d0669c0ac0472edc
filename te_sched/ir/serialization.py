"""Programs and expressions as JSON, which loads again.

    {"te_sched": 1, "root": {"node": 2}, "nodes": [["Var", {"name": "i", ...}], ...]}

Nodes are listed once each, operands before those that use them, and referred to by their numbers: a
variable that is shared stays one object. Loading creates nodes of the IR and nothing else. Must not
know what nodes mean.
"""

from __future__ import annotations

import base64
import json
import math
from collections.abc import Mapping
from contextlib import suppress
from typing import Any

import numpy as np

from te_sched.deep_recursion import walks_deeply
from te_sched.errors import DeclarationError, TeSchedError, did_you_mean, kind_of, repr_of
from te_sched.ir import peer_json
from te_sched.ir.array_bytes import stored_elements
from te_sched.ir.expr import Node, PointerType
from te_sched.ir.graph import ARRAY_CONVERSIONS
from te_sched.ir.op import Op
from te_sched.ir.source_lines import SourceLines
from te_sched.ir.stmt import GlobalVar
from te_sched.ir.visitor import INIT_FIELDS, NODE_CLASSES
from te_sched.signatures import check_fields, checked

_FORMAT = 1
_BFLOAT16 = "bfloat16"
_CLASSES = {kind.__name__: kind for kind in NODE_CLASSES}
_NAMES: dict[type, str] = {GlobalVar: "global", Op: "op"}  # strings that name something
_KINDS = {word: kind for kind, word in _NAMES.items()}
_SPECIAL = {"inf": math.inf, "-inf": -math.inf, "nan": math.nan}


@walks_deeply("save a program", DeclarationError)
def save_json(node: object) -> str:
    """The JSON of a node, or of lists, tuples and dicts of nodes and plain values.

    Raises
    ------
    DeclarationError for other objects, such as functions of Python in attributes.

    >>> from te_sched import tir
    >>> i = tir.Var("i")
    >>> load_json(save_json(i * 2 + i))
    i * 2 + i
    """
    writer = _NodeWriter()
    root = writer.value(node)
    return json.dumps({"te_sched": _FORMAT, "root": root, "nodes": writer.nodes})


@walks_deeply("load a program", DeclarationError)
def load_json(json_str: str) -> Any:
    """What `save_json` saved, or TVM 0.19's `tvm.ir.save_json`.

    `save_tvm_json` writes TVM's format.

    Raises
    ------
    DeclarationError for a text that is not the JSON of a program, and for nodes of TVM that
    te_sched does not have.
    """
    try:
        document = json.loads(json_str)
    except (ValueError, TypeError, RecursionError) as error:
        raise _damaged(f"it is not JSON: {error}") from None
    if peer_json.is_tvm_document(document):
        return peer_json.load_document(document)
    if not isinstance(document, dict) or document.get("te_sched") != _FORMAT:
        raise _damaged(f'it does not begin with {{"te_sched": {_FORMAT}, ...}}')
    rows = document.get("nodes")
    if not isinstance(rows, list) or "root" not in document:
        raise _damaged("it has no nodes")
    reader = _NodeReader()
    for row in rows:
        reader.add(row)
    return reader.value(document["root"])


@checked
def make_node(type_key: str, **kwargs: Any) -> Any:
    """The node of a class with these fields, without conversions; "DictAttrs" is a dictionary.

    Raises
    ------
    DeclarationError for classes and fields that do not exist, and values that do not fit.

    >>> make_node("IntImm", value=10, dtype="int32")
    10
    >>> make_node("DictAttrs", key="value")
    {'key': 'value'}
    """
    if type_key == "DictAttrs":
        return kwargs
    name = type_key.rpartition(".")[2]
    kind = _CLASSES.get(name)
    kwargs.pop("span", None)
    if kind is None:
        raise DeclarationError(
            f"there are no nodes of class {repr_of(type_key)}",
            "",
            f"use one of {', '.join(sorted(_CLASSES))}{did_you_mean(name, _CLASSES)}",
        )
    try:
        node = kind(**kwargs)
    except (TypeError, AttributeError) as error:
        raise DeclarationError(
            f"cannot make a {name} of {', '.join(kwargs) or 'nothing'}",
            str(error),
            f"give {', '.join(INIT_FIELDS[kind])}",
        ) from None
    check_fields(node)
    return node


class _NodeWriter:
    """Collects the rows of nodes; `numbers` has those that are written, by identity."""

    def __init__(self) -> None:
        self.nodes: list[object] = []
        self.numbers: dict[int, int] = {}

    def value(self, value: Any) -> object:
        """The JSON of a value."""
        kind = type(value)
        if value is None or kind in (bool, str) or (kind is int and value.bit_length() <= 64):
            return value
        if kind is float:
            return value if math.isfinite(value) else {"float": repr(value)}
        if kind in INIT_FIELDS:
            return {"node": self._number(value)}
        if isinstance(value, PointerType):
            return {"pointer": [value.element, value.scope]}
        if isinstance(value, Mapping):
            return {
                "dict": [[self.value(key), self.value(element)] for key, element in value.items()]
            }
        if isinstance(value, list | tuple):
            items = [self.value(element) for element in value]
            return items if isinstance(value, tuple) else {"list": items}
        if kind in _NAMES:  # before other strings
            return {_NAMES[kind]: str(value)}
        if (array := _elements(value)) is not None:
            is_known = str(value.dtype) == _BFLOAT16  # numpy has no name for it
            dtype = _BFLOAT16 if is_known else array.dtype.str
            return {"array": [dtype, list(array.shape), _packed(array)]}
        if isinstance(value, bool | int | float | str) and kind is not int:  # of a derived class
            return self.value(kind.__mro__[-2](value))
        raise DeclarationError(
            f"cannot save {repr_of(value)} as JSON",
            "it has more than 64 bits" if kind is int else f"it is {kind_of(value)}",
            "save programs whose attributes are nodes, numbers and texts",
        )

    def _number(self, node: Node) -> int:
        number = self.numbers.get(id(node))
        if number is None:
            kind = type(node)
            values = {name: getattr(node, name) for name in INIT_FIELDS[kind]}
            fields = {
                name: self.value(value)
                for name, value in values.items()
                if type(value) is not SourceLines
            }
            number = self.numbers[id(node)] = len(self.nodes)
            self.nodes.append([kind.__name__, fields])
        return number


class _NodeReader:
    """Makes nodes of rows, in their order."""

    def __init__(self) -> None:
        self.nodes: list[Node] = []

    def add(self, row: object) -> None:
        """Make the node of a row."""
        if not (isinstance(row, list) and len(row) == 2 and isinstance(row[1], dict)):
            raise _damaged(f"node {len(self.nodes)} is {repr_of(row)}")
        name, fields = row
        kind = _CLASSES.get(name) if isinstance(name, str) else None
        if kind is None or not fields.keys() <= set(INIT_FIELDS[kind]):
            raise _damaged(f"node {len(self.nodes)} is a {repr_of(name)} of {repr_of([*fields])}")
        try:
            values = {field: self.value(data) for field, data in fields.items()}
            names = INIT_FIELDS[kind]
            is_whole = len(values) == len(names)
            node = kind(*[values[name] for name in names]) if is_whole else kind(**values)
            check_fields(node)
        except TeSchedError as error:
            raise _damaged(f"node {len(self.nodes)}: {error.fault}") from None
        except (TypeError, ValueError, AttributeError, LookupError) as error:
            raise _damaged(f"node {len(self.nodes)} is not a valid {name}: {error}") from None
        self.nodes.append(node)

    def value(self, value: object) -> Any:
        """The value of some JSON."""
        if isinstance(value, list):
            return tuple([self.value(element) for element in value])
        if not isinstance(value, dict):
            return value
        if len(value) == 1:
            ((what, payload),) = value.items()
            if what == "node" and type(payload) is int and 0 <= payload < len(self.nodes):
                return self.nodes[payload]
            if what == "float" and payload in _SPECIAL:
                return _SPECIAL[payload]
            if what == "list" and isinstance(payload, list):
                return [self.value(element) for element in payload]
            if what in _KINDS and isinstance(payload, str):
                return _KINDS[what](payload)
            if what == "array":
                return _array(payload)
            if what == "pointer" and _is_pointer(payload):
                return PointerType(*payload)
            if what == "dict" and isinstance(payload, list) and all(map(_is_pair, payload)):
                with suppress(TypeError):  # keys that cannot be hashed
                    return {self.value(key): self.value(element) for key, element in payload}
        raise _damaged(f"{repr_of(value)} is not a value")


def _elements(value: Any) -> np.ndarray | None:
    """The elements of an array, of numpy or of a device; None for other values."""
    is_of_device = hasattr(value, "numpy") and hasattr(value, "dtype")
    array = stored_elements(value) if is_of_device else value
    is_plain = isinstance(array, np.ndarray) and array.dtype.kind in "biufcV"
    return np.ascontiguousarray(array).reshape(array.shape) if is_plain else None


def _packed(array: np.ndarray) -> str:
    return base64.b64encode(array.tobytes()).decode()


def _array(payload: Any) -> Any:
    try:
        dtype, shape, text = payload
        data = base64.b64decode(text, validate=True)
        kept = np.uint16 if dtype == _BFLOAT16 else np.dtype(dtype)
        array = np.frombuffer(data, kept).reshape(shape).copy()
        return ARRAY_CONVERSIONS[0](array, dtype=dtype) if dtype == _BFLOAT16 else array
    except (TypeError, ValueError) as error:
        raise _damaged(f"an array is not valid: {error}") from None


def _is_pair(value: object) -> bool:
    return isinstance(value, list) and len(value) == 2


def _is_pointer(value: Any) -> bool:
    return _is_pair(value) and all(isinstance(part, str) for part in value)


def _damaged(why: str) -> DeclarationError:
    return DeclarationError(
        "cannot load a program from this JSON", why, "give a text that save_json returned"
    )

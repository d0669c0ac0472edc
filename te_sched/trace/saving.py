"""Traces as JSON: `[instructions, decisions]`, in the form of TVM's `tir.schedule.Trace`.

An instruction is `[name, inputs, attributes, results]`, a decision `[number of the instruction,
value]`. The first instruction has the tensors that the schedule was created of. Inputs and results
are the names of handles in the trace's program; texts contain their quotes, nodes of expressions
are `{class: fields}`, an index map is the text of its own JSON. Must not know what any primitive
does.
"""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from te_sched.deep_recursion import walks_deeply
from te_sched.errors import ScheduleError
from te_sched.ir import expr as E
from te_sched.ir import ops
from te_sched.ir.expr import Expr, Node, Var
from te_sched.ir.index_map import IndexMap
from te_sched.ir.peer_json import load_index_map, save_index_map
from te_sched.ir.visitor import substitute, variables_of
from te_sched.signatures import check_fields
from te_sched.trace.entries import Entry, HandleReference
from te_sched.trace.handles import Handles, Traced
from te_sched.trace.listing import Listing
from te_sched.trace.primitive import Primitive, as_results
from te_sched.trace.replaying import check_signature

_ROOT = "create_schedule"
_NONE = "None"
_NODES: dict[str, Callable[..., Node]] = {
    name: kind
    for name, kind in vars(E).items()
    if isinstance(kind, type) and issubclass(kind, (Expr, E.Range)) and kind is not Var
}


@walks_deeply("save a trace", ScheduleError)
def as_json(handles: Handles, entries: Iterable[Entry]) -> list[object]:
    """A trace as lists, dicts, numbers and texts."""
    return _HandleNames(handles, list(entries)).data


class _HandleNames:
    """Names handles as the trace's program does."""

    data: list[object]

    def __init__(self, handles: Handles, entries: list[Entry]) -> None:
        self._handles = handles
        self._listing = Listing(handles, entries)
        self._variables: dict[Var, str] = {}
        roots = [self._root(value) for value in handles.roots]
        head = [[_ROOT, [], handles.signature, roots]] if roots else []
        instructions = [*head, *map(self._instruction, entries)]
        decisions = [
            [number, entry.decision]
            for number, entry in enumerate(entries, len(head))
            if entry.decision is not None
        ]
        self.data = json.loads(json.dumps([instructions, decisions]))

    def _root(self, value: object) -> str | None:
        is_constant = self._handles.name_of(value, 0) is None and not isinstance(value, Var)
        return None if is_constant else self._named(value)

    def _named(self, handle: object) -> str:
        if handle is None:
            return "_"
        label = self._listing.label(handle)
        variable = self._handles.variable_of(handle)
        if variable is not None:
            self._variables[variable] = label
        return label

    def _instruction(self, entry: Entry) -> list[object]:
        arguments, attributes = entry.primitive.divided(entry.arguments)
        target = [entry.target] if entry.primitive.has_target else []
        inputs = [self._value(handle) for handle in (*target, *arguments)]
        attributes = [
            int(attribute) if isinstance(attribute, bool) else attribute for attribute in attributes
        ]
        name = self._handles.instruction_name(entry.method)
        return [name, inputs, attributes, [self._named(item) for item in entry.results]]

    def _value(self, value: Any) -> object:
        if value is None:
            return _NONE
        if isinstance(value, (bool, int, float)):
            return value
        if isinstance(value, str):
            return json.dumps(value)
        if isinstance(value, IndexMap):
            return save_index_map(self._listing.renamed(value))
        if isinstance(value, (list, tuple)):
            return [self._value(item) for item in value]
        if isinstance(value, Mapping):
            return {key: self._value(item) for key, item in value.items()}
        if isinstance(value, HandleReference):
            return {type(value).__name__: self._listing.label(value.handle)}
        if self._handles.name_of(value, 0) is not None:
            return self._listing.label(value)
        if isinstance(value, Var):
            return {"Var": self._variables.get(value) or self._listing.label(value)}
        node: Any = value if isinstance(value, Node) else ops.convert(value)
        fields = [field.name for field in dataclasses.fields(node) if field.init]
        return {type(node).__name__: [self._value(getattr(node, name)) for name in fields]}


def apply_json(data: list[Any], schedule: Traced, names: Mapping[str, object]) -> None:
    """Apply a saved trace; `names` has the handles that are not declared with the schedule."""
    with _malformed():
        instructions, decisions = data
        values = dict(decisions)
        reader = _ResolvedHandles(schedule, names)
        first = reader.read_roots(instructions)
    for number, instruction in enumerate(instructions[first:], first):
        with _malformed():
            owner, entry, labels = reader.read(instruction, values.get(number))
        results = as_results(entry.primitive.call(owner, entry))
        reader.known.update(zip(labels, results, strict=False))


@contextmanager
def _malformed() -> Iterator[None]:
    try:
        yield
    except (TypeError, ValueError, KeyError, IndexError, AttributeError) as error:
        raise ScheduleError(
            f"invalid JSON of a trace: {type(error).__name__}: {error}",
            "it differs from what as_json of a trace returns",
            "pass what trace.as_json() returned, or json.loads of what was saved of it",
        ) from error


class _ResolvedHandles:
    """Resolves the names in the JSON of a trace on a schedule."""

    def __init__(self, schedule: Traced, names: Mapping[str, object]) -> None:
        self._schedule, self._handles = schedule, schedule.trace.handles
        self.known = dict(names)

    def read_roots(self, instructions: list[Any]) -> int:
        """Name the tensors that the schedule was created of, if its kind has such handles; returns
        the number of instructions for them.
        """
        roots = self._handles.roots
        declares = bool(instructions) and instructions[0][0] == _ROOT
        if not (declares or roots):
            return 0
        _, _, signature, labels = instructions[0]
        expected = json.loads(json.dumps(self._handles.signature))
        check_signature(signature if declares else [], expected)
        self.known.update(zip(labels, roots, strict=True))
        return 1

    def read(self, instruction: Any, decision: object) -> tuple[object, Entry, list[str]]:
        """The target of an instruction's primitive, the call, and the names of its results."""
        name, inputs, attributes, labels = instruction
        if not all(isinstance(label, str) for label in labels):
            raise ValueError(f"the results are not names: {labels}")
        primitive: Primitive | None = self._handles.primitive(self._schedule, name)
        if primitive is None:
            raise ValueError(f"unknown primitive {name}")
        values, constants = list(map(self._value, inputs)), list(attributes)
        owner = values.pop(0) if primitive.has_target else self._schedule
        if isinstance(owner, Mapping):
            raise ValueError(f"unknown kind of handle {', '.join(owner)}")
        arguments = primitive.joined(values, constants)
        return owner, Entry(primitive, None, arguments, (), decision=decision), labels

    def _value(self, data: object) -> object:
        if isinstance(data, str):
            if data.startswith('"'):
                return json.loads(data)
            if data.startswith("{"):
                return self._named(load_index_map(data))
            return None if data == _NONE else self._find(data)
        if isinstance(data, list):
            return tuple(map(self._value, data))
        if not isinstance(data, dict):
            return data
        if len(data) != 1 or not isinstance(next(iter(data.values())), list | str):
            return {key: self._value(item) for key, item in data.items()}
        ((kind, content),) = data.items()
        if kind in self._handles.references:
            handle = self._find(content)
            return self._handles.references[kind](handle).resolve(self._schedule, handle)
        if kind == "Var":
            live_handle = self._find(content)
            variable = self._handles.variable_of(live_handle)
            return live_handle if variable is None else variable
        if kind not in _NODES:
            return {kind: self._value(content)}
        node = _NODES[kind](*map(self._value, content))
        check_fields(node)
        return node

    def _named(self, node: IndexMap) -> IndexMap:
        """An index map with the variables that have names of the trace."""
        names = {var: var.name for var in variables_of(node)}
        handles = {var: self.known[name] for var, name in names.items() if name in self.known}
        return substitute(
            node, {var: handle for var, handle in handles.items() if isinstance(handle, Expr)}
        )

    def _find(self, name: str) -> object:
        if name not in self.known:
            raise ScheduleError(
                f"trace needs {name}, which is not in the schedule",
                "it is neither declared with the schedule nor made by a primitive of the trace",
                f"pass it by its name: names={{{name!r}: ...}}",
            )
        return self.known[name]

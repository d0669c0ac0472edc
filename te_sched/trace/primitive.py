"""The declaration of a primitive: a function with the kinds of its parameters.

Applying, recording, printing, replaying and saving of calls follow from it. Must not know any
primitive.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping, Sequence
from functools import wraps
from inspect import Parameter as PythonParameter
from inspect import signature
from operator import attrgetter
from typing import Any, NamedTuple, TypeVar, cast

from te_sched.errors import user_place
from te_sched.signatures import raise_unbound
from te_sched.trace.drafts import Changes
from te_sched.trace.entries import Entry

_F = TypeVar("_F", bound=Callable[..., object])
_REQUIRED = PythonParameter.empty
DECISION = "decision"  # the parameter of primitives that sample; the entry has its value


class ArgumentKind(NamedTuple):
    """How the trace handles an argument. `record` converts it to the value that the trace stores,
    in the schedule before the call; without it the argument is stored. An attribute is a constant,
    never a handle or an expression. Programs write `by_name` arguments as `name=value`, and omit
    default values, except if `is_always_shown`. JSON has the items of a list that `is_flat` each
    as an input, and others as `width` values: `packed` makes them, `unpacked` the argument.
    """

    record: Callable[[Any, Any], object] | None = None
    is_attribute: bool = False
    by_name: bool = False
    is_always_shown: bool = False
    is_flat: bool = False
    packed: Callable[[Any], Sequence[object]] | None = None
    unpacked: Callable[[list[Any]], object] | None = None
    width: int = 1


_PLAIN = ArgumentKind()


class PrimitiveParameter(NamedTuple):
    """A parameter of a primitive; of several arguments if `is_variadic`."""

    name: str
    kind: ArgumentKind
    default: object
    is_variadic: bool

    def is_shown(self, value: object) -> bool:
        """Whether an argument is written in programs."""
        if self.default is _REQUIRED or self.kind.is_always_shown:
            return True
        is_default = type(value) in (bool, int, str) and value == self.default
        return not is_default and value is not self.default


class Primitive:
    """The name, parameters and effect of a primitive. `has_target`: it is a method of a part of the
    schedule, such as a stage, rather than of the schedule. `is_naming`: it only has results, and
    changes nothing.
    """

    __slots__ = (
        "_by_place",
        "_defaults",
        "_recorded",
        "_rest",
        "has_target",
        "heading",
        "is_naming",
        "name",
        "origin",
        "parameters",
        "returns_list",
        "text",
    )

    def __init__(
        self,
        name: str,
        parameters: Sequence[PrimitiveParameter] = (),
        has_target: bool = False,
        text: str = "",
        heading: str = "",
        returns_list: bool = False,
        is_naming: bool = False,
        origin: tuple[str, str] = ("", ""),
    ) -> None:
        self.origin = origin
        self.name, self.parameters, self.has_target, self.text = name, parameters, has_target, text
        self.heading, self.returns_list, self.is_naming = heading, returns_list, is_naming
        names = [parameter.name for parameter in parameters]
        self._rest = next((parameter.name for parameter in parameters if parameter.is_variadic), "")
        self._by_place = names[: names.index(self._rest)] if self._rest else names
        self._defaults = {
            parameter.name: () if parameter.is_variadic else parameter.default
            for parameter in parameters
        }
        self._recorded = [
            (parameter.name, parameter.kind.record)
            for parameter in parameters
            if parameter.kind.record
        ]

    def __reduce__(self) -> tuple[Callable[..., Primitive], tuple[str, ...]]:
        """Pickle writes where it is declared."""
        return _declared_at, self.origin

    @property
    def gives_tuple(self) -> bool:
        """Whether it returns several results, even if it is one."""
        return self.returns_list

    @property
    def summary(self) -> str:
        """The first sentence of the primitive's documentation."""
        return " ".join(self.text.strip().partition("\n\n")[0].split())

    def recorded(
        self, schedule: object, args: Sequence[object], options: Mapping[str, object]
    ) -> dict[str, object]:
        """The arguments of a call by name, as the trace stores them."""
        arguments = self._defaults.copy()
        arguments.update(zip(self._by_place, args, strict=False))
        if options:
            arguments.update(options)
            arguments.pop(DECISION, None)
        if self._rest:
            arguments[self._rest] = tuple(args[len(self._by_place) :])
        for name, record in self._recorded:
            arguments[name] = record(schedule, arguments[name])
        return arguments

    def divided(self, arguments: Mapping[str, Any]) -> tuple[list[object], list[object]]:
        """The inputs and the attributes of a call, as instructions in JSON have them."""
        inputs: list[object] = []
        attributes: list[object] = []
        for parameter in self.parameters:
            value = arguments[parameter.name]
            target = attributes if parameter.kind.is_attribute else inputs
            if parameter.kind.packed is not None:
                target += parameter.kind.packed(value)
            elif parameter.is_variadic or parameter.kind.is_flat:
                target += value or ()
            else:
                target.append(value)
        return inputs, attributes

    def joined(self, inputs: Sequence[object], attributes: Sequence[object]) -> dict[str, object]:
        """The arguments by name, of what `divided` gave."""
        values, constants = [*inputs], [*attributes]
        arguments: dict[str, object] = {}
        for parameter in self.parameters:
            source = constants if parameter.kind.is_attribute else values
            if parameter.is_variadic or parameter.kind.is_flat:
                rest = tuple(values) if parameter.is_variadic else values
                arguments[parameter.name], values = rest, []
            elif parameter.kind.unpacked is not None:
                width = parameter.kind.width
                arguments[parameter.name] = parameter.kind.unpacked(source[:width])
                del source[:width]
            else:
                arguments[parameter.name] = source.pop(0)
        return arguments

    def shown(self, entry: Entry) -> tuple[list[object], dict[str, object]]:
        """The positional and keyword arguments in a program."""
        by_place: list[object] = []
        by_name: dict[str, object] = {}
        for parameter in self.parameters:
            value = entry.arguments[parameter.name]
            if parameter.is_variadic:
                by_place += value
            elif parameter.is_shown(value):
                if parameter.kind.by_name:
                    by_name[parameter.name] = value
                else:
                    by_place.append(value)
        if entry.decision is not None:
            by_name[DECISION] = entry.decision
        return by_place, by_name

    def call_text(self, owner: str, entry: Entry, text_of: Callable[[object], str]) -> str:
        """A call in a program."""
        by_place, by_name = self.shown(entry)
        arguments = [text_of(value) for value in by_place]
        arguments += [f"{name}={text_of(value)}" for name, value in by_name.items()]
        return f"{owner}.{self.name}({', '.join(arguments)})"

    def call(self, owner: object, entry: Entry) -> object:
        """Apply an entry."""
        by_place, by_name = self.shown(entry)
        return getattr(owner, self.name)(*by_place, **by_name)


def primitive(
    heading: str = "", has_target: bool = False, is_naming: bool = False, **kinds: ArgumentKind
) -> Callable[[_F], _F]:
    """Make a method a primitive: `kinds` are those of its parameters that are not plain.

    `heading` describes a call, with {parameter}, {results} and {stage}, its target; `is_naming` is
    whether it only has results.

    The method checks its arguments and computes the new state on drafts (`self.draft`). If it
    succeeds, the call is recorded and the drafts are committed; if it raises, the schedule is
    unchanged.
    """

    def declare(body: _F) -> _F:
        returned = str(signature(body).return_annotation)
        declared = Primitive(
            body.__name__,
            _parameters(body, kinds),
            has_target,
            body.__doc__ or "",
            heading,
            returned.startswith("list"),
            is_naming,
            (body.__module__, body.__qualname__),
        )
        body.__qualname__ = body.__name__  # Python's errors about arguments show it

        @wraps(body)
        def call(self: Any, *args: object, **options: object) -> object:
            schedule = self.schedule if has_target else self
            handles = schedule.trace.handles
            with Changes(schedule, user_place()) as changes:
                try:
                    result = body(self, *args, **options)
                except TypeError:
                    raise_unbound(body, declared.name, (self, *args), options)
                    raise
                entry = Entry(
                    declared,
                    handles.reference(self) if has_target else None,
                    declared.recorded(schedule, args, options),
                    as_results(result),
                    changes.place,
                    changes.decision,
                )
                introduced = handles.introduced(schedule, entry, schedule.trace.known)
            schedule.trace.extend(introduced, entry)
            return result

        call.declared = declared  # type: ignore[attr-defined]
        return cast(_F, call)

    return declare


def _declared_at(module: str, path: str) -> Primitive:
    """The primitive that a module declares, by its path there."""
    declared: Primitive = attrgetter(path)(importlib.import_module(module)).declared
    return declared


def _parameters(
    body: Callable[..., object], kinds: Mapping[str, ArgumentKind]
) -> tuple[PrimitiveParameter, ...]:
    parameters = list(signature(body).parameters.values())[1:]
    return tuple(
        [
            PrimitiveParameter(
                parameter.name,
                kinds.get(parameter.name, _PLAIN),
                parameter.default,
                parameter.kind is parameter.VAR_POSITIONAL,
            )
            for parameter in parameters
            if parameter.name != DECISION
        ]
    )


def as_results(result: object) -> tuple[object, ...]:
    """The handles among the results of a primitive."""
    if result is None:
        return ()
    return tuple(result) if isinstance(result, (tuple, list)) else (result,)

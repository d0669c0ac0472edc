"""What a method of a module is called with: its arguments, by name, as tensors, ints and tuples.

    {"forward": {"x": spec.Tensor([1, "n"], "float32"), "count": int}}

Must not know the builder.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated

from te_sched.absent_names import tell_of_absent_names as _tell_of_absent_names
from te_sched.errors import GraphError, did_you_mean, kind_of, repr_of
from te_sched.relax.frontend.nn.core import NNModule, NNObject, SizeOrName

MODES = ("plain", "packed", "none")
_SETTINGS = "$"  # the key of the settings of a method


@dataclass(frozen=True, repr=False)
class IntSpec:
    """An int (`spec.Int`)."""

    def __repr__(self) -> str:
        return "int"


@dataclass(frozen=True, repr=False)
class TensorSpec:
    """A tensor, with ints and names for sizes (`spec.Tensor`).

    >>> TensorSpec([1, "n"], "float32")
    Tensor([1, n], 'float32')
    """

    shape: Sequence[SizeOrName]
    dtype: str

    def __post_init__(self) -> None:
        object.__setattr__(self, "shape", list(self.shape))

    def __repr__(self) -> str:
        return f"Tensor([{', '.join(map(str, self.shape))}], {self.dtype!r})"


@dataclass(frozen=True, repr=False)
class ObjectSpec:
    """Another value (`spec.Object`); the method gets an instance of a class of `nn.Object`."""

    object_type: type[NNObject]

    def __repr__(self) -> str:
        return "object"


@dataclass(frozen=True, repr=False)
class TupleSpec:
    """Several values; the method gets a tuple or a list of them (`spec.Tuple`)."""

    name: str
    elements: Annotated[list[Spec] | tuple[Spec, ...], "or what as_spec takes"]

    def __repr__(self) -> str:
        return repr(self.elements)


# What a method is called with, for one parameter.
Spec = Annotated["IntSpec | TensorSpec | ObjectSpec | TupleSpec", "what as_spec gives"]


def as_spec(given: object, name: str) -> Spec:
    """The kind of an argument: a spec, `int` or "int", or a list or tuple of them."""
    if isinstance(given, IntSpec | TensorSpec | ObjectSpec):
        return given
    if given is int or given == "int":
        return IntSpec()
    if isinstance(given, TupleSpec):
        return as_spec(given.elements, given.name)
    if isinstance(given, list | tuple) and not any(isinstance(one, int) for one in given):
        elements = [as_spec(one, f"{name}_{n}") for n, one in enumerate(given)]
        return TupleSpec(name, type(given)(elements))
    raise GraphError(
        f"argument {name} is {repr_of(given)}, expected the spec of a value",
        f"it is {kind_of(given)}",
        'give spec.Tensor([1, "n"], "float32"), int, spec.Object(nn.Object), or a list of them',
    )


@dataclass
class MethodSpec:
    """A method, and what it is called with.

    `param_mode` and `effect_mode` say how its function is given parameters and effects: each as an
    argument ("plain"), as one tuple ("packed"), or not ("none").
    """

    method: Callable[..., object]
    arg_names: list[str]
    arg_specs: list[Spec]
    param_mode: str = "plain"
    effect_mode: str = "plain"

    @staticmethod
    def from_raw(spec: object, method: Callable[..., object]) -> MethodSpec:
        """The arguments of a method, in its order, from a dictionary of them."""
        if isinstance(spec, MethodSpec):
            return spec
        if not isinstance(spec, Mapping):
            raise GraphError(
                f"the spec of a method is {repr_of(spec)}",
                f"it is {kind_of(spec)}",
                "give a dictionary of its arguments",
            )
        name = getattr(method, "__name__", "the method")
        given = {key: one for key, one in spec.items() if key != _SETTINGS}
        parameters = inspect.signature(method).parameters
        unknown = [one for one in given if one not in parameters]
        missing = [
            one.name
            for one in parameters.values()
            if one.name not in given and one.default is one.empty and one.kind in _BY_NAME
        ]
        if (unknown and not _has_rest(parameters)) or missing:
            near = did_you_mean(unknown[0], parameters) if unknown else ""
            raise GraphError(
                f"the spec of {name} does not fit its arguments: {', '.join(unknown + missing)}",
                f"{name} takes {', '.join(parameters)}",
                f"give one for each argument{near}",
            )
        names = [one for one in parameters if one in given]
        names += [one for one in given if one not in names]
        settings = dict(spec.get(_SETTINGS, {}))
        modes = [settings.get(one, "plain") for one in ("param_mode", "effect_mode")]
        for mode in modes:
            if mode not in MODES:
                raise GraphError(
                    f"the mode {repr_of(mode)} of {name}", "", f"use one of {', '.join(MODES)}"
                )
        specs = [as_spec(given[one], one) for one in names]
        return MethodSpec(method, names, specs, *modes)

    @staticmethod
    def from_torch(args: Sequence[object], method: Callable[..., object]) -> MethodSpec:
        """The arguments of a method, from values of torch that it is called with."""
        names = list(inspect.signature(method).parameters)[: len(args)]
        return MethodSpec(
            method, names, [_spec_of(one, name) for one, name in zip(args, names, strict=True)]
        )

    def __repr__(self) -> str:
        pairs = zip(self.arg_names, self.arg_specs, strict=True)
        inner = ", ".join(f"{name}: {one}" for name, one in pairs)
        return f"{getattr(self.method, '__name__', 'MethodSpec')}({inner})"


_BY_NAME = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)


def _has_rest(parameters: Mapping[str, inspect.Parameter]) -> bool:
    return any(one.kind in (one.VAR_POSITIONAL, one.VAR_KEYWORD) for one in parameters.values())


def _spec_of(value: object, name: str) -> Spec:
    """The kind of a value of torch, or of an int, or of a tuple of them."""
    if isinstance(value, int):
        return IntSpec()
    if isinstance(value, list | tuple):
        elements = [_spec_of(one, f"{name}_{n}") for n, one in enumerate(value)]
        return TupleSpec(name, type(value)(elements))
    if hasattr(value, "dtype") and hasattr(value, "shape"):
        return TensorSpec([int(one) for one in value.shape], str(value.dtype).rpartition(".")[2])
    raise GraphError(
        f"argument {name} is {repr_of(value)}", f"it is {kind_of(value)}", "give tensors and ints"
    )


@dataclass
class ModuleSpec:
    """A module, and what its methods are called with."""

    module: NNModule
    method_names: list[str]
    method_specs: list[MethodSpec]

    @staticmethod
    def from_raw(spec: object, module: NNModule) -> ModuleSpec:
        """The methods of a module, from a dictionary of them."""
        if isinstance(spec, ModuleSpec):
            return spec
        if not isinstance(spec, Mapping):
            raise GraphError(
                f"the spec of a module is {repr_of(spec)}",
                f"it is {kind_of(spec)}",
                'give a dictionary: {"forward": {"x": spec.Tensor([1, 4], "float32")}}',
            )
        methods: list[MethodSpec] = []
        for name, one in spec.items():
            method = getattr(module, name, None)
            if method is None:
                raise GraphError(
                    f"module {type(module).__name__} has no method {name}",
                    "",
                    f"give a method of it{did_you_mean(name, dir(module))}"
                    if isinstance(one, Mapping)
                    else 'name the method first: {"forward": {"x": spec.Tensor([4], "float32")}}',
                )
            methods.append(MethodSpec.from_raw(one, method))
        return ModuleSpec(module, list(spec), methods)

    def __repr__(self) -> str:
        lines = "\n".join(f"  {one}" for one in self.method_specs)
        return f"ModuleSpec:\n{lines}"


Int = IntSpec
Tensor = TensorSpec
Object = ObjectSpec
Tuple = TupleSpec

_tell_of_absent_names(__name__)

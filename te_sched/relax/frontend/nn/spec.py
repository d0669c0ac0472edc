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


def as_spec(value: object, name: str) -> Spec:
    """The kind of an argument: a spec, `int` or "int", or a list or tuple of them."""
    if isinstance(value, IntSpec | TensorSpec | ObjectSpec):
        return value
    if value is int or value == "int":
        return IntSpec()
    if isinstance(value, TupleSpec):
        return as_spec(value.elements, value.name)
    if isinstance(value, list | tuple) and not any(isinstance(element, int) for element in value):
        elements = [as_spec(element, f"{name}_{n}") for n, element in enumerate(value)]
        return TupleSpec(name, type(value)(elements))
    raise GraphError(
        f"argument {name} is {repr_of(value)}, expected the spec of a value",
        f"it is {kind_of(value)}",
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
        arg_specs = {key: value for key, value in spec.items() if key != _SETTINGS}
        parameters = inspect.signature(method).parameters
        unknown = [arg_name for arg_name in arg_specs if arg_name not in parameters]
        missing = [
            parameter.name
            for parameter in parameters.values()
            if parameter.name not in arg_specs
            and parameter.default is parameter.empty
            and parameter.kind in _BY_NAME
        ]
        if (unknown and not _has_rest(parameters)) or missing:
            near = did_you_mean(unknown[0], parameters) if unknown else ""
            raise GraphError(
                f"the spec of {name} does not fit its arguments: {', '.join(unknown + missing)}",
                f"{name} takes {', '.join(parameters)}",
                f"give one for each argument{near}",
            )
        names = [arg_name for arg_name in parameters if arg_name in arg_specs]
        names += [arg_name for arg_name in arg_specs if arg_name not in names]
        settings = dict(spec.get(_SETTINGS, {}))
        modes = [settings.get(key, "plain") for key in ("param_mode", "effect_mode")]
        for mode in modes:
            if mode not in MODES:
                raise GraphError(
                    f"the mode {repr_of(mode)} of {name}", "", f"use one of {', '.join(MODES)}"
                )
        specs = [as_spec(arg_specs[arg_name], arg_name) for arg_name in names]
        return MethodSpec(method, names, specs, *modes)

    @staticmethod
    def from_torch(args: Sequence[object], method: Callable[..., object]) -> MethodSpec:
        """The arguments of a method, from values of torch that it is called with."""
        names = list(inspect.signature(method).parameters)[: len(args)]
        return MethodSpec(
            method, names, [_spec_of(arg, name) for arg, name in zip(args, names, strict=True)]
        )

    def __repr__(self) -> str:
        pairs = zip(self.arg_names, self.arg_specs, strict=True)
        inner = ", ".join(f"{name}: {spec}" for name, spec in pairs)
        return f"{getattr(self.method, '__name__', 'MethodSpec')}({inner})"


_BY_NAME = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)


def _has_rest(parameters: Mapping[str, inspect.Parameter]) -> bool:
    return any(
        parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD)
        for parameter in parameters.values()
    )


def _spec_of(value: object, name: str) -> Spec:
    """The kind of a value of torch, or of an int, or of a tuple of them."""
    if isinstance(value, int):
        return IntSpec()
    if isinstance(value, list | tuple):
        elements = [_spec_of(element, f"{name}_{n}") for n, element in enumerate(value)]
        return TupleSpec(name, type(value)(elements))
    if hasattr(value, "dtype") and hasattr(value, "shape"):
        return TensorSpec([int(size) for size in value.shape], str(value.dtype).rpartition(".")[2])
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
        for name, method_spec in spec.items():
            method = getattr(module, name, None)
            if method is None:
                raise GraphError(
                    f"module {type(module).__name__} has no method {name}",
                    "",
                    f"give a method of it{did_you_mean(name, dir(module))}"
                    if isinstance(method_spec, Mapping)
                    else 'name the method first: {"forward": {"x": spec.Tensor([4], "float32")}}',
                )
            methods.append(MethodSpec.from_raw(method_spec, method))
        return ModuleSpec(module, list(spec), methods)

    def __repr__(self) -> str:
        lines = "\n".join(f"  {method_spec}" for method_spec in self.method_specs)
        return f"ModuleSpec:\n{lines}"


Int = IntSpec
Tensor = TensorSpec
Object = ObjectSpec
Tuple = TupleSpec

_tell_of_absent_names(__name__)

"""`module.jit`: a model, compiled, that is called with tensors of torch."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from te_sched import nd
from te_sched.errors import GraphError, repr_of
from te_sched.relax.frontend.nn.core import USES_OF_MODULES, NNModule, NNParameter, array_of
from te_sched.relax.frontend.nn.exporter import export
from te_sched.relax.frontend.nn.spec import IntSpec, MethodSpec, ModuleSpec, Spec, TupleSpec
from te_sched.relax.vm.build import build
from te_sched.relax.vm.bytecode import ShapeTuple
from te_sched.relax.vm.machine import VirtualMachine


def jit(
    module: NNModule, spec: object, device: object, pipeline: object, out_format: str, debug: bool
) -> TorchModule:
    """The module, compiled for a device."""
    if not isinstance(out_format, str) or out_format != "torch":
        raise GraphError(
            f"a module cannot be compiled to format {repr_of(out_format)}", "", 'use "torch"'
        )
    run_device = nd.device(device) if isinstance(device, str) else device
    methods = ModuleSpec.from_raw(spec, module)
    mod, params, _ = export(module, methods, debug)
    values = [_value_of(name, value) for name, value in params]
    built = build(mod, target="llvm", pipeline=pipeline)
    return TorchModule(methods, VirtualMachine(built, run_device), values)


def _value_of(name: str, param: NNParameter) -> nd.NDArray:
    if param.data is None:
        raise GraphError(
            f"parameter {name} has no values",
            "a module is compiled together with its parameters",
            "set them first: parameter.data = array, or load_state_dict",
        )
    return param.data


class TorchModule:
    """A compiled model: `compiled["forward"](x)` takes and returns tensors of torch.

    It keeps the effects from call to call.
    """

    def __init__(self, spec: ModuleSpec, vm: VirtualMachine, params: list[nd.NDArray]) -> None:
        self.spec, self.vm, self.params = spec, vm, params
        self.effects = self._first_effects()

    def _first_effects(self) -> list[object]:
        try:
            function = self.vm["_initialize_effect"]
        except (KeyError, AttributeError, ValueError):
            return []
        return list(function())

    def __getitem__(self, method_name: str) -> Callable[..., Any]:
        pairs = zip(self.spec.method_names, self.spec.method_specs, strict=True)
        methods = dict(pairs)
        if method_name not in methods:
            raise GraphError(
                f"the compiled module has no method {method_name}",
                "",
                f"use one of {', '.join(methods)}",
            )
        return lambda *args: self._call(method_name, methods[method_name], args)

    def _call(self, name: str, spec: MethodSpec, args: Sequence[object]) -> object:
        if len(args) != len(spec.arg_names):
            raise GraphError(
                f"method {name} is called with {len(args)} arguments, "
                f"expected {len(spec.arg_names)}",
                f"it takes {', '.join(spec.arg_names)}",
                "give one value for each",
            )
        inputs = [_to_graph(kind, arg) for kind, arg in zip(spec.arg_specs, args, strict=True)]
        has_effects = bool(self.effects) and spec.effect_mode != "none"
        for mode, values in ((spec.effect_mode, self.effects), (spec.param_mode, self.params)):
            if mode == "plain":
                inputs += values
            elif mode == "packed" and (values or values is self.params):
                inputs.append(tuple(values))
        result = self.vm[name](*inputs)
        if has_effects:
            result, self.effects = result[0], list(result[1])
        return _to_torch(result)


def _to_graph(kind: Spec, value: Any) -> object:
    """A value of the caller as one of the virtual machine."""
    if isinstance(kind, IntSpec):
        return ShapeTuple([int(value)])
    if isinstance(kind, TupleSpec):
        return tuple(
            [_to_graph(element, item) for element, item in zip(kind.elements, value, strict=True)]
        )
    return array_of(value) if hasattr(value, "shape") else value


def _to_torch(value: object) -> object:
    """A value of the virtual machine as one of torch; shares the memory of arrays."""
    import torch

    if isinstance(value, nd.NDArray):
        return torch.from_dlpack(value)
    if isinstance(value, list | tuple):
        return tuple([_to_torch(element) for element in value])
    return value


USES_OF_MODULES["jit"] = jit

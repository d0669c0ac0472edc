"""A module of a model becomes a module of graphs: a function for each method of the spec.

A function's parameters are the arguments of the method, the effects, and the parameters of the
model; its result is that of the method, and the effects after it. `_initialize_effect` makes the
first effects. Must not know operations.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from te_sched.errors import GraphError, kind_of, repr_of
from te_sched.ir.expr import Expr, Var
from te_sched.ir.graph import GraphExpr, GraphVar, Tuple, TupleGetItem, as_expr
from te_sched.ir.stmt import IRModule
from te_sched.ir.struct_info import (
    ObjectStructInfo,
    ShapeStructInfo,
    StructInfo,
    TensorStructInfo,
    TupleStructInfo,
)
from te_sched.public_members import PublicObject
from te_sched.relax.block_builder import BlockBuilder
from te_sched.relax.frontend.nn.core import (
    USES_OF_MODULES,
    NNEffect,
    NNModule,
    NNObject,
    NNParameter,
    NNTensor,
    sizes_of,
)
from te_sched.relax.frontend.nn.effects import IOEffect
from te_sched.relax.frontend.nn.spec import (
    IntSpec,
    MethodSpec,
    ModuleSpec,
    Spec,
    TensorSpec,
    TupleSpec,
)

# The module of graphs, the parameters with their paths, and the modules of compiled code.
Exported = tuple[IRModule, list[tuple[str, NNParameter]], list[object]]

_STATE = threading.local()  # .exports: those in progress in this thread, the innermost last


class Exporter(PublicObject):
    """The export of a module: its builder, the effect of debugging, modules of compiled code."""

    def __init__(self, debug: bool = False) -> None:
        self.builder = BlockBuilder()
        self.io_effect = IOEffect() if debug else None
        self.extern_modules: list[object] = []

    @staticmethod
    def current() -> Exporter | None:
        """The export in progress in this thread."""
        exports: list[Exporter] = getattr(_STATE, "exports", [])
        return exports[-1] if exports else None

    @contextmanager
    def _open(self) -> Iterator[None]:
        exports = _STATE.__dict__.setdefault("exports", [])
        exports.append(self)
        try:
            yield
        finally:
            exports.pop()

    def build(self, spec: ModuleSpec) -> Exported:
        """The module of graphs, the parameters, and the modules of compiled code."""
        params = list(spec.module.named_parameters())
        effects: list[tuple[str, NNEffect]] = list(spec.module.named_effects())
        if self.io_effect is not None:
            effects.insert(0, ("", self.io_effect))
        with self._open():
            if effects:
                self._emit_first_effects(effects)
            for name, method in zip(spec.method_names, spec.method_specs, strict=True):
                self._emit_method(name, method, params, effects)
        return self.builder.finalize(), params, self.extern_modules

    def _emit_first_effects(self, effects: list[tuple[str, NNEffect]]) -> None:
        builder = self.builder
        with builder.function("_initialize_effect", []):
            with builder.dataflow():
                states = [
                    state for name, effect in effects for state in effect.emit_init(name, builder)
                ]
                outputs = builder.emit_output(builder.emit(Tuple(tuple(states))))
            builder.emit_func_output(outputs)

    def _emit_method(
        self,
        name: str,
        spec: MethodSpec,
        params: list[tuple[str, NNParameter]],
        effects: list[tuple[str, NNEffect]],
    ) -> None:
        builder = self.builder
        names: dict[str, Var] = {}  # of the sizes of arguments
        arguments = [
            GraphVar(arg_name, _info_of(kind, arg_name, names))
            for arg_name, kind in zip(spec.arg_names, spec.arg_specs, strict=True)
        ]
        inputs = _Inputs(builder)
        if spec.effect_mode != "none":
            groups = [effect.create(path) for path, effect in effects]
            inputs.add([state for group in groups for state in group], spec, "effect")
        count = len(arguments) + len(inputs.params)
        if spec.param_mode != "none":
            sizes: dict[str, Var] = {}  # of the sizes of parameters
            variables = [param.declare(path.replace(".", "_"), sizes) for path, param in params]
            inputs.add(variables, spec, "param")
        with builder.function(name, [*arguments, *inputs.params], {"num_input": count}):
            with builder.dataflow():
                values = inputs.unpack()
                if spec.effect_mode != "none":
                    for (_, effect), group in zip(effects, groups, strict=True):
                        effect.set_state([values[state] for state in group])
                if spec.param_mode != "none":
                    for (_, param), variable in zip(params, variables, strict=True):
                        param.bind(values[variable])
                args = [
                    self._argument(kind, var, var.name_hint)
                    for kind, var in zip(spec.arg_specs, arguments, strict=True)
                ]
                result = _result_of(spec.method(*args), name)
                if effects and spec.effect_mode != "none":
                    after = [state for _, effect in effects for state in effect.finalize()]
                    result = Tuple((as_expr(result), Tuple(tuple(after))))
                output = builder.emit_output(result)
            builder.emit_func_output(output)

    def _argument(self, kind: Spec, value: GraphVar, name: str) -> object:
        """The value that a method is called with, for a parameter of the function."""
        if isinstance(kind, TensorSpec):
            return NNTensor(_expr=value)
        if isinstance(kind, IntSpec):
            return _size_in(value)
        if isinstance(kind, TupleSpec):
            items = [
                self.builder.emit(TupleGetItem(value, n), f"{name}_{n}")
                for n in range(len(kind.elements))
            ]
            pairs = zip(kind.elements, items, strict=True)
            make: Callable[[list[object]], object] = type(kind.elements)
            return make(
                [
                    self._argument(element, item, f"{name}_{n}")
                    for n, (element, item) in enumerate(pairs)
                ]
            )
        return kind.object_type(_expr=value, _name=name)


class _Inputs:
    """The parameters of a function for effects and parameters of the model."""

    def __init__(self, builder: BlockBuilder) -> None:
        self.builder = builder
        self.params: list[GraphVar] = []
        self.groups: list[tuple[GraphVar | None, list[GraphVar]]] = []

    def add(self, variables: list[GraphVar], spec: MethodSpec, kind: str) -> None:
        """Add variables: one parameter each, or one for all."""
        if getattr(spec, f"{kind}_mode") == "plain":
            self.params += variables
            self.groups.append((None, variables))
            return
        info = TupleStructInfo(tuple([var.struct_info for var in variables]))
        packed = GraphVar(f"packed_{kind}s", info)
        self.params.append(packed)
        self.groups.append((packed, variables))

    def unpack(self) -> dict[GraphVar, GraphVar]:
        """The variables in the function, for each that was added."""
        values: dict[GraphVar, GraphVar] = {}
        for packed, variables in self.groups:
            for n, var in enumerate(variables):
                if packed is None:
                    values[var] = var
                else:
                    values[var] = self.builder.emit(TupleGetItem(packed, n), var.name_hint)
        return values


def _size_in(value: GraphVar) -> Expr:
    """The size that an int of a method is: the only one of a shape."""
    info = value.struct_info
    assert isinstance(info, ShapeStructInfo)
    assert info.values is not None
    return info.values[0]


def _info_of(kind: Spec, name: str, names: dict[str, Var]) -> StructInfo:
    """The struct info of an argument of a kind."""
    if isinstance(kind, TensorSpec):
        return TensorStructInfo(sizes_of(kind.shape, names), kind.dtype)
    if isinstance(kind, IntSpec):
        return ShapeStructInfo((Var(name, "int64"),))
    if isinstance(kind, TupleSpec):
        elements = [
            _info_of(element, f"{name}_{n}", names) for n, element in enumerate(kind.elements)
        ]
        return TupleStructInfo(tuple(elements))
    return ObjectStructInfo()


def _result_of(value: object, name: str) -> GraphExpr:
    """The expression of the result of a method."""
    if isinstance(value, list | tuple):
        return Tuple(tuple([_result_of(element, name) for element in value]))
    if not isinstance(value, NNTensor | NNObject):
        raise GraphError(
            f"method {name} returns {repr_of(value)}",
            f"it is {'an expression' if isinstance(value, Expr) else kind_of(value)}",
            "return tensors, objects, and lists and tuples of them",
        )
    return value._expr


def export(module: NNModule, spec: object, debug: bool = False) -> Exported:
    """The module of graphs, the parameters, and the modules of compiled code."""
    return Exporter(debug).build(ModuleSpec.from_raw(spec, module))


def add_extern(mod: object) -> None:
    """Add a module of compiled code to the export in progress."""
    exporter = Exporter.current()
    if exporter is None:
        raise GraphError(
            "a module of compiled code is added outside of an export",
            "",
            "add it in a method that is exported",
        )
    if mod not in exporter.extern_modules:
        exporter.extern_modules.append(mod)


USES_OF_MODULES["export"] = export

"""UpdateVDevice and RealizeVDevice: the devices of the values of a graph.

RealizeVDevice gives each value the device that follows from those that are known: all tensors of a
call of an operator are on one device, `R.hint_on_device(x, device)` says where a value shall be.
Where the argument of a hint is elsewhere, the hint becomes `R.to_vdevice`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TypeVar

from te_sched.errors import GraphError, counted
from te_sched.ir.graph import (
    Binding,
    GraphCall,
    GraphExpr,
    GraphFunction,
    GraphValue,
    GraphVar,
    If,
    OpAttrs,
    SeqExpr,
    Tuple,
    TupleGetItem,
    VarBinding,
)
from te_sched.ir.op import Op
from te_sched.ir.stmt import IRModule
from te_sched.ir.struct_info import StructInfo, TensorStructInfo, TupleStructInfo, VDevice
from te_sched.ir.structural import structural_equal
from te_sched.ir.visitor import replace
from te_sched.passes import ModulePass
from te_sched.relax.analysis.variables import bindings_of, nodes_of
from te_sched.relax.core.values import is_call_of
from te_sched.relax.expr_functor import PyExprMutator, map_call
from te_sched.relax.op import to_vdevice
from te_sched.runtime.device import device

_Path = tuple[int, ...]  # of an element of nested tuples
_Place = tuple[GraphVar, _Path]
_Device = VDevice | None
_Info = TypeVar("_Info", bound=StructInfo | None)


class UpdateVDevice(ModulePass):
    """The pass that puts another device in the place of one, wherever a value is on it.

    Parameters
    ----------
    index : the number of the old device among those of the module.

    >>> from te_sched import IRModule, relax
    >>> module = IRModule({})
    >>> module.update_global_info("vdevice", [VDevice("llvm"), VDevice("cuda")])
    >>> UpdateVDevice(VDevice("cuda", 1), 1)(module).global_infos["vdevice"][1].vdevice_id
    1
    """

    def __init__(self, new_vdevice: VDevice, index: int) -> None:
        self.new_vdevice = new_vdevice
        self.index = index

    def transform_module(self, mod: IRModule, *_: object) -> IRModule:
        devices = list(mod.global_infos.get("vdevice", ()))
        if not 0 <= self.index < len(devices):
            raise GraphError(
                f"device {self.index} is replaced in a module of {counted(len(devices), 'device')}",
                "",
                "give the number of a device of the module",
            )
        old, devices[self.index] = devices[self.index], self.new_vdevice

        def exchanged(vdevice: _Device) -> _Device:
            return self.new_vdevice if _are_equal(vdevice, old) else vdevice

        infos = {**mod.global_infos, "vdevice": tuple(devices)}
        mapper = _Exchange(exchanged)
        functions = {
            str(name): mapper.visit_expr(func) if isinstance(func, GraphFunction) else func
            for name, func in mod.functions.items()
        }
        return replace(mod, functions=functions, global_infos=infos)


class RealizeVDevice(ModulePass):
    """The pass that gives the values of graphs their devices, and removes `R.hint_on_device`.

    Raises
    ------
    GraphError for a hint on a device that the module does not have, and if a value would have to be
        on two devices.

    >>> from te_sched import IRModule, cpu, relax
    >>> x = relax.Var("x", relax.TensorStructInfo([4], "float32"))
    >>> builder = relax.BlockBuilder()
    >>> with builder.function("main", [x]):
    ...     y = builder.emit(relax.op.hint_on_device(relax.op.exp(x), cpu()))
    ...     gv = builder.emit_func_output(y)
    >>> module = builder.get()
    >>> module.update_global_info("vdevice", [VDevice("llvm")])
    >>> RealizeVDevice()(module)["main"].params[0].struct_info.vdevice.kind
    'llvm'
    """

    def transform_module(self, mod: IRModule, *_: object) -> IRModule:
        functions = dict(mod.functions)
        for name, func in mod.functions.items():
            if isinstance(func, GraphFunction):
                functions[name] = _Placed(_Devices(func, mod)).visit_expr(func)
        return replace(mod, functions=functions)


def _are_equal(a: _Device, b: _Device) -> bool:
    return a is b or (a is not None and b is not None and structural_equal(a, b))


def _map_devices(
    info: _Info, map_device: Callable[[_Device, _Path], _Device], path: _Path = ()
) -> _Info:
    """A struct info with other devices of its tensors; itself if none changes."""
    if isinstance(info, TensorStructInfo):
        new = map_device(info.vdevice, path)
        return info if new is info.vdevice else replace(info, vdevice=new)
    if isinstance(info, TupleStructInfo):
        fields = [
            _map_devices(field, map_device, (*path, at)) for at, field in enumerate(info.fields)
        ]
        is_same = all(field is other for field, other in zip(fields, info.fields, strict=True))
        return info if is_same else replace(info, fields=tuple(fields))
    return info


class _Exchange(PyExprMutator):
    """Maps the devices of all values."""

    def __init__(self, map_device: Callable[[_Device], _Device]) -> None:
        super().__init__()
        self._map = map_device

    def visit_struct_info(self, info: StructInfo) -> StructInfo:
        """The struct info with other devices."""
        new = super().visit_struct_info(info)
        new_info: StructInfo = _map_devices(new, lambda old, path: self._map(old))
        return new_info

    def visit_call_(self, op: GraphCall) -> GraphExpr:
        """The call; `to_vdevice` goes to the other device."""
        call = map_call(self, op)
        old = getattr(call.attrs, "dst_vdevice", None)
        if call.op != "relax.to_vdevice" or self._map(old) is old:
            return call
        return to_vdevice(call.args[0], self._map(old))


class _Devices:
    """The devices of the variables of a function, by the places of their tensors."""

    def __init__(self, func: GraphFunction, mod: IRModule) -> None:
        self._module_devices = mod.global_infos.get("vdevice", ())
        self._parents: dict[_Place, _Place] = {}
        self._known: dict[_Place, VDevice] = {}
        self.hints: dict[GraphVar, VDevice] = {}
        hinted: list[tuple[GraphVar, GraphValue]] = []
        for function in _functions_in(func):
            self._function(function)
            for binding in bindings_of(function):
                self._binding(binding, hinted)
        for var, argument in hinted:  # an argument without a device is where it is needed
            for slot in _places(argument):
                if self.of(slot) is None:
                    self._place(slot, self.hints[var])

    def of(self, slot: _Place) -> VDevice | None:
        """The device of a tensor, if it is known."""
        return self._known.get(self._root(slot))

    def _root(self, slot: _Place) -> _Place:
        while slot in self._parents:
            slot = self._parents[slot]
        return slot

    def _join(self, a: _Place, b: _Place) -> None:
        """Put two tensors on one device."""
        a, b = self._root(a), self._root(b)
        if a == b:
            return
        vdevice = self._known.pop(a, None)
        self._parents[a] = b
        if vdevice is not None:
            self._place(b, vdevice)

    def _place(self, slot: _Place, where: VDevice) -> None:
        root = self._root(slot)
        actual = self._known.setdefault(root, where)
        if not _are_equal(actual, where):
            raise GraphError(
                f"value {slot[0].name_hint} would be on devices {actual.kind}:{actual.vdevice_id} "
                f"and {where.kind}:{where.vdevice_id}",
                "it is used together with values of both",
                "copy one with relax.op.to_vdevice(value, device)",
            )

    def _declared(self, var: GraphVar, info: StructInfo | None) -> None:
        """What a struct info says of the devices of a variable."""

        def note(where: _Device, path: _Path) -> _Device:
            if where is not None:
                self._place((var, path), where)
            return where

        _map_devices(info, note)

    def _function(self, func: GraphFunction) -> None:
        for param in func.params:
            self._declared(param, param.struct_info_)
        body = func.body
        if isinstance(body, SeqExpr):
            self._of_value(body.body, func.ret_struct_info)

    def _of_value(self, value: GraphValue, info: StructInfo | None) -> None:
        if isinstance(value, Tuple) and isinstance(info, TupleStructInfo):
            for field, part in zip(value.fields, info.fields, strict=True):
                self._of_value(field, part)
        elif isinstance(value, GraphVar):
            self._declared(value, info)

    def _binding(self, binding: Binding, hinted: list[tuple[GraphVar, GraphValue]]) -> None:
        var, value = binding.var, binding.value
        self._declared(var, var.struct_info_)
        if not isinstance(binding, VarBinding) or isinstance(value, GraphVar):
            self._same(var, (), value)
        elif isinstance(value, Tuple):
            for at, field in enumerate(value.fields):
                self._same(var, (at,), field)
        elif isinstance(value, TupleGetItem):
            source = value.tuple_value
            if isinstance(source, GraphVar):
                for slot in _places(var):
                    self._join(slot, (source, (value.index, *slot[1])))
        elif isinstance(value, If):
            for branch in value.branches:
                self._same(var, (), branch.body)
        elif is_call_of(value, "relax.hint_on_device"):
            where = self.hints[var] = self._device(value.attrs)
            self._place((var, ()), where)
            hinted.append((var, value.args[0]))
        elif isinstance(value, GraphCall) and _is_on_one_device(value):
            self._together([*_places(var), *[p for arg in value.args for p in _places(arg)]])

    def _together(self, places: list[_Place]) -> None:
        for slot in places[1:]:
            self._join(places[0], slot)

    def _same(self, var: GraphVar, path: _Path, value: GraphValue) -> None:
        """A value, or an element of it, is another one."""
        for other, inner in _places(value):
            self._join((var, (*path, *inner)), (other, inner))

    def _device(self, hint: OpAttrs) -> VDevice:
        """The device of the module that a hint means."""
        for candidate in self._module_devices:
            if _number(candidate) == (hint.dev_type, hint.dev_id):
                return candidate  # type: ignore[no-any-return]
        names = ", ".join(
            [f"{vdevice.kind}:{vdevice.vdevice_id}" for vdevice in self._module_devices]
        )
        raise GraphError(
            f"a hint is on device {device(hint.dev_type, hint.dev_id)}, "
            "which the module does not have",
            f"it has {names or 'none'}",
            'declare it: I.module_global_infos({"vdevice": [I.vdevice("llvm")]})',
        )


def _number(where: VDevice) -> tuple[int, int]:
    """The type and number of a device."""
    runtime_device = device(where.kind, max(where.vdevice_id, 0))
    return runtime_device.device_type, runtime_device.device_id


def _is_on_one_device(call: GraphCall) -> bool:
    """Whether the arguments and results of a call must be on one device."""
    others = ("relax.to_vdevice", "relax.call_pure_packed")
    return isinstance(call.op, Op) and call.op not in others


def _places(value: GraphValue) -> Iterator[_Place]:
    """The tensors of a variable, or of the variables of a tuple."""
    if isinstance(value, Tuple):
        for field in value.fields:
            yield from _places(field)
    if not isinstance(value, GraphVar):
        return
    paths: list[_Path] = []
    _map_devices(value.struct_info_, lambda old, path: paths.append(path) or old)  # type: ignore[func-returns-value]
    for path in paths:
        yield value, path


def _functions_in(func: GraphFunction) -> list[GraphFunction]:
    return [func, *[node for node in nodes_of(func.body) if isinstance(node, GraphFunction)]]


class _Placed(PyExprMutator):
    """Declares variables on their devices."""

    def __init__(self, devices: _Devices) -> None:
        super().__init__()
        self._devices = devices

    def visit_var_def_(self, var: GraphVar) -> GraphVar:
        """The variable on its device."""
        new = super().visit_var_def_(var)
        info = self._placed(var, new.struct_info_)
        return new if info is new.struct_info_ else self._retyped(var, new, info)

    visit_dataflow_var_def_ = visit_var_def_

    def _placed(self, var: GraphVar, info: _Info) -> _Info:
        return _map_devices(info, lambda old, path: self._devices.of((var, path)) or old)

    def visit_var_binding_(self, binding: VarBinding) -> None:
        """The binding; a hint is a copy to another device, or nothing."""
        value = binding.value
        if is_call_of(value, "relax.hint_on_device"):
            self._hint(binding, value)
            return
        if isinstance(value, GraphCall) and isinstance(value.op, Op) and value.sinfo_args:
            infos = tuple([self._placed(binding.var, info) for info in value.sinfo_args])
            if any(info is not other for info, other in zip(infos, value.sinfo_args, strict=True)):
                call = self.visit_expr(GraphCall(value.op, value.args, value.attrs, infos))
                self.reemit_binding(binding, call)
                return
        super().visit_var_binding_(binding)

    def _hint(self, binding: VarBinding, value: GraphCall) -> None:
        source = self.visit_expr(value.args[0])
        where = self._devices.hints[binding.var]
        info = source.struct_info_
        is_there = isinstance(info, TensorStructInfo) and _are_equal(info.vdevice, where)
        new = source if is_there else to_vdevice(source, where)
        self.reemit_binding(binding, self.builder_.normalize(new))

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
        known = list(mod.global_infos.get("vdevice", ()))
        if not 0 <= self.index < len(known):
            raise GraphError(
                f"device {self.index} is replaced in a module of {counted(len(known), 'device')}",
                "",
                "give the number of a device of the module",
            )
        old, known[self.index] = known[self.index], self.new_vdevice

        def exchanged(given: _Device) -> _Device:
            return self.new_vdevice if _are_equal(given, old) else given

        infos = {**mod.global_infos, "vdevice": tuple(known)}
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
        fields = [_map_devices(one, map_device, (*path, at)) for at, one in enumerate(info.fields)]
        is_same = all(one is other for one, other in zip(fields, info.fields, strict=True))
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
        found: StructInfo = _map_devices(new, lambda old, path: self._map(old))
        return found

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
        for one in _functions_in(func):
            self._function(one)
            for binding in bindings_of(one):
                self._binding(binding, hinted)
        for var, argument in hinted:  # an argument without a device is where it is needed
            for place in _places(argument):
                if self.of(place) is None:
                    self._place(place, self.hints[var])

    def of(self, place: _Place) -> VDevice | None:
        """The device of a tensor, if it is known."""
        return self._known.get(self._root(place))

    def _root(self, place: _Place) -> _Place:
        while place in self._parents:
            place = self._parents[place]
        return place

    def _join(self, a: _Place, b: _Place) -> None:
        """Put two tensors on one device."""
        a, b = self._root(a), self._root(b)
        if a == b:
            return
        known = self._known.pop(a, None)
        self._parents[a] = b
        if known is not None:
            self._place(b, known)

    def _place(self, place: _Place, where: VDevice) -> None:
        root = self._root(place)
        known = self._known.setdefault(root, where)
        if not _are_equal(known, where):
            raise GraphError(
                f"value {place[0].name_hint} would be on devices {known.kind}:{known.vdevice_id} "
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
            for one, part in zip(value.fields, info.fields, strict=True):
                self._of_value(one, part)
        elif isinstance(value, GraphVar):
            self._declared(value, info)

    def _binding(self, binding: Binding, hinted: list[tuple[GraphVar, GraphValue]]) -> None:
        var, value = binding.var, binding.value
        self._declared(var, var.struct_info_)
        if not isinstance(binding, VarBinding) or isinstance(value, GraphVar):
            self._same(var, (), value)
        elif isinstance(value, Tuple):
            for at, one in enumerate(value.fields):
                self._same(var, (at,), one)
        elif isinstance(value, TupleGetItem):
            source = value.tuple_value
            if isinstance(source, GraphVar):
                for place in _places(var):
                    self._join(place, (source, (value.index, *place[1])))
        elif isinstance(value, If):
            for branch in value.branches:
                self._same(var, (), branch.body)
        elif is_call_of(value, "relax.hint_on_device"):
            where = self.hints[var] = self._device(value.attrs)
            self._place((var, ()), where)
            hinted.append((var, value.args[0]))
        elif isinstance(value, GraphCall) and _is_on_one_device(value):
            self._together([*_places(var), *[p for one in value.args for p in _places(one)]])

    def _together(self, places: list[_Place]) -> None:
        for one in places[1:]:
            self._join(places[0], one)

    def _same(self, var: GraphVar, path: _Path, value: GraphValue) -> None:
        """A value, or an element of it, is another one."""
        for other, inner in _places(value):
            self._join((var, (*path, *inner)), (other, inner))

    def _device(self, hint: OpAttrs) -> VDevice:
        """The device of the module that a hint means."""
        for one in self._module_devices:
            if _number(one) == (hint.dev_type, hint.dev_id):
                return one  # type: ignore[no-any-return]
        names = ", ".join([f"{one.kind}:{one.vdevice_id}" for one in self._module_devices])
        raise GraphError(
            f"a hint is on device {device(hint.dev_type, hint.dev_id)}, "
            "which the module does not have",
            f"it has {names or 'none'}",
            'declare it: I.module_global_infos({"vdevice": [I.vdevice("llvm")]})',
        )


def _number(where: VDevice) -> tuple[int, int]:
    """The type and number of a device."""
    found = device(where.kind, max(where.vdevice_id, 0))
    return found.device_type, found.device_id


def _is_on_one_device(call: GraphCall) -> bool:
    """Whether the arguments and results of a call must be on one device."""
    others = ("relax.to_vdevice", "relax.call_pure_packed")
    return isinstance(call.op, Op) and call.op not in others


def _places(value: GraphValue) -> Iterator[_Place]:
    """The tensors of a variable, or of the variables of a tuple."""
    if isinstance(value, Tuple):
        for one in value.fields:
            yield from _places(one)
    if not isinstance(value, GraphVar):
        return
    found: list[_Path] = []
    _map_devices(value.struct_info_, lambda old, path: found.append(path) or old)  # type: ignore[func-returns-value]
    for path in found:
        yield value, path


def _functions_in(func: GraphFunction) -> list[GraphFunction]:
    return [func, *[one for one in nodes_of(func.body) if isinstance(one, GraphFunction)]]


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
            infos = tuple([self._placed(binding.var, one) for one in value.sinfo_args])
            if any(one is not other for one, other in zip(infos, value.sinfo_args, strict=True)):
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

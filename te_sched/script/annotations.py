"""Struct infos as scripts write them: `R.Tensor(("n", 4), "float32")`, with names as strings.

A call makes a struct info; with names of sizes it makes a `PendingStructInfo`, which becomes one
where the names are known. The words stand for struct infos without a call too. Type checkers
refuse calls in annotations; they accept `Annotated[R.Tensor, ("n", 4), "float32"]` (`expanded`).
Must not know the functions that are read.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any, get_origin

from te_sched.errors import ScriptError, repr_of
from te_sched.ir.expr import Buffer, Var
from te_sched.ir.graph import STRUCT_INFO_CONVERSIONS, GraphExpr, as_struct_info
from te_sched.ir.struct_info import (
    FuncStructInfo,
    ObjectStructInfo,
    PrimStructInfo,
    ShapeExpr,
    ShapeStructInfo,
    StructInfo,
    TensorStructInfo,
    TupleStructInfo,
    VDevice,
)
from te_sched.script.frames import ModuleFrame, ScriptBuilder
from te_sched.signatures import is_sequence

Resolve = Callable[[str], Any]  # the size that a string is


class PendingStructInfo:
    """A struct info with sizes that are strings."""

    def __init__(self, make: Callable[[Resolve], StructInfo], names: list[str]) -> None:
        self.make, self.names = make, names

    def names_of_sizes(self) -> list[str]:
        """The strings that are sizes, in order."""
        return self.names


class Annotation:
    """A word that is a struct info, or makes one when it is called."""

    __iter__ = None

    def __init__(self, name: str, make: Callable[..., Any]) -> None:
        self.__name__, self.make = name, make
        self.__doc__ = make.__doc__

    def __call__(self, *args: Any, **named: Any) -> Any:
        return self.make(*args, **named)

    def __getitem__(self, args: Any) -> Any:
        """`Tensor[(4, 3), "float32"]`, as scripts were written in 2021."""
        has_shape = isinstance(args, tuple) and len(args) > 0 and isinstance(args[0], tuple)
        return self(*args) if has_shape else self(args)

    def as_struct_info(self) -> Any:
        """The struct info that the word is by itself.

        >>> from te_sched.script import relax as R
        >>> R.Object.as_struct_info()
        R.Object
        """
        return self()

    def __repr__(self) -> str:
        return f"R.{self.__name__}"


def expanded(annotation: Any) -> Any:
    """What an annotation stands for: `Annotated[kind, *arguments]` for `kind(*arguments)`, or for
    its first argument if that is an annotation or the kind is not a word of scripts.

    >>> from te_sched.script import tir as T
    >>> expanded(Annotated[T.Buffer, (4, 8), "float16"]).dtype
    'float16'
    >>> expanded(Annotated[Any, T.handle])
    T.handle
    """
    annotation = getattr(annotation, "__value__", annotation)  # of a `type` statement
    if get_origin(annotation) is not Annotated:
        return annotation
    kind, details = annotation.__origin__, annotation.__metadata__
    is_word = type(kind).__module__.startswith("te_sched.script.")
    if is_word and not isinstance(details[0], Buffer | StructInfo | PendingStructInfo):
        return kind(*details)
    return details[0]


def struct_info_of(annotation: Any, resolve: Resolve) -> Any:
    """The struct info of an annotation, with its names resolved."""
    annotation = expanded(annotation)
    if isinstance(annotation, Annotation):
        annotation = annotation()
    return (
        annotation.make(resolve)
        if isinstance(annotation, PendingStructInfo)
        else as_struct_info(annotation)
    )


def _from_script(annotation: Any) -> StructInfo | None:
    """The conversion of annotations outside of scripts, where names of sizes are not known."""
    annotation = expanded(annotation)
    if isinstance(annotation, Annotation):
        annotation = annotation()
    if isinstance(annotation, PendingStructInfo) and not annotation.names:
        return annotation.make(_unresolved)
    if isinstance(annotation, PendingStructInfo):
        raise ScriptError(
            f"the sizes {', '.join(map(repr, annotation.names))} are names",
            "names of sizes are known in scripts alone",
            'give variables: relax.Var("x", R.Tensor((tir.Var("n", "int64"), 4)))',
        )
    return annotation if isinstance(annotation, StructInfo) else None


STRUCT_INFO_CONVERSIONS.append(_from_script)


def _names_in(sizes: Any) -> list[str]:
    return [size for size in sizes if isinstance(size, str)]


def _pending_or(make: Callable[[Resolve], StructInfo], names: list[str]) -> Any:
    if names:
        return PendingStructInfo(make, names)
    return make(_unresolved)


def _unresolved(name: str) -> Any:
    raise AssertionError(name)


def _resolved(sizes: Any, resolve: Resolve) -> list[Any]:
    return [resolve(size) if isinstance(size, str) else size for size in sizes]


def _tensor(shape: Any = None, dtype: Any = None, vdevice: Any = None, *, ndim: int = -1) -> Any:
    """An array, of a shape or a number of dimensions."""
    if isinstance(shape, str) and dtype is None:
        shape, dtype = None, shape
    is_variable = isinstance(shape, GraphExpr | ShapeExpr)
    if shape is not None and not is_sequence(shape) and not is_variable:
        raise ScriptError(
            f"the shape of R.Tensor is {repr_of(shape)}",
            "",
            "give a tuple of sizes: R.Tensor((4, 3))",
        )
    if type(ndim) is not int or ndim < -1:
        raise ScriptError(f"R.Tensor has ndim={ndim!r}", "", "give a number of dimensions, or -1")

    def make(resolve: Resolve) -> StructInfo:
        device = device_named(vdevice) if isinstance(vdevice, str) else vdevice
        sizes = _resolved(shape, resolve) if is_sequence(shape) else shape
        return TensorStructInfo(sizes, dtype, device, ndim)

    names = _names_in(shape) if is_sequence(shape) else []
    return PendingStructInfo(make, names) if isinstance(vdevice, str) else _pending_or(make, names)


def device_named(text: str) -> VDevice:
    """The device of the module that is written "cuda:1": its kind, or "vdevice", and a number."""
    kind, _, number = text.partition(":")
    module = ScriptBuilder.current().find(ModuleFrame) if ScriptBuilder.is_in_scope() else None
    devices = module.global_infos.get("vdevice", ()) if module is not None else ()
    matches = [vdevice for vdevice in devices if kind in ("vdevice", vdevice.kind)]
    index = int(number or 0)
    if index < len(matches):
        device: VDevice = matches[index]
        return device
    raise ScriptError(
        f"the module has no device {text}",
        f"it has {', '.join([vdevice.kind for vdevice in devices]) or 'none'}",
        'declare it: I.module_global_infos({"vdevice": [I.vdevice("llvm")]})',
    )


def _shape(values: Any = None, ndim: int = -1) -> Any:
    """A shape, of sizes or a number of them."""
    if values is None:
        return ShapeStructInfo(None, ndim)
    return _pending_or(
        lambda resolve: ShapeStructInfo(tuple(_resolved(values, resolve)), ndim),
        _names_in(values),
    )


def _prim(dtype: Any = None, value: Any = None) -> Any:
    """A number of a dtype, or of a known value."""
    dtype_name = dtype or ""
    return _pending_or(
        lambda resolve: PrimStructInfo(dtype_name, *_resolved([value], resolve)), _names_in([value])
    )


def _parts(args: Any) -> tuple[list[Any], list[str]]:
    """The struct infos in another one, and the names in them."""
    parts = [expanded(annotation) for annotation in args]
    parts = [part() if isinstance(part, Annotation) else part for part in parts]
    names = [name for part in parts if isinstance(part, PendingStructInfo) for name in part.names]
    return parts, names


def _pending_parts(make: Callable[[Resolve], StructInfo], parts: Any, names: list[str]) -> Any:
    is_pending = any(isinstance(part, PendingStructInfo) for part in parts)
    return PendingStructInfo(make, names) if is_pending else make(_unresolved)


def _made(parts: Any, resolve: Resolve) -> tuple[Any, ...]:
    return tuple([struct_info_of(part, resolve) for part in parts])


def _tuple(*fields: Any) -> Any:
    """Several values."""
    if len(fields) == 1 and is_sequence(fields[0]):
        fields = tuple(fields[0])
    parts, names = _parts(fields)
    return _pending_parts(lambda resolve: TupleStructInfo(_made(parts, resolve)), parts, names)


def _callable(
    params: Any = None, ret: Any = None, purity: Any = None, derive_func: str | None = None
) -> Any:
    """A function: the struct infos of its parameters and its result."""
    if params is None:
        ret_info = None if ret is None else as_struct_info(ret)
        return FuncStructInfo.opaque_func(
            ret=ret_info, derive_func=derive_func, purity=bool(purity)
        )
    param_list = list(params) if is_sequence(params) else [params]
    parts, names = _parts([*param_list, ObjectStructInfo() if ret is None else ret])

    def make(resolve: Resolve) -> StructInfo:
        *inside, result = _made(parts, resolve)
        is_pure = True if purity is None else bool(purity)
        return FuncStructInfo(tuple(inside), result, is_pure, derive_func)

    return _pending_parts(make, parts, names)


Tensor = Annotation("Tensor", _tensor)
Shape = Annotation("Shape", _shape)
Prim = Annotation("Prim", _prim)
Tuple = Annotation("Tuple", _tuple)
Callable_ = Annotation("Callable", _callable)
Object = Annotation("Object", ObjectStructInfo)


def is_name(text: str) -> bool:
    """Whether a size is a name, and not an expression of names."""
    return text.isidentifier()


def new_size(name: str) -> Var:
    """A variable of a size."""
    return Var(name, "int64")

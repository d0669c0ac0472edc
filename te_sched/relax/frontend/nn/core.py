"""Values and modules of a model that is written in Python, and becomes functions of a graph.

A tensor wraps an expression of the graph; an operation on tensors binds its result in the builder
that is open. A module owns parameters, effects and other modules, found as its attributes. `op`
gives tensors their operators. Must not know how modules are exported.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Any, SupportsIndex, TypeVar

import numpy as np
from numpy.typing import ArrayLike

from te_sched import nd
from te_sched.absent_names import tell_of_absent_names as _tell_of_absent_names
from te_sched.errors import GraphError, GraphTypeError, kind_of, repr_of
from te_sched.ir import dtypes
from te_sched.ir.expr import Expr, Var
from te_sched.ir.graph import DataflowVar, GraphExpr, GraphVar, TupleGetItem
from te_sched.ir.struct_info import (
    ObjectStructInfo,
    ShapeStructInfo,
    StructInfo,
    TensorStructInfo,
    TupleStructInfo,
)
from te_sched.public_members import PublicObject
from te_sched.relax.block_builder import BlockBuilder
from te_sched.relax.constant import const
from te_sched.relax.frontend.nn.subroutine import SubroutineMixin
from te_sched.relax.frontend.tensors import Size, sizes_of_tensor, tensor_info
from te_sched.signatures import checked_as

# Annotations of arguments that are checked where they are used.
SizeOrName = Annotated["Size | SupportsIndex | str", "what sizes_of takes"]
TensorLike = Annotated["NNTensor | ArrayLike", "what nn.op.add takes"]
Sizes = Annotated["Size | Sequence[Size]", "what relax.op.reshape takes"]
Ints = Annotated["int | Sequence[int]", "what relax.op.squeeze takes"]

NNTensors = Any  # a tensor, or a tuple of them: which one, the expression says

_Part = TypeVar("_Part")

_DEFAULT = threading.local()  # .dtype: that of parameters without one, in this thread


def get_default_dtype() -> str:
    """The dtype of parameters that are made without one."""
    dtype: str = getattr(_DEFAULT, "dtype", "float32")
    return dtype


def set_default_dtype(dtype: str) -> None:
    """Set the dtype of parameters that are made without one, in this thread.

    >>> set_default_dtype("float16"), NNParameter([4]).dtype, set_default_dtype("float32")
    (None, 'float16', None)
    """
    _DEFAULT.dtype = dtype


def current_builder() -> BlockBuilder:
    """The builder of the function that is being written."""
    builder = BlockBuilder.current()
    if builder is None:
        raise GraphError(
            "an operation on tensors stands outside of a function",
            "modules run when they are exported",
            "use module.export_tvm(spec), or `with builder.function(name):`",
        )
    return builder


class NNTensor(PublicObject):
    """A tensor of a model: an expression of the graph, of a known number of dimensions (`Tensor`).

    >>> NNTensor.placeholder([4, "n"], "float32")
    Tensor([4, n], "float32")
    """

    _public_name = "nn.Tensor"

    def __init__(self, *, _expr: GraphExpr) -> None:
        info = _expr.struct_info
        if not isinstance(info, TensorStructInfo):
            raise GraphError(
                f"cannot make a Tensor of {repr_of(_expr)}",
                f"it is {info}",
                "give an expression that is a tensor",
            )
        self._expr = _expr

    @staticmethod
    def from_const(data: ArrayLike) -> NNTensor:
        """A tensor with these values, of the dtype that `relax.const` gives them."""
        return NNTensor(_expr=const(data))

    @staticmethod
    def from_scalar(data: ArrayLike, dtype: str) -> NNTensor:
        """A tensor of a number, without dimensions."""
        return NNTensor(_expr=const(data, dtype))

    @staticmethod
    def from_struct_info(struct_info: TensorStructInfo, name: str = "tensor") -> NNTensor:
        """A variable of this struct info."""
        return NNTensor(_expr=GraphVar(name, struct_info))

    @staticmethod
    def placeholder(shape: Sequence[SizeOrName], dtype: str, name: str = "tensor") -> NNTensor:
        """A variable of a shape, of ints, strings for names of sizes, and expressions."""
        names: dict[str, Var] = {}
        return NNTensor.from_struct_info(TensorStructInfo(sizes_of(shape, names), dtype), name)

    @property
    def shape(self) -> list[Size]:
        """The sizes: ints, and expressions where they are not constant."""
        return sizes_of_tensor(self._expr, "use an operation with a known shape")

    @property
    def ndim(self) -> int:
        """The number of dimensions."""
        return tensor_info(self._expr).ndim

    @property
    def dtype(self) -> str:
        """The dtype."""
        return tensor_info(self._expr).dtype

    if TYPE_CHECKING:  # given by nn.op

        def __add__(self, other: TensorLike) -> NNTensor: ...
        def __radd__(self, other: TensorLike) -> NNTensor: ...
        def __sub__(self, other: TensorLike) -> NNTensor: ...
        def __rsub__(self, other: TensorLike) -> NNTensor: ...
        def __mul__(self, other: TensorLike) -> NNTensor: ...
        def __rmul__(self, other: TensorLike) -> NNTensor: ...
        def __truediv__(self, other: TensorLike) -> NNTensor: ...
        def __rtruediv__(self, other: TensorLike) -> NNTensor: ...
        def __lt__(self, other: TensorLike) -> NNTensor: ...
        def __le__(self, other: TensorLike) -> NNTensor: ...
        def __gt__(self, other: TensorLike) -> NNTensor: ...
        def __ge__(self, other: TensorLike) -> NNTensor: ...
        def __neg__(self) -> NNTensor: ...
        def astype(self, dtype: str) -> NNTensor: ...
        def maximum(self, other: TensorLike) -> NNTensor: ...
        def minimum(self, other: TensorLike) -> NNTensor: ...
        def reshape(self, *shape: Sizes) -> NNTensor: ...
        def permute_dims(self, *axes: Ints) -> NNTensor: ...
        def repeat(self, repeats: int, axis: int | None = None) -> NNTensor: ...

    def __repr__(self) -> str:
        return f'Tensor([{", ".join(map(str, self.shape))}], "{self.dtype}")'


def sizes_of(shape: Sequence[SizeOrName], names: dict[str, Var]) -> tuple[Size, ...]:
    """Sizes in which names are variables; `names` has those that exist, and gets the new ones."""
    sizes: list[Size] = []
    for size in shape:
        if isinstance(size, str):
            size = names.setdefault(size, Var(size, "int64"))
        elif isinstance(size, np.integer):
            size = int(size)
        elif not isinstance(size, int | Expr):
            raise GraphError(
                f"the size of a tensor is {repr_of(size)}, expected an int or a name",
                f"it is {kind_of(size)}",
                "give an int, the name of a variable, or an expression",
            )
        sizes.append(size)
    return tuple(sizes)


class NNParameter(NNTensor):
    """A tensor that a module owns, perhaps with its values (`Parameter`).

    >>> weight = NNParameter(["n", 4])
    >>> weight.shape, weight.data
    ([n, 4], None)
    """

    _expr: GraphVar

    def __init__(self, shape: Sequence[SizeOrName], dtype: str | None = None) -> None:
        self._written = (tuple(shape), dtypes.known(dtype) or get_default_dtype())
        self._data: nd.NDArray | None = None
        self.declare("param", {})

    def declare(self, name: str, names: dict[str, Var]) -> GraphVar:
        """A new variable of the graph for the parameter, which it wraps from now on."""
        shape, dtype = self._written
        var = GraphVar(name, TensorStructInfo(sizes_of(shape, names), dtype))
        self.bind(var)
        return var

    def bind(self, expr: GraphVar) -> None:
        """Wrap another expression."""
        self._expr = expr

    @property
    def data(self) -> nd.NDArray | None:
        """The values; None before they are set."""
        return self._data

    @data.setter
    def data(self, value: ArrayLike | None) -> None:
        if value is None:
            self._data = None
            return
        if isinstance(value, NNTensor) or not hasattr(value, "shape"):
            raise GraphError(
                f"the values of a parameter are {repr_of(value)}",
                f"it is {kind_of(value)}",
                "give an array of te_sched, numpy or torch",
            )
        array = array_of(value)
        sizes = self.shape
        matches = [
            not isinstance(size, int) or size == two
            for size, two in zip(sizes, array.shape, strict=False)
        ]
        if len(sizes) != len(array.shape) or not all(matches) or str(array.dtype) != self.dtype:
            raise GraphError(
                f"the values of {self!r} have shape {tuple(array.shape)} and dtype {array.dtype}",
                "a parameter has one shape and dtype",
                "give values of the same shape and dtype",
            )
        self._data = array

    def to(self, dtype: str | None = None) -> None:
        """Change the dtype, of a parameter that has no values yet."""
        if dtype is None:
            return
        if self._data is not None:
            raise GraphError(
                f"the dtype of {self!r} is changed to {dtype}",
                "its values are set already",
                "convert the model before its values are loaded",
            )
        self._written = (self._written[0], dtype)
        shape = tensor_info(self._expr).shape
        self.bind(GraphVar(self._expr.name_hint, TensorStructInfo(shape, dtype)))


def array_of(value: ArrayLike) -> nd.NDArray:
    """An array of te_sched, numpy or torch as one of te_sched; a tensor of torch is copied."""
    if isinstance(value, nd.NDArray):
        return value
    return nd.array(value.detach().numpy() if hasattr(value, "detach") else value)


class NNObject:
    """A value that is not a tensor: a cache, a function, ... (`Object`)."""

    def __init__(self, *, _expr: GraphExpr, _name: str) -> None:
        expr = _expr if isinstance(_expr, GraphVar) else current_builder().emit(_expr, _name)
        if not isinstance(expr.struct_info, ObjectStructInfo):
            raise GraphError(
                f"cannot make an Object of {repr_of(expr)}",
                f"it is {expr.struct_info}",
                "give an expression of R.Object",
            )
        self._expr = expr


class NNEffect:
    """A state that is passed from call to call: created once, and returned by each function.

    Subclasses say what it consists of.
    """

    def emit_init(self, name_hint: str, builder: BlockBuilder) -> list[DataflowVar]:
        """The first state, bound in the function that is open."""
        raise NotImplementedError

    def create(self, name_hint: str) -> list[GraphVar]:
        """The parameters by which a function is given the state."""
        raise NotImplementedError

    def set_state(self, state_vars: list[GraphVar]) -> None:
        """Use this state from now on."""
        raise NotImplementedError

    def finalize(self) -> list[GraphVar]:
        """The state at the end of a function, which is forgotten."""
        raise NotImplementedError

    def to(self, dtype: str | None = None) -> None:
        """Change the dtype of the tensors in it."""


class NNModule(SubroutineMixin):
    """A part of a model: parameters, effects and modules are its attributes (`Module`).

    >>> from te_sched.relax.frontend import nn
    >>> class Twice(nn.Module):
    ...     def forward(self, x: nn.Tensor):
    ...         return x + x
    >>> mod, params = Twice().export_tvm({"forward": {"x": nn.spec.Tensor([4], "float32")}})
    >>> mod["forward"].params[0].struct_info, params
    (R.Tensor((4,), dtype="float32"), [])
    """

    forward: Callable[..., Any]

    def named_parameters(self, prefix: str = "") -> Iterator[tuple[str, NNParameter]]:
        """The parameters of the module and the modules in it, with the path to each."""
        yield from _attributes(self, prefix, NNParameter)

    def parameters(self) -> Iterator[NNParameter]:
        """The parameters of the module and the modules in it."""
        for _, param in self.named_parameters():
            yield param

    def variable_slots(self) -> list[tuple[object, str]]:
        """The parameters, and their attribute of the variable."""
        return [(param, "_expr") for param in self.parameters()]

    def named_effects(self) -> Iterator[tuple[str, NNEffect]]:
        """The effects of the module and the modules in it, with the path to each."""
        yield from _attributes(self, "", NNEffect)

    @checked_as(GraphTypeError)
    def state_dict(
        self, *, prefix: str = "", destination: dict[str, NNParameter] | None = None
    ) -> dict[str, NNParameter]:
        """The parameters by path."""
        state = {} if destination is None else destination
        state.update(self.named_parameters(prefix))
        return state

    @checked_as(GraphTypeError)
    def load_state_dict(
        self, state_dict: Mapping[str, NNParameter], strict: bool = True
    ) -> tuple[list[str], list[str]]:
        """Set the values of parameters by path.

        Parameters
        ----------
        state_dict : parameters with values.
        strict : whether the paths must be those of the module.

        Returns
        -------
        The paths that are missing, and those that the module does not have.
        """
        own = self.state_dict()
        missing = [name for name in own if name not in state_dict]
        unexpected = [name for name in state_dict if name not in own]
        if strict and (missing or unexpected):
            raise GraphError(
                f"the parameters do not fit the module: {', '.join(missing + unexpected)}",
                f"missing: {missing}, unexpected: {unexpected}",
                "give one for each parameter, or strict=False",
            )
        for name, param in state_dict.items():
            if param.data is None:
                raise GraphError(
                    f"parameter {name} has no values", "", "set them: parameter.data = array"
                )
            if name in own:
                own[name].data = param.data
        return missing, unexpected

    def __call__(self, *args: object, **kwargs: object) -> Any:
        if not hasattr(self, "forward"):
            raise GraphError(
                f"module {type(self).__name__} has no forward",
                "a module is called by its method forward",
                "define forward(self, ...)",
            )
        return self.forward(*args, **kwargs)

    def to(self, dtype: str | None = None) -> None:
        """Change the dtype of all parameters and effects."""
        for attribute in vars(self).values():
            if isinstance(attribute, NNModule | NNParameter | NNEffect):
                attribute.to(dtype)
        if isinstance(getattr(self, "dtype", None), str) and dtype is not None:
            self.dtype = dtype

    def export_tvm(self, spec: object, debug: bool = False, allow_extern: bool = False) -> Any:
        """The module of graphs, and the parameters with their paths.

        Parameters
        ----------
        spec : for each method that is exported a dictionary of its arguments: `spec.Tensor`,
            `int`, `spec.Object`, or lists and tuples of them. The key "$" is a dictionary of
            "param_mode" and "effect_mode": "plain", "packed" or "none".
        debug : whether functions have a state of input and output, as `op.print_` needs it.
        allow_extern : whether a third value is returned: the modules of compiled code.
        """
        mod, params, externs = USES_OF_MODULES["export"](self, spec, debug)
        if allow_extern:
            return mod, params, externs
        if externs:
            raise GraphError(
                "the model has modules of compiled code",
                "they are linked after the export",
                "give allow_extern=True, and relax.transform.AttachExternModules",
            )
        return mod, params

    def jit(
        self,
        spec: object,
        device: object = "cpu",
        pipeline: object = "default_build",
        out_format: str = "torch",
        debug: bool = False,
    ) -> Any:
        """The module, compiled: `jitted["forward"](x)` with tensors of torch.

        Parameters
        ----------
        spec, debug : as for `export_tvm`.
        device : where it runs.
        pipeline : the passes: a name of `relax.get_pipeline`, or a pass.
        out_format : "torch".
        """
        return USES_OF_MODULES["jit"](self, spec, device, pipeline, out_format, debug)


# What is done with a module: `exporter` adds "export", `compiled_module` "jit".
USES_OF_MODULES: dict[str, Callable[..., Any]] = {}


class NNModuleList(NNModule):
    """A list of modules, which are called one after the other (`ModuleList`)."""

    def __init__(self, modules: Sequence[NNModule]) -> None:
        self.modules = list(modules)

    def __iter__(self) -> Iterator[NNModule]:
        return iter(self.modules)

    def __getitem__(self, idx: int) -> NNModule:
        return self.modules[idx]

    def __setitem__(self, idx: int, module: NNModule) -> None:
        self.modules[idx] = module

    def __len__(self) -> int:
        return len(self.modules)

    def append(self, module: NNModule) -> None:
        """Add a module at the end."""
        self.modules.append(module)

    def to(self, dtype: str | None = None) -> None:
        """Change the dtype of all parameters and effects."""
        for module in self.modules:
            module.to(dtype)

    def forward(self, x: Any) -> Any:
        """The value of the last module."""
        for module in self.modules:
            x = module(x)
        return x


def _attributes(root: NNModule, prefix: str, kind: type[_Part]) -> Iterator[tuple[str, _Part]]:
    """The wanted attributes of a module and of the modules in it, with the path to each."""
    if isinstance(root, NNModuleList):
        items: Iterator[tuple[str, object]] = ((str(n), module) for n, module in enumerate(root))
    else:
        items = iter(vars(root).items())
    for name, value in items:
        path = f"{prefix}.{name}" if prefix else name
        if isinstance(value, kind):
            yield path, value
        elif isinstance(value, NNModule):
            yield from _attributes(value, path, kind)


def wrap_nested(expr: GraphExpr, name: str) -> NNTensors:
    """Bind an expression to a variable, as a tensor; a tuple, and its elements, as a tuple.

    Parameters
    ----------
    expr : an expression of a tensor, or of a tuple of them.
    name : of the variable; elements are name_0, name_1, ...
    """
    builder = current_builder()
    expr = builder.normalize(expr)
    if not isinstance(expr, DataflowVar):
        expr = builder.emit(expr, name)
    info: StructInfo = expr.struct_info
    if isinstance(info, TensorStructInfo):
        return NNTensor(_expr=expr)
    if isinstance(info, TupleStructInfo):
        items = range(len(info.fields))
        return tuple([wrap_nested(TupleGetItem(expr, n), f"{name}_{n}") for n in items])
    if isinstance(info, ShapeStructInfo) and info.values is not None and len(info.values) == 1:
        return info.values[0]
    raise GraphError(
        f"the value {name} of a model", f"it is {info}", "use tensors, and tuples of them"
    )


def unwrap_nested(value: object) -> Any:
    """The expression of a tensor, an object, or of tuples and lists of them."""
    if isinstance(value, NNTensor | NNObject):
        return value._expr
    if isinstance(value, list | tuple):
        return tuple([unwrap_nested(element) for element in value])
    return value


Effect = NNEffect
Module = NNModule
ModuleList = NNModuleList
Parameter = NNParameter
Tensor = NNTensor
Object = NNObject

_tell_of_absent_names(__name__)

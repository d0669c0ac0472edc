"""States that functions of a model pass on: that of input and output, and a cache of keys."""

from __future__ import annotations

from collections.abc import Sequence

from te_sched.errors import GraphError, repr_of
from te_sched.ir.graph import DataflowVar, GraphVar
from te_sched.ir.struct_info import ObjectStructInfo, ShapeExpr, TensorStructInfo
from te_sched.relax import op as relax_op
from te_sched.relax.block_builder import BlockBuilder
from te_sched.relax.frontend.nn.core import (
    NNEffect,
    NNTensor,
    current_builder,
    get_default_dtype,
    wrap_nested,
)
from te_sched.relax.frontend.tensors import Size, prim_value, shape_expr


class _OneState(NNEffect):
    """An effect whose state is one value."""

    _state: GraphVar | None = None

    @property
    def state(self) -> GraphVar:
        """The state that the open function has now."""
        if self._state is None:
            raise GraphError(
                f"the state of {type(self).__name__} is used outside of a function",
                "a function of the model is given it, and returns it",
                "use it in a method that is exported",
            )
        return self._state

    @state.setter
    def state(self, value: GraphVar) -> None:
        self._state = value

    def create(self, name_hint: str) -> list[GraphVar]:
        """The parameter by which a function is given the state."""
        self.state = GraphVar(name_hint or "_io", ObjectStructInfo())
        return [self.state]

    def set_state(self, state_vars: list[GraphVar]) -> None:
        """Use this state from now on."""
        (self.state,) = state_vars

    def finalize(self) -> list[GraphVar]:
        """The state at the end of a function, which is forgotten."""
        state, self._state = self.state, None
        return [state]


class IOEffect(_OneState):
    """The state of input and output: what has it runs in the order of the program."""

    def emit_init(self, name_hint: str, builder: BlockBuilder) -> list[DataflowVar]:
        """The first state, bound in the function that is open."""
        return [builder.emit(relax_op.null_value(), f"{name_hint}_io")]  # type: ignore[list-item]


class KVCache(_OneState):
    """A cache of keys or values, to which calls append.

    Parameters
    ----------
    init_seq_len : the number of elements for which it has memory at first.
    unit_shape : the shape of an element.
    """

    def __init__(
        self, init_seq_len: int, unit_shape: Sequence[int], dtype: str | None = None
    ) -> None:
        self.init_seq_len = init_seq_len
        self.unit_shape = list(unit_shape)
        self.dtype = dtype or get_default_dtype()

    def emit_init(self, name_hint: str, builder: BlockBuilder) -> list[DataflowVar]:
        """The empty cache, bound in the function that is open."""
        shape = self._shape(self.init_seq_len)
        memory = builder.emit(relax_op.zeros(shape, self.dtype))
        call = relax_op.call_pure_packed(
            "vm.builtin.attention_kv_cache_create",
            memory,
            shape,
            prim_value(0),
            sinfo_args=[ObjectStructInfo()],
        )
        return [builder.emit(call, name_hint)]  # type: ignore[list-item]

    def _shape(self, count: Size) -> ShapeExpr:
        return shape_expr([count, *self.unit_shape])

    def to(self, dtype: str | None = None) -> None:
        """Change the dtype of elements."""
        self.dtype = dtype or self.dtype

    def view(self, seq_len: Size) -> NNTensor:
        """The first elements, as one tensor."""
        shape = self._shape(seq_len)
        result: NNTensor = wrap_nested(
            relax_op.call_pure_packed(
                "vm.builtin.attention_kv_cache_view",
                self.state,
                shape,
                sinfo_args=[TensorStructInfo(shape, self.dtype)],
            ),
            "",
        )
        return result

    def append(self, new_element: NNTensor) -> None:
        """Append elements."""
        if new_element.dtype != self.dtype:
            raise GraphError(
                f"{new_element!r} is appended to a cache of {self.dtype}",
                f"the elements of the cache are {repr_of(self.unit_shape)} of {self.dtype}",
                "convert it: x.astype(dtype)",
            )
        call = relax_op.call_inplace_packed(
            "vm.builtin.attention_kv_cache_append",
            self.state,
            new_element._expr,
            inplace_indices=[0],
            sinfo_args=[ObjectStructInfo()],
        )
        self.state = current_builder().emit(call)

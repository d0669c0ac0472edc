"""Recurrent layers: a step for each element of a sequence, in one function of the module.

The products with the inputs are those of all steps at once, by `R.matmul`; a step multiplies the
state alone. Batches may have sequences of several lengths. Must not know the format of a model.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from te_sched import te
from te_sched.ir import builder as loops
from te_sched.ir import dtypes, ops
from te_sched.ir.builder import BufferVar, IRBuilder
from te_sched.ir.expr import Buffer, Expr
from te_sched.ir.graph import GraphExpr, GraphVar, TupleGetItem
from te_sched.ir.stmt import Stmt
from te_sched.relax import op as R
from te_sched.relax.block_builder import BlockBuilder
from te_sched.relax.frontend.tensors import tensor_info
from te_sched.te.tensor import Tensor

Function = Callable[[Expr], Expr]


class Cell(NamedTuple):
    """What a step computes.

    gates : the number of products of a step: 4 (LSTM: input, output, forget, cell), 3 (GRU: update,
        reset, hidden) or 1 (a plain layer).
    functions : the activations: of gates, of the candidate, of the cell that is given out.
    clip : the greatest size of arguments of activations, but for that of the cell.
    couples_gates : whether the forget gate of an LSTM is 1 minus its input gate.
    resets_product : whether a GRU resets the product with the state, else the state.
    quantizes_state : whether products are those of states that are rounded to unsigned bytes, whose
        range is that of the state of a sequence and 0 (dynamic quantization).
    """

    gates: int
    functions: Sequence[Function]
    clip: float | None = None
    couples_gates: bool = False
    resets_product: bool = False
    quantizes_state: bool = False

    def clipped(self, value: Expr) -> Expr:
        """An argument of an activation."""
        if self.clip is None:
            return value
        limit = ops.const(self.clip, value.dtype)
        return ops.minimum(ops.maximum(value, ops.const(0, value.dtype) - limit), limit)


class State(NamedTuple):
    """The tensors of a layer in one direction, besides its inputs.

    weight : [state, gates * state], of the state.
    bias : [gates * state], that is added to products with the state; None if products have it.
    hidden, cell : [batch, state], before the first step; None for zeros.
    lengths : [batch], of int32; None if all sequences are whole.
    peepholes : [3 * state], of an LSTM: input, output, forget.
    """

    weight: GraphExpr
    bias: GraphExpr | None = None
    hidden: GraphExpr | None = None
    cell: GraphExpr | None = None
    lengths: GraphExpr | None = None
    peepholes: GraphExpr | None = None


def emit_recurrence(
    builder: BlockBuilder, products: GraphExpr, state: State, cell: Cell, is_reversed: bool
) -> list[GraphVar]:
    """All hidden states [steps, batch, state], the last one, and the last cell of an LSTM.

    Parameters
    ----------
    products : [steps, batch, gates * state], of the inputs, with biases.
    is_reversed : whether the last step is computed first.

    Elements behind the end of a sequence are 0.
    """
    dtype = tensor_info(products).dtype
    if dtypes.is_small_float(dtype):
        wide = {
            name: builder.emit(R.astype(tensor, "float32"))
            for name, tensor in state._asdict().items()
            if tensor is not None and name != "lengths"
        }
        products = builder.emit(R.astype(products, "float32"))
        results = emit_recurrence(builder, products, state._replace(**wide), cell, is_reversed)
        return [builder.emit(R.astype(result, dtype)) for result in results]
    names = [name for name, tensor in zip(State._fields, state, strict=True) if tensor is not None]
    tensors = [tensor for tensor in state if tensor is not None]

    def computed(inputs: Tensor, *rest: Tensor) -> list[Tensor]:
        return _recurrence(inputs, dict(zip(names, rest, strict=True)), cell, is_reversed)

    name = {4: "lstm", 3: "gru", 1: "rnn"}[cell.gates]
    call = builder.emit_te(computed, products, *tensors, primfunc_name_hint=name)
    return [builder.emit(TupleGetItem(call, index)) for index in range(3 if cell.gates == 4 else 2)]


def _recurrence(
    products: Tensor, tensors: dict[str, Tensor], cell: Cell, is_reversed: bool
) -> list[Tensor]:
    """The tensors of `emit_recurrence`, as tensor expressions."""
    steps, batch, _ = products.shape
    size = tensors["weight"].shape[0]
    shapes = [(steps, batch, size), (batch, size)] + [(batch, size)] * (cell.gates == 4)

    def statement(ins: Sequence[Buffer], outs: Sequence[Buffer]) -> Stmt:
        ib = loops.create()
        pointers = [ib.buffer_ptr(buffer) for buffer in ins]
        inputs = dict(zip(("products", *tensors), pointers, strict=True))
        results = [ib.buffer_ptr(buffer) for buffer in outs]
        _Steps(ib, inputs, results, cell, size, products.dtype).write(steps, batch, is_reversed)
        return ib.get()

    states: list[Tensor] = te.extern(
        shapes,
        [products, *tensors.values()],
        statement,
        name="recurrence",
        dtype=[products.dtype] * len(shapes),
    )
    return states


class _Steps:
    """The loops over steps; the last states are updated in the results."""

    def __init__(
        self,
        ib: IRBuilder,
        inputs: dict[str, BufferVar],
        results: list[BufferVar],
        cell: Cell,
        size: Expr,
        dtype: str,
    ) -> None:
        self.ib, self.inputs, self.cell, self.size, self.dtype = ib, inputs, cell, size, dtype
        self.all, self.hidden, *rest = results
        self.memory = rest[0] if rest else None
        self.sums = ib.allocate(dtype, (cell.gates * size,), name="sums", scope="global")
        if cell.gates == 3:
            self.parts = ib.allocate(dtype, (size,), name="parts", scope="global")
        if cell.quantizes_state:
            self.range = ib.allocate(dtype, (2,), name="range", scope="local")

    def write(self, steps: Expr, batch: Expr, is_reversed: bool) -> None:
        """Write the states before the first step, and the steps."""
        ib = self.ib
        with ib.for_range(0, batch, name="b") as b, ib.for_range(0, self.size, name="j") as j:
            self.hidden[b, j] = self._initial("hidden", b, j)
            if self.memory is not None:
                self.memory[b, j] = self._initial("cell", b, j)
        with ib.for_range(0, steps, name="s") as s, ib.for_range(0, batch, name="b") as b:
            step = steps - 1 - s if is_reversed else s
            if "lengths" not in self.inputs:
                self._step(step, b)
                return
            with ib.if_scope(step < self.inputs["lengths"][b]):
                self._step(step, b)
            with ib.else_scope(), ib.for_range(0, self.size, name="j") as j:
                self.all[step, b, j] = ops.const(0, self.dtype)

    def _find_range(self, b: Expr) -> None:
        """Write the least and the greatest element of a state, and of 0."""
        low, high = 0, 1
        for end in (low, high):
            self.range[end] = ops.const(0, self.dtype)
        with self.ib.for_range(0, self.size, name="j") as j:
            self.range[low] = ops.minimum(self.range[low], self.hidden[b, j])
            self.range[high] = ops.maximum(self.range[high], self.hidden[b, j])

    def _state(self, b: Expr, k: Expr) -> Expr:
        """An element of a state as products have it."""
        value = self.hidden[b, k]
        if not self.cell.quantizes_state:
            return value
        zero, most = ops.const(0, self.dtype), ops.const(255, self.dtype)
        step = (self.range[1] - self.range[0]) / most
        step = te.select(step > zero, step, ops.const(1, self.dtype))
        offset = te.nearbyint((zero - self.range[0]) / step)
        whole = te.nearbyint(value / step) + offset
        return (ops.minimum(ops.maximum(whole, zero), most) - offset) * step

    def _initial(self, name: str, b: Expr, j: Expr) -> Expr:
        return self.inputs[name][b, j] if name in self.inputs else ops.const(0, self.dtype)

    def _step(self, step: Expr, b: Expr) -> None:
        size, gates = self.size, self.cell.gates
        products, is_gru = self.inputs["products"], gates == 3
        if self.cell.quantizes_state:
            self._find_range(b)
        with self.ib.for_range(0, gates * size, name="j") as j:
            self.sums[j] = products[step, b, j]
        # A GRU's last product is that of the state after its reset, or is reset itself.
        self._add_products(self.sums, (gates - is_gru) * size, 0, lambda k: self._state(b, k))
        if is_gru:
            self._reset(b)
        write = {4: self._lstm, 3: self._gru, 1: self._plain}[gates]
        with self.ib.for_range(0, size, name="j") as j:
            write(b, j)
            self.all[step, b, j] = self.hidden[b, j]

    def _add_products(
        self, sums: BufferVar, count: Expr, first: Expr | int, state: Callable[[Expr], Expr]
    ) -> None:
        """Add the products of a state and of columns of the weights."""
        with self.ib.for_range(0, self.size, name="k") as k:
            factor = self.ib.let("factor", state(k))
            with self.ib.for_range(0, count, name="j") as j:
                sums[j] = sums[j] + factor * self.inputs["weight"][k, first + j]

    def _reset(self, b: Expr) -> None:
        """The candidate's product of a GRU, in `parts`."""
        size, is_late = self.size, self.cell.resets_product
        with self.ib.for_range(0, size, name="j") as j:
            self.parts[j] = self._bias(2 * size + j)
            self.sums[size + j] = self._gate(self.sums[size + j])

        def state(k: Expr) -> Expr:
            return self.hidden[b, k] * (1 if is_late else self.sums[size + k])

        self._add_products(self.parts, size, 2 * size, state)

    def _bias(self, j: Expr) -> Expr:
        return self.inputs["bias"][j] if "bias" in self.inputs else ops.const(0, self.dtype)

    def _gate(self, value: Expr) -> Expr:
        return self.cell.functions[0](self.cell.clipped(value))

    def _plain(self, b: Expr, j: Expr) -> None:
        self.hidden[b, j] = self._gate(self.sums[j])

    def _gru(self, b: Expr, j: Expr) -> None:
        size = self.size
        update = self.ib.let("update", self._gate(self.sums[j]))
        part = self.parts[j] * (self.sums[size + j] if self.cell.resets_product else 1)
        candidate = self.cell.functions[1](self.cell.clipped(self.sums[2 * size + j] + part))
        rest = ops.const(1, self.dtype) - update
        self.hidden[b, j] = rest * candidate + update * self.hidden[b, j]

    def _lstm(self, b: Expr, j: Expr) -> None:
        size, cell = self.size, self.cell
        assert self.memory is not None
        old = self.ib.let("old", self.memory[b, j])

        def gate(number: int, peephole: int, memory: Expr) -> Expr:
            value: Expr = self.sums[number * size + j]
            if "peepholes" in self.inputs:
                value = value + self.inputs["peepholes"][peephole * size + j] * memory
            return self._gate(value)

        kept = self.ib.let("kept", gate(0, 0, old))
        forget = ops.const(1, self.dtype) - kept if cell.couples_gates else gate(2, 2, old)
        candidate = cell.functions[1](cell.clipped(self.sums[3 * size + j]))
        self.memory[b, j] = forget * old + kept * candidate
        new = self.memory[b, j]
        self.hidden[b, j] = gate(1, 1, new) * cell.functions[2](new)

"""TopologicalSort: the bindings of dataflow blocks in another order."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass

from te_sched.errors import GraphError
from te_sched.ir.expr import Var
from te_sched.ir.graph import (
    Binding,
    BindingBlock,
    DataflowBlock,
    GraphExpr,
    GraphFunction,
    GraphVar,
    MatchCast,
    SeqExpr,
)
from te_sched.relax.analysis.symbolic import (
    definable_tir_vars_in_struct_info,
    tir_vars_in_struct_info,
    used_symbolic_vars,
)
from te_sched.relax.analysis.variables import all_vars, used_vars
from te_sched.relax.expr_functor import PyExprMutator
from te_sched.relax.transform.base import FunctionPass

_ORDERS = ("depth-first", "breadth-first")
_DIRECTIONS = ("from-inputs", "from-outputs")


class TopologicalSort(FunctionPass):
    """The pass that sorts the bindings of dataflow blocks.

    Parameters
    ----------
    order : "depth-first": a value is followed by those that use it; "breadth-first": all that
        use the same value come together.
    direction : "from-inputs", or "from-outputs": whether the search follows the uses of values,
        or the values that are used.

    >>> from te_sched import relax
    >>> x = relax.Var("x", relax.TensorStructInfo([4], "float32"))
    >>> builder = relax.BlockBuilder()
    >>> with builder.function("main", [x]), builder.dataflow():
    ...     a, b = [builder.emit(relax.op.add(x, x), name) for name in "ab"]
    ...     c = builder.emit(relax.op.add(a, x), "c")
    ...     name = builder.emit_func_output(builder.emit_output(relax.op.add(b, c), "d"))
    >>> block = TopologicalSort()(builder.get())["main"].body.blocks[0]
    >>> [one.var.name_hint for one in block.bindings]
    ['a', 'c', 'b', 'd']
    """

    def __init__(self, order: str = "depth-first", direction: str = "from-inputs") -> None:
        self.order = order
        self.direction = direction
        for option, options, name in (
            (order, _ORDERS, "order"),
            (direction, _DIRECTIONS, "direction"),
        ):
            if option not in options:
                raise GraphError(
                    f"TopologicalSort has no {name} {option!r}",
                    "",
                    f"use one of {', '.join(options)}",
                )

    def transform_function(self, func: GraphFunction, *_: object) -> GraphFunction:
        return _Sorter(func, self.order, self.direction).visit_expr(func)


_Variable = GraphVar | Var  # of the graph, or of sizes


class _Sorter(PyExprMutator):
    def __init__(self, func: GraphFunction, order: str, direction: str) -> None:
        super().__init__()
        self._is_deep = order == "depth-first"
        self._from_inputs = direction == "from-inputs"
        self._inputs = all_vars(func)  # in their order in the function
        self._later: list[GraphVar] = []  # the variables that later blocks use
        self._results: list[GraphVar] = []  # the variables in the result
        self._before: list[Binding] = []  # the bindings of earlier blocks

    def visit_seq_expr_(self, op: SeqExpr) -> GraphExpr:
        """The sequence with sorted blocks."""
        blocks: list[BindingBlock] = []
        for index, block in enumerate(op.blocks):
            self._before = [binding for earlier in blocks for binding in earlier.bindings]
            self._later = [var for part in op.blocks[index + 1 :] for var in used_vars(part)]
            self._results = list(used_vars(op.body))
            blocks.append(self.visit_binding_block(block))
        body = self.visit_expr(op.body)
        is_same = all(new is old for new, old in zip(blocks, op.blocks, strict=True))
        return op if is_same and body is op.body else SeqExpr(tuple(blocks), body)

    def visit_dataflow_block_(self, block: DataflowBlock) -> BindingBlock:
        """The block with its bindings in order."""
        later, results, before = self._later, self._results, self._before
        new = super().visit_dataflow_block_(block)
        graph = _Graph([*(before if self._from_inputs else ()), *new.bindings], self._inputs)
        if self._from_inputs:
            order = graph.search([*self._inputs, *graph.without_inputs()], self._is_deep)
            ordered = [
                binding for binding in order if any(binding is other for other in new.bindings)
            ]
        else:
            ordered = graph.reversed_search(later, results, self._is_deep)
        if all(a is b for a, b in zip(ordered, new.bindings, strict=True)):
            return new
        return DataflowBlock(tuple(ordered))


class _Graph:
    """What bindings use, and which bindings use a value.

    Sizes of variables that are given are known, also where a cast has them again.
    """

    def __init__(self, bindings: list[Binding], variables: list[GraphVar]) -> None:
        self._bindings = bindings
        own = {entry.var for entry in bindings}
        input_sizes = {
            size
            for variable in variables
            if variable not in own and variable.struct_info_ is not None
            for size in tir_vars_in_struct_info(variable.struct_info_)
        }
        defined: dict[_Variable, Binding] = {}
        for binding in self._bindings:
            for value in _defined_by(binding):
                if value not in input_sizes:
                    defined[value] = binding
        self._defined = defined
        self._used = {id(entry): _used_by(entry, defined) for entry in self._bindings}
        self._users: dict[_Variable, list[Binding]] = {}
        for binding in self._bindings:
            for value in self._used[id(binding)]:
                self._users.setdefault(value, []).append(binding)

    def without_inputs(self) -> list[Binding]:
        """The bindings that use no variable."""
        return [binding for binding in self._bindings if not self._used[id(binding)]]

    def search(self, roots: list[_Variable | Binding], is_deep: bool) -> list[Binding]:
        """The bindings as they are found from values, each after all that it uses."""
        order: list[Binding] = []
        waiting = deque(
            [root for root in roots if isinstance(root, Binding) or root not in self._defined]
        )
        available: set[_Variable] = set()
        while waiting:
            new = self._ready(waiting.popleft(), available, order)
            if is_deep:
                waiting.extendleft(reversed(new))
            else:
                waiting.extend(new)
        return order

    def _ready(
        self, node: _Variable | Binding, available: set[_Variable], order: list[Binding]
    ) -> list[Binding]:
        """Mark a value or binding as found; the bindings that may follow it."""
        if isinstance(node, Binding):
            if any(node is binding for binding in order) or not available.issuperset(
                self._used[id(node)]
            ):
                return []
            order.append(node)
            values = _defined_by(node)
        else:
            values = [node]
        available |= set(values)
        return [
            user
            for value in values
            for user in self._users.get(value, [])
            if available.issuperset(self._used[id(user)])
        ]

    def reversed_search(
        self, later: list[GraphVar], results: list[GraphVar], is_deep: bool
    ) -> list[Binding]:
        """The bindings as they are found from the outputs, each before all that use it.

        Parameters
        ----------
        later : the variables that the blocks after this one use.
        results : the variables that are the result.
        """
        users: dict[_Variable, list[Binding | _Later]] = {
            value: [*bindings] for value, bindings in self._users.items()
        }
        after = [_Later(later), _Later(results)]
        for successor in after:
            for value in successor.used:
                users.setdefault(value, []).append(successor)
        unused = [
            binding
            for binding in self._bindings
            if not any(value in users for value in _defined_by(binding))
        ]
        waiting: deque[Binding | _Later] = deque(
            [*unused, *after] if is_deep else [after[1], *unused, after[0]]
        )
        order: list[Binding | _Later] = []

        def is_free(node: Binding) -> bool:
            """Whether all that uses a binding is found."""
            using = [user for value in _defined_by(node) for user in users.get(value, [])]
            return all(any(user is other for other in order) for user in using)

        while waiting:
            node = waiting.pop() if is_deep else waiting.popleft()
            if any(node is binding for binding in order):
                continue
            order.append(node)
            used = node.used if isinstance(node, _Later) else self._used[id(node)]
            bindings = [self._defined[value] for value in used if value in self._defined]
            waiting.extend([binding for binding in bindings if is_free(binding)])
        return [binding for binding in reversed(order) if not isinstance(binding, _Later)]


@dataclass(eq=False)
class _Later:
    """What is after a block, by the variables that it uses."""

    used: list[GraphVar]


def _defined_by(binding: Binding) -> list[_Variable]:
    sizes: list[Var] = []
    if isinstance(binding, MatchCast):
        sizes = definable_tir_vars_in_struct_info(binding.struct_info)
    return [binding.var, *sizes]


def _used_by(binding: Binding, defined: dict[_Variable, Binding]) -> list[_Variable]:
    """The variables that a binding uses, and the variables of sizes that the block defines."""
    sizes: list[Var] = []
    for size in used_symbolic_vars(BindingBlock((binding,))):
        if defined.get(size, binding) is not binding:
            sizes.append(size)
    return [*used_vars(binding.value), *sizes]

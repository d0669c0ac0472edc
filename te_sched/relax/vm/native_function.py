"""Calls of native functions: results are allocated, and returned as the graph returns them.

Must not know how plans are made.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from te_sched.errors import CallError
from te_sched.relax.vm.builtins import BUILTINS, as_value
from te_sched.relax.vm.bytecode import ShapeTuple
from te_sched.relax.vm.interpreter import too_deep, wrong_count
from te_sched.relax.vm.native import NativePlan, Tree
from te_sched.runtime.module import Function
from te_sched.runtime.ndarray import NDArray, array_inside, array_maker

_Results = list[NDArray]
_Builder = Callable[[Sequence[object], _Results], object]


class NativeFunction:
    """A function of a graph that is one native function."""

    def __init__(
        self,
        plan: NativePlan,
        function: Function,
        params: tuple[str, ...],
        constants: Sequence[object],
    ) -> None:
        self.name, self.params = plan.name, params
        self.plan, self.function = plan, function
        self._makers = [array_maker(tuple(shape), dtype) for dtype, shape in plan.outputs]
        self._build = _builder(plan.result, constants)
        self._count = len(params)
        self._scalars = [number for number, (_, shape) in enumerate(plan.params) if not shape]
        self.before_error: Callable[[str], None] = lambda name: None
        self.arguments_of: Callable[..., Sequence[object]] = lambda name, args, named: args

    def __call__(self, *args: object, **named: object) -> object:
        """Run it."""
        if named:
            args = tuple(self.arguments_of(self.name, args, named))
        if len(args) != self._count:
            self.before_error(self.name)
            raise wrong_count(self.name, self.params, len(args))
        if self._scalars:  # numbers of numpy are arrays without dimensions
            args = tuple([as_value(arg) if isinstance(arg, np.generic) else arg for arg in args])
        results = [make() for make in self._makers]
        try:
            self.function(*args, *results)
        except CallError:
            self._explain(args)
            raise
        try:
            return self._build(args, results)
        except RecursionError as error:
            raise too_deep(self.name) from error

    def _explain(self, args: Sequence[object]) -> None:
        """Raise the error of the first check that fails, which knows what graphs declare."""
        for name, number, *rest in self.plan.checks:
            operands = [None, *rest[1:]] if name == "vm.builtin.match_shape" else rest
            try:
                BUILTINS[name](as_value(args[number]), *operands)
            except CallError as error:
                raise error from None  # it takes the place of the error that is handled


def _builder(tree: Tree, constants: Sequence[Any]) -> _Builder:
    """What makes the result of a call, from its arguments and new arrays."""
    kind = tree[0]
    if kind == "param":
        return lambda args, results: as_value(args[tree[1]])
    if kind == "output":
        return lambda args, results: results[tree[1]]
    if kind == "view":
        _, number, offset, dtype, shape = tree
        return lambda args, results: array_inside(results[number], offset, tuple(shape), dtype)
    if kind == "tuple":
        fields = [_builder(subtree, constants) for subtree in tree[1]]
        return lambda args, results: tuple([field(args, results) for field in fields])
    leaf = constants[tree[1]] if kind == "constant" else tree[1]
    value = ShapeTuple(leaf) if kind == "shape" else leaf
    return lambda args, results: value

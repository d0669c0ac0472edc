"""Certain races in kernels: threads share memory that should be private.

A stage may be attached where all threads store different values into one element. `lower` prints
such programs, as TVM does; `build` refuses them here if the race is certain. The checked mode of
the emulated device finds other races. Must not know how kernels are made.
"""

from __future__ import annotations

from collections.abc import Iterable

from te_sched.analysis.programs.accesses import reads_own
from te_sched.errors import BuildError
from te_sched.ir import ops
from te_sched.ir.expr import EQ, LT, BufferLoad, Expr, IntImm, Var
from te_sched.ir.kernel import LaunchAxis, memory_scope, thread_axes
from te_sched.ir.scopes import scoped
from te_sched.ir.stmt import BufferStore, For, LetStmt, PrimFunc, Stmt
from te_sched.ir.storage_scopes import storage_scope
from te_sched.ir.visitor import children, walk
from te_sched.wording import wording


def check_kernel_races(kernel: PrimFunc) -> None:
    """Refuse a kernel whose threads certainly race.

    Raises
    ------
    BuildError if threads store different values into one element of shared memory, or concurrently
    update an element of shared or global memory.
    """
    axes, body = thread_axes(kernel)
    axes = tuple([axis for axis in axes if not ops.is_const(axis.extent, 1)])
    if axes:
        _Checker(str(kernel.attrs.get("global_symbol", "main")), axes).check(body)


class _Checker:
    """Visits a kernel; `depends` maps variables to the threads that they depend on."""

    def __init__(self, kernel: str, axes: Iterable[LaunchAxis]) -> None:
        self.kernel = kernel
        self.axes = {axis.var: axis for axis in axes}
        self.threads = {var: axis for var, axis in self.axes.items() if not axis.is_block}
        self.depends: dict[Var, frozenset[Var]] = {var: frozenset((var,)) for var in self.axes}
        self.selected: frozenset[Var] = frozenset()  # axes restricted by conditions

    def check(self, body: Stmt) -> None:
        for node, scope in scoped(body):
            if isinstance(node, For):
                self.depends[node.loop_var] = self.threads_in([node.min, node.extent])
            elif isinstance(node, LetStmt):
                self.depends[node.var] = self.threads_in([node.value])
            elif isinstance(node, BufferStore):
                self.selected = frozenset[Var]().union(*map(self.selected_by, scope.conditions))
                self.visit_store(node)

    def selected_by(self, condition: Expr) -> frozenset[Var]:
        """The thread axes along which a condition selects single threads, as tx == 0 or tx < 1."""
        variables: frozenset[Var] = frozenset()
        for part in walk(condition):
            only_first = isinstance(part, LT) and isinstance(part.b, IntImm) and part.b.value == 1
            if isinstance(part, EQ) or only_first:
                variables |= self.threads_in([part.a, part.b])
        return variables

    def visit_store(self, node: BufferStore) -> None:
        if memory_scope(node.buffer.data) == "global":
            self.visit_change(node)
        if storage_scope(node.buffer.data.scope).owner != "block":
            return
        together = frozenset(self.threads) - self.threads_in(node.indices) - self.selected
        if not together:
            return
        name = node.buffer.name
        names = ", ".join(sorted(self.threads[var].tag for var in together))
        if differing := together & self.threads_in([node.value], through_memory=False):
            names = ", ".join(sorted(self.threads[var].tag for var in differing))
            raise self.error(
                name,
                f"threads along {names} store different values into one element of {name}",
                f"{name} is in shared memory, which all threads of a block share",
                f'keep {name} in scope "local", or compute it outside of the loops bound to '
                f"{names}",
            )
        if reads_own(node):
            raise self.error(
                name,
                f"threads along {names} update one element of {name} at once",
                f"{name} is in shared memory, which all threads of a block share",
                f"bind {wording().loops_of.format(name)} to {names}, so that each thread computes "
                "separate elements",
            )

    def visit_change(self, node: BufferStore) -> None:
        """Refuse an update of an element of global memory by several threads of the grid."""
        together = frozenset(self.axes) - self.threads_in(node.indices) - self.selected
        if not together or not reads_own(node):
            return
        name = node.buffer.name
        tags = sorted(self.axes[var].tag for var in together)
        names = " and ".join(tags)
        is_block = tags[0].startswith("blockIdx")
        units = "blocks" if is_block else "threads"
        counts = ", ".join(
            f"{axis.tag} = {axis.extent}" for axis in self.axes.values() if axis.var in together
        )
        raise self.error(
            name,
            f"{units} along {names} update one element of {name} at once",
            f"{name} is in global memory, which all {units} share ({counts})",
            f"bind {wording().loops_of.format(name)} to {names}"
            + ("" if is_block else ', or compute it in registers (cache_write to scope "local")'),
        )

    def threads_in(
        self, expressions: Iterable[Expr], through_memory: bool = True
    ) -> frozenset[Var]:
        """The thread axes that expressions name, directly or through lets and loops.

        Without `through_memory`, those in the indices of loads from registers and shared memory do
        not count, since the loaded values are unknown.
        """
        variables: frozenset[Var] = frozenset()
        stack: list[Expr] = list(expressions)
        while stack:
            node = stack.pop()
            if isinstance(node, Var):
                variables |= self.depends.get(node, frozenset())
            own = isinstance(node, BufferLoad) and memory_scope(node.buffer.data) != "global"
            if own and not through_memory:
                continue
            stack.extend(below for below in children(node) if isinstance(below, Expr))
        return variables

    def error(self, stage: str, fault: str, why: str, help: str) -> BuildError:
        return BuildError(
            f"{fault} in kernel {self.kernel!r}",
            why,
            help,
            wording().subject(stage),
            can_override=True,
        )

"""One variable for each thread axis of a kernel, launched once, at the top of the kernel.

Each stage has its own variables for the axes that it is bound to; the device has only one
threadIdx.x.

    attr(bx, "thread_extent", 64)                 attr(bx, "thread_extent", 64)
        A_shared = allocate([16])                     attr(tx, "thread_extent", 16)
        attr(tx1, "thread_extent", 16)      ->            A_shared = allocate([16])
            A_shared[tx1] = A[bx * 16 + tx1]              A_shared[tx] = A[bx * 16 + tx]
        attr(tx2, "thread_extent", 16)                    B[bx * 16 + tx] = A_shared[tx]
            B[bx * 16 + tx2] = A_shared[tx2]

Must not know what kernels compute.
"""

from __future__ import annotations

from te_sched.arith.analyzer import Analyzer
from te_sched.config import AS_TVM, Lowering
from te_sched.errors import BuildError, Subject
from te_sched.ir.device_limits import TAGS
from te_sched.ir.expr import BufferLoad, Expr, IterVar, Range, Var
from te_sched.ir.kernel import LaunchAxis, launched
from te_sched.ir.ops import const
from te_sched.ir.stmt import AttrStmt, BufferStore, PrimFunc, Stmt
from te_sched.ir.visitor import StatementMapper, statements, variables_of, walk
from te_sched.lowering.statements import fresh_copy
from te_sched.wording import wording

_LAUNCH = "thread_extent"


def unify_threads(func: PrimFunc, settings: Lowering = AS_TVM) -> PrimFunc:
    """The function with all thread axes of a kernel at its top, each with one variable."""
    kernels = _Kernels(func.attrs.get("global_symbol", "main"), settings)
    return func.with_body(kernels.visit(func.body))


class _Kernels(StatementMapper):
    """Finds the outermost launches."""

    def __init__(self, name: str, settings: Lowering) -> None:
        self.name, self.settings = name, settings

    def visit_AttrStmt(self, node: AttrStmt) -> Stmt:
        if node.key != _LAUNCH:
            return self.generic(node)
        collector = _LaunchCollector(self.name, launched(node), self.settings)
        body = collector.visit(node)
        body = fresh_copy(body, collector.values)
        for axis in sorted(collector.axes.values(), key=lambda axis: -TAGS.index(axis.tag)):
            domain = Range(const(0, axis.var.dtype), axis.extent)
            thread = IterVar(domain, axis.var, "ThreadIndex", axis.tag)
            body = AttrStmt(thread, _LAUNCH, axis.extent, body)
        return body


class _LaunchCollector(StatementMapper):
    """Removes the launches from one kernel and maps their variables to shared ones."""

    def __init__(self, name: str, launched: dict[Var, str], settings: Lowering) -> None:
        self.name, self.launched = name, launched
        self.axes: dict[str, LaunchAxis] = {}
        self.values: dict[Var, Expr] = {}
        self.around: list[AttrStmt] = []  # the launches around the current one
        self.analyzer = Analyzer(settings)

    def visit_AttrStmt(self, node: AttrStmt) -> Stmt:
        if node.key != _LAUNCH:
            return self.generic(node)
        thread: IterVar = node.node
        tag = thread.thread_tag
        if tag not in TAGS:
            raise BuildError(
                f"cannot launch a kernel of {self.name!r} over unknown thread tag {tag!r}",
                help=f"bind to one of {', '.join(TAGS)}, or to vthread",
            )
        axis = self.axes.get(tag)
        if axis is None:
            var = Var(tag.replace(".", "_"), thread.var.dtype)
            axis = self.axes[tag] = LaunchAxis(tag, var, node.value)
        elif not self.analyzer.can_prove_equal(axis.extent, node.value):
            raise BuildError(
                f"{wording().loops} of {axis.extent} and of {node.value} iterations are bound to "
                f"{tag} in one kernel of {self.name!r}",
                "all threads of a kernel are launched at once",
                f"split the {wording().loops} so that both extents are the same",
                where=[
                    *[wording().subject(name) for name in _stored(node)[:1]],
                    Subject(wording().loop, tag),
                ],
            )
        self.values[thread.var] = axis.var
        inside = launched(node)
        others = variables_of(node.body).difference(inside)
        outer = [launch for launch in self.around if launch.node.thread_tag == tag]
        if any(self.launched.get(var) == tag for var in others) or any(
            _reads_results(node, launch) for launch in outer
        ):
            raise self.twice(tag, node)
        self.around.append(node)
        body: Stmt = self.visit(node.body)
        self.around.pop()
        return body

    def twice(self, tag: str, node: AttrStmt) -> BuildError:
        """A launch that uses the variable of another one over the same threads."""
        names = ", ".join(_stored(node)) or f"a {wording().computation}"
        return BuildError(
            f"cannot bind {wording().a_loop} of {node.value} iterations of {names} to {tag} inside "
            f"a loop that is bound to {tag} too, in a kernel of {self.name!r}",
            f"a thread has one {tag}: {names}, which depends on both loops, would be computed only "
            "where they are equal",
            f"bind the inner one to another thread axis, compute {names} outside of the loop over "
            f"{tag} (compute_at), or leave the inner one a plain loop",
            where=Subject(wording().loop, tag),
        )


def _reads_results(inner: AttrStmt, outer: AttrStmt) -> bool:
    """Whether a launch reads values that an enclosing launch computes per thread."""
    own = outer.node.var
    if inner.node.var is own:
        return False
    results: set[Var] = set()
    stores = [part for part in statements(outer.body) if type(part) is BufferStore]
    has_changed = True
    while has_changed:  # also through other memory
        has_changed = False
        for store in stores:
            used = {var for part in (store.value, *store.indices) for var in variables_of(part)}
            read = {load.buffer.data for load in walk(store) if type(load) is BufferLoad}
            if store.buffer.data not in results and (own in used or read & results):
                results.add(store.buffer.data)
                has_changed = True
    return any(load.buffer.data in results for load in walk(inner.body) if type(load) is BufferLoad)


def _stored(node: AttrStmt) -> list[str]:
    """The names of the stages that are stored within a launch."""
    stores = [part for part in statements(node.body) if type(part) is BufferStore]
    return list(dict.fromkeys(store.buffer.name for store in stores))

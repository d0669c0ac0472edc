"""The parts of a graph of `torch.compile` that te_sched builds; torch runs the others.

A call is built if its operator has a row and its tensors are dense arrays of the processor. Built
calls that depend on each other form subgraphs (`split`), each of which becomes a function of the
graph IR (`import_subgraph`). Must not know how functions are built and called.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping

from te_sched.ir import dtypes
from te_sched.ir.graph import GraphVar
from te_sched.ir.stmt import IRModule
from te_sched.ir.struct_info import PrimStructInfo
from te_sched.relax.frontend.torch.exported_program_translator import ProgramImporter, info_of
from te_sched.relax.frontend.torch.importer import ROWS
from te_sched.relax.frontend.torch.memory import is_in_place, is_node, is_view
from te_sched.relax.frontend.torch.nodes import base_name
from te_sched.relax.frontend.torch.values import (
    FakeTensor,
    FxGraphModule,
    FxNode,
    SizeFormula,
    SymbolicSize,
    TorchOperator,
    dtype_of,
)

PREFIX = "te_sched_"  # of the names of subgraphs
NO_TRANSLATION = "it has no translation"
NAME = "te_sched_name"  # the entry of `meta` with the name of a node before the graph was split


# Normalizations whose rows compute the first result alone; gradients need the others.
_OF_ONE_RESULT = frozenset(["native_layer_norm", "native_group_norm"])
# Operators that core ATen keeps, and that others of it compute.
_SIMPLER = ("var_mean", "_native_batch_norm_legit_functional", "_native_batch_norm_legit")


def decompositions(is_training: bool) -> Mapping[object, object]:
    """torch's decompositions of operators that have no row, for AOTAutograd."""
    import torch
    from torch._decomp import core_aten_decompositions, get_decompositions

    rows = ROWS.keys() - _OF_ONE_RESULT if is_training else ROWS.keys()
    packets = [getattr(torch.ops.aten, name) for name in (*_OF_ONE_RESULT, *_SIMPLER)]
    table = {**core_aten_decompositions(), **get_decompositions(packets)}
    return {
        operator: function
        for operator, function in table.items()
        if getattr(operator, "overloadpacket", operator).__name__.rstrip("_") not in rows
    }


def reason_against(node: FxNode) -> str | None:
    """Why te_sched does not build a call of an operator of tensors; None if it may."""
    if base_name(node) not in ROWS:
        return NO_TRANSLATION
    if is_random(node):
        return "it draws random numbers"
    if is_in_place(node):
        return "it changes a tensor in place"
    tensors = [*_tensors(node), *[part for user in node.all_input_nodes for part in _tensors(user)]]
    return next(filter(None, map(_reason_against_tensor, tensors)), None)


def gives_tensors(node: FxNode) -> bool:
    """Whether a node is a call that computes tensors; others compute sizes, or check them."""
    return node.op == "call_function" and bool(_tensors(node))


def is_random(node: FxNode) -> bool:
    """Whether an operator draws random numbers: dropout of a model in training mode."""
    target = node.target
    tags = target.tags if isinstance(target, TorchOperator) else ()
    return any(str(tag).endswith("nondeterministic_seeded") for tag in tags)


def _tensors(node: FxNode) -> list[FakeTensor]:
    """The tensors that a node gives, as torch describes them."""
    value = node.meta.get("val")
    parts = value if isinstance(value, list | tuple) else [value]
    return [part for part in parts if isinstance(part, FakeTensor)]


def _reason_against_tensor(tensor: FakeTensor) -> str | None:
    dtype = dtype_of(tensor.dtype)
    if not dtypes.is_name(dtype) or not dtypes.is_supported(dtype):
        return f"its tensors have dtype {dtype}"
    if tensor.device.type != "cpu":
        return f"its tensors are on device {tensor.device}"
    if str(tensor.layout) != "torch.strided":
        return f"its tensors have layout {tensor.layout}"
    if tensor.is_neg() or tensor.is_conj():
        return "its tensors stand for the negative of what is in their memory"
    return None


def split(graph_module: FxGraphModule, built: Collection[str]) -> FxGraphModule:
    """A copy of a graph in which the calls of these names are inside of submodules `te_sched_0`,
    `te_sched_1`, ..., but for those that would only view tensors.
    """
    from torch.fx import Graph, GraphModule
    from torch.fx.passes.infra.partitioner import CapabilityBasedPartitioner
    from torch.fx.passes.operator_support import create_op_support

    for node in graph_module.graph.nodes:
        node.meta[NAME] = node.name
    graph = Graph()
    graph.output(graph.graph_copy(graph_module.graph, {}))
    copied: FxGraphModule = GraphModule(graph_module, graph)
    support = create_op_support(lambda modules, node: node.meta.get(NAME) in built)
    partitioner = CapabilityBasedPartitioner(copied, support, allows_single_node_partition=True)
    partitions = [
        partition
        for partition in partitioner.propose_partitions()
        if not all(is_view(node) or base_name(node) == "getitem" for node in partition.nodes)
    ]
    partitioner.fuse_partitions(partitions, prefix=PREFIX)
    return copied


def is_size(node: FxNode) -> bool:
    """Whether the value of a node is a symbolic number."""
    return isinstance(node.meta.get("val"), SymbolicSize)


def _formulas(node: FxNode) -> list[SizeFormula]:
    """The symbolic sizes of the tensors that a node gives, or the number that it gives."""
    sizes = [size for tensor in _tensors(node) for size in tensor.shape]
    values = [*sizes, node.meta.get("val")]
    return [value.node.expr for value in values if isinstance(value, SymbolicSize)]


def _symbols(node: FxNode) -> set[str]:
    """The symbols in the sizes of a node."""
    return {symbol.name for formula in _formulas(node) for symbol in formula.free_symbols}


def _bound_symbols(node: FxNode) -> set[str]:
    """The symbols that are sizes of a node as a whole."""
    return {formula.name for formula in _formulas(node) if formula.is_Symbol}


class SubgraphImporter(ProgramImporter):
    """The translation of a subgraph: its inputs, its calls, and what it gives."""

    def __init__(self, nodes: Iterable[FxNode], sizes: Iterable[FxNode]) -> None:
        super().__init__()
        self.nodes = list(nodes)
        inputs = [node for node in self.nodes if node.op == "placeholder"]
        needed = set().union(*map(_symbols, self.nodes)) - set().union(*map(_bound_symbols, inputs))
        # Inputs of the whole graph that are sizes, and which inputs of the subgraph do not tell.
        self.sizes_of_graph = [node for node in sizes if needed & _bound_symbols(node)]
        self.inputs = [*inputs, *self.sizes_of_graph]
        self.calls = [node for node in self.nodes if node.op == "call_function"]
        result = self.nodes[-1].args[0]
        self.is_single = is_node(result)
        outputs = [result] if is_node(result) else self.nodes[-1].all_input_nodes
        self.results: list[FakeTensor] = [node.meta["val"] for node in outputs]

    def import_nodes(self) -> IRModule:
        """The module of the subgraph, whose function main gives a tuple of tensors."""
        params: list[GraphVar] = []
        for node in self.inputs:
            info = info_of(node, self.sizes)
            if info is None:
                self.values[node] = node.meta.get("val")
                continue
            params.append(GraphVar(node.name, info))
            self.values[node] = info.value if isinstance(info, PrimStructInfo) else params[-1]
        with self.builder.function("main", params):
            with self.builder.dataflow():
                result = self.run(
                    self.nodes, lambda node: self.call(node, ROWS[base_name(node)].rule)
                )
                results = (result,) if self.is_single else tuple(result)
                output = self.output(results, unwrap_unit=False, no_bind=False)
            self.builder.emit_func_output(output)
        return self.builder.finalize()

    def calls_at_fault(self) -> list[FxNode]:
        """The call whose translation raised an error; all calls if the error is not of one."""
        node = getattr(self, "node", None)
        while node is not None and base_name(node) == "getitem":
            node = node.all_input_nodes[0]
        return [node] if node in self.calls else self.calls

"""Building graphs frame by frame: functions, dataflow blocks and branches of scripts.

A frame of a function has a BlockBuilder, which normalizes and names what is emitted. The parser and
users (`ScriptBuilder`) build graphs with the same frames. Must not know Python's syntax.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from te_sched.errors import ScriptError
from te_sched.ir.expr import Var
from te_sched.ir.graph import (
    Binding,
    BindingBlock,
    DataflowBlock,
    DataflowVar,
    GraphFunction,
    GraphVar,
    If,
    MatchCast,
    SeqExpr,
    Tuple,
    VarBinding,
    as_expr,
    update_struct_info,
)
from te_sched.ir.roles import EVERY_ROLE
from te_sched.ir.source_lines import SourceLines
from te_sched.ir.stmt import IRModule
from te_sched.ir.struct_info import StructInfo, TupleStructInfo, erase_to_well_defined
from te_sched.ir.visitor import Mapper, walk
from te_sched.relax.block_builder import LEAVES, BlockBuilder
from te_sched.relax.struct_info import BaseCheckResult, struct_info_base_check
from te_sched.script.frames import Frame, ModuleFrame, ScriptBuilder, rename


class SequenceFrame(Frame):
    """Blocks of bindings: of a function or a branch. `blocks` are those that are complete."""

    builder: BlockBuilder

    def __init__(self) -> None:
        super().__init__()
        self.blocks: list[BindingBlock] = []

    def opened(self) -> None:
        self.builder._begin_binding_block()

    def finish_block(self) -> None:
        """Complete the block that is written."""
        block = self.builder._end_block()
        if block.bindings:
            self.blocks.append(block)


class GraphFunctionFrame(SequenceFrame):
    """A function of a graph."""

    def __init__(self, is_pure: bool = True, is_private: bool = False) -> None:
        super().__init__()
        self.is_pure, self.is_private = is_pure, is_private
        self.name = ""
        self.params: list[GraphVar] = []
        self.attrs: dict[str, Any] | None = None
        self.ret_struct_info: StructInfo | None = None
        self.result: Any = None
        self.made: GraphFunction | None = None
        self.decorate: Callable[[Any], GraphFunction] | None = None
        self.symbols: dict[str, Var] = {}  # variables of sizes by name
        self.lines = SourceLines()

    def __call__(self, function: Callable[..., Any]) -> GraphFunction:
        """What the frame makes of a function that it decorates."""
        assert self.decorate is not None
        return self.decorate(function)

    def opened(self) -> None:
        module = ScriptBuilder.current().find(ModuleFrame)
        functions = {} if module is None else module.functions
        definitions = {name: func for name, func in functions.items() if func is not None}
        self.builder = BlockBuilder(IRModule(definitions))
        for name in functions:
            self.builder._globals.take(str(name))
        self.builder.begin_scope([])
        super().opened()

    def add_parameter(self, var: GraphVar) -> None:
        """Add a parameter; the variables of sizes in it are known in the function."""
        self.params.append(var)
        self.builder.end_scope()
        self.builder.begin_scope(self.params)

    def close(self) -> None:
        script = ScriptBuilder.current()
        script.frames.pop()
        self.is_open = False
        is_local = any(isinstance(frame, GraphFunctionFrame) for frame in script.frames)
        self.made = function = self._function(is_local)
        outer = script.frames[-1] if script.frames else None
        if isinstance(outer, ModuleFrame):
            for name, func in self.builder.get().functions.items():
                outer.functions.setdefault(name, func)
            outer.functions[self.name] = function
        elif outer is None:
            script.results.append(function)

    def _function(self, is_local: bool) -> GraphFunction:
        if self.result is None:
            raise ScriptError(
                f"function {self.name} has no result", "", "end it with `return value`"
            )
        body = self.builder.normalize(as_expr(self.result))
        self.finish_block()
        sequence = self.builder.normalize(SeqExpr(tuple(self.blocks), body))
        attrs = dict(self.attrs or {})
        if self.is_private and "global_symbol" in attrs:
            raise ScriptError(
                f"function {self.name} is private and has the attribute global_symbol",
                "a private function cannot be called by name from outside of the module",
                "leave out one of them",
            )
        if not self.is_private and self.name and not is_local:
            attrs.setdefault("global_symbol", self.name)
        function = GraphFunction(
            tuple(self.params),
            sequence,
            self._declared_result(sequence),
            self.is_pure,
            attrs,
            written_name=self.name,
            lines=self.lines,
        )
        self.builder.end_scope()
        return function

    def _declared_result(self, body: SeqExpr) -> StructInfo | None:
        """The struct info of the result: as declared, unless that of the body says more."""
        declared, body_info = self.ret_struct_info, body.struct_info_
        if declared is None or body_info is None:
            return declared
        infos = [param.struct_info for param in self.params]
        body_info = erase_to_well_defined(body_info, infos)
        check = struct_info_base_check(declared, body_info, self.builder.analyzer)
        return body_info if check is BaseCheckResult.PASS else declared


class DataflowFrame(Frame):
    """A dataflow block; `output_vars` are the variables that are visible outside of it."""

    def __init__(self) -> None:
        super().__init__()
        self.outputs: list[GraphVar] | None = None
        self.output_vars: list[GraphVar] = []
        self.renamed: dict[GraphVar, GraphVar] = {}  # outputs, and the variables they become
        self.returned: Any = None  # what the function returns, if it does so in the block
        self.value = self

    def opened(self) -> None:
        self.around = _sequence("R.dataflow")
        self.around.finish_block()
        self.around.builder._begin_dataflow_block()

    def output(self, variables: Sequence[Any]) -> None:
        """Declare the variables that are visible outside."""
        if self.outputs is not None:
            raise ScriptError("R.output is used twice in a block", "", "name all outputs in one")
        defined = {binding.var for binding in self.around.builder._block().bindings}
        for variable in variables:
            if variable not in defined:
                raise ScriptError(
                    f"{variable} is an output of a dataflow block that does not define it",
                    "",
                    "name variables that are bound in the block",
                )
        self.outputs = list(variables)

    def close(self) -> None:
        ScriptBuilder.current().frames.pop()
        self.is_open = False
        block = self.around.builder._end_block()
        visible = self.renamed
        for var in self.outputs or ():
            visible.setdefault(var, GraphVar(var.name_hint, var.struct_info_))
        bindings = [RenameVariables(visible).binding(binding) for binding in block.bindings]
        self.output_vars = [visible[variable] for variable in self.outputs or ()]
        if bindings:
            self.around.blocks.append(DataflowBlock(tuple(bindings)))
        self.around.builder._begin_binding_block()


class BranchFrame(SequenceFrame):
    """A branch of a condition; `made` is its sequence."""

    def __init__(self, suffix: str) -> None:
        super().__init__()
        self.suffix = suffix
        self.var: GraphVar | None = None  # the last variable that is bound
        self.made: SeqExpr | None = None

    def opened(self) -> None:
        script = ScriptBuilder.current()
        if isinstance(script.frames[-2], DataflowFrame):
            raise ScriptError(
                "a condition stands in a dataflow block",
                "a dataflow block has no control flow",
                "write it outside of `with R.dataflow():`",
            )
        self.builder = function_frame("a condition").builder
        self.builder.begin_scope()
        super().opened()

    def close(self) -> None:
        ScriptBuilder.current().frames.pop()
        self.is_open = False
        self.finish_block()
        last = self.blocks[-1] if self.blocks else None
        if last is None or isinstance(last.bindings[-1].var, DataflowVar):
            self.builder.end_scope()
            raise ScriptError(
                "a branch binds no variable at its end", "", "bind its result as the last statement"
            )
        *rest, binding = last.bindings
        self.var = binding.var
        value: Any = binding.var
        if isinstance(binding, VarBinding):
            value = binding.value
            if isinstance(last, DataflowBlock) or not isinstance(value, (*LEAVES, Tuple)):
                name = f"{binding.var.name_hint}_{self.suffix}"
                value = GraphVar(name, value.struct_info_)
                rest.append(VarBinding(value, binding.value))
        else:
            value = GraphVar(f"{binding.var.name_hint}_{self.suffix}", binding.var.struct_info_)
            rest.append(MatchCast(value, binding.value, binding.struct_info))  # type: ignore[attr-defined]
        self.blocks[-1] = type(last)(tuple(rest))
        kept = tuple([block for block in self.blocks if block.bindings])
        self.made = self.builder.normalize(SeqExpr(kept, value))
        self.builder.end_scope()


class RenameVariables(Mapper):
    """Replaces variables of a graph, also where they are defined."""

    reached = EVERY_ROLE

    def __init__(self, variables: dict[GraphVar, GraphVar]) -> None:
        self.variables = variables

    def visit_GraphVar(self, node: GraphVar) -> GraphVar:
        return self.variables.get(node, node)

    def define(self, var: Var) -> Var:
        """Variables of sizes are kept."""
        return var

    def binding(self, binding: Any) -> Binding:
        """The binding with other variables."""
        new_binding: Binding = self.visit(binding) if self.variables else binding
        return new_binding


def variables_in(node: Any) -> set[GraphVar]:
    """The variables of the graph that an expression uses."""
    return {variable for variable in walk(node) if isinstance(variable, GraphVar)}


def function_frame(what: str) -> GraphFunctionFrame:
    """The innermost function of a graph that is open."""
    frame = ScriptBuilder.current().find(GraphFunctionFrame)
    if frame is None:
        raise ScriptError(
            f"{what} stands outside of a function of a graph",
            "",
            "use it inside of a function with @R.function",
        )
    return frame


def _sequence(what: str) -> SequenceFrame:
    innermost = ScriptBuilder.current().frames[-2]
    if not isinstance(innermost, SequenceFrame):
        raise ScriptError(
            f"{what} stands inside of a dataflow block", "", "close the dataflow block first"
        )
    return innermost


def open_dataflow() -> DataflowFrame | None:
    """The dataflow block that is written, if there is one."""
    script = ScriptBuilder.current()
    innermost = script.frames[-1] if script.frames else None
    return innermost if isinstance(innermost, DataflowFrame) else None


def emit(value: Any, annotation: StructInfo | None = None) -> GraphVar:
    """Bind a value to a new variable.

    An annotation replaces the struct info of a call; it must fit what is known of the value.
    """
    builder = function_frame("R.emit").builder
    dataflow = open_dataflow()
    if dataflow is not None and dataflow.outputs is not None:
        raise ScriptError(
            "a variable is bound after R.output", "", "write R.output at the end of the block"
        )
    if isinstance(value, MatchCastValue):
        return builder.match_cast(value.value, value.struct_info)
    expr = builder.normalize(as_expr(value))
    if annotation is not None:
        check_annotation(annotation, expr, builder)
        if not isinstance(expr, LEAVES):
            update_struct_info(expr, annotation)
    return builder._emit(expr, "", is_output=False)


def check_annotation(annotation: StructInfo, value: Any, builder: BlockBuilder) -> None:
    """Refuse an annotation of a variable that its value cannot have."""
    info = value.struct_info_
    if info is None:
        return
    if struct_info_base_check(annotation, info, builder.analyzer) is BaseCheckResult.FAIL_L0:
        raise ScriptError(
            f"a variable is annotated as {annotation}, its value is {info}",
            "",
            "correct the annotation, or use R.match_cast",
        )


class MatchCastValue:
    """A value that has a struct info when it runs (`R.match_cast`)."""

    def __init__(self, value: Any, struct_info: StructInfo) -> None:
        self.value, self.struct_info = value, struct_info


def emit_condition(cond: Any, branches: Sequence[BranchFrame]) -> GraphVar:
    """Bind the result of a condition to a variable, with the name that both branches bind."""
    builder = function_frame("a condition").builder
    names = [branch.var.name_hint for branch in branches if branch.var is not None]
    if len(set(names)) != 1:
        raise ScriptError(
            f"the branches of a condition bind {' and '.join(names)} last",
            "the result of a condition is the variable that both branches bind last",
            "bind the same name in both branches",
        )
    bodies = [branch.made for branch in branches]
    var = builder._emit(builder.normalize(If(as_expr(cond), *bodies)), "", is_output=False)  # type: ignore[arg-type]
    rename(var, names[0])
    return var


def is_void(value: Any) -> bool:
    """Whether an expression has no value, so that it can be a statement."""
    info = value.struct_info_
    return isinstance(info, TupleStructInfo) and not info.fields

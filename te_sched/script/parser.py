"""TVMScript source becomes IR: statements of Python open and close the frames of a program.

    @T.prim_func
    def double(A: T.Buffer((8,), "float32"), B: T.Buffer((8,), "float32")):
        for i in range(8):
            with T.block("B"):
                vi = T.axis.spatial(8, i)
                B[vi] = A[vi] * T.float32(2)

A script is executed once, statement by statement, in the names of the function that it is written
in: loops and conditions of the program become IR, everything else is Python.
"""

from __future__ import annotations

import ast
import inspect
import linecache
import sys
from collections.abc import Callable, Collection, Mapping, Sequence
from types import FunctionType, ModuleType
from typing import Any, overload

from te_sched.absent_names import tell_of_absent_names as _tell_of_absent_names
from te_sched.arith.complete import complete
from te_sched.deep_recursion import walks_deeply
from te_sched.errors import DeclarationError, ScriptError, kind_of, repr_of
from te_sched.ir import calls, ops
from te_sched.ir.expr import (
    Buffer,
    BufferRegion,
    IterVar,
    Node,
    Operand,
    Var,
)
from te_sched.ir.graph import ExternFunc, GraphFunction
from te_sched.ir.serialization import load_json
from te_sched.ir.source_lines import SourceLines
from te_sched.ir.stmt import GlobalVar, IRModule, PrimFunc, Stmt
from te_sched.ir.verify import check_well_formed
from te_sched.ir.visitor import replace
from te_sched.python_expressions import is_long
from te_sched.relax.analysis.well_formed import first_fault
from te_sched.script import frames
from te_sched.script import words as T
from te_sched.script.annotations import expanded
from te_sched.script.evaluate import OpenModule, element_at, is_open
from te_sched.script.frames import (
    BlockFrame,
    CaseFrame,
    ForFrame,
    Frame,
    IfFrame,
    ModuleFrame,
    PrimFuncFrame,
    ScriptBuilder,
    rename,
)
from te_sched.script.graph_parser import (
    GraphParser,
    ModuleFunctions,
    has_decorator,
    is_graph_function,
)
from te_sched.script.source import Source, advice_on_parameter, names_around
from te_sched.script.statements import StatementReader, header_of
from te_sched.tir.constructors import Constructor
from te_sched.wording import BLOCKS, worded

_LOOPS = "range, T.serial, T.grid, T.parallel, T.vectorized, T.unroll, T.thread_binding"


NAMES: dict[str, Any] = {}  # that every script has: T, I, tvm
observers: list[Callable[[ScriptError], None]] = []

_NAMED = {"T.block": '"name"', "T.init": ""}  # arguments in advice


class Parser(StatementReader):
    """Executes the statements of one script: those of loops and blocks."""

    kind_of_scripts = "a T.prim_func"
    known_statements = "assignments, for, while, if, with, assert, return and calls"

    def __init__(self, source: Source, names: Mapping[str, Any], is_trusted: bool = True) -> None:
        super().__init__(source, names, is_trusted)
        self.defined: set[Var] = set()  # variables that have a name already
        self.unchecked: set[str] = set()  # functions with check_well_formed=False
        # Where variables of graphs are bound or declared, and results of functions declared.
        self.places: dict[Any, Any] = {}
        self.lines = SourceLines()  # of the function that is read
        self.returned = None  # by the statements of a macro: nothing

    def reader_of_macro(self, source: Source, names: Mapping[str, Any]) -> Parser:
        """The reader of the statements of a macro."""
        reader = Parser(source, names)
        reader.defined, reader.lines = self.defined, self.lines
        return reader

    # Definitions

    def module(self, node: ast.ClassDef, functions: Mapping[str, Any] | None = None) -> IRModule:
        """A class of functions: those of loops are read before graphs, which call them."""
        with ModuleFrame() as _:
            frame = frames.around(ModuleFrame, "a module")
            frame.name = node.name
            graphs, others = self._definitions(node, frame)
            proxy = ModuleNames({func.name: self._result(func) for func in others})
            with self.scope():
                self.scopes[-1].update({node.name: proxy, "cls": proxy})
                for definition in others:
                    self.function(definition, (functions or {}).get(definition.name))
            self._graphs(node, frame, graphs)
        return ScriptBuilder.current().results[-1]  # type: ignore[no-any-return]

    def _definitions(
        self, node: ast.ClassDef, frame: ModuleFrame
    ) -> tuple[list[ast.FunctionDef], list[ast.FunctionDef]]:
        """The functions of graphs and of loops; statements of the class are executed."""
        graphs: list[ast.FunctionDef] = []
        others: list[ast.FunctionDef] = []
        for statement in node.body:
            if isinstance(statement, ast.FunctionDef):
                if not has_decorator(self, statement, "is_of_loops", "is_of_graphs"):
                    raise self.source.error(
                        header_of(statement),
                        f"function {statement.name} of module {node.name} is not a T.prim_func or "
                        f"R.function",
                        "write @T.prim_func or @R.function above it, or define it outside of the "
                        "class",
                    )
                (graphs if is_graph_function(self, statement) else others).append(statement)
                frame.functions[statement.name] = None
            elif isinstance(statement, ast.Expr):
                self.value(statement.value)
            elif isinstance(statement, ast.Assign) and isinstance(statement.targets[0], ast.Name):
                frame.functions[statement.targets[0].id] = self._checked(
                    statement, self._external, statement
                )
            elif not isinstance(statement, ast.Pass):
                raise self.source.error(
                    statement, "a module holds functions alone", "move this out of the class"
                )
        return graphs, others

    def _external(self, node: ast.Assign) -> ExternFunc:
        value = self.value(node.value)
        if not isinstance(value, ExternFunc):
            raise ScriptError(
                "a module holds functions alone",
                f"{repr_of(value)} is {kind_of(value)}",
                'move this out of the class, or write name = R.ExternFunc("name")',
            )
        return value

    def _graphs(self, node: ast.ClassDef, frame: ModuleFrame, graphs: list[Any]) -> None:
        """Read functions of graphs; each knows the signatures of all."""
        reader = self.graph_reader()
        variables = {name: GlobalVar(name) for name in frame.functions}
        for name, func in frame.functions.items():
            variables[name].struct_info_ = None if func is None else func.struct_info
        for definition in graphs:
            variables[definition.name].struct_info_ = reader.declaration(definition)
        names = ModuleFunctions(variables)
        reader.scopes.append({**variables, node.name: names, "cls": names})
        for definition in graphs:
            reader.function(definition)

    def graph_reader(self) -> GraphParser:
        """The reader of functions of graphs in this source."""
        reader = GraphParser(self.source, self.names, self.is_trusted)
        reader.scopes = [*self.scopes]
        reader.places, reader.unchecked = self.places, self.unchecked
        return reader

    def _result(self, node: ast.FunctionDef) -> str:
        """The type of what a function returns."""
        if node.returns is None or _is_none(node.returns):
            return "void"
        return str(getattr(self.value(node.returns), "dtype", "void"))

    def function(self, node: ast.FunctionDef, raw: Any = None) -> None:
        """A function of loops and blocks."""
        is_private, is_checked = self._options(node)
        if not is_checked:
            self.unchecked.add(node.name)
        frame = PrimFuncFrame(is_private)
        self.lines = frame.lines
        frame.finish = self._finish(node)
        with self.scope(), self.framed(node, frame):
            T.func_name(node.name)
            if node.returns is not None and not _is_none(node.returns):
                T.func_ret(self.value(node.returns))
            self._parameters(node, raw)
            self.body(node.body)

    def _finish(self, node: ast.FunctionDef) -> Callable[[PrimFunc, list[Buffer]], PrimFunc]:
        def finish(func: PrimFunc, buffers: list[Buffer]) -> PrimFunc:
            try:
                return complete(func, buffers)
            except DeclarationError as error:
                raise self.source.error(header_of(node), error) from None

        return finish

    def check(self, node: ast.FunctionDef | ast.ClassDef, program: Any) -> None:
        """Refuse what was read if its variables are not defined once, around their uses, and graphs
        that are not well formed.
        """
        if not self._options(node)[1]:
            return
        is_module = isinstance(program, IRModule)
        functions = program.functions if is_module else {node.name: program}
        checked = [
            func
            for name, func in functions.items()
            if name not in self.unchecked and isinstance(func, PrimFunc)
        ]
        try:
            check_well_formed(checked)
        except DeclarationError as error:
            raise self.source.error(self._place_in(error, checked, node), error) from None
        graphs = {name for name, func in functions.items() if isinstance(func, GraphFunction)}
        violation = first_fault(program) if graphs and not graphs & self.unchecked else None
        if violation is not None:
            fault, part = violation
            raise self.source.error(self.places.get(part, header_of(node)), fault)

    def _place_in(
        self, error: DeclarationError, functions: Sequence[PrimFunc], node: Any
    ) -> ast.Pass:
        """The first line of the block or function that an error names, or of the definition."""
        lines = SourceLines(*[func.lines for func in functions])
        for name in error.names("block"):
            for line in lines.of("block", name):
                return self.source.line(line.line)
        members = {
            statement.name: statement
            for statement in node.body
            if isinstance(statement, ast.FunctionDef)
        }
        for name in error.names("function"):
            node = members.get(name, node)
        return header_of(node)

    def _options(self, node: ast.FunctionDef | ast.ClassDef) -> tuple[bool, bool]:
        """Whether a decorator says private=True, and whether the function is checked."""
        for decorator in node.decorator_list:
            if isinstance(decorator, ast.Call):
                named = {word.arg: self.value(word.value) for word in decorator.keywords}
                for word in decorator.keywords:
                    if word.arg not in ("private", "pure", "check_well_formed"):
                        raise self.source.error(
                            word,
                            f"{ast.unparse(decorator.func)} has no option {word.arg}",
                            "use private= and check_well_formed=",
                        )
                return bool(named.get("private")), bool(named.get("check_well_formed", True))
        return False, True

    def _parameters(self, node: ast.FunctionDef, raw: Any) -> None:
        evaluated_types = getattr(raw, "__annotations__", {})
        args = node.args
        if args.vararg or args.kwarg or args.kwonlyargs or args.defaults:
            raise self.source.error(
                node, f"parameters of {node.name} have defaults or stars", "name each parameter"
            )
        for parameter in args.args:
            if parameter.annotation is None:
                raise self.source.error(
                    parameter,
                    f"parameter {parameter.arg} has no type",
                    advice_on_parameter(parameter, "annotate it: T.handle, T.int32, ..."),
                )
            value = self._annotation(parameter.annotation, evaluated_types.get(parameter.arg))
            try:
                self.define(parameter, parameter.arg, T.arg(parameter.arg, value))
            except DeclarationError as error:
                raise self.source.error(parameter, error) from None

    def _annotation(self, node: Any, evaluated_type: Any) -> Any:
        """The variable or buffer of a type, a new one each time."""
        node = self.source.expression(node)
        try:
            value = self.value(node)
        except ScriptError:
            if evaluated_type is None or isinstance(evaluated_type, str):
                raise
            value = evaluated_type
        value = self._checked(node, expanded, value)
        if isinstance(value, T.ScalarType | T.HandleType):
            return value()
        if isinstance(value, Buffer) and value.name:
            return replace(value, data=Var("", "handle", value.data.pointer), name="")
        if isinstance(value, Var) and value.name:
            return replace(value, name="")
        return value

    # Names

    def define(self, node: Any, name: str, value: Any) -> None:
        """Give a name a value in the innermost scope."""
        if name in self.scopes[-1] and isinstance(value, Var | Buffer | IterVar):
            raise self.source.error(node, f"{name} is defined twice", "use another name")
        if isinstance(value, Var):
            self.defined.add(value)
        if isinstance(value, Buffer) and value.name == name:
            self.note("buffer", name, node)
        self.scopes[-1][name] = value

    def note(self, kind: str, name: str, node: Any, variable: Var | None = None) -> None:
        """Note the line of what is declared; `variable` is that of a loop."""
        self.lines.add(kind, name, self.source.place(node), variable)

    def bind_loop(self, node: Any, name: str, value: Any) -> Any:
        """Name the variable, or the variables, of a loop."""
        if isinstance(value, list | tuple):
            for index, variable in enumerate(value):
                self.bind_loop(node, f"{name}_{index}", variable)
            return value
        rename(value, name)
        self.defined.add(value)
        return value

    def bind_with(self, node: Any, name: str, value: Any) -> Any:
        """Name what a `with` statement gives."""
        if isinstance(value, list) and len(value) == 1:
            value = value[0]
        if not isinstance(value, Var | Buffer):
            raise self.source.error(node, "this `with` gives no value", "leave out `as`")
        rename(value, name)
        return value

    def bind_value(self, node: Any, name: str, value: Any) -> Any:
        """What a name stands for after an assignment: a new variable for the value of an
        expression.
        """
        if isinstance(value, T.meta_var):
            return value.value
        if isinstance(value, list | tuple):
            for index, element in enumerate(value):
                self.bind_value(node, f"{name}_{index}", element)
            return value
        if isinstance(value, Frame):
            if value.value is None:
                raise self.source.error(node, "this gives no value", "open it by `with`")
            frame_value = self.enter(value)
            rename(frame_value, name)
            return frame_value
        if isinstance(value, Buffer | IterVar) or (
            isinstance(value, Var) and value not in self.defined
        ):
            if not (isinstance(value, Buffer) and value.name):
                rename(value, name)
            return value
        if isinstance(value, Operand | bool | int | float | str) or hasattr(value, "dtype"):
            let = T.LetStmt(ops.convert(value))
            self.enter(let)
            rename(let.value, name)
            return let.value
        if isinstance(value, Node) or callable(value) or isinstance(value, Mapping):
            return value
        raise self.source.error(
            node,
            f"{name} is assigned {repr_of(value)}, expected an expression",
            "use T.meta_var(...) to name a value of Python",
        )

    # Statements

    def _for(self, node: ast.For) -> None:
        frame = self.value(node.iter)
        if isinstance(frame, range):
            frame = T.serial(frame.start, frame.stop, step=frame.step)
        if not isinstance(frame, ForFrame):
            raise self.source.error(
                node.iter, f"{repr_of(frame)} is not a loop", f"use one of {_LOOPS}"
            )
        if node.orelse:
            raise self.source.error(node.orelse[0], "a loop has no else", "write it after the loop")
        with self.scope(), self.framed(node, frame) as variables:
            target = node.target
            if isinstance(target, ast.Tuple | ast.List) and len(target.elts) == 1:
                target = target.elts[0]  # of a grid of one loop
            elif isinstance(target, ast.Tuple | ast.List) and len(frame.vars) == 1:
                raise self.source.error(
                    target,
                    f"one loop has {len(target.elts)} names",
                    "give T.grid an extent for each of them, not a list: T.grid(8, 8)",
                )
            self.assign(target, variables, self.bind_loop)
            for loop in frame.vars:
                self.note("loop", loop.name, node, loop)
            if frame.thread:
                self.note("loop", frame.thread, node)
            self.body(node.body)

    def _while(self, node: ast.While) -> None:
        with self.scope(), self.framed(node, T.While(self.value(node.test))):
            self.body(node.body)

    def _with(self, node: ast.With) -> None:
        opened: list[Any] = []
        with self.scope():
            self._with_items(node, list(node.items), opened)

    def _with_items(self, node: ast.With, items: list[ast.withitem], opened: list[Any]) -> None:
        if not items:
            self.body(node.body)
            return
        item = items.pop(0)
        frame = self.value(item.context_expr)
        if not isinstance(frame, Frame):
            text = ast.unparse(item.context_expr)
            raise self.source.error(
                item.context_expr,
                f"{text if callable(frame) else repr_of(frame)} opens nothing",
                f"call it: with {text}({_NAMED.get(text, '...')}):"
                if callable(frame)
                else "use T.block, T.init, T.launch_thread, T.allocate, ...",
            )
        if isinstance(frame, BlockFrame):
            self.note("block", frame.name, node)
        with self.framed(node, frame) as value:
            if item.optional_vars is not None:
                self.assign(item.optional_vars, value, self.bind_with)
            self._with_items(node, items, opened)

    def _if(self, node: ast.If) -> None:
        condition = self.value(node.test)
        if not isinstance(condition, Operand | BufferRegion):
            if not isinstance(condition, bool | int | str | list | tuple | dict | type(None)):
                raise self.source.error(
                    node.test, f"{repr_of(condition)} is not a condition", "compare values"
                )
            with self.scope():
                pass
            self.body(node.body if condition else node.orelse)
            return
        with self.framed(node, self._checked(node.test, T.If, condition)) as _:
            assert isinstance(ScriptBuilder.current().frames[-1], IfFrame)
            with self.scope(), self.framed(node, CaseFrame("then")):
                self.body(node.body)
            if node.orelse:
                with self.scope(), self.framed(node, CaseFrame("else")):
                    self.body(node.orelse)

    def _assert(self, node: ast.Assert) -> None:
        message = self.value(node.msg) if node.msg is not None else ""
        self.enter(self._checked(node, T.Assert, self.value(node.test), message))

    def _return(self, node: ast.Return) -> None:
        if node.value is None:
            raise self.source.error(
                node, "a return has no value", "return a value, or leave it out"
            )
        value = self.value(node.value)
        if value is None:
            raise self.source.error(node, "the returned expression has no value", "return a value")
        if isinstance(value, Buffer):
            raise self.source.error(
                node.value,
                f"a function with @T.prim_func cannot return buffer {value.name}",
                f"make {value.name} a parameter, store the results in it, and leave out the return",
            )
        self._checked(node, lambda: T.evaluate(T.ret(value)))  # type: ignore[attr-defined]

    def _expression(self, node: ast.Expr) -> None:
        value = self.value(node.value)
        if isinstance(value, Frame):
            self._checked(node, self.enter, value)
        elif isinstance(value, Stmt):
            ScriptBuilder.current().add(value)
        elif (
            isinstance(value, T.meta_var) or value is None or isinstance(value, str | tuple | list)
        ):
            return
        elif isinstance(value, Operand | bool | int | float | BufferRegion | Var):
            self._checked(node, T.evaluate, value)
        else:
            raise self.source.error(
                node, f"{repr_of(value)} is not a statement", "use T.evaluate for its effect"
            )

    def _assign(self, node: ast.Assign) -> None:
        if len(node.targets) != 1:
            raise self.source.error(
                node, "one statement assigns twice", "write a statement for each assignment"
            )
        target = node.targets[0]
        value = self.value(node.value)
        if isinstance(target, ast.Subscript):
            self._store(target, value, node.value)
        elif isinstance(target, ast.Attribute):
            raise self.source.error(target, "an attribute cannot be assigned", "assign to a name")
        else:
            self._checked(node, self.assign, target, value, self._binding(node.value))

    def _binding(self, node: ast.expr) -> Callable[[Any, str, Any], Any]:
        """`bind_value` with errors that show the value."""
        return lambda target, name, value: self.bind_value(node, name, value)

    def _store(self, target: ast.Subscript, value: Any, node: ast.expr) -> None:
        buffer, indices = self.value(target.value), self.value(target.slice)
        if isinstance(buffer, Buffer):
            indices = self._checked(target, lambda: element_at(buffer, indices).indices)
            self.note("assignment", buffer.name, target)
        fault = node if isinstance(buffer, Buffer) else target
        self._checked(fault, T.buffer_store, buffer, value, indices)

    def _augmented(self, node: ast.AugAssign) -> None:
        old = self.value(_as_read(node.target))
        added = self.value(node.value)
        value = self._checked(node.value, self.combine, type(node.op), old, added)
        if isinstance(node.target, ast.Subscript):
            self._store(node.target, value, node.value)
        else:
            assert isinstance(node.target, ast.Name)
            self.scopes[-1].pop(node.target.id, None)
            self._checked(node, self.assign, node.target, value, self._binding(node.value))

    def _annotated(self, node: ast.AnnAssign) -> None:
        if not isinstance(node.target, ast.Name):
            raise self.source.error(node, "only a name can have a type", "assign to a name")
        var = self._annotation(node.annotation, None)
        if not isinstance(var, Var):
            raise self.source.error(
                node.annotation, f"{repr_of(var)} is not a type of a variable", "use T.int32, ..."
            )
        rename(var, node.target.id)
        if node.value is not None:
            value = self.value(node.value)
            self.enter(self._checked(node.value, lambda: T.LetStmt(value, var=var)))
        self.define(node.target, node.target.id, var)

    def _function(self, node: ast.FunctionDef) -> None:
        raise self.source.error(
            node, "a function stands inside of a function", "define it before, or use T.macro"
        )

    def define_bound(self, function: Any, node: ast.Call) -> None:
        """Define the variables of T.Let whose declarations follow: texts declare those of a
        loop's extent in its body, as TVM's do.
        """
        if function is not T.Let:
            return
        for where in [
            keyword.value for keyword in node.keywords if isinstance(keyword.value, ast.Dict)
        ]:
            for name, value in zip(where.keys, where.values, strict=True):
                if isinstance(name, ast.Name) and name.id not in self.all_names():
                    self.define(name, name.id, Var(name.id, ops.convert(self.value(value)).dtype))

    def call(self, function: Any, args: list[Any], named: dict[str, Any]) -> Any:
        if isinstance(function, Macro):
            return function.expand(self, args, named)
        if isinstance(function, PrimFunc):
            name = str(function.attrs.get("global_symbol", "main"))
            return calls.ModuleFunction(name, function.ret_type)(*args)
        if function is range and (
            named
            or any(isinstance(arg, Operand) for arg in args)
            or (self.limits is not None and is_long(range(*args)))
        ):
            return T.serial(*args, **named)
        return super().call(function, args, named)

    def attributes_of(self, holder: Any) -> Collection[str]:
        """The attributes that a text may read."""
        if isinstance(holder, ModuleNames):
            return holder._results
        if isinstance(holder, T.ScalarType):
            return ("dtype",)
        if holder is T.axis or isinstance(holder, Constructor):
            return dir(type(holder))
        return super().attributes_of(holder)

    def is_collection(self, value: Any) -> bool:
        """Whether a value of the program is a collection, with an end."""
        return isinstance(value, T.meta_var) or super().is_collection(value)


def _as_read(target: Any) -> Any:
    """The target of an assignment, as an expression that is read."""
    read = ast.copy_location(
        type(target)(**{**{f: getattr(target, f) for f in target._fields}, "ctx": ast.Load()}),
        target,
    )
    return read


def _is_none(node: Any) -> bool:
    return isinstance(node, ast.Constant) and node.value is None


Parser.statements = {
    ast.For: Parser._for,
    ast.While: Parser._while,
    ast.With: Parser._with,
    ast.If: Parser._if,
    ast.Assert: Parser._assert,
    ast.Return: Parser._return,
    ast.Expr: Parser._expression,
    ast.Assign: Parser._assign,
    ast.AugAssign: Parser._augmented,
    ast.AnnAssign: Parser._annotated,
    ast.FunctionDef: Parser._function,
    ast.Pass: lambda parser, node: None,
}


class ModuleNames:
    """The functions of a module while it is read: `Module.f(x)` calls one."""

    def __init__(self, results: Mapping[str, str]) -> None:
        self._results = results

    def __getattr__(self, name: str) -> calls.ModuleFunction:
        if name not in self._results:
            raise AttributeError(f"the module has no function {name}")
        return calls.ModuleFunction(name, self._results[name])


class Macro:
    """A function whose statements stand where it is called. `hygienic`: names that are not
    parameters are those of the place of its definition.
    """

    def __init__(self, function: FunctionType, hygienic: bool = True) -> None:
        self.function, self.hygienic = function, hygienic
        self.__name__ = function.__name__
        self._source: Source | None = None
        self._names = names_around(function)  # when it is defined

    def __get__(self, instance: Any, owner: Any = None) -> Any:
        """As a method, a macro is called with its object first."""
        if instance is None:
            return self
        bound = Macro(self.function, self.hygienic)
        bound.expand = lambda parser, args, named: self.expand(  # type: ignore[method-assign]
            parser, [instance, *args], named
        )
        return bound

    def __call__(self, *args: Any, **named: Any) -> Any:
        raise ScriptError(
            f"macro {self.__name__} is called outside of a script",
            "",
            "call it in a function with @T.prim_func",
        )

    def expand(self, parser: Any, args: list[Any], named: dict[str, Any]) -> Any:
        """Execute its statements in the place of a call; the value that they return."""
        if self._source is None:
            self._source = Source(self.function)
        bound = inspect.signature(self.function).bind(*args, **named)
        bound.apply_defaults()
        names = names_around(self.function)
        names = {**names, **(self._names if self.hygienic else parser.all_names())}
        inner = parser.reader_of_macro(self._source, names)
        inner.scopes.append(dict(bound.arguments))
        inner.body(self._source.function.body)
        return inner.returned


# Decorators


@overload
def macro(function: Callable[..., Any], /, *, hygienic: bool = True) -> Macro: ...


@overload
def macro(*, hygienic: bool = True) -> Callable[[Callable[..., Any]], Macro]: ...


def macro(*args: Any, hygienic: bool = True) -> Any:
    """A macro: a function whose statements stand where it is called."""
    if len(args) == 1 and inspect.isfunction(args[0]):
        return Macro(args[0], hygienic)
    if args:
        raise ValueError("T.macro takes keyword arguments alone: use @T.macro(hygienic=False)")
    return lambda function: Macro(function, hygienic)


@walks_deeply("read a script", DeclarationError)
def parse(
    program: Any, extra_vars: Mapping[str, Any] | None = None, check_well_formed: bool = True
) -> Any:
    """The function or module of a text, function or class. `observers` are notified of an error."""
    if (
        not isinstance(program, str)
        and not inspect.isroutine(program)
        and not inspect.isclass(program)
    ):
        raise ScriptError(
            f"a script is {repr_of(program)}, expected a text, a function or a class",
            "",
            "give a str, or decorate a function with @T.prim_func",
        )
    try:
        with worded(BLOCKS):
            return _parse(program, extra_vars, check_well_formed, not isinstance(program, str))
    except ScriptError as error:
        for notify in observers:
            notify(error)
        raise


def _parse(
    program: Any, extra_vars: Mapping[str, Any] | None, is_checked: bool, is_trusted: bool
) -> Any:
    source = Source(program)
    names = dict(NAMES) if is_trusted else _opened(NAMES)
    raw: Any = None
    if inspect.isfunction(program):
        names.update(names_around(program))
        raw = program
    elif inspect.isclass(program):
        module = sys.modules.get(program.__module__)  # None of a module that is only executed
        names.update({} if module is None else vars(module))
        raw = {k: v for k, v in vars(program).items() if inspect.isfunction(v)}
        for function in raw.values():
            names.update(names_around(function))
    names.update(_metadata(source))
    names.update((extra_vars or {}) if is_trusted else _opened(extra_vars or {}))
    parser = Parser(source, names, is_trusted)
    with ScriptBuilder() as builder:
        node = source.definition
        if isinstance(node, ast.ClassDef):
            result: Any = parser.module(node, raw)
        elif is_graph_function(parser, node):
            result = parser.graph_reader().function(node)
        else:
            parser.function(node, raw)
            result = builder.results[-1]
    if is_checked:
        parser.check(node, result)
    return result


def _opened(names: Mapping[str, Any]) -> dict[str, Any]:
    """Names for a text: of te_sched's modules the words alone."""
    return {
        name: OpenModule(value) if isinstance(value, ModuleType) and is_open(value) else value
        for name, value in names.items()
    }


def _metadata(source: Source) -> dict[str, Any]:
    """`metadata`, if the text defines it before its function: what is in its JSON."""
    for node in source.tree.body:
        match node:
            case ast.Assign(
                targets=[ast.Name("metadata")],
                value=ast.Call(
                    func=ast.Attribute(attr="load_json"), args=[ast.Constant(str() as text)]
                ),
            ):
                try:
                    return {"metadata": load_json(text)}
                except DeclarationError as error:
                    raise source.error(node, error) from None
    return {}


def from_source(
    program: Any, extra_vars: Mapping[str, Any] | None = None, check_well_formed: bool = True
) -> Any:
    """The function or module that a text in TVMScript is.

    Parameters
    ----------
    program : a text, or a function or class.
    extra_vars : names that the text may use, besides T and I.

    Errors: ScriptError, which shows the place.

    >>> text = "@T.prim_func\\ndef f():\\n    T.evaluate(1)"
    >>> print(from_source(text))
    # from tvm.script import tir as T
    <BLANKLINE>
    @T.prim_func
    def f():
        T.evaluate(1)
    """
    return parse(program, extra_vars, check_well_formed)


def decorate_function(function: Any, check_well_formed: bool) -> Any:
    """What `@T.prim_func` makes of a function: the PrimFunc, or, in a module, the function itself,
    which the module reads.
    """
    if not inspect.isfunction(function):
        raise ScriptError(
            f"@T.prim_func stands before {repr_of(function)}, expected a function",
            "",
            "write it before `def`",
        )
    if _is_in_module(function):
        return function
    return parse(function, None, check_well_formed)


def _is_in_module(function: FunctionType) -> bool:
    """Whether a function stands in a class that is decorated with ir_module."""
    outside = function.__qualname__.rpartition(".")[0]
    if not outside or outside.endswith("<locals>"):
        return False
    name = outside.rpartition(".")[2]
    frame: Any = sys._getframe(1)
    while frame is not None and frame.f_code.co_name != name:
        frame = frame.f_back
    if frame is None or frame.f_back is None:
        return False
    file, first = frame.f_code.co_filename, frame.f_code.co_firstlineno
    for number in range(first, first + 20):
        line = linecache.getline(file, number).strip()
        if line.startswith("class "):
            return _has_module_decorator(file, first, number)
    return _has_module_decorator(file, frame.f_back.f_lineno, frame.f_back.f_lineno + 1)


def _has_module_decorator(file: str, first: int, last: int) -> bool:
    """Whether lines from the first on, or before it, are decorators of modules of functions."""
    lines = [linecache.getline(file, number).strip() for number in range(first, last)]
    number = first - 1
    while number > 0 and (line := linecache.getline(file, number).strip()).startswith("@"):
        lines.append(line)
        number -= 1
    return any(
        line.startswith("@") and ("ir_module" in line or "rewriter" in line) for line in lines
    )


def decorate_module(cls: Any, check_well_formed: bool = True) -> IRModule:
    """What `@I.ir_module` makes of a class."""
    if not inspect.isclass(cls):
        raise ScriptError(
            f"@I.ir_module stands before {repr_of(cls)}, expected a class",
            "",
            "write it before `class`",
        )
    module: IRModule = parse(cls, None, check_well_formed)
    return module


_tell_of_absent_names(__name__)

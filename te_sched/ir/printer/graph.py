"""Graphs in TVMScript: functions, bindings, blocks and expressions.

Variables of sizes are declared at the begin of the function or branch in which they are used first;
in the signature of a function their names, and expressions of them, are strings. A variable without
a value (of an empty tuple) is not printed: its binding is a statement, its use `R.tuple()`. Must
not know operators, except for those with a notation of their own.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from te_sched.ir import graph as G
from te_sched.ir import struct_info as I
from te_sched.ir.expr import FloatImm, IntImm
from te_sched.ir.op import Op
from te_sched.ir.printer.script import ScriptPrinter, TextBlock
from te_sched.ir.printer.script_expr import float_text, python_tuple, quoted
from te_sched.ir.stmt import GlobalVar
from te_sched.ir.structural import structural_equal

IR_LINE = "# from tvm.script import ir as I"
RELAX_LINE, TIR_LINE = "# from tvm.script import relax as R", "# from tvm.script import tir as T"
_CONSTANTS = "relax.expr.Constant"
_STRINGS = re.compile(r'"(?:\\.|[^"\\])*"')
_TIR_WORD = re.compile(r"(?<![\w.])T\.")
# Calls whose struct info is in their text.
_WITH_RESULT = ("relax.call_tir", "relax.call_dps_packed")
_VOID = "R.tuple()"
_NEWLINE = quoted("\n")[1:-1]


def uses_tir(lines: list[str]) -> bool:
    """Whether lines have words of T."""
    return any(_TIR_WORD.search(_STRINGS.sub("", line)) for line in lines if "T." in line)


class GraphPrinter(ScriptPrinter):
    """A printer of a text with graphs."""

    is_signature = False  # sizes that vary are printed as strings
    devices: tuple[Any, ...] = ()  # of the module
    has_ir = has_tir = False  # whether what was printed before the function uses I and T
    _named_functions = False  # whether a function of the module was named

    def text(self, node: object) -> str:
        """The text of an expression, struct info or value of an attribute."""
        method = _METHODS.get(type(node))
        return super().text(node) if method is None else method(self, node)

    # Functions

    def graph_function(self, func: G.GraphFunction, name: str, indent: str) -> list[str]:
        """The lines of a function outside of others, starting with its decorator."""
        block = self.block = self.root = TextBlock(func, indent + "    ")
        self.is_signature = True
        result = f" -> {self.text(func.ret_struct_info)}" if func.ret_struct_info else ""
        params = self._parameters(func, block)
        self.is_signature = False
        symbol = func.attrs.get("global_symbol")
        attrs = _written_attrs(func, name)
        if attrs:
            block.add(f"R.func_attr({self.text(attrs)})")
        position = len(block.lines)
        body = self._body_lines(func, block)
        alias = self.style.module_alias
        if self._named_functions and alias:
            block.lines.insert(position, f"{block.indent}{alias} = {self.module_name}")
        options = [] if func.is_pure else ["pure=False"]
        options += [] if symbol is not None else ["private=True"]
        decorator = f"@R.function({', '.join(options)})" if options else "@R.function"
        head = f"def {name}({', '.join(params)}){result}:"
        return [indent + decorator, indent + head, *block.lines, *body]

    def _parameters(self, func: G.GraphFunction, block: TextBlock) -> list[str]:
        texts = []
        for param in func.params:
            info = param.struct_info_
            kind = "" if info is None else f": {self.text(info)}"
            texts.append(f"{self.name(param, param.name_hint, block)}{kind}")
        return texts

    def _body_lines(self, func: G.GraphFunction, block: TextBlock) -> list[str]:
        """The lines of the body, with the result; definitions of sizes go to the block."""
        body: Any = func.body
        if body is None:
            return [f"{block.indent}pass"]
        lines = self.blocks(body, block.indent)
        return [*lines, f"{block.indent}return {self.text(body.body)}"]

    def _nested_function(
        self, var: G.GraphVar, func: G.GraphFunction, before: list[str], indent: str
    ) -> None:
        """Add the lines of a function that is bound to a variable."""
        outer = self.block
        if var.struct_info_ is not None:
            self.text(var.struct_info_)  # declares the variables of sizes outside
        name = self.name(var, var.name_hint, outer)
        block = self.block = TextBlock(func, indent + "    ")
        params = self._parameters(func, block)
        result = f" -> {self.text(func.ret_struct_info)}" if func.ret_struct_info else ""
        attrs = _written_attrs(func, func.attrs.get("global_symbol"))
        if attrs:
            block.add(f"R.func_attr({self.text(attrs)})")
        body = self._body_lines(func, block)
        self.release(block)
        self.block = outer
        inside = [f"def {name}({', '.join(params)}){result}:", *block.lines, *body]
        has_tir = self.has_tir or uses_tir([*outer.lines, *before, *inside])
        head = [IR_LINE] * self.has_ir + [TIR_LINE] * has_tir + [RELAX_LINE, ""]
        head.append("@R.function" if func.is_pure else "@R.function(pure=False)")
        before += [indent + line for line in head]
        before += [indent + inside[0], *inside[1:], ""]

    # Blocks and bindings

    def blocks(self, sequence: Any, indent: str) -> list[str]:
        """The lines of the blocks of a sequence, without its result."""
        lines: list[str] = []
        for block in sequence.blocks:
            self.block_lines(block, lines, indent)
        return lines

    def block_lines(self, block: G.BindingBlock, lines: list[str], indent: str) -> None:
        """Add the lines of a block."""
        inner = indent
        if isinstance(block, G.DataflowBlock):
            lines.append(f"{indent}with R.dataflow():")
            inner += "    "
        for binding in block.bindings:
            self.binding(binding, lines, inner)
        if isinstance(block, G.DataflowBlock):
            outputs = [
                binding.var
                for binding in block.bindings
                if not isinstance(binding.var, G.DataflowVar)
            ]
            lines.append(f"{inner}R.output({self.commas(outputs)})")

    def binding(self, binding: Any, lines: list[str], indent: str) -> None:
        """Add the lines of a binding."""
        var, value = binding.var, binding.value
        if isinstance(value, G.GraphFunction):
            self._nested_function(var, value, lines, indent)
        elif isinstance(value, G.If):
            self.condition(value, lines, indent, var)
        elif isinstance(binding, G.MatchCast):
            text = f"R.match_cast({self.text(value)}, {self.text(binding.struct_info)})"
            self._assign(var, text, value, lines, indent, binding.struct_info)
        elif isinstance(value, G.SeqExpr):
            lines += self.blocks(value, indent)
            self._assign(var, self._right_side(value.body), value.body, lines, indent)
        elif _is_void(var):
            lines.append(indent + self.text(value))
            self.alias(var, _VOID, self.block)
        else:
            self._assign(var, self._right_side(value), value, lines, indent)

    def _right_side(self, value: object) -> str:
        text = self.text(value)
        is_several = isinstance(value, G.Tuple) and len(value.fields) > 1
        return text[1:-1] if is_several else text

    def _assign(
        self,
        var: G.GraphVar,
        text: str,
        value: object,
        lines: list[str],
        indent: str,
        cast: I.StructInfo | None = None,
    ) -> None:
        info = var.struct_info_
        kind = ""
        if info is not None and self._is_annotated(info, value, cast):
            kind = f": {self.text(info)}"
        lines.append(f"{indent}{self.name(var, var.name_hint, self.block)}{kind} = {text}")

    def _is_annotated(self, info: I.StructInfo, value: object, cast: I.StructInfo | None) -> bool:
        """Whether the struct info of a variable is printed: the value may have it in its text."""
        if isinstance(value, G.GraphCall) and value.op in _WITH_RESULT and cast is None:
            return not structural_equal(value.sinfo_args[0], info)
        if self.style.show_all_struct_info:
            return True
        inferred = cast or G.inferred_struct_info(value)
        return inferred is None or not structural_equal(inferred, info)

    def condition(
        self, node: G.If, lines: list[str], indent: str, var: G.GraphVar | None = None
    ) -> None:
        """Add the lines of a condition; the results of its branches are bound to a variable."""
        test = self.text(node.cond)
        if var is not None:
            self.name(var, var.name_hint, self.block)
        outer = self.block
        for header, branch in ((f"if {test}:", node.true_branch), ("else:", node.false_branch)):
            block = self.block = TextBlock(branch, indent + "    ")
            inside = self.blocks(branch, block.indent)
            result: Any = branch.body  # type: ignore[attr-defined]
            if var is None:
                inside.append(block.indent + self.text(result))
            else:
                self._assign(var, self._right_side(result), None, inside, block.indent)
            self.release(block)
            self.block = outer
            lines += [indent + header, *block.lines, *inside]

    # Expressions

    def graph_variable(self, node: G.GraphVar) -> str:
        """The name of a variable, which is declared at its first use."""
        name = self.names.get(node)
        if name is not None:
            return name
        block = self.block
        info = node.struct_info_
        kind = "" if info is None else f": {self.text(info)}"
        name = self.name(node, node.name_hint, block)
        block.add(f"{name}{kind}")
        return name

    def home(self, symbol: object) -> TextBlock:
        """The block in which a variable of a size is declared: the innermost one."""
        return self.block

    def global_variable(self, node: GlobalVar) -> str:
        """The name of a function of the module."""
        if not self.module_name:
            return str(node)
        self._named_functions = True
        return f"{self.style.module_alias or self.module_name}.{node}"

    def _constant(self, node: G.Constant) -> str:
        dtype = quoted(str(node.data.dtype))
        if node.data.shape or "uint" in dtype:
            return self.metadata_item(_CONSTANTS, node)
        value = node.data.numpy().item()
        if isinstance(value, bool | int):
            return f"R.const({value}, {dtype})"
        return f"R.const({plain_float(float(value))}, {dtype})"

    def _tuple(self, node: G.Tuple) -> str:
        return python_tuple([self.text(field) for field in node.fields]) if node.fields else _VOID

    def _item(self, node: G.TupleGetItem) -> str:
        return f"{self.text(node.tuple_value)}[{node.index}]"

    def _string_value(self, node: G.GraphString) -> str:
        text = quoted(node.value).replace(_NEWLINE, "\\n")
        return f"R.str({text})"

    def _integer(self, node: IntImm) -> str:
        return str(bool(node.value)) if node.dtype == "bool" else str(node.value)

    def _graph_call(self, node: G.GraphCall) -> str:
        special = _CALLS.get(str(node.op)) if isinstance(node.op, Op) else None
        if special is not None:
            return special(self, node)
        args = [self.text(arg) for arg in node.args]
        if isinstance(node.op, G.ExternFunc):
            name, args = "R.call_packed", [quoted(node.op.global_symbol), *args]
        elif isinstance(node.op, Op):
            name = f"R.{str(node.op).removeprefix('relax.')}"
        else:
            name = self.text(node.op)
        args += self._attributes(node)
        return f"{name}({', '.join([*args, *self._results(node)])})"

    def _attributes(self, node: G.GraphCall) -> list[str]:
        attrs = dict(node.attrs) if isinstance(node.attrs, Mapping) else {}
        if not attrs.get("te_grad_kwargs", True):
            del attrs["te_grad_kwargs"]
        return [f"{key}={self._attribute_value(key, value)}" for key, value in attrs.items()]

    def _attribute_value(self, key: str, value: object) -> str:
        """The value of an attribute; a dtype that is not known is "void"."""
        is_void = key.endswith("dtype") and isinstance(value, str) and not value
        return '"void"' if is_void else self.text(value)

    def _results(self, node: G.GraphCall) -> list[str]:
        """The struct infos that a call is given."""
        if not node.sinfo_args:
            return []
        return [f"sinfo_args={python_tuple([self.text(info) for info in node.sinfo_args])}"]

    def _callee(self, function: object) -> str:
        if isinstance(function, G.ExternFunc):
            return quoted(function.global_symbol)
        return self.text(function)

    def _call_tir(self, node: G.GraphCall) -> str:
        function, args, *sizes = node.args
        (out,) = node.sinfo_args
        is_list = isinstance(out, I.TupleStructInfo)
        shown = f"[{self.commas(out.fields)}]" if is_list else self.text(out)  # type: ignore[attr-defined]
        parts = [self._callee(function), self.text(args), f"out_sinfo={shown}"]
        parts += self._attributes(node)
        parts += [f"tir_vars={self.text(size)}" for size in sizes]
        return f"R.{str(node.op).removeprefix('relax.')}({', '.join(parts)})"

    def _call_extern(self, node: G.GraphCall) -> str:
        """A call of an operator that calls a registered function."""
        function, *args = node.args
        parts = [self._callee(function), *[self.text(arg) for arg in args]]
        parts += [*self._attributes(node), *self._results(node)]
        return f"R.{str(node.op).removeprefix('relax.')}({', '.join(parts)})"

    def _print(self, node: G.GraphCall) -> str:
        form, *values = node.args
        return f"R.print({', '.join([*map(self.text, values), f'format={self.text(form)}'])})"

    def _hint(self, node: G.GraphCall) -> str:
        where = node.attrs
        device = f"R.device(dev_type={where.dev_type}, dev_id={where.dev_id})"
        return f"R.hint_on_device({self.text(node.args[0])}, {device})"

    def _assert_op(self, node: G.GraphCall) -> str:
        condition, form, *values = node.args
        parts = [self.text(condition), *map(self.text, values), f"format={self.text(form)}"]
        return f"R.assert_op({', '.join(parts)})"

    # Struct infos

    def _size(self, size: object) -> str:
        """A size or number: in a signature, text of an expression is a string."""
        text = self.text(size)
        is_plain = not self.is_signature or type(size) is IntImm
        return text if is_plain or isinstance(size, G.GraphExpr) else quoted(text)

    def _sizes(self, sizes: Iterable[object]) -> list[str]:
        return [self._size(size) for size in sizes]

    def _prim_info(self, node: I.PrimStructInfo) -> str:
        if node.value is not None:
            return f"R.Prim(value={self._size(node.value)})"
        return f"R.Prim({quoted(node.dtype)})"

    def _shape_info(self, node: I.ShapeStructInfo) -> str:
        if node.values is None:
            return f"R.Shape(ndim={node.ndim})"
        return f"R.Shape([{', '.join(self._sizes(node.values))}])"

    def _tensor_info(self, node: I.TensorStructInfo) -> str:
        arguments = []
        if isinstance(node.shape, I.ShapeExpr):
            arguments.append(python_tuple(self._sizes(node.shape.values)))
        elif node.shape is not None:
            arguments.append(self.text(node.shape))
        if node.dtype:
            arguments.append(f"dtype={quoted(node.dtype)}")
        if node.vdevice is not None:
            arguments.append(f"vdevice={self.text(node.vdevice)}")
        if node.shape is None and node.ndim != -1:
            arguments.append(f"ndim={node.ndim}")
        return _called("R.Tensor", arguments)

    def _tuple_info(self, node: I.TupleStructInfo) -> str:
        return _called("R.Tuple", [self.text(field) for field in node.fields])

    def _function_info(self, node: I.FuncStructInfo) -> str:
        if node.params is not None:
            params = [self.text(param) for param in node.params]
            shown = python_tuple(params) if params else "()"
            return f"R.Callable({shown}, {self.text(node.ret)}, {node.purity})"
        arguments = []
        if not isinstance(node.ret, I.ObjectStructInfo):
            arguments.append(f"ret={self.text(node.ret)}")
        if node.derive_func is not None and node.derive_func != I.BY_SINFO_ARGS:
            arguments.append(f"derive_func={quoted(node.derive_func)}")
        if node.purity:
            arguments.append("purity=True")
        return _called("R.Callable", arguments)

    def _device(self, node: I.VDevice) -> str:
        """A device of the module by its kind and number."""
        same = [device for device in self.devices if device.kind == node.kind]
        number = next((i for i, device in enumerate(same) if device == node), None)
        if number is None:
            return device_text(node)
        return quoted(f"{node.kind}:{number}")

    # Whole texts

    def graph_lines(self, node: object) -> list[str]:
        """The lines of a part of a graph, with what it uses."""
        lines: list[str] = []
        if isinstance(node, G.GraphFunction):
            name = self.style.name or str(node.attrs.get("global_symbol", "main"))
            shown = self.graph_function(node, name, "")
            head = [TIR_LINE, RELAX_LINE, ""] if uses_tir(shown) else [RELAX_LINE, ""]
            return [*head, *shown]
        if isinstance(node, G.Binding):
            self.binding(node, lines, "")
        elif isinstance(node, G.BindingBlock):
            self.block_lines(node, lines, "")
        elif isinstance(node, G.If):
            self.condition(node, lines, "")
        elif isinstance(node, G.SeqExpr):
            lines = self.blocks(node, "")
            lines.append(self.text(node.body))
        else:
            text = self.text(node)
            return [*(self.root.lines if self.style.verbose_expr else []), text]
        return [*self.root.lines, *lines]


def device_text(node: I.VDevice) -> str:
    """The declaration of a device."""
    target = quoted(str(node.target))
    return f"I.vdevice({target}, {node.vdevice_id}, {quoted(node.memory_scope)})"


def _written_attrs(func: G.GraphFunction, name: object) -> dict[str, Any]:
    """The attributes that are printed: not a symbol that is the name."""
    return {
        key: value
        for key, value in func.attrs.items()
        if key != G.SIZE_RELATIONS and (key != "global_symbol" or value != name)
    }


def _called(name: str, arguments: list[str]) -> str:
    return f"{name}({', '.join(arguments)})" if arguments else name


def plain_float(value: float) -> str:
    """The text of a float of Python: 1.0."""
    text = float_text(value)
    return f"{text}.0" if text.lstrip("-").isdigit() else text


def _is_void(var: G.GraphVar) -> bool:
    info = var.struct_info_
    return isinstance(info, I.TupleStructInfo) and not info.fields


_CALLS: dict[str, Callable[[GraphPrinter, Any], str]] = {
    **dict.fromkeys(
        (*_WITH_RESULT, "relax.call_tir_inplace", "relax.call_tir_with_grad"),
        GraphPrinter._call_tir,
    ),
    "relax.call_pure_packed": GraphPrinter._call_extern,
    "relax.call_inplace_packed": GraphPrinter._call_extern,
    "relax.call_builtin_with_ctx": GraphPrinter._call_extern,
    "relax.print": GraphPrinter._print,
    "relax.assert_op": GraphPrinter._assert_op,
    "relax.hint_on_device": GraphPrinter._hint,
}
_METHODS: dict[type, Callable[[Any, Any], str]] = {
    G.GraphVar: GraphPrinter.graph_variable,
    G.DataflowVar: GraphPrinter.graph_variable,
    G.Constant: GraphPrinter._constant,
    G.Tuple: GraphPrinter._tuple,
    G.TupleGetItem: GraphPrinter._item,
    G.GraphCall: GraphPrinter._graph_call,
    G.PrimValue: lambda printer, node: f"R.prim_value({printer.text(node.value)})",
    G.GraphString: GraphPrinter._string_value,
    G.DataTypeImm: lambda printer, node: f"R.dtype({quoted(node.value)})",
    G.ExternFunc: lambda printer, node: f"R.ExternFunc({quoted(node.global_symbol)})",
    G.OpAttrs: lambda printer, node: printer.text(dict(node)),
    GlobalVar: GraphPrinter.global_variable,
    Op: lambda printer, node: f"Op({node})",
    IntImm: GraphPrinter._integer,
    bool: lambda printer, node: str(node),
    float: lambda printer, node: plain_float(node),
    FloatImm: lambda printer, node: f"T.{node.dtype}({float_text(node.value)})",
    I.ShapeExpr: lambda printer, node: (
        f"R.shape([{', '.join([printer.text(value) for value in node.values])}])"
    ),
    I.ObjectStructInfo: lambda printer, node: "R.Object",
    I.PrimStructInfo: GraphPrinter._prim_info,
    I.ShapeStructInfo: GraphPrinter._shape_info,
    I.TensorStructInfo: GraphPrinter._tensor_info,
    I.TupleStructInfo: GraphPrinter._tuple_info,
    I.FuncStructInfo: GraphPrinter._function_info,
    I.VDevice: GraphPrinter._device,
    I.DummyGlobalInfo: lambda printer, node: "I.dummy_global_info()",
}

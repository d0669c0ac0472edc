"""Whole texts of TVMScript: of modules, functions, statements and expressions.

Selects the printer of a node: that of loops and blocks, or that of graphs.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

from te_sched.deep_recursion import walks_deeply
from te_sched.ir import blocks as B
from te_sched.ir import graph as G
from te_sched.ir import stmt as S
from te_sched.ir.expr import Range
from te_sched.ir.printer.graph import (
    IR_LINE,
    RELAX_LINE,
    TIR_LINE,
    GraphPrinter,
    plain_float,
    uses_tir,
)
from te_sched.ir.printer.script import ScriptPrinter
from te_sched.ir.printer.script_expr import Metadata
from te_sched.ir.printer.style import PLAIN, Style, UnderlinedLine, checked_options
from te_sched.ir.reals import as_reals
from te_sched.ir.struct_info import DummyGlobalInfo, ShapeExpr, StructInfo, VDevice
from te_sched.lazy_loading import load

_OF_GRAPHS = (
    *(G.GraphExpr, G.Binding, G.BindingBlock),
    *(StructInfo, ShapeExpr, VDevice, DummyGlobalInfo),
)


def script(node: object, **options: object) -> str:
    """The TVMScript text of a node. The options are the fields of `Style`.

    >>> from te_sched import te, tir
    >>> print(script(tir.Evaluate(te.var("i")), tir_prefix="TT"))
    i = TT.int32()
    TT.evaluate(i)
    """
    return _text(node, _style(node, options) if options else PLAIN)


def _style(node: object, options: dict[str, Any]) -> Style:
    """The options, with the objects at the given paths."""
    style = Style(**checked_options(options))
    comments = style.path_to_annotate or {}
    return dataclasses.replace(
        style,
        obj_to_underline=[
            *(style.obj_to_underline or ()),
            *[path.find(node) for path in style.path_to_underline or ()],
        ],
        obj_to_annotate={
            **(style.obj_to_annotate or {}),
            **{path.find(node): text for path, text in comments.items()},
        },
    )


@walks_deeply("print a program")
def _text(node: Any, style: Style) -> str:
    metadata: Metadata = {}
    if isinstance(node, S.IRModule):
        name = style.name or "Module"
        lines = module_lines(node, lambda kind: kind(style, metadata), name)
        lines = style.finished(_underlined_from(lines, "@I.", node, style))
        return "\n".join([*_metadata_lines(metadata, style), *lines])
    is_graph = isinstance(node, _OF_GRAPHS)
    printer: Any = (GraphPrinter if is_graph else ScriptPrinter)(style, metadata)
    if is_graph:
        lines = printer.graph_lines(node)
    elif isinstance(node, S.PrimFunc):
        name = style.name or str(node.attrs.get("global_symbol", "main"))
        lines = [TIR_LINE, "", *printer.function(node, name, "")]
        lines = _underlined_from(lines, "@T.", node, style)
    elif isinstance(node, S.Stmt):
        lines = printer.fragment(node)
    elif isinstance(node, B.MatchBufferRegion):
        printer.view(node.buffer, printer.root, f"T.match_buffer({printer.text(node.source)}, ")
        lines = printer.root.lines
    else:
        lines = [printer.expression(as_reals(node))]
        if isinstance(node, Range):  # in statements it is a word of T
            lines = [lines[0].replace("T.", "I.", 1)]
        lines = [*(printer.root.lines if style.verbose_expr else []), *lines]
    lines += printer.footer(isinstance(node, S.BaseFunc))
    return "\n".join([*_metadata_lines(metadata, style), *style.finished(lines)])


def _metadata_lines(metadata: Metadata, style: Style) -> list[str]:
    """The definition of `metadata`, by class, if it is to be shown."""
    if not metadata or not style.show_meta:
        return []
    json = load("te_sched.ir.serialization:save_json")(metadata)
    escaped = json.replace("\\", "\\\\").replace('"', '\\"')
    return [f'metadata = tvm.ir.load_json("""{escaped}""")']


class _AttributesPrinter(ScriptPrinter):
    """Prints the attributes of modules, where floats are those of Python."""

    def text(self, node: object) -> str:
        """The text of a value."""
        return plain_float(node) if type(node) is float else super().text(node)


MakePrinter = Callable[[type[ScriptPrinter]], Any]


def module_lines(
    module: S.IRModule, make_printer: MakePrinter, class_name: str = "Module"
) -> list[str]:
    """The lines of a module, with a printer for each function: by their kinds and names, "main"
    last.
    """
    body: list[str] = []
    if module.attrs:
        text = make_printer(_AttributesPrinter).text(dict(module.attrs))
        body.append(f"    I.module_attrs({text})")
    if module.global_infos:
        infos = {name: list(group) for name, group in module.global_infos.items()}
        body.append(f"    I.module_global_infos({make_printer(GraphPrinter).text(infos)})")
    needs_gap = False
    for name in sorted(module.functions, key=lambda func_name: _place(module, func_name)):
        func = module.functions[name]
        body += [""] * needs_gap
        needs_gap = not isinstance(func, G.ExternFunc)
        if not needs_gap:
            body.append(f"    {name} = {make_printer(GraphPrinter).text(func)}")
            continue
        is_graph = isinstance(func, G.GraphFunction)
        printer = make_printer(GraphPrinter if is_graph else ScriptPrinter)
        printer.module_name = class_name
        if is_graph:
            printer.has_ir = bool(module.attrs or module.global_infos)
            printer.has_tir = uses_tir(body)
            printer.devices = module.global_infos.get("vdevice", ())
            shown = printer.graph_function(func, name, "    ")
        else:
            shown = printer.function(func, name, "    ")
        body += _underlined_from(shown, "@R." if is_graph else "@T.", func, printer.style)
    lines = [IR_LINE, *[TIR_LINE] * uses_tir(body)]
    lines += [RELAX_LINE] * any(
        isinstance(function, _OF_GRAPHS) for function in module.functions.values()
    )
    lines += ["", "@I.ir_module", f"class {class_name}:", *(body or ["    pass"])]
    return [*lines, *make_printer(ScriptPrinter).footer(after_function=True)]


def _place(module: S.IRModule, name: str) -> tuple[bool, int, str]:
    """Where a function stands in the text of its module."""
    func = module.functions[name]
    kinds = (S.PrimFunc, G.ExternFunc)
    kind = next(
        (rank for rank, func_class in enumerate(kinds) if isinstance(func, func_class)), len(kinds)
    )
    return name == "main", kind, str(name)


def _underlined_from(lines: list[str], start: str, node: object, style: Style) -> list[str]:
    """The lines of a function or module, all underlined if it is."""
    if not any(target is node for target in style.obj_to_underline or ()):
        return lines
    first = next(index for index, line in enumerate(lines) if line.lstrip().startswith(start))
    return [*lines[:first], *map(UnderlinedLine, lines[first:])]

"""Programs as TVMScript: the text that TVM 0.17 prints.

A text consists of blocks. A statement that ends its block and defines a value or sets an attribute
(a let, an allocation, a launch) is printed as a line, elsewhere as a `with` block. Free variables
and buffers are declared before their first use, in the innermost block that contains all their uses
(`uses`). Must not know the meaning of attributes, except those of threads and scopes.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any

from te_sched.ir import blocks as B
from te_sched.ir import expr as E
from te_sched.ir import ops
from te_sched.ir import stmt as S
from te_sched.ir.expr import Buffer, Expr, IntImm, IterVar, Range, Var
from te_sched.ir.printer.names import UniqueNames, identifier
from te_sched.ir.printer.script_expr import ExprPrinter, Metadata, python_tuple, quoted
from te_sched.ir.printer.style import (
    CLOSING,
    OPENING,
    PLAIN,
    Style,
    UnderlinedLine,
)
from te_sched.ir.printer.uses import Uses
from te_sched.ir.root_block import is_root
from te_sched.ir.structural import structural_equal
from te_sched.ir.visitor import parts_of, walk

_RESERVED = ("I", "T", "R")
_DEFAULT_ALIGNMENTS = (64, E.DEFAULT_ALIGNMENT)  # of TVM 0.17, of the IR
_OMITTED = "# Metadata omitted. Use show_meta=True in script() method to show it."


class TextBlock:
    """An open block: its lines, its indentation, and the names that it defines."""

    __slots__ = ("indent", "lines", "named", "names", "node")

    def __init__(self, node: object, indent: str) -> None:
        self.node = node
        self.indent = indent
        self.lines: list[str] = []
        self.names: list[str] = []
        self.named: list[object] = []

    def add(self, line: str) -> None:
        """Append a line of text."""
        self.lines.append(self.indent + line)


class ScriptPrinter(ExprPrinter):
    """A printer of one text."""

    def __init__(self, style: Style = PLAIN, metadata: Metadata | None = None) -> None:
        super().__init__(style, metadata)
        reserved = (style.ir_prefix, style.tir_prefix, style.relax_prefix)
        self.allocator = UniqueNames((*_RESERVED, *reserved))
        self.uses = Uses(None)
        self.open: dict[int, TextBlock] = {}
        self.block = self.root = TextBlock(None, "")
        self.domains: dict[Var, Range] = {}  # of the variables of the loops of this text
        if style.obj_to_underline:
            self.text = self._underlined_text  # type: ignore[method-assign]
            self.buffer = self._underlined_buffer  # type: ignore[method-assign]

    # Blocks

    def enter(self, node: object, indent: str) -> tuple[TextBlock, TextBlock]:
        """Open a block for a statement; returns it and its parent."""
        outer, inner = self.block, TextBlock(node, indent)
        self.open.setdefault(id(node), inner)
        self.block = inner
        return inner, outer

    def leave(self, inner: TextBlock, outer: TextBlock) -> None:
        """Close a block: release its names and append its lines to its parent."""
        if self.open.get(id(inner.node)) is inner:
            del self.open[id(inner.node)]
        self.release(inner)
        outer.lines += inner.lines
        self.block = outer

    def release(self, block: TextBlock) -> None:
        """Release the names that a block defined."""
        self.allocator.give_back(block.names)
        for symbol in block.named:
            del self.names[symbol]

    def name(self, symbol: object, hint: str, block: TextBlock, default: str = "v") -> str:
        """Assign a name while a block is open; an existing name is kept."""
        text = self.names.get(symbol)
        if text is not None:
            return text
        hint = identifier(hint, default)
        if self.style.show_object_address:
            hint = f"{hint}_{id(symbol):#x}"
        name = self.allocator.take(hint)
        block.names.append(name)
        self.alias(symbol, name, block)
        return name

    def alias(self, symbol: object, text: str, block: TextBlock) -> None:
        """Refer to an object by an expression instead of a name, such as `A.data`."""
        self.names[symbol] = text
        block.named.append(symbol)

    def home(self, symbol: object) -> TextBlock:
        """The open block in which a free variable or buffer is declared."""
        scope = self.uses.lowest.get(symbol)
        while scope is not None:
            block = self.open.get(id(scope.node))
            if block is not None and scope.node is not None:
                return block
            scope = scope.parent
        return self.root

    # Declarations at the first use

    def declare_variable(self, var: Var) -> str:
        block = self.home(var)
        name = self.name(var, var.name, block)
        block.add(f"{name} = {_declaration(var)}")
        return name

    def declare_buffer(self, buffer: Buffer) -> str:
        block = self.home(buffer)
        return self.view(buffer, block, "T.Buffer(")

    def view(
        self, buffer: Buffer, block: TextBlock, call: str, owner: TextBlock | None = None
    ) -> str:
        """Declare a buffer, and the variables that it defines (its data, its strides).

        The names belong to `owner`, or to the block itself.
        """
        owner = owner or block
        for part in (*buffer.shape, *buffer.strides, buffer.elem_offset):
            if type(part) is not IntImm and type(part) is not Var:
                self.text(part)  # declares what is free in it
        self._declare_sizes(buffer, block)
        name = self.name(buffer, buffer.name, owner, "buffer")
        args = [python_tuple([self.text(extent) for extent in buffer.shape])]
        if buffer.dtype != self.style.buffer_dtype:
            args.append(quoted(buffer.dtype))
        if buffer.data in self.names:
            args.append(f"data={self.names[buffer.data]}")
        else:
            self.alias(buffer.data, f"{name}.data", owner)
        if buffer.strides:
            args.append(f"strides={self._strides(buffer, name, owner)}")
        args += self._offset(buffer, name, owner)
        if buffer.scope() != "global":
            args.append(f"scope={quoted(buffer.scope())}")
        args += _layout(buffer, name, self.names.get(buffer.elem_offset))
        block.add(f"{name} = {call}{', '.join(args)})")
        return name

    def _declare_sizes(self, buffer: Buffer, block: TextBlock) -> None:
        """Declare the free variables of a buffer that are extents, or are used several times."""
        sizes = (*buffer.shape, *buffer.strides, buffer.elem_offset)
        used = Counter(size for size in sizes if type(size) is Var and size not in self.names)
        extents = set(buffer.shape)
        free = [var for var, count in used.items() if var in extents or count > 1]
        if free:
            names = ", ".join([self.name(var, var.name, block) for var in free])
            block.add(f"{names} = {', '.join([_declaration(var) for var in free])}")

    def _strides(self, buffer: Buffer, name: str, block: TextBlock) -> str:
        texts = []
        for position, stride in enumerate(buffer.strides):
            if type(stride) is Var and stride not in self.names:
                self.alias(stride, f"{name}.strides[{position}]", block)
                texts.append(quoted(stride.name))
            else:
                texts.append(self.text(stride))
        return python_tuple(texts)

    def _offset(self, buffer: Buffer, name: str, block: TextBlock) -> list[str]:
        offset = buffer.elem_offset
        if type(offset) is IntImm and offset.value == 0:
            return []
        if type(offset) is Var and offset not in self.names:
            self.alias(offset, f"{name}.elem_offset", block)
            return []
        return [f"elem_offset={self.text(offset)}"]

    def named_for(self, variables: tuple[Var, ...], result: tuple[Expr, ...]) -> tuple[str, str]:
        block = TextBlock(None, "")
        names = [self.name(var, var.name, block) for var in variables]
        text = self.commas(result)
        self.release(block)
        return ", ".join(names), text

    # Whole texts

    def footer(self, after_function: bool = False) -> list[str]:
        """The comment at the end of a text with omitted metadata."""
        if not self.metadata or self.style.show_meta:
            return []
        return ["", _OMITTED] if after_function else [_OMITTED]

    def expression(self, node: object) -> str:
        """Print an expression without declarations of its free variables."""
        return self.text(node)

    def fragment(self, node: S.Stmt) -> list[str]:
        """Print a statement."""
        self.uses = Uses(node)
        if isinstance(node, S.SeqStmt):
            self.body(node)
        else:
            self.statement(node, False)
        return self.root.lines

    def function(self, func: S.PrimFunc, name: str, indent: str) -> list[str]:
        """Print a function, starting with its decorator."""
        self.uses = Uses(func.body)
        root = self.root = self.block = TextBlock(func, indent + "    ")
        plain = {p: func.buffer_map[p] for p in func.params if self._is_plain(func, p)}
        params = [self._parameter(param, plain.get(param)) for param in func.params]
        symbol = func.attrs.get("global_symbol")
        attrs = {k: v for k, v in func.attrs.items() if k != "global_symbol" or v != name}
        if attrs:
            root.add(f"T.func_attr({self.text(attrs)})")
        for param in func.params:
            if param in func.buffer_map and param not in plain:
                buffer = func.buffer_map[param]
                self.view(buffer, root, f"T.match_buffer({self.names[param]}, ")
        if self.style.syntax_sugar and is_root(func.body):
            self.root_block(func.body)
        else:
            self.body(func.body)
        result = f" -> T.{func.ret_type}" if func.ret_type != "void" else ""
        decorator = "@T.prim_func" if symbol is not None else "@T.prim_func(private=True)"
        return [
            indent + decorator,
            f"{indent}def {name}({', '.join(params)}){result}:",
            *root.lines,
        ]

    def _is_plain(self, func: S.PrimFunc, param: Var) -> bool:
        """Whether a parameter's buffer can be written as an annotation, without match_buffer."""
        buffer = func.buffer_map.get(param)
        return (
            self.style.syntax_sugar
            and buffer is not None
            and param not in self.uses.lowest
            and all(type(extent) is IntImm for extent in buffer.shape)
            and not buffer.strides
            and ops.is_const(buffer.elem_offset, 0)
            and buffer.scope() == "global"
            and not _layout(buffer, "", None)
            and sum(other.data is buffer.data for other in func.buffer_map.values()) == 1
        )

    def _parameter(self, param: Var, buffer: Buffer | None) -> str:
        if buffer is None:
            name = self.name(param, param.name, self.root)
            return f"{name}: {_annotation(param)}"
        name = self.name(buffer, buffer.name, self.root, "buffer")
        self.alias(buffer.data, f"{name}.data", self.root)
        shape = python_tuple([self.text(extent) for extent in buffer.shape])
        return f"{name}: T.Buffer({shape}, {quoted(buffer.dtype)})"

    # Statements

    def body(self, node: S.Stmt) -> None:
        """Print statements into the current block; the last one is not nested."""
        if type(node) is S.SeqStmt:
            last = len(node.seq) - 1
            for position, item in enumerate(node.seq):
                if type(item) is S.SeqStmt:
                    self.body(item)
                else:
                    self.statement(item, position == last)
        else:
            self.statement(node, True)

    def statement(self, node: S.Stmt, is_last: bool) -> None:
        """Print one statement into the current block."""
        if self.style.marks:
            self._marked(node, is_last)
        else:
            _STATEMENTS[type(node)](self, node, is_last)

    def _marked(self, node: S.Stmt, is_last: bool) -> None:
        """Print a statement with its comment, or underlined."""
        comments = self.style.obj_to_annotate or {}
        targets = self.style.obj_to_underline or ()
        block = getattr(node, "block", node)
        comment = next(
            (comments[target] for target in comments if target is node or target is block), None
        )
        lines = self.block.lines
        start = len(lines)
        if comment is not None and parts_of(node):
            is_last = False
        _STATEMENTS[type(node)](self, node, is_last)
        if any(target is node or target is block for target in targets):
            lines[start:] = map(UnderlinedLine, lines[start:])
        if comment is not None and parts_of(node):
            lines.insert(start, f"{self.block.indent}# {comment}")
        elif comment is not None:
            text = lines[-1].lstrip()
            if isinstance(lines[-1], UnderlinedLine):  # but not its comment
                text = f"{OPENING}{text}{CLOSING}"
            lines[-1] = f"{self.block.indent}{text}  # {comment}"

    def _underlined_text(self, node: object) -> str:
        """The text of an expression, with marks around what is underlined."""
        return self._between_marks(node, type(self).text(self, node))

    def _underlined_buffer(self, buffer: Buffer) -> str:
        """The name of a buffer, with marks around it if it is underlined."""
        return self._between_marks(buffer, super().buffer(buffer))

    def _between_marks(self, node: object, text: str) -> str:
        is_target = any(target is node for target in self.style.obj_to_underline or ())
        return f"{OPENING}{text}{CLOSING}" if is_target and OPENING not in text else text

    def nested(self, node: S.Stmt, line: str, is_last: bool, as_block: str) -> None:
        """Print `line` followed by the body, or `with as_block:` with the body nested."""
        self.nested_of(node, node.body, line, is_last, as_block)  # type: ignore[attr-defined]

    def nested_of(
        self, node: S.Stmt, body: S.Stmt, line: str, is_last: bool, as_block: str
    ) -> None:
        """The same for a given body."""
        inner, outer = self.enter(node, self.block.indent + ("" if is_last else "    "))
        self.body(body)
        outer.add(line if is_last else f"with {as_block}:")
        self.leave(inner, outer)

    def _store(self, node: S.BufferStore, is_last: bool) -> None:
        target = self.buffer(node.buffer)
        value = self.text(node.value)  # before the indices: what is free is declared in this order
        if node.predicate is not None:
            places, mask = self.commas(node.indices), self.text(node.predicate)
            self.block.add(f"{target}.vstore([{places}], {value}, predicate={mask})")
            return
        self.block.add(f"{target}[{self.indices(node.indices)}] = {value}")

    def _evaluate(self, node: S.Evaluate, is_last: bool) -> None:
        value = node.value
        if type(value) is E.Call and value.op == "tir.ret":
            self.block.add(f"return {self.commas(value.args)}".rstrip())
        elif type(value) is E.Call:
            self.block.add(self.text(value))
        else:
            self.block.add(f"T.evaluate({self.text(value)})")

    def _for(self, node: S.For, is_last: bool) -> None:
        inner, outer = self.enter(node, self.block.indent + "    ")
        loops = [node]
        if self.style.syntax_sugar and _is_grid_loop(node):
            while _continues_grid(loops):
                loops.append(loops[-1].body)  # type: ignore[arg-type]
        names = [self.name(loop.loop_var, loop.loop_var.name, inner) for loop in loops]
        self.domains.update({loop.loop_var: Range(loop.min, loop.extent) for loop in loops})
        if len(loops) > 1:
            header = f"T.grid({self.commas([loop.extent for loop in loops])})"
        else:
            header = self._loop_header(node)
        self.body(loops[-1].body)
        outer.add(f"for {', '.join(names)} in {header}:")
        self.leave(inner, outer)

    def _loop_header(self, node: S.For) -> str:
        if ops.is_const(node.min, 0):
            args = [self.text(node.extent)]
        else:
            args = [self.text(node.min), self.text(ops.add(node.min, node.extent))]
        kind = {"vectorized": "vectorized", "unrolled": "unroll"}.get(node.kind, node.kind)
        if node.thread_binding is not None:
            args.append(f"thread={quoted(node.thread_binding.thread_tag)}")
        if node.annotations:
            args.append(f"annotations={self.text(node.annotations)}")
        elif kind == "serial":
            return f"range({', '.join(args)})"
        return f"T.{kind}({', '.join(args)})"

    def _while(self, node: S.While, is_last: bool) -> None:
        condition = self.text(node.condition)
        inner, outer = self.enter(node, self.block.indent + "    ")
        self.body(node.body)
        outer.add(f"while {condition}:")
        self.leave(inner, outer)

    def _if(self, node: S.IfThenElse, is_last: bool) -> None:
        condition = self.text(node.condition)
        lines: list[str] = []
        outer = self.block
        for header, branch in ((f"if {condition}:", node.then_case), ("else:", node.else_case)):
            if branch is not None:
                collected = self.block = TextBlock(None, outer.indent)
                inner, _ = self.enter(branch, outer.indent + "    ")
                self.body(branch)
                collected.add(header)
                self.leave(inner, collected)
                lines += collected.lines
        self.block = outer
        outer.lines += lines

    def _let_statement(self, node: S.LetStmt, is_last: bool) -> None:
        value = self.text(node.value)
        inner, outer = self.enter(node, self.block.indent + ("" if is_last else "    "))
        text = self.names.get(node.var)
        name = self.name(node.var, node.var.name, inner)
        self.body(node.body)
        if is_last and text is None:
            outer.add(f"{name}: {_annotation(node.var)} = {value}")
        elif is_last:
            outer.add(f"T.LetStmt({value}, var={name})")
        elif text is None:
            outer.add(f"with T.LetStmt({value}) as {name}:")
        else:
            outer.add(f"with T.LetStmt({value}, var={name}):")
        self.leave(inner, outer)

    def _allocate(self, node: S.Allocate, is_last: bool) -> None:
        scope = node.buffer_var.pointer.scope if node.buffer_var.pointer is not None else "global"
        args = [self.text(node.extents), quoted(node.dtype), quoted(scope or "global")]
        if not ops.is_const(node.condition, 1):
            args.append(self.text(node.condition))
        if node.annotations:
            args.append(f"annotations={self.text(node.annotations)}")
        call = f"T.allocate({', '.join(args)})"
        if self.style.syntax_sugar and _is_declared(node):
            inner, outer = self.enter(node, self.block.indent + ("" if is_last else "    "))
            self._declared(node.body.buffer, node.body.body, inner, outer, is_last)  # type: ignore[attr-defined]
            return
        inner, outer = self.enter(node, self.block.indent + ("" if is_last else "    "))
        name = self.name(node.buffer_var, node.buffer_var.name, inner)
        self.body(node.body)
        outer.add(f"{name} = {call}" if is_last else f"with {call} as {name}:")
        self.leave(inner, outer)

    def _assert(self, node: S.AssertStmt, is_last: bool) -> None:
        condition, message = self.text(node.condition), self.text(node.message)
        line = f"assert {condition}, {message}"
        self.nested(node, line, is_last, f"T.Assert({condition}, {message})")

    def _realize(self, node: S.BufferRealize, is_last: bool, scope: str | None = None) -> None:
        self._realized(node, self.buffer(node.buffer), is_last, scope)

    def _realized(
        self,
        node: S.BufferRealize | S.ProducerRealize,
        name: str,
        is_last: bool,
        scope: str | None,
    ) -> None:
        args = [f"{name}[{self.region(node.bounds)}]"]
        if scope is not None:
            args.append(quoted(scope))
        if not ops.is_const(node.condition, 1):
            args.append(f"condition={self.text(node.condition)}")
        call = f"T.realize({', '.join(args)})"
        self.nested(node, call, is_last, call)

    def _producer_store(self, node: S.ProducerStore, is_last: bool) -> None:
        target = f"{node.producer.name}[{self.indices(node.indices)}]"
        self.block.add(f"{target} = {self.text(node.value)}")

    def _producer_realize(self, node: S.ProducerRealize, is_last: bool) -> None:
        scope = node.storage_scope or None
        self._realized(node, node.producer.name, is_last, scope)

    def _prefetch(self, node: S.Prefetch, is_last: bool) -> None:
        self.block.add(f"T.prefetch({self.text(node.buffer)}, {self.text(node.bounds)})")

    def _attribute(self, node: S.AttrStmt, is_last: bool) -> None:
        target, body = node.node, node.body
        scope = node.value.value if isinstance(node.value, E.StringImm) else None
        if (
            node.key == "realize_scope"
            and isinstance(body, S.BufferRealize)
            and body.buffer is target
        ):
            self._realize(body, is_last, scope)
        elif node.key in S.THREAD_KEYS and isinstance(target, IterVar):
            self._launch(node, target, is_last)
        else:
            shown = self.text(target)
            call = f"T.attr({shown}, {quoted(node.key)}, {self.text(node.value)})"
            self.nested(node, call, is_last, call)

    def _launch(self, node: S.AttrStmt, thread: IterVar, is_last: bool) -> None:
        var = thread.var
        scope, lowest = self.uses.scopes.get(id(node)), self.uses.lowest.get(var)
        thread_name = self.names.get(var)
        if thread_name is None and scope is not None and not scope.holds(lowest):
            home = self.home(var)
            thread_name = self.name(var, var.name, home)
            home.add(f"{thread_name} = T.env_thread({quoted(thread.thread_tag)})")
        extent = self.text(node.value)
        if thread_name is not None:
            call = f"T.launch_thread({thread_name}, {extent})"
            self.nested(node, call, is_last, call)
            return
        call = f"T.launch_thread({quoted(thread.thread_tag)}, {extent})"
        inner, outer = self.enter(node, self.block.indent + ("" if is_last else "    "))
        name = self.name(var, var.name, inner)
        self.body(node.body)
        outer.add(f"{name} = {call}" if is_last else f"with {call} as {name}:")
        self.leave(inner, outer)

    # Blocks of TensorIR

    def root_block(self, root: B.BlockRealize) -> None:
        """Print the buffers and the body of the root block; its header is a comment."""
        self.block.add('# with T.block("root"):')
        for buffer in root.block.alloc_buffers:
            self.view(buffer, self.block, "T.alloc_buffer(")
        self.body(root.block.body)

    def _realize_block(self, node: B.BlockRealize, is_last: bool) -> None:
        self._block(node.block, is_last, node)

    def _block(self, block: B.Block, is_last: bool, realize: B.BlockRealize | None = None) -> None:
        node = block if realize is None else realize
        for value in () if realize is None else realize.iter_values:
            if value not in self.names:
                self.text(value)  # declares what is free in it outside of the block
        inner, outer = self.enter(node, self.block.indent + "    ")
        self.open.setdefault(id(block), inner)
        if realize is None:
            header = f"T.block({quoted(block.name_hint)}, no_realize=True)"
            for axis in block.iter_vars:
                self._bind_axis(axis, None, inner)
        else:
            header = f"T.block({quoted(block.name_hint)})"
            self._bind_axes(block.iter_vars, realize.iter_values, inner)
            if not ops.is_const(realize.predicate, 1):
                inner.add(f"T.where({self.text(realize.predicate)})")
        for keyword, regions in (("reads", block.reads), ("writes", block.writes)):
            inner.add(f"T.{keyword}({self.commas(regions)})")
        if block.annotations:
            inner.add(f"T.block_attr({self.text(block.annotations)})")
        for buffer in block.alloc_buffers:
            self.view(buffer, inner, "T.alloc_buffer(")
        for match in block.match_buffers:
            self.view(match.buffer, inner, f"T.match_buffer({self.text(match.source)}, ")
        if block.init is not None:
            opened, _ = self.enter(block.init, inner.indent + "    ")
            self.body(block.init)
            inner.add("with T.init():")
            self.leave(opened, inner)
        self.body(block.body)
        outer.add(f"with {header}:")
        self.open.pop(id(block), None)
        self.leave(inner, outer)

    def _bind_axes(
        self, axes: tuple[IterVar, ...], values: tuple[Expr, ...], block: TextBlock
    ) -> None:
        """The lines that bind the iterators of a block; adjacent ones that are loop variables over
        their whole domains share a line.
        """
        pairs = list(zip(axes, values, strict=True))
        while pairs:
            count = 0
            while count < len(pairs) and self._is_loop(*pairs[count]):
                count += 1
            if count > 1:
                letters = "".join([B.BLOCK_KINDS[axis.kind][0] for axis, _ in pairs[:count]])
                bound = self.commas([value for _, value in pairs[:count]])
                names = [self.name(axis.var, axis.var.name, block) for axis, _ in pairs[:count]]
                block.add(f'{", ".join(names)} = T.axis.remap("{letters}", [{bound}])')
            else:
                count = 1
                self._bind_axis(*pairs[0], block)
            del pairs[:count]

    def _is_loop(self, axis: IterVar, value: Expr) -> bool:
        domain = self.domains.get(value) if type(value) is Var else None
        return (
            self.style.syntax_sugar
            and domain is not None
            and axis.dom is not None
            and axis.kind in ("DataPar", "CommReduce")
            and structural_equal(domain, axis.dom)
        )

    def _bind_axis(self, axis: IterVar, value: Expr | None, block: TextBlock) -> None:
        dom = axis.dom
        assert dom is not None
        args = [self.text(dom.extent)]
        if not ops.is_const(dom.min, 0):
            args = [f"({self.text(dom.min)}, {self.text(ops.add(dom.min, dom.extent))})"]
        if value is not None:
            args.append(self.text(value))
        name = self.name(axis.var, axis.var.name, block)
        block.add(f"{name} = T.axis.{B.BLOCK_KINDS[axis.kind][1]}({', '.join(args)})")

    def _declare(self, node: B.DeclBuffer, is_last: bool) -> None:
        if node.buffer.data not in self.names:
            self.declare_variable(node.buffer.data)
        inner, outer = self.enter(node, self.block.indent + ("" if is_last else "    "))
        self._declared(node.buffer, node.body, inner, outer, is_last)

    def _declared(
        self,
        buffer: Buffer,
        body: S.Stmt,
        inner: TextBlock,
        outer: TextBlock,
        is_last: bool,
    ) -> None:
        scratch = TextBlock(None, outer.indent)
        name = self.view(buffer, scratch, "T.decl_buffer(", inner)
        *free, line = scratch.lines
        self.body(body)
        outer.lines += free
        if is_last:
            outer.lines.append(line)
        else:
            call = line.strip().removeprefix(f"{name} = ")
            outer.add(f"with {call} as {name}:")
        self.leave(inner, outer)

    def _allocate_const(self, node: B.AllocateConst, is_last: bool) -> None:
        args = [
            repr(node.data.reshape(-1).tolist()),
            quoted(node.dtype),
            self.text(node.extents),
        ]
        if node.annotations:
            args.append(f"annotations={self.text(node.annotations)}")
        call = f"T.allocate_const({', '.join(args)})"
        inner, outer = self.enter(node, self.block.indent + ("" if is_last else "    "))
        name = self.name(node.buffer_var, node.buffer_var.name, inner)
        self.body(node.body)
        outer.add(f"{name} = {call}" if is_last else f"with {call} as {name}:")
        self.leave(inner, outer)


def _is_grid_loop(node: S.For) -> bool:
    return (
        node.kind == "serial"
        and not node.annotations
        and node.thread_binding is None
        and ops.is_const(node.min, 0)
    )


def _continues_grid(loops: list[S.For]) -> bool:
    """Whether the body of the last loop is a loop whose extent depends on none of the loops."""
    inner = loops[-1].body
    if type(inner) is not S.For or not _is_grid_loop(inner):
        return False
    if type(inner.extent) is IntImm:
        return True
    outer_vars = {loop.loop_var for loop in loops}
    return not any(type(node) is Var and node in outer_vars for node in walk(inner.extent))


def _is_declared(node: S.Allocate) -> bool:
    """Whether an allocation and the declaration in it are one `T.decl_buffer` that allocates."""
    declared = node.body
    if type(declared) is not B.DeclBuffer:
        return False
    buffer = declared.buffer
    return (
        buffer.data is node.buffer_var
        and buffer.dtype == node.dtype
        and structural_equal(buffer.shape, node.extents)
        and not buffer.strides
        and not node.annotations
        and ops.is_const(node.condition, 1)
        and ops.is_const(buffer.elem_offset, 0)
    )


def _layout(buffer: Buffer, name: str, offset: str | None) -> list[str]:
    """The arguments of a buffer that differ from the defaults."""
    args = []
    if buffer.data_alignment not in _DEFAULT_ALIGNMENTS:
        args.append(f"align={buffer.data_alignment}")
    if buffer.offset_factor > 1 or (offset is not None and offset == f"{name}.elem_offset"):
        args.append(f"offset_factor={buffer.offset_factor}")
    if buffer.buffer_type:
        args.append('buffer_type="auto"')
    if buffer.axis_separators:
        args.append(f"axis_separators={list(buffer.axis_separators)}")
    return args


def _annotation(var: Var) -> str:
    """The type of a variable."""
    if var.pointer is None:
        return f"T.{var.dtype}"
    return f"T.handle({_pointer(var)})"


def _declaration(var: Var) -> str:
    """The right-hand side of the declaration of a free variable."""
    if var.pointer is not None:
        return f"T.handle({_pointer(var)})"
    return f"T.{var.dtype}({'is_size_var=True' if var.is_size else ''})"


def _pointer(var: Var) -> str:
    assert var.pointer is not None
    element = quoted(var.pointer.element)
    return f"{element}, {quoted(var.pointer.scope)}" if var.pointer.scope else element


_STATEMENTS: dict[type, Callable[[ScriptPrinter, Any, bool], None]] = {
    S.BufferStore: ScriptPrinter._store,
    S.Evaluate: ScriptPrinter._evaluate,
    S.For: ScriptPrinter._for,
    S.While: ScriptPrinter._while,
    S.IfThenElse: ScriptPrinter._if,
    S.LetStmt: ScriptPrinter._let_statement,
    S.Allocate: ScriptPrinter._allocate,
    S.AssertStmt: ScriptPrinter._assert,
    S.BufferRealize: ScriptPrinter._realize,
    S.ProducerStore: ScriptPrinter._producer_store,
    S.ProducerRealize: ScriptPrinter._producer_realize,
    S.Prefetch: ScriptPrinter._prefetch,
    S.AttrStmt: ScriptPrinter._attribute,
    S.SeqStmt: lambda printer, node, is_last: printer.body(node),
    B.BlockRealize: ScriptPrinter._realize_block,
    B.Block: ScriptPrinter._block,
    B.DeclBuffer: ScriptPrinter._declare,
    B.AllocateConst: ScriptPrinter._allocate_const,
}

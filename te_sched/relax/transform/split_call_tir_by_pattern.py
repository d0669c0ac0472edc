"""SplitCallTIRByPattern: the blocks at the beginning of a function become a call of a library.

Patterns are functions of one block over symbolic sizes, compared up to names.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from te_sched.errors import GraphError, kind_of, repr_of
from te_sched.ir.blocks import BlockRealize
from te_sched.ir.expr import Buffer, Expr, Var
from te_sched.ir.graph import ExternFunc, GraphCall, GraphExpr, GraphFunction, Tuple
from te_sched.ir.op import Op
from te_sched.ir.renew import renew_defs
from te_sched.ir.root_block import is_root
from te_sched.ir.stmt import BaseFunc, For, GlobalVar, IRModule, PrimFunc, SeqStmt, Stmt
from te_sched.ir.struct_info import ShapeExpr, TensorStructInfo
from te_sched.ir.structural import structural_equal
from te_sched.ir.visitor import replace, walk
from te_sched.lowering.statements import sequence
from te_sched.passes import ModulePass
from te_sched.relax.expr_functor import PyExprMutator
from te_sched.relax.transform.run_codegen import registered
from te_sched.signatures import is_sequence


@dataclass(frozen=True)
class MatchResult:
    """A block that a pattern matches.

    Parameters
    ----------
    pattern : the pattern.
    symbol_values : the sizes for its parameters that are numbers.
    matched_buffers : the buffers for its parameters that are buffers.
    """

    pattern: PrimFunc
    symbol_values: Sequence[Expr]
    matched_buffers: Sequence[Buffer]


# A function, or a text of CUDA.
Code = Callable[..., object] | str
# The code for the first blocks, the number of blocks, and the buffers that the code takes.
Codegen = Callable[[list[MatchResult]], tuple[Code, int, Sequence[Buffer]]]


class SplitCallTIRByPattern(ModulePass):
    """The pass that calls a library for the first blocks of functions, and a function for the rest.

    Parameters
    ----------
    patterns : functions of one block, whose sizes are parameters; earlier ones come first.
    fcodegen : gets the matches of the blocks at the beginning of a function, in their order.
        Returns the code, the number of blocks that it computes (0: the function stays), and the
        buffers that it takes, parameters of the function. The code is a function of Python, which
        gets these arrays and the one for the result and is registered, or a text, which is kept
        as the attribute "c_source", with "{global_symbol}" for the name.

    Raises
    ------
    GraphError for patterns of several blocks, and if the rest needs more than one value.
    """

    def __init__(self, patterns: Sequence[PrimFunc], fcodegen: Codegen) -> None:
        self.fcodegen = fcodegen
        self.patterns = [_Pattern(pattern) for pattern in patterns]

    def transform_module(self, mod: IRModule, *_: object) -> IRModule:
        splitter = _PatternSplitter(mod, self.patterns, self.fcodegen)
        for name, func in mod.functions.items():
            if isinstance(func, GraphFunction):
                splitter.builder_.update_func(GlobalVar(name), splitter.visit_expr(func))
        return splitter.result()


def _blocks_of(func: PrimFunc) -> list[Stmt]:
    """The nests of a function, one for each block."""
    if not is_root(func.body):
        return []
    inside: Stmt = func.body.block.body
    return list(inside.seq) if isinstance(inside, SeqStmt) else [inside]


def _buffers_in(*parts: Stmt) -> list[Buffer]:
    """The buffers that statements access, each once."""
    buffers = [node.buffer for part in parts for node in walk(part) if hasattr(node, "buffer")]
    return list(dict.fromkeys(buffers))


class _Pattern:
    """A pattern, which is specialized to the sizes of a block before they are compared."""

    def __init__(self, func: PrimFunc) -> None:
        self.func = func
        self.symbols = [param for param in func.params if param not in func.buffer_map]
        blocks = _blocks_of(func)
        if len(blocks) != 1:
            raise GraphError(
                f"pattern {func.__name__} has {len(blocks)} blocks, expected 1",
                "",
                "give a pattern for each block",
            )
        self.loops = [node for node in walk(blocks[0]) if isinstance(node, For)]

    def match(self, nest: Stmt) -> MatchResult | None:
        """The match of a nest, or None."""
        loops = [node for node in walk(nest) if isinstance(node, For)]
        values: dict[Var, Expr] = {}
        for own, other in zip(self.loops, loops, strict=False):
            if isinstance(own.extent, Var):
                values.setdefault(own.extent, other.extent)
        if len(loops) != len(self.loops) or set(values) != set(self.symbols):
            return None
        func = self.func.specialize({symbol: values[symbol] for symbol in self.symbols})
        (block,) = _blocks_of(func)
        if not structural_equal(block, nest, map_free_vars=True):
            return None
        buffer_of: dict[Buffer, Buffer] = {}
        for own, other in zip(walk(block), walk(nest), strict=True):
            if hasattr(own, "buffer"):
                buffer_of.setdefault(own.buffer, other.buffer)
        buffers = [func.buffer_map[param] for param in func.params if param in func.buffer_map]
        if len(set(buffer_of.values())) != len(buffer_of) or any(
            buffer not in buffer_of for buffer in buffers
        ):
            return None
        return MatchResult(
            self.func,
            [values[symbol] for symbol in self.symbols],
            [buffer_of[buffer] for buffer in buffers],
        )


@dataclass(frozen=True)
class _Split:
    """A function in two: the library's name and arguments, and the rest, if there is one."""

    symbol: str
    places: list[int]  # of the parameters that the library takes
    info: TensorStructInfo | None  # of what it computes for the rest
    rest: GlobalVar | None
    kept: list[int]  # of the parameters that the rest takes


class _PatternSplitter(PyExprMutator):
    """Replaces calls of functions of blocks."""

    def __init__(self, mod: IRModule, patterns: list[_Pattern], codegen: Codegen) -> None:
        super().__init__(mod)
        self._mod, self._patterns, self._codegen = mod, patterns, codegen
        self._splits: dict[str, _Split | None] = {}
        self._externs: dict[str, ExternFunc] = {}

    def result(self) -> IRModule:
        """The module, with the functions of the library in place of those that were split."""
        return replace(
            self.builder_.get(), functions={**self.builder_.get().functions, **self._externs}
        )

    def visit_call_(self, op: GraphCall) -> GraphExpr:
        """A call of a function that was split."""
        call = self.visit_expr_post_order(op)
        is_tir = isinstance(call.op, Op) and call.op == "relax.call_tir" and len(call.args) == 2
        if not is_tir or not isinstance(call.sinfo_args[0], TensorStructInfo):
            return call
        name = str(call.args[0])
        if name not in self._splits:
            self._splits[name] = self._split(name, self._mod.functions.get(name))
        split = self._splits[name]
        if split is None:
            return call
        args = call.args[1].fields
        library = GraphCall(
            Op.get("relax.call_dps_packed"),
            (ExternFunc(split.symbol), Tuple(tuple([args[index] for index in split.places]))),
            None,
            (split.info or call.sinfo_args[0],),
        )
        if split.rest is None:
            return library
        operands = [self.builder_.emit(library), *[args[index] for index in split.kept]]
        return GraphCall(call.op, (split.rest, Tuple(tuple(operands))), None, call.sinfo_args)

    def _split(self, name: str, func: BaseFunc | None) -> _Split | None:
        """How a function is split, or None."""
        if not isinstance(func, PrimFunc) or len(func.buffer_map) != len(func.params):
            return None
        nests = _blocks_of(func)
        matches: list[MatchResult] = []
        for nest in nests:
            match = next((candidate for p in self._patterns if (candidate := p.match(nest))), None)
            if match is None:
                break
            matches.append(match)
        if not matches:
            return None
        code, count, inputs = _checked_code(self._codegen(matches), len(matches), name)
        if count == 0:
            return None
        buffers = [func.buffer_map[param] for param in func.params]
        places = [_place_of(buffer, buffers[:-1], name) for buffer in inputs]
        first, rest = nests[:count], nests[count:]
        self._externs[name] = extern = _extern(name, code)
        if not rest:
            return _Split(extern.global_symbol, places, None, None, [])
        written_buffers = _written(first)
        needed = [buffer for buffer in _buffers_in(*rest) if buffer in written_buffers]
        if len(needed) != 1 or buffers[-1] in written_buffers:
            raise GraphError(
                f"function {name} cannot be split after {count} blocks",
                f"what follows needs {', '.join(buffer.name for buffer in needed) or 'the result'}",
                "have fcodegen compute the blocks up to the one whose value alone is needed",
            )
        info = TensorStructInfo(ShapeExpr(tuple(needed[0].shape)), needed[0].dtype)
        kept = [k for k, buffer in enumerate(buffers[:-1]) if buffer in _buffers_in(*rest)]
        epilogue = _epilogue(func, rest, needed[0], [*[buffers[k] for k in kept], buffers[-1]])
        own = self.builder_.add_func(epilogue, "unfused_epilogue")
        return _Split(extern.global_symbol, places, info, own, kept)


def _checked_code(result: object, most: int, name: str) -> tuple[Code, int, Sequence[Buffer]]:
    """The code, the number of blocks, and the buffers that fcodegen returned."""
    if is_sequence(result) and len(result) == 3:
        code, count, buffers = result[0], getattr(result[1], "value", result[1]), result[2]
        is_code = callable(code) or isinstance(code, str)
        if is_code and isinstance(count, int) and 0 <= count <= most and is_sequence(buffers):
            return code, count, buffers
    raise GraphError(
        f"fcodegen returns {repr_of(result)} for function {name}",
        f"it is {kind_of(result)}; {most} blocks match",
        "return the code (a function or a text), the number of blocks, and a list of buffers",
    )


def _place_of(buffer: Buffer, inputs: list[Buffer], name: str) -> int:
    if buffer not in inputs:
        raise GraphError(
            f"fcodegen takes {getattr(buffer, 'name', repr_of(buffer))} for function {name}",
            f"the parameters are {', '.join(buffer.name for buffer in inputs)}",
            "list what is read of the parameters alone",
        )
    return inputs.index(buffer)


def _extern(name: str, code: Code) -> ExternFunc:
    """The function of the library."""
    if callable(code):
        return ExternFunc(registered(name, code))
    text = code.replace("{global_symbol}", name)
    return ExternFunc(name, None, {"c_source": text, "c_source_fmt": "cu"})


def _written(parts: Sequence[Stmt]) -> set[Buffer]:
    """The buffers that blocks write."""
    return {
        region.buffer
        for part in parts
        for node in walk(part)
        for region in getattr(node, "writes", ())
    }


def _epilogue(func: PrimFunc, parts: list[Stmt], source: Buffer, rest: list[Buffer]) -> PrimFunc:
    """The function of the blocks that are left: it takes what the library computes first."""
    root = func.body
    assert isinstance(root, BlockRealize)
    params = {Var(f"var_{buffer.name}", "handle"): buffer for buffer in (source, *rest)}
    used = _buffers_in(*parts)
    inner = tuple(
        [buffer for buffer in root.block.alloc_buffers if buffer in used and buffer is not source]
    )
    block = replace(root.block, body=sequence(parts), alloc_buffers=inner)
    attrs = {key: value for key, value in func.attrs.items() if key != "global_symbol"}
    return renew_defs(PrimFunc(tuple(params), replace(root, block=block), params, attrs))

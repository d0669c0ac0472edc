"""All public functions, methods and constructors in the modules of te_sched.

Must not know their arguments.
"""

from __future__ import annotations

import dataclasses
import importlib
import inspect
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from types import ModuleType
from typing import Any

from te_sched.tir.constructors import Constructor
from te_sched.topi import utils

MODULES = (
    *("te_sched", "te_sched.te", "te_sched.te.hybrid", "te_sched.tir", "te_sched.tir.ir_builder"),
    *("te_sched.tir.transform", "te_sched.tir.stmt_functor", "te_sched.ir", "te_sched.topi"),
    "te_sched.tir.analysis",
    *("te_sched.topi.image", "te_sched.relax"),
    *("te_sched.topi.nn", "te_sched.topi.cuda", "te_sched.topi.x86", "te_sched.topi.generic"),
    *("te_sched.topi.utils", "te_sched.nd", "te_sched.target", "te_sched.testing"),
    *("te_sched.transform", "te_sched.contrib.utils", "te_sched.contrib.clang"),
    *("te_sched.contrib.cc", "te_sched.contrib.cblas", "te_sched.contrib.dlpack"),
    *("te_sched.contrib.pickle_memoize", "te_sched.analysis", "te_sched.runtime"),
    *("te_sched.compat.arith", "te_sched.compat.ir_pass", "te_sched.compat.rpc"),
    *("te_sched.tools.table", "te_sched.views.comparison", "te_sched.views.loop_tree"),
    *("te_sched.views.dataflow", "te_sched.story.explaining", "te_sched.autotvm"),
    *("te_sched.autotvm.task", "te_sched.autotvm.record", "te_sched.autotvm.measure"),
    *("te_sched.autotvm.tuner", "te_sched.autotvm.feature", "te_sched.autotvm.utils"),
)
_LISTED = {"te_sched.topi.utils": utils.PUBLIC}
FACES = {"te_sched.tir.ir_builder": "te_sched.ir.builder"}  # names of faces
# Objects whose methods users call, by the expression that makes one.
RECEIVERS = {
    "made.s": "te_sched.schedule.schedule:Schedule",
    "made.stage": "te_sched.schedule.stage:Stage",
    "tir.IndexMap.from_func(lambda i: [i // 4, i % 4])": "te_sched.ir.index_map:IndexMap",
    "made.s.trace": "te_sched.trace.trace:Trace",
    "words.matrix()": "te_sched.te.tensor:Tensor",
    "te.var('v')": "te_sched.ir.expr:Var",
    "te.reduce_axis((0, 8))": "te_sched.ir.expr:IterVar",
    "tir.decl_buffer((8, 8))": "te_sched.ir.expr:Buffer",
    "words.program()": "te_sched.ir.stmt:IRModule",
    "words.program()['main']": "te_sched.ir.stmt:PrimFunc",
    "words.built()": "te_sched.runtime.module:Module",
    "words.built()['main']": "te_sched.runtime.module:Function",
    "words.ones()": "te_sched.runtime.ndarray:NDArray",
    "te_sched.cpu(0)": "te_sched.runtime.device:Device",
    "tir.ir_builder.create()": "te_sched.ir.builder:IRBuilder",
    "tir.ir_builder.create().allocate('float32', 8)": "te_sched.ir.builder:BufferVar",
    "te_sched.target.Target('llvm')": "te_sched.codegen.target:Target",
    "te_sched.compat.arith.Analyzer()": "te_sched.compat.arith:Analyzer",
    "te_sched.transform.Sequential([])": "te_sched.transform:Sequential",
    "words.adder()": "te_sched.te.intrin_call:TensorIntrin",
    "te_sched.autotvm.ConfigSpace()": "te_sched.autotvm.task.space:ConfigSpace",
    "te.comm_reducer(lambda x, y: x + y, lambda t: te.const(0, t))": "te_sched.te.reducer:Reducer",
}
OPERATORS = (
    *("__getitem__", "__setitem__", "__call__", "__contains__", "__add__", "__radd__", "__sub__"),
    *("__mul__", "__truediv__", "__rtruediv__", "__floordiv__", "__mod__", "__rmod__"),
    *("__lshift__", "__rshift__", "__and__", "__or__", "__xor__", "__lt__", "__eq__", "__ne__"),
)
# Excluded: internal methods, and functions without a result to judge.
INNER = {
    "Schedule": (
        *("replace_operation", "rewired", "copy_from", "members_of"),
        *("readers_of", "reads", "stage_of"),
    ),
    "Analyzer": ("may_wrap",),
    "Stage": ("copy_from",),
    "Trace": ("apply", "copy", "extend"),
    "BlockBuilder": ("begin_scope", "end_scope", "subroutine_scope"),
    "DFPattern": ("search", "extract_matched_expr", "match"),
    "te_sched.relax.frontend.torch": ("dynamo_capture_subgraphs",),  # torch refuses the model
    "Function": ("expect", "measure", "run_repeatedly"),
    "te_sched.testing": ("main", "install_request_hook", "fixture", "parameter", "parameters"),
}
# Classes whose objects only te_sched makes.
MADE = (
    *("ComputeOp", "ExternOp", "HybridOp", "Operation", "PlaceholderOp", "ScanOp", "Tensor"),
    *(
        "TensorComputeOp",
        "TensorSlice",
        "TensorIntrin",
        "Reducer",
        "Finding",
        "Findings",
        "Module",
        "Function",
    ),
    *("PackedFunc", "Buffer", "NDArray", "PassInfo", "PrimFuncPass", "CallEffectKind", "ForKind"),
    *("PointerType", "Schedule", "Stage", "TargetKind", "IRBuilder", "BufferVar", "Node", "Stmt"),
    *(
        "BufferRealize",
        "Prefetch",
        "PrimExpr",
        "Device",
        "Op",
        "Story",
        "CommReducer",
        "Reduce",
        "Comparison",
        "TreeLine",
        "ShapeTuple",
        "NNModule",
    ),
)


@dataclass(frozen=True)
class Callee:
    """A function: its expression and its parameters."""

    text: str
    parameters: tuple[inspect.Parameter, ...]

    @property
    def name(self) -> str:
        """Its unqualified name."""
        return self.text.rpartition(".")[2]


def callees(
    modules: Sequence[str] = MODULES, receivers: Mapping[str, str] = RECEIVERS
) -> Iterator[Callee]:
    """All functions of modules and methods of receivers, each once."""
    known: set[int] = set()
    for name in modules:
        module = importlib.import_module(FACES.get(name, name))
        for key, value in _of_module(name, module):
            if id(value) not in known:
                known.add(id(value))
                yield Callee(f"{name}.{key}", _parameters(value))
    for text, path in receivers.items():
        yield from _methods(text, path)


def _of_module(name: str, module: ModuleType) -> Iterator[tuple[str, Callable[..., Any]]]:
    listed = _LISTED.get(name) or getattr(module, "__all__", None)
    if listed is None and name.startswith("te_sched.topi."):
        listed = [key for key in vars(module) if "schedule_" in key]
    for key in listed or sorted(vars(module)):
        value = getattr(module, key)
        is_ours = str(getattr(value, "__module__", "")).startswith("te_sched")
        if not callable(value) or not is_ours or key.startswith("_") or key in INNER.get(name, ()):
            continue
        is_here = value.__module__.startswith(f"{name}.") or value.__module__ == module.__name__
        if listed is None and not is_here and "topi" not in name:
            continue
        if isinstance(value, type) and (key in MADE or issubclass(value, BaseException | Enum)):
            continue
        yield key, value


def _methods(text: str, path: str) -> Iterator[Callee]:
    module, name = path.split(":")
    kind = getattr(importlib.import_module(module), name)
    for key in dir(kind):
        value = getattr(kind, key, None)
        is_public = key in OPERATORS or not key.startswith("_")
        is_hook = key.startswith("visit_")  # functions of the user, which te_sched calls
        if not is_public or is_hook or not callable(value) or key in INNER.get(name, ()):
            continue
        if not str(getattr(value, "__module__", "")).startswith("te_sched"):
            continue
        if isinstance(inspect.getattr_static(kind, key), staticmethod | classmethod):
            yield Callee(f"{text}.{key}", _parameters(value))
        else:
            yield Callee(f"{text}.{key}", _parameters(value)[1:])


def _parameters(value: Callable[..., Any]) -> tuple[inspect.Parameter, ...]:
    if isinstance(value, Constructor):
        found = _parameters(value._build)
        if any(one.kind is one.VAR_POSITIONAL for one in found):
            named = [field for field in dataclasses.fields(value.kind) if field.init]
            kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
            return tuple(
                inspect.Parameter(one.name, kind, default=None if _is_optional(one) else _EMPTY)
                for one in named
            )
        return found
    try:
        return tuple(inspect.signature(value).parameters.values())
    except ValueError:
        return ()


_EMPTY = inspect.Parameter.empty


def _is_optional(field: dataclasses.Field[Any]) -> bool:
    missing = dataclasses.MISSING
    return field.default is not missing or field.default_factory is not missing

"""The table of TVM's names that te_sched does not have, with alternatives.

It is the source of every ImportError and AttributeError about a missing name, and of the
compatibility page. Must not need the rest of te_sched, since its errors are raised while that is
imported.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Iterable
from typing import Any, NoReturn

from te_sched.compat.names import TREE, Alias
from te_sched.errors import AbsentModuleError, AbsentNameError, TeSchedError, did_you_mean

# By TVM's dotted name, without "tvm."; the text of a module applies to all names below it.
ABSENT: dict[str, str] = {
    "relay": "te_sched has no Relay; its graphs are te_sched.relax "
    "(for relay.build_config, use te_sched.transform.PassContext)",
    "relay.frontend": "models are imported by te_sched.relax.frontend.torch "
    "(from_exported_program, from_fx) and te_sched.relax.frontend.onnx (from_onnx)",
    "relay.build": "build a graph with te_sched.relax.build(module, target), and run it in "
    "te_sched.relax.VirtualMachine",
    "relax": "dir(te_sched.relax) lists the names of graphs, dir(te_sched.relax.op) operators, "
    "dir(te_sched.relax.transform) passes",
    "relax.transform.AttachExternModules": "register a Python function, and call it with "
    "relax.call_dps_packed",
    "relax.nn": "operators of neural networks are in relax.op.nn, modules in relax.frontend.nn",
    "relax.frontend.nn.llm": "te_sched has kernels of its own for kv_cache.TIRPagedKVCache, and "
    "position_embedding.rotary_frequencies for its angles",
    "auto_scheduler": "te_sched registers its workloads, and searches for schedules with "
    "te_sched.tune(function, arguments) or te_sched.meta_schedule",
    "dlight": "te_sched.dlight has rules for processors and GPUs (dlight.cpu, dlight.gpu)",
    "rpc": "te_sched runs programs in this process (for rpc.LocalSession, call "
    "te_sched.compat.install()); on another machine, install te_sched there, or load what "
    "module.export_library wrote with runtime.load_module",
    "micro": "te_sched has no microcontroller targets",
    "parser": "te_sched does not read Relay text",
    "support": "te_sched has no build information of libraries: it is pure Python on llvmlite",
    "_ffi": "te_sched is Python and has no FFI; the registry is te_sched.register_func and "
    "te_sched.get_global_func",
    "vta": "te_sched has no accelerator targets",
    "nnvm": "te_sched has no NNVM; its graphs are te_sched.relax",
    "register_object": "te_sched is Python: derive from its classes",
    "register_extension": "arrays of other libraries are taken through DLPack as they are",
    "register_datatype": "te_sched has the data types that LLVM has, and no others",
    "datatype": "te_sched has the data types that LLVM has, and no others",
    "te.schedule": "te_sched.lower(s, args, stop_after=...) shows the program after any step",
    "register_node": "te_sched is Python: derive from its classes",
    "driver.tvmc": "te_sched has no tvmc; run programs with python -m te_sched run PROGRAM.py",
    "arith.detect_clip_bound": "use arith.Analyzer().simplify",
    "arith.solve_linear_equations": "te_sched does not solve systems; sympy does",
    "arith.solve_linear_inequalities": "te_sched does not solve systems; sympy does",
    "te.hybrid": "call a te.hybrid.script with tensors: it gives the tensors of a te.HybridOp",
    "hybrid": "call a hybrid.script with tensors: it gives the tensors of a te.HybridOp",
    "te.extern_primfunc": "it needs TVMScript; use te.extern",
    "te.SpecializedCondition": "it guards specialized copies of a program; build one for each case",
    "te.trace": "print in a function called by tir.call_packed",
    "tir.trace": "print in a function called by tir.call_packed",
    "tir.usmp": "te_sched does not plan memory across functions",
    "tir.layout": "layouts are expressions of indices: write the te.compute",
    "tir.Layout": "layouts are expressions of indices: write the te.compute",
    "tir.BijectiveLayout": "layouts are expressions of indices: write the te.compute",
    "tir.bijective_layout": "layouts are expressions of indices: write the te.compute",
    "tir.data_layout": "layouts are expressions of indices: write the te.compute",
    "runtime.executor": "graphs run in relax.VirtualMachine; there are no other executors",
    "runtime.vm": "graphs run in relax.VirtualMachine; there are no other executors",
    "runtime.disco": "te_sched runs in one process",
    "runtime.profiling": "use module.time_evaluator",
    "runtime.system_lib": "use module.export_library and runtime.load_module",
    "runtime.load_static_library": "use runtime.load_module",
    "contrib.graph_executor": "graphs run in relax.VirtualMachine; there are no other executors",
    "contrib.graph_runtime": "graphs run in relax.VirtualMachine; there are no other executors",
    "contrib.debugger": "graphs run in relax.VirtualMachine; there are no other executors",
    "contrib.ndk": "te_sched does not cross-compile for Android",
    "contrib.xcode": "te_sched does not cross-compile for iOS",
    "contrib.download": "use urllib.request",
    "contrib.tar": "module.export_library writes a .tar by itself",
    "contrib.tedd": "te_sched.views.dataflow.dataflow_svg(s) draws the stages of a schedule, "
    "te_sched.explain(s, args) shows its loops step by step",
    "contrib.cublas": "te_sched calls no libraries for GPUs; cupy and torch do, on the same arrays",
    "contrib.cudnn": "te_sched calls no libraries for GPUs; cupy and torch do, on the same arrays",
    "contrib.rocblas": "te_sched has no ROCm target",
    "contrib.miopen": "te_sched has no ROCm target",
    "contrib.mkl": "use contrib.cblas.matmul: numpy's BLAS",
    "contrib.dnnl": "use contrib.cblas.matmul: numpy's BLAS",
    "contrib.nnpack": "use te_sched.topi, or register a Python function and te.extern",
    "contrib.torch": "programs take tensors of torch as they are; relax.frontend.torch imports "
    "models, and has relax_dynamo for torch.compile",
    "contrib.random": "make random arrays with numpy",
    "contrib.sort": "register a Python function (numpy.argsort) and call it in te.extern",
    "contrib.sparse": "declare the arrays of the format as placeholders, with indices A[I[i]]",
    "contrib.popen_pool": "use concurrent.futures",
    "contrib.stackvm": "te_sched compiles with LLVM",
    "contrib.emcc": "te_sched does not compile for the web",
    "contrib.peak": "time a schedule with module.time_evaluator",
    "meta_schedule.testing": "it has workloads and scripts of TVM's own tests; te_sched.tune and "
    "te_sched.meta_schedule search for schedules of yours",
    "testing.auto_scheduler": "te_sched.tune and te_sched.meta_schedule search for schedules",
    "testing.autotvm": "it tests TVM itself",
    "autotvm": "te_sched tunes TE schedules on this machine: autotvm.template, autotvm.tuner, "
    "autotvm.apply_history_best",
    "autotvm.graph_tuner": "it chooses layouts for graphs of Relay, which te_sched does not have",
    "autotvm.tophub": "it has configurations of Relay's operators; tune a template, and give its "
    "log to autotvm.apply_history_best",
    "autotvm.RPCRunner": "te_sched measures on this machine: autotvm.LocalRunner",
    "target.codegen": "te_sched.codegen.llvm is the code generator",
    "target.VirtualDevice": "te_sched has devices alone (te_sched.cpu(0))",
    "make.Store": "programs have buffers with their shapes: tir.BufferStore",
    "make.Load": "programs have buffers with their shapes: tir.BufferLoad",
    "make.node": "call the class: tir.Add(a, b)",
    "save_json": "save the Python program; s.trace prints one",
    "load_json": "save the Python program; s.trace prints one",
    "topi": "te_sched.topi has the operators that TE programs use most; write others with "
    "te.compute",
}

_RENAMED = (
    "TVM 0.24 renamed TensorIR; te_sched has its names of before: tvm.tir, tvm.script.tir, "
    "tvm.dlight, tvm.meta_schedule"
)
_BLOCKS = "te_sched.tir.Schedule and te_sched.script have what programs of blocks need"
_CONVENTION = "it is of TVM's calling convention, which compiled code of te_sched does not use"
_ONE_DEVICE = "te_sched runs a graph on one device"
_LAZY = "relax.transform.LiftTransformParams transforms all parameters at once"
_GRADIENTS = "te_sched does not differentiate graphs; te.gradient differentiates tensors"
_EXTERN = "register a Python function, and call it with relax.frontend.nn.extern"
_COMPILED = ("Extern", "Object", "Source")
_GRAPHS = "it is of Relay's graphs or of TVM's objects in C++, which te_sched does not have"
_PROGRAMS = (
    "te_sched has TVM's names of programs and arrays, not those of Relay and of objects in C++"
)
ABSENT |= {
    **dict.fromkeys(("tirx", "s_tir", "script.tirx"), _RENAMED),
    "tir.ScheduleState": _BLOCKS,
    **dict.fromkeys(("tir.call_packed_lowered", "tir.call_cpacked_lowered"), _CONVENTION),
    **dict.fromkeys(("ir", "nd", "runtime", "container"), _PROGRAMS),
    **dict.fromkeys(
        ("PoolInfo", "PoolInfoProperties", "ConstantPoolInfo", "DataTypeCode"), _GRAPHS
    ),
    **dict.fromkeys(("WorkspacePoolInfo", "WorkspaceMemoryPools", "ConstantMemoryPools"), _GRAPHS),
    "tir.PrimFunc.checked_type": _GRAPHS,
    **dict.fromkeys(("relax.distributed", "relax.op.distributed", "relax.op.ccl"), _ONE_DEVICE),
    **dict.fromkeys(
        (
            "relax.transform.IPCAllReduceRewrite",
            "relax.transform.ipc_allreduce_rewrite",
            "relax.transform.LowerGPUIPCAllocStorage",
            "relax.transform.lower_gpu_ipc_alloc_storage",
        ),
        _ONE_DEVICE,
    ),
    **dict.fromkeys(
        ("relax.training", "relax.transform.Gradient", "relax.op.register_gradient"), _GRADIENTS
    ),
    "relax.transform.RewriteCUDAGraph": "te_sched captures no CUDA graphs",
    **dict.fromkeys((f"relax.frontend.nn.{kind}Module" for kind in _COMPILED), _EXTERN),
    "meta_schedule": "te_sched.tune and dir(te_sched.meta_schedule) have what searches",
    "meta_schedule.relay_integration": "te_sched has no Relay; its graphs are tuned by "
    "meta_schedule.relax_integration",
    "tir": "te_sched has what TE programs are made of; tir.call_intrin calls an intrinsic by name",
    "tir.Buffer": "print the program that uses it",
    "tir.transform": "te_sched has no such pass; transform.prim_func_pass makes one of a function",
    "IRModule": "a module holds functions alone: IRModule({name: function})",
    "arith": "te_sched has what schedules need: arith.Analyzer, arith.detect_iter_map, ...",
    "runtime.Module": "a module is compiled code in one piece, without imports",
    "runtime.Device": "te_sched runs on processors and CUDA devices; nothing needs their numbers",
    "target": "te_sched compiles for processors (llvm) and CUDA devices (cuda)",
    "target.Target": "target.Target(text) reads a target; its options are target.options",
    "testing": "it tests TVM itself, or needs what te_sched does not have; "
    "testing.requires(condition, reason) marks a test",
    "contrib": "it is about libraries and devices that te_sched does not use",
}
# By prefix.
_FAMILIES = {
    **dict.fromkeys(("relax.transform.Lazy", "relax.transform.lazy_"), _LAZY),
    "relax.frontend.nn.ccl_": _ONE_DEVICE,
}


class AbsentName:
    """A name that te_sched does not have, of a module that programs import before they use it.

    Its attributes are such names, too. Calls, subscripts and decorators raise AttributeError.
    """

    def __init__(self, module: str, name: str) -> None:
        self._module, self._name = module, name
        self.__name__ = name

    def __getattr__(self, name: str) -> AbsentName:
        if name.startswith("__"):
            raise AttributeError(name)
        return AbsentName(f"{self._module}.{self._name}", name)

    def __repr__(self) -> str:
        return f"<{message(self._module, self._name)}>"

    def __call__(self, *args: Any, **kwargs: Any) -> NoReturn:
        raise absent_name(self._module, self._name)

    def __getitem__(self, index: Any) -> NoReturn:
        raise absent_name(self._module, self._name)


def advice(name: str) -> str:
    """The alternative to a name of TVM ("te.hybrid.script"), or "" if none is known."""
    while name:
        if text := ABSENT.get(name) or _of_family(name):
            return text
        name = name.rpartition(".")[0]
    return ""


def _of_family(name: str) -> str:
    """The alternative to all names with a prefix, or ""."""
    return next((text for start, text in _FAMILIES.items() if name.startswith(start)), "")


def absent_name(
    module: str,
    name: str,
    names: Iterable[str] = (),
    error: type[TeSchedError] = AbsentNameError,
) -> TeSchedError:
    """The error for a name that a module does not have; `names` are those it has."""
    help = _help(module, name, names) or f"dir({module}) lists the names that exist"
    return error(f"te_sched has no {module}.{name}", "", help)


def absent_module(full_name: str, names: Iterable[str] = ()) -> TeSchedError:
    """The error for an import of a module that its package does not have; `names` are its names.

    It has no `name`, since the import system ignores an error with the name that it looks for.
    """
    package, _, name = full_name.rpartition(".")
    return absent_name(package, name, names, AbsentModuleError)


def message(module: str, name: str, names: Iterable[str] = ()) -> str:
    """The text about a name that a module does not have, on one line."""
    return ": ".join(filter(None, (f"te_sched has no {module}.{name}", _help(module, name, names))))


def _help(module: str, name: str, names: Iterable[str]) -> str:
    """The replacement of a name, the nearest name, or what is said of the module; or ""."""
    inside = {"errors": "error"}.get(module.partition(".")[2], module.partition(".")[2])
    path = f"{inside}.{name}" if inside else name
    is_of_tvm = _is_of_tvm(inside, name)
    if path in ABSENT:
        replacement = _replacement(inside, name) if is_of_tvm else ""
        return "; ".join(filter(None, (replacement, ABSENT[path])))
    if is_of_tvm:
        own = _replacement(inside, name) or _elsewhere(module, name)
        return f"{own}; {_KEPT}" if own else _INSTALLED.format(path)
    if elsewhere := _elsewhere(module, name):
        return elsewhere
    near = did_you_mean(name, names)
    if near:
        return f"use a name that exists{near}"
    is_below = inside not in ABSENT and module in sys.modules  # of one that te_sched has
    return _of_family(path) if is_below else advice(path)


_KEPT = "te_sched.compat.install() gives it to `import tvm`"
_INSTALLED = (
    "keep `import tvm`, which has it as tvm.{}: run the program with `te-sched run PROGRAM.py`, or "
    "call te_sched.compat.install() first"
)


_DEVICE = "use te_sched.device(kind, index)"
_PASS_CONTEXT = "use te_sched.transform.PassContext(config={...})"
_BUILTINS = "use a tuple, a dict or a str of Python"
# What stands for names that te_sched has for programs of tvm alone.
_SUCCESSORS = {
    "compile": "use te_sched.build, or te_sched.relax.build for a module with graphs",
    **dict.fromkeys(("context", "ctx"), _DEVICE),
    **dict.fromkeys(("build_config", "BuildConfig"), _PASS_CONTEXT),
    **dict.fromkeys(("Array", "Map", "String", "container"), _BUILTINS),
    "current_build_config": "use te_sched.transform.PassContext.current()",
    "current_target": "use te_sched.target.Target.current()",
    "schedule_to_module": "use te_sched.lower(s, args)",
    "tune_te": "use te_sched.tune(function, arguments)",
}


def _replacement(module: str, name: str) -> str:
    """The advice to use te_sched's own name for one of tvm, or the modules that have the names of a
    module of tvm; "" if te_sched has it for programs of tvm alone.
    """
    if name in _SUCCESSORS:
        return _SUCCESSORS[name]
    path = f"{module}.{name}" if module else name
    if path in TREE:
        alias = TREE[path]
        modules = [*alias.faces, *(source.partition(":")[0] for source in alias.names.values())]
        owners = [owner for owner in dict.fromkeys(modules) if _is_public(owner)]
        return f"its names are in {', '.join(owners)}" if owners else ""
    alias = TREE.get(module, Alias())
    sources = [alias.names[name]] if name in alias.names and name[0] != "_" else []
    sources += [f"{face}:{name}" for face in alias.faces if name in _names_of(face)]
    return next((f"use {source.replace(':', '.')}" for source in sources if _is_public(source)), "")


def _is_public(source: str) -> bool:
    """Whether a module, or that of a name, is shown to programs that do not say `import tvm`."""
    package, *parts = source.partition(":")[0].split(".")
    for part in parts:
        if part not in _names_of(package) or part == "compat":
            return False
        package = f"{package}.{part}"
    return True


# Modules whose names are taken for each other's.
_NEIGHBORS = ("te_sched", "te_sched.te", "te_sched.tir", "te_sched.script.tir")


def _elsewhere(module: str, name: str) -> str:
    """The advice to use another module's name, or ""."""
    owners = [owner for owner in _NEIGHBORS if owner != module] if module in _NEIGHBORS else []
    return next((f"use {owner}.{name}" for owner in owners if name in _names_of(owner)), "")


def _names_of(module: str) -> list[str]:
    """The public names of a module; none while te_sched is being imported."""
    try:
        return dir(importlib.import_module(module))
    except ImportError:
        return []


def _is_of_tvm(module: str, name: str) -> bool:
    """Whether `compat.install` gives a module of tvm a name, or makes a module of that name."""
    path = f"{module}.{name}" if module else name
    if path in TREE:
        return not TREE[path].is_absent
    alias = TREE.get(module, Alias())
    own = f"te_sched.{module}"
    faces = [importlib.import_module(face) for face in alias.faces if face != own]
    return name in alias.names or any(name in dir(face) for face in faces)

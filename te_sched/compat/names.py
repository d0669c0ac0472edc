"""Tables of the modules and names of TVM's three generations, with their sources in te_sched.

A module of `tvm` has a list of faces (modules of te_sched that are searched in order) and
additional names. `aliases` makes the modules.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Alias:
    """A module of tvm: `faces` are searched for its names; `names` has more, as "module:name".

    Programs may import names of a module that `is_absent`; their use raises an error.
    """

    faces: tuple[str, ...] = ()
    names: Mapping[str, str] = field(default_factory=dict)
    is_absent: bool = False


_OLD = "te_sched.compat.first"
_PASSES = "te_sched.compat.ir_pass"


def _all_from(module: str, names: str) -> dict[str, str]:
    return {name: f"{module}:{name}" for name in names.split()}


_INTRINSICS = (
    "exp exp2 exp10 log log2 log10 log1p erf tanh sigmoid sqrt rsqrt floor ceil trunc round "
    "nearbyint abs fabs sin cos tan sinh cosh asin acos atan asinh acosh atanh atan2 pow power "
    "fmod popcount clz isnan isfinite isinf copysign ldexp hypot nextafter"
)
# Names of tvm itself until 0.6.
FIRST_GENERATION = {
    **_all_from(
        "te_sched.te",
        "placeholder scan extern reduce_axis thread_axis var size_var create_schedule "
        "comm_reducer tag_scope sum min max prod if_then_else all any "
        f"{_INTRINSICS}",
    ),
    **_all_from(
        "te_sched.tir",
        "const convert decl_buffer ir_builder call_extern call_packed call_cpacked "
        "call_pure_extern call_llvm_intrin min_value max_value div indexdiv indexmod "
        "floordiv floormod truncdiv truncmod likely stmt_functor bitwise_and bitwise_or "
        "bitwise_xor bitwise_not shift_left shift_right reinterpret",
    ),
    **_all_from(
        _OLD,
        "compute int32 float32 handle context ctx build_config call_intrin call_pure_intrin "
        "register_intrin_rule select decl_tensor_intrin BuildConfig current_build_config",
    ),
    "Var": "te_sched.tir:Var",
    "Tensor": "te_sched.te:Tensor",
    "Range": "te_sched.tir:Range",
    "DataType": "te_sched.runtime:DataType",
    "DeviceType": "te_sched.runtime:Device",
    "Object": "te_sched.ir:Node",
    "NDArray": "te_sched.nd:NDArray",
}

_TE_CLASSES = _all_from(
    "te_sched.te",
    "Tensor TensorSlice Operation PlaceholderOp ComputeOp ScanOp ExternOp HybridOp "
    "TensorComputeOp TensorIntrin Schedule Stage",
)
_SCHEDULE = {
    **_all_from("te_sched.te", "Schedule Stage create_schedule"),
    **_all_from("te_sched.schedule.relations", "Split Fuse Rebase Singleton"),
    **_all_from(
        "te_sched.compat.schedules",
        "AutoInlineBroadcast AutoInlineElemWise AutoInlineInjective CreateAttachPath "
        "CreateReadGraph InferBound PostDFSOrder ScanFixPointAnalysis ScanGetBody ScheduleOps",
    ),
    **_all_from("te_sched.tir", "Buffer IterVar"),
}
_CONTAINERS = {
    "Array": f"{_OLD}:Array",
    "Map": f"{_OLD}:Map",
}
_ERRORS = {
    "TVMError": "te_sched.errors:TeSchedError",
    "InternalError": "te_sched.errors:TeSchedError",
    "OpError": "te_sched.errors:TeSchedError",
    "OpNotImplemented": "te_sched.errors:TeSchedError",
    "DiagnosticError": "te_sched.errors:TeSchedError",
    "RPCError": "te_sched.errors:TeSchedError",
}
_TRANSFORM = {
    **_all_from(
        "te_sched.transform",
        "ApplyPassToFunction ModulePass Pass PassContext PassInfo PrintIR Sequential module_pass",
    ),
}
_BUILDING = {
    **_all_from("te_sched", "build lower"),
    "schedule_to_module": "te_sched.compat.schedules:schedule_to_module",
    **_all_from(_OLD, "build_config BuildConfig current_build_config"),
}
_REGISTRY = _all_from("te_sched", "register_func get_global_func")
_ARRAYS = {
    **_all_from(_OLD, "array empty context"),
    "numpyasarray": "te_sched.nd:array",
}

_INTRINSICS = "te_sched.tensorir.tensor_intrin"
_HISTORY = {"ApplyHistoryBest": "te_sched.autotvm.record:ApplyHistoryBest"}

_MEASURING = {"measure_option": "te_sched.compat.tuning:measure_option"}
_DENSE = {"dense": "te_sched.compat.graphs:dense"}
# TVM's modules of operators, of which te_sched has all in `relax.op`.
_FAMILIES = (
    *("binary", "create", "datatype", "index", "linear_algebra", "manipulate", "mask", "qdq"),
    *("sampling", "search", "set", "sorting", "statistical", "ternary", "unary"),
)
_OLDER_TUNING = _all_from(
    "te_sched.compat.tuning",
    "EvolutionarySearchConfig ReplayFuncConfig ReplayTraceConfig default_config tune_te tune_tir",
)
# Modules of tvm by their dotted name.
TREE: dict[str, Alias] = {
    "": Alias(
        ("te_sched",),
        {
            **FIRST_GENERATION,
            **_ERRORS,
            "__version__": f"{_OLD}:VERSION",
            "__file__": "te_sched:__file__",
            "compile": "te_sched.relax.vm.build:compile_module",
            "register_global_func": "te_sched:register_func",  # from 0.21 on
        },
    ),
    "te": Alias(("te_sched.te",), _all_from(_OLD, "call_pure_intrin")),
    "te.tensor": Alias(("te_sched.te",), _TE_CLASSES),
    "te.operation": Alias(("te_sched.te",), _TE_CLASSES),
    "te.schedule": Alias((), _SCHEDULE),
    "te.hybrid": Alias(("te_sched.te.hybrid",)),
    "te.hybrid.runtime": Alias(("te_sched.te.hybrid.runtime",)),
    "te.autodiff": Alias((), {"gradient": "te_sched.te:gradient"}),
    "te.tag": Alias(("te_sched.te",)),
    "te.tensor_intrin": Alias(("te_sched.te",)),
    "tir": Alias(
        ("te_sched.tir",),
        {
            **_all_from(_OLD, "For stmt_seq stmt_list"),
            "Any": f"{_OLD}:UnknownExtent",
            "BlockScope": "te_sched.tir.block_scope:BlockScope",
            "StmtSRef": "te_sched.tensorir.handles:StmtSRef",
            "ScheduleError": "te_sched.errors:ScheduleError",
            "build": "te_sched:build",  # from 0.20 on
        },
    ),
    "tir.expr": Alias(
        ("te_sched.tir",), {"Any": f"{_OLD}:UnknownExtent", "ExprOp": "te_sched.ir.expr:Operand"}
    ),
    "tir.stmt": Alias(("te_sched.tir",), _all_from(_OLD, "For stmt_seq stmt_list")),
    "tir.op": Alias(("te_sched.tir",)),
    "tir.block_scope": Alias(("te_sched.tir.block_scope",)),
    "tir.block_dependence_info": Alias(("te_sched.tir.block_scope",)),
    "tir.schedule": Alias(("te_sched.tir.schedule",)),
    "tir.tensor_intrin": Alias(()),
    "tir.tensor_intrin.arm_cpu": Alias((f"{_INTRINSICS}.arm_cpu",)),
    "tir.tensor_intrin.cuda": Alias((f"{_INTRINSICS}.cuda",)),
    "tir.tensor_intrin.dot_product_common": Alias((f"{_INTRINSICS}.dot_product_common",)),
    "tir.tensor_intrin.hexagon": Alias((f"{_INTRINSICS}.hexagon",)),
    "tir.tensor_intrin.rocm": Alias((f"{_INTRINSICS}.rocm",)),
    "tir.tensor_intrin.x86": Alias((f"{_INTRINSICS}.x86",)),
    "tir.schedule.schedule": Alias(("te_sched.tir.schedule",)),
    "tir.schedule.state": Alias(
        (), {"ScheduleDebugMask": "te_sched.tir.schedule:ScheduleDebugMask"}
    ),
    "tir.schedule.transform": Alias(("te_sched.tensorir.tiling",)),
    "tir.schedule.trace": Alias(("te_sched.tir.schedule",)),
    "tir.buffer": Alias(("te_sched.tir",)),
    "tir.function": Alias(("te_sched.tir",)),
    "tir.generic": Alias(("te_sched.tir",), {"cast": f"{_OLD}:cast"}),
    "tir.ir_builder": Alias(("te_sched.ir.builder",)),
    "tir.stmt_functor": Alias(("te_sched.tir.stmt_functor",)),
    "tir.transform": Alias(("te_sched.tir.transform",)),
    "tir.analysis": Alias(("te_sched.tir.analysis",)),
    "tir.analysis.analysis": Alias(("te_sched.tir.analysis",)),
    "dlight": Alias(("te_sched.dlight",)),
    "meta_schedule": Alias(("te_sched.meta_schedule",), _OLDER_TUNING),
    "meta_schedule.tune": Alias(
        ("te_sched.meta_schedule.tune",),
        {**_OLDER_TUNING, "TuneConfig": "te_sched.meta_schedule:TuneConfig"},
    ),
    "meta_schedule.search_strategy": Alias(
        ("te_sched.meta_schedule.search_strategy",), _OLDER_TUNING
    ),
    "autotvm": Alias(("te_sched.autotvm",), _MEASURING),
    "autotvm.task": Alias(("te_sched.autotvm.task",), _HISTORY),
    "autotvm.task.dispatcher": Alias(("te_sched.autotvm.task.dispatcher",), _HISTORY),
    "autotvm.measure.measure": Alias(
        ("te_sched.autotvm.measure.measure",),
        _MEASURING,
    ),
    "script": Alias(("te_sched.script",)),
    "script.tir": Alias(("te_sched.script.tir",)),
    "script.relax": Alias(("te_sched.script.relax",)),
    "script.ir": Alias(("te_sched.script.ir",)),
    "script.parser": Alias(("te_sched.script",)),
    "script.parser.tir": Alias(("te_sched.script.tir",)),
    "script.parser.relax.entry": Alias(
        ("te_sched.script.relax",),
        {
            "StructInfoProxy": "te_sched.script.annotations:Annotation",
            "ObjectProxy": "te_sched.script.annotations:Object",
            "TensorProxy": "te_sched.script.annotations:Tensor",
            "CallableProxy": "te_sched.script.annotations:Callable_",
            "TupleProxy": "te_sched.script.annotations:Tuple",
            "ShapeProxy": "te_sched.script.annotations:Shape",
        },
    ),
    "script.parser.relax": Alias(("te_sched.script.relax",)),
    "script.parser.ir": Alias(("te_sched.script.ir",)),
    "script.ir_builder": Alias((), {"IRBuilder": "te_sched.script.frames:ScriptBuilder"}),
    "script.ir_builder.base": Alias((), {"IRBuilder": "te_sched.script.frames:ScriptBuilder"}),
    "script.ir_builder.relax": Alias(("te_sched.script.relax",)),
    "script.ir_builder.relax.ir": Alias(("te_sched.script.relax",)),
    "script.ir_builder.tir": Alias(("te_sched.script.tir",)),
    "script.ir_builder.ir": Alias(("te_sched.script.ir",)),
    "script.printer": Alias((), is_absent=True),
    "script.printer.doc": Alias((), is_absent=True),
    "script.printer.doc_printer": Alias((), is_absent=True),
    # The first notebooks about graphs (2021, 2022) have the operators in relax and relax.op.
    "relax": Alias(
        ("te_sched.relax",),
        {
            **_all_from("te_sched.script.relax", "dataflow output"),
            **_all_from("te_sched.relax.op", "add multiply"),
        },
    ),
    "relax.op": Alias(("te_sched.relax.op",), {"relu": "te_sched.relax.op.nn:relu", **_DENSE}),
    "relax.op.nn": Alias(("te_sched.relax.op.nn",), _DENSE),
    **{f"relax.op.{family}": Alias(("te_sched.relax.op",)) for family in _FAMILIES},
    "relax.expr": Alias(
        ("te_sched.relax",), {"_update_struct_info": "te_sched.ir.graph:update_struct_info"}
    ),
    "relax.struct_info": Alias(("te_sched.relax", "te_sched.relax.struct_info")),
    "relax.block_builder": Alias(("te_sched.relax.block_builder",)),
    "relax.exec_builder": Alias(("te_sched.relax.vm.exec_builder",)),
    "relax.vm_build": Alias(
        ("te_sched.relax.vm_build",),
        {
            "_vmcodegen": "te_sched.relax.vm.build:write_instructions",
            "_vmlink": "te_sched.relax.vm.build:link",
        },
    ),
    "nd": Alias(("te_sched.nd",), _ARRAYS),
    "runtime": Alias(
        ("te_sched.runtime",),
        {
            "Object": "te_sched.ir:Node",
            "String": f"{_OLD}:String",
            "ShapeTuple": "te_sched.relax.vm.bytecode:ShapeTuple",
            **{"tensor": "te_sched.nd:array", "Tensor": "te_sched.nd:NDArray"},  # from 0.22 on
            "ObjectPath": "te_sched.ir.paths:ObjectPath",
            "TVMError": "te_sched.errors:TeSchedError",
        },
    ),
    "runtime.relax_vm": Alias(("te_sched.relax.vm",)),
    "runtime.ndarray": Alias(("te_sched.nd",), _ARRAYS),
    "runtime.module": Alias(("te_sched.runtime",), {"load": "te_sched.runtime:load_module"}),
    "runtime.object": Alias((), {"Object": "te_sched.ir:Node"}),
    "runtime.object_path": Alias((), {"ObjectPath": "te_sched.ir.paths:ObjectPath"}),
    "runtime.container": Alias(
        (),
        {
            **_CONTAINERS,
            "String": f"{_OLD}:String",
            "ShapeTuple": "te_sched.relax.vm.bytecode:ShapeTuple",
        },
    ),
    "runtime.packed_func": Alias(("te_sched.runtime",)),
    "target": Alias(
        ("te_sched.target",), _all_from(_OLD, "current_target build_config BuildConfig")
    ),
    "target.target": Alias(("te_sched.target",)),
    "testing": Alias(("te_sched.testing",), _all_from(_OLD, "skip_if_wheel_test")),
    "testing.utils": Alias(("te_sched.testing",), _all_from(_OLD, "skip_if_wheel_test")),
    "transform": Alias(("te_sched.transform",), _TRANSFORM),
    "contrib": Alias(("te_sched.contrib",)),
    "contrib.util": Alias(("te_sched.contrib.utils",)),
    "contrib.nvcc": Alias(("te_sched.compat.nvcc",)),
    "ir": Alias(
        ("te_sched.ir",),
        {
            **_CONTAINERS,
            "Range": "te_sched.tir:Range",
            "BaseExpr": "te_sched.ir:Node",
            "GlobalVar": "te_sched.ir.stmt:GlobalVar",
            "BaseFunc": "te_sched.tir:PrimFunc",
            "PrimType": "te_sched.ir:PrimType",
        },
    ),
    "ir.module": Alias((), {"IRModule": "te_sched:IRModule"}),
    "ir.expr": Alias(("te_sched.ir",), {"Range": "te_sched.tir:Range"}),
    "ir.op": Alias(("te_sched.ir",)),
    "ir.base": Alias(("te_sched.ir",)),
    "ir.container": Alias((), _CONTAINERS),
    "ir.transform": Alias((), _TRANSFORM),
    "ir.instrument": Alias(("te_sched.instrument",)),
    "instrument": Alias(("te_sched.instrument",)),
    "relax.ty": Alias(("te_sched.ir.graph_types",)),
    # TVM 0.20 names them by device.
    "relax.backend.cuda": Alias(("te_sched.relax.backend.contrib",)),
    "relax.backend.cuda.cublas": Alias(("te_sched.relax.backend.contrib.cublas",)),
    "relax.backend.cuda.cudnn": Alias(("te_sched.relax.backend.contrib.cudnn",)),
    "relax.backend.cuda.cutlass": Alias(("te_sched.relax.backend.contrib.cutlass",)),
    "relax.backend.rocm": Alias(("te_sched.relax.backend.contrib",)),
    "relax.backend.rocm.hipblas": Alias(("te_sched.relax.backend.contrib.hipblas",)),
    "relax.ir": Alias(()),
    "relax.ir.instrument": Alias(("te_sched.relax.instrument",)),
    "relax.transform.transform": Alias(("te_sched.relax.transform",)),
    "ir.diagnostics": Alias(("te_sched.compat.diagnostics",)),
    "arith": Alias(("te_sched.compat.arith",)),
    "arith.analyzer": Alias(("te_sched.compat.arith",)),
    "arith.iter_affine_map": Alias(("te_sched.compat.arith",)),
    "error": Alias((), _ERRORS),
    "driver": Alias((), _BUILDING),
    "driver.build_module": Alias((), _BUILDING),
    "topi": Alias(("te_sched.topi",)),
    "topi.math": Alias(("te_sched.topi",)),
    "topi.generic": Alias(("te_sched.compat.generic_schedules",)),
    "topi.generic.nn": Alias(("te_sched.compat.generic_schedules",)),
    "topi.util": Alias(("te_sched.topi.utils",)),
    # The second and first generation.
    "_ffi": Alias((), _REGISTRY),
    "_ffi.base": Alias((), _ERRORS),
    "_ffi.function": Alias((), {**_REGISTRY, "Function": "te_sched.runtime:Function"}),
    "_ffi.registry": Alias((), _REGISTRY),
    "api": Alias(("te_sched.te", "te_sched.tir"), {**FIRST_GENERATION, **_REGISTRY}),
    "build_module": Alias((), _BUILDING),
    "container": Alias((), _CONTAINERS),
    "expr": Alias(("te_sched.tir",), _all_from(_OLD, "Expr ConstExpr")),
    "stmt": Alias(("te_sched.tir",), {"For": f"{_OLD}:For", **_all_from(_OLD, "stmt_seq")}),
    "make": Alias(
        ("te_sched.tir",),
        {"For": f"{_OLD}:For", "range_by_min_extent": f"{_OLD}:range_by_min_extent"},
    ),
    "intrin": Alias(("te_sched.te",), _all_from(_OLD, "register_intrin_rule call_pure_intrin")),
    "ir_builder": Alias(("te_sched.ir.builder",)),
    "ir_pass": Alias((_PASSES,)),
    "module": Alias(("te_sched.runtime",), {"load": "te_sched.runtime:load_module"}),
    "ndarray": Alias(("te_sched.nd",), _ARRAYS),
    "schedule": Alias((), _SCHEDULE),
    "tag": Alias(("te_sched.te",)),
    "tensor": Alias(("te_sched.te",), _TE_CLASSES),
    "tensor_intrin": Alias(("te_sched.te",)),
    "hybrid": Alias(("te_sched.te.hybrid",)),
    "rpc": Alias(("te_sched.compat.rpc",)),
    "auto_scheduler": Alias(("te_sched.compat.auto_scheduler",)),
    "auto_scheduler.workload_registry": Alias(("te_sched.compat.auto_scheduler",)),
    "relay.op": Alias((), {"get": f"{_OLD}:get_operator"}),
    "relay": Alias((), {"build_config": f"{_OLD}:build_config"}),
}
# Modules whose submodules in te_sched are modules of tvm without an entry in the table.
OPEN = ("topi", "contrib", "meta_schedule", "autotvm", "relax", "dlight")

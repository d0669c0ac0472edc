"""Every pass keeps what a module has beside its functions, and instruments see every pass."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import pytest

from te_sched import IRModule, dlight, instrument, lower, relax, tir, transform
from te_sched.errors import DeclarationError, LoweringError, ParameterError
from te_sched.ir import VDevice
from te_sched.passes import ModulePass, Pass, PrimFuncPass, is_maker
from te_sched.relax import backend
from te_sched.script import from_source
from te_sched.target import Target
from te_sched.transform import PassContext

PROGRAM = """
@I.ir_module
class Network:
    I.module_attrs({"version": 3})
    I.module_global_infos({"vdevice": [I.vdevice("llvm")]})

    @T.prim_func(private=True)
    def twice(A: T.Buffer((4, 4), "float32"), B: T.Buffer((4, 4), "float32")):
        T.func_attr({"target": T.target("llvm")})
        for i, j in T.grid(4, 4):
            with T.block("B"):
                vi, vj = T.axis.remap("SS", [i, j])
                B[vi, vj] = A[vi, vj] * T.float32(2)

    @R.function
    def main(x: R.Tensor((4, 4), "float32"), w: R.Tensor((4, 4), "float32")):
        cls = Network

        @R.function
        def inner(y: R.Tensor((4, 4), "float32")) -> R.Tensor((4, 4), "float32"):
            return R.add(y, w)

        with R.dataflow():
            a = R.matmul(x, w)
            b = R.call_tir(cls.twice, (a,), out_sinfo=R.Tensor((4, 4), "float32"))
            R.output(b)
        c = inner(b)
        return c
"""
HEADER = """
from te_sched.script import ir as I
from te_sched.script import relax as R
from te_sched.script import tir as T
"""
X = relax.TensorStructInfo([4, 4], "float32")

# The arguments of passes that must have some.
ARGUMENTS: dict[str, Callable[[], tuple[Any, ...]]] = {
    "AlterOpImpl": lambda: ({}, {}, {}),
    "BindParams": lambda: ("main", {}),
    "BindSymbolicVars": lambda: ({},),
    "ConvertLayout": lambda: ({},),
    "FuseOpsByPattern": lambda: ([],),
    "MetaScheduleApplyDatabase": lambda: ("tuning",),
    "MetaScheduleTuneIRMod": lambda: ({}, "tuning", 0),
    "MetaScheduleTuneTIR": lambda: ("tuning", 0),
    "SplitCallTIRByPattern": lambda: ([], lambda *_: []),
    "UpdateParamStructInfo": lambda: (lambda var: None,),
    "UpdateVDevice": lambda: (VDevice("cuda"), 0),
    "Apply": lambda: (lambda func: func.with_attr("marked", 1),),
    "BindTarget": lambda: (Target("llvm", host="llvm"),),
    "Filter": lambda: (lambda func: "target" in func.attrs,),
    "ThreadSync": lambda: ("shared",),
}
NOT_PASSES = ("HoistedConditionals", "HoistedLetBindings", "ModulePass", "PassInfo")
GRAPH_PASSES = [name for name in relax.transform.PASSES if name[:3] not in ("Fus", "Pat")]
GRAPH_PASSES += ["FuseOps", "FuseTIR", "FuseOpsByPattern", "FuseTransposeMatmul"]
LOOP_PASSES = [
    name
    for name in tir.transform.__all__
    if name not in (*NOT_PASSES, "PrimFuncPass", "prim_func_pass")
]


def network() -> IRModule:
    module = from_source(HEADER + PROGRAM)
    assert module.attrs == {"version": 3}
    return module


@instrument.pass_instrument
class Counter:
    def __init__(self) -> None:
        self.before: list[str] = []
        self.after: list[str] = []

    def run_before_pass(self, mod: IRModule, info: Any) -> None:
        self.before.append(info.name)

    def run_after_pass(self, mod: IRModule, info: Any) -> None:
        self.after.append(info.name)


def _checked(one: Pass, module: IRModule) -> None:
    counter = Counter()
    with Target("llvm"), PassContext(instruments=[counter]):
        new = one(module)
    assert counter.before.count(one.info.name) == counter.after.count(one.info.name) == 1
    assert counter.before[0] == counter.after[-1] == one.info.name
    assert (new.attrs, new.__name__) == (module.attrs, module.__name__)
    assert list(new.global_infos) == ["vdevice"]
    if one.info.name != "UpdateVDevice":
        assert new.global_infos == module.global_infos


@pytest.mark.parametrize("name", GRAPH_PASSES)
def test_passes_over_graphs_keep_the_module(name: str, tmp_path: Any) -> None:
    make = getattr(relax.transform, name)
    arguments = ARGUMENTS.get(name, tuple)()
    _checked(make(*[tmp_path if one == "tuning" else one for one in arguments]), network())


@pytest.mark.parametrize("name", LOOP_PASSES)
def test_passes_over_loops_keep_the_module(name: str) -> None:
    one = getattr(tir.transform, name)(*ARGUMENTS.get(name, tuple)())
    module = network()
    _checked(one, module.with_exactly({"twice": module["twice"]}))


OTHER_PASSES = [
    backend.DispatchSortScan(),
    backend.DispatchSampling(),
    dlight.ApplyDefaultSchedule(dlight.cpu.Fallback()),
    tir.analysis.OOBChecker(),
    tir.transform.DefaultGPUSchedule(),
    transform.PrintIR(),
    transform.Sequential([relax.transform.LambdaLift(), relax.transform.VMShapeLower()]),
    transform.ApplyPassToFunction(relax.transform.LambdaLift(), "main"),
    transform.ApplyPassToFunction(tir.transform.Simplify(), "twice"),
    relax.get_pipeline("zero"),
    relax.get_pipeline("default_build"),
    relax.get_pipeline("default"),
    relax.get_pipeline("processor"),
]


@pytest.mark.parametrize("one", OTHER_PASSES, ids=lambda one: one.info.name)
def test_other_passes_and_pipelines_keep_the_module(one: Pass) -> None:
    _checked(one, network())


def test_a_schedule_keeps_the_module() -> None:
    module = network()
    module = module.with_exactly({"twice": module["twice"]})
    schedule = tir.Schedule(module)
    schedule.parallel(schedule.get_loops(schedule.get_block("B", "twice"))[0])
    for new in (schedule.mod, schedule.copy().mod):
        assert (new.attrs, new.global_infos) == (module.attrs, module.global_infos)


def test_instruments_see_each_pass_of_a_pipeline() -> None:
    counter = Counter()
    with Target("llvm"), PassContext(instruments=[counter]):
        relax.get_pipeline("processor")(network())
    for name in ("FuseTransposeMatmul", "WidenHalves", "ApplyDefaultSchedule", "FuseTIR"):
        assert name in counter.before, name


def test_no_pass_defines_its_call() -> None:
    pending, classes = [Pass], []
    while pending:
        classes.append(pending.pop())
        pending += classes[-1].__subclasses__()
    assert len(classes) > 10
    for cls in classes[1:]:
        assert inspect.getattr_static(cls, "__call__") is Pass.__dict__["__call__"]


def test_a_pass_that_defines_its_call_is_refused() -> None:
    with pytest.raises(DeclarationError, match="class Quick of passes defines __call__"):

        class Quick(Pass):
            def __call__(self, mod: Any) -> Any:
                return mod


def test_classes_of_passes_without_their_method_are_refused() -> None:
    with pytest.raises(DeclarationError, match="ModulePass has no method transform_module"):
        ModulePass()(from_source(PROGRAM))
    with pytest.raises(DeclarationError, match="PrimFuncPass has no method transform_function"):
        PrimFuncPass()(from_source(PROGRAM))


def test_a_pass_of_functions_gets_the_module_and_the_context() -> None:
    seen = []

    @tir.transform.prim_func_pass(opt_level=0)
    def look(func: Any, mod: Any, context: Any) -> Any:
        seen.append((list(mod.functions), context))
        return func

    module = network()
    with PassContext(opt_level=1) as context:
        assert look(module) is module
    assert seen == [(["twice", "main"], context)]


def test_a_pass_of_functions_removes_those_for_which_it_returns_none() -> None:
    new = tir.transform.Apply(lambda func: None)(network())
    assert list(new.functions) == ["main"]
    with pytest.raises(LoweringError, match=r"pass tir\.Apply must return a PrimFunc, got an int"):
        tir.transform.Apply(lambda func: 3)(network())
    added = {"tir.add_lower_pass": [(0, tir.transform.Apply(lambda func: None))]}
    with (
        PassContext(config=added),
        pytest.raises(LoweringError, match="returned 0 functions for one"),
    ):
        lower(network()["twice"])


MAKERS = [
    pytest.param(getattr(package, name), id=f"{package.__name__}.{name}")
    for package in (relax.transform, tir.transform, tir.analysis, transform, backend, dlight)
    for name in package.__all__
    if is_maker(getattr(package, name))
]


@pytest.mark.parametrize("maker", MAKERS)
def test_modules_are_not_options_of_passes(maker: Any) -> None:
    name = maker.__name__
    for program in (IRModule({}), tir.PrimFunc([], tir.Evaluate(0))):
        with pytest.raises(ParameterError, match=f"{name} makes a pass, and cannot be") as caught:
            maker(program)
        call = (
            "module" if isinstance(program, IRModule) else "te_sched.IRModule.from_expr(function)"
        )
        assert caught.value.help.startswith("make the pass, then call it: ")
        assert caught.value.help.endswith(f")({call})")
    with pytest.raises(DeclarationError, match=f"{name} is not a pass") as made:
        transform.Sequential([maker])
    assert f"a pass that it makes: {name}(" in made.value.help


def test_passes_are_found_by_their_annotations() -> None:
    assert len(MAKERS) > 100
    assert is_maker(tir.analysis.OOBChecker)
    assert not is_maker(relax.transform.FusionPattern)
    assert not is_maker(relax.get_pipeline("zero"))
    assert not is_maker(tir.transform.prim_func_pass)


def test_passes_of_users_may_have_modules_as_options() -> None:
    @transform.module_pass(opt_level=0)
    class Instead:
        def __init__(self, other: IRModule) -> None:
            self.other = other

        def transform_module(self, mod: IRModule, ctx: PassContext) -> IRModule:
            return self.other

    other = IRModule({})
    assert Instead(other)(IRModule({"f": tir.PrimFunc([], tir.Evaluate(0))})) is other


def test_wrong_options_of_passes_over_loops_are_refused() -> None:
    with pytest.raises(ParameterError, match=r"tir.transform.Simplify takes 0 arguments by pos"):
        tir.transform.Simplify(3)  # type: ignore[call-arg]
    with pytest.raises(DeclarationError, match=r"argument variant of tir\.transform\.HoistIf"):
        tir.transform.HoistIfThenElse(3)  # type: ignore[arg-type]

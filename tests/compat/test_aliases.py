"""`import tvm` gives te_sched after install(), and nothing of it stays after uninstall()."""

import importlib
import sys

import pytest

import te_sched
from te_sched import compat
from te_sched.errors import TeSchedError
from tests.compat.importing import import_, run

pytestmark = pytest.mark.usefixtures("as_tvm")


def test_classes_are_those_of_te_sched():
    tvm = import_("tvm")
    assert tvm.te.Tensor is tvm.tensor.Tensor is te_sched.te.Tensor
    assert tvm.ir.module.IRModule is te_sched.IRModule


def test_lower_stays_the_function():
    names = run("import tvm\nimport tvm.te\nfrom tvm import lower")
    assert names["tvm"].lower is names["lower"] is te_sched.lower


def test_submodules_are_attributes():
    tvm = import_("tvm")
    assert tvm.contrib.utils.tempdir is te_sched.contrib.utils.tempdir
    assert tvm.topi.nn is import_("topi").nn
    assert import_("tvm.dlight.gpu").Matmul is te_sched.dlight.gpu.Matmul
    assert import_("tvm.dlight.base").ApplyDefaultSchedule is te_sched.dlight.ApplyDefaultSchedule
    cublas = te_sched.relax.backend.contrib.cublas.partition_for_cublas
    for name in ("contrib", "cuda"):
        assert import_(f"tvm.relax.backend.{name}.cublas").partition_for_cublas is cublas
    assert import_("tvm.relax.ty").ObjectType is te_sched.relax.ObjectType


def test_tir_builds():
    assert import_("tvm").tir.build is te_sched.build


def test_a_function_wins_over_its_module():
    tvm = import_("tvm")
    assert tvm.topi.nn.softmax is te_sched.topi.nn.softmax
    assert run("from tvm.topi.nn import softmax")["softmax"] is te_sched.topi.nn.softmax


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ("from tvm.relax import training_of_mine", "te_sched has no tvm.relax.training_of_mine"),
        ("import tvm.autotvm.graph_tuner", "has no tvm.autotvm.graph_tuner\n.* Relay"),
        ("from tvm.relax import training", "help: te_sched does not differentiate graphs"),
        ("from tvm.contrib import cublas", "help: te_sched calls no libraries for GPUs"),
        ("from tvm.rpc.server import Server", "help: te_sched runs programs in this process"),
        ("import te_sched.relay", "te_sched has no te_sched.relay\n.*help: te_sched has no Relay"),
        ("from te_sched import auto_scheduler", r"help: .* te_sched.tune\(function, arguments\)"),
        ("from te_sched.te import reduceaxis", "te_sched.te.reduceaxis\n.*mean 'reduce_axis'"),
        ("from tvm import rpc_of_mine", "te_sched has no tvm.rpc_of_mine"),
        ("from tvm.contrib import graph_executor", "no other executors"),
        ("import tvm.relay.testing", "te_sched has no Relay"),
        ("from tvm.te.hybrid import HybridOp", "call a te.hybrid.script with tensors"),
        (
            "import tvm.auto_scheduler.measure",
            r"has no tvm.auto_scheduler.measure\n.* te_sched.tune\(function, arguments\)",
        ),
        ("from tvm.contrib.torch import as_torch", "no tvm.contrib.torch\n.*relax_dynamo"),
        ("import tvm.meta_schedule.testing", "no tvm.meta_schedule.testing\n.* te_sched.tune"),
        ("import tvm.s_tir.dlight", "has no tvm.s_tir.*help: TVM 0.24 renamed .* tvm.tir, "),
        ("from tvm.script import tirx as T", "has no tvm.script.tirx\n.*TVM 0.24 renamed"),
        ("from tvm import tirx", "has no tvm.tirx\n.*TVM 0.24 renamed"),
        ("from tvm.contrib import tedd", "has no tvm.contrib.tedd\n.*dataflow_svg"),
        (
            "import tvm.relax.frontend.nn.llm.tree_attn",
            "has no tvm.relax.frontend.nn.llm.tree_attn\n.*kernels of its own.*TIRPagedKVCache",
        ),
    ],
)
def test_missing_import_says_what_there_is(source, message):
    with pytest.raises(ModuleNotFoundError, match=f"(?s){message}") as caught:
        run(source)
    assert isinstance(caught.value, TeSchedError)


@pytest.mark.parametrize(
    ("source", "message"),
    [
        (
            "import tvm; tvm.autotvm.RPCRunner",
            r"te_sched has no tvm.autotvm.RPCRunner\n(.|\n)*LocalRunner",
        ),
        ("import tvm; tvm.relay.var", "its graphs are te_sched.relax"),
        ("import te_sched as tvm; tvm.relay", "te_sched has no Relay"),
        ("import tvm; tvm.te.schedule.SchedulePostProcToPrimFunc", "stop_after"),
        ("import tvm; tvm.register_datatype", "data types that LLVM has"),
        (
            "import tvm; tvm.compote",
            r"has no tvm.compote(.|\n)*\(did you mean 'compute'\?\)$",
        ),
    ],
)
def test_missing_attribute_says_what_there_is(source, message):
    with pytest.raises(AttributeError, match=message):
        run(source)


def test_paged_caches():
    names = run("from tvm.relax.frontend.nn.llm.kv_cache import PagedKVCache, TIRPagedKVCache")
    assert issubclass(names["TIRPagedKVCache"], names["PagedKVCache"])
    assert names["PagedKVCache"] is te_sched.relax.frontend.nn.llm.kv_cache.PagedKVCache


def test_star_imports():
    assert run("from tvm.te import *")["reduce_axis"] is te_sched.te.reduce_axis


def test_uninstall_leaves_nothing():
    held = import_("tvm")
    compat.uninstall()
    assert not [name for name in sys.modules if name.partition(".")[0] in ("tvm", "topi")]
    assert held.te.compute is te_sched.te.compute
    assert held.contrib.cc is not None


def test_install_refuses_beside_the_real_one(monkeypatch):
    compat.uninstall()
    monkeypatch.setitem(sys.modules, "tvm", sys)
    with pytest.raises(TeSchedError, match="TVM itself is imported already, from"):
        compat.install()


def test_install_twice_is_once():
    compat.install()
    compat.uninstall()
    assert not compat.is_installed()


def test_a_name_that_is_nearly_one_is_told_the_right_one(as_tvm):
    from tvm.relax import transform

    with pytest.raises(AttributeError, match=r"tvm\.relax\.transform\.FuseOp(.|\n)*mean 'FuseOps'"):
        transform.FuseOp  # noqa: B018


def test_scripts_with_names_of_tvm_are_told_the_right_word(as_tvm):
    from tvm.script import relax as R

    with pytest.raises(te_sched.errors.ScriptError, match=r"scripts have no R\.relu") as caught:

        @R.function
        def main(x: R.Tensor((4,), "float32")):
            return R.relu(x)

    assert caught.value.help == "use R.nn.relu"


def test_the_file_of_the_package_is_known():
    assert run("import tvm\nfile = tvm.__file__\n")["file"] == te_sched.__file__


@pytest.mark.parametrize("name", ["Object", "Tensor", "Callable", "Tuple", "Shape"])
def test_annotations_are_found_by_the_names_of_tvms_parser(name: str) -> None:
    tvm = importlib.import_module("tvm")
    annotation = getattr(tvm.script.parser.relax.entry, f"{name}Proxy")
    assert annotation.__name__ == name
    assert isinstance(annotation, tvm.script.parser.relax.entry.StructInfoProxy)

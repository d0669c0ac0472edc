"""Executables that were built before: found, and only where they would come out the same."""

from __future__ import annotations

import dataclasses
import pickle
import subprocess
import sys
import time
from inspect import unwrap
from unittest import mock

import numpy as np
import pytest

import te_sched
from te_sched import config, relax
from te_sched.codegen.target import Target
from te_sched.driver import steps
from te_sched.errors import GraphError, TeSchedError
from te_sched.instrument import PassInstrument
from te_sched.ir.intrinsic_table import EFFECTS
from te_sched.ir.op import ATTRIBUTES, CHANGED_BY_PROGRAMS, RULES, Op, register_op_attr
from te_sched.ir.stmt import GlobalVar
from te_sched.relax.vm import built_graphs
from te_sched.relax.vm.bytecode import Bytecode
from te_sched.relax.vm.executable import Executable
from te_sched.relax.vm.saving import as_plain, from_plain
from te_sched.runtime.fingerprint import environment
from te_sched.script import tir as T
from te_sched.transform import PassContext, module_pass
from te_sched.unpickling import load_pickled

CPU = te_sched.cpu()
WEIGHT = np.arange(12, dtype="float32").reshape(4, 3)
GIVEN = np.linspace(-1, 1, 8, dtype="float32").reshape(2, 4)


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.setattr(config, "STARTED", time.time_ns() + 10**10)
    environment.cache_clear()
    changed = set(CHANGED_BY_PROGRAMS)
    CHANGED_BY_PROGRAMS.clear()
    with (
        mock.patch.dict(RULES, clear=True),  # other tests register some
        mock.patch.dict(EFFECTS, steps._EFFECTS, clear=True),
        config.scoped(cache=True, cache_dir=str(tmp_path / "cache"), verify_passes=False),
    ):
        yield tmp_path / "cache"
    CHANGED_BY_PROGRAMS.update(changed)
    environment.cache_clear()


def layer(weight=WEIGHT, rows=2):
    """relu(x @ weight)."""
    builder = relax.BlockBuilder()
    x = relax.Var("x", relax.TensorStructInfo([rows, 4], "float32"))
    with builder.function("main", [x]):
        with builder.dataflow():
            product = builder.emit(relax.op.matmul(x, relax.const(weight)))
            found = builder.emit_output(relax.op.nn.relu(product))
        builder.emit_func_output(found)
    return builder.get()


def checked_sizes():
    """A product whose inner sizes only a call can compare: a constant names the function."""
    sizes = [te_sched.tir.Var(name, "int64") for name in "nm"]
    a, b = [
        relax.Var(name, relax.TensorStructInfo(shape, "float32"))
        for name, shape in (("a", [2, sizes[0]]), ("b", [sizes[1], 3]))
    ]
    builder = relax.BlockBuilder()
    with builder.function("main", [a, b]):
        builder.emit_func_output(builder.emit(relax.op.matmul(a, b)))
    return builder.get()


def name_of(module, params=None, pipeline="default_build", target="llvm"):
    return built_graphs.name_graphs(module, params, pipeline, Target(target))


def check(executable, weight=WEIGHT):
    result = relax.VirtualMachine(executable, CPU)["main"](GIVEN).numpy()
    np.testing.assert_allclose(result, np.maximum(GIVEN @ weight, 0), 1e-5, 1e-5)


@pytest.fixture
def lowered(monkeypatch):
    """How many modules were lowered, as a list that grows."""
    done = []

    def counted(*args):
        done.append(args[0])
        return original(*args)

    names = unwrap(relax.vm.build).__globals__
    original = names["_lowered"]
    monkeypatch.setitem(names, "_lowered", counted)
    return done


def test_a_second_build_is_found(lowered):
    first, second = relax.build(layer()), relax.build(layer())
    check(first)
    check(second)
    assert len(lowered) == 1
    assert first.as_text() == second.as_text()
    assert first.kernels.get_source() == second.kernels.get_source()


def test_interpreted_functions_and_those_without_loops_are_found(lowered):
    n = te_sched.tir.Var("n", "int64")
    for _ in range(2):
        machine = relax.VirtualMachine(relax.build(layer(rows=n)), CPU)
        for rows in (1, 3):
            assert machine["main"](np.ones((rows, 4), "float32")).numpy().shape == (rows, 3)
        x = relax.Var("x", relax.TensorStructInfo([2], "float32"))
        same = relax.Function([x], x).with_attr("global_symbol", "main")
        assert relax.VirtualMachine(relax.build(same), CPU)["main"](np.ones(2, "f")).shape == (2,)
    assert len(lowered) == 2


def test_executables_that_compare_sizes_are_found(lowered):
    inputs = np.ones((2, 4), "float32"), np.ones((4, 3), "float32")
    for _ in range(2):
        machine = relax.VirtualMachine(relax.build(checked_sizes()), CPU)
        np.testing.assert_array_equal(machine["main"](*inputs).numpy(), np.full((2, 3), 4.0))
        with pytest.raises(TeSchedError, match="3") as caught:
            machine["main"](inputs[0], inputs[1][:3])
        assert "main" in str(caught.value)
    assert len(lowered) == 1


@pytest.mark.parametrize("value", [GlobalVar("main"), np.float64(0.5), True, 3, "text"])
def test_constants_are_saved_without_classes(value):
    kept = pickle.dumps(as_plain(Bytecode([], [value]), {}, False))
    (found,) = from_plain(load_pickled(kept, {}))[0].constants
    assert found == value
    assert type(found) in (bool, int, float, str)


def test_another_process_gives_the_same_name_before_and_after_a_build():
    code = (
        "import time\n"
        "from te_sched import config\n"
        "config.STARTED = time.time_ns() + 10**10\n"
        "from tests.relax.vm.test_built_graphs import layer, name_of\n"
        "from te_sched import relax\n"
        f"with config.scoped(cache=True, cache_dir={config.current().cache_dir!r}):\n"
        "    print(name_of(layer()))\n"
        "    relax.build(layer())\n"
        "    print(name_of(layer()))"
    )
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout.split() == [name_of(layer())] * 2


def test_everything_that_a_build_reads_counts():
    other = WEIGHT.copy()
    other[3, 2] = np.nextafter(other[3, 2], 20)
    parameters = {"w": np.ones(1, "float32")}
    names = [
        name_of(layer()),
        name_of(layer(other)),
        name_of(layer(rows=3)),
        name_of(layer(), parameters),
        name_of(layer(), {"w": np.zeros(1, "float32")}),
        name_of(layer(), pipeline=None),
        name_of(layer(), pipeline="default"),
        name_of(layer(), target="llvm -opt-level=1"),
        name_of(layer().with_attr("note", 1)),
    ]
    with PassContext(opt_level=0):
        names.append(name_of(layer()))
    with PassContext(disabled_pass=["FuseOps"]):
        names.append(name_of(layer()))
    lowering = dataclasses.replace(config.current().lowering, partition_const_loop=True)
    for switch in ({"check_accesses": False}, {"lowering": lowering}):
        with config.scoped(**switch):
            names.append(name_of(layer()))
    with mock.patch.object(built_graphs, "usable_processors", return_value=99):
        names.append(name_of(layer()))
    assert None not in names
    assert len(set(names)) == len(names)
    assert name_of(layer()) == names[0]


def test_what_runs_functions_of_the_program_has_no_name(monkeypatch):
    @module_pass(opt_level=0)
    def nothing(mod, context):
        return mod

    @T.prim_func
    def calls(a: T.Buffer((2,), "float32")):
        T.evaluate(T.call_packed("built_graphs.probe", a.data))

    module = layer()
    module.update_func("calls", calls)
    assert name_of(module) is None
    assert name_of(layer(), pipeline=nothing) is None
    assert name_of(layer(), target="cuda") is None
    with PassContext(instruments=[PassInstrument()]):
        assert name_of(layer()) is None
    with config.scoped(cache=False):
        assert name_of(layer()) is None
    monkeypatch.setitem(relax.pipeline.PIPELINES, "built_graphs", lambda: nothing)
    monkeypatch.setitem(relax.pipeline.PIPELINES, "zero", lambda: nothing)
    assert name_of(layer(), pipeline="built_graphs") is None
    assert name_of(layer(), pipeline="zero") is None


@pytest.mark.parametrize("how", ["register", "reset"])
def test_changed_operators_are_not_kept(how):
    with mock.patch.dict(ATTRIBUTES, {"relax.demo": {"FPurity": True}}):
        if how == "register":
            register_op_attr("relax.demo", "FPurity", True)
        else:
            Op.get("relax.demo").reset_attr("FPurity")
        assert name_of(layer()) is None


@pytest.mark.parametrize("damage", ["truncated", "kernels", "empty"])
def test_a_damaged_entry_is_built_again(folder, lowered, damage):
    check(relax.build(layer()))
    name = name_of(layer())
    if damage == "truncated":
        path = folder / name
        path.write_bytes(path.read_bytes()[:-5])
    elif damage == "empty":
        (folder / name).write_bytes(b"")
    else:
        (folder / built_graphs.kernels_name(name)).unlink()
    check(relax.build(layer()))
    check(relax.build(layer()))
    assert len(lowered) == 2


def test_graphs_are_not_kept_without_their_kernels(monkeypatch, folder):
    monkeypatch.setattr("te_sched.runtime.build.keep_program", lambda name, recorder: None)
    check(relax.build(layer()))
    assert not (folder / name_of(layer())).exists()


def test_a_folder_that_cannot_be_written_is_no_error(folder, lowered):
    folder.parent.mkdir(exist_ok=True)
    folder.write_text("a file in its place")
    for _ in range(2):
        check(relax.build(layer()))
    assert len(lowered) == 2


def test_constants_of_what_was_found_are_its_own():
    check(relax.build(layer()))
    weight = WEIGHT.copy()
    executable = relax.build(layer(weight))
    weight[:] = 7
    check(executable)


def test_large_executables_and_foreign_constants_are_not_kept(folder, monkeypatch):
    name = name_of(layer())
    foreign = Executable(Bytecode([], [object()]), None, {})
    built_graphs.keep_graphs(name, foreign)
    with config.scoped(cache_size=1):
        large = te_sched.nd.empty((300 << 10,), "uint8")
        with monkeypatch.context() as patch:  # its bytes are not collected
            patch.delattr(built_graphs, "as_plain")
            built_graphs.keep_graphs(name, Executable(Bytecode([], [large]), None, {}))
        text = "x" * (300 << 10)
        built_graphs.keep_graphs(name, Executable(Bytecode([], [text]), None, {}))
    with config.scoped(cache=False):
        built_graphs.keep_graphs(name, Executable(Bytecode([], []), None, {}))
        assert built_graphs.find_graphs(name, Target("llvm")) is None
    assert built_graphs.find_graphs(name, Target("llvm")) is None


def test_bad_parameters_are_refused_before():
    with pytest.raises(GraphError, match="argument params of build is 3"):
        relax.build(layer(), params=3)

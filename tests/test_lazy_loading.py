"""Names and methods whose modules are loaded at their first use."""

from __future__ import annotations

import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from types import ModuleType

import pytest

import te_sched
from te_sched import lazy_loading, te
from te_sched.lazy_loading import lazy_function, lazy_module, load, set_lazy_names


def output_of(code):
    """What a new process prints."""
    command = [sys.executable, "-c", code]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout.split()


def test_places_are_modules_and_their_attributes():
    assert load("te_sched.te") is te
    assert load("te_sched.te:compute") is te.compute


def test_modules_are_loaded_when_an_attribute_is_read():
    absent = lazy_module("te_sched.absent_module_of_this_test")
    with pytest.raises(ModuleNotFoundError):
        _ = absent.name
    assert lazy_module("te_sched.te").compute is te.compute


def test_names_are_loaded_once():
    module = ModuleType("example")
    set_lazy_names(module, {"ratio": "math:pi"})
    assert "ratio" not in vars(module)
    assert module.ratio == vars(module)["ratio"] == load("math").pi
    with pytest.raises(AttributeError, match="module 'example' has no attribute 'radius'"):
        _ = module.radius


def test_methods_load_their_function():
    class Angle:
        degrees = lazy_function("math:isinf")

        def __float__(self):
            return float("inf")

    assert Angle().degrees() is True


def test_every_lazy_name_of_the_package_exists():
    places = te_sched._LATE
    assert [name for name in places if getattr(te_sched, name) is not load(places[name])] == []
    assert set(places) <= set(dir(te_sched))


def test_lower_is_the_function_and_lowering_the_package():
    code = "import te_sched.lowering.pipeline as p, te_sched as t; print(t.lowering.pipeline is p)"
    assert output_of(f"{code}; print(t.lower is p.lower)") == ["True", "True"]
    code = "import te_sched as t; print(t.lower.__name__); import te_sched.lowering.pipeline as p"
    assert output_of(f"{code}; print(t.lower is p.lower)") == ["lower", "True"]


def test_names_of_the_package_are_listed_before_they_are_loaded():
    code = "import te_sched as t, sys; print(*dir(t)); assert 'te_sched.tir' not in sys.modules"
    assert {"lower", "build", "tir", "transform", "relax", "explain"} <= {*output_of(code)}


def test_threads_load_a_name_at_the_same_time():
    code = (
        "import sys, te_sched; from concurrent.futures import ThreadPoolExecutor\n"
        "sys.setswitchinterval(1e-6)\n"
        "names = ['tir', 'build', 'lower', 'transform', 'tir', 'testing', 'build', 'lower'] * 2\n"
        "with ThreadPoolExecutor(16) as pool:\n"
        "    values = list(pool.map(lambda name: getattr(te_sched, name), names))\n"
        "print(all(value is getattr(te_sched, name) for name, value in zip(names, values)))"
    )
    assert output_of(code) == ["True"]


def test_one_thread_at_a_time_loads(monkeypatch):
    loading, most = [], []

    def import_module(name):
        loading.append(name)
        most.append(len(loading))
        time.sleep(0.01)
        loading.remove(name)
        return ModuleType(name)

    monkeypatch.setattr(lazy_loading, "import_module", import_module)
    names = [f"package.{number}" for number in range(8)]
    with ThreadPoolExecutor(8) as pool:
        assert [module.__name__ for module in pool.map(load, names)] == names
    assert max(most) == 1


def test_no_thread_waits_for_long_while_another_one_loads(monkeypatch):
    monkeypatch.setattr(lazy_loading, "_PATIENCE", 0.01)
    with lazy_loading._LOADING, ThreadPoolExecutor(1) as pool:
        assert pool.submit(load, "math:pi").result(timeout=30) == load("math:pi")


def test_methods_of_the_ir_work_before_their_modules_are_loaded():
    code = (
        "import sys, te_sched; from te_sched.ir.buffer import decl_buffer\n"
        "assert 'te_sched.tir' not in sys.modules\n"
        "print(decl_buffer((4, 8)).offset_of([2, 3]))"
    )
    assert output_of(code) == ["[19]"]


def test_struct_infos_are_compared_without_tir():
    code = (
        "import sys; from te_sched.ir.struct_info import ObjectStructInfo as info\n"
        "assert 'te_sched.tir' not in sys.modules\n"
        "print(info() == info(), len({info(), info()}))"
    )
    assert output_of(code) == ["True", "1"]


def test_an_absent_attribute_of_a_tensor_names_the_stage_in_a_new_process():
    code = (
        "import te_sched.te as te\n"
        "A = te.placeholder((8,), name='A')\n"
        "try: A.vectorize\n"
        "except AttributeError as error: print(error)"
    )
    assert " ".join(output_of(code)).endswith("use s[tensor].vectorize")


def test_schedules_print_their_loops_in_a_new_process():
    code = (
        "import te_sched.te as te\n"
        "A = te.placeholder((8,), name='A')\n"
        "print(te.create_schedule(te.compute((8,), lambda i: A[i], name='B').op))"
    )
    assert " ".join(output_of(code)).startswith("main(A: float32[8], B: float32[8])")


def test_submodules_are_loaded_by_their_names():
    code = (
        "import te_sched; print(te_sched.analysis.check.__name__, te_sched.schedule.Stage.__name__,"
        "te_sched.arith.int_set.__name__)\n"
        "try: te_sched.analysys\n"
        "except AttributeError as error: print(error)"
    )
    *names, _te_sched, has, no, absent = output_of(code)[:7]
    assert names == ["check", "Stage", "te_sched.arith.int_set"]
    assert (has, no, absent) == ("has", "no", "te_sched.analysys")


def test_rules_of_operators_are_those_of_te_sched_until_a_program_sets_them():
    code = (
        "import sys, te_sched.relax as relax; from te_sched.ir import Op, register_op_attr\n"
        "assert 'te_sched.topi' not in sys.modules\n"
        "rule = register_op_attr('relax.add', 'FLegalize', lambda builder, call: call)\n"
        "print(Op.get('relax.exp').has_attr('FLegalize'), "
        "Op.get('relax.add').get_attr('FLegalize') is rule)"
    )
    assert output_of(code) == ["True", "True"]


def test_functions_of_graphs_are_registered_before_their_modules_are_loaded():
    code = (
        "import sys, te_sched, te_sched.relax\n"
        "assert 'te_sched.relax.vm.builtins' not in sys.modules\n"
        "for name in ('vm.builtin.shape_of', 'relax.run.unique', 'runtime.TVMArrayCreateView'):\n"
        "    print(te_sched.get_global_func(name).__name__)"
    )
    assert output_of(code) == ["shape_of", "unique", "view"]


def test_names_of_graphs_are_checked_and_listed_when_they_are_loaded_late():
    code = (
        "from te_sched import relax\n"
        "assert {'VirtualMachine', 'build', 'frontend', 'transform'} <= {*dir(relax)}\n"
        "try: relax.get_pipeline(3)\n"
        "except TypeError as error: print(error.args[0].splitlines()[0])"
    )
    assert output_of(code)[:5] == ["argument", "name", "of", "relax.get_pipeline", "is"]


def test_json_of_programs_is_listed_and_loaded_late():
    code = (
        "import sys, te_sched.ir as ir\n"
        "assert not {'hashlib', 'te_sched.ir.serialization'} & {*sys.modules}\n"
        "print({*ir.__all__} <= {*dir(ir)}, all(hasattr(ir, name) for name in ir.__all__))"
    )
    assert output_of(code) == ["True", "True"]


def test_packages_load_their_modules_when_they_are_asked_for() -> None:
    """In a process of its own: other tests import the modules."""
    code = "import te_sched; te_sched.relax.backend.contrib.cublas.partition_for_cublas"
    subprocess.run([sys.executable, "-c", code], check=True)

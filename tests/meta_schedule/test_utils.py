"""Seeds, hashes, processors and functions by name."""

import os

import pytest

import te_sched
from te_sched import meta_schedule as ms
from te_sched.errors import DeclarationError
from te_sched.ir.stmt import IRModule
from te_sched.ir.structural_hash import structural_hash
from te_sched.meta_schedule import utils
from te_sched.tuning.artifacts import BUILD_PREFIX
from tests.meta_schedule.programs import MODULE


def test_classes_are_derived():
    with pytest.raises(DeclarationError, match="derived_object cannot be applied to an int"):
        utils.derived_object(3)


@pytest.mark.parametrize(
    ("create", "name"),
    [(ms.builder.LocalBuilder, "f_build"), (ms.runner.LocalRunner, "f_run_evaluator")],
)
def test_names_of_functions_are_registered(create, name):
    with pytest.raises(DeclarationError, match="no function is registered as 'no such'"):
        create(**{name: "no such"})


def test_functions_are_taken_by_name_as_they_are_or_by_default():
    function = utils.get_global_func_with_default_on_worker
    assert function(None, "default") == "default"
    assert function(len, "default") is len
    assert function("meta_schedule.remove_build_dir", None) == te_sched.get_global_func(
        "meta_schedule.remove_build_dir"
    )
    with pytest.raises(DeclarationError, match="no function is registered as 3"):
        function(3, "default")


def test_seeds_are_as_many_as_asked_for_and_differ():
    assert utils.fork_seed(7, 0) == []
    assert len(set(utils.fork_seed(7, 20))) == 20
    assert utils.fork_seed(7, 3) == utils.fork_seed(7, 20)[:3]
    assert utils.fork_seed(7, 1) != utils.fork_seed(8, 1)
    assert utils.fork_seed(None, 1) != utils.fork_seed(None, 1)


def test_hashes_are_sixteen_digits(monkeypatch):
    assert int(utils.shash2hex(MODULE), 16) == structural_hash(MODULE) % 2**64
    monkeypatch.setattr(utils, "structural_hash", lambda mod: -1)
    assert utils.shash2hex(IRModule({})) == "f" * 16


def test_only_folders_of_builders_are_removed(tmp_path):
    for name in (f"{BUILD_PREFIX}1", "other"):
        (tmp_path / name).mkdir()
        utils.remove_build_dir(str(tmp_path / name / "module.o"))
    assert os.listdir(tmp_path) == ["other"]


def test_half_of_the_memory_and_all_processors(monkeypatch):
    monkeypatch.setattr(utils, "machine_memory", lambda: 9)
    monkeypatch.setattr(utils, "usable_processors", lambda: 3)
    assert utils.half_of_memory() == 4
    assert utils.cpu_count(logical=False) == utils.cpu_count() == 3

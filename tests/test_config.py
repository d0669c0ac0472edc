"""Switches: defaults, environment, scopes, threads."""

import re
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

import te_sched
from te_sched import config
from te_sched.errors import TeSchedError
from tests.golden.corpus import load

ROOT = Path(__file__).resolve().parent.parent


def test_scope_ends_with_the_block():
    with config.scoped(verify_passes=False):
        with config.scoped(verify_passes=True):
            assert config.current().verify_passes
        assert not config.current().verify_passes


def test_scope_is_left_on_an_error():
    before = config.current()
    with pytest.raises(ZeroDivisionError), config.scoped(verify_passes=not before.verify_passes):
        1 / 0  # noqa: B018
    assert config.current() == before


def test_scope_is_not_seen_by_other_threads():
    with ThreadPoolExecutor(1) as pool:
        outside = pool.submit(config.current).result()
        with config.scoped(verify_passes=not outside.verify_passes):
            assert pool.submit(config.current).result() == outside


def test_scope_rejects_an_unknown_switch():
    with pytest.raises(TeSchedError, match="unknown switch"), config.scoped(verify=True):
        pass


@pytest.mark.parametrize("change", [{"emulate": "maybe"}, {"cache": 1}, {"max_steps": 0}])
def test_scope_rejects_values_of_another_kind(change):
    with pytest.raises(TeSchedError, match=r"must be (True or False|a whole number)"):
        config.scoped(**change).__enter__()


def test_scope_takes_each_switch_as_it_is():
    now = config.current()
    switches = {name: getattr(now, name) for name in config.Config.__dataclass_fields__}
    with config.scoped(**switches) as same:
        assert same == now


@pytest.mark.parametrize(
    ("text", "value"), [("1", True), ("TRUE", True), ("off", False), ("", False)]
)
def test_environment_is_read(text, value):
    assert config.from_environment({"TE_SCHED_VERIFY": text}).verify_passes is value


def test_environment_rejects_what_is_neither_true_nor_false():
    with pytest.raises(TeSchedError, match=r"TE_SCHED_VERIFY must be .* got 'maybe'"):
        config.from_environment({"TE_SCHED_VERIFY": "maybe"})


def test_every_variable_is_in_the_table():
    package = Path(config.__file__).parent
    used = {
        name
        for path in package.rglob("*.py")
        for name in re.findall(r"\bTE_SCHED_[A-Z_]+\b", path.read_text())
    }
    assert used == {row["variable"] for row in config.table()} - {""}


def test_every_switch_has_a_row_that_says_what_it_does():
    rows = [row for row in config.table() if row["switch"]]
    assert [row["switch"] for row in rows] == list(config.Config.__dataclass_fields__)
    assert all(row["what"] for row in config.table())
    assert [row["switch"] for row in rows if not row["variable"]] == ["lowering"]


def test_page_of_switches_is_what_the_table_says():
    assert load(ROOT / "scripts" / "config.py").page() == (ROOT / "docs/config.md").read_text()


def test_config_is_called_for_a_scope():
    before = te_sched.config.current().verify_passes
    with te_sched.config(verify_passes=not before) as switches:
        assert switches is te_sched.config.current()
        assert switches.verify_passes is not before
    assert te_sched.config.current().verify_passes is before


def test_config_called_rejects_an_unknown_switch():
    did_you_mean = r"(?s)verify_pass=True.*did you mean 'verify_passes'"
    with pytest.raises(TeSchedError, match=did_you_mean), te_sched.config(verify_pass=True):
        pass


def test_limit_of_steps_is_a_number():
    assert config.from_environment({"TE_SCHED_MAX_STEPS": "1000"}).max_steps == 1000
    assert config.from_environment({"TE_SCHED_MAX_STEPS": ""}).max_steps is None
    with pytest.raises(TeSchedError, match="a whole number above 0"):
        config.from_environment({"TE_SCHED_MAX_STEPS": "-5"})


@pytest.mark.parametrize("folder", ["a\0b", "a\ud800b"])
def test_no_folder_of_the_cache_has_such_a_name(folder):
    with pytest.raises(TeSchedError, match=r"cache_dir .* must be a path, as text"):
        config.scoped(cache_dir=folder).__enter__()
    with pytest.raises(TeSchedError, match="must be a path, got"):
        config.from_environment({"TE_SCHED_CACHE_DIR": folder})

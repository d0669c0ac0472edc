"""Names of programs: the same for the same program, another for any other."""

from __future__ import annotations

import re
import time
import tomllib
from pathlib import Path

import numpy as np
import pytest

import te_sched
from te_sched import config, te
from te_sched.driver.steps import HISTORY
from te_sched.runtime import fingerprint as module
from te_sched.runtime.fingerprint import environment
from tests.golden import corpus
from tests.golden.steps import lowered

ROOT = Path(__file__).parents[2]


@pytest.fixture(autouse=True)
def _unedited(monkeypatch):
    """Sources count as unchanged, though an editor may have saved one just now."""
    monkeypatch.setattr(config, "STARTED", time.time_ns() + 10**10)
    environment.cache_clear()
    yield
    environment.cache_clear()


def fingerprint(graph):
    return module.fingerprint(graph, HISTORY)


def program(n: int = 16, factor: int = 4, scale: float = 2.0, name: str = "B"):
    a = te.placeholder((n,), name="A")
    b = te.compute((n,), lambda i: a[i] * scale, name=name)
    s = te.create_schedule(b.op)
    s[b].split(b.op.axis[0], factor)
    return s, [a, b]


def test_the_same_program_has_the_same_name():
    assert fingerprint(program()) == fingerprint(program())


def test_the_lines_of_a_program_are_no_part_of_its_name():
    a = te.placeholder((16,), name="A")
    b = te.compute((16,), lambda i: a[i] * 2.0, name="B")
    s = te.create_schedule(b.op)
    s[b].split(
        b.op.axis[0],
        4,
    )
    assert fingerprint((s, [a, b])) == fingerprint(program()) is not None


def test_lowering_leaves_the_name():
    s, args = program()
    before = fingerprint((s, args))
    te_sched.lower(s, args)
    assert fingerprint((s, args)) == before


@pytest.mark.parametrize(
    "change", [{"n": 17}, {"factor": 8}, {"scale": 2.5}, {"name": "C"}, {"scale": -2.0}]
)
def test_any_change_changes_the_name(change):
    assert fingerprint(program(**change)) != fingerprint(program())


def test_zeros_of_both_signs_differ():
    assert fingerprint(program(scale=0.0)) != fingerprint(program(scale=-0.0))


def test_the_order_of_arguments_counts():
    s, args = program()
    assert fingerprint((s, args)) != fingerprint((s, args[::-1]))


def test_what_is_one_and_what_is_equal_differ():
    one = te.var("n")
    assert fingerprint((one, one)) != fingerprint((te.var("n"), te.var("n")))


class Foreign:
    pass


@pytest.mark.parametrize(
    "hidden", [lambda: 1, len, Foreign, Foreign(), np.float32(1), np.array([Foreign()])]
)
def test_what_cannot_be_seen_has_no_name(hidden):
    assert fingerprint((program(), hidden)) is None


def test_arrays_count_with_their_elements_shape_and_dtype():
    one = np.arange(6, dtype="float32")
    others = [one[::-1], one.reshape(2, 3), one.astype("int32"), one.view("int32"), one[:5]]
    names = [fingerprint(each) for each in (one, *others, np.float32(0) * one)]
    assert None not in names
    assert len(set(names)) == len(names)
    both = np.stack([one, one], axis=1)
    assert fingerprint(both[:, 0]) == fingerprint(one) == fingerprint(one.copy())
    assert fingerprint(te_sched.nd.array(one)) == fingerprint(te_sched.nd.array(one))
    assert fingerprint(te_sched.nd.array(one)) != fingerprint(te_sched.nd.array(-one))


def test_ignored_types_count_as_types_alone():
    ignored = frozenset({type(te.var("n"))})
    one, other = (module.fingerprint(te.var(name), ignored) for name in "nm")
    assert one == other


def test_nothing_is_named_when_a_source_changed_after_the_start(monkeypatch):
    monkeypatch.setattr(config, "STARTED", 10**9)
    environment.cache_clear()
    assert environment() is None
    assert fingerprint(1) is None


def test_sources_that_do_not_count_are_of_layers_above_builds():
    contract = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]
    layers = contract["contracts"][0]["layers"]
    above = " ".join(layers[: layers.index("(relax)")])
    assert set(re.findall(r"\w+", above)) - {"__main__"} == module._ABOVE
    assert all((ROOT / "te_sched" / name / "__init__.py").exists() for name in module._ABOVE)


def test_another_version_of_llvm_is_another_environment(monkeypatch):
    before = environment()
    environment.cache_clear()
    monkeypatch.setattr(module.llvm, "llvm_version_info", (99, 0, 0))
    assert environment() != before


def test_programs_of_one_name_have_one_text():
    texts: dict[str | None, str] = {}
    for one in corpus.programs("primitives", "programs"):
        for step, lowered_step in zip(one.steps(te_sched), lowered(one), strict=True):
            name, text = fingerprint(step), str(lowered_step)
            assert name is not None
            assert texts.setdefault(name, text) == text
    assert len(set(texts.values())) > 100

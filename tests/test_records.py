"""What is exported is a list of dicts with the keys that are documented."""

import numpy as np
import pandas
import pytest

import te_sched
from te_sched import te
from te_sched.analysis.judge import check
from tests.views.programs import tiled


@pytest.fixture(scope="module")
def shown():
    s, A, B, C = tiled()
    return s, [A, B, C]


def documented(method):
    """The words in double quotes of a docstring."""
    return set(method.__doc__.split('"')[1::2])


def test_stages_are_records(shown):
    s, _ = shown
    table = pandas.DataFrame(s.records())
    assert list(table["stage"]) == ["A", "B", "C.local", "C"]
    assert set(table.columns) <= documented(te.Schedule.records)
    assert table.loc[2, ["computed", "at_stage", "at_axis", "scope"]].tolist() == [
        *("at", "C", "j.outer", "local")
    ]
    assert table["axes"][3] == ("i.outer", "j.outer", "i.inner", "j.inner")
    assert table["shape"][0] == (64, 32)


def test_shapes_may_have_names():
    n = te.var("n")
    A = te.placeholder((n, 4), name="A")
    assert te.create_schedule(A.op).records()[0]["shape"] == ("n", 4)


def test_entries_of_a_trace_are_records(shown):
    s, _ = shown
    table = pandas.DataFrame(s.trace.records())
    assert set(table.columns) == documented(type(s.trace).records) - {""}
    calls = table[table["method"] == "parallel"]
    assert calls["code"].tolist() == ["s[C].parallel(i_outer)"]
    assert calls["file"].tolist()[0].endswith("programs.py")
    assert "\n".join(table["code"]) in str(s.trace)


def test_times_are_records(shown):
    module = te_sched.build(*shown)
    arrays = [np.ones(shape, "float32") for shape in ((64, 32), (32, 64), (64, 64))]
    times = module.time_evaluator("main", te_sched.cpu(0), number=2, repeat=3)(*arrays)
    table = pandas.DataFrame(times.records())
    assert set(table.columns) == documented(type(times).records)
    assert table["seconds"].min() == times.min


def test_findings_are_records(shown):
    findings = check(te_sched.lower(*shown)["main"])
    table = pandas.DataFrame(findings.records())
    assert len(table) == len(findings)
    assert set(table["verdict"]) == {"proved"}


def test_findings_of_checked_mode_are_records():
    A = te.placeholder((8,), name="A")
    B = te.compute((8,), lambda i: A[i] + 1.0, name="B")
    s = te.create_schedule(B.op)
    s[B].bind(B.op.axis[0], te.thread_axis("threadIdx.x"))
    module = te_sched.build(s, [A, B], target="cuda")
    report = module.check(np.ones(8, "float32"), np.ones(8, "float32"))
    assert report.records() == report.to_dict()["findings"] == []

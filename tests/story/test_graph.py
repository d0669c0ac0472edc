"""Reports of graphs: passes, timeline, memory, and the page."""

from __future__ import annotations

import pytest

from te_sched import IRModule, relax, te, tir
from te_sched.errors import DeclarationError, GraphError
from te_sched.story.graph import GraphReport, graph_report, size_of
from te_sched.views.dataflow import dataflow_svg
from tests.story.graph_model import model


def test_stages_are_those_of_the_passes(report: GraphReport) -> None:
    names = [one.name for one in report.stages]
    assert names[0] == "as given"
    assert {"LegalizeOps", "FuseOps", "FuseTIR", "ApplyDefaultSchedule"} <= set(names)
    assert sum(report.stages[0].calls.values()) == 3
    assert sum(report.stages[-1].calls.values()) == 2


def test_timeline_has_the_calls_in_order(report: GraphReport) -> None:
    assert [one.name.split("_")[0] for one in report.kernels] == ["fused", "softmax"]
    assert report.timeline_svg().count("<rect") == 2
    starts = [one.start for one in report.calls]
    assert starts == sorted(starts)
    assert report.seconds > 0


def test_memory_holds_each_value_until_its_last_use(report: GraphReport) -> None:
    assert [one.alive for one in report.memory] == [64, 128]  # 2 x 8 float32 each
    assert report.peak == 128


def test_types_are_those_of_arrays(report: GraphReport) -> None:
    page = report.html()
    assert "R.Tensor" not in page
    assert ">float32[2, 16]<" in page
    assert ">float32[n, 8]<" in dataflow_svg(model(tir.Var("n", "int64")))


def test_symbolic_sizes_are_given_by_name() -> None:
    n = tir.Var("n", "int64")
    found = graph_report(model(n), sizes={"n": 3})
    assert "float32[3, 16]" in str(found)


def test_functions_are_reported_as_modules() -> None:
    assert graph_report(model()["main"]).name == "main"


def test_sizes_of_values() -> None:
    known = relax.TensorStructInfo([4, 3], "float16")
    assert size_of(known) == 24
    assert size_of(relax.TupleStructInfo([known, known])) == 48
    assert size_of(relax.TensorStructInfo(dtype="float32", ndim=2)) == 0


def test_report_rejects() -> None:
    with pytest.raises(GraphError, match="3 is not a graph"):
        graph_report(3)  # type: ignore[arg-type]
    with pytest.raises(GraphError, match="the module has no graph 'other'"):
        graph_report(model(), function="other")
    a = te.placeholder((4,), name="A")
    plain = IRModule({"main": te.create_prim_func([a, te.compute((4,), lambda i: a[i])])})
    with pytest.raises(GraphError, match="no graph 'main'"):
        graph_report(plain)
    with pytest.raises(GraphError, match="size n of parameter x is not known"):
        graph_report(model(tir.Var("n", "int64")))
    shape = relax.Var("s", relax.ShapeStructInfo([4]))
    with pytest.raises(GraphError, match=r"parameter s is R\.Shape"):
        graph_report(relax.Function([shape], shape))
    with pytest.raises(DeclarationError, match="cannot make a dataflow"):
        dataflow_svg(3)  # type: ignore[arg-type]

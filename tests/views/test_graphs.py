"""Dataflow of schedules, blocks and graphs as boxes."""

from __future__ import annotations

import te_sched
from te_sched import relax
from te_sched.views.dataflow import dataflow_svg
from te_sched.views.graphs import graph_of_functions
from tests.golden.corpus import programs
from tests.story.graph_model import model
from tests.views.programs import chain


def test_inlined_stages_and_states_of_scans_are_told_apart():
    s = chain(3)
    s.stages[1].compute_inline()
    assert 'class="te-inlined"' in dataflow_svg(s)
    (scan,) = [one for one in programs("programs") if one.name == "scan_cumsum"]
    picture = dataflow_svg(next(iter(scan.steps(te_sched)))[0])
    assert "state of a scan" in picture
    assert "in the loop of scan" in picture


def test_pictures_of_graphs() -> None:
    module = model()
    graph = graph_of_functions([module["main"]])
    assert [(box.name, box.kind) for box in graph.boxes] == [
        ("x", "input"),
        ("matmul", "stage"),
        ("nn.relu", "stage"),
        ("nn.softmax", "output"),
    ]
    assert graph.reads == [[], [0], [1], [2]]
    assert "nn.softmax" in dataflow_svg(module)
    assert dataflow_svg(module["main"]) == dataflow_svg(module)


def test_a_function_without_a_body_has_no_boxes() -> None:
    info = relax.TensorStructInfo([4], "float32")
    empty = relax.Function.create_empty([relax.Var("x", info)], info)
    assert graph_of_functions([empty]).boxes == []

"""te-sched graph."""

import json

import pytest

_MODEL = """
import numpy as np
from te_sched import relax

x = relax.Var("x", relax.TensorStructInfo((2, 8), "float32"))
builder = relax.BlockBuilder()
with builder.function("main", [x]):
    with builder.dataflow():
        out = builder.emit_output(relax.op.nn.relu(relax.op.exp(x)))
    builder.emit_func_output(out)
model = builder.get()
"""


def test_a_graph_is_told(te_sched_command, program, tmp_path):
    page = tmp_path / "graph.html"
    result = te_sched_command("graph", program(_MODEL), "--page", page)
    assert result.exit_code == 0, result.stderr
    assert "calls after each pass: as given 2" in result.stdout
    assert "memory and checks" in result.stdout
    assert "Timeline of a call" in page.read_text()


def test_json(te_sched_command, program):
    result = te_sched_command("graph", program(_MODEL), "--name", "model", "--json")
    found = json.loads(result.stdout)
    assert sum(found["passes"]["as given"].values()) == 2
    assert found["peak_bytes"] > 0
    assert any(not one["name"].startswith("vm.") for one in found["calls"])


def test_programs_without_one_graph(te_sched_command, program):
    nothing = te_sched_command("graph", program("x = 1"))
    assert nothing.exit_code == 2
    assert "makes no graph" in nothing.stderr
    assert "from_exported_program" in nothing.stderr
    several = te_sched_command("graph", program(_MODEL + "\nother = model.clone()\n"))
    assert "makes 2 graphs\n  why: model, other\n  help: choose one: --name model" in several.stderr
    wrong = te_sched_command("graph", program("x = 1"), "--name", "x")
    assert wrong.exit_code != 0
    assert "is not a graph" in wrong.stderr


@pytest.mark.parametrize("name", ["lower", "check", "tune", "explain", "schedules"])
def test_commands_on_schedules_refuse_graphs(te_sched_command, program, name):
    path = program(_MODEL)
    result = te_sched_command(name, path)
    assert result.exit_code == 2
    assert "makes no schedule\n  why: model is a graph" in result.stderr
    assert f"help: run te-sched graph {path} --name model" in result.stderr

"""Graphs as JSON: te_sched reads what TVM 0.19 saves, TVM what te_sched saves; all are equal."""

from __future__ import annotations

import importlib.util
import inspect
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
import tvm
from tvm.relax import transform
from tvm.script import from_source as their_source

from te_sched import ir, relax, script
from te_sched.ir.graph import GraphVar
from te_sched.ir.visitor import walk
from tests.golden.tvm_json import PROGRAMS
from tests.peer.differential.outcome import normal
from tests.relax.operator_tables import inferred_calls
from tests.sampling import sampled
from tests.script import graph_program

GOLDENS = Path(__file__).parents[1] / "golden" / "graphs"
STARTS = ("@I.ir_module", "@R.function")


def exchanged(theirs: Any) -> None:
    """TVM's program is read here, equal to its text, and TVM reads it again."""
    read = ir.load_json(tvm.ir.save_json(theirs))
    assert normal(read.script()) == normal(theirs.script())
    written = script.from_source(read.script(show_meta=True), check_well_formed=False)
    ir.assert_structural_equal(read, written)
    for ours in (read, written):
        back = tvm.ir.load_json(ir.save_tvm_json(ours))
        assert back.script() == theirs.script()
        tvm.ir.assert_structural_equal(back, theirs)
        assert tvm.ir.structural_hash(back) == tvm.ir.structural_hash(theirs)


def programs_in(text: str) -> Iterator[str]:
    """The programs in what a program of a course printed."""
    lines: list[str] = []
    for line in [*text.splitlines(), *STARTS]:
        if lines and line and not line.startswith((" ", "class ", "def ", "@R.function(")):
            yield "\n".join(lines)
            lines = []
        if lines or line.startswith(STARTS):
            lines.append(line)


def golden_programs() -> list[Any]:
    """The programs of the goldens that TVM reads from their text."""
    return [
        pytest.param(program, id=f"{path.stem}-{number}")
        for path in sorted(GOLDENS.rglob("*.txt"))
        for number, program in enumerate(programs_in(path.read_text()))
        if "R." in program and 'metadata["' not in program
    ]


@pytest.mark.parametrize("source", golden_programs())
def test_golden_programs_are_exchanged(source: str) -> None:
    exchanged(their_source(source, check_well_formed=False))


def test_goldens_have_programs() -> None:
    assert len(golden_programs()) >= 14


def test_every_construct_is_exchanged(tmp_path: Path) -> None:
    text = inspect.getsource(graph_program).replace("from te_sched", "from tvm")
    theirs = imported(tmp_path / "their_graph_program.py", text).Module
    exchanged(theirs)
    exchanged(their_source(PROGRAMS["graph"]))
    tvm.ir.assert_structural_equal(tvm.ir.load_json(ir.save_tvm_json(graph_program.Module)), theirs)


def imported(path: Path, text: str) -> ModuleType:
    """A module of Python with this text."""
    path.write_text(text)
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None
    assert spec.loader is not None
    module = sys.modules[path.stem] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def called(call: Any) -> Any | None:
    """A module that calls an operator, as TVM reads its text; None if TVM refuses it."""
    params = list(dict.fromkeys(one for one in walk(call) if isinstance(one, GraphVar)))
    builder = relax.BlockBuilder()
    with builder.function("main", params):
        builder.emit_func_output(builder.emit(call))
    try:
        theirs = their_source(builder.get().script(), check_well_formed=False)
    except tvm.error.DiagnosticError:
        return None
    return theirs if tvm.relax.analysis.well_formed(theirs) else None


def test_calls_of_operators_are_exchanged() -> None:
    known = sampled(inferred_calls(), 32)
    modules = [called(build()) for build, _ in known]
    read = [one for one in modules if one is not None]
    assert len(read) > 0.6 * len(known)
    for one in read:
        exchanged(one)


PASSES = (
    transform.LegalizeOps,
    transform.AnnotateTIROpPattern,
    transform.FoldConstant,
    transform.FuseOps,
    transform.FuseTIR,
    transform.ToNonDataflow,
    transform.RemovePurityChecking,
    transform.CallTIRRewrite,
    transform.StaticPlanBlockMemory,
    transform.LowerAllocTensor,
    transform.KillAfterLastUse,
    transform.LowerRuntimeBuiltin,
    transform.VMShapeLower,
    transform.AttachGlobalSymbol,
)


def model(name: str) -> Any:
    """A model of torch, as TVM imports it."""
    torch = pytest.importorskip("torch")
    from tvm.relax.frontend.torch import from_fx

    from tests.relax.frontend import test_models as models

    made, shape = {
        "perceptron": (lambda: models.Perceptron(), (2, 784)),
        "lenet": (lambda: models.LeNet(), (1, 1, 28, 28)),
        "resnet": (lambda: models.ResNet18(4, 10), (1, 3, 32, 32)),
        "mobilenet": (lambda: models.MobileNetV2(10), (1, 3, 32, 32)),
    }[name]
    traced = torch.fx.symbolic_trace(made().eval())
    return from_fx(traced, [(shape, "float32")])


@pytest.mark.parametrize("name", ["perceptron", "lenet", "resnet", "mobilenet"])
def test_models_are_exchanged(name: str) -> None:
    exchanged(model(name))


def test_a_model_is_exchanged_after_each_pass() -> None:
    module = model("perceptron")
    for one in PASSES:
        module = one()(module)
        exchanged(module)


def test_graphs_of_symbolic_shapes_are_exchanged_as_lowered() -> None:
    source = """
@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor(("n", 4), "float32"), w: R.Tensor((4, "m"), "float32")):
        with R.dataflow():
            y = R.matmul(x, w)
            r = R.nn.relu(y)
            z = R.reshape(r, (-1,))
            R.output(z)
        return z
"""
    module = their_source(source)
    for one in PASSES:
        module = one()(module)
        exchanged(module)

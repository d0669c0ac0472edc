"""The backend of `torch.compile`: its options, what it builds, and what it leaves to torch."""

from __future__ import annotations

import subprocess
import sys
import tomllib
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from te_sched.errors import GraphError
from te_sched.relax.frontend.torch.compile_backend import (
    CompileOptions,
    compile_graph,
    read_options,
)
from te_sched.relax.frontend.torch.importer import ROWS, TorchRow
from te_sched.target import Target

torch = pytest.importorskip("torch")
ROOT = Path(__file__).parents[4]


@pytest.fixture(autouse=True)
def _fresh() -> Iterator[None]:
    torch.compiler.reset()
    torch.manual_seed(0)
    yield
    torch.compiler.reset()


def compiled(function: Any, **kwargs: Any) -> Callable[..., Any]:
    return torch.compile(function, backend=compile_graph, **kwargs)


def check(function: Any, *calls: tuple[Any, ...], **kwargs: Any) -> None:
    """Compare calls of the compiled function with torch, and the arguments after them."""
    fast = compiled(function, **kwargs)
    with torch.no_grad():
        for args in calls:
            own, other = [
                [arg.clone() if isinstance(arg, torch.Tensor) else arg for arg in args]
                for _ in range(2)
            ]
            result, expected = fast(*own), function(*other)
            torch.testing.assert_close(result, expected, equal_nan=True)
            torch.testing.assert_close(own, other, equal_nan=True)


@pytest.fixture
def no_fallback() -> Iterator[None]:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        yield


@pytest.fixture
def no_sines(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(ROWS, "sin")


# The name


def test_the_backend_is_found_by_its_name_where_te_sched_is_installed(tmp_path: Path) -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    (name, value), *rest = project["project"]["entry-points"]["torch_dynamo_backends"].items()
    assert (name, rest) == ("te_sched", [])
    info = tmp_path / "names-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: names\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(f"[torch_dynamo_backends]\n{name} = {value}\n")
    program = (
        f"import sys; sys.path[:0] = [{str(tmp_path)!r}, {str(ROOT)!r}]\n"
        "import torch\n"
        "assert 'te_sched' in torch._dynamo.list_backends()\n"
        "print(torch.compile(lambda x: x * 2 + 1, backend='te_sched')(torch.ones(2)).tolist())\n"
    )
    run = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert run.stdout == "[3.0, 3.0]\n", run.stderr


# Options


def test_options_have_defaults_and_are_read() -> None:
    assert read_options(None, None) == CompileOptions()
    target = Target("llvm")
    assert read_options("max-autotune", {"target": target, "strict": True}) == CompileOptions(
        target, strict=True
    )
    assert read_options(None, {"fallback": "graph"}).fallback == "graph"


def test_options_reject_other_names_and_values() -> None:
    with pytest.raises(GraphError, match="no option 'fallbak'") as error:
        read_options(None, {"fallbak": "graph"})
    assert "did you mean 'fallback'?" in error.value.help
    with pytest.raises(GraphError, match="cannot compile for target cuda"):
        read_options(None, {"target": "cuda"})
    with pytest.raises(GraphError, match="option fallback is 'none'"):
        read_options(None, {"fallback": "none"})
    with pytest.raises(GraphError, match="option strict is 'yes', expected a bool"):
        read_options(None, {"strict": "yes"})
    with pytest.raises(GraphError, match="has no mode 'fast'"):
        read_options("fast", None)


def test_a_pipeline_is_used() -> None:
    with torch.no_grad(), pytest.raises(Exception, match="nonsense"):
        compiled(torch.relu, options={"pipeline": "nonsense", "strict": True})(torch.ones(2))


# What torch runs


@pytest.mark.usefixtures("no_sines")
def test_operators_without_a_translation_are_run_by_torch_with_a_warning() -> None:
    def model(x: Any) -> Any:
        return torch.view_as_complex((x * 2).sin().view(-1, 2)).abs() + 1

    with pytest.warns(UserWarning, match="does not build") as warned:
        check(model, (torch.randn(8),))
    text = str(warned[0].message)
    assert "aten.sin.default: sin (File" in text
    assert "test_compile_backend.py" in text
    assert "it has no translation; " in text
    assert "aten.abs.default: abs_1" in text
    assert "dtype complex64" in text
    assert len(warned) == 1
    assert warned[0].filename == __file__


@pytest.mark.usefixtures("no_sines")
def test_a_graph_is_run_by_torch_on_request() -> None:
    with pytest.warns(UserWarning, match="torch runs this graph"):
        check(lambda x: torch.sin(x) + 1, (torch.randn(8),), options={"fallback": "graph"})


@pytest.mark.usefixtures("no_sines")
def test_strict_refuses_operators_that_cannot_be_built() -> None:
    fast = compiled(torch.sin, options={"strict": True})
    with pytest.raises(
        Exception, match=r"1 operator is not supported: aten\.sin\.default"
    ) as error:
        fast(torch.ones(2))
    assert "leave out the option strict" in str(error.value)
    fast = compiled(lambda x: torch.view_as_complex(x).abs().sin(), options={"strict": True})
    with pytest.raises(Exception, match="operators of the model cannot be built"):
        fast(torch.ones(2, 2))


def test_a_rule_that_refuses_its_arguments_leaves_the_operator_to_torch(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def refuse(*args: object, **kwargs: object) -> None:
        raise GraphError("these sines are too hard", "", "")

    monkeypatch.setitem(ROWS, "sin", TorchRow(refuse))
    with pytest.warns(UserWarning, match="sines are too hard"):
        check(lambda x: (x + 1).sin() * 2, (torch.ones(3),))


def test_a_graph_that_cannot_be_built_is_left_to_torch(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*args: object, **kwargs: object) -> None:
        raise GraphError("this machine is on strike", "", "")

    monkeypatch.setattr("te_sched.relax.frontend.torch.compile_backend.build", refuse)
    with pytest.warns(UserWarning, match="on strike"):
        check(lambda x: x.sin() * 2, (torch.ones(3),))


def test_dropout_in_training_mode_draws_numbers() -> None:
    fast = compiled(torch.nn.Dropout(0.5))
    with pytest.warns(UserWarning, match="it draws random numbers"):
        result = fast(torch.ones(1000))
    assert 300 < (result == 0).sum() < 700
    assert set(result.tolist()) == {0.0, 2.0}


# Training


def _gradients_agree(model: Any, x: Any, **kwargs: Any) -> None:
    fast = compiled(model, **kwargs)
    fast(x).sum().backward()
    own = [param.grad.clone() for param in model.parameters()]
    model.zero_grad()
    model(x).sum().backward()
    torch.testing.assert_close(own, [param.grad for param in model.parameters()])


@pytest.mark.usefixtures("no_fallback")
def test_gradients_of_compiled_models() -> None:
    nn = torch.nn
    _gradients_agree(nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 8)), torch.rand(4, 8))
    model = nn.Sequential(nn.LayerNorm(8), nn.GELU(), nn.Linear(8, 3), nn.LogSoftmax(-1))
    _gradients_agree(model, torch.rand(4, 8))


@pytest.mark.usefixtures("no_fallback")
def test_an_optimizer_changes_the_parameters_of_later_calls() -> None:
    model = torch.nn.Linear(3, 2)
    fast = compiled(model)
    optimizer = torch.optim.SGD(model.parameters(), 0.1)
    x, losses = torch.rand(8, 3), []
    for _ in range(5):
        optimizer.zero_grad()
        loss = (fast(x) - 1).square().mean()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    assert losses == sorted(losses, reverse=True)
    assert losses[-1] < losses[0]
    with torch.no_grad():
        torch.testing.assert_close(fast(x), model(x))
        model.load_state_dict({"weight": torch.ones(2, 3), "bias": torch.zeros(2)})
        torch.testing.assert_close(fast(x), model(x))
        model.weight.data = torch.full((2, 3), 2.0)  # other memory
        torch.testing.assert_close(fast(x), model(x))

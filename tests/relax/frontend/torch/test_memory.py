"""Models with state: the machine keeps what they change, or it is an input and a result."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np
import pytest

import te_sched
from te_sched import nd, relax
from te_sched.errors import GraphError
from te_sched.relax.frontend.torch import from_exported_program, from_fx, relax_dynamo
from te_sched.relax.frontend.torch.memory import changed_arguments, is_in_place, is_view, owners

torch = pytest.importorskip("torch")
F = torch.nn.functional
ONES = torch.ones(2)


class Stateful(torch.nn.Module):
    """A function of a module with buffers, and of one tensor."""

    def __init__(self, function: Any, **buffers: Any) -> None:
        super().__init__()
        self.function = function
        for name, one in buffers.items():
            self.register_buffer(name, one)

    def forward(self, x: Any) -> Any:
        return self.function(self, x)


def _counts(self: Any, x: Any) -> Any:
    self.n += 1
    return x * self.n


def _adds(self: Any, x: Any) -> Any:
    self.total.add_(x)
    return self.total * 1


def _assigns(self: Any, x: Any) -> Any:
    self.total = self.total + x
    return self.total * 2


def _rolls(self: Any, x: Any) -> Any:
    self.cache = torch.cat([self.cache[:, 1:], x[:, None]], 1)
    return self.cache.mean(1)


def _writes_a_column(self: Any, x: Any) -> Any:
    self.cache[:, 1] = x + self.cache[:, 0]
    self.cache[:, 0] += 1
    return self.cache.sum(1)


def _writes_a_row(self: Any, x: Any) -> Any:
    self.cache.index_copy_(1, self.n + torch.arange(1), x[None, None] + 1)
    self.n += 1
    return self.cache.sum(1)


def _changes_a_view(self: Any, x: Any) -> Any:
    self.cache.view(-1).mul_(2)
    return self.cache[:, 0] + x


def _copies(self: Any, x: Any) -> Any:
    old = self.total * 1
    self.total.copy_(x)
    return old


def _normalizes(self: Any, x: Any) -> Any:
    return F.batch_norm(x, self.mean, self.var, training=True)


MODELS: dict[str, tuple[Any, Any]] = {
    "counts": (Stateful(_counts, n=torch.tensor(0)), ONES),
    "adds": (Stateful(_adds, total=torch.zeros(2)), ONES),
    "assigns": (Stateful(_assigns, total=torch.zeros(2)), ONES),
    "rolls": (Stateful(_rolls, cache=torch.zeros(2, 4)), ONES),
    "column": (Stateful(_writes_a_column, cache=torch.zeros(2, 4)), ONES),
    "row": (Stateful(_writes_a_row, cache=torch.zeros(1, 4, 2), n=torch.tensor(0)), ONES),
    "view": (Stateful(_changes_a_view, cache=torch.ones(2, 4)), ONES),
    "copies": (Stateful(_copies, total=torch.zeros(2)), ONES),
    "normalizes": (
        Stateful(_normalizes, mean=torch.zeros(3), var=torch.ones(3)),
        torch.arange(12.0).reshape(4, 3),
    ),
    "batch norm": (torch.nn.BatchNorm1d(3).train(), torch.arange(12.0).reshape(4, 3)),
}


def _arrays(value: Any) -> list[Any]:
    return [value.numpy()] if hasattr(value, "numpy") else [one.numpy() for one in value]


@pytest.mark.parametrize("name", MODELS)
def test_changed_buffers_are_inputs_and_results(name: str) -> None:
    original, x = MODELS[name]
    model = copy.deepcopy(original)
    program = torch.export.export(copy.deepcopy(original), (x,))
    module = from_exported_program(program, state="outputs")
    names = module["main"].attrs["buffers"]
    assert sorted(names) == sorted(dict(model.named_buffers()))
    machine = relax.VirtualMachine(relax.build(module, "llvm"), te_sched.cpu())
    state = [model.get_buffer(one).numpy().copy() for one in names]
    for _ in range(3):
        expected = model(x.clone()).detach().numpy()
        given = [nd.array(one) for one in (x.numpy(), *state)]
        found, *state = _arrays(machine["main"](*given))
        np.testing.assert_allclose(found, expected, 1e-4, 1e-5)
    for one, value in zip(names, state, strict=True):
        np.testing.assert_allclose(value, model.get_buffer(one).numpy(), 1e-4, 1e-5)


@pytest.mark.parametrize("name", MODELS)
def test_a_machine_keeps_changed_buffers(name: str) -> None:
    original, x = MODELS[name]
    model = copy.deepcopy(original)
    program = torch.export.export(copy.deepcopy(original), (x,))
    executable = relax.build(from_exported_program(program, unwrap_unit_return_tuple=True), "llvm")
    machine, other = (relax.VirtualMachine(executable, te_sched.cpu()) for _ in range(2))
    results = []
    for _ in range(3):
        expected = model(x.clone()).detach().numpy()
        results.append(machine["main"](nd.array(x.numpy())))
        np.testing.assert_allclose(results[-1].numpy(), expected, 1e-4, 1e-5)
    for buffer, value in machine.get_state().items():
        np.testing.assert_allclose(value.numpy(), model.get_buffer(buffer).numpy(), 1e-4, 1e-5)
    again = [other["main"](nd.array(x.numpy())).numpy() for _ in range(3)]
    machine.reset_state()
    for value, result in zip(again, results, strict=True):  # machines and results are apart
        np.testing.assert_array_equal(value, result.numpy())
        np.testing.assert_array_equal(value, machine["main"](nd.array(x.numpy())).numpy())


def _changes_its_input(self: Any, x: Any) -> Any:
    x.mul_(2)
    self.n += 1
    x[0] = self.n.to(x.dtype)
    return x.sum()


def test_changed_inputs_are_written_or_results() -> None:
    model = Stateful(_changes_its_input, n=torch.tensor(0))
    program = torch.export.export(copy.deepcopy(model), (torch.ones(2, 3),))
    start = torch.arange(6.0).reshape(2, 3)
    expected, results = start.clone(), [float(model(start.clone()))]
    expected[:] = expected * 2
    expected[0] = 1
    machine = relax.VirtualMachine(relax.build(from_exported_program(program), "llvm"))
    for given in (start.clone(), start.numpy().copy(), nd.array(start.numpy())):
        machine.reset_state()
        (found,) = machine["main"](given)
        assert [float(found.numpy())] == results
        np.testing.assert_array_equal(np.asarray(given), expected.numpy())
    built = relax.build(from_exported_program(program, state="outputs"), "llvm")
    given = nd.array(start.numpy())
    found, count, new = relax.VirtualMachine(built)["main"](given, np.int64(0))
    assert [float(found.numpy())] == results
    assert int(count.numpy()) == 1
    np.testing.assert_array_equal(new.numpy(), expected.numpy())
    np.testing.assert_array_equal(given.numpy(), start.numpy())


def test_other_ways_to_keep_state_are_refused() -> None:
    model, x = MODELS["counts"]
    program = torch.export.export(copy.deepcopy(model), (x,))
    with pytest.raises(GraphError, match="the option state is 'output'") as error:
        from_exported_program(program, state="output")
    assert "'outputs'" in error.value.help


def test_statistics_that_torch_does_not_decompose_are_refused() -> None:
    model = torch.nn.InstanceNorm1d(3, track_running_stats=True).train()
    program = torch.export.export(model, (torch.rand(4, 3, 5),))
    for option in ("machine", "outputs"):
        with pytest.raises(GraphError, match="changes its buffers running_mean, running_var"):
            from_exported_program(program, state=option)
    assert from_exported_program(torch.export.export(model.eval(), (torch.rand(4, 3, 5),)))


@pytest.mark.parametrize("name", ["adds", "copies"])
def test_a_traced_model_that_changes_its_buffers_is_refused(name: str) -> None:
    model, x = MODELS[name]
    with pytest.raises(GraphError, match="it changes its buffer total") as error:
        from_fx(torch.fx.symbolic_trace(model), [(tuple(x.shape), "float32")])
    assert "from_exported_program(torch.export.export(model, inputs))" in error.value.help


def test_a_traced_model_in_training_mode_gives_a_warning() -> None:
    model = torch.fx.symbolic_trace(torch.nn.Sequential(torch.nn.BatchNorm1d(3)))
    with pytest.warns(UserWarning, match=r"call model\.eval\(\) first"):
        from_fx(model, [((2, 3), "float32")])


@pytest.mark.parametrize("name", ["counts", "adds", "copies"])
def test_a_compiled_model_changes_its_buffers(name: str) -> None:
    original, x = MODELS[name]
    model, other = copy.deepcopy(original), copy.deepcopy(original)
    torch.compiler.reset()
    compiled = torch.compile(model, backend=relax_dynamo())
    for _ in range(3):
        np.testing.assert_allclose(compiled(x).numpy(), other(x).numpy())
    for one, expected in other.named_buffers():
        np.testing.assert_allclose(model.get_buffer(one).numpy(), expected.numpy())


def test_a_compiled_model_changes_a_part_of_a_buffer() -> None:
    def change(self: Any, x: Any) -> Any:
        self.total[0].add_(x[0])
        return x * 2

    torch.compiler.reset()
    model = Stateful(change, total=torch.zeros(2))
    compiled = torch.compile(model, backend=relax_dynamo())
    compiled(ONES)
    compiled(ONES)
    assert model.total.tolist() == [2.0, 0.0]


def test_a_change_in_place_keeps_the_dtype() -> None:
    class Model(torch.nn.Module):
        def forward(self, x: Any, y: Any) -> Any:
            return (x * 2).add_(y)

    args = torch.rand(3), torch.rand(3, dtype=torch.float64)
    modules = [
        from_exported_program(torch.export.export(Model(), args)),
        from_fx(torch.fx.symbolic_trace(Model()), [((3,), "float32"), ((3,), "float64")]),
    ]
    for module in modules:
        machine = relax.VirtualMachine(relax.build(module, "llvm"), te_sched.cpu())
        (found,) = _arrays(machine["main"](*[nd.array(one.numpy()) for one in args]))
        assert found.dtype == np.float32
        np.testing.assert_allclose(found, Model()(*args).numpy(), 1e-6)


def test_memory_of_nodes() -> None:
    def forward(x: Any) -> Any:
        y = (x + 1).reshape(-1)
        y.add_(1)
        return y

    nodes = list(torch.fx.symbolic_trace(forward).graph.nodes)
    x, added, reshaped, changed, _ = nodes
    assert [is_view(one) for one in nodes[:4]] == [False, False, True, False]
    assert [is_in_place(one) for one in nodes[1:4]] == [False, False, True]
    assert changed_arguments(changed, {}) == [reshaped]
    memory = owners(nodes, {})
    assert memory[x] is x
    assert memory[changed] is memory[reshaped] is added


def test_tensors_that_a_model_makes_are_no_state() -> None:
    class Joins(torch.nn.Module):
        def forward(self, x: Any) -> Any:
            return torch.cat([torch.tensor([]), x])

    program = torch.export.export(Joins(), (ONES,), strict=False)
    changed = [changed_arguments(node, {}) for node in program.graph.nodes if "detach" in node.name]
    assert changed == [[]]
    machine = relax.VirtualMachine(relax.build(from_exported_program(program), "llvm"))
    np.testing.assert_array_equal(machine["main"](ONES.numpy())[0].numpy(), [1, 1])

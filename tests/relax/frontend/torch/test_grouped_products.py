"""Products of groups of rows of torch."""

from __future__ import annotations

import numpy as np
import pytest

from te_sched import nd, relax
from te_sched.errors import GraphError
from te_sched.relax.frontend.torch import from_exported_program

torch = pytest.importorskip("torch")

ROWS, MATRICES = torch.randn(16, 16).bfloat16(), torch.randn(3, 16, 8).bfloat16()
ENDS = torch.tensor([8, 8, 16], dtype=torch.int32)


class Grouped(torch.nn.Module):
    def forward(self, a: torch.Tensor, b: torch.Tensor, ends: torch.Tensor | None) -> torch.Tensor:
        return torch._grouped_mm(a, b, offs=ends)


def results(args: tuple[torch.Tensor | None, ...]) -> tuple[np.ndarray, np.ndarray]:
    """What te_sched and torch compute."""
    module = from_exported_program(torch.export.export(Grouped(), args))
    machine = relax.VirtualMachine(relax.build(module, "llvm -opt-level=0"))
    arrays = [nd.from_dlpack(x) for x in args if x is not None]
    found = machine["main"](*arrays)[0]
    return torch.from_dlpack(found).float().numpy(), Grouped()(*args).float().numpy()


def test_groups_of_rows() -> None:
    np.testing.assert_allclose(*results((ROWS, MATRICES, ENDS)), 1e-2, 1e-2)


def test_groups_of_columns() -> None:
    matrices = torch.randn(3, 8, 16).bfloat16()
    np.testing.assert_allclose(*results((matrices, ROWS, ENDS)), 1e-2, 1e-2)


def test_batches() -> None:
    args = (torch.randn(3, 8, 16).bfloat16(), MATRICES, None)
    np.testing.assert_allclose(*results(args), 1e-2, 1e-2)


def test_groups_of_the_sum_are_refused() -> None:
    program = torch.export.export(Grouped(), (ROWS, ROWS, ENDS))
    with pytest.raises(GraphError, match="groups of tensors of 2 and 2 dimensions"):
        from_exported_program(program)


def test_the_operator_of_transformers() -> None:
    @torch.library.custom_op("tests_of_groups::grouped_mm_fallback", mutates_args=())
    def fallback(a: torch.Tensor, b: torch.Tensor, offs: torch.Tensor) -> torch.Tensor:
        parts = a.split([8, 0, 8])
        return torch.cat([part @ matrix for part, matrix in zip(parts, b, strict=True)])

    fallback.register_fake(lambda a, b, offs: a.new_empty(a.shape[0], b.shape[2]))

    class Model(torch.nn.Module):
        def forward(self, a: torch.Tensor, b: torch.Tensor, ends: torch.Tensor) -> torch.Tensor:
            return torch.ops.tests_of_groups.grouped_mm_fallback(a, b, ends)

    args = (ROWS.float(), MATRICES.float(), ENDS)
    module = from_exported_program(torch.export.export(Model(), args))
    machine = relax.VirtualMachine(relax.build(module, "llvm -opt-level=0"))
    found = machine["main"](*map(nd.from_dlpack, args))[0]
    np.testing.assert_allclose(found.numpy(), Model()(*args), 1e-4, 1e-4)

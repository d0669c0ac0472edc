"""What begins calls for builders and runners."""

from __future__ import annotations

import concurrent.futures
from typing import Any

import numpy as np
import pytest

from te_sched.autotvm import measure
from te_sched.errors import DeclarationError


def test_an_executor_needs_its_method() -> None:
    with pytest.raises(DeclarationError, match="Executor has no method submit"):
        measure.Executor().submit(len)


def test_a_runner_gives_the_arguments_of_the_user() -> None:
    values = [np.zeros((2, 2)) for _ in range(3)]
    runner = measure.LocalRunner(check_correctness=False)
    runner.ref_input = values

    class Recording(measure.Executor):
        def submit(self, func: Any, *args: Any, **kwargs: Any) -> Any:
            assert args[-1] is values
            future: Any = concurrent.futures.Future()
            future.set_result(None)
            return future

    runner.executor = Recording()
    assert runner.run([None], [None]) == [None]

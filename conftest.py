"""The names that examples in docstrings use without importing them."""

import pytest


@pytest.fixture(autouse=True)
def _names_of_examples(request, doctest_namespace):
    if isinstance(request.node, pytest.DoctestItem):
        import numpy as np

        import te_sched
        from te_sched import te, tir, topi

        doctest_namespace.update(np=np, te_sched=te_sched, te=te, tir=tir, topi=topi)

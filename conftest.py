"""Names that the examples in docstrings use without importing them."""

import pytest


@pytest.fixture(autouse=True)
def _names_of_examples(request, doctest_namespace):
    if isinstance(request.node, pytest.DoctestItem):
        from te_sched import te, topi

        doctest_namespace.update(te=te, topi=topi)

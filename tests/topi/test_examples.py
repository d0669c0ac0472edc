"""Every public operator has an example; those of helpers run here, the others as doctests."""

from __future__ import annotations

import doctest
import inspect

import pytest

from te_sched import te, topi


@pytest.mark.parametrize("module", [topi, topi.image, topi.nn], ids=lambda module: module.__name__)
def test_public_functions_have_examples(module):
    functions = {name: getattr(module, name) for name in module.__all__}
    bare = [
        name
        for name, function in functions.items()
        if inspect.isfunction(function) and ">>>" not in (function.__doc__ or "")
    ]
    assert bare == []


@pytest.mark.parametrize("name", topi.utils.PUBLIC)
def test_examples_of_helpers(name):
    """Doctest passes over functions that `check_arguments` has wrapped in their own module."""
    text = getattr(topi.utils, name).__doc__
    example = doctest.DocTestParser().get_doctest(text, {"te": te, "topi": topi}, name, None, 0)
    assert example.examples
    assert doctest.DocTestRunner().run(example).failed == 0

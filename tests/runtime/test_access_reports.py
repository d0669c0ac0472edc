"""What a compiled program says of an access that is wrong."""

from __future__ import annotations

import json
from typing import Any

import pytest

from te_sched.errors import AccessError
from te_sched.runtime.access_reports import report_access

SITE = {
    **{"kind": "bounds", "buffer": "A", "index": "i + 1", "dimension": 0, "does": "read"},
    **{"loops": ["i"], "stage": "B", "where": "stage B (declared at a.py:3)"},
}


def reported(site: dict[str, Any]) -> AccessError:
    with pytest.raises(AccessError, match="read A at 8 in dimension 0") as caught:
        report_access(json.dumps(site), 8, 0, 8, 7)
    return caught.value


def test_an_access_names_its_stage() -> None:
    error = reported(SITE)
    assert error.names("stage") == ["B"]
    assert error.where.startswith("stage B (declared at a.py:3), ")
    assert error.why == "the index i + 1 is 8 where i = 7, and A has the indices 0 to 7"


def test_an_access_of_a_module_that_was_saved_without_names() -> None:
    error = reported({name: value for name, value in SITE.items() if name != "stage"})
    assert error.where.startswith("stage B (declared at a.py:3), ")


def test_an_access_of_no_stage() -> None:
    assert len(reported({**SITE, "stage": "", "where": ""}).about) == 1

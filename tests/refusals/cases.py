"""What is refused, in a table: name, (action, error, a part of the message)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from te_sched.errors import TeSchedError

Case = tuple[Callable[[], Any], type[TeSchedError], str]


def check(case: Case) -> None:
    """The action fails with this error, which says why and what to do."""
    action, error, match = case
    with pytest.raises(error, match=match) as caught:
        action()
    assert type(caught.value) is error
    assert caught.value.why
    assert caught.value.cure

"""Names of TVM's package of scripts that te_sched has under compat alone."""

from __future__ import annotations

import pytest

from te_sched import script


def test_the_builder_of_tvm_is_named_in_the_error() -> None:
    with pytest.raises(AttributeError, match=r"compat\.install\(\) adds tvm\.script\.ir_builder"):
        _ = script.ir_builder

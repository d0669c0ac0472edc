"""Reference data is computed once."""

from __future__ import annotations

from te_sched.contrib.pickle_memoize import memoize


def test_a_function_is_called_once_for_equal_arguments():
    calls = []

    @memoize("key")
    def reference(n: int) -> int:
        calls.append(n)
        return n * 2

    assert [reference(3), reference(3), reference(4)] == [6, 6, 8]
    assert calls == [3, 4]

"""Work without garbage collection in between."""

from __future__ import annotations

import gc
import subprocess
import sys
from collections.abc import Iterator

import pytest

from te_sched.garbage import garbage_kept


@pytest.fixture(autouse=True)
def collecting() -> Iterator[None]:
    """Garbage collection is on before a test, and as it was behind it."""
    was_enabled = gc.isenabled()
    gc.enable()
    yield
    if not was_enabled:
        gc.disable()


def test_the_end_turns_collection_on_again() -> None:
    with garbage_kept():
        assert not gc.isenabled()
        with garbage_kept():
            assert not gc.isenabled()
        assert not gc.isenabled()
    assert gc.isenabled()


def test_an_error_turns_collection_on_again() -> None:
    with pytest.raises(ValueError, match="inside"), garbage_kept():
        raise ValueError("inside")
    assert gc.isenabled()


def test_programs_without_collection_stay_without() -> None:
    gc.disable()
    with garbage_kept():
        assert not gc.isenabled()
    assert not gc.isenabled()


def test_modules_are_loaded_without_collections() -> None:
    code = (
        "import gc, sys, te_sched\n"
        "collected = []\n"
        "gc.callbacks.append(lambda phase, info: collected.append(phase))\n"
        "from te_sched.lazy_loading import load\n"
        "gc.set_threshold(1)\n"
        "collected.clear()\n"
        "load('te_sched.relax.vm.build')\n"
        "print(collected.count('start') < 50, gc.isenabled())\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True
    )
    assert done.stdout.split() == ["True", "True"]

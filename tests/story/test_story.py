"""The story object: saved, printed, and as records."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import te_sched
from tests.story.schedules import tiled


def test_the_page_is_written(tmp_path: Path) -> None:
    story = tiled()
    story.save(tmp_path / "report.html")
    assert (tmp_path / "report.html").read_text(encoding="utf-8") == story.html()
    assert story._repr_html_().startswith("<iframe")


@pytest.mark.parametrize("path", ["", None, 3])
def test_save_rejects_what_is_no_path(path: Any) -> None:
    story = tiled()
    with pytest.raises(te_sched.TeSchedError, match="it is not a path"):
        story.save(path)


def test_save_rejects_a_folder_that_does_not_exist(tmp_path: Path) -> None:
    story = tiled()
    with pytest.raises(te_sched.TeSchedError, match="No such file or directory"):
        story.save(tmp_path / "missing" / "report.html")


def test_records_are_flat_and_have_the_figures() -> None:
    story = tiled()
    steps, loops = story.records(), story.records("loops")
    assert [record["primitive"] for record in steps] == [
        "", "cache_write", "tile", "compute_at", "vectorize",
    ]  # fmt: skip
    assert steps[0]["operations"] == 2 * 16**3
    last = [record for record in loops if record["step"] == 4]
    assert last[-1]["annotation"] == "vectorized"
    assert {type(value) for record in loops for value in record.values()} <= {
        int, str, float, type(None),
    }  # fmt: skip
    with pytest.raises(te_sched.TeSchedError, match="did you mean 'loops'"):
        story.records("loop")

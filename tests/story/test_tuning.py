"""Reports of searches: which program of which database."""

import pytest

from te_sched.errors import CallError, DeclarationError
from te_sched.meta_schedule.database import JSONDatabase, MemoryDatabase
from te_sched.story.tuning import tuning_report
from tests.meta_schedule.here import product, tuned

SECONDS = [9e-3, 3e-3, 2e-3, 4e-3]


def test_page_from_a_folder(tmp_path):
    tuned(seconds=SECONDS, trials=3, work_dir=tmp_path / "search")
    report = tuning_report(tmp_path / "search", name="product")
    report.save(tmp_path / "page.html")
    page = (tmp_path / "page.html").read_text()
    assert "3 candidates" in page
    assert "The best schedule takes 2 ms" in page
    (tmp_path / "search" / "tuning.sqlite").unlink()
    assert "3 candidates" in tuning_report(str(tmp_path / "search")).html()


def test_page_of_one_of_several_programs(tmp_path):
    database = JSONDatabase(work_dir=tmp_path)
    found = tuned(trials=1, database=database)
    tuned(product(16), trials=1, database=database)
    with pytest.raises(DeclarationError, match="the database has records of 2 programs"):
        tuning_report(database)
    page = tuning_report(database, found.trials.module, found.target).html()
    assert "1 candidates" in page
    with pytest.raises(DeclarationError, match="the database has no records of the program"):
        tuning_report(database, found.trials.module, "llvm -num-cores=7")


def test_report_rejects_what_is_no_search(tmp_path):
    with pytest.raises(CallError, match="has no database of a search"):
        tuning_report(tmp_path)
    with pytest.raises(CallError, match="3"):
        tuning_report(3)
    with pytest.raises(DeclarationError, match="the database has records of 0 programs"):
        tuning_report(MemoryDatabase())

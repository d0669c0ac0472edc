"""The logs of searches in files."""

import logging
import os
import threading

import pytest

from te_sched.errors import DeclarationError
from te_sched.meta_schedule.log_file import LOGGER, logging_to
from tests.meta_schedule.here import BuilderHere, RunnerHere
from tests.meta_schedule.programs import space, tiled, tune


@pytest.mark.parametrize("make", [os.mkdir, os.mkfifo])
def test_a_log_that_cannot_be_written_is_refused(tmp_path, make):
    make(tmp_path / "tuning.log")
    with pytest.raises(DeclarationError, match=r"cannot write '.*/tuning\.log': "):
        tune(tmp_path, 1)


def test_threads_that_tune_have_logs_of_their_own(tmp_path):
    before = LOGGER.level, LOGGER.propagate, [*LOGGER.handlers]
    begun = threading.Barrier(2)

    def wait(sch):
        begun.wait(60)
        tiled(sch)

    def one(name, trials):
        parts = {"builder": BuilderHere(), "runner": RunnerHere([1.0] * 9)}
        options = {"task_name": name, "num_trials_per_iter": 2, **parts}
        tune(tmp_path / name, trials, space=space(wait), **options)

    threads = [threading.Thread(target=one, args=pair) for pair in (("a", 2), ("b", 6))]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    for name, other in ("ab", "ba"):
        text = (tmp_path / name / "tuning.log").read_text()
        assert f"task 0 ({name})" in text
        assert f"task 0 ({other})" not in text
    assert (LOGGER.level, LOGGER.propagate, LOGGER.handlers) == before


@pytest.mark.parametrize(("level", "expected"), [(logging.WARNING, ["w"]), (logging.DEBUG, "diw")])
def test_handlers_of_the_user_see_what_they_see_without_a_file(tmp_path, caplog, level, expected):
    before = LOGGER.level, LOGGER.propagate, [*LOGGER.handlers]
    with caplog.at_level(level), logging_to(tmp_path / "log"), logging_to(tmp_path / "other"):
        for write, text in ((LOGGER.debug, "d"), (LOGGER.info, "i"), (LOGGER.warning, "w")):
            write(text)
    LOGGER.warning("after")
    assert caplog.messages == [*expected, "after"]
    for name in ("log", "other"):
        lines = (tmp_path / name).read_text().splitlines()
        assert "".join(line.split()[-1] for line in lines).endswith("iw")
    assert (LOGGER.level, LOGGER.propagate, LOGGER.handlers) == before


def test_a_log_goes_on_at_its_end(tmp_path):
    for text in ("first", "second"):
        with logging_to(tmp_path / "log"):
            LOGGER.info(text)
    lines = (tmp_path / "log").read_text().splitlines()
    assert [line.split()[-1] for line in lines] == ["first", "second"]


def test_errors_close_the_log(tmp_path):
    before = [*LOGGER.handlers]
    with pytest.raises(ValueError, match="fails"), logging_to(tmp_path / "log"):
        raise ValueError("fails")
    assert LOGGER.handlers == before

"""Random decisions: refusals change nothing, and traces replay."""

from __future__ import annotations

import random
import traceback
from types import SimpleNamespace

import pytest

from te_sched import te
from te_sched.errors import ScheduleError
from tests.schedule.programs import snapshot
from tests.schedule.random_schedules import DECLARATIONS, decide

IMPLEMENTATION = SimpleNamespace(te=te)


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("seed", range(40))
def test_random_decisions(seed: int) -> None:
    rng = random.Random(seed)
    declare = rng.choice(DECLARATIONS)
    s = te.create_schedule(declare(IMPLEMENTATION))
    for _ in range(15):
        text, do = decide(rng, s)
        state = snapshot(s)
        try:
            do(IMPLEMENTATION, s)
        except ScheduleError:
            assert all(a is b or a == b for a, b in zip(state, snapshot(s), strict=True)), text
        except (IndexError, TypeError) as error:  # the decision names an axis that is not there
            place = traceback.extract_tb(error.__traceback__)[-1].filename
            if not place.endswith(("random_schedules.py", "te/tensor.py")):
                raise
    again = te.create_schedule(declare(IMPLEMENTATION))
    assert repr(s.trace.replay(again)) == repr(s)
    names = s.trace.names()
    exec(str(s.trace), names)
    assert repr(names["s"]) == repr(s)

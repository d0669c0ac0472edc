"""te-sched doctor: every row is told, whatever happens."""

import json

import pytest

from te_sched.cli import doctor, probes
from te_sched.cli.probes import ABSENT, BROKEN, OK, Probe
from te_sched.errors import CallError
from tests.cli.quick_probes import QUICK


@pytest.fixture
def rows(monkeypatch, te_sched_command):
    """The rows of the doctor for some probes, and how it ended."""

    def look(*some, words=("--json",)):
        monkeypatch.setattr(doctor, "PROBES", some)
        return te_sched_command("doctor", *words)

    return look


def test_doctor_as_json(rows):
    done = rows(*QUICK)
    assert done.exit_code == 0, done.stdout
    data = json.loads(done.stdout)
    states = {row["name"]: row["state"] for row in data["rows"]}
    assert data["ok"] is True
    for name in ("Python", "te_sched", "numpy", "sympy", "LLVM", "processor", "a test"):
        assert states[name] == OK
    assert set(states.values()) <= {OK, ABSENT, BROKEN}


def test_doctor_says_what_to_do(rows):
    def missing():
        raise probes._Absent("no such thing")

    def broken():
        raise CallError("load it", "it is\nbroken")

    done = rows(
        Probe("thing", missing, "doing things", "pip install thing"),
        Probe("other", broken, "more", "see its manual"),
        words=(),
    )
    assert done.exit_code == 0
    assert done.stdout.splitlines() == [
        "absent  thing  no such thing",
        "               for: doing things",
        "               do: pip install thing",
        "broken  other  load it: it is broken",
        "               for: more",
        "               do: see its manual",
        "",
        "te_sched works here; broken, and not needed for it: other.",
    ]


def test_doctor_fails_where_something_needed_is_broken(rows):
    def broken():
        raise OSError("libLLVM.so: cannot open shared object file")

    done = rows(Probe("LLVM", broken, "everything", "install it", needed=True), words=())
    assert done.exit_code == 1
    assert "broken  LLVM  OSError: libLLVM.so" in done.stdout
    assert "does not work: see above" in done.stdout

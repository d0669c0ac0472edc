"""Who is told of schedules that are created, lowered and built."""

import contextlib

import te_sched
from te_sched import te
from te_sched.trace.observing import Observer, observed_by, observers, unobserved


class Listener(Observer):
    def __init__(self):
        self.heard = []

    def created(self, schedule, place):
        self.heard.append(("created", schedule, place.line > 0))

    def lowering(self, inputs, **options):
        self.heard.append(("lowering", inputs, options["name"]))

    def lowered(self, inputs, module):
        self.heard.append(("lowered", inputs, list(module.functions)))

    def building(self, inputs, place, **options):
        self.heard.append(("building", inputs, str(options["target"])))


def program():
    A = te.placeholder((4,), name="A")
    B = te.compute((4,), lambda i: A[i], name="B")
    return te.create_schedule(B.op), [A, B]


def test_observers_are_told_in_order():
    listener = Listener()
    with observed_by(listener), observed_by(Observer()):
        s, args = program()
        te_sched.lower(s, args, name="copy")
        te_sched.build(s, args, target="llvm")
    program()
    assert observers == []
    assert listener.heard[:4] == [
        ("created", s, True),
        ("lowering", s, "copy"),
        ("lowered", s, ["copy"]),
        ("building", s, "llvm"),
    ]


def test_observers_are_told_of_lowerings_that_fail():
    listener = Listener()
    with observed_by(listener):
        s, args = program()
        with contextlib.suppress(te_sched.TeSchedError):
            te_sched.lower(s, args[1:])
    assert [kind for kind, *_ in listener.heard] == ["created", "lowering"]


def test_what_is_made_meanwhile_is_not_observed() -> None:
    listener = Listener()
    with observed_by(listener), unobserved():
        program()
    assert listener.heard == []

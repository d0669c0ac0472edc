"""What the fields of nodes hold."""

from __future__ import annotations

import dataclasses

from te_sched.ir import expr as E
from te_sched.ir import stmt as S
from te_sched.ir.roles import CHILDREN, EVERY_ROLE, Role, role, roles_of


def test_roles_are_in_the_order_of_the_fields() -> None:
    assert list(roles_of(S.For).items())[:5] == [
        ("loop_var", Role.DEFINITION),
        ("min", Role.CHILD),
        ("extent", Role.CHILD),
        ("kind", Role.VALUE),
        ("body", Role.BODY),
    ]
    assert roles_of(S.BufferRealize)["bounds"] is Role.REGION


def test_fields_that_follow_from_others_have_none() -> None:
    assert list(roles_of(E.Add)) == ["a", "b"]


def test_defaults_are_kept() -> None:
    @dataclasses.dataclass
    class Made:
        one: int = role(Role.CHILD, default=3)
        many: list[int] = role(Role.ANNOTATION, default_factory=list)  # noqa: RUF009

    assert (Made().one, Made().many, Made().many is Made().many) == (3, [], False)


def test_values_are_no_role_that_walkers_follow() -> None:
    assert Role.VALUE not in EVERY_ROLE
    assert CHILDREN < EVERY_ROLE

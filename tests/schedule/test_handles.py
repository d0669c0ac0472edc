"""What the trace of a schedule knows of tensors, axes and stages."""

from __future__ import annotations

import pytest

from te_sched import te
from te_sched.schedule.handles import StageOf, TensorHandles, entry_text
from tests.schedule.programs import chain, pair, product


def test_stages_are_named_by_the_tensor_that_lasts() -> None:
    p = product()
    handles = p.s.trace.handles
    reference = handles.reference(p.s[p.C])
    p.s.cache_write(p.C, "local")
    assert isinstance(reference, StageOf)
    assert (reference.handle, reference.name, reference.text("C")) == (p.C, "C", "s[C]")
    assert reference.resolve(p.s, p.C) is p.s[p.C]


def test_groups_stand_for_themselves() -> None:
    p = chain()
    group = p.s.create_group(outputs=p.C, inputs=p.A)
    assert p.s.trace.handles.reference(group) is group
    assert p.s.trace.handles.name_of(group, 0) == "group"


@pytest.mark.parametrize(
    ("make", "name"),
    [
        (lambda p: p.k, "k"),
        (lambda p: p.C, "C"),
        (lambda p: lambda i: i, "mapping"),
        (lambda p: 3, None),
    ],
)
def test_names_are_the_users(make: object, name: str | None) -> None:
    assert TensorHandles().name_of(make(product()), 7) == name  # type: ignore[operator]


def test_axes_are_introduced_where_they_are_used_first() -> None:
    p = product()
    p.s[p.C].split(p.k, factor=4)
    p.s[p.C].unroll(p.C.op.axis[0])
    p.s[p.C].bind(p.C.op.axis[1], te.thread_axis((0, 8), "threadIdx.x"))
    lines = [line for line in str(p.s.trace).splitlines() if line.startswith(("i", "k", "(k", "t"))]
    assert any(line.endswith("s[C].op.reduce_axis") for line in lines)
    assert sum(line.endswith("s[C].op.axis") for line in lines) == 1
    assert any("te.thread_axis((0, 8), 'threadIdx.x')" in line for line in lines)


def test_the_signature_tells_declarations_apart() -> None:
    one, again, other = chain().s, chain().s, pair().s
    assert one.trace.handles.signature == again.trace.handles.signature
    assert ("B", "ComputeOp", [1, 1]) in other.trace.handles.signature


def test_the_text_of_an_entry() -> None:
    p = product()
    p.s[p.C].split(p.k, nparts=4)
    assert entry_text(p.s.trace.entries[-1]).endswith("s[C].split(k, nparts=4)")

"""cache_read and cache_write."""

from __future__ import annotations

from te_sched import te
from tests.schedule.programs import chain, leaves, pair, product, stages


def test_cache_read_puts_a_copy_between() -> None:
    p = product()
    copy = p.s.cache_read(p.A, "shared", [p.C])
    assert stages(p.s) == "A, A.shared, B, C, D"
    assert leaves(p.s[copy]) == "ax0, ax1"
    assert p.s[p.C].op.input_tensors == (copy, p.B)
    assert p.s[p.C].op is not p.C.op
    assert p.s[p.D].op.input_tensors == (p.s[p.C].op.output(0),)


def test_cache_read_again_has_another_name() -> None:
    A = te.placeholder((8,), name="A")
    readers = [te.compute((8,), lambda i: A[i] + 1, name=f"B{n}") for n in range(3)]
    s = te.create_schedule(readers)
    names = [s.cache_read(A, "shared", reader).op.name for reader in readers]
    assert names == ["A.shared", "A.d.shared", "A.d.d.shared"]


def test_cache_read_for_a_reader_of_a_reader() -> None:
    A = te.placeholder((8,), name="A")
    B = te.compute((8,), lambda i: A[i] + 1, name="B")
    C = te.compute((8,), lambda i: A[i] + B[i], name="C")
    s = te.create_schedule(C)
    copy = s.cache_read(A, "local", [C, B])
    assert s[C].op.input_tensors == (copy, s[B].op.output(0))


def test_cache_write_computes_in_the_copy() -> None:
    p = product()
    copy = p.s.cache_write(p.C, "local")
    assert stages(p.s) == "A, B, C.local, C, D"
    assert leaves(p.s[copy]) == "i.c, j.c, k"
    assert leaves(p.s[p.C]) == "i, j"
    assert p.s[p.C].op.axis == p.C.op.axis
    assert p.s[p.C].op.input_tensors == (copy,)


def test_cache_write_keeps_the_layout_of_the_loops() -> None:
    p = chain()
    outer, inner = p.s[p.D].split(p.D.op.axis[0], factor=5)
    p.s[p.D].reorder(p.D.op.axis[1], outer, inner)
    copy = p.s.cache_write(p.D, "local")
    assert leaves(p.s[copy]) == "j.c, i.outer.c, i.inner.c"
    assert str(p.s[p.D].op.body[0]) == "D.local[j, i // 5, i % 5]"
    assert str(p.s[copy].op.body[0]).startswith("T.Select(i_inner_c + i_outer_c * 5 < 16, ")


def test_cache_write_of_all_outputs() -> None:
    p = pair()
    first, second = p.s.cache_write([p.B0, p.B1], "local")
    assert (first.op, second.value_index) == (second.op, 1)
    assert stages(p.s) == "A, B.local, B, C"
    assert p.s[p.C].op.input_tensors == p.s[p.B0].op.outputs

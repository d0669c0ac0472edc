"""What print shows of tensors and of their parts: TVM's text."""

from te_sched import te


def test_tensors_and_shapes():
    a = te.placeholder((3, te.var("n")), name="a")
    assert str(a) == "Tensor(shape=[3, n], op.name=a)"
    assert str(a.shape) == "[3, n]"


def test_parts_of_a_computation():
    a = te.placeholder((3, 4), name="a")
    k = te.reduce_axis((0, 4), name="k")
    b = te.compute((3,), lambda i: te.sum(a[i, k], axis=k), name="b")
    assert str(b.op.axis) == '[T.iter_var(i, T.Range(0, 3), "DataPar", "")]'
    assert str(b.op.reduce_axis) == '[T.iter_var(k, T.Range(0, 4), "CommReduce", "")]'
    assert str(b.op.body).startswith("[T.reduce(")
    assert str(b.op.input_tensors) == "[Tensor(shape=[3, 4], op.name=a)]"

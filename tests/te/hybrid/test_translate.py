"""Hybrid scripts: as operations they compute what they compute as Python on numpy arrays."""

import numpy as np
import pytest

from te_sched import build, lower, te, tir
from te_sched.errors import DeclarationError
from te_sched.te.hybrid import script
from tests.te.hybrid.checked import check, outer, refused


def test_outer_product_of_symbolic_size():
    n, m = te.var("n"), te.var("m")
    check(outer, n, m, te.placeholder((n,), name="a"), te.placeholder((m,), name="b"))


def test_scalars_live_in_their_loop():
    @script
    def smooth(a):
        three = 3.0
        b = output_tensor((a.shape[0] - 2,), a.dtype)  # noqa: F821
        for i in range(a.shape[0] - 2):
            total = 0.0
            for k in range(3):
                total += a[i + k]
            total = total / three
            b[i] = total
        return b

    check(smooth, te.placeholder((12,), name="a"))


def test_kinds_of_loops():
    @script
    def copies(a):
        b = output_tensor((16,), "float32")  # noqa: F821
        c = output_tensor((16,), "float32")  # noqa: F821
        d = output_tensor((16,), "float32")  # noqa: F821
        for i in parallel(16):  # noqa: F821
            b[i] = a[i] + 1
        for j in vectorize(16):  # noqa: F821
            c[j] = a[j] * 2.0
        for k in unroll(0, 16):  # noqa: F821
            d[k] = a[k] - 3.0
        return b, c, d

    a = te.placeholder((16,), name="a")
    check(copies, a)
    outs = copies(a)
    text = str(lower(te.create_schedule(outs[0].op), [a, *outs]))
    assert "T.parallel(16)" in text
    assert "[0:16]" in text
    assert text.count("T.float32(3)") == 16


def test_conditions():
    @script
    def pick(a):
        b = output_tensor((10,), "int32")  # noqa: F821
        for i in range(10):
            if 2 <= i < 5 and not (a[i] == 7 or a[i] < 2):
                b[i] = a[i]
            elif i % 2 == 0 or i > 8:
                b[i] = -1 if i % 3 == 0 else 1
            else:
                b[i] = i // 2
        return b

    check(pick, te.placeholder((10,), "int32", name="a"))


def test_functions():
    @script
    def many(a):
        b = output_tensor((8,), "float32")  # noqa: F821
        b[0] = sqrt(a[0])  # noqa: F821
        b[1] = log(a[1])  # noqa: F821
        b[2] = sigmoid(a[2])  # noqa: F821
        b[3] = power(a[3], 2.0)  # noqa: F821
        b[4] = min(a[4], a[5])
        b[5] = max(a[5], a[6], a[7])
        b[6] = float32(int32(a[6]) + 1)  # noqa: F821
        b[7] = tanh(a[7]) + exp(-a[7])  # noqa: F821
        return b

    check(many, te.placeholder((8,), name="a"))


def test_memory_of_its_own():
    @script
    def rows(a):
        b = output_tensor((6, 6), "float32")  # noqa: F821
        for i in range(6):
            row = allocate((8,), "float32", "local")  # noqa: F821
            for j in range(8):
                row[j] = a[i, j] + a[i + 1, j] + a[i + 2, j]
            for j in range(6):
                b[i, j] = (row[j] + row[j + 1] + row[j + 2]) / 9.0
        return b

    check(rows, te.placeholder((8, 8), name="a"))


def test_values_known_when_declared():
    table, chosen = [[1, 2], [3, 4]], 1

    @script
    def weighted(arrays, weights, offset):
        out = output_tensor(arrays[0].shape, "float32")  # noqa: F821
        for i in range(10):
            out[i] = 0.0
            for j in const_range(min(len(arrays), 3)):  # noqa: F821
                out[i] += arrays[j][i] * weights[j] + offset + table[chosen][0]
        return out

    arrays = [te.placeholder((10,), name=f"t{k}") for k in range(3)]
    out = weighted(arrays, [1, 2, 3], 5)
    values = [np.random.rand(10).astype("float32") for _ in arrays]
    found = np.zeros(10, "float32")
    build(te.create_schedule(out.op), [*arrays, out])(*values, found)
    np.testing.assert_allclose(found, weighted(values, [1, 2, 3], 5), rtol=1e-5)


def test_between_other_stages():
    a = te.placeholder((4,), name="a")
    b = te.compute((4,), lambda i: a[i] + 1.0, name="b")
    c = outer(4, 4, a, b)
    d = te.compute((4, 4), lambda i, j: c[i, j] * 2.0, name="d")
    x, out = np.random.rand(4).astype("float32"), np.zeros((4, 4), "float32")
    build(te.create_schedule(d.op), [a, d])(x, out)
    np.testing.assert_allclose(out, np.outer(x, x + 1) * 2, rtol=1e-5)


def test_threads_are_printed():
    @script
    def add(a):
        c = output_tensor((64,), "float32")  # noqa: F821
        for block in bind("blockIdx.x", 4):  # noqa: F821
            for thread in bind("threadIdx.x", 16):  # noqa: F821
                c[block * 16 + thread] = a[block * 16 + thread] + 1.0
        return c

    a = te.placeholder((64,), name="a")
    c = add(a)
    text = str(lower(te.create_schedule(c.op), [a, c]))
    assert 'T.launch_thread("blockIdx.x", 4)' in text
    assert "blockIdx_x * 16 + threadIdx_x" in text


def test_script_rejects_a_write_of_an_input():
    @script
    def wrong(a):
        a[0, 0] = 1.0
        return a

    refused(wrong, r"hybrid script: inputs and constants cannot be written: a\[0, 0\] =")


def test_script_rejects_fractions_in_a_counter():
    @script
    def wrong(a):
        b = output_tensor((4,), "float32")  # noqa: F821
        for i in range(4):
            total = 0
            for j in range(4):
                total += a[i, j]
            b[i] = total
        return b

    refused(wrong, "hybrid script: total has dtype int32, but the value float32: tot")


def test_script_rejects_too_few_indices():
    @script
    def wrong(a):
        b = output_tensor((4,), "float32")  # noqa: F821
        for i in range(4):
            b[i] = a[i]
        return b

    refused(wrong, r"hybrid script: a has 2 dimensions but 1 indices are given: a\[i\]")


def test_script_rejects_while():
    @script
    def wrong(a):
        b = output_tensor((4,), "float32")  # noqa: F821
        while True:
            b[0] = 1.0
        return b

    refused(wrong, "no While")


def test_script_rejects_a_word_that_is_not_there():
    @script
    def wrong(a):
        b = output_tensor((4,), "float32")  # noqa: F821
        b[0] = nothing(a[0, 0])  # noqa: F821
        return b

    refused(wrong, "hybrid script: name nothing is not defined\n")


def test_script_rejects_another_return():
    @script
    def wrong(a):
        b = output_tensor((4,), "float32")  # noqa: F821
        b[0] = 1.0
        return a

    refused(wrong, "something else than all its output tensors")


def test_variable_of_both_branches_is_known_after_them():
    @script
    def steps(a):
        b = output_tensor(a.shape, a.dtype)  # noqa: F821
        for i in range(a.shape[0]):
            if a[i] > 5:
                level = a[i] - 5
            else:
                level = a[i] * 2
                unused = 1
                unused += 1
            b[i] = level
        return b

    check(steps, te.placeholder((9,), "int32", name="a"))


def test_texts_are_those_of_loops_over_tensors():
    @script
    def halves(a):
        b = output_tensor((4,), a.dtype)  # noqa: F821
        for i in range(4):
            assert a[i] > 0.0, "positive"
            first = a[i]
            b[i] = first * 0.5
        return b

    a = te.placeholder((4,), name="a")
    b = halves(a)
    text = str(lower(te.create_schedule(b.op), [a, b])).partition("T.attr")[2]
    assert text.splitlines()[1:] == [
        "        for i in range(4):",
        '            with T.Assert(T.float32(0) < a[i], "positive"):',
        "                T.evaluate(0)",
        "            first_1 = T.Buffer((1,), data=first, align=4)",
        "            first_1[0] = a[i]",
        "            halves[i] = first_1[0] * T.float32(0.5)",
    ]


def test_what_is_known_when_read_rejects_a_change_at_run_time():
    @script
    def counted(a):
        b = output_tensor((4,), "float32")  # noqa: F821
        for i in range(4):
            if a[i] > 1.0:
                i = 0
            b[i] = a[i]
        return b

    with pytest.raises(
        DeclarationError, match="hybrid script: i is a compile-time constant, which cannot change"
    ):
        counted(te.placeholder((4,), name="a"))


def test_what_is_swapped_is_read_before_it_is_written():
    @script
    def turned(a, b):
        c = output_tensor((9,), "float32")  # noqa: F821
        d = output_tensor((9,), "float32")  # noqa: F821
        for i in range(9):
            c[i], d[i] = a[i], b[i]
        for i in range(9):
            c[i], d[i] = d[i], c[i]
        c[0], c[1], c[2] = c[1], c[2], c[0]
        x = 1.0
        y = 2.0
        for i in range(9):
            x, y = y, x + y
            kept = (d[i], c[i])
            c[i] = kept[0] * x
            d[i] = kept[1] + y
        return c, d

    check(turned, te.placeholder((9,), name="a"), te.placeholder((9,), name="b"))


def test_bounds_of_loops_are_read_once():
    @script
    def moved(a):
        b = output_tensor((9,), "int32")  # noqa: F821
        for i in range(9):
            b[i] = ~i
        low = 2
        high = 7
        for i in range(low, high):
            low = 0
            high = high - 2
            b[i] = high
        return b

    check(moved, te.placeholder((9,), name="a"))


def test_arguments_of_inner_scripts_are_read_before_they_are_written():
    @script
    def put(first, c):
        c[0] = 5.0
        c[1] = first
        return c

    @script
    def outer(a):
        c = output_tensor((9,), "float32")  # noqa: F821
        for i in range(9):
            c[i] = a[i]
        put(c[0], c)
        return c

    @script
    def within(a):
        c = output_tensor((9,), "float32")  # noqa: F821
        c[2] = c[0] + put(a[0], c)[1]
        return c

    a = te.placeholder((9,), name="a")
    check(outer, a)
    with pytest.raises(
        DeclarationError, match="hybrid script: the call writes c, which the expression around it"
    ):
        within(a)


def _shadowing(a):
    b = output_tensor((9,), "int32")  # noqa: F821
    i = 7
    for i in range(9):
        b[i] = 1
    b[0] = i
    return b


def _leaking(a):
    b = output_tensor((9,), "int32")  # noqa: F821
    for counts in range(9):
        b[counts] = 1
    b[0] = counts
    return b


def _returning(a):
    b = output_tensor((9,), "int32")  # noqa: F821
    for i in range(9):
        b[i] = 1
        return b


def _listing(a):
    b = output_tensor((9,), "int32")  # noqa: F821
    seen = []
    for i in range(9):
        seen.append(i)
        b[i] = len(seen)
    return b


def _narrowing(a):
    b = output_tensor((9,), "int64")  # noqa: F821
    for i in range(9):
        x = 0
        x = int64(i) * 3000000000  # noqa: F821
        b[i] = x
    return b


def _rounding(a):
    b = output_tensor((9,), "float64")  # noqa: F821
    for i in range(9):
        x = 0.0
        x = x + float64(i)  # noqa: F821
        b[i] = x
    return b


counts = 3  # a name of the module, which Python does not see in a function that binds it


@pytest.mark.parametrize(
    ("function", "why"),
    [
        (_shadowing, "hybrid script: the loop would overwrite i, which has a value bef"),
        (_leaking, "hybrid script: name counts is not defined here"),
        (_returning, "hybrid script: a return inside of a loop or a condition is not s"),
        (_listing, "hybrid script: a Python collection cannot change at run time: se"),
        (_narrowing, "hybrid script: x has dtype int32, but the value int64: x = int64"),
        (_rounding, "hybrid script: x has dtype float32, but the value float64: x = x"),
    ],
)
def test_what_python_computes_otherwise_is_refused(function, why):
    with pytest.raises(DeclarationError, match=why):
        script(function)(te.placeholder((9,), name="a"))


def test_body_is_over_tensors():
    @script
    def window(a):
        three = 3.0
        out = output_tensor((a.shape[0] - 2,), a.dtype)  # noqa: F821
        for i in range(a.shape[0] - 2):
            total = 0.0
            for k in range(3):
                total += a[i + k]
            total = total / three
            out[i] = total
        return out

    n = te.size_var("n")
    a = te.placeholder((n,), name="a")
    loop = window(a).op.body
    assert isinstance(loop, tir.For)
    realize = loop.body
    assert isinstance(realize, tir.ProducerRealize)
    assert realize.producer.op.name == "total"
    first, add, divide, store = realize.body
    assert isinstance(first, tir.ProducerStore)
    assert add.body.value.b.producer is a
    assert str(divide) == "total[0] = total[0] * T.float32(0.33333333333333331)"
    assert store.producer.op.name == "out"
    assert str(realize).startswith('with T.realize(total[0:1], "global"):')


def test_script_rejects_a_lambda():
    with pytest.raises(
        DeclarationError, match=r"te\.hybrid\.script needs a Python .* got a lambda"
    ):
        script(lambda a: a)


def test_script_rejects_an_async_function():
    @script
    async def wrong(a):
        return a

    with pytest.raises(DeclarationError, match="hybrid script wrong is not written as a `def`"):
        wrong(te.placeholder((4,), name="a"))

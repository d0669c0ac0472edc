"""The table of hostile values, as Python expressions."""

from __future__ import annotations

NUMBERS = (
    *("-1", "0", "1", "3", "2**31", "-(2**63)", "2**63", "10**30", "10**5000", "1.5", "-0.0"),
    *("float('nan')", "float('inf')", "1e300", "1j", "True"),
    *("np.int64(2)", "np.uint64(2**64 - 1)", "np.float32('nan')", "np.bool_(True)"),
    *("np.datetime64('now')", "decimal.Decimal('NaN')", "fractions.Fraction(1, 3)"),
)
CONTAINERS = (
    *("None", "()", "[]", "(1,)", "(-1, 4)", "(4, None)", "(0, 8)", "(2**40, 2**40)", "('a',)"),
    *("[[1]]", "{}", "{1: 2}", "{'a': 1}", "{1, 2}", "(i for i in (4, 4))", "range(3)"),
    *("np.zeros(3)", "np.zeros((2, 2), 'int64')", "np.array(['a'])", "np.array([], 'O')"),
    *("(float('nan'), 4)", "(1.5, 2)", "(True, 4)", "[4] * 100", "words.endless()"),
    *("words.nested(5000)",),
)
TEXTS = (
    *("''", "'nonsense'", "'float33'", "'int32x0'", "'int32x-1'", "'float32x99999999999'"),
    *("'handle'", "'float64'", "'llvm -x'", "'cuda'", "b'x'", "'NCHW4c'", "'A' * 10000", "'i,j->'"),
)
OBJECTS = (
    *("object()", "int", "lambda: None", "lambda *a: None", "lambda *a: 'x'", "lambda *a, q: 1"),
    *("print", "len", "...", "te_sched", "words.Unshown()", "range", "slice(None)", "iter(())"),
    *("Exception('x')", "np.dtype('complex64')", "np.float16", "bytearray(8)", "lambda *a: a"),
)
OURS = (
    *("te.var('n')", "te.var('n') + 1", "te.var('h', 'handle')", "te.var('f', 'float32')"),
    *("te.var('n', 'int64')", "te.const(0)", "te.const(-1, 'int8')", "te.const(2.5)"),
    *("tir.Broadcast(1, 4)", "tir.StringImm('x')", "te.const(True)", "te.max_value('uint64')"),
    *("words.vector()", "words.matrix('int32')", "words.image()", "words.placed()"),
    *("words.placed(0, 4)", "words.placed(te.var('n'), 4)", "words.placed(1, 1, 1, 1, 1, 1, 1)"),
    *("words.placed(2**40, 2**40)", "words.placed(4, dtype='float32x4')", "words.computed()"),
    *("words.placed(4, dtype='handle')", "words.matrix('bool')", "words.matrix('uint8')"),
    *("words.summed()", "words.summed().op", "words.matrix()[0, 0]", "words.matrix()[0]"),
    *("te.reduce_axis((0, 8))", "te.thread_axis('threadIdx.x')", "words.Scheduled().j"),
    *("words.summed().op.body[0]", "te.sum", "words.schedule()", "words.Scheduled().stage"),
    *("tir.decl_buffer((8,))", "words.program()", "words.program()['main']", "words.built()"),
    *("words.ones()", "te_sched.cpu(0)", "te_sched.target.Target('cuda')", "words.statement()"),
    *("[words.vector(), words.vector()]", "te_sched.Range(0, 4)", "words.adder()"),
    *("words.deep(3000)", "te.AXIS_SEPARATOR", "te_sched.cpu(-1)"),
)
SYMPY = (
    *("sympy.oo", "sympy.nan", "sympy.zoo", "sympy.Rational(1, 2)", "sympy.I", "sympy.pi"),
    *(
        "sympy.Symbol('x')",
        "sympy.Integer(10) ** 30",
        "sympy.Piecewise((1, sympy.Symbol('x') > 0))",
    ),
    *("sympy.sympify(te.var('n')) / 2", "sympy.Matrix([1])", "sympy.true", "sympy.Float(2.5)"),
)
ALL = (*NUMBERS, *CONTAINERS, *TEXTS, *OBJECTS, *OURS, *SYMPY)
# A few of each kind, for normal runs of the tests.
FEW = (
    *("-1", "10**5000", "float('nan')", "None", "(-1, 4)", "('a',)", "np.zeros(3)", "'nonsense'"),
    *("words.endless()", "lambda: None", "te.var('n')", "words.matrix('bool')"),
    *("words.schedule()", "sympy.oo"),
)

"""Invalid or hostile lines of users, anywhere in a program.

Most arguments are of the right kind, but of the wrong stage, size or time; others are arbitrary.
Must not know whether a line is legal.
"""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Sequence
from dataclasses import replace

from tests.peer.differential.program import Program, Value

NUMBERS = (
    *("1", "2", "3", "4", "7", "8", "16", "32", "100") * 3,
    *("0", "-1", "-4", "2**20", "2**31 - 1", "2**31", "2**40", "2**63", "10**30", "2.5", "4.0"),
    *("None", '"4"', "True", "te.const(4)", 'te.var("q")', "float('nan')", "float('inf')"),
    *("np.int64(4)", "np.float32(2)", "np.array([2, 3])", "[]", "te.const(2.5)", "lambda: 4"),
    *('te.const(4, "int64")', 'te.var("q") + 1', "-te.const(4)", 'te.size_var("z")', "object()"),
)
JUNK = (
    *("None", "3", '"x"', "[]", "()", "{}", "object()", "2.5", "te", "lambda *a: None"),
    *("te.var('q')", "te.const(1)", "strange_tensor()", "strange_stage()", "s", "np.zeros(3)"),
    *("strange_tensor().op", "te.reduce_axis((0, 4))", "True", "b'x'", "...", "NotImplemented"),
)
SCOPES = (
    *('"global"', '"local"', '"shared"', '"warp"', '"shared.dyn"', '"local.x"', '"texture"'),
    *('"wmma.accumulator"', '""', '"nonsense"', '"Global"', '"global "', '"."', '"local."'),
)
THREADS = (
    *('"threadIdx.x"', '"threadIdx.y"', '"blockIdx.x"', '"vthread"', '"vthread.x"', '"cthread"'),
    *('"threadIdx.w"', '"blockIdx.x "', '"thread"', '""', "None", "3"),
)
PRAGMAS = (
    *('"auto_unroll_max_step"', '"unroll_explicit"', '"unroll"', '"vectorize"', '"hint"', '""'),
    *('"parallel"', '"nontemporal"', '"parallel_grain"', '"parallel_stride_pattern"', "None"),
    *('"import_llvm"', '"double_buffer_scope"', '"thread_extent"', "7"),
    *('"tensor_core"', '"layout_transform"', '"parallel_launch_point"', '"loop_partition_hint"'),
)


class Mischief:
    """Hostile lines for a program."""

    def __init__(self, rng: random.Random, program: Program) -> None:
        self.rng, self.program = rng, program
        self.count = 0

    # The schedule

    def spoil_schedule(self, lines: Sequence[str], count: int) -> tuple[str, ...]:
        """The lines of a schedule with inserted hostile ones."""
        found = list(lines)
        for _ in range(count):
            place = self.rng.randint(0, len(found))
            if found and self.rng.random() < 0.15:
                place = self.rng.randrange(len(found))
                found[place] = self._changed(found[place])
            elif found and self.rng.random() < 0.1:
                found.insert(place, self.rng.choice(found))
            elif len(found) > 1 and self.rng.random() < 0.05:
                found.pop(place % len(found))
            else:
                found[place:place] = self._line(found[:place]).split("; ")
        return tuple([_shorter(line, bool(self.program.sizes)) for line in found])

    def _changed(self, line: str) -> str:
        """A line with another number, axis or scope."""
        numbers = list(re.finditer(r"(?<==)\d+(?![\d*])|(?<=, )\d+(?=[,)])", line))
        if numbers:
            one = self.rng.choice(numbers)
            return line[: one.start()] + self.rng.choice(NUMBERS) + line[one.end() :]
        return line

    def _line(self, before: Sequence[str]) -> str:
        words = _Words(self.rng, self.program, before)
        if self.rng.random() < 0.25:
            return self._known_mistake(words)
        name, kinds = self.rng.choice(_METHODS)
        arguments = [getattr(words, f"any_{kind}")() for kind in kinds]
        if self.rng.random() < 0.04:
            arguments = arguments[:-1]
        if name in ("split", "rolled"):
            arguments[1:] = [f"{self.rng.choice(('factor', 'nparts'))}={a}" for a in arguments[1:]]
        if self.rng.random() < 0.03 and arguments:
            arguments.append(arguments[-1])
        owner = "s" if name in _OF_SCHEDULE else words.any_stage()
        self.count += 1
        result = {"split": f"h{self.count}o, h{self.count}i = ", "fuse": f"h{self.count}f = "}
        for made in ("cache_read", "cache_write", "rfactor", "create_group"):
            result[made] = f"H{self.count} = "
        return f"{result.get(name, '')}{owner}.{name}({', '.join(arguments)})"

    def _known_mistake(self, words: _Words) -> str:
        """Common mistakes: races, omitted guards, inverted attachments."""
        self.count += 1
        stage, number = words.any_stage(), self.rng.randrange(3)
        names = f"h{self.count}o, h{self.count}i"
        factor = self.rng.choice((2, 3, 4, 5, 7, 16, 100))
        axis = self.rng.choice((f"leaf({stage}, {number})", f"reduced({stage}, 0)"))
        how = self.rng.choice(("parallel", "vectorize", "unroll"))
        option = self.rng.choice(("factor", "nparts"))
        threads = self.rng.choice(("vthread", "threadIdx.x", "blockIdx.x", "cthread"))
        choices = [
            f"{stage}.{how}(reduced({stage}, 0))",
            f"{stage}.{how}(leaf({stage}, -1))",
            f'{stage}.bind({axis}, te.thread_axis("{threads}"))',
            f"{names} = {stage}.split({axis}, {option}={factor}, disable_predication=True)",
            f"{names} = {stage}.split({axis}, {option}={factor}); {stage}.{how}(h{self.count}i)",
            f"{names} = {stage}.split({axis}, {option}={factor}); {stage}.{how}(h{self.count}o)",
            f"{stage}.compute_at({words.any_reader()}, {axis})",
            f"{words.any_reader()}.compute_at({stage}, {axis})",
            f"{stage}.reorder(*{stage}.leaf_iter_vars[::-1])",
            f"{stage}.set_store_predicate(leaf({stage}, {number}).var < {factor})",
            f"{stage}.storage_align(own({stage}, 0), {factor}, {number}); {stage}.double_buffer()",
        ]
        return self.rng.choice(choices)

    # The arguments of build

    def spoil_arguments(self) -> tuple[str, ...]:
        """A line that changes the list of arguments of `build`."""
        name = self.rng.choice(self.program.arguments)
        place = self.rng.randrange(len(self.program.arguments))
        stages = [one for value in self.program.values for one in value.names]
        return (
            self.rng.choice(
                (
                    f"args.pop({place})",
                    f"args.append(args[{place}])",
                    "args = args[::-1]",
                    f"args[{place}] = strange_tensor()",
                    f"args[{place}] = None",
                    f"args[{place}] = {name}.op",
                    f"args[{place}] = '{name}'",
                    "args = None",
                    "args = []",
                    "args = tuple(args)",
                    "args = args[0]",
                    "args = iter(args)",
                    f"args.append({self.rng.choice(stages)})",
                    "args.append(te.var('q'))",
                    "args.append(tir.decl_buffer((4,)))",
                    "args.append(3)",
                    f"args[{place}] = tir.decl_buffer({name}.shape, {name}.dtype)",
                    f"args[{place}] = te.placeholder({name}.shape, {name}.dtype, name='{name}')",
                    "s = te.create_schedule(strange_tensor().op)",
                    f"s = te.create_schedule({self.rng.choice(stages)}.op)",
                    "s = s.normalize()",
                    "args.append(args)",
                )
            ),
        )

    # The call

    def spoil_call(self) -> tuple[str, ...]:
        """Lines that change the list of arrays of a call."""
        return tuple(self._spoiled_call() for _ in range(self.rng.choice((1, 1, 1, 2))))

    def _spoiled_call(self) -> str:
        count = len(self.program.arguments)
        place, other = self.rng.randrange(count), self.rng.randrange(count)
        a, b = f"arrays[{place}]", f"arrays[{other}]"
        dtype = self.rng.choice(
            (
                "float32",
                "float64",
                "int32",
                "int8",
                "uint8",
                "bool",
                ">f4",
                "complex64",
                "object",
                "S4",
            )
        )
        return self.rng.choice(
            (
                f"{a} = {a}.astype('{dtype}')",
                f"{a} = {a}.tolist()",
                f"{a} = None",
                f"{a} = 3",
                f"{a} = {a}.T",
                f"{a} = {a}[::-1]",
                f"{a} = {a}[1:]",
                f"{a} = {a}[:-1]",
                f"{a} = {a}[..., ::2]",
                f"{a} = {a}[:0]",
                f"{a} = {a}[None]",
                f"{a} = {a}.reshape(-1)",
                f"{a} = np.asfortranarray({a})",
                f"{a} = np.repeat({a}, 2, -1)[..., ::2]",
                f"{a} = np.concatenate([{a}, {a}])",
                f"{a} = np.concatenate([{a}, {a}])[:{a}.shape[0]]",
                f"{a} = {b}",
                f"{a} = {b}.reshape(-1)[:{a}.size].reshape({a}.shape).view()",
                f"{a} = np.broadcast_to({a}.reshape(-1)[:1], {a}.shape)",
                f"{a}.setflags(write=False)",
                f"{a} = np.frombuffer({a}.tobytes(), {a}.dtype).reshape({a}.shape)",
                f"{a} = np.frombuffer(b'x' + {a}.tobytes() + b'xxxxxxxx', {a}.dtype, {a}.size, 1)"
                f".reshape({a}.shape)",
                f"{a} = np.ma.masked_array({a})",
                f"{a} = np.matrix({a})",
                f"{a} = {a}.view(np.recarray)",
                f"{a} = memoryview({a})",
                f"{a} = {a}.tobytes()",
                f"{a} = te_sched.nd.array({a})",
                f"{a} = te_sched.nd.array({a}, te_sched.emulated_cuda(0))",
                f"{a} = te_sched.nd.empty((3,))",
                f"{a} = np.float32(2)",
                f"{a} = np.zeros((), {a}.dtype)",
                f"{a} = args[{place}]",
                f"{a} = '{place}'",
                "arrays.pop()",
                f"arrays.pop({place})",
                f"arrays.append({a})",
                "arrays.append(None)",
                "arrays.reverse()",
                "arrays = [arrays]",
                "arrays.clear()",
                f"{a} = np.lib.stride_tricks.as_strided({a}, {a}.shape, (0,) * {a}.ndim)",
                f"{a} = np.zeros({a}.shape[:-1] + ({a}.shape[-1] + 1,), {a}.dtype)[..., :-1]",
                f"{a} = np.zeros({a}.shape[:-1] + ({a}.shape[-1] + 1,), {a}.dtype)[..., 1:]",
                # The owner is kept: the interface alone does not keep the memory.
                f"{a} = type('Array', (), {{'__array_interface__': {a}.__array_interface__, "
                f"'owner': {a}}})()",
                f"{a} = {a}.view(type('Sub', (np.ndarray,), {{}}))",
            )
        )

    # Declarations

    def spoil_declarations(self) -> Program:
        """The program with one changed declaration, for which numpy's result is unknown."""
        places = [n for n, value in enumerate(self.program.values) if not value.is_placeholder]
        place = self.rng.choice(places)
        value = self.program.values[place]
        change: Callable[[Value], Value] = self.rng.choice(
            (self._other_body, self._other_shape, self._other_index, self._other_axis)
        )
        spoiled = replace(change(value), numpy=("None",) * len(value.names))
        values = list(self.program.values)
        values[place] = spoiled
        return replace(self.program, values=tuple(values))

    def _other_body(self, value: Value) -> Value:
        def other(line: str) -> str:
            found = re.match(r"(.*te\.compute\(.*?, lambda )([^:]*)(: )(.*)(, name=.*)", line)
            if not found:
                return line
            head, names, colon, body, tail = found.groups()
            names, body = self.rng.choice(
                (
                    (names, "None"),
                    (names, "'x'"),
                    (names, "[]"),
                    (names, "()"),
                    (names, f"({body}, None)"),
                    (names, f"[{body}, {body}]"),
                    (names, f"({body}) if i > 1 else 0"),
                    (names, f"({body}) and 1"),
                    (names, f"float({body})"),
                    (names, f"{body} + te.var('free')"),
                    (names, f"te.sum({body}, axis=te.reduce_axis((0, 3)))"),
                    (names, f"{body} + te.sum(i, axis=te.reduce_axis((0, 3)))"),
                    (names, f"te.sum({body}, axis=i)"),
                    (names, f"te.max({body}, axis=[])"),
                    (names, f"te.max({body}, axis=None)"),
                    (names, f"te.if_then_else({body}, 1, 2)"),
                    (names, f"te.if_then_else(i > 1, {body}, 'x')"),
                    (names, f"tir.Select(i, {body}, {body})"),
                    (names, f"tir.call_extern('float32', 'no_such_function', {body})"),
                    (names, "tir.call_pure_extern('int32', 'abs')"),
                    (names, f"tir.call_intrin('float32', 'tir.nonsense', {body})"),
                    (names, f"({body}) // 0"),
                    (names, f"({body}) % te.const(0)"),
                    (names, f"({body}) << 70"),
                    (names, f"({body}) + 10**40"),
                    (names, f"({body}) + float('nan')"),
                    (names, f"({body}) * 1e400"),
                    (names, f"({body}).astype('nonsense')"),
                    (names, f"({body}).astype('float32x4')"),
                    (names, f"({body}).astype('handle')"),
                    (names, f"({body}).astype('int7')"),
                    (names, f"({body}).astype('bool')"),
                    (names, f"({body}).nonsense"),
                    (names, "self"),
                    (names, "i"),
                    (names, "lambda: i"),
                    (names, "s"),
                    (names, "te"),
                    (names, "te.placeholder((3,))"),
                    (names, "te.compute((3,), lambda q: i + q)[0]"),
                    (f"{names}, another", body),
                    ("", body),
                    ("*" + names.split(",")[0], body),
                    (f"{names}=None", body),
                    (f"{names}, **more", body),
                )
            )
            return f"{head}{names}{colon}{body}{tail}"

        return self._with_last_line(value, other)

    def _other_shape(self, value: Value) -> Value:
        def other(line: str) -> str:
            found = re.match(r"(.*te\.(?:compute|extern|placeholder)\()(\(.*?\))(, .*)", line)
            if not found:
                return line
            head, given, tail = found.groups()
            first = given.strip("(),").split(",")[0]
            wrong = self.rng.choice(
                (
                    f"({first}, -1)",
                    f"-{first}",
                    f"({first}, None)",
                    f"({first}, 2.5)",
                    f"({first}, 'x')",
                    "()",
                    "None",
                    "'x'",
                    "te.var('free')",
                    "(2**31, 2**31)",
                    "(2**62, 8)",
                    "10**30",
                    f"({first}, 0)",
                    f"({first}, True)",
                    f"[{first}]",
                    f"({first}, {first}, 1)",
                    f"(te.var('free'), {first})",
                    f"(te.const({first}, 'int64'),)",
                    f"({first}, te.const(2.5))",
                    f"({first}, te.reduce_axis((0, 4)))",
                    f"({first}, te.const(4, 'uint8'))",
                    f"{given} * 20",
                    "(i for i in (3, 4))",
                    "{3: 4}",
                )
            )
            return f"{head}{wrong}{tail}"

        return self._with_last_line(value, other)

    def _other_index(self, value: Value) -> Value:
        def other(line: str) -> str:
            found = list(re.finditer(r"(?<=[A-Z]\d)\[([^\]]+)\]", line))
            if not found:
                return line
            one = self.rng.choice(found)
            inside = one[1]
            wrong = self.rng.choice(
                (
                    f"[{inside}, 0]",
                    f"[{inside.rpartition(',')[0] or '()'}]",
                    f"[{inside} + 1]",
                    f"[{inside} - 1]",
                    f"[{inside} * 2]",
                    f"[{inside} + 1000000]",
                    f"[{inside} + 2**31]",
                    f"[{inside} + 1.5]",
                    "[None]",
                    "['x']",
                    "[:]",
                    "[...]",
                    f"[({inside},)]",
                    f"[{inside}].op",
                    f"[{inside}][0]",
                    f"({inside})",
                    f"({inside}, 1, 2, 3)",
                    f"[{inside} > 1]",
                    f"[te.max({inside})]",
                    f"[({inside}).astype('int8')]" if "," not in inside else f"[{inside}]",
                    "[te.var('free')]",
                    "[te.reduce_axis((0, 2))]",
                    f"[-1 - {inside}]",
                )
            )
            return line[: one.start()] + wrong + line[one.end() :]

        return self._with_last_line(value, other)

    def _other_axis(self, value: Value) -> Value:
        def other(line: str) -> str:
            if "te.reduce_axis(" not in line:
                return line
            wrong = self.rng.choice(
                (
                    *("(0, 1000)", "(-3, 4)", "(4, 0)", "(0, -1)", "(0, 2.5)", "(0, None)"),
                    *("None", "4", "(0,)", "(0, 1, 2)", "'x'", "(0, te.var('free'))"),
                    *("(0, 2**40)", "(2, 2)", "()"),
                )
            )
            return re.sub(r"te\.reduce_axis\(\(.*?\),", f"te.reduce_axis({wrong},", line)

        return replace(value, lines=tuple(other(line) for line in value.lines))

    def _with_last_line(self, value: Value, other: Callable[[str], str]) -> Value:
        return replace(value, lines=(*value.lines[:-1], other(value.lines[-1])))


def _shorter(line: str, is_symbolic: bool) -> str:
    """A line without very long loops, such as those without bounds of tensors."""
    is_cut = "factor=2**31" in line and not is_symbolic
    return line if is_cut else line.replace("2**31 - 1", "2**20")


class _Words:
    """Texts of arguments of each kind; `before` are the lines above."""

    def __init__(self, rng: random.Random, program: Program, before: Sequence[str]) -> None:
        self.rng = rng
        self.axes: list[str] = []
        self.tensors = [name for value in program.values for name in value.names]
        self.groups: list[str] = []
        for line in before:
            defined = re.match(r"([\w, ]+) = (.*)", line)
            if defined is None:
                continue
            names = defined[1].split(", ")
            if "create_group" in line:
                self.groups += names
            elif re.search(r"s\.(cache|rfactor)", line):
                self.tensors += names
            else:
                self.axes += names
        self.computed = [name for name in self.tensors if not re.match(r"[AI]\d", name)]
        self.stage = self._stage()

    def _stage(self) -> str:
        if self.groups and self.rng.random() < 0.2:
            return self.rng.choice(self.groups)
        return f"s[{self.rng.choice(self.computed * 4 + self.tensors)}]"

    def _junk(self, chance: float = 0.06) -> str:
        return self.rng.choice(JUNK) if self.rng.random() < chance else ""

    def any_stage(self) -> str:
        return self.stage

    def any_parent(self) -> str:
        return self._junk() or self._stage()

    def any_reader(self) -> str:
        """Another stage."""
        return self._stage()

    def any_tensor(self) -> str:
        return self._junk() or self.rng.choice(self.tensors)

    def any_tensors(self) -> str:
        """One or several tensors."""
        if self.rng.random() < 0.5:
            return self.any_tensor()
        count = self.rng.choice((0, 1, 1, 2, 2, 3))
        return f"[{', '.join(self.any_tensor() for _ in range(count))}]"

    def any_axis(self) -> str:
        chance = self.rng.random()
        number = self.rng.randrange(6)
        if chance < 0.5:
            return f"leaf({self.stage}, {number})"
        if chance < 0.6:
            return f"reduced({self.stage}, {number})"
        if chance < 0.65:
            return f"known({self.stage}, {number})"
        if chance < 0.7:
            return f"own({self.stage}, {number})"
        if chance < 0.76:
            return f"leaf({self._stage()}, {number})"
        if chance < 0.92 and self.axes:
            return self.rng.choice(self.axes)
        return self.any_thread() if chance < 0.95 else self.rng.choice(JUNK)

    def any_thread(self) -> str:
        dom = self.rng.choice(("", "", "", "4, ", "(0, 8), ", "(2, 8), ", "None, ", "-1, "))
        return self._junk() or f"te.thread_axis({dom}{self.rng.choice(THREADS)})"

    def any_number(self) -> str:
        return self._junk(0.03) or self.rng.choice(NUMBERS)

    def any_scope(self) -> str:
        return self._junk() or self.rng.choice(SCOPES)

    def any_pragma(self) -> str:
        return self._junk(0.03) or self.rng.choice(PRAGMAS)

    def any_flag(self) -> str:
        return self._junk() or self.rng.choice(("True", "False"))

    def any_condition(self) -> str:
        axis = f"leaf({self.stage}, {self.rng.randrange(4)})"
        own = f"own({self.stage}, {self.rng.randrange(3)})"
        return self._junk(0.1) or self.rng.choice(
            (
                f"{axis}.var < 3",
                f"{own}.var < 1",
                f"{axis}.var.equal(0)",
                f"{axis} >= 0",
                f"te.all({own}.var > 0, {axis}.var < 4)",
                "te.const(True)",
                "te.const(False)",
                "te.const(1, 'bool')",
                "te.var('free') > 0",
                "te.thread_axis('threadIdx.x').var.equal(0)",
                f"{axis}.var",
                f"leaf({self._stage()}, 0).var < 2",
            )
        )

    def any_intrinsic(self) -> str:
        length = self.rng.choice((1, 4, 8, 16))
        dtype = self.rng.choice(("float32", "float32", "int32"))
        wrong = self.rng.choice(("", "", ", is_wrong=True"))
        return self._junk(0.1) or f"adder({length}, '{dtype}'{wrong})"

    def any_layout(self) -> str:
        return self._junk() or self.rng.choice(
            (
                "lambda *i: i",
                "lambda *i: i[::-1]",
                "lambda i: [i // 4, i % 4]",
                "lambda i, j: [i, j // 4, te.AXIS_SEPARATOR, j % 4]",
                "lambda i, j: [i * 2, j]",
                "lambda i, j: [i + j]",
                "lambda i, j: [i]",
                "lambda i, j: None",
                "lambda i, j: [i, j, 0]",
                "lambda: []",
                "lambda i, j: [j // 3, i, j % 3]",
            )
        )


_METHODS: Sequence[tuple[str, tuple[str, ...]]] = (
    *[("split", ("axis", "number"))] * 4,
    *[("split", ("axis", "number", "number"))],
    *[("fuse", ("axis", "axis"))] * 3,
    *[("fuse", ()), ("fuse", ("axis",)), ("fuse", ("axis", "axis", "axis"))],
    *[("reorder", ("axis", "axis"))] * 3,
    *[("reorder", ("axis", "axis", "axis")), ("reorder", ())],
    *[("tile", ("axis", "axis", "number", "number"))] * 2,
    *[("compute_at", ("parent", "axis"))] * 6,
    *[("compute_inline", ())] * 3,
    *[("compute_root", ())] * 2,
    *[("unroll", ("axis",)), ("vectorize", ("axis",)), ("parallel", ("axis",))] * 4,
    *[("bind", ("axis", "thread"))] * 3,
    *[("pragma", ("axis", "pragma", "number"))] * 2,
    *[("pragma", ("axis", "pragma"))],
    *[("prefetch", ("tensor", "axis", "number"))] * 2,
    *[("tensorize", ("axis", "intrinsic"))] * 2,
    *[("set_store_predicate", ("condition",))] * 3,
    *[("double_buffer", ())] * 2,
    *[("set_scope", ("scope",))] * 2,
    *[("storage_align", ("axis", "number", "number"))] * 2,
    *[("rolling_buffer", ())],
    *[("transform_layout", ("layout",))] * 2,
    *[("cache_read", ("tensor", "scope", "tensors"))] * 3,
    *[("cache_write", ("tensors", "scope"))] * 3,
    *[("rfactor", ("tensor", "axis"))] * 2,
    *[("rfactor", ("tensor", "axis", "number"))],
    *[("create_group", ("tensors", "tensors", "flag"))] * 2,
    *[("normalize", ())],
)
_OF_SCHEDULE = ("cache_read", "cache_write", "rfactor", "create_group", "normalize")

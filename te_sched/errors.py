"""The classes of errors, and the lines of the user's program to which they refer.

Every error for users is a `TeSchedError` whose message has four parts: the fault, its location
(stage, axis, the user's lines), the reason, and help. Programs use the data of an error (`about`,
`can_override`), not its text.
"""

from __future__ import annotations

import os
import re
import sys
import warnings
from collections.abc import Callable, Collection, Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager
from contextvars import ContextVar
from types import FrameType
from typing import Any, NamedTuple

_PACKAGE_DIRECTORY = os.path.dirname(os.path.abspath(__file__)) + os.sep
# Modules of the standard library between frames of te_sched.
_BETWEEN = ("functools", "contextlib", "threading", "importlib", "torch")


class SourceLocation(NamedTuple):
    """A line of the user's program; unknown if there is no file. A model without lines has nodes:
    `file` is the name of one then, and there is no line.
    """

    file: str = ""
    line: int = 0

    def __str__(self) -> str:
        if not self.line:
            return self.file
        return f"{_cell(self.file) or self.file}:{self.line}"


class Subject(NamedTuple):
    """The subject of an error: a stage, an axis, a buffer, a tensor, a kernel, ... with its name.

    `text` is its description in messages, by default its kind and name; `lines` are those of the
    user's program that declare it.
    """

    kind: str
    name: str
    text: str = ""
    lines: str = ""

    def __str__(self) -> str:
        text = self.text or (f"{self.kind} {self.name}" if self.name else f"the {self.kind}")
        return f"{text} ({self.lines})" if self.lines else text


_WORDS_OF_TVM: set[str] = set()  # the programs that look for them: not empty after compat.install


def show_words_of_tvm(is_shown: bool) -> None:
    """Whether errors show TVM's words for a fault, where they have them."""
    (_WORDS_OF_TVM.add if is_shown else _WORDS_OF_TVM.discard)("tvm")


_IS_PRINTED: ContextVar[bool] = ContextVar("is_printed", default=False)


@contextmanager
def without_listings() -> Iterator[None]:
    """Leave listings of programs out of TVM's words: programs look for them in the text of an error
    that they catch, and readers of one that ends the program have the excerpt.
    """
    token = _IS_PRINTED.set(True)
    try:
        yield
    finally:
        _IS_PRINTED.reset(token)


Where = Subject | Iterable[Subject | SourceLocation]
_OVERRIDE = "pass verify=False to build anyway"


class TeSchedError(RuntimeError):
    """Base of all te_sched errors.

    Parameters
    ----------
    fault : a sentence that stands alone ("split factor of axis k must be at least 1, got 0").
    why : the reason, if the fault does not imply it.
    help : a remedy, or a function that gives it when it is shown.
    where : the stage, axis or buffer concerned; the user's file:line is added automatically.
    loops : a drawing of the loops concerned, of several lines.
    can_override : whether `build(..., verify=False)` ignores the fault; `help` then mentions it.

    `about` has the subjects of `where` and the user's line, `advice` the help without the override.

    `in_tvm` has TVM's words for the fault, or makes them; programs of TVM may look for them:
    `compat.install` shows them as other lines.

    `program` makes the excerpt of the program that schedules of blocks show below the fault;
    `brief` is shown instead of all, if it is set.

    Example
    -------
    >>> error = TeSchedError("cannot split axis i", "its extent is 0", "give it an extent")
    >>> error.summary
    'cannot split axis i: its extent is 0'
    >>> error.help
    'give it an extent'
    """

    program: Callable[[], str] | None = None
    brief = ""

    def __init__(
        self,
        fault: str,
        why: str = "",
        help: str | Callable[[], str] = "",
        where: Where = (),
        loops: str = "",
        can_override: bool = False,
        in_tvm: str | Callable[[], str] = "",
    ) -> None:
        self.in_tvm = in_tvm
        self.fault, self.why, self._advice, self.loops = fault, why, help, loops
        self.can_override = can_override
        subjects = (where,) if isinstance(where, Subject) else where
        self.about: tuple[Subject | SourceLocation, ...] = (*subjects, user_place())
        super().__init__(fault)

    @property
    def advice(self) -> str:
        """The help without the override."""
        if not isinstance(self._advice, str):
            self._advice = self._advice()
        return self._advice

    @advice.setter
    def advice(self, advice: str) -> None:
        self._advice = advice

    @property
    def help(self) -> str:
        """The help, with the override if there is one."""
        return "; ".join(filter(None, (self.advice, _OVERRIDE if self.can_override else "")))

    @property
    def where(self) -> str:
        """The text of the subjects and of the user's line."""
        return ", ".join(filter(None, map(str, self.about)))

    @property
    def summary(self) -> str:
        """The fault and the reason, if any, on one line."""
        return f"{self.fault}: {self.why}" if self.why else self.fault

    def name_function(self, name: str) -> None:
        """Let the fault name the function that the user called, "topi.nn.dense", if it begins with
        another one of the package, of which that is made.
        """
        package = name.partition(".")[0]
        self.fault = re.sub(rf"^{package}\.[\w.]+", name, self.fault)
        self.args = (self.fault,)

    def names(self, kind: str) -> list[str]:
        """The names of the subjects of one kind: "stage", "axis", "buffer", ...

        >>> TeSchedError("stage B has no loops", where=Subject("stage", "B")).names("stage")
        ['B']
        """
        return [
            subject.name
            for subject in self.about
            if isinstance(subject, Subject) and subject.kind == kind
        ]

    def __str__(self) -> str:
        if self.brief:
            return self.brief
        program = self.program() if self.program is not None else ""
        labeled = (
            *(("where", self.where), ("why", self.why), ("help", self.help)),
            ("in TVM", self._words_of_tvm() if _WORDS_OF_TVM else ""),
        )
        texts = [f"  {label}: {text}" for label, text in labeled if text]
        drawn = _drawing("program", program)
        return "\n".join([self.fault, *drawn, *texts, *_drawing("loops", self.loops)])

    def _words_of_tvm(self) -> str:
        words = self.in_tvm if isinstance(self.in_tvm, str) else self.in_tvm()
        return "" if _IS_PRINTED.get() and "\n" in words else words


def _drawing(label: str, text: str) -> list[str]:
    """The lines of a label and of a text below it, or none."""
    return [f"  {label}:", *(f"    {line}" for line in text.splitlines())] if text else []


TVMError = TeSchedError  # its name in tvm.error


class DeclarationError(TeSchedError, ValueError):
    """An invalid declaration of a computation (placeholder, compute, reduce_axis, expressions).

    >>> te.placeholder((-1,), name="A")  # doctest: +ELLIPSIS
    Traceback (most recent call last):
        ...
    te_sched.errors.DeclarationError: an extent of placeholder A must not be negative, got -1...
    """

    # A value that is not a dtype, as messages show it; "" for a misspelled one.
    refused_dtype = ""
    is_dtype: Callable[[str], bool] | None = None  # whether a text is one, for such a value


class OperandError(DeclarationError, TypeError):
    """An operation of Python that needs a value, on an expression: int(), len(), iteration, ...

    >>> A = te.placeholder((8,), name="A")
    >>> int(A[0])  # doctest: +ELLIPSIS
    Traceback (most recent call last):
        ...
    te_sched.errors.OperandError: int() cannot be applied to A[0]...
    """


class ParameterError(DeclarationError, TypeError):
    """A function is called with an argument for which it has no parameter, or without one that it
    needs; a TypeError, as in Python.

    >>> te.placeholder(shap=(4,))  # doctest: +ELLIPSIS
    Traceback (most recent call last):
        ...
    te_sched.errors.ParameterError: te.placeholder has no parameter shap...
    """


class AbsentNameError(TeSchedError, AttributeError):
    """A module or an object does not have a name; an AttributeError, as in Python.

    >>> te.reduceaxis  # doctest: +ELLIPSIS
    Traceback (most recent call last):
        ...
    te_sched.errors.AbsentNameError: te_sched has no te_sched.te.reduceaxis...
    """

    # Python adds a suggestion to the message of an AttributeError that has a name.
    name = property(lambda self: None, lambda self, value: None)

    def __reduce__(self) -> Any:
        return type(self), (self.fault, self.why, self.advice), {"about": self.about}


class AbsentModuleError(TeSchedError, ModuleNotFoundError):
    """An import of a module that te_sched does not have; a ModuleNotFoundError, as in Python.

    >>> import te_sched.relay  # doctest: +ELLIPSIS
    Traceback (most recent call last):
        ...
    te_sched.errors.AbsentModuleError: te_sched has no te_sched.relay...
    """


class PositionError(DeclarationError, IndexError):
    """An index is out of the range of the axes, sizes or tensors of a declaration; an IndexError,
    as in Python.

    >>> te.placeholder((4, 8)).shape[2]  # doctest: +ELLIPSIS
    Traceback (most recent call last):
        ...
    te_sched.errors.PositionError: index 2 is out of range...
    """


class TruthError(DeclarationError, ValueError):
    """The truth of an expression, which has none in Python: in `if`, `and`, `or`, `not`.

    >>> bool(te.var("n") > 0)  # doctest: +ELLIPSIS
    Traceback (most recent call last):
        ...
    te_sched.errors.TruthError: n > 0 has no truth value in Python...
    """


class ScriptError(DeclarationError, ValueError):
    """An invalid script of TVMScript; `excerpt` shows the position. `line` and `column` are
    those in the text of the script, from 1.

    >>> te_sched.script.from_source("x = ")  # doctest: +ELLIPSIS
    Traceback (most recent call last):
        ...
    te_sched.errors.ScriptError: invalid syntax...
    """

    excerpt = ""
    line = column = 1

    def __str__(self) -> str:
        return "\n".join(filter(None, (super().__str__(), self.excerpt)))


class IllFormedError(DeclarationError, ValueError):
    """A program defines a variable twice, or uses one outside of its scope.

    >>> from te_sched import tir
    >>> from te_sched.tir.analysis import verify_well_formed
    >>> i = tir.Var("i")
    >>> verify_well_formed(tir.PrimFunc([], tir.Evaluate(i)))
    Traceback (most recent call last):
    te_sched.errors.IllFormedError: function main is ill-formed, due to ...
    """


class TagError(DeclarationError, ValueError):
    """An operation would have two tags; a ValueError, as in TVM.

    >>> with te.tag_scope("a"), te.tag_scope("b"):  # doctest: +ELLIPSIS
    ...     pass
    Traceback (most recent call last):
        ...
    te_sched.errors.TagError: tag scope 'b' is nested in tag scope 'a'...
    """


class InvalidShapeError(DeclarationError, ValueError):
    """A shape that an operator or a schedule does not support.

    >>> issubclass(InvalidShapeError, DeclarationError)
    True
    """


class NotConstantError(DeclarationError, ValueError):
    """A value that must be constant is not.

    >>> issubclass(NotConstantError, DeclarationError)
    True
    """


class KnobError(DeclarationError, KeyError):
    """A configuration has no knob of a name; a KeyError, as in Python.

    >>> te_sched.autotvm.ConfigSpace()["tile"]  # doctest: +ELLIPSIS
    Traceback (most recent call last):
        ...
    te_sched.errors.KnobError: the configuration has no knob 'tile'...
    """


class ConfigIndexError(DeclarationError, IndexError):
    """A space has no configuration of an index; an IndexError, as in Python.

    >>> te_sched.autotvm.ConfigSpace().get(1)  # doctest: +ELLIPSIS
    Traceback (most recent call last):
        ...
    te_sched.errors.ConfigIndexError: index 1 is out of the space, ...
    """


class GraphError(DeclarationError):
    """An invalid graph: values that do not fit an operator, a function that is missing.

    >>> from te_sched import relax
    >>> call = relax.op.add(relax.const(1), relax.StringImm("a"))
    >>> relax.BlockBuilder().normalize(call)  # doctest: +ELLIPSIS
    Traceback (most recent call last):
        ...
    te_sched.errors.GraphTypeError: argument 1 of relax.add is R.Object...
    """

    call: Any = None  # the call of an operator that is refused


class GraphTypeError(GraphError, TypeError):
    """A value of a kind or dtype that an operator of graphs does not take.

    >>> from te_sched import relax
    >>> relax.BlockBuilder().normalize(
    ...     relax.op.add(relax.const(1), relax.const(1.5))
    ... )  # doctest: +ELLIPSIS
    Traceback (most recent call last):
        ...
    te_sched.errors.GraphTypeError: the arguments of relax.add have dtypes int32, float32...
    """


class GraphAssertionError(GraphError, AssertionError):
    """A condition that a graph asserts does not hold when it runs (`relax.op.assert_op`), or one
    that the legalization of an operator asserts.

    >>> from te_sched.relax.vm.run_functions import assert_op
    >>> assert_op(False, "size {}", 3)  # doctest: +ELLIPSIS
    Traceback (most recent call last):
        ...
    te_sched.errors.GraphAssertionError: size 3...
    """


class RewriterError(GraphError, ValueError, TypeError, KeyError):
    """A class of functions that is not a rule of a rewriter.

    >>> issubclass(RewriterError, GraphError)
    True
    """


class RepeatedDefinitionError(GraphError, ValueError):
    """A variable that is bound twice in a module.

    >>> issubclass(RepeatedDefinitionError, GraphError)
    True
    """


class ScheduleError(TeSchedError):
    """A schedule primitive was refused. The schedule is unchanged.

    >>> A = te.placeholder((8,), name="A")
    >>> B = te.compute((8,), lambda i: A[i] + 1, name="B")
    >>> s = te.create_schedule(B.op)
    >>> s[B].split(B.op.axis[0], factor=0)  # doctest: +ELLIPSIS
    Traceback (most recent call last):
        ...
    te_sched.errors.ScheduleError: split factor of axis i must be at least 1, got 0...
    """


class HandleError(ScheduleError, IndexError):
    """A handle of a schedule of blocks whose loop or block is gone, which TVM calls an IndexError.

    >>> from te_sched.script import tir as T
    >>> @T.prim_func
    ... def double(A: T.Buffer((8,), "float32"), B: T.Buffer((8,), "float32")):
    ...     for i in range(8):
    ...         with T.block("B"):
    ...             vi = T.axis.spatial(8, i)
    ...             B[vi] = A[vi] * 2.0
    >>> sch = te_sched.tir.Schedule(double)
    >>> (i,) = sch.get_loops("B")
    >>> outer, inner = sch.split(i, [None, 4])
    >>> sch.parallel(i)  # doctest: +ELLIPSIS
    Traceback (most recent call last):
        ...
    te_sched.errors.HandleError: loop i is no longer in the program...
    """


class FunctionError(ScheduleError, ValueError):
    """A schedule of a module with several functions, of which none is named; a ValueError in TVM.

    >>> from te_sched.script import tir as T
    >>> @T.prim_func
    ... def one(A: T.Buffer((8,), "float32")):
    ...     for i in range(8):
    ...         with T.block("A"):
    ...             vi = T.axis.spatial(8, i)
    ...             A[vi] = 1.0
    >>> module = te_sched.ir.IRModule({"one": one, "another": one})
    >>> te_sched.tir.Schedule(module).get_block("A")  # doctest: +ELLIPSIS
    Traceback (most recent call last):
        ...
    te_sched.errors.FunctionError: the schedule does not know which function to be working on...
    """


class LoweringError(TeSchedError):
    """A schedule cannot be turned into loops.

    >>> A = te.placeholder((8,), name="A")
    >>> B = te.compute((8,), lambda i: A[i] + 1, name="B")
    >>> te_sched.lower(te.create_schedule(B.op), [A, B, B])  # doctest: +ELLIPSIS
    Traceback (most recent call last):
        ...
    te_sched.errors.LoweringError: tensor B is given twice as an argument...
    """


class ReductionError(LoweringError, ValueError):
    """Threads cannot combine what a block reduces, which TVM calls a ValueError.

    >>> from te_sched.script import tir as T
    >>> @T.prim_func
    ... def difference(A: T.Buffer((32,), "int32"), S: T.Buffer((1,), "int32")):
    ...     for k in T.thread_binding(32, thread="threadIdx.x"):
    ...         with T.block("S"):
    ...             vk = T.axis.reduce(32, k)
    ...             with T.init():
    ...                 S[0] = 0
    ...             S[0] = S[0] - A[vk]
    >>> te_sched.lower(difference)  # doctest: +ELLIPSIS
    Traceback (most recent call last):
        ...
    te_sched.errors.ReductionError: cannot reduce over threads in block S...
    """


class BlockError(LoweringError, ValueError):
    """Loops of blocks cannot be lowered, which TVM calls a ValueError.

    >>> from te_sched.script import tir as T
    >>> @T.prim_func
    ... def clear(A: T.Buffer((32,), "int32"), B: T.Buffer((16,), "int32")):
    ...     for x in T.thread_binding(1, thread="blockIdx.x"):
    ...         for i in T.thread_binding(32, thread="threadIdx.x"):
    ...             with T.block("A"):
    ...                 A[i] = 0
    ...         for i in T.thread_binding(16, thread="threadIdx.x"):
    ...             with T.block("B"):
    ...                 B[i] = 0
    >>> unify = te_sched.tir.transform.UnifyThreadBinding()
    >>> unify(te_sched.IRModule({"clear": clear}))  # doctest: +ELLIPSIS
    Traceback (most recent call last):
        ...
    te_sched.errors.BlockError: thread axis threadIdx.x has extents 32 and 16 in one kernel...
    """


class BuildError(TeSchedError):
    """A lowered program cannot be compiled for the target, or is not legal to run.

    >>> A = te.placeholder((8,), name="A")
    >>> B = te.compute((8,), lambda i: A[i] + 1, name="B")
    >>> te_sched.build(te.create_schedule(B.op), [A, B], "nowhere")  # doctest: +ELLIPSIS
    Traceback (most recent call last):
        ...
    te_sched.errors.BuildError: invalid target 'nowhere'...
    """


class CallError(TeSchedError):
    """A compiled function was called with invalid arguments.

    >>> te_sched.nd.array(np.zeros(3)).copyfrom(np.zeros(4))  # doctest: +ELLIPSIS
    Traceback (most recent call last):
        ...
    te_sched.errors.CallError: cannot copy an array of shape (4,) into one of shape (3,)...
    """


class ElementError(CallError, IndexError):
    """An index is out of the bounds of an array; an IndexError, as in Python and numpy.

    >>> te_sched.nd.array(np.zeros(3))[4]  # doctest: +ELLIPSIS
    Traceback (most recent call last):
        ...
    te_sched.errors.ElementError: ...read element 4 of an array of shape (3,)...
    """


class MemoryKindError(CallError):
    """An array is in memory of another device than the function works in.

    >>> A = te.placeholder((4,), name="A")
    >>> B = te.compute((4,), lambda i: A[i] * 2.0, name="B")
    >>> double = te_sched.build(te.create_schedule(B.op), [A, B], "llvm")
    >>> x = te_sched.nd.zeros((4,), device=te_sched.emulated_cuda(0))
    >>> double(x, x)  # doctest: +ELLIPSIS
    Traceback (most recent call last):
        ...
    te_sched.errors.MemoryKindError: argument A is in memory of an emulated CUDA device...
    """


class ArgumentError(CallError, ValueError):
    """A value that a function of a graph is given has another shape or dtype than declared.

    >>> from te_sched.relax.vm.builtins import check_tensor_info
    >>> check_tensor_info(te_sched.nd.zeros((3,)), 2, "", "a")  # doctest: +ELLIPSIS
    Traceback (most recent call last):
        ...
    te_sched.errors.ArgumentError: value a has ndim 1, expected 2...
    """

    check: tuple[str, str] | None = None  # of an array: its declaration, and the end of the advice


class ArgumentTypeError(CallError, TypeError):
    """A value that a function of a graph is given is of another kind than declared.

    >>> from te_sched.relax.vm.builtins import check_tensor_info
    >>> check_tensor_info(3, 2, "", "a")  # doctest: +ELLIPSIS
    Traceback (most recent call last):
        ...
    te_sched.errors.ArgumentTypeError: value a is an int, expected a tensor...
    """

    check: tuple[str, str] | None = None  # of an array: its declaration, and the end of the advice


class AccessError(CallError):
    """A program was stopped before an invalid memory access.

    >>> issubclass(AccessError, CallError)
    True
    """


class TimeLimitError(CallError):
    """A call took longer than the limit that was set for it, and was stopped.

    >>> issubclass(TimeLimitError, CallError)
    True
    """


class InternalError(TeSchedError):
    """A bug in te_sched; please report it with the program that causes it.

    >>> issubclass(InternalError, TeSchedError)
    True
    """


class InstantiationError(TeSchedError, ValueError):
    """A template reported that a configuration cannot be used.

    >>> issubclass(InstantiationError, ValueError)
    True
    """


class RecordError(TeSchedError, ValueError):
    """A line of a log cannot be read.

    >>> issubclass(RecordError, ValueError)
    True
    """


class WrongAnswerError(TeSchedError):
    """A candidate computes something else than its program without a schedule.

    >>> issubclass(WrongAnswerError, TeSchedError)
    True
    """


class StructuralDifference(TeSchedError, AssertionError, ValueError):
    """Two programs that should have the same structure differ.

    >>> te_sched.ir.assert_structural_equal(te.const(1), te.const(2))  # doctest: +ELLIPSIS
    Traceback (most recent call last):
        ...
    te_sched.errors.StructuralDifference: the programs differ at <root>.value: 1 != 2...
    """


class FlopCalculationError(TeSchedError):
    """The operations of a program cannot be counted.

    >>> issubclass(FlopCalculationError, RuntimeError)
    True
    """


class WorkerError(TeSchedError):
    """A call in a worker process has no result.

    >>> issubclass(WorkerMemoryError, WorkerError)
    True
    """


class WorkerMemoryError(WorkerError, MemoryError):
    """A call in a worker process needed more memory than the limit.

    >>> issubclass(WorkerMemoryError, MemoryError)
    True
    """


class WorkerTimeoutError(WorkerError):
    """A call took longer than the limit; its process was ended.

    >>> issubclass(WorkerTimeoutError, WorkerError)
    True
    """


class WorkerCrashError(WorkerError):
    """The process of a call ended, for example by a signal.

    >>> issubclass(WorkerCrashError, WorkerError)
    True
    """


def _cell(file: str) -> str:
    """The label of a notebook's cell, such as "In[3]", for the name of its temporary file."""
    named = getattr(getattr(running_shell(), "compile", None), "format_code_name", None)
    label = named(file) if named is not None else None  # since IPython 8
    return label[1] if label else ""


def running_shell() -> Any:
    """The IPython that runs the program, or None."""
    ipython = sys.modules.get("IPython")
    return ipython.get_ipython() if ipython is not None else None


def is_in_notebook() -> bool:
    """Whether a kernel of Jupyter runs the program; others may load its modules, too."""
    return hasattr(running_shell(), "kernel")


_CALLED_FROM: ContextVar[SourceLocation | None] = ContextVar("called_from", default=None)
_REPEATED: ContextVar[SourceLocation | None] = ContextVar("repeated", default=None)


@contextmanager
def called_from(
    location: SourceLocation, said: ContextVar[SourceLocation | None] = _CALLED_FROM
) -> Iterator[None]:
    """Use a line of the user's program as the location of errors in threads without user code."""
    token = said.set(location)
    try:
        yield
    finally:
        said.reset(token)


def repeating(location: SourceLocation) -> AbstractContextManager[None]:
    """Use a line of the user's program as the location of all errors inside the `with`."""
    return called_from(location, _REPEATED)


def user_place() -> SourceLocation:
    """The line of the innermost frame outside of te_sched."""
    repeated = _REPEATED.get()
    if repeated is not None:
        return repeated
    frame: FrameType | None = sys._getframe(1)
    while frame is not None:
        filename = frame.f_code.co_filename
        is_users = _IS_USERS.get(filename)
        if is_users is None:
            is_users = _judge(frame, filename)
        if is_users:
            if is_users is _COMMAND_LINE:
                break
            return SourceLocation(filename, frame.f_lineno)
        if filename.startswith(_PACKAGE_DIRECTORY):
            frame.f_globals["__tracebackhide__"] = hides_frames
        frame = frame.f_back
    return _CALLED_FROM.get() or SourceLocation()


def is_users(frame: FrameType) -> bool:
    """Whether the code of a frame is outside of te_sched."""
    return _judge(frame, frame.f_code.co_filename) is True


_WARNED: dict[str, dict[Any, Any]] = {}  # by file, as Python keeps them by module


def warn(text: str, category: type[Warning] = UserWarning) -> None:
    """Warn at the line of the user's program; like Python, by default once for each line."""
    location = user_place()
    file = location.file or "<unknown>"
    registry = _WARNED.setdefault(file, {})
    warnings.warn_explicit(text, category, file, location.line, registry=registry)


def place_of_error(error: BaseException) -> SourceLocation:
    """The innermost line of the user in the traceback of an error."""
    location, trace = SourceLocation(), error.__traceback__
    while trace is not None:
        filename = trace.tb_frame.f_code.co_filename
        if _judge(trace.tb_frame, filename) is True:
            location = SourceLocation(filename, trace.tb_lineno)
        trace = trace.tb_next
    return location


def hides_frames(info: Any) -> bool:
    """Whether pytest omits te_sched's frames from the traceback of an error (`info.value`).

    It is the `__tracebackhide__` of modules in the call stack of an error, which pytest calls.
    """
    return info is not None and is_shortened(info.value)


def is_shortened(error: BaseException | None) -> bool:
    """Whether the traceback of an error omits te_sched's frames; not that of an InternalError."""
    return isinstance(error, TeSchedError) and not isinstance(error, InternalError)


_COMMAND_LINE = "te-sched"  # code of its commands is not the user's
_IS_USERS: dict[str, bool | str] = {}  # by file


def _judge(frame: FrameType, filename: str) -> bool | str:
    """Whether the code of a frame is the user's; `_COMMAND_LINE` for code of the command line."""
    # also by module: the methods that dataclasses generate have no file
    module = frame.f_globals.get("__name__") or ""
    is_users = not (
        filename.startswith((_PACKAGE_DIRECTORY, "<frozen"))
        or module in _BETWEEN
        or module.startswith(("functorch.", "sympy.", "te_sched.", "torch."))
    )
    verdict = _COMMAND_LINE if module.startswith("te_sched.cli.") else is_users
    if not filename.startswith("<"):
        _IS_USERS[filename] = verdict
    return verdict


def kind_of(value: object) -> str:
    """The description of a value of the wrong kind: "a list", "an int", "None", "the class X"."""
    if value is None:
        return "None"
    if isinstance(value, type):
        return f"the class {class_name(value)}"
    return with_article(class_name(type(value)))


def class_name(kind: type[Any]) -> str:
    """The name of a class in messages: the public one, if it has another name in te_sched."""
    return getattr(kind, "_public_name", "") or kind.__name__


def why_no_text(value: object) -> str | None:
    """The reason why a value cannot be a name or other text of a program, or None."""
    if not isinstance(value, str):
        return f"{kind_of(value)} is not a string"
    if value.isascii():
        return None
    try:
        value.encode()
    except UnicodeEncodeError:
        return "it has a lone surrogate, half of a character that no encoding has"
    return None


def repr_of(value: object, most: int = 80) -> str:
    """The text of a value in a message: its repr, or its kind if that is long, has several lines,
    or fails.
    """
    if isinstance(value, int) and value.bit_length() > 256:
        return f"an int of {value.bit_length()} bits"
    try:
        text = repr(value)
    except Exception:  # of the user's class, of nested lists, of very long integers
        return kind_of(value)
    return text if len(text) <= most and "\n" not in text else kind_of(value)


def counted(number: int, noun: str, plural: str = "") -> str:
    """A number with a noun: "1 dimension", "2 dimensions"."""
    return f"{number} {noun if number == 1 else plural or noun + 's'}"


def listing(names: Collection[str], most: int = 8) -> str:
    """The names, or the first ones and how many there are.

    >>> listing(["a", "b", "c"], most=2)
    'a, b, ... (3 in all)'
    """
    shown = list(names)[:most]
    return ", ".join(shown) + (f", ... ({len(names)} in all)" if len(names) > most else "")


def with_article(name: str) -> str:
    """A name after "a" or "an"; uint8 is pronounced like "you", ndarray like "end"."""
    return f"{'an' if name[0] in 'AEIOaeio' or name.lower() == 'ndarray' else 'a'} {name}"


def did_you_mean(word: object, legal: Iterable[str]) -> str:
    """A question with the most similar legal name, or "" if there is none."""
    if not isinstance(word, str):
        return ""
    import difflib  # slow to load, and needed only for errors

    names, low = [*legal], word.lower()
    swaps = (
        _swaps(low) if len(low) < 8 else set()
    )  # in short names they change too much for difflib
    near = [name.lower() for name in names if name.lower() in swaps]
    near = near or difflib.get_close_matches(low, {name.lower() for name in names}, 1, 0.7)
    alike = [name for name in names if near and name.lower() == near[0]]
    best = difflib.get_close_matches(word, alike, 1, 0.0)
    return f" (did you mean {best[0]!r}?)" if best else ""


def _swaps(text: str) -> set[str]:
    """The texts in which two neighboring characters are exchanged."""
    return {f"{text[:k]}{text[k + 1]}{text[k]}{text[k + 2 :]}" for k in range(len(text) - 1)}


__all__ = sorted(
    [
        name
        for name, value in globals().items()
        if isinstance(value, type) and issubclass(value, TeSchedError)
    ]
)

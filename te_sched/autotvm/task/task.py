"""Tasks: a template with arguments and a target, and its space of configurations.

Must not know tuners, and how configurations are measured.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Mapping, Sequence
from types import FunctionType
from typing import Any, NoReturn, TypeVar, overload

import numpy as np

from te_sched.autotvm.task.dispatcher import ApplyConfig, DispatchContext
from te_sched.autotvm.task.flops import FlopCalculationError, compute_flop
from te_sched.autotvm.task.space import ConfigSpace
from te_sched.codegen.target import Target, as_target
from te_sched.errors import DeclarationError, TeSchedError, did_you_mean, repr_of
from te_sched.ir.expr import FloatImm, IntImm, StringImm, Var
from te_sched.public_members import PublicObject
from te_sched.schedule.schedule import Schedule
from te_sched.signatures import checked, is_sequence, raise_unbound
from te_sched.te.declare import placeholder
from te_sched.te.tensor import Tensor

__all__ = [
    "FlopCalculationError",
    "MissingTask",
    "Task",
    "TaskTemplate",
    "args_to_workload",
    "compute_flop",
    "create",
    "deserialize_args",
    "get_config",
    "serialize_args",
    "template",
]

_F = TypeVar("_F", bound=Callable[..., Any])
_DEPTH = 32  # of tuples in arguments
Instance = tuple[Schedule, Sequence[Tensor]]


class TaskTemplate:
    """The functions registered under the name of a task: a whole template, or one that declares and
    one that schedules.
    """

    def __init__(self) -> None:
        self.fcompute: Callable[..., Any] | None = None
        self.fschedule: Callable[..., Any] | None = None
        self.fcustomized: Callable[..., Any] | None = None

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """The schedule and its arguments."""
        if self.fcustomized is not None:
            return _called(self.fcustomized, args, kwargs)
        if self.fcompute is None or self.fschedule is None:
            raise TeSchedError(
                "a task has no template of its own, and not both a compute and a schedule function",
                "",
                "use autotvm.template, or register_topi_compute and register_topi_schedule",
            )
        result = _called(self.fcompute, args, kwargs)
        outs = list(result) if isinstance(result, list | tuple) else [result]
        s = self.fschedule(outs, **kwargs)
        return s, [*_placeholders(outs), *outs]


class MissingTask(TaskTemplate):
    """The template of a task that was not registered, such as one of a log."""

    def __init__(self, taskname: str) -> None:
        super().__init__()
        self._name = taskname

    def __call__(self, *args: Any, **kwargs: Any) -> NoReturn:
        """Refuse the call."""
        raise TeSchedError(
            f"there is no template {repr_of(self._name)}",
            "it is registered when the module that defines it is imported",
            "import that module, or check the name"
            + (did_you_mean(self._name, TASK_TABLE) or _registered()),
            in_tvm=f"Attempting to invoke a missing task {self._name}",
        )


TASK_TABLE: dict[str, TaskTemplate] = {}


def _registered() -> str:
    names = sorted(TASK_TABLE)
    return f": {', '.join(names[:8])}{', ...' * (len(names) > 8)}" if names else ""


def lookup_task(name: str) -> TaskTemplate:
    """The template of a name; one that refuses calls, if it is not registered."""
    return TASK_TABLE.get(name) or MissingTask(name)


def register(name: str, field: str, function: Callable[..., Any]) -> None:
    """Register a function of a task.

    Parameters
    ----------
    field : that of TaskTemplate.

    Raises
    ------
    DeclarationError if another is registered.
    """
    task = TASK_TABLE.setdefault(name, TaskTemplate())
    current = getattr(task, field)
    if current is not None and (current.__module__, current.__qualname__) != (
        function.__module__,
        function.__qualname__,
    ):
        raise DeclarationError(
            f"another function is registered for task {name}",
            "a task has one function",
            "use another name",
            in_tvm=f"Customized func is already registered in autoTVM task {name}",
        )
    setattr(task, field, function)


def _placeholders(outs: Iterable[Tensor]) -> list[Tensor]:
    """The inputs of a program, in the order of their first use from the outputs."""
    placeholders: dict[Tensor, None] = {}
    seen: set[Tensor] = set()
    pending = list(outs)
    while pending:
        tensor = pending.pop(0)
        if tensor in seen:
            continue
        seen.add(tensor)
        if not tensor.op.input_tensors:
            placeholders[tensor] = None
        pending += tensor.op.input_tensors
    return list(placeholders)


class TuningTask(PublicObject):
    """A template with arguments. `create` makes it, with its target and `config_space`."""

    @checked
    def __init__(self, name: str, args: Sequence[Any]) -> None:
        self.name, self.args = name, tuple(args)
        self.kwargs: dict[str, Any] = {}
        self.config_space: ConfigSpace | None = None
        self.func: TaskTemplate = lookup_task(name)
        self.flop: float | None = None
        self.target: Target | None = None
        self.target_host: Target | None = None

    @property
    def workload(self) -> tuple[Any, ...]:
        """The name and the arguments, as dispatch contexts know them."""
        return args_to_workload(self.args, self.name)

    def instantiate(self, config: Any) -> Instance:
        """The schedule that the template makes with a configuration, and its arguments."""
        config.flop = 0
        with ApplyConfig(config):
            s, args = _instance(self.name, self.func(*self.args, **self.kwargs))
        if not config.flop:
            config.flop = compute_flop(s)
        return s, args

    def __getstate__(self) -> dict[str, Any]:
        """All but the template, which is looked up again."""
        return {name: value for name, value in vars(self).items() if name != "func"}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state)
        self.func = lookup_task(self.name)

    def __repr__(self) -> str:
        return (
            f"Task(func_name={self.name}, args={self.args}, kwargs={self.kwargs}, "
            f"workload={self.workload})"
        )


Task = TuningTask  # TVM's name


def _called(function: Callable[..., Any], args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
    """The result of a function of a template."""
    try:
        return function(*args, **kwargs)
    except TypeError:
        raise_unbound(function, f"template {getattr(function, '__name__', '')}", args, kwargs)
        raise


def _instance(name: str, result: Any) -> Instance:
    """What a template returned, checked."""
    is_pair = isinstance(result, tuple | list) and len(result) == 2
    if is_pair and isinstance(result[0], Schedule) and is_sequence(result[1]):
        return result[0], list(result[1])
    raise DeclarationError(
        f"template {name} returned {repr_of(result)}",
        "a template returns its schedule and the list of its arguments",
        "return s, [A, B, C]",
    )


@checked
def create(task_name: Any, args: Sequence[Any], target: Any, target_host: Any = None) -> Task:
    """A task, with the space that the template defines.

    Parameters
    ----------
    task_name : the name of a template, or the template.

    Raises
    ------
    TeSchedError for a name that is not registered, and what the template raises.

    >>> from te_sched import autotvm
    >>> @autotvm.template("example/add")
    ... def add(n):
    ...     A = te.placeholder((n,), name="A")
    ...     B = te.compute((n,), lambda i: A[i] + 1.0, name="B")
    ...     s = te.create_schedule(B.op)
    ...     cfg = autotvm.get_config()
    ...     cfg.define_split("tile", s[B].op.axis[0], num_outputs=2)
    ...     cfg["tile"].apply(s, B, s[B].op.axis[0])
    ...     return s, [A, B]
    >>> autotvm.task.create("example/add", args=(8,), target="llvm").config_space
    ConfigSpace (len=4, range_length=4, space_map=
       0 tile: Split(policy=factors, product=8, num_outputs=2) len=4
    )
    """
    task = Task(getattr(task_name, "task_name", task_name), args)
    task.target = as_target(target)
    task.target_host = None if target_host is None else as_target(target_host)
    task.config_space = space = ConfigSpace()
    with ApplyConfig(space), task.target:
        s, _ = _instance(task.name, task.func(*task.args))
    space.code_hash = getattr(s, "code_hash", None)
    task.flop = space.flop or compute_flop(s)
    return task


def get_config() -> Any:
    """The configuration of the template that is being called: a space while it is defined, then one
    of it.
    """
    return DispatchContext.current.query(Target.current(), None)


@overload
def template(task_name: str, func: None = None) -> Callable[[_F], _F]: ...
@overload
def template(task_name: str, func: _F) -> _F: ...


def template(task_name: Any, func: Any = None) -> Any:
    """A decorator that registers a template: a function that returns a schedule and its arguments.

    It asks `autotvm.get_config()` for its configuration, defines knobs in it and applies them. The
    decorated function has the best configuration of the dispatch context for its arguments.

    Raises
    ------
    DeclarationError if the name is taken.
    """
    if isinstance(task_name, FunctionType):  # as a decorator without a name
        return template(task_name.__name__, task_name)
    if not isinstance(task_name, str) or not (func is None or callable(func)):
        raise DeclarationError(
            f"cannot register {repr_of(task_name if func is None else func)} as a template",
            "a template is a function with the name of its task",
            'write @autotvm.template("name") above a function',
        )

    def register_template(function: Any) -> Any:
        register(task_name, "fcustomized", function)

        @functools.wraps(function)
        def call(*args: Any, **kwargs: Any) -> Any:
            if kwargs:
                raise DeclarationError(
                    f"template {task_name} has no keyword arguments, got {', '.join(kwargs)}",
                    "the configuration is found by the arguments in their order",
                    "pass them by position",
                )
            workload = args_to_workload(args, task_name)
            config = DispatchContext.current.query(Target.current(), workload)
            with ApplyConfig(config):
                return function(*args)

        call.task_name = task_name  # type: ignore[attr-defined]
        return call

    return register_template if func is None else register_template(func)


# Arguments.


@checked
def serialize_args(args: Iterable[Any]) -> tuple[Any, ...]:
    """Arguments as a tuple that can be hashed: tensors become ("TENSOR", shape, dtype).

    >>> serialize_args([te.placeholder((2, 3), name="A"), [1, "x"]])
    (('TENSOR', (2, 3), 'float32'), (1, 'x'))

    Raises
    ------
    DeclarationError for objects of other types.
    """
    return tuple(_serialized(arg, _DEPTH) for arg in args)


def _serialized(value: Any, depth: int) -> Any:
    if isinstance(value, Tensor):
        shape = tuple(
            extent.value if isinstance(extent, IntImm) else extent for extent in value.shape
        )
        return ("TENSOR", shape, value.dtype)
    if isinstance(value, tuple | list) and depth:
        return tuple(_serialized(item, depth - 1) for item in value)
    if isinstance(value, IntImm | FloatImm | StringImm):
        return value.value
    if isinstance(value, np.generic):
        return value.item()
    if value is None or isinstance(value, str | int | float | Var):
        return value
    raise DeclarationError(
        f"a task cannot have argument {repr_of(value)}",
        "logs have arguments as text",
        "pass numbers, strings, None, variables, tensors, or tuples and lists of them",
    )


@checked
def deserialize_args(args: Iterable[Any]) -> list[Any]:
    """The arguments of what `serialize_args` gave: new tensors are declared."""
    return [
        placeholder(tuple(arg[1]), dtype=arg[2])
        if isinstance(arg, tuple) and arg and arg[0] == "TENSOR"
        else arg
        for arg in args
    ]


@checked
def args_to_workload(args: Iterable[Any], task_name: str | None = None) -> tuple[Any, ...]:
    """The arguments as dispatch contexts know them, after the name of the task.

    >>> args_to_workload([8, "float32"], "example/add")
    ('example/add', 8, 'float32')
    """
    workload = serialize_args(args)
    return workload if task_name is None else (task_name, *workload)

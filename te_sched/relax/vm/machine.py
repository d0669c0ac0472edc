"""`relax.VirtualMachine`: runs the functions of an executable.

    machine = relax.VirtualMachine(relax.build(module, "llvm"), te_sched.cpu())
    result = machine["main"](x)

Arguments are arrays (also of numpy, or through DLPack), shapes, numbers, tuples of them. They are
checked before anything runs. Must not know how graphs become instructions.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, NoReturn

from te_sched.errors import (
    ArgumentError,
    CallError,
    GraphError,
    GraphTypeError,
    did_you_mean,
    kind_of,
    repr_of,
)
from te_sched.public_members import PublicClass, PublicObject
from te_sched.relax.core.state import INITIAL_STATE, StateUse
from te_sched.relax.vm.builtins import BUILTINS, Closure, as_value
from te_sched.relax.vm.bytecode import VmFunction
from te_sched.relax.vm.executable import Executable
from te_sched.relax.vm.host_functions import with_results_on
from te_sched.relax.vm.interpreter import Around, InterpretedFunction, wrong_count
from te_sched.relax.vm.model_builtins import MODEL_BUILTINS
from te_sched.relax.vm.native_function import NativeFunction
from te_sched.relax.vm.paged_builtins import PAGED_BUILTINS
from te_sched.relax.vm.profiling import ProfileReport, instrumented
from te_sched.relax.vm.repeated_calls import RepeatedFunction
from te_sched.relax.vm.state import MachineState, StatefulFunction
from te_sched.runtime import registry
from te_sched.runtime.device import Device, available_device, check_usable, cpu, source_of
from te_sched.runtime.module import Module, make_evaluator
from te_sched.runtime.ndarray import NDArray
from te_sched.signatures import checked_methods


@checked_methods(GraphTypeError)
class VirtualMachine(PublicClass, PublicObject):
    """Runs the functions of an executable.

    Parameters
    ----------
    rt_mod : what `relax.build` or `te_sched.runtime.load_module` returned.
    device : the device of its arrays, or a list of devices; the processor comes last.
    memory_cfg : accepted as TVM does.
    profile : whether `profile` will be called.

    Raises
    ------
    GraphError with all functions that the executable calls and that are not registered.

    >>> import te_sched
    >>> from te_sched import relax, topi
    >>> x = relax.Var("x", relax.TensorStructInfo([3], "float32"))
    >>> builder = relax.BlockBuilder()
    >>> with builder.function("main", [x]):
    ...     gv = builder.emit_func_output(builder.emit_te(topi.add, x, x))
    >>> machine = VirtualMachine(relax.build(builder.get(), "llvm"), te_sched.cpu())
    >>> machine["main"](te_sched.nd.array([1.0, 2.0, 3.0])).numpy()
    array([2., 4., 6.], dtype=float32)
    """

    _internal_members = (
        "arguments_of",
        "interpreted",
        "in_order",
        "params_of",
        "refuse_set_inputs",
    )

    NAIVE_ALLOCATOR = 1
    POOLED_ALLOCATOR = 2

    def __init__(
        self,
        rt_mod: object,
        device: object = None,
        memory_cfg: object = None,
        profile: bool = False,
    ) -> None:
        del memory_cfg
        executable = getattr(rt_mod, "executable", rt_mod)
        if not isinstance(executable, Executable):
            raise GraphError(
                f"cannot make a VirtualMachine of {repr_of(rt_mod)}",
                "it runs the functions of an executable",
                "build one first: relax.VirtualMachine(relax.build(module, target), device)",
            )
        self.executable = executable
        self._devices = _devices(device)
        self._check_devices()
        self.module = self  # TVM's name of what has the functions
        self._saved: dict[str, VmFunction] = {}
        self._inputs: dict[str, tuple[object, ...]] = {}
        self._outputs: dict[str, object] = {}
        self._functions: dict[str, VmFunction] = {}
        self._interpreted: dict[str, InterpretedFunction] = {}
        self._native: dict[str, NativeFunction] = {}
        self._repeated: dict[str, RepeatedFunction] = {}
        self._load()

    def _load(self) -> None:
        bytecode, kernels = self.executable.bytecode, self.executable.kernels
        functions: list[VmFunction] = []
        missing: list[str] = []
        for code in bytecode.functions:
            if code.is_packed:
                function = self._find(code.name)
                if function is None:
                    missing.append(code.name)
                else:
                    functions.append(function)
            else:
                functions.append(InterpretedFunction(code))
        if missing:
            candidates = [name for name in registry.registered_names()]
            raise GraphError(
                "the executable calls functions that are not registered: " + ", ".join(missing),
                "",
                f'register each with te_sched.register_func("{missing[0]}", function)'
                + did_you_mean(missing[0], candidates),
            )
        constants = [self._on_device(constant) for constant in bytecode.constants]
        names = [entry.name for entry in bytecode.functions]
        plans = self.executable.plans
        callees = [
            callee.call if isinstance(callee, InterpretedFunction) else callee
            for callee in functions
        ]
        for function in functions:
            if isinstance(function, InterpretedFunction):
                function.prepare(self, callees, names, constants)
                self._interpreted[function.name] = function
                if self.device(0) == cpu(0):
                    function.fast = RepeatedFunction(function, constants)
                    self._repeated[function.name] = function.fast
        for name, plan in plans.items():
            assert isinstance(kernels, Module)  # what has a plan is native code
            params = self._interpreted[name].code.params
            native = NativeFunction(plan, kernels[name], params, constants)
            native.before_error = self.refuse_set_inputs
            native.arguments_of = self.arguments_of
            self._native[name] = self._interpreted[name].fast = native
        self._functions = {**self._interpreted, **self._native}
        uses = bytecode.states
        self._check_states(uses)
        self._state = MachineState(uses, self._functions)
        self._stateful = {name: self._with_state(name, use) for name, use in uses.items()}

    def _find(self, name: str) -> VmFunction | None:
        """A kernel, a builtin or a registered function."""
        kernels = self.executable.kernels
        if kernels is not None and name in kernels.function_names:
            return kernels[name]
        builtin = BUILTINS.get(name) or MODEL_BUILTINS.get(name) or PAGED_BUILTINS.get(name)
        function = builtin or registry.get_global_func(name, allow_missing=True)
        if function is None or self.device(0) == cpu(0):
            return function
        return with_results_on(self.device(0), name, function)

    def _check_states(self, uses: Mapping[str, StateUse]) -> None:
        for name, use in uses.items():
            if use.states and use.initializer not in self._functions:
                raise GraphError(
                    f"function {name} has states without first values",
                    f"its attribute {INITIAL_STATE!r} is {use.initializer!r}",
                    f"name a function that returns them, of {', '.join(self._functions)}",
                )

    def _with_state(self, name: str, use: StateUse) -> StatefulFunction:
        def enter(args: Sequence[object]) -> tuple[Callable[[], object], bool]:
            function = self._functions[name]
            if isinstance(function, InterpretedFunction):
                return function.entered(args), True
            return partial(function, *args), False

        return StatefulFunction(name, use, self._interpreted[name].code.params, self._state, enter)

    def _check_devices(self) -> None:
        """Refuse devices in whose memory the kernels of the executable do not work."""
        if self.executable.kernels is None:
            return
        built_for = self.executable.kernels.type_key
        fitting = available_device(built_for)
        used = [self.device(number) for number in self.executable.bytecode.device_numbers()]
        if any(device.device_type == fitting.device_type for device in used):
            return
        target = "llvm" if used[0] == cpu(0) else "cuda"
        raise CallError(
            f"the executable was built for {built_for}, the machine is on {used[0]}",
            f"its functions work on arrays in memory of {fitting}",
            f"make the machine on another device: relax.VirtualMachine(executable, "
            f'{source_of(fitting)}), or build for this one: relax.build(module, "{target}")',
        )

    def _on_device(self, constant: object) -> object:
        device = self.device(0)
        if isinstance(constant, NDArray) and constant.device != device:
            return constant.copyto(device)
        return constant

    def device(self, index: int) -> Device:
        """A device of the machine, by its number."""
        return self._devices[min(max(index, 0), len(self._devices) - 1)]

    # Calls

    def __getitem__(self, name: str) -> VmFunction:
        """A function, which takes and gives arrays."""
        saved = self._saved.get(name)
        if saved is not None:
            return saved
        function = self._called(name)
        if isinstance(function, NativeFunction):  # it takes arrays of all libraries
            return function
        return _Entry(self, name, function)

    get_function = __getitem__

    def _advice_for(self, name: str) -> str:
        """How functions are called."""
        functions = [*vars(self).get("_functions", {})]
        called = name if name in functions else next(iter(functions), "main")
        is_near = did_you_mean(name, dir(self)) and name not in functions
        return "" if is_near else f"call its functions by name: machine[{called!r}](x)"

    def __call__(self, *args: object, **named: object) -> NoReturn:
        """CallError: a machine has several functions."""
        raise CallError(
            "a VirtualMachine is not a function",
            f"it has the functions {', '.join(self._functions)}",
            f"call one by its name: machine[{next(iter(self._functions), 'main')!r}](...)",
        )

    def _function(self, name: str) -> VmFunction:
        function = self._functions.get(name) if isinstance(name, str) else None
        if function is not None and name in self._stateful:
            return self._stateful[name]
        if function is None:
            raise GraphError(
                f"the executable has no function {repr_of(name)}",
                "",
                f"use one of {', '.join(self._functions)}{did_you_mean(name, self._functions)}",
            )
        return function

    def _called(self, name: str) -> VmFunction:
        """A function, as it is called from outside."""
        function = self._function(name)
        is_interpreted = isinstance(function, InterpretedFunction)
        return self._repeated.get(name, function) if is_interpreted else function

    def interpreted(self, name: str) -> InterpretedFunction:
        """A function, as the interpreter runs it."""
        self._function(name)
        return self._interpreted[name]

    def params_of(self, name: str) -> tuple[str, ...]:
        """The names of the parameters of a function, without the states of the machine."""
        function = self._function(name)
        if isinstance(function, StatefulFunction):
            return function.params
        return self._interpreted[name].code.params

    def invoke_closure(self, closure: object, *args: object) -> Any:
        """Call a closure that a function returned.

        Raises
        ------
        CallError for other values.
        """
        if not isinstance(closure, Closure) and not callable(closure):
            raise CallError(
                f"cannot call {repr_of(closure)}: it is {kind_of(closure)}, expected a closure",
                "a closure is a function that a function of the graph returned",
                "call a function of the machine by its name: machine[name](...)",
            )
        return closure(*[as_value(arg) for arg in args])

    def arguments_of(
        self, name: str, args: Sequence[object], named: Mapping[str, object]
    ) -> list[object]:
        """The values of all parameters, given by position and by name."""
        return [as_value(value) for value in self.in_order(name, args, named)]

    def in_order(
        self, name: str, args: Sequence[object], named: Mapping[str, object]
    ) -> list[object]:
        """The arguments for all parameters as they are given, by position and by name."""
        params = self.params_of(name)
        arguments = list(args)
        if named:
            rest = params[len(args) :]
            unknown = [key for key in named if key not in rest]
            if unknown or len(named) < len(rest):
                wrong = ", ".join(unknown) or ", ".join(k for k in rest if k not in named)
                raise CallError(
                    f"{name}() is called with wrong names: {wrong}",
                    f"the arguments are {', '.join(params)}",
                    "give each parameter once",
                )
            arguments += [named[key] for key in rest]
        if len(arguments) != len(params):
            raise wrong_count(name, params, len(arguments))
        return arguments

    def save_function(
        self,
        func_name: str,
        saved_name: str,
        *args: object,
        include_return: bool = True,
        **kwargs: object,
    ) -> None:
        """Keep a function with its arguments under another name: `machine[saved_name]()`.

        Without `include_return` it returns None.
        """
        function = self._called(func_name)
        if func_name == saved_name:
            raise CallError(
                f"function {func_name} is saved under its own name", "", "give another name"
            )
        arguments = self.arguments_of(func_name, args, kwargs)

        def saved() -> object:
            result = function(*arguments)
            return result if include_return else None

        self._saved[saved_name] = saved

    def set_input(self, func_name: str, *args: object, **kwargs: object) -> None:
        """Set the arguments for `invoke_stateful`."""
        self._function(func_name)
        self._inputs[func_name] = tuple(self.arguments_of(func_name, args, kwargs))

    def invoke_stateful(self, func_name: str) -> None:
        """Call a function with the arguments that `set_input` set; `get_outputs` has the result."""
        function = self._called(func_name)
        if func_name not in self._inputs:
            raise ArgumentError(
                f"function {func_name} has no inputs", "", "call machine.set_input first"
            )
        self._outputs[func_name] = function(*self._inputs[func_name])

    def get_outputs(self, func_name: str) -> Any:
        """The result of `invoke_stateful`."""
        if func_name not in self._outputs:
            raise ArgumentError(
                f"function {func_name} was not called", "", "call machine.invoke_stateful first"
            )
        return self._outputs[func_name]

    # States

    def get_state(self, name: str | None = None) -> Any:
        """A copy of a state that the machine keeps, or a dict of all of them by name.

        States are what functions of the graph change from call to call, such as buffers of an
        exported program of torch; each machine has its own.

        Raises
        ------
        GraphError for names of other things, CallError after a call that failed half-way.

        >>> import te_sched
        >>> from te_sched import relax
        >>> from te_sched.script import from_source
        >>> machine = relax.VirtualMachine(relax.build(from_source('''
        ... @I.ir_module
        ... class Module:
        ...     @R.function
        ...     def main(x: R.Tensor((2,), "float32"), total: R.Tensor((2,), "float32")):
        ...         R.func_attr({"state": {"total": "total"}, "initial_state": "first"})
        ...         new = R.add(total, x)
        ...         return (new, (new,))
        ...     @R.function
        ...     def first():
        ...         new = R.zeros((2,), "float32")
        ...         return (new,)
        ... '''), "llvm"))
        >>> machine["main"](te_sched.nd.array([1.0, 2.0])).numpy()
        array([1., 2.], dtype=float32)
        >>> machine["main"](te_sched.nd.array([1.0, 2.0])).numpy()
        array([2., 4.], dtype=float32)
        >>> machine.get_state("total").numpy()
        array([2., 4.], dtype=float32)
        """
        return self._state.get(name)

    def set_state(self, values: Mapping[str, object]) -> None:
        """Set states by name; others keep their values.

        Raises
        ------
        GraphError for unknown names, ArgumentError for arrays of other shapes or dtypes; nothing is
        changed then.
        """
        self._state.set(values)

    def reset_state(self) -> None:
        """Set all states to their first values."""
        self._state.reset()

    # Watching

    def time_evaluator(
        self,
        func_name: str,
        dev: Device | None = None,
        number: int = 10,
        repeat: int = 1,
        min_repeat_ms: float = 0,
        **options: Any,
    ) -> Any:
        """What times a function, or "invoke_stateful": call it with its arguments.

        Each of `repeat` measurements runs `number` calls, or more until it takes `min_repeat_ms`.
        The result has `mean`, `median`, ...: seconds of a call.
        """
        is_stateful = func_name == "invoke_stateful"
        called = self.invoke_stateful if is_stateful else self[func_name]
        timed = _Timed(func_name, called)
        return make_evaluator(
            timed, dev or self.device(0), number, repeat, min_repeat_ms, **options
        )

    def set_instrument(self, instrument: Any) -> None:
        """Let a function watch each call, or None for none.

        `instrument(function, name, before_run, result, *args)` is called before and after it; the
        call is skipped if it returns VMInstrumentReturnKind.SKIP_RUN before it.
        """
        function = (
            registry.get_global_func(instrument) if isinstance(instrument, str) else instrument
        )
        self._watch(None if function is None else instrumented(function))

    def _watch(self, around: Around | None) -> None:
        for name, function in self._interpreted.items():
            function.around = around
            is_native = around is None and name in self._native
            self._functions[name] = self._native[name] if is_native else function

    def profile(self, func_name: str, *args: object, **named: object) -> ProfileReport:
        """Call a function, and report the time of each call in it.

        Without arguments, those of `set_input` are used.
        """
        self._function(func_name)
        has_none = not args and not named
        stored = self._inputs.get(func_name) if has_none else None
        arguments = self.arguments_of(func_name, args, named) if stored is None else stored
        report = ProfileReport(func_name)
        unwatched = self._functions[func_name]
        self._functions[func_name] = self._interpreted[func_name]
        before = {name: callee.around for name, callee in self._interpreted.items()}
        for function in self._interpreted.values():
            function.around = report.timed
        try:
            report.start()
            self._function(func_name)(*arguments)
            report.stop()
        finally:
            for name, function in self._interpreted.items():
                function.around = before[name]
            self._functions[func_name] = unwatched
        return report

    def refuse_set_inputs(self, name: str) -> None:
        """Refuse a call without arguments of a function for which inputs were set."""
        if name in self._inputs and self.params_of(name):
            raise CallError(
                f"function {name} has inputs that were set",
                "its results are kept by the machine",
                f'call machine.invoke_stateful("{name}"), then machine.get_outputs',
            )


class _Entry:
    """A function of a machine, as it is called from outside."""

    def __init__(self, machine: VirtualMachine, name: str, function: VmFunction) -> None:
        self.machine, self.name, self._function = machine, name, function

    def __call__(self, *args: object, **named: object) -> Any:
        """Convert the arguments, of which some may be given by name, and call it."""
        if not args and not named:
            self.machine.refuse_set_inputs(self.name)
        if named:
            args = tuple(self.machine.in_order(self.name, args, named))
        if not isinstance(self._function, StatefulFunction):  # that changes arrays of the caller
            args = tuple([as_value(arg) for arg in args])
        try:
            return self._function(*args)
        except ArgumentError as error:
            error.about = tuple(self.machine.executable.lines.located(error.about))
            raise


class _Timed:
    """A function that is timed from Python."""

    def __init__(self, name: str, function: VmFunction) -> None:
        self.name, self._function = name, function

    def measure(self, dev: Device, count: int, *args: object, **named: object) -> float:
        """Seconds of `count` calls."""
        function, start = self._function, time.perf_counter()
        for _ in range(count):
            function(*args, **named)
        dev.sync()
        return time.perf_counter() - start


def _devices(argument: object) -> list[Device]:
    if argument == []:
        raise CallError(
            "a VirtualMachine has no device", "the list is empty", "pass te_sched.cpu()"
        )
    devices: list[Device] = []
    for device in (
        [cpu(0)] if argument is None else argument if isinstance(argument, list) else [argument]
    ):
        if not isinstance(device, Device):
            raise CallError(
                f"the device of a VirtualMachine is {repr_of(device)}, expected a Device",
                f"it is {kind_of(device)}",
                "pass te_sched.cpu(), or te_sched.device(name)",
            )
        check_usable(device)
        devices.append(device)
    return devices

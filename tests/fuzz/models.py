"""Cases of kind "models": random models of PyTorch, imported, built, and compared with torch.

A case has lines of Python: those of `given` make inputs (x0), parameters (p0) and layers (m0), the
steps of its program are the body of `forward`. Its target is the way to a graph: "exported",
"dynamic" (exported with dynamic sizes, and called with other sizes, too) or "traced" (from_fx).
"""

from __future__ import annotations

import linecache
import random
import re
import warnings
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import numpy as np

import te_sched
from te_sched import nd, relax
from te_sched.errors import InternalError, TeSchedError
from te_sched.relax.frontend.torch import from_exported_program, from_fx
from tests.fuzz import model_operators
from tests.fuzz.case import Case
from tests.peer.differential.program import Program
from tests.tracebacks import place_of

WAYS = ("exported",) * 4 + ("dynamic",) * 3 + ("traced",)
TOLERANCES = {"float16": 2e-2}
# Reasons why a model may be refused: what importers and operators do not have.
ALLOWED = (
    *("not supported", "use fixed sizes", "its size is not constant", "the shape is not constant"),
    *("has no translation", "say what it is before: R.match_cast", "the divisor is the constant 0"),
    *(
        "has changed its memory",
        "interpolat",
        "give integers",
        "give an integer",
        "it is called when the program",
    ),
    *("use 1 or 2", "pad before the convolution", "is used before its variables have values"),
    *("pow needs floats", "its value is known only when", "expected int64", "use the first"),
)
NAME = re.compile(r"\b[xvpm]\d+\b")


def generate(rng: random.Random, number: int) -> Case:
    """A case of one to twelve operators."""
    import torch

    torch.manual_seed(number)
    wanted, made = rng.choice((1, 2, 3, 4, 5, 6, 8, 12)), []
    while not made:
        drawn = model_operators.Generator(rng, words())
        with torch.no_grad():
            drawn.draw(rng.choice((1, 1, 2, 3)), wanted)
        made = [name for name in drawn.tensors() if name[0] == "v"]
    right = [line.partition(" = ")[2] for line in drawn.steps]
    used = {name for text in right for name in NAME.findall(text)}
    outputs = ([name for name in made if name not in used] or made[-1:])[-4:]
    if rng.random() < 0.2:
        outputs = sorted({*outputs, rng.choice(made)})
    program = Program(number, (), tuple(outputs), tuple(drawn.steps))
    return Case("models", program, tuple(drawn.given), target=rng.choice(WAYS))


def words() -> dict[str, Any]:
    """The names that lines use."""
    import torch

    numbers = torch.Generator().manual_seed(0)

    def normal(shape: list[int], dtype: str) -> Any:
        return torch.randn(shape, generator=numbers).to(getattr(torch, dtype))

    def integers(shape: list[int], below: int, dtype: str) -> Any:
        made = torch.randint(0, max(below, 1), shape, generator=numbers)
        return made.to(getattr(torch, dtype))

    def batch_norm(dims: int, channels: int, affine: bool) -> Any:
        layer = getattr(torch.nn, f"BatchNorm{dims}d")(channels, affine=affine).eval()
        layer.running_mean.normal_(generator=numbers)
        layer.running_var.uniform_(0.5, 2, generator=numbers)
        return layer

    return {
        **{"torch": torch, "nn": torch.nn, "F": torch.nn.functional},
        **{"normal": normal, "integers": integers, "batch_norm": batch_norm},
    }


def names_of(case: Case, kinds: str) -> list[str]:
    """The inputs ("x"), parameters ("p") or layers ("m") of a case."""
    return [line.partition(" = ")[0] for line in case.given if line[0] in kinds]


def source(case: Case) -> str:
    """The forward function of a case."""
    body = [re.sub(r"\b([mp]\d+)\b", r"self.\1", line) for line in case.program.steps]
    lines = [*body, f"return ({', '.join(case.program.outputs)},)"]
    arguments = ", ".join(["self", *names_of(case, "x")])
    return f"def forward({arguments}):\n" + "\n".join(f"    {line}" for line in lines)


def model_of(case: Case, scope: dict[str, Any]) -> tuple[Any, list[Any]]:
    """The model and its inputs; `scope` has the names that lines use."""
    import torch

    torch.manual_seed(0)
    text = source(case)
    file = f"<model {case.program.number}>"
    linecache.cache[file] = (len(text), None, text.splitlines(keepends=True), file)
    with torch.no_grad():
        exec("\n".join(case.given), scope)
    exec(compile(text, file, "exec"), scope)
    model = type("Model", (torch.nn.Module,), {"forward": scope["forward"]})()
    for name in names_of(case, "mp"):
        value = scope[name]
        if name[0] == "m":
            setattr(model, name, value)
        elif value.dtype.is_floating_point:
            setattr(model, name, torch.nn.Parameter(value))
        else:
            model.register_buffer(name, value)
    return model.eval(), [scope[name] for name in names_of(case, "x")]


# Judging


def problem(case: Case) -> tuple[str, str, str]:
    """The outcome of a case, the common part of such findings, and what is wrong."""
    return judged(case, words(), _difference)


def judged(
    case: Case,
    scope: dict[str, Any],
    difference: Callable[[list[Any], Any, list[Any]], str],
) -> tuple[str, str, str]:
    """The outcome of a case; `difference` says how results differ from those of a model."""
    import torch

    torch.set_num_threads(1)
    try:
        model, inputs = model_of(case, scope)
        difference([], model, inputs)
        program = _graph_of(case, model, inputs)
    except Exception as error:  # torch does not run or export it
        return "not judged", "", str(error)
    try:
        machine = _machine(case, program, inputs)
        given = inputs
        if case.target == "traced":  # inputs that are not used are none
            count = len(machine.module_params)
            used = [one for one in program.graph.nodes if one.op == "placeholder" and one.users]
            kept = {node.target for node in used}
            names = names_of(case, "x")
            if count != len(names):
                given = [x for x, name in zip(inputs, names, strict=True) if name in kept]
        what = difference(machine(given), model, inputs)
        if not what and case.target == "dynamic":
            others = _other_inputs(case, program, inputs)
            if others is not None:
                what = difference(machine(others), model, others)
    except InternalError as error:
        return "error", f"InternalError: {error.fault}", str(error)
    except TeSchedError as error:
        text = str(error)
        if any(one in text for one in ALLOWED):
            return "refused", "", ""
        return "needless", NAME.sub("v", error.fault), text
    except Exception as error:
        return "error", f"{type(error).__name__} at {place_of(error)}", str(error)
    return ("wrong", "wrong", what) if what else ("right", "", "")


class _Machine:
    """A graph on the virtual machine, called with tensors of torch."""

    def __init__(self, module: te_sched.IRModule) -> None:
        self.module_params = module["main"].params
        self._machine = relax.VirtualMachine(relax.build(module, "llvm"), te_sched.cpu())

    def __call__(self, inputs: list[Any]) -> list[np.ndarray[Any, Any]]:
        found = self._machine["main"](*[nd.array(array_of(one)) for one in inputs])
        return [one.numpy() for one in (found if isinstance(found, list | tuple) else [found])]


def array_of(tensor: Any) -> np.ndarray[Any, Any]:
    """The array of a tensor; numpy has no bfloat16 of its own."""
    import ml_dtypes
    import torch

    if tensor.dtype != torch.bfloat16:
        array: np.ndarray[Any, Any] = tensor.numpy()
        return array
    return np.asarray(tensor.contiguous().view(torch.uint16).numpy().view(ml_dtypes.bfloat16))


def _machine(case: Case, program: Any, inputs: list[Any]) -> _Machine:
    if case.target != "traced":
        return _Machine(from_exported_program(program))
    return _Machine(from_fx(program, [(tuple(one.shape), str(one.dtype)) for one in inputs]))


def _graph_of(case: Case, model: Any, inputs: list[Any]) -> Any:
    import torch

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if case.target == "traced":
            return torch.fx.symbolic_trace(model)
        sizes = None
        if case.target == "dynamic":
            auto = torch.export.Dim.AUTO
            sizes = tuple([dict.fromkeys(range(one.ndim), auto) for one in inputs])
        return torch.export.export(model, tuple(inputs), dynamic_shapes=sizes)


def eager(model: Any, inputs: list[Any]) -> list[Any]:
    """What torch computes."""
    import torch

    with torch.no_grad():
        return [one.detach().clone() for one in model(*[one.clone() for one in inputs])]


def _disturbed(inputs: list[Any]) -> list[Any]:
    """Inputs that differ in their last digits: results that then differ much are not compared."""
    import torch

    numbers = torch.Generator().manual_seed(1)
    return [
        one * (1 + 1e-5 * torch.randn(one.shape, generator=numbers)).to(one.dtype)
        if one.dtype in (torch.float32, torch.float64)
        else one
        for one in inputs
    ]


def _other_inputs(case: Case, program: Any, inputs: list[Any]) -> list[Any] | None:
    """Inputs of other sizes, where the program has dynamic ones and accepts them."""
    import torch

    rng, sizes, found = random.Random(case.program.number), {}, []
    nodes = [one for one in program.graph.nodes if one.op == "placeholder"]
    values = [one.meta["val"] for one in nodes[-len(inputs) :]]
    for value, given in zip(values, inputs, strict=True):
        shape = []
        for one in value.shape:
            for symbol in () if isinstance(one, int) else one.node.expr.free_symbols:
                limits = program.range_constraints.get(symbol)
                low = max(int(limits.lower), 2) if limits else 2
                high = int(min(limits.upper, low + 7)) if limits else 9
                sizes.setdefault(symbol, rng.randint(low, high))
            shape.append(one if isinstance(one, int) else int(one.node.expr.subs(sizes)))
        made = torch.randn(shape) if given.dtype.is_floating_point else torch.ones(shape)
        found.append(made.to(given.dtype))
    try:
        program.module()(*[one.clone() for one in found])
    except Exception:  # the constraints of torch say so
        return None
    return found if sizes else None


def _difference(found: list[Any], model: Any, inputs: list[Any]) -> str:
    """How results differ from those of torch."""
    wanted, disturbed = [eager(model, one) for one in (inputs, _disturbed(inputs))]
    if len(found) != len(wanted):
        return f"{len(found)} results instead of {len(wanted)}"
    for place, (one, right, other) in enumerate(zip(found, wanted, disturbed, strict=True)):
        right, other = right.numpy(), other.numpy()
        if (one.shape, one.dtype) != (right.shape, right.dtype):
            kinds = [f"{array.dtype}{list(array.shape)}" for array in (one, right)]
            return f"result {place} is {kinds[0]} instead of {kinds[1]}"
        limit = TOLERANCES.get(str(right.dtype), 1e-3)
        exact, near, got = [array.astype("float64") for array in (right, other, one)]
        close = [
            np.isclose(array, exact, rtol=limit, atol=limit, equal_nan=True)
            for array in (near, got)
        ]
        if close[0].all() and not close[1].all():
            return f"{int((~close[1]).sum())} of {one.size} elements of result {place} are wrong"
    return ""


# Smaller cases and scripts


def smaller(case: Case) -> Iterator[Case]:
    """The case with one of its values as the only result, and without a line that changes one."""
    lines = case.program.steps
    for line in lines:
        name, is_definition, _ = line.partition(" = ")
        if is_definition and NAME.fullmatch(name) and (name,) != case.program.outputs:
            yield _pruned(replace(case, program=replace(case.program, outputs=(name,))))
    for place, line in enumerate(lines):
        if not re.match(r"v\d+ = ", line):
            left = lines[:place] + lines[place + 1 :]
            yield _pruned(replace(case, program=replace(case.program, steps=left)))
    if case.target != "exported":
        yield replace(case, target="exported")


def _pruned(case: Case) -> Case:
    """The case without lines that its results do not need."""
    needed, kept = set(case.program.outputs), []
    for line in reversed(case.program.steps):
        names = NAME.findall(line)
        if names and names[0] in needed:
            kept.append(line)
            needed |= set(names)
    given = [line for line in case.given if line.partition(" = ")[0] in needed]
    if not any(line[0] == "x" for line in given):
        given = [*[line for line in case.given if line[0] == "x"][:1], *given]
    return replace(case, given=tuple(given), program=replace(case.program, steps=tuple(kept[::-1])))


def script(case: Case) -> list[str]:
    """The lines of a script that reproduces a case."""
    return [
        "from tests.fuzz.case import Case  # run it in the repository",
        "from tests.fuzz.models import problem",
        "from tests.peer.differential.program import Program",
        "",
        *[f"# {line}" for line in (*case.given, *source(case).splitlines())],
        f"print(problem({case!r}))",
    ]

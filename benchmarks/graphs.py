"""Models, from PyTorch to one function: te_sched beside torch, onnxruntime, OpenVINO and TVM 0.19.

    python -m benchmarks.graphs                     all models, with the peers that are installed
    python -m benchmarks.graphs mlp-1 cnn           some of them
    python -m benchmarks.graphs --threads 1         on one core
    python -m benchmarks.graphs --compiled          torch.compile too, which takes minutes
    python -m benchmarks.graphs --tuned 64          te_sched tuned too, 64 trials for each kernel
    python -m benchmarks.graphs --results DIR       the figures as JSON and Markdown too
    python -m benchmarks.graphs mlp-1 --once        te_sched alone: the seconds to its first result

Each model is a torch.nn.Module with random weights (a fixed seed) and inputs. All implementations
run in one process, in turn; the figure is the least of the medians of the rounds. Results must
equal torch's to 1e-4 relative to the largest element. "build" is import, passes and compilation,
without kept executables. Quantized models are ONNX files, except for torch, which computes in
float32.

"import", "first" and "cached" are of two fresh processes that share a new cache on disk, after all
Python modules are loaded: from torch's graph to a module of graphs, from there to the first result,
and the same in the second process, which finds the executable in the cache.
"""

from __future__ import annotations

import argparse
import functools
import importlib
import io
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks import peer_environment
from benchmarks.lowering import PEER, load_peer, markdown
from benchmarks.networks import NETWORKS, is_quantized, quantized
from benchmarks.processor.contest import processor
from te_sched import config
from te_sched.tools.table import table

OURS, TUNED, TORCH, COMPILED = "te_sched", "te_sched tuned", "torch", "torch.compile"
ONNX, OPENVINO = "onnxruntime", "OpenVINO"
ROUNDS = 7
TOLERANCE = 1e-4  # relative to the largest element
Call = Callable[[], Any]


def main(arguments: Sequence[str]) -> int:
    """Print the tables."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.graphs", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="MODEL", help=", ".join(NETWORKS))
    parser.add_argument("--threads", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--compiled", action="store_true", help="torch.compile too")
    parser.add_argument("--once", action="store_true", help="time to the first result, as JSON")
    parser.add_argument("--tuned", type=int, default=0, metavar="TRIALS", help="of each kernel")
    parser.add_argument(
        "--records", type=Path, metavar="DIR", help="of searches, which go on there"
    )
    parser.add_argument("--without-peer", action="store_true", help="without TVM")
    parser.add_argument("--results", type=Path, metavar="DIR")
    options = parser.parse_args(arguments)
    unknown = [one for one in options.names if one not in NETWORKS]
    if unknown:
        parser.error(f"{', '.join(unknown)}: use some of {', '.join(NETWORKS)}")
    names = ("TE_SCHED_NUM_THREADS", "TVM_NUM_THREADS")
    peer_environment.set_own(dict.fromkeys(names, str(options.threads)))
    importlib.import_module("torch").set_num_threads(options.threads)
    if options.once:
        for name in options.names or NETWORKS:
            print(json.dumps(once(name)))
        return 0
    peer = None if options.without_peer else load_peer()
    makers: dict[str, Any] = {OURS: MAKERS[OURS]}
    if options.tuned:
        makers[TUNED] = functools.partial(_tuned, options.tuned, options.records)
    makers |= {name: make for name, make in MAKERS.items() if name != OURS}
    if options.compiled:
        makers[COMPILED] = _compiled
    if peer is not None:
        makers[PEER] = _peer
    names = options.names or list(NETWORKS)
    starts = {name: first_results(name) for name in names}  # before threads of libraries wait
    figures = []
    for name in names:
        figures.append({"model": name} | measure(name, makers, options.threads) | starts[name])
        print(json.dumps(figures[-1]), flush=True)
    header, lines = rows(figures, list(makers))
    print(table(header, lines, right=range(1, len(header))))
    print(setting(options.threads))
    if options.results is not None:
        measured = {
            "setting": setting(options.threads),
            "libraries": list(makers),
            "figures": figures,
        }
        (options.results / "graphs.json").write_text(json.dumps(measured, indent=1) + "\n")
        (options.results / "graphs.md").write_text(f"# Graphs\n\n{short(measured)}\n")
    return 0


def _made(torch: Any, name: str) -> tuple[Any, list[Any], Any]:
    """A model with random weights, its inputs, and what torch computes."""
    torch.manual_seed(0)
    model, shapes = NETWORKS[name](torch.nn)
    model.eval()
    inputs = [torch.rand(shape) for shape in shapes]
    with torch.no_grad():
        return model, inputs, model(*inputs).numpy()


def once(name: str) -> dict[str, float]:
    """The seconds to import a model, and from there to its first result, in this process."""
    torch = importlib.import_module("torch")
    te_sched = importlib.import_module("te_sched")
    relax = importlib.import_module("te_sched.relax")
    model, inputs, expected = _made(torch, name)
    read = _reader("te_sched", torch, model, inputs)
    began = time.perf_counter()
    module = read()
    imported = time.perf_counter()
    machine = relax.VirtualMachine(relax.build(module, target="llvm"), te_sched.cpu())
    result = machine["main"](*[te_sched.nd.array(one.numpy()) for one in inputs]).numpy()
    done = time.perf_counter()
    _compare(result, expected, _limit(model))
    return {"import": imported - began, "first": done - imported}


def first_results(name: str) -> dict[str, float]:
    """The seconds to import a model, to its first result, and to that of a second process."""
    command = [sys.executable, "-m", "benchmarks.graphs", name, "--once"]
    with tempfile.TemporaryDirectory() as folder:
        variables = {**os.environ, "TE_SCHED_CACHE": "1", "TE_SCHED_CACHE_DIR": f"{folder}/cache"}
        texts = [
            subprocess.run(command, env=variables, capture_output=True, text=True, check=True)
            for _ in range(2)
        ]
    first, second = (json.loads(one.stdout) for one in texts)
    return {"import": first["import"], "first": first["first"], "cached": second["first"]}


def measure(name: str, makers: dict[str, Any], threads: int) -> dict[str, Any]:
    """The seconds of a call of each implementation, of te_sched's build, and why others failed."""
    torch = importlib.import_module("torch")
    model, inputs, expected = _made(torch, name)
    return measure_model(model, inputs, expected, makers, threads, _limit(model))


def measure_model(
    model: Any,
    inputs: Sequence[Any],
    expected: Any,
    makers: dict[str, Any],
    threads: int,
    tolerance: float = TOLERANCE,
) -> dict[str, Any]:
    """The same of a model, whose results must equal those expected."""
    torch = importlib.import_module("torch")
    calls: dict[str, Call] = {}
    found: dict[str, Any] = {}
    for library, make in makers.items():
        began = time.perf_counter()
        try:
            with config.scoped(cache=False):
                call, result = make(torch, model, inputs, threads)
            _compare(result(), expected, tolerance)
        except Exception as error:  # a peer that is absent or does not know the model
            if library == OURS:
                raise
            found[f"failed {library}"] = f"{type(error).__name__}: {error}"[:200]
            continue
        if library == OURS:
            found["build"] = time.perf_counter() - began
        calls[library] = call
    times: dict[str, list[float]] = {library: [] for library in calls}
    for _ in range(ROUNDS):
        for library, call in calls.items():
            times[library].append(_median(call))
    return found | {library: min(one) for library, one in times.items()}


def _median(call: Call, seconds: float = 0.05) -> float:
    call()
    spent = []
    began = time.perf_counter()
    while time.perf_counter() - began < seconds or len(spent) < 3:
        start = time.perf_counter()
        call()
        spent.append(time.perf_counter() - start)
    return statistics.median(spent)


def _limit(model: Any) -> float:
    """By how much results may differ, relative to the largest element."""
    return 0.1 if is_quantized(model) else TOLERANCE


def _compare(found: Any, expected: Any, tolerance: float = TOLERANCE) -> None:
    found, expected = (np.asarray(one).astype("float64") for one in (found, expected))
    limit = tolerance * max(1.0, float(np.abs(expected).max()))
    if found.shape != expected.shape or not np.allclose(found, expected, rtol=0, atol=limit):
        raise ValueError(f"the result differs by {np.abs(found - expected).max():.1e}")


def _ours(torch: Any, model: Any, inputs: Sequence[Any], threads: int) -> tuple[Call, Call]:
    del threads
    return _of_library("te_sched", torch, model, inputs)


def _tuned(
    trials: int,
    records: Path | None,
    torch: Any,
    model: Any,
    inputs: Sequence[Any],
    threads: int,
) -> tuple[Call, Call]:
    """Each kernel by its fastest schedule: of a search, or the default one."""
    root = importlib.import_module("te_sched")
    relax = importlib.import_module("te_sched.relax")
    integration = importlib.import_module("te_sched.meta_schedule.relax_integration")
    module = _imported("te_sched", torch, model, inputs)
    module = relax.transform.FoldBatchnormToConv2D(only_constants=True)(module)
    module = relax.transform.DecomposeOpsForInference()(module)
    module = relax.transform.CanonicalizeBindings()(module)
    module = relax.get_pipeline("zero")(module)
    module = relax.transform.AttachAttrLayoutFreeBuffers()(module)
    target = root.target.Target(f"llvm -num-cores={threads}")
    count = trials * len(integration.extract_tasks(module, target))
    with tempfile.TemporaryDirectory() as unkept:
        folder = records or unkept
        database = integration.tune_relax(module, None, target, folder, count, trials)
        built = integration.compile_relax(database, module, target)
    return built_calls("te_sched", built, inputs)


def _peer(torch: Any, model: Any, inputs: Sequence[Any], threads: int) -> tuple[Call, Call]:
    del threads
    return _of_library("tvm", torch, model, inputs)


def _imported(library: str, torch: Any, model: Any, inputs: Sequence[Any]) -> Any:
    return _reader(library, torch, model, inputs)()


def _reader(library: str, torch: Any, model: Any, inputs: Sequence[Any]) -> Callable[[], Any]:
    """What imports a model: from torch, or from ONNX if it is quantized."""
    if is_quantized(model):
        text = onnx_model(torch, model, inputs)
        file = importlib.import_module("onnx").load_from_string(text)
        frontend = importlib.import_module(f"{library}.relax.frontend.onnx")
        return lambda: frontend.from_onnx(file)
    frontend = importlib.import_module(f"{library}.relax.frontend.torch")
    graph = torch.fx.symbolic_trace(model)
    shapes = [(tuple(one.shape), dtype_of(one)) for one in inputs]
    return lambda: frontend.from_fx(graph, shapes)


def dtype_of(tensor: Any) -> str:
    """The name of a tensor's dtype."""
    return str(tensor.dtype).removeprefix("torch.")


def as_numpy(tensor: Any) -> Any:
    """The elements of a tensor; float32 of those that numpy does not know."""
    return (tensor.float() if dtype_of(tensor) == "bfloat16" else tensor).numpy()


def _of_library(library: str, torch: Any, model: Any, inputs: Sequence[Any]) -> tuple[Call, Call]:
    relax = importlib.import_module(f"{library}.relax")
    module = _imported(library, torch, model, inputs)
    if library == PEER:
        module = relax.get_pipeline("zero")(module)
    return built_calls(library, relax.build(module, target="llvm"), inputs)


def built_calls(library: str, built: Any, inputs: Sequence[Any]) -> tuple[Call, Call]:
    """A call of a built graph, and one that returns its result as a numpy array."""
    root = importlib.import_module(library)
    machine = importlib.import_module(f"{library}.relax").VirtualMachine(built, root.cpu())
    arrays = [_array(root, one) for one in inputs]
    function = machine["main"]
    return lambda: function(*arrays), lambda: function(*arrays).numpy()


def _array(root: Any, tensor: Any) -> Any:
    values, dtype = as_numpy(tensor), dtype_of(tensor)
    return root.nd.array(values) if values.dtype == dtype else root.nd.array(values, dtype=dtype)


def _torch(torch: Any, model: Any, inputs: Sequence[Any], threads: int) -> tuple[Call, Call]:
    del threads

    def call() -> Any:
        with torch.no_grad():
            return model(*inputs)

    return call, lambda: as_numpy(call())


def _compiled(torch: Any, model: Any, inputs: Sequence[Any], threads: int) -> tuple[Call, Call]:
    return _torch(torch, torch.compile(model), inputs, threads)


def onnx_model(torch: Any, model: Any, inputs: Sequence[Any]) -> bytes:
    file = io.BytesIO()
    names = [f"input{place}" for place in range(len(inputs))]
    torch.onnx.export(model, tuple(inputs), file, input_names=names, dynamo=False)
    if not is_quantized(model):
        return file.getvalue()
    return quantized(
        file.getvalue(), dict(zip(names, [one.numpy() for one in inputs], strict=True))
    )


def _onnx(torch: Any, model: Any, inputs: Sequence[Any], threads: int) -> tuple[Call, Call]:
    values = {f"input{place}": one.numpy() for place, one in enumerate(inputs)}
    return session_calls(onnx_model(torch, model, inputs), values, threads)


def session_calls(file: bytes, values: dict[str, Any], threads: int) -> tuple[Call, Call]:
    """A call of a model of ONNX by onnxruntime, and one that returns its first result."""
    runtime = importlib.import_module("onnxruntime")
    options = runtime.SessionOptions()
    options.intra_op_num_threads = threads
    session = runtime.InferenceSession(file, options, providers=["CPUExecutionProvider"])
    return lambda: session.run(None, values), lambda: session.run(None, values)[0]


def _openvino(torch: Any, model: Any, inputs: Sequence[Any], threads: int) -> tuple[Call, Call]:
    openvino = importlib.import_module("openvino")
    core = openvino.Core()
    settings = {"INFERENCE_NUM_THREADS": threads, "PERFORMANCE_HINT": "LATENCY"}
    settings["INFERENCE_PRECISION_HINT"] = "f32"
    read = core.read_model(onnx_model(torch, model, inputs))
    compiled = core.compile_model(read, "CPU", settings)
    request = compiled.create_infer_request()
    arrays = [one.numpy() for one in inputs]
    return lambda: request.infer(arrays), lambda: next(iter(request.infer(arrays).values()))


# What builds a model and calls it, by the name of the library.
MAKERS = {OURS: _ours, TORCH: _torch, ONNX: _onnx, OPENVINO: _openvino}


def rows(figures: Sequence[dict[str, Any]], libraries: Sequence[str]) -> tuple[list[str], Any]:
    """The figures as a table, how many times as fast as torch te_sched is, and the mean of that."""
    peers = [one for one in libraries if one != OURS]
    header = ["model", f"{OURS} ms", *[f"{one} ms" for one in peers]]
    header += ["times as fast as torch", "build s"]
    header += ["import ms", "first s", "cached ms"]
    lines, ratios = [], []
    for one in figures:
        ratio = one[TORCH] / one[OURS]
        ratios.append(ratio)
        times = [_text(one.get(library)) for library in (OURS, *peers)]
        starts = [_text(one.get("import")), f"{one['first']:.2f}" if "first" in one else "-"]
        starts.append(_text(one.get("cached")))
        lines.append([one["model"], *times, f"{ratio:.2f}", f"{one['build']:.1f}", *starts])
    mean = statistics.geometric_mean(ratios)
    lines.append(["geometric mean", *[""] * (len(peers) + 1), f"{mean:.2f}", *[""] * 4])
    return header, lines


def short(measured: dict[str, Any]) -> str:
    """The setting and the table of saved figures, as Markdown."""
    header, lines = rows(measured["figures"], measured["libraries"])
    return "\n".join([measured["setting"], "", *markdown(header, lines)])


# Of the table in the README: small and large models, and one that others run faster.
_SOME = ("mlp-64", "cnn", "resnet18", "efficient-160", "transformer", "vit-224")


def times_as_fast(measured: dict[str, Any]) -> str:
    """A table of some models as Markdown: the milliseconds of te_sched, how many times as fast as
    each other library it is, and the geometric mean of all models.
    """
    peers = [one for one in measured["libraries"] if one not in (OURS, PEER)]
    lines = [
        [one["model"], _text(one[OURS]), *(_times(one, peer) for peer in peers)]
        for one in measured["figures"]
        if one["model"] in _SOME
    ]
    mean = f"geometric mean of {len(measured['figures'])} models"
    lines.append([mean, "", *(means(measured)[f"models to {peer}"] for peer in peers)])
    return "\n".join(markdown(["model", "te_sched ms", *peers], lines))


def means(measured: dict[str, Any]) -> dict[str, str]:
    """How many times as fast as each other library te_sched is: geometric means, by
    "models to torch".
    """
    found = {}
    for peer in measured["libraries"][1:]:
        ratios = [one[peer] / one[OURS] for one in measured["figures"] if one.get(peer)]
        found[f"models to {peer}"] = f"{statistics.geometric_mean(ratios):.2f}" if ratios else "-"
    return found


def _times(figures: dict[str, Any], peer: str) -> str:
    return f"{figures[peer] / figures[OURS]:.2f}" if figures.get(peer) else "-"


def _text(seconds: float | None) -> str:
    if seconds is None:
        return "-"
    value = seconds * 1e3
    return f"{value:.3f}" if value < 1 else f"{value:.2f}"


def setting(threads: int) -> str:
    """How and where the figures were measured."""
    names = ("te_sched", "torch", "onnxruntime", "openvino", "tvm")
    versions = []
    for name in names:
        module = sys.modules.get(name)
        if module is not None:
            versions.append(f"{name} {getattr(module, '__version__', '')}".strip())
    return f"{processor()}, {threads} threads; {', '.join(versions)}"


if __name__ == "__main__":
    sys.exit(peer_environment.run("benchmarks.graphs", main, sys.argv[1:]))

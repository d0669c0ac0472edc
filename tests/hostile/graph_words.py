"""Functions for lines of hostile calls that return objects of graphs and of tuning.

Each call returns a new object, except if it is slow to build.
"""

from __future__ import annotations

import functools
import os
import tempfile
from typing import Any

import te_sched
from te_sched import meta_schedule, relax, te
from te_sched.relax.frontend import nn


def tensor(dtype: str = "float32", *shape: Any) -> Any:
    """A variable."""
    return relax.Var("x", relax.TensorStructInfo(shape or (8, 8), dtype))


def vague() -> Any:
    """A tensor of unknown shape and dtype."""
    return relax.Var("v", relax.TensorStructInfo(None, ""))


def pair() -> Any:
    """A variable of two tensors."""
    one = relax.TensorStructInfo((8, 8), "float32")
    return relax.Var("t", relax.TupleStructInfo([one, one]))


def sizes() -> Any:
    """A variable of a shape."""
    return relax.Var("s", relax.ShapeStructInfo((te.var("n", "int64"), 4)))


def number() -> Any:
    """A variable of an integer."""
    return relax.Var("n", relax.PrimStructInfo("int64"))


def module() -> Any:
    """A graph of one dataflow block."""
    x = tensor()
    builder = relax.BlockBuilder()
    with builder.function("main", [x]):
        with builder.dataflow():
            y = builder.emit(relax.op.add(relax.op.exp(x), x))
            out = builder.emit_output(relax.op.nn.relu(y))
        builder.emit_func_output(out)
    return builder.get()


def bound() -> Any:
    """A variable of another builder."""
    return module()["main"].body.blocks[0].bindings[0].var


def opened() -> Any:
    """A builder of which a dataflow block is open."""
    builder = relax.BlockBuilder()
    for one in (builder.function("main", [tensor()]), builder.dataflow()):
        one.__enter__()
        _OPEN.append(one)  # one that is collected is closed
    return builder


_OPEN: list[Any] = []


@functools.cache
def executable() -> Any:
    """A built graph."""
    return relax.build(module(), "llvm")


def machine() -> Any:
    """A machine of a built graph."""
    return relax.VirtualMachine(executable(), te_sched.cpu())


def rewrite() -> Any:
    """A rewriter of a dataflow block."""
    func = module()["main"]
    return relax.DataflowBlockRewrite(func.body.blocks[0], func)


class _Net(nn.Module):
    def __init__(self) -> None:
        self.linear = nn.Linear(8, 8)

    def forward(self, x: Any) -> Any:
        """A layer."""
        return self.linear(x)


def net() -> Any:
    """A model of nn."""
    return _Net()


def nn_tensor() -> Any:
    """A tensor of nn."""
    return nn.Tensor(_expr=tensor())


def program() -> Any:
    """A module of one function of blocks."""
    a = te.placeholder((8, 8), name="A")
    b = te.compute((8, 8), lambda i, j: a[i, j] + 1.0, name="B")
    func = te.create_prim_func([a, b]).with_attr("global_symbol", "main")
    return te_sched.IRModule({"main": func})


def blocks() -> Any:
    """A schedule of blocks."""
    return te_sched.tir.Schedule(program())


def context() -> Any:
    """What a task is tuned in."""
    return meta_schedule.TuneContext(
        mod=program(),
        target=te_sched.target.Target("llvm -num-cores=1"),
        space_generator="post-order-apply",
        search_strategy="replay-trace",
        task_name="main",
        rand_state=1,
    )


def workload() -> Any:
    """What a database names."""
    return meta_schedule.database.Workload(program())


def record() -> Any:
    """A result of tuning."""
    return meta_schedule.database.TuningRecord(
        blocks().trace,
        workload(),
        [1.0],
        te_sched.target.Target("llvm -num-cores=1"),
        meta_schedule.ArgInfo.from_prim_func(program()["main"]),
    )


def memory() -> Any:
    """A database in memory."""
    return meta_schedule.database.MemoryDatabase()


def json_files() -> Any:
    """A database in files."""
    return meta_schedule.database.JSONDatabase(work_dir=tempfile.mkdtemp(dir="."))


def sqlite() -> Any:
    """A database of SQLite."""
    return meta_schedule.database.SQLiteDatabase(os.path.join(tempfile.mkdtemp(dir="."), "db"))


def closed() -> Any:
    """A database of SQLite that was closed."""
    found = sqlite()
    found.close()
    return found


def onnx_model() -> Any:
    """A model of ONNX."""
    from onnx import TensorProto, helper

    x, y = (helper.make_tensor_value_info(n, TensorProto.FLOAT, [8, 8]) for n in "xy")
    graph = helper.make_graph([helper.make_node("Exp", ["x"], ["y"])], "g", [x], [y])
    return helper.make_model(graph)

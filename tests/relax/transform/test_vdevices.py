"""UpdateVDevice and RealizeVDevice: the devices of the values of graphs."""

import numpy as np
import pytest

import te_sched
from te_sched import IRModule, cpu, cuda, relax
from te_sched.errors import GraphError
from te_sched.ir.struct_info import VDevice
from te_sched.relax.transform import RealizeVDevice, UpdateVDevice
from te_sched.script import ir as I
from te_sched.script import relax as R
from tests.relax.described import described

LLVM, FIRST, SECOND = VDevice("llvm"), VDevice("cuda", 0), VDevice("cuda", 1)


def devices_of(func):
    """The device of each variable, and those of the elements of tuples."""
    variables = [*func.params, *[one.var for b in func.body.blocks for one in b.bindings]]
    return {one.name_hint: _device_of(one.struct_info) for one in variables}


def _device_of(info):
    if isinstance(info, relax.TupleStructInfo):
        return [_device_of(one) for one in info.fields]
    return None if info.vdevice is None else f"{info.vdevice.kind}:{info.vdevice.vdevice_id}"


def module(emit, *infos, devices=(LLVM, FIRST, SECOND)):
    """A module with one function of x and y, the bindings of which `emit` emits."""
    builder = relax.BlockBuilder()
    plain = relax.TensorStructInfo([2, 4], "float32")
    params = [relax.Var(name, info or plain) for name, info in zip("xy", infos, strict=False)]
    with builder.function("main", params):
        with builder.dataflow():
            out = builder.emit_output(emit(builder, *params))
        builder.emit_func_output(out)
    made = builder.get()
    made.update_global_info("vdevice", list(devices))
    return made


def test_devices_follow_from_hints():
    def emit(builder, x, y):
        total = builder.emit(relax.op.add(x, y), "total")
        there = builder.emit(relax.op.hint_on_device(total, cuda(1)), "there")
        near = builder.emit(relax.op.hint_on_device(there, cpu()), "near")
        return relax.op.negative(near)

    before = module(emit, None, None)
    after = RealizeVDevice()(before)["main"]
    found = devices_of(after)
    assert [found[name] for name in ("x", "y", "total", "there", "near", "gv")] == [
        *["cuda:1"] * 4,
        *["llvm:0"] * 2,
    ]
    assert described(after) == (
        "(x, y) total = add(x, y); there = total; near = to_vdevice(there); "
        "gv* = negative(near); gv"
    )
    assert devices_of(before["main"])["x"] is None


def test_each_element_of_a_tuple_has_its_device():
    def emit(builder, x, y):
        near = builder.emit(relax.op.hint_on_device(x, cpu()), "near")
        there = builder.emit(relax.op.hint_on_device(y, cuda(0)), "there")
        both = builder.emit(relax.Tuple([near, there]), "both")
        parts = builder.emit(relax.op.split(builder.emit(relax.TupleGetItem(both, 1)), 2), "parts")
        return builder.emit(relax.TupleGetItem(parts, 0), "part")

    found = devices_of(RealizeVDevice()(module(emit, None, None))["main"])
    assert found["both"] == ["llvm:0", "cuda:0"]
    assert found["parts"] == ["cuda:0", "cuda:0"]
    assert (found["part"], found["x"], found["y"]) == ("cuda:0", "llvm:0", "cuda:0")


def test_results_of_functions_of_blocks_and_branches_have_devices():
    @I.ir_module
    class Module:
        I.module_global_infos({"vdevice": [I.vdevice("llvm")]})

        @R.function
        def main(c: R.Tensor((), "bool"), x: R.Tensor((4,), "float32")):
            y = R.call_dps_packed("copy", (x,), R.Tensor((4,), "float32"))
            if c:  # noqa: SIM108
                z = R.exp(y)
            else:
                z = R.negative(y)
            return R.hint_on_device(z, te_sched.cpu())

    after = RealizeVDevice()(Module)["main"]
    found = devices_of(after)
    assert (found["x"], found["y"], found["z"]) == ("llvm:0",) * 3
    call = after.body.blocks[0].bindings[0].value
    assert call.sinfo_args[0].vdevice.kind == "llvm"


def test_a_graph_with_realized_devices_runs():
    def emit(builder, x, y):
        there = builder.emit(relax.op.hint_on_device(relax.op.add(x, y), cpu()))
        return relax.op.negative(there)

    built = relax.build(RealizeVDevice()(module(emit, None, None)), "llvm")
    arrays = [np.arange(8, dtype="float32").reshape(2, 4), np.ones((2, 4), "float32")]
    found = relax.VirtualMachine(built, cpu())["main"](*[te_sched.nd.array(a) for a in arrays])
    np.testing.assert_array_equal(found.numpy(), -(arrays[0] + arrays[1]))


def test_values_on_two_devices_are_refused():
    near, there = [relax.TensorStructInfo([2, 4], "float32", where) for where in (LLVM, FIRST)]

    def emit(builder, x, y):
        return relax.call_dps_packed("f", [x, y], relax.TensorStructInfo([2, 4], "float32"))

    with pytest.raises(GraphError, match="value y would be on devices cuda:0 and llvm:0"):
        RealizeVDevice()(module(emit, near, there))


def test_hints_on_unknown_devices_are_refused():
    def emit(builder, x):
        return relax.op.hint_on_device(x, cuda(3))

    with pytest.raises(GraphError, match=r"a hint is on device .*, which the module does not have"):
        RealizeVDevice()(module(emit, None))


def test_another_device_takes_the_place_of_one():
    def emit(builder, x, y):
        moved = builder.emit(relax.op.to_vdevice(y, FIRST), "moved")
        return relax.op.add(x, moved)

    infos = [relax.TensorStructInfo([2, 4], "float32", where) for where in (FIRST, LLVM)]
    before = module(emit, *infos, devices=(LLVM, FIRST))
    after = UpdateVDevice(SECOND, 1)(before)
    assert devices_of(after["main"]) == {
        "x": "cuda:1",
        "y": "llvm:0",
        "moved": "cuda:1",
        "gv": "cuda:1",
    }
    assert after["main"].ret_struct_info.vdevice.vdevice_id == 1
    assert [one.vdevice_id for one in after.global_infos["vdevice"]] == [0, 1]
    assert devices_of(before["main"])["x"] == "cuda:0"


def test_rejects_devices_that_the_module_does_not_have():
    with pytest.raises(GraphError, match="device 1 is replaced in a module of 0 devices"):
        UpdateVDevice(LLVM, 1)(IRModule({}))


def test_copies_go_to_the_device_of_the_target():
    def emit(builder, x):
        return relax.op.to_vdevice(x, SECOND)

    lowered = relax.transform.LowerRuntimeBuiltin()(module(emit, None))["main"]
    call = lowered.body.blocks[0].bindings[0].value
    assert [one.value.value for one in call.args[1:]] == [2, 1]

"""KillAfterLastUse: the lives of tensors and storages end."""

from te_sched import relax
from te_sched.relax.op import memory
from te_sched.relax.transform import KillAfterLastUse
from tests.relax.described import described


def killed(write, *params):
    builder = relax.BlockBuilder()
    with builder.function("main", list(params)):
        builder.emit_func_output(write(builder))
    return described(KillAfterLastUse()(builder.get())["main"])


def tensor(builder, size=4):
    storage = builder.emit(memory.alloc_storage([4 * size], 0, "global", "uint8"), "storage")
    return builder.emit(memory.alloc_tensor(storage, 0, [size], "float32"), "tensor")


def test_a_tensor_ends_after_its_last_use():
    def write(builder):
        value = tensor(builder)
        for _ in range(2):
            builder.emit(relax.Call(relax.ExternFunc("f"), [value]), "call")
        return builder.emit(relax.Call(relax.ExternFunc("g"), []), "result")

    text = killed(write)
    order = [text.index(part) for part in ("call* = f", "call1* = f", "kill_tensor(tensor)", "= g")]
    assert order == sorted(order)


def test_a_result_lives_on():
    assert "kill_tensor" not in killed(tensor)


def test_a_storage_ends_after_the_last_tensor_in_it_is_allocated():
    def write(builder):
        storage = builder.emit(memory.alloc_storage([16], 0, "global", "uint8"), "storage")
        values = [
            builder.emit(memory.alloc_tensor(storage, 0, [4], "float32"), name) for name in "ab"
        ]
        return builder.emit(relax.Call(relax.ExternFunc("f"), values), "result")

    text = killed(write)
    order = [text.index(part) for part in ("a* =", "b* =", "kill_storage(storage)", "= f(a, b)")]
    assert order == sorted(order)

"""Functions that are made for a family of operators have the signatures of written ones."""

from __future__ import annotations

import inspect
import subprocess
import sys
from typing import Any

import pytest

from te_sched.relax import op

DEFAULTS = [
    (op.nn.conv1d, {"strides": 1, "padding": 0, "dilation": 1, "data_layout": "NCW"}),
    (op.nn.conv2d, {"strides": (1, 1), "padding": (0, 0), "kernel_layout": "OIHW"}),
    (op.nn.conv3d, {"dilation": (1, 1, 1), "kernel_layout": "OIDHW", "out_layout": None}),
    (op.nn.conv1d_transpose, {"output_padding": 0, "kernel_layout": "IOW"}),
    (op.nn.conv2d_transpose, {"output_padding": (0, 0), "kernel_layout": "IOHW"}),
    (op.nn.max_pool1d, {"pool_size": (1,), "padding": (0, 0), "layout": "NCW"}),
    (op.nn.avg_pool3d, {"pool_size": (1, 1, 1), "padding": (0, 0, 0), "layout": "NCDHW"}),
    (op.nn.adaptive_avg_pool2d, {"output_size": None, "layout": "NCHW"}),
    (op.grad.max_pool2d_backward, {"padding": (0, 0, 0, 0)}),
    (op.sum, {"axis": None, "keepdims": False}),
]


@pytest.mark.parametrize(("function", "defaults"), DEFAULTS)
def test_defaults_are_those_of_the_rank(function: Any, defaults: dict[str, object]) -> None:
    parameters = inspect.signature(function).parameters
    assert {name: parameters[name].default for name in defaults} == defaults


def test_parameters_have_kinds_and_functions_names() -> None:
    assert str(inspect.signature(op.tanh)) == "(x: 'Value') -> 'GraphCall'"
    assert str(inspect.signature(op.add)) == "(x1: 'Value', x2: 'Value') -> 'GraphCall'"
    assert (op.tanh.__name__, op.tanh.__doc__) == ("tanh", "The hyperbolic tangent")
    assert op.nn.max_pool3d.__qualname__ == "max_pool3d"
    assert op.nn.max_pool3d.__doc__.startswith("The maximum of each window, in three dimensions.")


def test_rules_load_topi_when_they_are_called() -> None:
    code = (
        "import sys; from te_sched import relax; from te_sched.ir import Op\n"
        "assert 'te_sched.topi' not in sys.modules\n"
        "x = relax.Var('x', relax.TensorStructInfo([4], 'float32'))\n"
        "builder = relax.BlockBuilder(); call = builder.normalize(relax.op.tanh(x))\n"
        "call = Op.get('relax.tanh').get_attr('FLegalize')(builder, call)\n"
        "print(call.args[0], 'te_sched.topi' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["tir_tanh", "True"]

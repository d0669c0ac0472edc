"""A valid argument for each parameter, as an expression, by names of parameters.

Functions with other arguments have their own entries. Must not know hostile values.
"""

from __future__ import annotations

import inspect

from tests.hostile import graphs
from tests.hostile.surface import Callee

V, M, D = "words.vector()", "words.matrix()", "words.image()"

# By the name of the parameter.
USUAL = {
    "x": "te.const(1.0)",
    "y": "te.const(2.0)",
    "a": "te.const(7)",
    "b": "te.const(2)",
    "lhs": "te.const(7)",
    "rhs": "te.const(2)",
    "dtype": "'float32'",
    "out_dtype": "'float32'",
    "name": "'named'",
    "shape": "(8, 8)",
    "axis": "0",
    "data": D,
    "padding": "1",
    "stride": "1",
    "strides": "1",
    "dilation": "1",
    "device_id": "0",
    "outs": "words.computed()",
    "value": "1",
    "expr": "te.const(3)",
    "condition": "te.const(True)",
    "cond": "te.const(True)",
    "t": "1",
    "f": "2",
    "true_value": "1",
    "false_value": "2",
    "indices": "words.vector('int32')",
    "groups": "1",
    "pool_type": "'max'",
    "target": "'llvm'",
    "layout": "'NCHW'",
    "func_name": "'f'",
    "tag": "''",
    "attrs": "None",
    "args": "te.const(1)",
    "kernel": "(2, 2)",
    "count": "2",
    "s": "words.schedule()",
    "sch": "words.schedule()",
    "Input": D,
    "Filter": "words.placed(4, 4, 3, 3)",
    "filter": "words.placed(4, 4, 3, 3)",
    "tensor_a": M,
    "tensor_b": M,
    "keepdims": "False",
    "beta": V,
    "gamma": V,
    "output_padding": "0",
    "weight": M,
    "epsilon": "1e-5",
    "n": "4",
    "k": "0",
    "in_tuple": "(1, 2)",
    "function": "lambda *a: 0",
    "buffer": "tir.decl_buffer((8,))",
    "array": M,
    "begin": "(0, 0)",
    "end": "(4, 4)",
    "stmt": "words.statement()",
    "dom": "(0, 8)",
    "body": "words.statement()",
    "scope": "'global'",
    "Scale": "words.placed(4)",
    "Shift": "words.placed(4)",
    "pad_before": "(0, 0, 1, 1)",
    "pad_after": "(0, 0, 1, 1)",
    "block_size": "2",
    "opt_level": "2",
    "a_tuple": "[words.matrix(), words.matrix()]",
    "tensor": M,
    "idx": "3",
    "rank": "2",
    "output_size": "(1, 1)",
    "is_met": "True",
    "reason": "'because'",
    "var": "te.var('v')",
    "extent": "8",
    "fcompute": "lambda *i: 1.0",
    "inputs": "[words.matrix()]",
    "op": "'tir.exp'",
    "model": "'unknown'",
    "objects": "[]",
    "output": "'/dev/null'",
    "other": "te.const(1)",
    "parent": "made.j",
    "ivar": "made.j",
    "thread_ivar": "te.thread_axis('threadIdx.x')",
    "factor": "2",
    "x_parent": "made.i",
    "y_parent": "made.j",
    "x_factor": "2",
    "y_factor": "2",
    "pragma_type": "'debug_skip_region'",
    "offset": "0",
    "tensor_intrin": "words.adder()",
    "threads": "te.thread_axis('threadIdx.x')",
    "mapping_function": "lambda i, j: [j, i]",
    "outputs": "made.B",
    "readers": "made.C",
    "factor_axis": "0",
    "begin_value": "0",
    "fvisit": "lambda node: None",
    "preorder": "None",
    "postorder": "lambda node: None",
    "vmap": "{}",
    "e": "te.var('v') + 1",
    "limit": "0",
    "lines": "te_sched.views.loop_tree.loop_tree(words.program())",
    "header": "['a']",
    "rows": "[['b']]",
    "ary": "words.matrix()",
    "node": "words.statement()",
    "node_of": "te.var('v')",
    "attr_key": "'pragma_debug'",
    "var_name": "'x'",
    "variable": "te.var('v')",
    "content_type": "'float32'",
    "buf": "tir.decl_buffer((8,))",
    "index": "0",
    "path": "'saved.so'",
    "dev": "te_sched.cpu(0)",
    "mod": "words.program()",
    "func": "words.program()['main']",
    "pass_func": "lambda f, m, c: f",
    "kernel_layout": "'OIHW'",
    "inp": "words.image()",
    "filt": "words.placed(4, 4, 3, 3)",
    "data_layout": "'NCHW'",
    "gap": "1",
}
# Exceptions, by function and parameter.
OF = {
    **{
        f"te_sched.topi.nn.{name}": {
            "data": "words.placed(1, 4, 8)",
            "Input": "words.placed(1, 4, 8)",
        }
        | {"kernel": "words.placed(4, 4, 3)"}
        for name in (
            *("conv1d", "conv1d_ncw", "conv1d_nwc", "group_conv1d_ncw", "group_conv1d_nwc"),
            *("conv1d_transpose_ncw", "group_conv1d_transpose_ncw"),
        )
    },
    **{
        f"te_sched.topi.nn.{name}": {
            "Input": "words.placed(1, 4, 8, 8, 8)",
            "data": "words.placed(1, 4, 8, 8, 8)",
            "Filter": "words.placed(4, 4, 3, 3, 3)",
        }
        for name in ("conv3d_ncdhw", "conv3d_transpose_ncdhw", "upsampling3d", "adaptive_pool3d")
    },
    **{
        f"te_sched.topi.nn.{name}": {
            "Input": "words.placed(1, 8, 8, 4)",
            "Filter": "words.placed(3, 3, 4, 4)",
        }
        for name in ("conv2d_nhwc", "group_conv2d_nhwc", "depthwise_conv2d_nhwc")
    },
    "te_sched.topi.nn.conv2d_hwcn": {
        "Input": "words.placed(8, 8, 4, 1)",
        "Filter": "words.placed(3, 3, 4, 4)",
    },
    "te_sched.topi.nn.batch_matmul": {
        "tensor_a": "words.placed(2, 8, 8)",
        "tensor_b": "words.placed(2, 8, 8)",
    },
    "te_sched.topi.image.resize1d": {"data": "words.placed(1, 4, 8)", "layout": "'NCW'"}
    | {"size": "(4,)", "roi": "(0.0, 1.0)"},
    "te_sched.topi.image.resize2d": {"size": "(4, 4)", "roi": "(0.0, 0.0, 1.0, 1.0)"},
    "te_sched.topi.image.resize3d": {"data": "words.placed(1, 4, 8, 8, 8)", "layout": "'NCDHW'"}
    | {"size": "(4, 4, 4)", "roi": "(0.0, 0.0, 0.0, 1.0, 1.0, 1.0)"},
    "te_sched.topi.nn.pool1d": {"data": "words.placed(1, 4, 8)"},
    "te_sched.topi.nn.pool3d": {"data": "words.placed(1, 4, 8, 8, 8)"},
    "te_sched.topi.nn.adaptive_pool1d": {"data": "words.placed(1, 4, 8)", "output_size": "2"},
    "te_sched.topi.nn.dilate": {"data": "words.matrix()", "strides": "(1, 2)"},
    "te_sched.topi.nn.upsampling": {"scale_h": "2", "scale_w": "2"},
    "te_sched.topi.nn.lrn": {"size": "3"},
    "te_sched.topi.tensordot": {"a": "words.matrix()", "b": "words.matrix()", "axes": "1"},
    "te_sched.topi.matmul": {"a": "words.matrix()", "b": "words.matrix()"},
    "te_sched.topi.split": {"indices_or_sections": "2"},
    "te_sched.topi.arange": {"start": "8"},
    "te_sched.topi.strided_slice": {"a": "words.matrix()"},
    "te_sched.topi.strided_set": {"a": "words.matrix()", "v": "words.placed(4, 4)"},
    "te_sched.topi.one_hot": {"on_value": "1", "off_value": "0", "depth": "4"},
    "te_sched.topi.take": {"a": "words.matrix()"},
    "te_sched.topi.stack": {"a": "[words.matrix(), words.matrix()]"},
    "te_sched.topi.full": {"fill_value": "1"},
    "te_sched.topi.sliding_window": {"window_shape": "(1, 2, 2, 2)", "strides": "(1, 1, 1, 1)"},
    "te_sched.topi.meshgrid": {"a_tuple": "[words.vector()]", "indexing": "'ij'"},
    "te_sched.topi.einsum": {
        "subscripts": "'ij,jk->ik'",
        "operand": "words.matrix(), words.matrix()",
    },
    "te_sched.topi.layout_transform": {
        "array": "words.image()",
        "src_layout": "'NCHW'",
        "dst_layout": "'NCHW2c'",
    },
    "te_sched.build": {"inputs": "words.program()"},
    "te_sched.lower": {"inputs": "words.program()"},
    "te_sched.te.max": {"expr": "words.matrix()[0, te.reduce_axis((0, 8))]"},
    "te_sched.te.thread_axis": {"tag": "'threadIdx.x'"},
    "made.s.cache_read": {"tensor": "made.B"},
    "made.s.cache_write": {"tensor": "made.B", "scope": "'local'"},
    "made.s.rfactor": {"tensor": "made.C", "axis": "made.k"},
    "made.s.create_group": {"inputs": "made.A", "outputs": "made.B"},
    "made.s.__getitem__": {"operation": "made.B"},
    "made.stage.compute_at": {"parent": "made.s[made.C]", "scope": "made.C.op.axis[0]"},
    "made.stage.storage_align": {"axis": "made.i"},
    "made.stage.pragma": {"var": "made.j"},
    "made.stage.parallel": {"var": "made.j"},
    "made.stage.vectorize": {"var": "made.j"},
    "made.stage.unroll": {"var": "made.j"},
    "made.stage.tensorize": {"var": "made.j"},
    "made.stage.prefetch": {"tensor": "made.A", "var": "made.j"},
    "made.stage.fuse": {"args": "made.i, made.j"},
    "made.stage.reorder": {"args": "made.j, made.i"},
    "words.built().time_evaluator": {"func_name": "'main'"},
    "words.matrix().__call__": {"indices": "0, 0"},
    "words.matrix().__getitem__": {"indices": "(0, 0)"},
    "te_sched.te.extern": {
        "shape": "(8, 8)",
        "fcompute": "lambda ins, outs: tir.call_packed('f', ins[0], outs[0])",
    },
}


def argument(callee: Callee, parameter: inspect.Parameter) -> str | None:
    """The expression of an argument, or None if none is known."""
    own = OF.get(callee.text, {})
    if parameter.name in own:
        return own[parameter.name]
    if parameter.default is not parameter.empty and parameter.name not in own:
        return None
    if is_of_graphs(callee.text) and parameter.name in graphs.USUAL:
        return graphs.USUAL[parameter.name]
    return USUAL.get(parameter.name)


def is_of_graphs(text: str) -> bool:
    """Whether a function is one of graphs or of tuning."""
    return text.startswith(("graph_words.", "te_sched.relax", "te_sched.meta", "te_sched.dlight"))

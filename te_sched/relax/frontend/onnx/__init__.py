"""Models of ONNX as graphs, with TVM's names. The package onnx is imported when it is needed."""

import sys

from te_sched import public_names, signatures
from te_sched.absent_names import tell_of_absent_names as _tell_of_absent_names
from te_sched.errors import GraphTypeError as _GraphTypeError
from te_sched.relax.frontend.onnx import operators as _operators  # noqa: F401
from te_sched.relax.frontend.onnx.onnx_model import from_onnx as from_onnx

public_names.list_names(sys.modules[__name__])
signatures.check_arguments(sys.modules[__name__], error=_GraphTypeError)
_tell_of_absent_names(__name__)

"""What a tensor has at run time: its dtype, shape, strides and offset, as numbers."""

from te_sched.relax.operators.inspection import tensor_byte_offset as tensor_byte_offset
from te_sched.relax.operators.inspection import tensor_dtype_bits as tensor_dtype_bits
from te_sched.relax.operators.inspection import tensor_dtype_code as tensor_dtype_code
from te_sched.relax.operators.inspection import tensor_dtype_lanes as tensor_dtype_lanes
from te_sched.relax.operators.inspection import tensor_elem_offset as tensor_elem_offset
from te_sched.relax.operators.inspection import tensor_ndim as tensor_ndim
from te_sched.relax.operators.inspection import tensor_shape_i as tensor_shape_i
from te_sched.relax.operators.inspection import tensor_stride_i as tensor_stride_i

"""The analyses of dataflow blocks behind passes, for tests."""

from te_sched.relax.transform.dataflow_inplace import (
    dataflow_alias_analysis as dataflow_alias_analysis,
)
from te_sched.relax.transform.dataflow_inplace import (
    dataflow_inplace_analysis as dataflow_inplace_analysis,
)
from te_sched.relax.transform.dataflow_inplace import (
    dataflow_liveness_analysis as dataflow_liveness_analysis,
)
from te_sched.relax.transform.dataflow_inplace import (
    dataflow_single_inplace_call as dataflow_single_inplace_call,
)

"""Parts of language models: a paged cache of keys and values (`kv_cache`)."""

import sys

from te_sched import public_names
from te_sched.absent_names import tell_of_absent_names as _tell_of_absent_names
from te_sched.relax.frontend.nn.llm import kv_cache as kv_cache
from te_sched.relax.frontend.nn.llm import position_embedding as position_embedding

public_names.list_names(sys.modules[__name__], "kv_cache", "position_embedding")
_tell_of_absent_names(__name__)

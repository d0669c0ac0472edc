"""Without TVM no test of this folder is collected."""

from __future__ import annotations

import importlib.util

collect_ignore_glob = [] if importlib.util.find_spec("tvm") else ["*.py", "*/*.py"]

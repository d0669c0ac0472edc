"""Classes of nodes with TVM's constructors, which have other parameters than the classes.

Type checkers have no such types; they take these names for Any.
"""

from typing import Any

def __getattr__(name: str) -> Any: ...

"""Words that are types in annotations and functions elsewhere, as T.int32 and R.Tensor.

Type checkers have no such types: a class is no supertype of all values that TVMScript gives such a
variable, and what is none cannot be called. They take these names for Any.
"""

from typing import Any

def __getattr__(name: str) -> Any: ...

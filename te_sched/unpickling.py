"""Reading pickled data that may create objects of listed classes only. Must not know the data."""

from __future__ import annotations

import importlib
import io
import pickle
from collections.abc import Collection, Mapping
from typing import Any

from te_sched.nested_copies import restore


def load_pickled(
    data: bytes, classes: Mapping[str, Collection[str]], moved: Mapping[str, str] = {}
) -> Any:
    """The object that pickle wrote; `classes` has the names of its classes by their modules,
    `moved` the present modules of classes by those of older data.

    Raises
    ------
    pickle.UnpicklingError for data that names anything else, or that cannot be read.

    >>> load_pickled(pickle.dumps((1, "a")), {})
    (1, 'a')
    """
    try:
        return _ListedUnpickler(io.BytesIO(data), classes, moved).load()
    except pickle.UnpicklingError:
        raise
    except Exception as error:  # whatever a class raises for the arguments that the data has
        raise pickle.UnpicklingError(f"{type(error).__name__}: {error}") from None


class _ListedUnpickler(pickle.Unpickler):
    def __init__(
        self,
        file: io.BytesIO,
        classes: Mapping[str, Collection[str]],
        moved: Mapping[str, str],
    ) -> None:
        super().__init__(file)
        self._classes, self._moved = classes, moved

    def find_class(self, module: str, name: str) -> Any:
        module = self._moved.get(module, module)
        if (module, name) == (restore.__module__, restore.__name__):
            return restore  # it sets fields, as pickle does
        if name not in self._classes.get(module, ()):
            raise pickle.UnpicklingError(f"{module}.{name} is not part of a program")
        cls = getattr(importlib.import_module(module), name, None)
        if not isinstance(cls, type) or cls.__module__ != module:
            raise pickle.UnpicklingError(f"{module}.{name} is not a class of this module")
        return cls

"""tir.IndexMap: maps of indices made of Python functions, and their methods."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from te_sched.arith import index_functions as functions
from te_sched.arith import index_map as maps
from te_sched.arith.evaluate import evaluate
from te_sched.deep_recursion import walks_deeply
from te_sched.errors import DeclarationError
from te_sched.ir import dtypes, index_map
from te_sched.ir.expr import Expr, IntImm, Range, Var
from te_sched.nd import NDArray, array
from te_sched.signatures import checked
from te_sched.tir.constructors import Constructor

AXIS_SEPARATOR = index_map.AXIS_SEPARATOR
_Function = Callable[..., Any]
_deeply = walks_deeply("map indices", DeclarationError)


class IndexMapConstructor(Constructor):
    """tir.IndexMap: the class of maps, with the functions that make them.

    >>> from te_sched import tir
    >>> rows = tir.IndexMap.from_func(lambda i, j: [i // 4, j, i % 4], index_dtype="int32")
    >>> rows
    T.index_map(lambda i, j: (i // 4, j, i % 4))
    >>> rows.map_indices([9, 2]), rows.map_shape([12, 5])
    ([2, 2, 1], [3, 5, 4])
    >>> rows.inverse([12, 5])
    T.index_map(lambda axis0, axis1, axis2: (axis0 * 4 + axis2, axis1))
    >>> rows.non_surjective_inverse([11, 5])[1]
    axis0 == 2 and axis2 == 3
    """

    AXIS_SEPARATOR = AXIS_SEPARATOR

    @checked
    def from_func(
        self,
        mapping_function: _Function,
        ndim: int | None = None,
        inverse_index_map: Any = None,
        *,
        index_dtype: str = "int64",
    ) -> index_map.IndexMap:
        """The map that a function of indices computes.

        Parameters
        ----------
        ndim : the number of indices, for a function with *args.
        inverse_index_map : a map or a function, which `inverse` then returns.
        """
        new_map, separators = self.from_func_with_separators(
            mapping_function, ndim, inverse_index_map, index_dtype=index_dtype
        )
        if separators:
            raise DeclarationError(
                "the function of IndexMap.from_func returns AXIS_SEPARATOR",
                "an index map has no separators",
                "call IndexMap.from_func_with_separators",
            )
        return new_map

    @checked
    def from_func_with_separators(
        self,
        mapping_function: _Function,
        ndim: int | None = None,
        inverse_index_map: Any = None,
        *,
        index_dtype: str = "int64",
    ) -> tuple[index_map.IndexMap, list[int]]:
        """The map that a function of indices computes, and the positions of AXIS_SEPARATOR.

        >>> from te_sched import tir
        >>> apart = lambda i, j: [i, tir.IndexMap.AXIS_SEPARATOR, j]
        >>> tir.IndexMap.from_func_with_separators(apart)
        (T.index_map(lambda i, j: (i, j)), [1])
        """
        dtype = dtypes.spelled(index_dtype)
        return functions.map_of(mapping_function, ndim, inverse_index_map, dtype)


def _index_map(
    initial_indices: Sequence[Var], final_indices: Sequence[Any], inverse_index_map: Any = None
) -> index_map.IndexMap:
    finals = tuple([functions.index_of(index) for index in final_indices])
    return index_map.IndexMap(
        tuple(initial_indices),
        finals,
        functions.stated_inverse(inverse_index_map, len(finals), "int64"),
    )


IndexMap = IndexMapConstructor(index_map.IndexMap, _index_map)

_Map = index_map.IndexMap  # the class of nodes, whose methods follow


@checked
@_deeply
def map_indices(self: _Map, indices: Sequence[Any]) -> list[Expr]:
    """The new indices of old ones.

    >>> from te_sched import tir
    >>> tir.IndexMap.from_func(lambda i: [i // 4, i % 4], index_dtype="int32").map_indices([7])
    [1, 3]
    """
    return list(maps.map_indices(self, [functions.index_of(index) for index in indices]))


@checked
@_deeply
def map_shape(self: _Map, shape: Sequence[Any]) -> list[Expr]:
    """The shape of a buffer with new indices, including padding.

    >>> from te_sched import tir
    >>> tir.IndexMap.from_func(lambda i: [i // 4, i % 4]).map_shape([14])
    [4, 4]
    """
    return list(maps.map_shape(self, [functions.index_of(extent) for extent in shape]))


@checked
@_deeply
def inverse(self: _Map, shape: Sequence[Any]) -> _Map:
    """The inverse of a one-to-one map of a region, given by sizes or ranges.

    >>> from te_sched import tir
    >>> tir.IndexMap.from_func(lambda i: [i // 4, i % 4], index_dtype="int32").inverse([16])
    T.index_map(lambda axis0, axis1: (axis0 * 4 + axis1,))
    """
    return maps.inverse(self, _domains(shape))


@checked
@_deeply
def non_surjective_inverse(self: _Map, shape: Sequence[Any]) -> tuple[_Map, Expr]:
    """The inverse of a map that adds padding, and the condition for new indices to be padding.

    >>> from te_sched import tir
    >>> rows = tir.IndexMap.from_func(lambda i: [i // 4, i % 4], index_dtype="int32")
    >>> rows.non_surjective_inverse([14])[1]
    axis0 == 3 and 2 <= axis1
    """
    return maps.non_surjective_inverse(self, _domains(shape))


@checked
@_deeply
def is_equivalent_to(self: _Map, other_map: _Map) -> bool:
    """Whether two maps are known to give equal indices.

    >>> from te_sched import tir
    >>> one, other = map(tir.IndexMap.from_func, (lambda i: [i + i], lambda j: [j * 2]))
    >>> one.is_equivalent_to(other)
    True
    """
    return maps.is_equivalent(self, other_map)


@checked
def map_ndarray(self: _Map, arr_src: NDArray) -> NDArray:
    """The elements of an array at their new indices; padding is 0.

    >>> import numpy
    >>> from te_sched import nd, tir
    >>> rows = tir.IndexMap.from_func(lambda i: [i // 2, i % 2])
    >>> rows.map_ndarray(nd.array(numpy.arange(4))).numpy().tolist()
    [[0, 1], [2, 3]]
    """
    source = arr_src.numpy()
    shape = self.map_shape(source.shape)
    places = np.indices(source.shape, dtype=np.int64)
    values: dict[Var, Any] = dict(zip(self.initial_indices, places, strict=True))
    result = np.zeros([size.value for size in shape if isinstance(size, IntImm)], source.dtype)
    result[tuple([evaluate(index, values, {}) for index in self.final_indices])] = source
    return array(result, arr_src.device)


def _domains(shape: Sequence[Any]) -> tuple[Range, ...]:
    sizes = [
        extent if isinstance(extent, Range) else functions.index_of(extent) for extent in shape
    ]
    return tuple(
        [size if isinstance(size, Range) else Range(IntImm(0, size.dtype), size) for size in sizes]
    )

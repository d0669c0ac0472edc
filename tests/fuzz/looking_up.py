"""Declarations with indices from memory: gathers, and scatters in bodies of te.extern.

Must not know schedules.
"""

from __future__ import annotations

from tests.peer.differential.lookups import DATA, Lookups
from tests.peer.differential.program import ANY, Value, shape


class Indices(Lookups):
    """Lookups, some of which write at indices from memory."""

    kinds = (*Lookups.kinds, *("scattered",) * 6)

    def scattered(self) -> Value | None:
        """Elements stored at indices from memory; the last store wins."""
        (dim, size) = self.some_dims(2)
        if dim.value < 1 or size.value < 2 or size.text != str(size.value):
            return None
        source, stage = self.placeholder((dim,)), self.fresh("S")
        data = self.placeholder((dim,), self.rng.choice(DATA), below=ANY)
        index = self.index(data, dim.value, size.value)
        line = (
            f"{stage} = te.extern({shape((size,))}, [{source}, {data}], lambda ins, outs: "
            f"scatter(ins, outs, lambda {data}, i: {index.te}), "
            f'name="{stage}", dtype="{self.dtype}")'
        )
        numpy = (
            f"(lambda out: (out.__setitem__(({index.numpy}).astype('int64') "
            f"+ np.zeros({dim.value}, 'int64'), {source}), out)[1])"
            f"(np.zeros({size.value}, '{self.dtype}'))"
        )
        return Value((stage,), (size,), (self.dtype,), (source, data), (line,), (numpy,))

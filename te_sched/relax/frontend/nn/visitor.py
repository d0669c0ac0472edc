"""`nn.Mutator`: parts of a model are exchanged before it is exported."""

from __future__ import annotations

from typing import Any, TypeVar

from te_sched.relax.frontend.nn.core import NNEffect, NNModule, NNModuleList, NNParameter

_Module = TypeVar("_Module", bound=NNModule)


class NNMutator:
    """Visits the parts of a module, with their paths; methods return what takes their place."""

    def visit(self, name: str, node: _Module) -> _Module:
        """The module, after its parts were visited."""
        if isinstance(node, NNModuleList):
            for index, part in enumerate(node):
                node[index] = self._part(_path(name, str(index)), part)
        else:
            for key, part in list(vars(node).items()):
                setattr(node, key, self._part(_path(name, key), part))
        return node

    def _part(self, name: str, node: object) -> Any:
        if isinstance(node, NNModuleList):
            return self.visit_modulelist(name, node)
        if isinstance(node, NNModule):
            return self.visit_module(name, node)
        if isinstance(node, NNEffect):
            return self.visit_effect(name, node)
        if isinstance(node, NNParameter):
            return self.visit_param(name, node)
        return node

    def visit_module(self, name: str, node: NNModule) -> object:
        """A module: by default its parts are visited."""
        return self.visit(name, node)

    def visit_effect(self, name: str, node: NNEffect) -> object:
        """An effect: by default itself."""
        return node

    def visit_param(self, name: str, node: NNParameter) -> object:
        """A parameter: by default itself."""
        return node

    def visit_modulelist(self, name: str, node: NNModuleList) -> object:
        """A list of modules: by default its elements are visited."""
        return self.visit(name, node)


def _path(name: str, key: str) -> str:
    return f"{name}.{key}" if name else key


Mutator = NNMutator

"""The tables of TVM's names."""

import pytest

from te_sched.compat.names import TREE
from tests.compat.importing import import_

pytestmark = pytest.mark.usefixtures("as_tvm")


def test_every_name_of_the_tables_is_there():
    for place, alias in TREE.items():
        module = import_(f"tvm.{place}".rstrip("."))
        for name in alias.names:
            assert getattr(module, name) is not None, f"{module.__name__}.{name}"


def test_every_listed_name_is_there():
    for place in TREE:
        module = import_(f"tvm.{place}".rstrip("."))
        assert all(hasattr(module, name) for name in module.__all__)


def test_a_module_without_faces_and_names_is_absent_or_a_package():
    empty = [place for place, alias in TREE.items() if not (alias.faces or alias.names)]
    packages = {place.rpartition(".")[0] for place in TREE}
    assert [place for place in empty if not TREE[place].is_absent and place not in packages] == []

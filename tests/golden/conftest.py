"""Programs and goldens of the corpus are not collected as tests."""

from tests.golden.corpus import FAMILIES

collect_ignore = [*FAMILIES, "graphs", "tensorir"]

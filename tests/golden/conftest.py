"""Corpus programs and goldens are data: nothing of them is collected as a test."""

from tests.golden.corpus import FAMILIES

collect_ignore = [*FAMILIES]

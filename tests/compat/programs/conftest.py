"""Tests run the programs of this folder and do not import them."""

collect_ignore_glob = ["*.py"]

"""The programs here are run by tests, never imported."""

collect_ignore_glob = ["*.py"]

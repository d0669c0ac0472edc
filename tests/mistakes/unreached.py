"""Errors that the tests cannot reach everywhere, by function, and why."""

UNREACHED: dict[str, str] = {}

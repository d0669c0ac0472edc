"""Checks of schedules before lowering. Must not know statements."""

"""Tests of AutoTVM."""

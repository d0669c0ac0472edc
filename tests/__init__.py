"""Tests. The folders mirror te_sched/; golden/, fuzz/ and peer/ test the whole library."""

"""Tests; the folders mirror te_sched/, and golden/, property/ and peer/ hold what spans it."""

"""The tensor intrinsics that TVM brings, by target: what each computes, and what does it."""

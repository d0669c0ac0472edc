"""The workloads and measurements of benchmarks.cpu."""

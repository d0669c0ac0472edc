"""The programs and measurements of benchmarks.gemm_gpu."""

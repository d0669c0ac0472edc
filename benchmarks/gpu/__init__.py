"""What benchmarks.gemm_gpu measures, and how."""

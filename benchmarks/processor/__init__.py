"""What benchmarks.cpu measures, and how."""

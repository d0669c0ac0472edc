"""What kernels need of a GPU, and of each other's threads."""

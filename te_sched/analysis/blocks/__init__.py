"""What blocks of TensorIR access, and how their parts depend on each other."""

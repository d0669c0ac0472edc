"""What tests of graphs share."""

"""What all parts of graphs build on: sizes, questions about values, and substitution."""

"""What a program does, judged at any level of lowering: who touches what, and when."""

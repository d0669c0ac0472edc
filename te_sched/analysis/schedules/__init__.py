"""What a schedule asks for, judged before it is lowered. Must not know statements."""

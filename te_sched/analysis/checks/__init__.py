"""What an access needs: proved, or under a check when the program runs."""

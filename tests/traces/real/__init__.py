"""Exports that the real tools wrote, what was logged as the truth, and the generators that make both anew."""

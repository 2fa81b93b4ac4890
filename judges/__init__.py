"""Judges: what an assistant did with a request, decided by an ensemble that abstains rather than guesses."""

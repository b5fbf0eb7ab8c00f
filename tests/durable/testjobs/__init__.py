"""A kind of job for tests: a chore of a known number of ticks, each committed on its own."""

"""Tests of the launcher, the supervisor and what an operator touches."""

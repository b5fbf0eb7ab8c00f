"""Attacks on a running site, tried one by one from outside."""

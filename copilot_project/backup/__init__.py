"""Backups: one archive with the database, the files and, only when asked for, the keys."""

"""Backups: one archive with the database, the workspace files and, on request, the keys."""

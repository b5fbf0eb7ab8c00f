"""SQLite as Django speaks to it, with connections that serve one thread after another."""

"""Django's SQLite backend with a pool of connections."""

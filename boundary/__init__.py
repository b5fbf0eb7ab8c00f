"""Access to the untrusted outside: guarded HTTP, isolated parsing, sandboxed code."""

"""How the product touches the untrusted outside: guarded HTTP, readable pages, sandboxed code."""

"""Credentials: users' secrets for their agents, encrypted at rest, decrypted per use, never shown."""

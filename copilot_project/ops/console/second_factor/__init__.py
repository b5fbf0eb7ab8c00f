"""Two-factor authentication for the admin: codes of an authenticator app, and recovery codes."""

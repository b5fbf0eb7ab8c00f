"""OAuth 2.1 for programs that sign a person in instead of taking an API key: clients, grants and tokens."""

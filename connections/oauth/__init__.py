"""Sign-ins at MCP servers: discovery, registration and tokens of OAuth 2.1."""

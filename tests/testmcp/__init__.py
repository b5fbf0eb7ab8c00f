"""What the conformance suite of MCP wants a server to have; there only where COPILOT_TEST_APPS names this app."""

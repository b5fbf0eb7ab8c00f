"""The MCP server at /mcp: clients of the Model Context Protocol use the copilot, agents and files of a person."""

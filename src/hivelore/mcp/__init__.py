"""The MCP interface: tools, schemas and the stdio bridge."""

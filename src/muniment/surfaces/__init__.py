"""What people and programs touch: the command line; later the viewer and the MCP server."""

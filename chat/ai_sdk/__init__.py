"""The AI SDK adapter: its endpoints over HTTP and websocket, its requests, its error texts."""

"""Operations: tool calls that run in the background and continue the conversation when they end."""

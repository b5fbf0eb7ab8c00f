"""Operations: tool calls that take longer than an answer may; they go on by themselves and come back."""

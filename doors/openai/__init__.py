"""The OpenAI protocol under /v1: chat completions, responses, models and embeddings for any OpenAI client."""

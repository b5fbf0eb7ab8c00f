"""The offline model: an OpenAI-protocol server without a language model, for first use without a key and for tests."""

"""The offline model: a rule-based server that speaks the OpenAI protocol, for first use without a key and for tests."""

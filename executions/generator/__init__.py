"""The generator: builds agents from a description with the configured model, validated and repaired."""

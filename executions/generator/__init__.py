"""The generator: agents from words, by the configured model, checked and mended until they can run."""

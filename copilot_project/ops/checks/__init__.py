"""Is everything there and does it answer: one probe per part, shared by `up`, `doctor` and the health pages."""

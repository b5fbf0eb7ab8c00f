"""Blocks whose effects a test can count; there only where COPILOT_TEST_APPS names this app."""

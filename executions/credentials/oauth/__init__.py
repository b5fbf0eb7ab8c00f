"""OAuth2: signing in at a provider, and renewing the tokens.

Implemented here rather than taken from a library: requests must go through the guarded HTTP client, and what remains
is two URLs, one form and one JSON response.
"""

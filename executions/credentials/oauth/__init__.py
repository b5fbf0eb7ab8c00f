"""OAuth2: signing in at a provider, and keeping the sign-in fresh.

Written out rather than taken from a library: the requests must leave through the guarded client, and what is left is
two addresses, one form and one JSON answer.
"""

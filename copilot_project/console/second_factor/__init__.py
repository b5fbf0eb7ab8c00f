"""A second factor for the admin: codes of an authenticator app, and recovery codes for when the phone is gone."""

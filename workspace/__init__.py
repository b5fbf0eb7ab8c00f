"""Files of users: storage, quotas, references, pictures."""

"""Reviews: decisions by a person, for which nothing waits in a worker, and each of which counts once."""

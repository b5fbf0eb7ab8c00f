"""Reviews: a person is asked, nobody waits for the answer in a worker, and each answer counts once."""

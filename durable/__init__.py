"""The machine room: jobs with leases, their event log, and the news about them."""

"""What operators use: the admin's dashboard, metrics, traces, checks, backups and retention."""

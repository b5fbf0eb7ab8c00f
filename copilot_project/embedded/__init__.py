"""One machine, one command: the processes of the product and what keeps them running."""

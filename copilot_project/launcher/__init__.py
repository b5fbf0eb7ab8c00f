"""`./copilot up`: start all processes of the product on one machine and keep them running."""

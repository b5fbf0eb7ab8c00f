"""The real thing behind each port that needs no row of ours: the web, the model, the clock, mail, databases."""

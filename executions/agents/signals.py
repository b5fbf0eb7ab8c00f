"""What others hear of agents, inside the transaction that makes it so."""

from django.dispatch import Signal

agent_removed = Signal()  # agent: it left its library; schedules and triggers of it end with it

"""Django's handle on the package."""

from django.apps import AppConfig

from durable.signals import swept


class ChatConfig(AppConfig):
    name = "chat"

    def ready(self) -> None:
        from chat import continuations, turns  # models are not loaded before this point
        from chat.sub_sessions import listening, port, runner
        from executions.turn_runners import turn_runners
        from tools import sub_sessions

        continuations.connect()
        swept.connect(turns.stop_interrupted, dispatch_uid="chat.stop_interrupted")
        listening.connect()
        sub_sessions.fill(port.ChatSubSessions())
        turn_runners.fill(runner.AgentTurns)

"""Django's handle on the package."""

from django.apps import AppConfig


class ChatConfig(AppConfig):
    name = "chat"

    def ready(self) -> None:
        from chat import continuations  # models are not loaded before this point
        from chat.sub_sessions import listening, port, runner
        from executions.turn_runners import turn_runners
        from tools import sub_sessions

        continuations.connect()
        listening.connect()
        sub_sessions.fill(port.ChatSubSessions())
        turn_runners.fill(runner.AgentTurns)

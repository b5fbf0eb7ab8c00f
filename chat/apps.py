"""Django app of the chat: connects its signal handlers and ports."""

from django.apps import AppConfig

from durable.signals import swept


class ChatConfig(AppConfig):
    name = "chat"

    def ready(self) -> None:
        from accounts.preferences import model_preference
        from chat import continuations, model_choice, turns  # models are not loaded before this point
        from chat.lifecycle import TurnLifecycle
        from chat.models import Turn
        from chat.sub_sessions import callbacks, port, runner
        from durable.lifecycle import register as register_lifecycle
        from executions.turn_runners import turn_runners
        from tools import sub_sessions

        register_lifecycle(Turn, TurnLifecycle())
        continuations.connect()
        swept.connect(turns.stop_interrupted, dispatch_uid="chat.stop_interrupted")
        callbacks.connect()
        model_preference.fill(model_choice.check_pick)
        sub_sessions.install(port.ChatSubSessions())
        turn_runners.fill(runner.AgentTurns)

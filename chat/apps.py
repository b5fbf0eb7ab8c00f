"""Django app of the chat: connects its signal handlers and ports."""

from django.apps import AppConfig

from durable.signals import swept


class ChatConfig(AppConfig):
    name = "chat"

    def ready(self) -> None:
        from accounts.preferences import model_preference
        from chat import (  # models are not loaded before this point
            continuations,
            follow_ups,
            model_choice,
            turns,
        )
        from chat.lifecycle import TurnLifecycle
        from chat.models import Turn
        from chat.sub_sessions import callbacks, port, runner
        from durable.lifecycle import register as register_lifecycle
        from executions.turn_runners import turn_runners
        from tools import sub_sessions

        register_lifecycle(Turn, TurnLifecycle())
        continuations.connect()
        swept.connect(turns.stop_interrupted, dispatch_uid="chat.stop_interrupted")
        swept.connect(follow_ups.sweep, dispatch_uid="chat.follow_ups")
        callbacks.connect()
        model_preference.fill(model_choice.check_pick)
        sub_sessions.install(port.ChatSubSessions())
        turn_runners.fill(runner.AgentTurns)

"""The shapes of the chat API: what it takes and what it answers."""

from __future__ import annotations

from typing import Any

from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers

from chat import closing
from chat.api.fields import Flag, Form, Text
from chat.models import Message, Session, Turn
from durable import limits, statuses
from tools.errors import BadPermissions
from tools.permissions import Permissions

# --- what comes in --------------------------------------------------------------------------------


class PermissionsField(serializers.JSONField):
    """`{"tools": {"allow", "deny"}, "blocks": {"allow", "deny"}}`."""

    def to_internal_value(self, data: Any) -> Any:
        try:
            return Permissions.parse(super().to_internal_value(data)).as_json()
        except BadPermissions as error:
            raise serializers.ValidationError(str(error)) from None


class NewSession(Form):
    title = Text(max_length=limits.MAX_TITLE_CHARACTERS, required=False, allow_blank=True)
    permissions = PermissionsField(required=False, allow_null=True)


class SessionChange(Form):
    title = Text(max_length=limits.MAX_TITLE_CHARACTERS, required=False, allow_blank=True)
    pinned = Flag(required=False)


class PageContext(Form):
    """The page the person is looking at."""

    url = Text(max_length=limits.MAX_CONTEXT_URL_CHARACTERS, required=False, allow_blank=True)
    content = Text(max_length=limits.MAX_MESSAGE_CHARACTERS, required=False, allow_blank=True)


class NewTurn(Form):
    message = Text(
        max_length=limits.MAX_MESSAGE_CHARACTERS,
        allow_blank=True,
        required=False,
        default="",
        help_text="May be empty only where files are attached.",
    )
    client_id = Text(
        max_length=limits.MAX_CLIENT_ID_CHARACTERS,
        required=False,
        allow_null=True,
        help_text="Idempotency key: the same id again answers the same turn.",
    )
    while_running = serializers.ChoiceField(Turn.Mode.choices, default=Turn.Mode.QUEUE)
    attachments = serializers.ListField(
        child=serializers.UUIDField(), max_length=limits.MAX_ATTACHMENTS, default=list
    )
    context = PageContext(required=False, allow_null=True)  # type: ignore[assignment]

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        if not attrs["message"].strip() and not attrs["attachments"]:
            raise serializers.ValidationError({"message": ["Write something, or attach a file."]})
        return attrs


class TurnChange(Form):
    """A queued input can be changed until it runs."""

    message = Text(max_length=limits.MAX_MESSAGE_CHARACTERS, required=False)
    while_running = serializers.ChoiceField(Turn.Mode.choices, required=False)

    def validate_while_running(self, value: str) -> str:
        if value == Turn.Mode.REJECT:
            raise serializers.ValidationError("A message that waits cannot be rejected any more; remove it.")
        return value

    def validate_message(self, value: str) -> str:
        if not value.strip():
            raise serializers.ValidationError("Write something, or remove the message.")
        return value


# --- what goes out --------------------------------------------------------------------------------


class TurnUsage(serializers.Serializer[Turn]):
    """Tokens of all steps so far, and their cost in US dollars."""

    input_tokens = serializers.IntegerField()
    output_tokens = serializers.IntegerField()
    cached_tokens = serializers.IntegerField()
    reasoning_tokens = serializers.IntegerField()
    cost = serializers.DecimalField(max_digits=14, decimal_places=6)


class TurnShape(serializers.ModelSerializer[Turn]):
    """One answer to one input."""

    end_reason = serializers.SerializerMethodField()
    error = serializers.SerializerMethodField()
    status = serializers.ChoiceField(statuses.STATUSES)
    while_running = serializers.ChoiceField(Turn.Mode.choices, source="mode")
    usage = TurnUsage(source="*")
    model = serializers.CharField(source="model_name")
    session_id = serializers.UUIDField()
    absorbed_by = serializers.UUIDField(
        source="absorbed_by_id", allow_null=True, help_text="The turn this input became a part of."
    )

    class Meta:
        model = Turn
        fields = [
            "id",
            "session_id",
            "status",
            "end_reason",
            "attempt",
            "kind",
            "while_running",
            "client_id",
            "answer_id",
            "absorbed_by",
            "queued_at",
            "started_at",
            "ended_at",
            "model",
            "usage",
            "error",
        ]
        read_only_fields = fields

    def get_end_reason(self, turn: Turn) -> str | None:
        return turn.end_reason or None

    def get_error(self, turn: Turn) -> str | None:
        """In words for the person; null when nothing went wrong."""
        if turn.error or turn.status != Turn.FAILED:
            return turn.error or None
        return closing.SENTENCES.get(turn.end_reason, closing.SENTENCES["internal_error"])


class InputShape(serializers.ModelSerializer[Message]):
    """What a person sent."""

    content = serializers.CharField(source="text")
    attachments = serializers.ListField(child=serializers.UUIDField())

    class Meta:
        model = Message
        fields = ["id", "content", "attachments", "created_at"]


class QueuedTurnShape(TurnShape):
    """A turn that waits, with its input: `turn.inputs` is prefetched."""

    message = serializers.SerializerMethodField()

    class Meta(TurnShape.Meta):
        fields = [*TurnShape.Meta.fields, "message"]

    @extend_schema_field(InputShape(allow_null=True))
    def get_message(self, turn: Turn) -> Any:
        inputs: list[Message] = turn.inputs  # type: ignore[attr-defined]
        return InputShape(inputs[0]).data if inputs else None


class TurnAnswer(serializers.Serializer[Any]):
    turn = TurnShape()


class SessionShape(serializers.ModelSerializer[Session]):
    """One conversation; `status` and `needs_you` are annotated by `with_status`."""

    status = serializers.ChoiceField(["idle", "queued", "running"], read_only=True)
    needs_you = serializers.BooleanField(
        read_only=True, help_text="The newest turn ended with a question, a review or something to set up."
    )
    parent = serializers.UUIDField(source="parent_id", allow_null=True)  # type: ignore[assignment]

    class Meta:
        model = Session
        fields = ["id", "title", "pinned", "status", "needs_you", "parent", "permissions"]
        fields += ["created_at", "active_at"]
        read_only_fields = fields


class MessageShape(serializers.Serializer[Any]):
    """A message in the AI SDK's form (UIMessage), with its plain text as `content`."""

    id = serializers.UUIDField()
    role = serializers.ChoiceField(Message.Role.choices)
    parts = serializers.ListField(child=serializers.DictField())
    metadata = serializers.DictField(
        help_text="turn_id, session_id, created_at; of an answer also status, end_reason, usage, files_seen, error."
    )
    content = serializers.CharField()


class SessionDetail(SessionShape):
    messages = MessageShape(many=True)
    before = serializers.UUIDField(
        allow_null=True, help_text="Send as `before` for the page of older messages; null when there is none."
    )
    active_turn = TurnShape(allow_null=True)
    queued_turns = QueuedTurnShape(many=True)

    class Meta(SessionShape.Meta):
        fields = [*SessionShape.Meta.fields, "messages", "before", "active_turn", "queued_turns"]


class Cancelled(serializers.Serializer[Any]):
    cancelled = serializers.BooleanField()
    reason = serializers.CharField(required=False)

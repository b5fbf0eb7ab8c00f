"""Request forms and response shapes of the chat API."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any

from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers

from chat import attachments, limits, turn_log
from chat.model_choice import check_pick
from chat.models import Message, Session, Turn
from chat.sessions import Owner
from chat.turns import Input
from durable.models import STATUSES
from executions import limits as executions_limits
from tools import limits as tools_limits
from tools.errors import BadPermissions
from tools.permissions import Permissions

SUBMIT, REGENERATE = "submit-message", "regenerate-message"


class Text(serializers.CharField):
    """A string, neither trimmed nor converted from another type."""

    def __init__(self, **options: Any) -> None:
        super().__init__(trim_whitespace=False, **options)

    def to_internal_value(self, data: Any) -> str:
        if not isinstance(data, str):
            self.fail("invalid")
        return super().to_internal_value(data)


class Flag(serializers.BooleanField):
    """true or false, not "yes" or 1."""

    def to_internal_value(self, data: Any) -> bool:
        if not isinstance(data, bool):
            self.fail("invalid", input=data)
        return data


class Form(serializers.Serializer[Any]):
    """A request's body; unknown fields are errors."""

    def to_internal_value(self, data: Any) -> Any:
        if isinstance(data, Mapping):
            unknown = [str(name) for name in data if name not in self.fields]
            if unknown:
                raise serializers.ValidationError({name[:100]: ["Unknown field."] for name in unknown[:20]})
        return super().to_internal_value(data)


def read(form: type[serializers.Serializer[Any]], data: Any) -> dict[str, Any]:
    """Return the validated values of a body; raise ValidationError."""
    values: dict[str, Any] = instance_of(form).run_validation(data)
    return values


def show(shape: type[serializers.Serializer[Any]], thing: object) -> dict[str, Any]:
    """Return an object as the API shows it."""
    return dict(instance_of(shape).to_representation(thing))


@cache
def instance_of(shape: type[serializers.Serializer[Any]]) -> serializers.Serializer[Any]:
    """Return one shared instance: creating its fields takes longer than using them. It must keep no state."""
    return shape()


# --- requests -------------------------------------------------------------------------------------


class PermissionsField(serializers.JSONField):
    """`{"tools": {"allow", "deny"}, "blocks": {"allow", "deny"}}`."""

    def to_internal_value(self, data: Any) -> Any:
        try:
            return Permissions.parse(super().to_internal_value(data)).as_json()
        except BadPermissions as error:
            raise serializers.ValidationError(str(error)) from None


class ModelPick(Text):
    """The name of a model that this person may use; null or empty means the default."""

    def __init__(self, **options: Any) -> None:
        super().__init__(
            max_length=limits.MAX_MODEL_NAME_CHARACTERS,
            required=False,
            allow_null=True,
            allow_blank=True,
            help_text="A name of GET /api/models; empty or null means the default.",
            **options,
        )


class NewSession(Form):
    title = Text(max_length=limits.MAX_TITLE_CHARACTERS, required=False, allow_blank=True)
    permissions = PermissionsField(required=False, allow_null=True)
    model = ModelPick()


class SessionChange(Form):
    title = Text(max_length=limits.MAX_TITLE_CHARACTERS, required=False, allow_blank=True)
    pinned = Flag(required=False)
    model = ModelPick()


class PageContext(Form):
    """The page the person is looking at."""

    url = Text(max_length=limits.MAX_CONTEXT_URL_CHARACTERS, required=False, allow_blank=True)
    content = Text(max_length=tools_limits.MAX_MESSAGE_CHARACTERS, required=False, allow_blank=True)


class NewTurn(Form):
    message = Text(
        max_length=tools_limits.MAX_MESSAGE_CHARACTERS,
        allow_blank=True,
        required=False,
        default="",
        help_text="May be empty only if files are attached.",
    )
    client_id = Text(
        max_length=executions_limits.MAX_CLIENT_ID_CHARACTERS,
        required=False,
        allow_null=True,
        help_text="Idempotency key: the same id again returns the same turn.",
    )
    while_running = serializers.ChoiceField(Turn.Mode.choices, default=Turn.Mode.QUEUE)
    attachments = serializers.ListField(
        child=serializers.UUIDField(), max_length=limits.MAX_ATTACHMENTS, default=list
    )
    context = PageContext(required=False, allow_null=True)  # type: ignore[assignment]
    model = ModelPick()

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        if not attrs["message"].strip() and not attrs["attachments"]:
            raise serializers.ValidationError({"message": ["Write something, or attach a file."]})
        return attrs


class AskForm(serializers.Serializer[Any]):
    """The body of `useChat` (ai 6 and 7), or the plain form with `message`; fields an app adds are ignored."""

    id = Text(
        max_length=limits.MAX_CLIENT_KEY_CHARACTERS,
        required=False,
        help_text="The session; created if it is new.",
    )
    trigger = serializers.ChoiceField([SUBMIT, REGENERATE], required=False, default=SUBMIT)
    messageId = Text(max_length=200, required=False, allow_null=True, allow_blank=True)
    messages = serializers.ListField(child=serializers.DictField(), required=False, allow_null=True)
    message = serializers.JSONField(required=False, allow_null=True, help_text="A text, or one UIMessage.")
    client_id = Text(max_length=executions_limits.MAX_CLIENT_ID_CHARACTERS, required=False, allow_null=True)
    while_running = serializers.ChoiceField(Turn.Mode.choices, required=False)
    attachments = serializers.ListField(child=serializers.UUIDField(), required=False)
    context = serializers.JSONField(required=False, allow_null=True)  # type: ignore[assignment]
    model = ModelPick()


class TurnChange(Form):
    """A change of a queued message, possible until it runs."""

    message = Text(max_length=tools_limits.MAX_MESSAGE_CHARACTERS, required=False)
    while_running = serializers.ChoiceField(Turn.Mode.choices, required=False)

    def validate_while_running(self, value: str) -> str:
        if value == Turn.Mode.REJECT:
            raise serializers.ValidationError(
                "A queued message cannot be rejected any more; remove it instead."
            )
        return value

    def validate_message(self, value: str) -> str:
        if not value.strip():
            raise serializers.ValidationError("Write something, or remove the message.")
        return value


# --- responses ------------------------------------------------------------------------------------


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
    status = serializers.ChoiceField(STATUSES)
    while_running = serializers.ChoiceField(Turn.Mode.choices, source="mode")
    usage = TurnUsage(source="*")
    model = serializers.SerializerMethodField(
        help_text="The model that answers; empty until the default has."
    )
    session_id = serializers.UUIDField()
    absorbed_by = serializers.UUIDField(
        source="absorbed_by_id", allow_null=True, help_text="The turn that answers this steering message."
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

    def get_model(self, turn: Turn) -> str:
        return turn.model_name or turn.asked_model

    def get_end_reason(self, turn: Turn) -> str | None:
        return turn.end_reason or None

    def get_error(self, turn: Turn) -> str | None:
        """Return a sentence for the user; null unless the turn failed."""
        if turn.error or turn.status != Turn.FAILED:
            return turn.error or None
        return turn_log.SENTENCES.get(turn.end_reason, turn_log.SENTENCES["internal_error"])


class InputShape(serializers.ModelSerializer[Message]):
    """A message that a person sent."""

    content = serializers.CharField(source="text")
    attachments = serializers.ListField(child=serializers.UUIDField())

    class Meta:
        model = Message
        fields = ["id", "content", "attachments", "created_at"]


class QueuedTurnShape(TurnShape):
    """A queued turn with its message; `turn.inputs` is prefetched."""

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
    unread = serializers.BooleanField(
        read_only=True, help_text="An answer has come since its person last saw its end."
    )
    parent = serializers.UUIDField(source="parent_id", allow_null=True)  # type: ignore[assignment]
    forked_from = serializers.UUIDField(source="forked_from_id", allow_null=True)

    class Meta:
        model = Session
        fields = ["id", "title", "pinned", "status", "needs_you", "unread", "parent", "forked_from"]
        fields += ["permissions", "model"]
        fields += ["created_at", "active_at"]
        read_only_fields = fields


class NewFork(Form):
    """Where to fork a conversation."""

    message_id = serializers.UUIDField(help_text="An answer, or a message of the person.")
    id = serializers.UUIDField(
        required=False, help_text="Id of the new session; sent again, it answers with the same one."
    )


class MessageVersion(serializers.Serializer[Any]):
    """One of several answers to the same message, or one of several wordings of a message."""

    turn_id = serializers.UUIDField(help_text="POST /api/turns/{id}/show shows this version.")
    message_id = serializers.UUIDField()
    model = serializers.CharField()
    created_at = serializers.DateTimeField()
    shown = serializers.BooleanField()


class MessageShape(serializers.Serializer[Any]):
    """A message in the AI SDK's form (UIMessage), with its plain text as `content`."""

    id = serializers.UUIDField()
    role = serializers.ChoiceField(Message.Role.choices)
    parts = serializers.ListField(child=serializers.DictField())
    metadata = serializers.DictField(
        help_text="turn_id, session_id, created_at; of an answer also status, end_reason, model, usage, "
        "files_seen, error."
    )
    content = serializers.CharField()
    versions = MessageVersion(
        many=True,
        required=False,
        help_text="Of an answer: all answers to the same message; of a person's message: all its wordings. Oldest "
        "first, where there are several. GET /api/turns/{id}/message returns an answer that is not shown.",
    )


class ForkShape(SessionShape):
    """A new conversation that was forked off another one."""

    draft = InputShape(
        allow_null=True,
        help_text="The message it was forked at, if the person wrote it: not part of the new conversation yet.",
    )

    class Meta(SessionShape.Meta):
        fields = [*SessionShape.Meta.fields, "draft"]


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


def read_input(owner: Owner, data: Any) -> Input:
    """Validate a message as a client sends it."""
    given = read(NewTurn, data)
    return Input(
        text=given["message"],
        client_id=given.get("client_id") or None,
        while_running=given["while_running"],
        attachments=attachments.check(owner, given["attachments"]),
        context=dict(given["context"]) if given.get("context") else None,
        model=check_pick(owner.user, given.get("model")),
    )

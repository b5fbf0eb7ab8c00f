"""Admin of model endpoints: add, change, disable; keys go in and never come out."""

from __future__ import annotations

from typing import Any
from urllib.parse import urlsplit

from django import forms
from django.contrib import admin
from django.http import HttpRequest

from llm import endpoint_rows
from llm.endpoint_format import BadEndpoint, read_endpoint
from llm.endpoints import shadowed_names
from llm.errors import BadModelRequest
from llm.models import ModelEndpoint

KEEP_NOTE = "Encrypted and never shown again. Empty keeps the key that is stored."
PLAIN_FIELDS = ("name", "url", "dialect", "model_names", "prices", "window", "vision", "effort")
OTHER_SERVER = "The address or the dialect has changed: enter the key again, or remove it."


class EndpointForm(forms.ModelForm):  # type: ignore[type-arg]
    """The fields of an endpoint; a stored key never reaches the page, and never another server."""

    key = forms.CharField(
        required=False,
        widget=forms.PasswordInput(render_value=False, attrs={"autocomplete": "off"}),
        help_text=KEEP_NOTE,
    )
    remove_key = forms.BooleanField(required=False, help_text="Forget the stored key.")

    class Meta:
        model = ModelEndpoint
        fields = [*PLAIN_FIELDS, "groups", "is_default", "enabled"]

    def clean(self) -> dict[str, Any]:
        data: dict[str, Any] = super().clean() or {}
        if self.errors:
            return data
        row = ModelEndpoint(**{name: data[name] for name in PLAIN_FIELDS})
        try:
            server = server_of(row)
        except BadEndpoint as error:
            raise forms.ValidationError(f"This endpoint {error}.") from None
        keeps_key = self.instance.sealed_key and not data["key"] and not data["remove_key"]
        if keeps_key and server != server_of(self.instance):
            self.add_error("key", OTHER_SERVER)
        return data

    def save(self, commit: bool = True) -> ModelEndpoint:
        if self.cleaned_data["key"] or self.cleaned_data["remove_key"]:
            self.instance.set_key(self.cleaned_data["key"])
        saved: ModelEndpoint = super().save(commit)
        return saved


def server_of(row: ModelEndpoint) -> tuple[str, str]:
    """Return scheme and host of an endpoint; raise BadEndpoint."""
    parts = urlsplit(read_endpoint(endpoint_rows.as_fields(row), endpoint_rows.SOURCE).base_url)
    return parts.scheme, parts.netloc


@admin.register(ModelEndpoint)
class ModelEndpointAdmin(admin.ModelAdmin):  # type: ignore[type-arg]
    """Endpoints beside those of the settings; a change reaches running workers within seconds."""

    form = EndpointForm
    list_display = ["name", "url", "dialect", "models_", "key_", "who", "is_default", "enabled", "use"]
    list_filter = ["enabled", "dialect"]
    search_fields = ["name", "url"]
    filter_horizontal = ["groups"]
    fieldsets = [
        (None, {"fields": ["name", "enabled", "url", "dialect", "key", "remove_key"]}),
        ("Models", {"fields": ["model_names", "is_default", "window", "vision", "effort", "prices"]}),
        ("Who may use it", {"fields": ["groups"]}),
    ]

    @admin.display(description="models")
    def models_(self, row: ModelEndpoint) -> str:
        return ", ".join(str(name) for name in row.model_names)

    @admin.display(description="key", boolean=True)
    def key_(self, row: ModelEndpoint) -> bool:
        return bool(row.sealed_key)

    @admin.display(description="for")
    def who(self, row: ModelEndpoint) -> str:
        return ", ".join(group.name for group in row.groups.all()) or "everybody"

    @admin.display(description="used")
    def use(self, row: ModelEndpoint) -> str:
        """Say why an endpoint is not used."""
        if not row.enabled:
            return "no: disabled"
        try:
            if row.name in shadowed_names():
                return "no: COPILOT_ENDPOINTS has one of the same name"
        except BadModelRequest as error:
            return error.user_message
        found = [text for text in endpoint_rows.known_rows().problems if f" {row.name} " in text]
        return found[0] if found else "yes"

    def get_queryset(self, request: HttpRequest) -> Any:
        return super().get_queryset(request).prefetch_related("groups")

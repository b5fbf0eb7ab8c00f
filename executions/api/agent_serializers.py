"""Serializers of the agents API."""

from __future__ import annotations

from typing import Any

from rest_framework import serializers

from executions import limits
from executions.agents.repair import AppliedFix
from executions.agents.validation import ValidationReport
from executions.models import Agent, AgentVersion, StoreListing

# --- what goes out --------------------------------------------------------------------------------


class MissingBlockShape(serializers.Serializer[Any]):
    """A block that is not installed here."""

    id = serializers.CharField()
    name = serializers.CharField(help_text="Its name for people, with the service it needs.")
    provider = serializers.CharField(required=False)
    nearest = serializers.CharField(required=False, help_text="The block here that comes nearest.")
    node_ids = serializers.ListField(child=serializers.CharField(), help_text="The nodes that use it.")
    replaceable = serializers.BooleanField(
        help_text="Whether fixing the agent puts the nearest block in its place."
    )


class ProblemShape(serializers.Serializer[Any]):
    """One problem, or one repair."""

    code = serializers.CharField(help_text="See docs/reference/validation-codes.md.")
    message = serializers.CharField(help_text="What is wrong and what to do.")
    node_id = serializers.CharField(required=False)
    pin = serializers.CharField(required=False)
    sub_agent = serializers.CharField(required=False, help_text="Name of the sub-agent that contains it.")
    block = MissingBlockShape(required=False, help_text="The block that is missing.")


class ValidationShape(serializers.Serializer[Any]):
    """Errors keep an agent from running, warnings do not."""

    valid = serializers.BooleanField()
    errors = ProblemShape(many=True)  # type: ignore[assignment]
    warnings = ProblemShape(many=True)


class AgentShape(serializers.ModelSerializer[Agent]):
    """An agent of the library; `context["versions"]` maps agent ids to their newest versions."""

    version = serializers.IntegerField(source="latest_version", help_text="The newest version.")
    store = serializers.SerializerMethodField(
        help_text="The store listing it was copied from: username/slug."
    )
    valid = serializers.SerializerMethodField(help_text="Whether the newest version can run.")
    input_schema = serializers.SerializerMethodField(help_text="JSON schema of its inputs.")
    output_schema = serializers.SerializerMethodField(help_text="JSON schema of its outputs.")

    class Meta:
        model = Agent
        fields = ["id", "name", "description", "version", "source", "store", "valid"]
        fields += ["input_schema", "output_schema", "created_at", "updated_at"]
        read_only_fields = fields

    def newest(self, agent: Agent) -> AgentVersion | None:
        found: AgentVersion | None = self.context["versions"].get(agent.pk)
        return found

    def get_store(self, agent: Agent) -> str | None:
        return f"{agent.listing.user.username}/{agent.listing.slug}" if agent.listing else None

    def get_valid(self, agent: Agent) -> bool:
        newest = self.newest(agent)
        return newest is not None and newest.is_valid

    def get_input_schema(self, agent: Agent) -> dict[str, Any]:
        newest = self.newest(agent)
        return newest.input_schema if newest else {}

    def get_output_schema(self, agent: Agent) -> dict[str, Any]:
        newest = self.newest(agent)
        return newest.output_schema if newest else {}


class AgentUses(serializers.Serializer[Any]):
    """What starts an agent, and where it is offered."""

    schedules = serializers.IntegerField()
    triggers = serializers.IntegerField()
    listings = serializers.ListField(
        child=serializers.CharField(), help_text="Its listings in the store: username/slug."
    )


class SubAgentShape(serializers.Serializer[Any]):
    id = serializers.UUIDField()
    version = serializers.IntegerField()


class AgentDetail(AgentShape):
    """An agent with its graph and validation report."""

    part_of = serializers.UUIDField(source="part_of_id", allow_null=True)
    imported_id = serializers.CharField(help_text="The id it had before import.")
    graph = serializers.DictField(help_text="Agent JSON of the newest version.")
    sub_agents = SubAgentShape(many=True, help_text="The agents imported with it.")
    validation = ValidationShape()

    class Meta(AgentShape.Meta):
        fields = [*AgentShape.Meta.fields, "part_of", "imported_id", "graph", "sub_agents", "validation"]
        read_only_fields = fields


class VersionShape(serializers.ModelSerializer[AgentVersion]):
    """One version of an agent."""

    valid = serializers.BooleanField(source="is_valid", help_text="Whether it could run when it was saved.")

    class Meta:
        model = AgentVersion
        fields = ["version", "note", "valid", "created_at"]
        read_only_fields = fields


class VersionDetail(VersionShape):
    input_schema = serializers.DictField()
    output_schema = serializers.DictField()
    sub_agents = serializers.ListField(child=serializers.DictField())
    validation = ValidationShape(help_text="The validation report from when it was saved.")
    graph = serializers.DictField()

    class Meta(VersionShape.Meta):
        fields = [*VersionShape.Meta.fields, "input_schema", "output_schema", "sub_agents"]
        fields += ["validation", "graph"]
        read_only_fields = fields


class ChangeShape(serializers.Serializer[Any]):
    field = serializers.CharField()
    before = serializers.JSONField(allow_null=True)
    after = serializers.JSONField(allow_null=True)


class ChangedShape(serializers.Serializer[Any]):
    id = serializers.CharField()
    changes = ChangeShape(many=True)


class PartsShape(serializers.Serializer[Any]):
    added = serializers.ListField(child=serializers.DictField())
    removed = serializers.ListField(child=serializers.DictField())
    changed = ChangedShape(many=True)


class DifferenceShape(serializers.Serializer[Any]):
    """What changed between two versions."""

    from_version = serializers.IntegerField()
    to_version = serializers.IntegerField()
    nodes = PartsShape()
    links = PartsShape()
    graph = ChangeShape(many=True, help_text="Fields of the graph itself.")


class FixedShape(serializers.Serializer[Any]):
    """The repairs made, and the remaining problems."""

    fixes = ProblemShape(many=True)
    changed = serializers.BooleanField()
    version = serializers.IntegerField(help_text="The newest version after the repairs.")
    validation = ValidationShape()
    graph = serializers.DictField()


class ListingShape(serializers.ModelSerializer[StoreListing]):
    """A published agent."""

    username = serializers.CharField(source="user.username")
    categories = serializers.ListField(child=serializers.CharField())
    version = serializers.IntegerField(source="published.version")
    input_schema = serializers.DictField(source="published.input_schema")
    output_schema = serializers.DictField(source="published.output_schema")

    class Meta:
        model = StoreListing
        fields = ["username", "slug", "name", "description", "categories", "version", "additions"]
        fields += ["input_schema", "output_schema", "published_at"]
        read_only_fields = fields


class ListingDetail(ListingShape):
    """A published agent with the graph that a copy of it gets."""

    graph = serializers.DictField()

    class Meta(ListingShape.Meta):
        fields = [*ListingShape.Meta.fields, "graph"]
        read_only_fields = fields


def detail_of(version: AgentVersion, report: ValidationReport | None = None) -> dict[str, Any]:
    """Return the data of AgentDetail from an agent's newest version."""
    agent = version.agent
    shown = AgentShape(agent, context={"versions": {agent.pk: version}}).data
    return {
        **shown,
        "part_of": agent.part_of_id,
        "imported_id": agent.imported_id,
        "graph": version.graph,
        "sub_agents": version.sub_agents,
        "validation": report.as_json() if report else validation_of(version),
    }


def validation_of(version: AgentVersion) -> dict[str, Any]:
    return {"valid": version.is_valid, "errors": version.problems, "warnings": version.warnings}


def fixes_of(fixes: tuple[AppliedFix, ...]) -> list[dict[str, Any]]:
    return [fix.as_json() for fix in fixes]


# --- what comes in --------------------------------------------------------------------------------


class AgentChange(serializers.Serializer[Any]):
    """A new name, description or graph; a graph becomes the next version."""

    name = serializers.CharField(max_length=limits.MAX_AGENT_NAME_CHARACTERS, required=False)
    description = serializers.CharField(
        max_length=limits.MAX_AGENT_DESCRIPTION_CHARACTERS, required=False, allow_blank=True
    )
    graph = serializers.JSONField(required=False, help_text="Agent JSON, sub_graphs included.")
    note = serializers.CharField(max_length=500, required=False, allow_blank=True, default="")
    on_version = serializers.IntegerField(
        required=False, help_text="The version the change was made on: 409 when there is a newer one."
    )


class RollBack(serializers.Serializer[Any]):
    version = serializers.IntegerField(min_value=1, help_text="The version to go back to.")


class FixOrder(serializers.Serializer[Any]):
    save = serializers.BooleanField(  # type: ignore[assignment]
        default=True, help_text="False: only report what would be done."
    )


class Publication(serializers.Serializer[Any]):
    agent_id = serializers.UUIDField()
    slug = serializers.CharField(max_length=100, required=False, allow_blank=True, default="")
    name = serializers.CharField(
        max_length=limits.MAX_AGENT_NAME_CHARACTERS, required=False, allow_blank=True, default=""
    )
    description = serializers.CharField(
        max_length=limits.MAX_AGENT_DESCRIPTION_CHARACTERS, required=False, allow_blank=True, default=""
    )
    categories = serializers.ListField(
        child=serializers.CharField(max_length=50), max_length=10, required=False, default=list
    )

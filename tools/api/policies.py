"""/api/tools: the tools of a person, and the rules they have for them."""

from __future__ import annotations

from typing import Any

from django.http import Http404
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from accounts.api.authentication import current_user
from accounts.api.throttling import WriteRate
from tools import connected_tools, policies, registry, toolset
from tools.base import Rule, Tool
from tools.policies import ALWAYS_ALLOWED, Rules

DEFAULT = "default"


class ToolRuleSerializer(serializers.Serializer[Any]):
    """A tool and the rules for it."""

    name = serializers.CharField()
    description = serializers.CharField()
    effect = serializers.CharField()
    rule = serializers.ChoiceField(choices=[rule.value for rule in Rule], help_text="What happens to a call.")
    your_rule = serializers.CharField(allow_blank=True, help_text="Yours, if you have one.")
    site_rule = serializers.CharField(allow_blank=True, help_text="The site's, if it has one.")
    default_rule = serializers.CharField(help_text="Where nobody has one.")


class ToolRuleList(serializers.Serializer[Any]):
    results = ToolRuleSerializer(many=True)
    next = serializers.CharField(allow_null=True)


class ToolRuleForm(serializers.Serializer[Any]):
    rule = serializers.ChoiceField(
        choices=[*(rule.value for rule in Rule), DEFAULT],
        help_text="default: no rule of yours, but the site's, or the tool's own.",
    )


class ToolRules(APIView):
    """List tools with their rules."""

    @extend_schema(summary="List tools and your rules for them", responses=ToolRuleList)
    def get(self, request: Request) -> Response:
        """List every tool you can use, by name, and whether its calls run, ask you first, or are refused."""
        user = current_user(request)
        rules = policies.rules_for(user.pk, None)
        connected = [found.tool for found in connected_tools.of_person(user.pk)]
        ours = [tool for tool in registry.current().all() if tool.available() and tool.name not in HIDDEN]
        return Response({"results": [row_of(tool, rules) for tool in [*ours, *connected]], "next": None})


HIDDEN = ALWAYS_ALLOWED | toolset.SEARCH


def row_of(tool: Tool, rules: Rules) -> dict[str, Any]:
    return {
        "name": tool.name,
        "description": tool.description.partition("\n")[0],
        "effect": tool.effect,
        "rule": rules.of(tool),
        "your_rule": rules.person.get(tool.name, ""),
        "site_rule": rules.site.get(tool.name, ""),
        "default_rule": tool.default_rule,
    }


class OneToolRule(APIView):
    """Your rule for one tool."""

    throttle_classes = [WriteRate]

    @extend_schema(summary="Set your rule for a tool", request=ToolRuleForm, responses=ToolRuleSerializer)
    def put(self, request: Request, name: str) -> Response:
        """Let calls of the tool run, ask you first, or be refused. A refusal of the site stays one."""
        user = current_user(request)
        tool = toolset.find(name, user.pk)
        if tool is None or tool.name in HIDDEN:
            raise Http404
        form = ToolRuleForm(data=request.data)
        form.is_valid(raise_exception=True)
        rule = form.validated_data["rule"]
        policies.set_rule(name, None if rule == DEFAULT else Rule(rule), user_id=user.pk)
        return Response(row_of(tool, policies.rules_for(user.pk, None)))

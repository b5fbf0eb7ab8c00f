"""Which models a person may pick: those of the endpoints that are open to their groups."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass
from typing import Any

from llm import model_lists
from llm.endpoint import Endpoint
from llm.endpoints import (
    ModelAddress,
    configured_model,
    endpoints,
    fallback_models,
    locate,
    model_info,
    usual_models,
)
from llm.errors import BadModelRequest


def known_endpoints() -> list[Endpoint]:
    """Return every endpoint, none where no model is configured."""
    try:
        return endpoints()
    except BadModelRequest:
        return []


def read_lists_if_old() -> None:
    """Read which models servers have that are named by a pattern: for views that list them."""
    model_lists.read_if_old(known_endpoints())


def after_sweep(sender: Any, **kwargs: Any) -> None:
    """Ask servers in a worker which of their models fit a pattern."""
    model_lists.ask_if_due(known_endpoints())


class ModelNotOffered(ValueError):
    """There is no such model, or it is not open to this person."""

    def __init__(self) -> None:
        super().__init__(self.__doc__)


@dataclass(frozen=True, kw_only=True)
class OfferedModel:
    """A model as people see it; an empty name stands for the one that the default server decides on."""

    name: str
    label: str
    endpoint: str
    context_tokens: int
    sees_images: bool


def site_default() -> str:
    """Return the site's default model by its full name; "" where the server decides or none is configured."""
    try:
        name = configured_model()
        return full_name(locate(name)) if name else ""
    except BadModelRequest:
        return ""


def offered_models(groups: Collection[str]) -> list[OfferedModel]:
    """Return what members of these groups may pick, the site's default first."""
    known = [endpoint for endpoint in known_endpoints() if endpoint.may_be_used_by(groups)]
    if not known:
        return []
    default = site_default()
    names = [default] if is_open(default, groups) else []
    names += [name for endpoint in known for name in _names_of(endpoint, default)]
    return [_described(name, names) for name in dict.fromkeys(names)]


def check_offered(name: str, groups: Collection[str]) -> str:
    """Return the full name of a model that members of these groups may use; raise ModelNotOffered.

    Beside the models on offer, one that fits a pattern of its endpoint (`gpt-6*`) can be named, listed or not.
    """
    try:
        at = locate(name)
    except BadModelRequest:
        raise ModelNotOffered from None
    full = full_name(at)
    fits = at.endpoint.may_be_used_by(groups) and at.endpoint.serves(at.model)
    if not fits and full not in {model.name for model in offered_models(groups)}:
        raise ModelNotOffered
    return full


def is_open(name: str, groups: Collection[str]) -> bool:
    """Return whether the endpoint of a model may be used by members of these groups."""
    try:
        return locate(name).endpoint.may_be_used_by(groups)
    except BadModelRequest:
        return True  # whoever asks hears that no model is configured


def open_fallbacks(groups: Collection[str] | Callable[[], Collection[str]]) -> list[str]:
    """Return the models of the fallback chain that may answer members of these groups.

    The groups are only asked for where the chain has a model that is not for everybody.
    """
    chain = fallback_models()
    if all(is_for_everybody(name) for name in chain):
        return chain
    mine = groups() if callable(groups) else groups
    return [name for name in chain if is_open(name, mine)]


def is_for_everybody(name: str) -> bool:
    """Return whether no group is needed for a model."""
    return is_open(name, ())


def full_name(at: ModelAddress) -> str:
    return at.endpoint.full_name(at.model)


def _names_of(endpoint: Endpoint, default: str) -> list[str]:
    models = [model for model in endpoint.models if "*" not in model]
    named = [endpoint.full_name(model) for model in (*models, *model_lists.listed_models(endpoint))]
    if named or locate(default).endpoint == endpoint:
        return named
    usual = usual_models(endpoint)[0]  # of a well-known server whose models are not listed
    return [endpoint.full_name(usual)] if usual else []


def _described(name: str, names: list[str]) -> OfferedModel:
    at = locate(name)
    info = model_info(name)
    same = {other for other in names if locate(other).model == at.model}
    return OfferedModel(
        name=name,
        label=name if len(same) > 1 else at.model,
        endpoint=at.endpoint.name or at.endpoint.host,
        context_tokens=info.context_tokens,
        sees_images=info.sees_images,
    )

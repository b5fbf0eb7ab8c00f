"""Django app configuration."""

from django.apps import AppConfig
from django.db.models.signals import m2m_changed, post_delete, post_save

from durable.signals import swept


class LlmConfig(AppConfig):
    name = "llm"
    verbose_name = "Models"

    def ready(self) -> None:
        from llm import endpoint_rows, offers
        from llm.models import ModelEndpoint  # models are not loaded before this point

        swept.connect(endpoint_rows.after_sweep, dispatch_uid="llm.endpoint_rows")
        swept.connect(offers.after_sweep, dispatch_uid="llm.offers")
        for signal in (post_save, post_delete):
            signal.connect(endpoint_rows.after_change, sender=ModelEndpoint, dispatch_uid="llm.endpoint_rows")
        m2m_changed.connect(
            endpoint_rows.after_change, sender=ModelEndpoint.groups.through, dispatch_uid="llm.endpoint_rows"
        )

"""The ASGI application: HTTP to Django, websockets to Channels."""

import os

import django
from channels.routing import ProtocolTypeRouter

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "copilot_project.settings")
django.setup(set_prefix=False)  # which models and middleware need

from chat.routing import websockets_with  # noqa: E402
from copilot_project.web.handler import RequestHandler  # noqa: E402
from doors.openai.routing import routes as openai_routes  # noqa: E402

application = ProtocolTypeRouter({"http": RequestHandler(), "websocket": websockets_with(*openai_routes)})

"""The ASGI application: HTTP to Django, websockets to Channels."""

import os

from channels.routing import ProtocolTypeRouter
from django.core.asgi import get_asgi_application

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "copilot_project.settings")
http = get_asgi_application()  # sets Django up, which the sockets' models need

from chat.routing import websockets_with  # noqa: E402
from doors.openai.routing import routes as openai_routes  # noqa: E402

application = ProtocolTypeRouter({"http": http, "websocket": websockets_with(*openai_routes)})

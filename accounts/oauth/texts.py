"""Texts of the consent page in the languages of the site."""

from __future__ import annotations

from collections.abc import Mapping

from django.http import HttpRequest

ENGLISH = {
    "language": "en",
    "title": "Allow access?",
    "question": "wants to use your account:",
    "copilot": "ask the copilot and read its answers",
    "agents": "run your agents, which can cost money from your budget",
    "files": "read, write and delete your files",
    "reviews": "show you reviews and send your decisions",
    "goes_to": "You will go back to",
    "unverified": "Anybody can choose that name. Allow it only if you have just started this yourself.",
    "end": "You can end this at any time on your account page.",
    "allow": "Allow",
    "deny": "Do not allow",
    "wrong": "This link cannot be used",
}
GERMAN = {
    "language": "de",
    "title": "Zugriff erlauben?",
    "question": "möchte Ihr Konto verwenden:",
    "copilot": "den Copiloten fragen und seine Antworten lesen",
    "agents": "Ihre Agenten ausführen, was Geld aus Ihrem Budget kosten kann",
    "files": "Ihre Dateien lesen, schreiben und löschen",
    "reviews": "Ihnen Prüfungen zeigen und Ihre Entscheidungen senden",
    "goes_to": "Danach geht es zurück zu",
    "unverified": "Diesen Namen kann jeder wählen. Erlauben Sie es nur, wenn Sie das gerade selbst begonnen haben.",
    "end": "Sie können das jederzeit auf Ihrer Kontoseite beenden.",
    "allow": "Erlauben",
    "deny": "Nicht erlauben",
    "wrong": "Dieser Link kann nicht verwendet werden",
}


def consent_texts(request: HttpRequest) -> Mapping[str, str]:
    """Return the texts in the first of the site's languages that the browser asks for."""
    for part in request.headers.get("Accept-Language", "").lower().split(","):
        language = part.split(";")[0].strip()[:2]
        if language in ("de", "en"):
            return GERMAN if language == "de" else ENGLISH
    return ENGLISH

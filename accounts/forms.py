"""Forms of the account pages."""

from __future__ import annotations

from django import forms
from django.contrib.auth.forms import AuthenticationForm, UserCreationForm

from accounts.models import User


class LoginForm(AuthenticationForm):
    """User name and password, with the same error for a wrong name, a wrong password and an inactive account."""

    error_messages = {
        "invalid_login": "That user name and password do not match. Both are case-sensitive.",
        "inactive": "That user name and password do not match. Both are case-sensitive.",
    }


class SignUpForm(UserCreationForm):  # type: ignore[type-arg]
    """A new account: user name, password, and an optional e-mail address."""

    email = forms.EmailField(required=False, help_text="Optional.")

    class Meta:
        model = User
        fields = ["username", "email"]

"""The forms of the account pages."""

from __future__ import annotations

from django import forms
from django.contrib.auth.forms import AuthenticationForm, UserCreationForm

from accounts.models import User


class LoginForm(AuthenticationForm):
    """User name and password; says the same for a wrong name, a wrong password and a deactivated account."""

    error_messages = {
        "invalid_login": "That user name and password do not match. Both are case-sensitive.",
        "inactive": "That user name and password do not match. Both are case-sensitive.",
    }


class SignUpForm(UserCreationForm):  # type: ignore[type-arg]
    """A new account: user name, password, and an e-mail address for those who want to give one."""

    email = forms.EmailField(required=False, help_text="Optional.")

    class Meta:
        model = User
        fields = ["username", "email"]

"""The account pages: log in, log out, sign up, change the password, follow a one-time link."""

from __future__ import annotations

import math
from typing import Any

from django import forms
from django.conf import settings
from django.contrib.auth import login
from django.contrib.auth.forms import (
    AuthenticationForm,
    PasswordChangeForm,
    SetPasswordForm,
    UserCreationForm,
)
from django.contrib.auth.views import LoginView, LogoutView, PasswordChangeView
from django.db import IntegrityError
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseBase
from django.shortcuts import redirect, render
from django.urls import reverse_lazy
from django.utils.decorators import method_decorator
from django.views.decorators.cache import never_cache
from django.views.decorators.debug import sensitive_post_parameters
from django.views.decorators.http import require_GET
from django.views.generic import FormView

from accounts.attempt_limits import (
    CountedTries,
    count_try,
    login_limits,
    password_limits,
    signup_form_limits,
    signup_limits,
)
from accounts.client_address import client_network
from accounts.errors import TooManyAttempts
from accounts.models import User
from accounts.tokens import redeem_login_link
from durable.database import in_transaction

MODEL_BACKEND = "django.contrib.auth.backends.ModelBackend"


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


class LogIn(LoginView):
    """Log in with name and password; failed attempts are counted."""

    authentication_form = LoginForm
    template_name = "accounts/login.html"
    redirect_authenticated_user = True
    tries: CountedTries

    def post(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        limits = login_limits(username=request.POST.get("username", ""), network=client_network(request))
        try:
            self.tries = count_try(limits)
        except TooManyAttempts as error:
            return too_many_attempts(request, error)
        return super().post(request, *args, **kwargs)

    def form_valid(self, form: Any) -> HttpResponse:
        self.tries.give_back()
        return super().form_valid(form)

    def get_redirect_url(self, request: HttpRequest | None = None) -> str:
        """Return the requested page, but never this one, which would cause a redirect loop."""
        target = super().get_redirect_url()
        return "" if target.partition("?")[0] == self.request.path else target

    def get_context_data(self, **kwargs: Any) -> dict[str, Any]:
        return super().get_context_data(allow_signup=settings.COPILOT_ALLOW_SIGNUP, **kwargs)


class LogOut(LogoutView):
    """Log out by POST only, so that no link can do it."""


@method_decorator([sensitive_post_parameters(), never_cache], name="dispatch")
class SignUp(FormView):  # type: ignore[type-arg]
    """Create an account and log in; 404 if sign-up is disabled."""

    form_class = SignUpForm
    template_name = "accounts/signup.html"

    def dispatch(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
        if not settings.COPILOT_ALLOW_SIGNUP:
            raise Http404
        if request.user.is_authenticated:
            return redirect(settings.LOGIN_REDIRECT_URL)
        return super().dispatch(request, *args, **kwargs)

    def post(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        try:
            count_try(signup_form_limits(network=client_network(request)))
        except TooManyAttempts as error:
            return too_many_attempts(request, error)
        return super().post(request, *args, **kwargs)

    def form_valid(self, form: SignUpForm) -> HttpResponse:
        try:
            count_try(signup_limits(network=client_network(self.request)))
            user = in_transaction(form.save)()
        except TooManyAttempts as error:
            return too_many_attempts(self.request, error)
        except IntegrityError:  # someone took the name between the check and now
            form.add_error("username", "A user with that username already exists.")
            return self.form_invalid(form)
        login(self.request, user, backend=MODEL_BACKEND)
        return redirect(settings.LOGIN_REDIRECT_URL)


class ChangePassword(PasswordChangeView):
    """Change the password and end all other logins. Accounts without a password need no old one.

    Failed attempts are counted, so that a stolen session cannot be used to guess the password.
    """

    template_name = "accounts/password.html"
    success_url = reverse_lazy("password-changed")
    tries: CountedTries

    def post(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        assert isinstance(request.user, User), "the page requires a login"
        try:
            self.tries = count_try(password_limits(user_id=request.user.pk))
        except TooManyAttempts as error:
            return too_many_attempts(request, error)
        return super().post(request, *args, **kwargs)

    def form_valid(self, form: Any) -> HttpResponse:
        self.tries.give_back()
        return super().form_valid(form)

    def get_form_class(self) -> type[SetPasswordForm[User]]:  # type: ignore[override]
        user = self.request.user
        return PasswordChangeForm if user.is_authenticated and user.has_usable_password() else SetPasswordForm


@require_GET
@never_cache
def password_changed(request: HttpRequest) -> HttpResponse:
    return render(request, "accounts/password_changed.html")


@require_GET
@never_cache
def log_in_once(request: HttpRequest, token: str) -> HttpResponse:
    """Log in with a one-time link; HEAD is refused, so that a link preview does not use it up."""
    user = redeem_login_link(token)
    if user is None:
        return render(request, "accounts/link_over.html", status=410)
    login(request, user, backend=MODEL_BACKEND)
    return redirect(settings.LOGIN_REDIRECT_URL)


def too_many_attempts(request: HttpRequest, error: TooManyAttempts) -> HttpResponse:
    """Render the page for too many attempts; it does not reveal whether the name exists."""
    context = {"minutes": math.ceil(error.retry_after / 60)}
    response = render(request, "accounts/too_many_attempts.html", context, status=429)
    response["Retry-After"] = str(math.ceil(error.retry_after))
    return response

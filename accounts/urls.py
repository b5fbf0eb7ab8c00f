"""The addresses of the account pages."""

from django.urls import path

from accounts import views

urlpatterns = [
    path("login/", views.LogIn.as_view(), name="login"),
    path("login/once/<str:token>/", views.log_in_once, name="login-once"),
    path("logout/", views.LogOut.as_view(), name="logout"),
    path("signup/", views.SignUp.as_view(), name="signup"),
    path("password/", views.ChangePassword.as_view(), name="password"),
    path("password/changed/", views.password_changed, name="password-changed"),
]

"""The start page: what is up, what is not and why, what fires; it also receives Alertmanager's notifications."""

from stack.page.serve import StartPage, serve

__all__ = ["StartPage", "serve"]

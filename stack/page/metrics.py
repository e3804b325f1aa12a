"""The start page's own metrics."""

from inferwatch.metric import Metric

NOTIFICATIONS = Metric(
    "inferwatch_page_notifications_total",
    "counter",
    "Alerts that Alertmanager notified the start page of, by status.",
    ("status",),
)
NOTIFICATION_ERRORS = Metric(
    "inferwatch_page_notification_errors_total",
    "counter",
    "Notifications that were refused as invalid, or that could not be written to the notifications file.",
    ("reason",),
)
ERROR_REASONS = ("invalid", "write")

ALL = tuple(value for value in list(globals().values()) if isinstance(value, Metric))

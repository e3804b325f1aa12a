"""Runs the start page: reads in the background, answers from what was read last."""

import logging
import threading
import time
from collections.abc import Callable
from datetime import UTC, datetime
from http import HTTPStatus
from pathlib import Path

from prometheus_client import CollectorRegistry, Counter

from inferwatch.exposition import HTML, ExpositionServer, Request, Response, Route
from inferwatch.metric import Metric
from inferwatch.service import Signals
from stack.page import metrics, render
from stack.page.health import Health
from stack.page.looks import SECURITY_HEADERS
from stack.page.notifications import Notifications, WriteError, parse_webhook, terminal_line
from stack.page.prometheus_api import Prometheus
from stack.page.services import Services, load_services
from stack.page.snapshot import Snapshot, View, read_snapshot

log = logging.getLogger(__name__)
REFRESH_SECONDS = 5.0
STOP_SECONDS = 2.0
JSON_TYPE = "application/json"


class StartPage:
    """The page with its background reader.

    Args:
        listen: ``host:port``; port 0 takes a free one, which `address` then holds.
        services: What to watch.
        notifications_file: Where received alerts are kept; None keeps them in memory only.

    Raises:
        InferwatchError: If the address cannot be listened on.
    """

    def __init__(self, listen: str, services: Services, notifications_file: Path | None) -> None:
        self._services = services
        self._health = Health(services.services, services.status_file)
        self._notifications = Notifications(notifications_file)
        self._snapshot: Snapshot | None = None
        self._stop = threading.Event()
        registry = CollectorRegistry()
        self._received = _counter(metrics.NOTIFICATIONS, registry)
        self._errors = _counter(metrics.NOTIFICATION_ERRORS, registry)
        for status in ("firing", "resolved"):
            self._received.labels(status)
        for reason in metrics.ERROR_REASONS:
            self._errors.labels(reason)
        routes = [
            Route("/", self._page),
            Route("/fragment", self._fragment),
            Route("/notifications", self._receive, method="POST"),
        ]
        self._server = ExpositionServer("inferwatch start page", listen, registry, routes, self._trouble)
        self.address = self._server.address
        self._threads = [
            threading.Thread(target=self._repeat, args=(one,), name=one.__name__.strip("_"), daemon=True)
            for one in (self._read_prometheus, self._ask_services)
        ]

    def start(self) -> None:
        """Begin to read and to answer."""
        for thread in self._threads:
            thread.start()
        self._server.start()

    def stop(self) -> None:
        """Answer no more."""
        self._stop.set()
        self._server.stop()
        for thread in self._threads:
            # One that waits for a silent server is left behind; it is a daemon.
            thread.join(STOP_SECONDS)

    def view(self) -> View:
        """Return what the page shows now."""
        now = time.time()
        states, trouble = self._health.states(now)
        troubles = [one for one in (trouble, self._notifications.trouble) if one]
        return View(
            now,
            self._snapshot,
            services=tuple(states),
            notifications=tuple(self._notifications.latest()),
            notifications_in_memory=self._notifications.in_memory,
            troubles=tuple(troubles),
            notes=tuple(self._services.notes),
            grafana_url=self._services.public_url("grafana"),
        )

    def _repeat(self, work: Callable[[], None]) -> None:
        while not self._stop.is_set():
            try:
                work()
            except Exception:
                # The page then shows its last reading as old; the next round may succeed.
                log.exception("reading for the start page failed")
            self._stop.wait(REFRESH_SECONDS)

    def _read_prometheus(self) -> None:
        prometheus = Prometheus(self._services.prometheus_url)
        try:
            self._snapshot = read_snapshot(prometheus, self._services.alertmanager_url, time.time())
        finally:
            prometheus.close()

    def _ask_services(self) -> None:
        self._health.refresh()

    def _trouble(self) -> str | None:
        dead = [thread.name for thread in self._threads if not thread.is_alive()]
        return f"the background reader ended: {', '.join(dead)}; restart the start page" if dead else None

    def _page(self, _: Request) -> Response:
        return Response(render.page(self.view()), HTML, headers=SECURITY_HEADERS)

    def _fragment(self, _: Request) -> Response:
        return Response(render.fragment(self.view()), HTML, headers=SECURITY_HEADERS)

    def _receive(self, request: Request) -> Response:
        # A browser cannot send this type across sites without asking first, so no other page can forge alerts.
        if request.content_type.partition(";")[0].strip().lower() != JSON_TYPE:
            self._errors.labels("invalid").inc()
            return Response(f"send {JSON_TYPE}\n", status=HTTPStatus.UNSUPPORTED_MEDIA_TYPE)
        try:
            alerts = parse_webhook(request.body, datetime.now(UTC))
        except ValueError as error:
            self._errors.labels("invalid").inc()
            return Response(f"{error}\n", status=HTTPStatus.BAD_REQUEST)
        try:
            self._notifications.add(alerts)
        except WriteError as error:
            self._errors.labels("write").inc()
            log.error("%s", error)
            return Response(f"{error}\n", status=HTTPStatus.INTERNAL_SERVER_ERROR)
        for one in alerts:
            self._received.labels(one.status).inc()
            print(terminal_line(one), flush=True)
        return Response("ok\n")


def serve(listen: str, services_file: Path, notifications_file: Path | None) -> None:
    """Serve the start page until SIGTERM or SIGINT.

    Raises:
        ConfigError: If the services file cannot be used.
        InferwatchError: If the address cannot be listened on.
    """
    signals = Signals()
    running = StartPage(listen, load_services(services_file), notifications_file)
    running.start()
    try:
        signals.wait()
    finally:
        running.stop()


def _counter(metric: Metric, registry: CollectorRegistry) -> Counter:
    return Counter(metric.name, metric.help, metric.labels, registry=registry)

"""TLS and basic auth of a service, in the file format of Prometheus's own exporters (`--web.config.file`)."""

from inferwatch.web_config.access import Access
from inferwatch.web_config.health import WebConfigHealth
from inferwatch.web_config.keeper import WebConfigKeeper

__all__ = ["Access", "WebConfigHealth", "WebConfigKeeper"]

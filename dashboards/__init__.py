"""Dashboards as grafanalib code, and the JSON that Grafana takes."""

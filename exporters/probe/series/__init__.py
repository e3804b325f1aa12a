"""What probes found and what is configured, as series."""

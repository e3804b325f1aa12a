"""What a target is: its engine, version and models, whether it sleeps, and what Prometheus scrapes of it."""

"""The alert catalogue, what generates its rules, runbooks and Alertmanager's configuration."""

"""The probe exporter: fixed prompts -> metrics; discovery and configuration as series."""

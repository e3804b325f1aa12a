"""The GPU exporter: NVML -> metrics."""

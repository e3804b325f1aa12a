"""The two exporters: GPUs through NVML, endpoints through probes."""

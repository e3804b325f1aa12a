"""XIDs: the faults that the NVIDIA driver reports by number, from NVML's events and from the kernel's log."""

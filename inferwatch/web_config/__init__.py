"""TLS and basic auth of a service, in the file format of Prometheus's own exporters (`--web.config.file`).

A server needs `access` alone, which loads little; `keeper`, which reads the file, is for who has one.
"""

"""Prometheus's side: the vocabulary of recorded series, the recording rules, and what generates them."""

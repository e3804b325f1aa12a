"""YAML files checked against a model: each error names the file, the line, the key and what to write."""

from inferwatch.strict_yaml.files import file_text, mapping, parse, validate
from inferwatch.strict_yaml.findings import Finding, FindingsError, Path
from inferwatch.strict_yaml.model import Strict

__all__ = ["Finding", "FindingsError", "Path", "Strict", "file_text", "mapping", "parse", "validate"]

"""Rewrites the configuration that is written for containers so that it works on this machine's loopback."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml

from inferwatch.errors import InferwatchError

Addresses = Mapping[str, str]
CHECKOUT = Path(__file__).parents[1]
PROMETHEUS_FILE = CHECKOUT / "prometheus" / "prometheus.yml"
ALERTMANAGER_FILE = CHECKOUT / "alerting" / "alertmanager.yml"
# Where a container sees the folder of inferwatch.yml, in which secrets lie.
CONTAINER_CONFIG = "/config/"


def write_prometheus(
    into: Path, addresses: Addresses, absent: frozenset[str], config_folder: Path, source: Path = PROMETHEUS_FILE
) -> None:
    """Write Prometheus's configuration with loopback addresses and paths of this machine.

    Args:
        into: The file to write.
        addresses: ``host:port`` in the container network -> ``host:port`` here.
        absent: Addresses in the container network of services that do not run here; their static targets are left out.
        config_folder: The folder of inferwatch.yml here.
        source: The configuration for the container network.

    Raises:
        InferwatchError: If the source cannot be read, or names an address that is neither given nor absent.
    """
    data = _load(source)
    data["rule_files"] = [str((source.parent / pattern).resolve()) for pattern in data.get("rule_files", [])]
    for job in data.get("scrape_configs", []):
        key = job.get("authorization", {}).get("credentials_file", "")
        if key.startswith(CONTAINER_CONFIG):
            job["authorization"]["credentials_file"] = str(config_folder / key.removeprefix(CONTAINER_CONFIG))
        for group in job.get("static_configs", []):
            group["targets"] = [target for target in group["targets"] if target not in absent]
            unknown = [target for target in group["targets"] if target not in addresses]
            if unknown:
                raise InferwatchError(
                    f"{source}: job {job['job_name']} scrapes {unknown[0]}, which has no address here"
                )
        if "static_configs" in job:
            job["static_configs"] = [group for group in job["static_configs"] if group["targets"]]
    _dump(_moved(data, addresses), into, source)


def write_alertmanager(into: Path, addresses: Addresses, source: Path = ALERTMANAGER_FILE) -> None:
    """Write Alertmanager's configuration with loopback addresses and absolute template paths.

    Raises:
        InferwatchError: If the source cannot be read.
    """
    data = _load(source)
    if "templates" in data:
        data["templates"] = [str((source.parent / pattern).resolve()) for pattern in data["templates"]]
    _dump(_moved(data, addresses), into, source)


def _moved(value: Any, addresses: Addresses) -> Any:
    """Replace each address, whether it is a whole value or the host part of a URL."""
    if isinstance(value, dict):
        return {key: _moved(inner, addresses) for key, inner in value.items()}
    if isinstance(value, list):
        return [_moved(inner, addresses) for inner in value]
    if not isinstance(value, str):
        return value
    if value in addresses:
        return addresses[value]
    scheme, separator, rest = value.partition("://")
    host, slash, path = rest.partition("/")
    if separator and host in addresses:
        return f"{scheme}{separator}{addresses[host]}{slash}{path}"
    return value


def _load(source: Path) -> dict[str, Any]:
    try:
        data = yaml.safe_load(source.read_text(encoding="utf-8"))
    except (OSError, yaml.YAMLError) as error:
        raise InferwatchError(f"{source}: cannot be read: {error}") from None
    if not isinstance(data, dict):
        raise InferwatchError(f"{source}: holds no configuration")
    return data


def _dump(data: dict[str, Any], into: Path, source: Path) -> None:
    text = yaml.safe_dump(data, sort_keys=False, allow_unicode=True)
    into.write_text(f"# Made from {source} at each start; edit that file instead.\n{text}", encoding="utf-8")

"""The dashboards as they are committed: fresh, readable by Grafana, with PromQL that parses and series that exist."""

import json
import re
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml
from dashboard_round_trip import differences, unknown_values

from dashboards import generate
from dashboards.known import RULE_FOLDERS, recorded
from dashboards.lint import lint, visible
from dashboards.queries import GENERATED, MAY_BE_EMPTY, PanelQuery, panel_queries, substitute
from dashboards.series import selectors
from prometheus.vocabulary import OVERVIEW_UID, PROBES_UID

ROOT = GENERATED.parent.parent
FILES = sorted(GENERATED.glob("*.json"))
RUNBOOKS = ROOT / "alerting" / "runbooks"


def load(file: Path) -> dict[str, Any]:
    loaded: dict[str, Any] = json.loads(file.read_text(encoding="utf-8"))
    return loaded


@pytest.fixture(scope="module", params=FILES, ids=[file.stem for file in FILES])
def page(request: pytest.FixtureRequest) -> dict[str, Any]:
    return load(request.param)


@pytest.fixture(scope="module")
def overview_page() -> dict[str, Any]:
    return load(GENERATED / "overview.json")


def test_the_generated_files_are_fresh() -> None:
    on_disk = {file.name: file.read_text(encoding="utf-8") for file in GENERATED.iterdir()}
    assert on_disk == generate.texts(), "run `make generate`"


def test_the_same_code_gives_the_same_text() -> None:
    assert generate.texts() == generate.texts()


def test_generating_removes_what_no_code_stands_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(generate, "GENERATED", tmp_path)
    (tmp_path / "old.json").write_text("{}")
    assert generate.main() == 0
    assert {file.name for file in tmp_path.iterdir()} == {"overview.json", "probes.json"}


def test_grafana_reads_every_key(page: dict[str, Any]) -> None:
    assert differences(page) == []


def test_grafana_knows_every_setting(page: dict[str, Any]) -> None:
    dashboard = {key: value for key, value in page.items() if key != "refresh"}  # a variable's is a choice, this a time
    assert unknown_values(dashboard) == []


def test_they_are_small_enough_for_a_config_map() -> None:
    assert sum(file.stat().st_size for file in FILES) < 512 * 1024


def test_it_keeps_every_rule(page: dict[str, Any]) -> None:
    assert lint(page) == []


def test_no_two_panels_have_the_same_title() -> None:
    """Documentation, and what may be empty, know a panel by its title."""
    titles = [panel["title"] for file in FILES for panel in visible(load(file))]
    assert len(titles) == len(set(titles))


def test_no_two_dashboards_have_the_same_address() -> None:
    assert {load(file)["uid"] for file in FILES} == {OVERVIEW_UID, PROBES_UID}


def test_it_answers_what_the_overview_must(overview_page: dict[str, Any]) -> None:
    assert (overview_page["uid"], overview_page["title"]) == (OVERVIEW_UID, "LLM overview")
    wanted = {
        "Up or down", "TTFT", "TPOT", "P99 latency", "Queue depth", "Tokens per second", "Cost per million tokens",
        "Burn and idle cost", "GPU utilisation", "GPU memory used", "GPU temperature", "GPU throttled",
        "What is firing", "Probe outcomes", "Good probes, last hour", "GPUs are",
    }  # fmt: skip
    assert wanted <= {panel["title"] for panel in visible(overview_page)}


def test_pages_are_marked_in_time(page: dict[str, Any]) -> None:
    pages = page["annotations"]["list"][1]
    assert pages["enable"] is True
    assert 'alertstate="firing", severity="page"' in pages["expr"]


def test_another_model_is_marked_in_time(page: dict[str, Any]) -> None:
    changes = page["annotations"]["list"][2]
    assert changes["enable"] is True
    assert "llm_probe_model_identity_changes_total" in changes["expr"]


def test_what_either_source_can_answer_prefers_the_engine(page: dict[str, Any]) -> None:
    for panel in visible(page):
        for target in panel["targets"]:
            names = [use.name for use in selectors(target["expr"])]
            engine = [name.removeprefix("llm:") for name in names if re.match(r"llm:\w+_seconds:", name)]
            probes = [name.removeprefix("llm_probe:") for name in names if name.startswith("llm_probe:")]
            assert engine == probes, panel["title"]
            if probes:
                assert "or on (target)" in target["expr"]
                assert target["expr"].index("llm:") < target["expr"].index("llm_probe:")


def test_simulated_gpus_are_called_simulated(overview_page: dict[str, Any]) -> None:
    per_gpu = [
        target
        for panel in visible(overview_page)
        for target in panel["targets"]
        if "{{gpu}}" in target["legendFormat"] and panel["type"] == "timeseries"
    ]
    assert len(per_gpu) == 4
    for target in per_gpu:
        assert "{{simulated}}" in target["legendFormat"]
        assert '"simulated", " (simulated)", "uuid", "GPU-SIMULATED-.*"' in target["expr"]


@pytest.mark.tool("promtool")
def test_every_query_parses(tool: Callable[[str], Path], tmp_path: Path, page: dict[str, Any]) -> None:
    queries = [(f"{query.panel} {query.ref_id}", query.expr) for query in panel_queries()]
    queries += [(a["name"], substitute(a["expr"], a["step"], "1h")) for a in page["annotations"]["list"][1:]]
    for variable in page["templating"]["list"][1:]:
        queries.append((variable["name"], re.fullmatch(r"label_values\((.+), *\w+\)", variable["definition"])[1]))
    rules = [
        {"record": f"panel:query_{index}", "expr": expr, "labels": {"panel": name}}
        for index, (name, expr) in enumerate(queries)
    ]
    assert len(rules) > 40
    file = tmp_path / "panels.yml"
    file.write_text(yaml.safe_dump({"groups": [{"name": "panels", "rules": rules}]}))
    done = subprocess.run([tool("promtool"), "check", "rules", file], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert f"{len(rules)} rules found" in done.stdout


def test_recorded_series_come_from_the_rule_files() -> None:
    used = {use.name for query in panel_queries() for use in selectors(query.expr) if ":" in use.name}
    assert used
    assert used - recorded() == set()


def test_every_runbook_that_a_panel_links_to_exists(page: dict[str, Any]) -> None:
    linked = {
        match[1]
        for panel in visible(page)
        for link in panel["links"]
        if (match := re.search(r"/alerting/runbooks/(\w+)\.md$", link["url"]))
    }
    assert {"TTFTHigh", "TPOTHigh"} <= linked
    assert {name for name in linked if not (RUNBOOKS / f"{name}.md").is_file()} == set()


def test_alerts_link_to_a_dashboard_that_exists() -> None:
    files = [file for folder in RULE_FOLDERS for file in folder.glob("*.yml")]
    groups = [group for file in files for group in yaml.safe_load(file.read_text())["groups"]]
    urls = {
        rule["annotations"]["dashboard_url"]
        for group in groups
        for rule in group["rules"]
        if "dashboard_url" in rule.get("annotations", {})
    }
    assert urls
    assert {url for url in urls if not re.match(rf"/d/{OVERVIEW_UID}(\?|$)", url)} == set()


def test_queries_come_without_variables() -> None:
    queries = panel_queries("30m")
    assert all(isinstance(query, PanelQuery) and "$" not in query.expr for query in queries)
    assert any("[30m]" in query.expr and query.instant for query in queries)


@pytest.mark.parametrize(
    ("expr", "min_step", "expected"),
    [
        ('up{target=~"$target"}', "", 'up{target=~".+"}'),
        ("rate(a_total[$__rate_interval])", "", "rate(a_total[60s])"),
        ("rate(a_total[$__rate_interval])", "15m", "rate(a_total[3600s])"),
        ("increase(a_total[$__interval])", "5m", "increase(a_total[5m])"),
        ("increase(a_total[$__range])", "", "increase(a_total[1h])"),
    ],
)
def test_variables_are_filled_in_as_grafana_does(expr: str, min_step: str, expected: str) -> None:
    assert substitute(expr, min_step, "1h") == expected


def test_a_variable_that_nobody_knows_is_refused() -> None:
    with pytest.raises(ValueError, match=r"\$model is not known in queries.py"):
        substitute('up{model=~"$model"}', "", "1h")


def test_what_may_be_empty_is_a_panel_and_has_a_reason() -> None:
    assert set(MAY_BE_EMPTY) <= {(query.panel, query.ref_id) for query in panel_queries()}
    assert all(len(reason) > 20 for reason in MAY_BE_EMPTY.values())
    assert len([query for query in panel_queries() if query.may_be_empty]) == len(MAY_BE_EMPTY)


def test_the_documentation_names_every_panel(page: dict[str, Any]) -> None:
    listed = set(re.findall(r"^\| ([^|]+) \|", (ROOT / "docs" / "dashboards.md").read_text(), flags=re.MULTILINE))
    named = {title for cell in listed for title in (cell, *cell.split(", "))}
    assert {panel["title"] for panel in visible(page)} - named == set()

"""docs/ENGINES.md says what the engine files say."""

from inferwatch.engines import load_engines
from stack import engines_page


def test_the_list_of_engines_is_up_to_date():
    for file, text in engines_page.rendered().items():
        assert file.read_text() == text, "run `make generate`"


def test_every_engine_is_in_it_with_its_traps():
    (text,) = engines_page.rendered().values()
    for engine in load_engines().values():
        (row,) = (line for line in text.splitlines() if f"<br>`{engine.name}` |" in line)
        assert all(trap.replace("|", r"\|") in row for trap in engine.traps)
        assert f"{engine.verified}: {engine.versions}" in row


def test_a_mean_without_a_histogram_is_called_one():
    (text,) = engines_page.rendered().values()
    (row,) = (line for line in text.splitlines() if "`llamacpp` |" in line)
    assert "TPOT (mean only)" in row
    assert "TTFT" not in row.split("|")[4]

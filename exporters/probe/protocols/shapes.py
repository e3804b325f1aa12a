"""What several APIs write in the same way: the tools that a model may call, and the form that its JSON must have."""

from exporters.probe.protocols.base import Question

Json = dict[str, object]


def functions(question: Question) -> Json:
    """Return `tools` as chat completions and Ollama want them; nothing without any."""
    tools = [{"type": "function", "function": dict(tool)} for tool in question.tools]
    return {"tools": tools, **choice(question)} if tools else {}


def choice(question: Question) -> Json:
    """Return OpenAI's word for a call that must be; nothing where the model is free."""
    return {"tool_choice": "required"} if question.must_call else {}


def named_schema(question: Question) -> Json | None:
    """Return OpenAI's object for the wanted form of JSON; None if the answer is free."""
    if question.json_form is None:
        return None
    if question.json_form == "json_object":
        return {"type": "json_object"}
    return {"type": "json_schema", "name": "answer", "strict": True, "schema": dict(question.json_schema or {})}

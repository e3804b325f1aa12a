"""Special tokens that leak into an answer: the server's chat template or tokenizer is not the model's."""

import re

# ChatML and Llama 3 (<|im_end|>, <|eot_id|>), Llama 2 and Mistral ([INST], <<SYS>>, </s>), Gemma, DeepSeek, T5.
_SPECIAL = re.compile(
    r"<\|[a-z0-9_]{2,40}\|>|<\uff5c[^<>\uff5c]{1,60}\uff5c>|\[/?INST\]|<</?SYS>>|</?s>|</?(?:start|end)_of_turn>"
    r"|<(?:pad|unk|bos|eos|mask)>|<(?:extra_id_|unused)\d{1,4}>|<0x[0-9A-F]{2}>|\[UNK\]|\ufffd"
)


def holds_special_token(text: str) -> bool:
    """Say whether a text holds what only the tokenizer should see, or a character that was cut (U+FFFD)."""
    return _SPECIAL.search(text) is not None

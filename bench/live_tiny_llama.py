"""A Llama of two layers with random weights, which an engine serves on any machine; its answers mean nothing.

Run it with an interpreter that has torch, transformers and tokenizers, such as the engine's own:
`.../bin/python bench/live_tiny_llama.py FOLDER`. It writes the model to FOLDER/model and an adapter for it to
FOLDER/adapter. It imports nothing of inferwatch, since that interpreter does not know it.
"""

import json
import sys
from pathlib import Path

import torch  # type: ignore[import-not-found]
from safetensors.torch import save_file  # type: ignore[import-not-found]
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers  # type: ignore[import-not-found]
from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast  # type: ignore[import-not-found]

VOCABULARY = 512
HIDDEN = 128
HEADS = 2  # vLLM on CPUs refuses heads of 16, so 64 each
LAYERS = 2
RANK = 8
CONTEXT = 2048
TEMPLATE = "{% for m in messages %}<{{ m['role'] }}> {{ m['content'] }}\n{% endfor %}<assistant> "
TEXT = ["the quick brown fox jumps over the lazy dog", "an engine answers, a probe measures, a rule records"]


def write_model(folder: Path) -> None:
    """Write weights, tokenizer and chat template; the same weights each time."""
    words = Tokenizer(models.BPE(unk_token="<unk>"))
    words.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    words.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=VOCABULARY,
        special_tokens=["<unk>", "<s>", "</s>"],
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
    )
    words.train_from_iterator(TEXT, trainer)
    tokenizer = PreTrainedTokenizerFast(
        tokenizer_object=words, unk_token="<unk>", bos_token="<s>", eos_token="</s>", model_max_length=CONTEXT
    )
    tokenizer.chat_template = TEMPLATE
    tokenizer.save_pretrained(folder)
    torch.manual_seed(0)
    config = LlamaConfig(
        vocab_size=VOCABULARY,
        hidden_size=HIDDEN,
        intermediate_size=2 * HIDDEN,
        num_hidden_layers=LAYERS,
        num_attention_heads=HEADS,
        num_key_value_heads=HEADS,
        max_position_embeddings=CONTEXT,
        bos_token_id=1,
        eos_token_id=2,
    )
    LlamaForCausalLM(config).to(torch.bfloat16).save_pretrained(folder)


def write_adapter(folder: Path) -> None:
    """Write a LoRA adapter for the model's query projections."""
    folder.mkdir(parents=True, exist_ok=True)
    config = {"peft_type": "LORA", "r": RANK, "lora_alpha": RANK, "target_modules": ["q_proj"], "bias": "none"}
    (folder / "adapter_config.json").write_text(json.dumps(config))
    weights = {}
    for layer in range(LAYERS):
        name = f"base_model.model.model.layers.{layer}.self_attn.q_proj"
        weights[f"{name}.lora_A.weight"] = torch.randn(RANK, HIDDEN)
        weights[f"{name}.lora_B.weight"] = torch.randn(HIDDEN, RANK)
    save_file(weights, folder / "adapter_model.safetensors")


if __name__ == "__main__":
    base = Path(sys.argv[1])
    write_model(base / "model")
    write_adapter(base / "adapter")

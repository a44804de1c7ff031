"""Makes tests/golden/interop: tiny models of every family, with the logits that transformers gives,
and byte-level BPE tokenizers, with the ids that `tokenizers` gives.

Needs torch, transformers and tokenizers, which the tests do not; run it again only when a family
is added:

    PYTHONPATH=tests python tests/golden/make_interop.py
"""

import json
from pathlib import Path
from pydoc_data.topics import topics

import torch
from safetensors.torch import save_file
from snippets import snippets
from tokenizers import Tokenizer, decoders, pre_tokenizers, trainers
from tokenizers import models as tokenizer_models
from transformers import (
    GPT2Config,
    GPT2LMHeadModel,
    GPTNeoXConfig,
    GPTNeoXForCausalLM,
    LlamaConfig,
    LlamaForCausalLM,
    PreTrainedModel,
    Starcoder2Config,
    Starcoder2ForCausalLM,
)

FOLDER = Path(__file__).parent / "interop"
WIDTH, LAYERS, HEADS, VOCAB, CONTEXT = 32, 2, 4, 64, 48


def models() -> dict[str, PreTrainedModel]:
    """One model of every kind that is read."""
    shape = {
        "hidden_size": WIDTH,
        "num_hidden_layers": LAYERS,
        "num_attention_heads": HEADS,
        "vocab_size": VOCAB,
        "max_position_embeddings": CONTEXT,
    }
    neox = {**shape, "intermediate_size": 4 * WIDTH}
    return {
        "gpt2": GPT2LMHeadModel(
            GPT2Config(
                bos_token_id=0,
                eos_token_id=0,
                vocab_size=VOCAB,
                n_positions=CONTEXT,
                n_embd=WIDTH,
                n_layer=LAYERS,
                n_head=HEADS,
            )
        ),
        "gpt_neox": GPTNeoXForCausalLM(
            GPTNeoXConfig(
                **neox,
                hidden_act="gelu_new",
                use_parallel_residual=False,
                rope_parameters={
                    "rope_type": "default",
                    "rope_theta": 10000.0,
                    "partial_rotary_factor": 1.0,
                },
                tie_word_embeddings=True,
            )
        ),
        "pythia": GPTNeoXForCausalLM(
            GPTNeoXConfig(
                **neox,
                hidden_act="gelu",
                use_parallel_residual=True,
                rope_parameters={
                    "rope_type": "default",
                    "rope_theta": 10000.0,
                    "partial_rotary_factor": 0.25,
                },
                tie_word_embeddings=False,
            )
        ),
        "starcoder2": Starcoder2ForCausalLM(
            Starcoder2Config(
                **shape, intermediate_size=96, num_key_value_heads=2, tie_word_embeddings=True
            )
        ),
        "llama": LlamaForCausalLM(
            LlamaConfig(
                **shape,
                intermediate_size=96,
                num_key_value_heads=2,
                rope_parameters={"rope_type": "default", "rope_theta": 100000.0},
                tie_word_embeddings=True,
                rms_norm_eps=1e-5,
            )
        ),
    }


def fill(model: PreTrainedModel) -> None:
    """Random values everywhere, biases and norms too, so that a swapped one shows."""
    for name, parameter in model.named_parameters():
        norm = "ln_" in name or "norm" in name
        centre = 1.0 if norm and name.endswith("weight") else 0.0
        scale = 0.15 if "wte" in name or "embed_in" in name or "embed_tokens" in name else 0.25
        with torch.no_grad():
            parameter.normal_(centre, scale)


def tokenizer(*, digits: bool) -> Tokenizer:
    """A byte-level BPE of 400 tokens, with an added token and a special one."""
    made = Tokenizer(tokenizer_models.BPE())
    level = pre_tokenizers.ByteLevel(add_prefix_space=False)
    steps = [pre_tokenizers.Digits(individual_digits=True), level]
    made.pre_tokenizer = pre_tokenizers.Sequence(steps) if digits else level
    made.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=400,
        special_tokens=["<|endoftext|>"],
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
    )
    text = topics["strings"] + topics["numbers"]
    made.train_from_iterator([text, *snippets(300, seed=1)], trainer)
    made.add_tokens(["    "])
    return made


def write_tokenizers() -> None:
    """Write each tokenizer with the ids of difficult strings."""
    for name, digits in (("bpe", False), ("bpe_digits", True)):
        made = tokenizer(digits=digits)
        folder = FOLDER / name
        folder.mkdir(parents=True, exist_ok=True)
        made.save(str(folder / "tokenizer.json"))
        ids = [made.encode(text).ids for text in snippets(300, seed=2)]
        (folder / "expected.json").write_text(json.dumps(ids) + "\n")


def main() -> None:
    """Write every model with its ids and logits, then the tokenizers."""
    write_tokenizers()
    torch.manual_seed(0)
    for name, model in models().items():
        fill(model)
        model.tie_weights()
        model.eval()
        ids = torch.randint(0, VOCAB, (2, CONTEXT))
        with torch.no_grad():
            logits = model(ids).logits
        folder = FOLDER / name
        model.save_pretrained(folder)
        (folder / "generation_config.json").unlink(missing_ok=True)
        (folder / "model.safetensors").chmod(0o644)
        save_file(
            {"ids": ids.int(), "logits": logits.contiguous()}, folder / "expected.safetensors"
        )
        kind = json.loads((folder / "config.json").read_text())["model_type"]
        print(f"{name}: {kind}, logits of std {logits.std():.3f}")


if __name__ == "__main__":
    main()

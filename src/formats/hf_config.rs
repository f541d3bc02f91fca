//! Hugging Face `config.json` to Megatron fields.

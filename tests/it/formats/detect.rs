//! What a pasted text is.

use megatron_memory::formats::detect::{Format, detect};
use megatron_memory::formats::import::{Options, import};
use proptest::prelude::*;

#[test]
fn formats_are_told_apart() {
    for (text, expected) in [
        ("#v1;m=llama3-8b;tp=2", Some(Format::ShareLink)),
        ("v1;m=llama3-8b;tp=2", Some(Format::ShareLink)),
        ("v1", None),
        ("https://example.org/calc/#v1;tp=2", Some(Format::ShareLink)),
        ("#z1:eJxTYA", Some(Format::ShareLink)),
        ("#version notes", None),
        (
            r#"{"architectures": ["LlamaForCausalLM"], "hidden_size": 4096}"#,
            Some(Format::HfConfig),
        ),
        (r#"{"model_type" : "qwen3"}"#, Some(Format::HfConfig)),
        (
            r#"{"schema": "megatron-memory/1", "num_layers": 4}"#,
            Some(Format::OwnJson),
        ),
        (r#"{"num_layers": 4, "hidden_size": 8}"#, Some(Format::OwnJson)),
        (r#"{"unrelated": 1}"#, None),
        ("--num-layers 4 --hidden-size 8", Some(Format::MegatronFlags)),
        ("  --num-layers 4 \\\n  --hidden-size 8", Some(Format::MegatronFlags)),
        ("torchrun pretrain_gpt.py --num-layers 4", Some(Format::Script)),
        ("#!/bin/bash\nTP=2\n", Some(Format::Script)),
        ("ARGS=(\n  --num-layers 4\n)\n", Some(Format::Script)),
        ("if [ $A = 1 ]; then\n  X=--bf16\nfi", Some(Format::Script)),
        (
            "ENV_VARS:\n  A: 1\nMODEL_ARGS:\n  --num-layers: 4\n  --swiglu: true\n",
            Some(Format::ModelArgsYaml),
        ),
        (
            "model:\n  _target_: megatron.bridge.models.Llama\n  num_layers: 4\n",
            Some(Format::BridgeYaml),
        ),
        (
            "model:\n  num_layers: 4\ntrain:\n  micro_batch_size: 1\n",
            Some(Format::BridgeYaml),
        ),
        (
            "actor_rollout_ref:\n  actor:\n    megatron:\n      tensor_model_parallel_size: 2\n",
            Some(Format::VerlYaml),
        ),
        ("language_model:\n  num_layers: 4\n", Some(Format::MegatronYaml)),
        (
            "NPROC_PER_NODE=8 megatron sft --model Qwen/Qwen3-8B --padding_free true",
            Some(Format::SwiftCommand),
        ),
        ("swift rlhf --rlhf_type grpo", Some(Format::SwiftCommand)),
        ("model.num_layers=4 train.micro_batch_size=1", Some(Format::Overrides)),
        (
            "python3 -m verl.trainer.main_ppo --config-name x \\\n  a.b.c=2 \\\n d.e=[1,2]",
            Some(Format::Overrides),
        ),
        (
            "uv run run_recipe.py --recipe llama3 model.num_layers=4 train.global_batch_size=8",
            Some(Format::Overrides),
        ),
        ("Dear all, how much memory do I need?", None),
        ("", None),
    ] {
        assert_eq!(detect(text).map(|d| d.format), expected, "{text}");
    }
}

#[test]
fn configurations_that_are_not_read_are_refused_by_name() {
    for (text, name) in [
        (
            "rollout_batch_size: 64\nactor_train:\n  strategy_args:\n    strategy_name: deepspeed_train\nactor_infer:\n  a: 1\n",
            "a ROLL configuration that does not train with Megatron",
        ),
        (
            "defaults:\n  - train: 7b\nexperiment:\n  exp_name: x\naction: run\n",
            "the part of a FlagScale configuration that says how it is launched",
        ),
        (
            "policy:\n  model_name: a/b\n  dtensor_cfg:\n    enabled: true\n",
            "a NeMo-RL configuration that does not train with Megatron",
        ),
        (
            "policy:\n  model_name: a/b\n  megatron_cfg:\n    enabled: false\n",
            "a NeMo-RL configuration that does not train with Megatron",
        ),
        (
            "work_group: amd\nmodules:\n  pre_trainer:\n    framework: torchtitan\n    overrides:\n      seq_length: 1\n",
            "a Primus configuration that does not train with Megatron-LM",
        ),
        (
            "trainer:\n  num_nodes: 8\nexp_manager:\n  name: x\nmodel:\n  encoder:\n    num_layers: 12\n  tensor_model_parallel_size: 4\n",
            "a NeMo 1 configuration of a model with an encoder and a decoder",
        ),
        (
            "system:\n  tensor_model_parallel_size: 2\n  hetero:\n    enable_hetero: true\n    hetero_process_meshes: [2,1,1,4,1, 4,1,1,2,1]\nmodel:\n  num_layers: 4\n",
            "a FlagScale configuration whose pipeline stages have different parallel sizes (hetero_process_meshes)",
        ),
        (
            "import nemo_run as run\nfrom nemo.collections import llm\ndef model() -> run.Config:\n    return run.Config(llm.LlamaModel)\n",
            "a NeMo 2 script without a function that makes a recipe: its settings are in other files",
        ),
        (
            "--------- arguments ---------\n  pipe_parallel_size ......... 1....default\n  hidden_size ........ 512....updated\n",
            "a log of GPT-NeoX",
        ),
        (
            "pipe_parallel_size: 1\nmodel_parallel_size: 2\nnum_layers: 12\nhidden_size: 768\nzero_optimization:\n  stage: 1\n",
            "a GPT-NeoX configuration (it trains with DeepSpeed, whose memory is another program's)",
        ),
        (
            "torchrun --nproc_per_node 8 pretrain_t5.py --encoder-num-layers 12 --hidden-size 768",
            "a job of T5",
        ),
        (
            "torchrun --nproc_per_node 8 pretrain_bert.py --num-layers 12 --hidden-size 768",
            "a job of BERT",
        ),
        (
            "MODEL_ARGS:\n  --num-layers: 12\n  --hidden-size: 768\n  --tokenizer-type: BertWordPieceCase\n",
            "a job of BERT or T5, by its tokenizer",
        ),
        (
            "export MODEL=mine\nTP=1 EP=8 bash ./sbatch_benchmarking.sh --recompute-granularity selective\n",
            "a launch script of Megatron-MoE-ModelZoo with a model of one's own (paste the file of the model's flags)",
        ),
        (
            "torchrun --nproc_per_node 1 tools/run_text_generation_server.py --num-layers 12 --hidden-size 768",
            "a job of inference",
        ),
    ] {
        let error = import(text, &Options::default()).unwrap_err();
        assert_eq!(error.to_string(), format!("This is {name}, which is not read."));
    }
}

proptest! {
    #[test]
    fn any_text_gets_an_answer(text in "\\PC{0,80}") {
        let padded = format!("{text}\n{}", "x".repeat(300));
        // Blanks around a text do not matter.
        prop_assert_eq!(detect(&padded), detect(&format!("\n  {padded}\n")));
    }
}

//! Flags of MindSpeed-LLM beside those of Megatron-LM.

use megatron_memory::config::check;
use megatron_memory::config::fields::FieldId;
use megatron_memory::formats::import_text::{ImportOptions, ImportedText, import_text};
use megatron_memory::value::Value;

const JOB: &str = "torchrun --nproc_per_node 8 pretrain_gpt.py --num-layers 8 --hidden-size 512 --num-attention-heads 8 \
    --ffn-hidden-size 2048 --seq-length 1024 --micro-batch-size 1 --global-batch-size 8 --bf16 --vocab-size 1000 \
    --transformer-impl local --normalization RMSNorm --swiglu --num-experts 8 --moe-router-topk 2 --moe-ffn-hidden-size 256 \
    --moe-token-dispatcher-type alltoall_seq --pipeline-model-parallel-size 2 --moe-layer-freq 1 --use-fused-rmsnorm \
    --tensor-model-parallel-size 2 --sequence-parallel --use-fused-swiglu --disable-bias-linear";

#[track_caller]
fn read(flags: &str) -> ImportedText {
    let text = format!("{JOB} {flags}");
    let import = import_text(&text, &ImportOptions::default()).unwrap();
    let checked = check(&import.import.state.setup.job);
    let problems: Vec<_> = checked.errors().map(ToString::to_string).collect();
    assert_eq!(problems, Vec::<String>::new());
    import
}

fn value(import: &ImportedText, id: FieldId) -> Option<String> {
    let value = import.import.state.setup.job.shared.get(id)?;
    Some(match value {
        Value::Text(text) => text.clone(),
        other => other.to_string(),
    })
}

#[test]
fn layers_of_mindspeed_become_megatrons() {
    let import = read("--first-k-dense-replace 3 --n-shared-experts 2");
    assert_eq!(import.import.dialect, "MindSpeed-LLM");
    let is = |id, wanted: &str| assert_eq!(value(&import, id).as_deref(), Some(wanted), "{id:?}");
    is(FieldId::moe_layer_freq, "([0]*3+[1]*5)");
    is(FieldId::moe_shared_expert_intermediate_size, "512");
    is(FieldId::moe_token_dispatcher_type, "alltoall");
    // Ascend's kernels are not followed.
    let marks = &import.import.state.setup.job.not_modelled;
    assert_eq!(marks.len(), 1, "{marks:?}");
}

#[test]
fn layers_that_do_nothing_are_taken_out() {
    let import = read("--first-k-dense-replace 1 --noop-layers 6,7");
    assert_eq!(value(&import, FieldId::num_layers).as_deref(), Some("6"));
    let layout = value(&import, FieldId::pipeline_model_parallel_layout);
    assert_eq!(layout.as_deref(), Some("Et*4|ttL"));
    let freq = value(&import, FieldId::moe_layer_freq);
    assert_eq!(freq.as_deref(), Some("([0]+[1]*5)"));
    let import = read("--num-layer-list 3,5 --swap-optimizer");
    let layout = value(&import, FieldId::pipeline_model_parallel_layout);
    assert_eq!(layout.as_deref(), Some("Ettt|t*5L"));
    let marks = &import.import.state.setup.job.not_modelled;
    assert!(marks.iter().any(|mark| mark.key == "swap-optimizer"));
}

//! What adapters need (`PEFT`, `ModuleMatcher`, `ParallelLinearAdapter`, `CanonicalLoRA`, `DoRA` of Megatron-Bridge).

use super::rule::FixValue::{Default, Name, Off};
use super::rule::rules;
use crate::config::adapters::{LinearModule, LinearModules, Target, Targets, present};
use crate::config::choices::{AdapterDropout, AdapterType};
use crate::config::draft::Draft;
use crate::config::fields::FieldId as F;
use crate::config::nearby::near_multiples;
use crate::config::problem::Problem;
use crate::value::Value;

rules! { |d, a|
    error "adapter_targets" if on(d) && a.peft_target_modules.is_some() && a.peft_exclude_modules.is_some()
        => [peft_exclude_modules, peft_target_modules],
        "peft_exclude_modules must be left out where peft_target_modules is given",
        [peft_exclude_modules = Default, peft_target_modules = Default];
    error "adapter_targets" by(canonical_names);
    error "adapter_targets" by(plain_patterns);
    error "adapter_targets" by(linear_targets);
    error "adapter_targets" by(some_target);
    warning "adapter_targets" by(every_target);
    error "adapter_rank" by(rank_and_tp);
    error "adapter_rank" by(outputs_and_tp);
    error "adapter_rank" by(rank_and_topk);
    warning "adapter_rank" if on(d) && a.peft_dim == 0 => [peft_dim],
        "with peft_dim 0 nothing is trained", [peft_dim = Default];
    // `DoRA.__post_init__`.
    error "dora" if a.peft_type == AdapterType::Dora && a.peft_dropout_position != AdapterDropout::Pre
        => [peft_dropout_position, peft_type],
        "dora supports only peft_dropout_position pre", [peft_dropout_position = Default];
    // `DoRALinear._get_weight_norm` reads one weight, which grouped experts do not have.
    error "dora"
        if a.peft_type == AdapterType::Dora && a.moe_grouped_gemm && first(d, LinearModule::is_expert).is_some()
        => [peft_type, peft_target_modules],
        "dora cannot adapt grouped experts; use lora, or give peft_target_modules without their linear_fc1 and linear_fc2",
        [peft_type = Name("lora"), peft_target_modules = Name("linear_qkv, linear_proj")];
    error "dora" by(dora_whole_layers);
    warning "expert_adapters"
        if on(d) && a.peft_type != AdapterType::Lora && a.peft_experts_shared_outer_loras
        => [peft_experts_shared_outer_loras, peft_type],
        "only lora has peft_experts_shared_outer_loras; it has no effect", [peft_experts_shared_outer_loras = Off];
    // The matrices of each expert are not split (`PackedPerExpertLinear`), but the experts are.
    warning "expert_adapters"
        if a.peft_type == AdapterType::Lora && a.peft_experts_shared_outer_loras && d.etp > 1
            && first(d, LinearModule::is_expert).is_some()
        => [peft_experts_shared_outer_loras, expert_tensor_parallel_size],
        "peft_experts_shared_outer_loras works only with expert_tensor_parallel_size 1: the adapters of each expert are not split",
        [peft_experts_shared_outer_loras = Off];
}

const KIND: F = F::peft_type;
const TARGETS: F = F::peft_target_modules;

fn on(d: &Draft<'_>) -> bool {
    d.args.peft_type != AdapterType::None
}

/// The modules that get adapters, of all layers together.
fn adapted(d: &Draft<'_>) -> LinearModules {
    let targets = Targets::of(&d.args);
    targets.map_or_else(LinearModules::default, |targets| targets.anywhere(&d.args, &d.layers))
}

/// The first module with an adapter that a test holds for.
fn first(d: &Draft<'_>, test: impl Fn(LinearModule) -> bool) -> Option<LinearModule> {
    let mut modules = adapted(d).iter();
    modules.find(|module| test(*module))
}

/// `CanonicalLoRA.__post_init__`.
fn canonical_names(d: &Draft<'_>) -> Option<Problem> {
    let targets = Targets::of(&d.args)?;
    let canonical = d.args.peft_type == AdapterType::CanonicalLora;
    let fused = |target: &&Target| target.given.ends_with("linear_qkv") || target.given.ends_with("linear_fc1");
    let target = targets.named().iter().find(fused).filter(|_| canonical)?;
    let message = format!(
        "canonical_lora has no target {}: use linear_q, linear_k and linear_v, or linear_fc1_up and linear_fc1_gate",
        target.given
    );
    Some(
        Problem::error(&[TARGETS, KIND], message)
            .fix(TARGETS, Default)
            .fix(KIND, Name(AdapterType::Lora.name())),
    )
}

/// Names are parts of regular expressions in Megatron-Bridge; only `*` and `.` are read here.
fn plain_patterns(d: &Draft<'_>) -> Option<Problem> {
    let a = &d.args;
    let given = [
        (TARGETS, &a.peft_target_modules),
        (F::peft_exclude_modules, &a.peft_exclude_modules),
    ];
    let odd = |c: char| !(c.is_ascii_alphanumeric() || "_.*, -".contains(c));
    let mut given = given.into_iter();
    let (field, _) = given.find(|(_, text)| text.as_ref().is_some_and(|text| text.contains(odd)))?;
    on(d).then(|| {
        let message = format!(
            "{} may have names and * for any characters, separated by commas, such as *.layers.0.*.linear_qkv",
            field.field().name
        );
        Problem::error(&[field], message).fix(field, Default)
    })
}

/// `get_adapter_attributes_from_linear` knows no other modules.
fn linear_targets(d: &Draft<'_>) -> Option<Problem> {
    const OTHERS: [&str; 12] = [
        "embedding",
        "embedding.word_embeddings",
        "decoder",
        "decoder.layers",
        "decoder.layers.0",
        "decoder.layers.0.input_layernorm",
        "decoder.layers.0.self_attention",
        "decoder.layers.0.self_attention.core_attention",
        "decoder.layers.0.pre_mlp_layernorm",
        "decoder.layers.0.mlp",
        "decoder.layers.0.mixer",
        "decoder.final_layernorm",
    ];
    let targets = Targets::of(&d.args)?;
    let mut named = targets.named().iter();
    let target = named.find(|target| OTHERS.iter().any(|name| target.matches_name(name)))?;
    let message = format!(
        "peft_target_modules has {}, which is also the name of a module that is not linear; use names of linear layers such as linear_qkv, or *.linear_fc1",
        target.given
    );
    Some(Problem::error(&[TARGETS], message).fix(TARGETS, Default))
}

fn some_target(d: &Draft<'_>) -> Option<Problem> {
    (on(d) && adapted(d).is_empty()).then(|| {
        let field = if d.args.peft_target_modules.is_none() && d.args.peft_exclude_modules.is_some() {
            F::peft_exclude_modules
        } else {
            TARGETS
        };
        let message = format!(
            "{} leaves no linear layer with adapters; this model has {}",
            field.field().name,
            names_of(present(&d.args, &d.layers))
        );
        Problem::error(&[field, KIND], message)
            .fix(field, Default)
            .fix(KIND, Default)
    })
}

/// Megatron-Bridge warns as well (`_validate_target_matches`); its own default has more names than some models.
fn every_target(d: &Draft<'_>) -> Option<Problem> {
    let targets = Targets::of(&d.args)?;
    d.args.peft_target_modules.as_ref()?;
    if adapted(d).is_empty() {
        return None;
    }
    let mut named = targets.named().iter();
    let lost = named.find(|target| !target.is_anywhere(&d.args, &d.layers))?;
    let message = format!(
        "no linear layer is called {}; this model has {}",
        lost.given,
        names_of(present(&d.args, &d.layers))
    );
    let rest = targets.named().iter().filter(|target| target.given != lost.given);
    let rest: Vec<&str> = rest.map(|target| target.given.as_str()).collect();
    Some(Problem::warning(&[TARGETS], message).fix(TARGETS, Value::Text(rest.join(", "))))
}

fn names_of(modules: LinearModules) -> String {
    let mut names: Vec<&str> = modules.iter().map(LinearModule::name).collect();
    names.sort_unstable();
    names.dedup();
    names.join(", ")
}

/// The first matrix of an adapter is split by its rows, except beside row-parallel layers (`ColumnParallelLinear`).
fn rank_and_tp(d: &Draft<'_>) -> Option<Problem> {
    let a = &d.args;
    let ranks = |module: LinearModule| if module.is_expert() { d.etp } else { d.tp };
    let rank = |module: LinearModule| {
        if module.is_expert() && a.peft_normalize_moe_lora {
            0
        } else {
            a.peft_dim
        }
    };
    let broken = |module: LinearModule| !module.is_row_parallel() && !rank(module).is_multiple_of(ranks(module));
    let module = first(d, broken)?;
    let (field, size) = if module.is_expert() {
        (F::expert_tensor_parallel_size, d.etp)
    } else {
        (F::tensor_model_parallel_size, d.tp)
    };
    let message = format!(
        "peft_dim {} must be a multiple of {} {size}: ranks split the first matrix of {}",
        a.peft_dim,
        field.field().name,
        module.name()
    );
    let near = near_multiples(a.peft_dim, size);
    Some(Problem::error(&[F::peft_dim, field], message).fix_each(F::peft_dim, &near))
}

/// The second matrix is split by its rows, also beside layers that every rank has in full.
fn outputs_and_tp(d: &Draft<'_>) -> Option<Problem> {
    let a = &d.args;
    let rows = |module: LinearModule| match module {
        LinearModule::LinearQDownProj => a.q_lora_rank.unwrap_or(0),
        LinearModule::LinearKvDownProj => a.kv_lora_rank.saturating_add(a.qk_pos_emb_head_dim),
        LinearModule::Fc1LatentProj => a.moe_latent_size.unwrap_or(0),
        LinearModule::Router => a.num_experts.unwrap_or(0),
        _ => 0,
    };
    let module = first(d, |module| !rows(module).is_multiple_of(d.tp))?;
    let message = format!(
        "{} rows of {} cannot be split over tensor_model_parallel_size {} for its adapter",
        rows(module),
        module.name(),
        d.tp
    );
    let field = F::tensor_model_parallel_size;
    let near = d.near_tp(&|tp| rows(module).is_multiple_of(tp));
    Some(Problem::error(&[field, TARGETS], message).fix_each(field, &near))
}

/// `get_effective_lora_dim`.
fn rank_and_topk(d: &Draft<'_>) -> Option<Problem> {
    let a = &d.args;
    let topk = a.moe_router_topk.max(1);
    let used = a.peft_normalize_moe_lora && a.peft_type != AdapterType::Dora;
    let experts = used.then(|| first(d, LinearModule::is_expert)).flatten();
    (experts.is_some() && !a.peft_dim.is_multiple_of(topk)).then(|| {
        let message = format!(
            "peft_normalize_moe_lora divides peft_dim {} by moe_router_topk {topk}; it must be a multiple",
            a.peft_dim
        );
        let fields = [F::peft_dim, F::peft_normalize_moe_lora, F::moe_router_topk];
        Problem::error(&fields, message)
            .fix_each(F::peft_dim, &near_multiples(a.peft_dim, topk))
            .fix(F::peft_normalize_moe_lora, Off)
    })
}

/// Its matrices are split where the weight is not.
fn dora_whole_layers(d: &Draft<'_>) -> Option<Problem> {
    let dora = d.args.peft_type == AdapterType::Dora && d.tp > 1;
    let whole = |module| {
        matches!(
            module,
            LinearModule::LinearQDownProj
                | LinearModule::LinearKvDownProj
                | LinearModule::Router
                | LinearModule::Fc1LatentProj
                | LinearModule::Fc2LatentProj
        )
    };
    let module = dora.then(|| first(d, whole)).flatten()?;
    let message = format!(
        "dora cannot adapt {} with tensor parallelism: every rank has its weight in full",
        module.name()
    );
    Some(
        Problem::error(&[KIND, TARGETS, F::tensor_model_parallel_size], message)
            .fix(KIND, Name(AdapterType::Lora.name())),
    )
}

//! Weights, gradients and optimizer states in less memory, and settings that cost nothing.

use super::{change, named, on, with_switched_on};
use crate::config::choices::{MainGradsDtype, MainParamsDtype, MomentDtype, OptimizerKind};
use crate::config::field::Decimal;
use crate::config::fields::FieldId as F;
use crate::config::job::{Module, Precision};
use crate::fit::cost::{ChangeKind, Cost};
use crate::fit::offer::Change;
use crate::value::Value;

/// Settings that cost nothing: one by one, in pairs, and all together.
pub(super) fn free(m: &Module) -> Vec<Change> {
    let a = m.args();
    let mut settings: Vec<(String, Vec<(F, Value)>)> = Vec::new();
    let adam = a.optimizer == OptimizerKind::Adam;
    if !a.use_distributed_optimizer && !a.use_megatron_fsdp && adam {
        settings.push((
            "distributed optimizer".to_owned(),
            vec![on(F::use_distributed_optimizer)],
        ));
    }
    if !a.sequence_parallel && m.tp > 1 {
        settings.push(("sequence parallel".to_owned(), vec![on(F::sequence_parallel)]));
    }
    if !a.cross_entropy_loss_fusion {
        settings.push(("fused cross-entropy".to_owned(), vec![on(F::cross_entropy_loss_fusion)]));
    }
    settings.extend(growing_segments(m));
    if a.create_attention_mask_in_dataloader {
        let off = (F::create_attention_mask_in_dataloader, Value::Bool(false));
        settings.push(("no mask from the data loader".to_owned(), vec![off]));
    }
    if m.moe.is_some() && !a.moe_permute_fusion {
        settings.push(("fused permutation".to_owned(), vec![on(F::moe_permute_fusion)]));
    }
    let whole = a.main_params_dtype == MainParamsDtype::Fp32;
    if adam && whole && m.precision == Precision::Bf16 && !a.use_megatron_fsdp {
        // The main parameter is the bf16 parameter and 16 more bits: no bit is lost.
        let lossless = vec![
            on(F::use_distributed_optimizer),
            on(F::use_precision_aware_optimizer),
            named(F::main_params_dtype, MainParamsDtype::Fp16.name()),
        ];
        let label = format!("main params as bf16 plus 16 bits{}", with_switched_on(m, &lossless));
        settings.push((label, lossless));
    }
    let mut changes: Vec<Change> = settings.iter().map(|one| together(&[one])).collect();
    for (at, first) in settings.iter().enumerate() {
        let others = settings.iter().skip(at + 1);
        changes.extend(others.map(|second| together(&[first, second])));
    }
    if settings.len() > 2 {
        changes.push(together(&settings.iter().collect::<Vec<_>>()));
    }
    changes
}

/// Segments that grow, where a module has none.
fn growing_segments(m: &Module) -> Option<(String, Vec<(F, Value)>)> {
    let settings = vec![on(F::expandable_segments)];
    (!m.args().expandable_segments).then(|| ("expandable segments".to_owned(), settings))
}

/// Several settings that cost nothing as one change.
fn together(settings: &[&(String, Vec<(F, Value)>)]) -> Change {
    let labels: Vec<&str> = settings.iter().map(|(label, _)| label.as_str()).collect();
    let mut all: Vec<(F, Value)> = Vec::new();
    for (field, value) in settings.iter().flat_map(|(_, settings)| settings) {
        if all.iter().all(|(known, _)| known != field) {
            all.push((*field, value.clone()));
        }
    }
    change(ChangeKind::Free, labels.join(" + "), Cost::Nothing, all)
}

/// Megatron FSDP, which splits everything over data-parallel ranks.
pub(super) fn fsdp(m: &Module) -> Vec<Change> {
    if m.args().use_megatron_fsdp || m.pp > 1 || m.dp * m.cp < 2 {
        return Vec::new();
    }
    let settings = [
        on(F::use_megatron_fsdp),
        on(F::use_distributed_optimizer),
        (F::data_parallel_sharding_strategy, Value::Null),
        (F::gradient_accumulation_fusion, Value::Bool(false)),
    ];
    let mut label = format!("Megatron FSDP{}", with_switched_on(m, &settings));
    if m.args().gradient_accumulation_fusion {
        label.push_str(", without gradient accumulation fusion");
    }
    vec![change(ChangeKind::Fsdp, label, Cost::Gathers, settings)]
}

/// Gradients and moments in every combination of dtypes that are smaller than those of the job.
pub(super) fn precision(m: &Module) -> Vec<Change> {
    let a = m.args();
    if a.optimizer != OptimizerKind::Adam || m.precision != Precision::Bf16 || a.use_megatron_fsdp {
        return Vec::new();
    }
    let grads = [MainGradsDtype::Fp32, MainGradsDtype::Bf16];
    let moments = [MomentDtype::Fp32, MomentDtype::Bf16, MomentDtype::Fp8];
    let mut changes = Vec::new();
    for grad in grads {
        for exp_avg in moments {
            for exp_avg_sq in moments {
                let now = [
                    a.main_grads_dtype.bytes(),
                    a.exp_avg_dtype.bytes(),
                    a.exp_avg_sq_dtype.bytes(),
                ];
                let then = [grad.bytes(), exp_avg.bytes(), exp_avg_sq.bytes()];
                let grows = now.iter().zip(then).any(|(now, then)| then > *now);
                if grows || now == then {
                    continue;
                }
                let lost = now.iter().sum::<u64>() - then.iter().sum::<u64>();
                let mut settings = vec![on(F::use_distributed_optimizer), on(F::use_precision_aware_optimizer)];
                let mut labels = Vec::new();
                let fields = [
                    (F::main_grads_dtype, grad.name(), "main grads"),
                    (F::exp_avg_dtype, exp_avg.name(), "exp_avg"),
                    (F::exp_avg_sq_dtype, exp_avg_sq.name(), "exp_avg_sq"),
                ];
                for ((field, name, label), (now, then)) in fields.into_iter().zip(now.into_iter().zip(then)) {
                    if then < now {
                        settings.push(named(field, name));
                        labels.push(format!("{label} in {name}"));
                    }
                }
                let label = labels.join(" + ") + &with_switched_on(m, &settings);
                changes.push(change(ChangeKind::Precision, label, Cost::LostBytes(lost), settings));
            }
        }
    }
    changes
}

/// Optimizer states in host memory, in steps of 5 percent.
pub(super) fn optimizer_offload(m: &Module) -> Vec<Change> {
    let a = m.args();
    if a.optimizer_cpu_offload || a.use_megatron_fsdp || a.optimizer != OptimizerKind::Adam {
        return Vec::new();
    }
    (1..=20).map(|part| on_host(m, part * 5)).collect()
}

/// Less of the optimizer states in host memory than now, in steps of 5 percent, or nothing.
pub(super) fn less_optimizer_offload(m: &Module) -> Vec<Change> {
    let a = m.args();
    if !a.optimizer_cpu_offload {
        return Vec::new();
    }
    let Decimal(now) = a.optimizer_offload_fraction;
    let fewer = (1..=20).map(|part| part * 5);
    let fewer = fewer.take_while(|percent| percent * 10_000 < now);
    let mut changes: Vec<Change> = fewer.map(|percent| on_host(m, percent)).collect();
    let settings = [
        (F::optimizer_cpu_offload, Value::Bool(false)),
        (F::optimizer_offload_fraction, Value::Null),
    ];
    changes.push(change(
        ChangeKind::OptimizerOffload,
        "the whole optimizer on the GPU",
        Cost::OnHost(0),
        settings,
    ));
    changes
}

/// The change that keeps `percent` percent of the optimizer states in host memory.
fn on_host(m: &Module, percent: u64) -> Change {
    let part = format!("{}.{:02}", percent / 100, percent % 100);
    let settings = [
        on(F::use_distributed_optimizer),
        on(F::use_precision_aware_optimizer),
        on(F::optimizer_cpu_offload),
        (F::optimizer_offload_fraction, Value::Text(part)),
    ];
    let label = format!(
        "{percent} % of the optimizer on the host{}",
        with_switched_on(m, &settings)
    );
    change(ChangeKind::OptimizerOffload, label, Cost::OnHost(percent), settings)
}

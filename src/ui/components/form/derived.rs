//! Derived values of a section, shown next to the fields that they follow from.

use crate::state::State;
use leptos::prelude::*;
use megatron_memory::config::field::Group;
use megatron_memory::config::hybrid_pattern::{HybridPattern, LayerSymbol};
use megatron_memory::config::job::Module;
use megatron_memory::parallel::stages::Chunk;
use megatron_memory::report::amount::{grouped, parameters};

/// The derived values of a group, a chip each.
#[component]
pub fn DerivedChips(group: Group) -> impl IntoView {
    let state = expect_context::<State>();
    let chips = Memo::new(move |_| {
        let outcome = state.outcome.read();
        let module = outcome.as_ref().and_then(|o| o.module(state.form.module.get()));
        module.map(|module| chips(group, module)).unwrap_or_default()
    });
    let entries = move || {
        let chips = chips.get().into_iter().map(|(name, value)| {
            view! {
                <div class="chip">
                    <dt>{name}</dt>
                    <dd>{value}</dd>
                </div>
            }
        });
        chips.collect_view()
    };
    view! {
        <dl
            class="chips"
            id=format!("chips-{}", group as usize)
            aria-label="Derived"
            hidden=move || chips.read().is_empty()
        >
            {entries}
        </dl>
    }
}

/// A name and a value.
type Chip = (&'static str, String);

fn chips(group: Group, module: &Module) -> Vec<Chip> {
    let d = module.derived();
    let args = module.args();
    let moe = d.experts_per_rank > 0;
    match group {
        Group::Model => {
            let padded = format!("{} (+{})", grouped(d.padded_vocab_size), grouped(d.vocab_padding));
            let layers = module.hybrid().map(|pattern| ("layers", kinds(pattern)));
            let vocabulary = [("padded vocabulary", padded)];
            vocabulary.into_iter().chain(layers).collect()
        }
        Group::Moe if moe => vec![("experts on a rank", d.experts_per_rank.to_string())],
        Group::Parallelism => {
            let mut chips = vec![("DP", grouped(d.data_parallel_size))];
            if moe {
                chips.push(("EDP", grouped(d.expert_data_parallel_size)));
                chips.push(("experts on a rank", d.experts_per_rank.to_string()));
            }
            chips.extend(layers(module));
            chips
        }
        Group::Batch => {
            let tokens = match module.packing() {
                Some(packing) => {
                    let batch = packing.average().unwrap_or(packing.batch());
                    let ranks = d.num_microbatches.saturating_mul(d.data_parallel_size);
                    ranks.saturating_mul(batch.tokens)
                }
                None => d.global_batch_size.saturating_mul(args.seq_length),
            };
            vec![
                ("micro batches", grouped(d.num_microbatches)),
                ("tokens in a step", parameters(tokens)),
            ]
        }
        _ => Vec::new(),
    }
}

/// The layers of a pattern by kind, such as `52: 24 Mamba, 24 MLP, 4 attention`.
fn kinds(pattern: &HybridPattern) -> String {
    let count = |symbol: LayerSymbol| pattern.layers().filter(|s| *s == symbol).count();
    let kinds = LayerSymbol::ALL.map(|symbol| (count(symbol), symbol.label()));
    let kinds = kinds.into_iter().filter(|(count, _)| *count > 0);
    let kinds: Vec<String> = kinds.map(|(count, label)| format!("{count} {label}")).collect();
    format!("{}: {}", pattern.layers().count(), kinds.join(", "))
}

/// How many layers a pipeline stage has, or a chunk where stages have several.
fn layers(module: &Module) -> Option<Chip> {
    let layers = module.stages.chunks().iter().map(Chunk::num_layers);
    let (least, most) = (layers.clone().min()?, layers.max()?);
    let name = if module.derived().virtual_pipeline_model_parallel_size > 1 {
        "layers in a chunk"
    } else {
        "layers in a stage"
    };
    let range = if least == most {
        most.to_string()
    } else {
        format!("{least} to {most}")
    };
    Some((name, range))
}

//! From a raw job to a checked one, or to the list of everything that is wrong with it.

use super::choices::{OptimizerKind, RecomputeGranularity, RecomputeModule};
use super::ends::{Boundary, Ends, Language, Place, connect, knows_tokens};
use super::field::{Decimal, Default, Kind, Scope};
use super::fields::{Args, FieldId};
use super::gpus;
use super::job::{Activation, Config, Module, Moe, Precision};
use super::mend::mend;
use super::parse::{Parsed, parse};
use super::pattern::LayerPattern;
use super::problem::{Fix, Problem, Severity, near_matches};
use super::raw::RawJob;
use super::rules;
use super::spans::{Span, spans};
use crate::parallel::mimo::LANGUAGE_MODULE;
use crate::parallel::stages::StageLayout;
use crate::units::Bytes;
use crate::words::Gaps;

/// What checking a job gave.
#[derive(Clone, Debug, Default)]
pub struct Checked {
    /// The job, when nothing is wrong with it.
    pub config: Option<Config>,
    /// Errors and warnings, in the order of modules and rules.
    pub problems: Vec<Problem>,
}

impl Checked {
    /// The problems that keep the job from running.
    pub fn errors(&self) -> impl Iterator<Item = &Problem> {
        self.problems
            .iter()
            .filter(|p| p.severity == Severity::Error)
    }

    /// The problems that do not.
    pub fn warnings(&self) -> impl Iterator<Item = &Problem> {
        self.problems
            .iter()
            .filter(|p| p.severity == Severity::Warning)
    }
}

/// Checks a raw job: every field on its own, then every rule over several fields. All problems are
/// reported at once; rules over a field that cannot be read are left out.
#[must_use]
pub fn check(raw: &RawJob) -> Checked {
    let mut checked = examine(raw);
    if checked.config.is_none() {
        mend(raw, &mut checked.problems);
    }
    checked
}

/// The same, with no more ways out than rules know themselves.
pub(super) fn examine(raw: &RawJob) -> Checked {
    let mut problems = Vec::new();
    unknown_keys(raw, &mut problems);
    values_of_the_job(raw, &mut problems);
    let mut modules = Vec::new();
    let mut world_size = 1;
    let spans = spans(raw, &mut problems);
    let language = Language::of(raw, &spans);
    for (index, span) in spans.iter().enumerate() {
        let name = raw
            .modules
            .get(index)
            .map_or(LANGUAGE_MODULE, |m| m.name.as_str());
        let (mut args, bad) = read_args(raw, index, &mut problems);
        // `validate_args` takes none for a dense model.
        args.num_experts = args.num_experts.filter(|experts| *experts > 0);
        let place = Place::new(name, raw, index, &language);
        let ends = place.adapt(&mut args, span.as_ref());
        let mut found = Vec::new();
        let draft = Draft::new(&place, ends, args, span.as_ref());
        rules::apply(&draft, &mut found);
        let stages = rules::stages(&draft, &mut found);
        found.retain(|p| !p.fields.iter().any(|f| bad.contains(f)));
        let failed = span.as_ref().is_some_and(|span| span.refused)
            || !bad.is_empty()
            || found.iter().any(|p| p.severity == Severity::Error);
        problems.extend(found);
        world_size = world_size.max(draft.rank_offset + draft.world_size);
        if let (false, Some(stages)) = (failed, stages) {
            modules.push(draft.finish(name.to_owned(), stages));
        }
    }
    connect(&mut modules);
    let gpu_memory = gpu_memory(raw, &mut problems);
    let refused = problems.iter().any(|p| p.severity == Severity::Error);
    let config = (!refused && modules.len() == raw.module_count()).then_some(Config {
        world_size,
        gpu_memory,
        modules,
    });
    Checked { config, problems }
}

/// The memory that was typed, or else the chosen GPU's.
fn gpu_memory(raw: &RawJob, problems: &mut Vec<Problem>) -> Option<Bytes> {
    let read = |field: FieldId| parse(field.field(), raw.shared.get(field)?).ok().flatten();
    if let Some(Parsed::Int(mib)) = read(FieldId::gpu_memory_mib) {
        return Some(Bytes::mib(mib));
    }
    let Some(Parsed::Text(id)) = read(FieldId::gpu) else {
        return None;
    };
    let gpu = gpus::by_id(&id);
    if gpu.is_none() {
        let ids: Vec<&str> = gpus::GPUS.iter().map(|gpu| gpu.id).collect();
        let ids = ids.join(", ");
        let mut gaps = Gaps::default();
        let sentence = "gpu knows no “{}”; use one of {}, or give gpu_memory_mib";
        let message = gaps.text(&id).text(&ids).fill(sentence);
        problems.push(Problem::warning(0, "gpu", &[FieldId::gpu], message));
    }
    gpu.map(|gpu| Bytes(gpu.memory_bytes()))
}

fn unknown_keys(raw: &RawJob, problems: &mut Vec<Problem>) {
    for (key, _) in raw.unknown.iter().take(100) {
        if key == "modules" {
            let message = "modules must be a list of modules, one of them called language; leave it out where there is one model".to_owned();
            problems.push(Problem::error(0, "modules", &[], message));
            continue;
        }
        let mut gaps = Gaps::default();
        let shown: String = key.chars().take(80).collect();
        gaps.text(&shown);
        let message = match nearest_name(key) {
            Some(name) => gaps
                .text(name)
                .fill("{} is not a field of this calculator and is ignored; did you mean {}?"),
            None => gaps.fill("{} is not a field of this calculator and is ignored"),
        };
        problems.push(Problem::warning(0, "unknown_key", &[], message));
    }
}

/// What has one value for all modules, and got another one with a module.
fn values_of_the_job(raw: &RawJob, problems: &mut Vec<Problem>) {
    for (index, module) in raw.modules.iter().enumerate() {
        for (id, value) in module.settings.iter() {
            let field = id.field();
            if field.scope == Scope::Module {
                continue;
            }
            let name = field.name;
            let message =
                format!("{name} has one value for the whole job; give it beside the modules");
            let mut problem = Problem::error(index, "value_of_the_job", &[id], message);
            problem.fixes.push(Fix {
                field: id,
                value: value.clone(),
            });
            problems.push(problem);
        }
    }
}

/// The field name that shares the longest beginning or end with `key`, when it shares most of it.
fn nearest_name(key: &str) -> Option<&'static str> {
    let key = key.replace('-', "_");
    let mut nearest = (0, "");
    for id in FieldId::ALL {
        let name = id.field().name;
        let shared = shared(name.as_bytes(), key.as_bytes());
        let (most, best) = nearest;
        if shared > most || (shared == most && name.len() <= best.len()) {
            nearest = (shared, name);
        }
    }
    let (shared, name) = nearest;
    let most = shared > 0 && shared * 4 >= key.len().max(name.len()) * 3;
    most.then_some(name)
}

/// How many bytes two texts share at the beginning and at the end.
fn shared(name: &[u8], key: &[u8]) -> usize {
    let same = |(a, b): &(&u8, &u8)| a == b;
    let head = name.iter().zip(key).take_while(same).count();
    let both = name.iter().rev().zip(key.iter().rev());
    (head + both.take_while(same).count()).min(name.len())
}

/// Reads every field of one module; the second result lists the fields that could not be read.
fn read_args(raw: &RawJob, module: usize, problems: &mut Vec<Problem>) -> (Args, Vec<FieldId>) {
    let mut bad = Vec::new();
    let mut values = Vec::with_capacity(FieldId::ALL.len());
    for id in FieldId::ALL {
        let field = id.field();
        let given = raw
            .get(module, *id)
            .map_or(Ok(None), |value| parse(field, value));
        let problem = match &given {
            Err(error) => Some(("value", format!("{} {error}", field.name))),
            Ok(None) if *id == FieldId::seq_length && knows_tokens(raw, module) => None,
            Ok(None) if field.default == Default::Required => {
                Some(("required", format!("{} must be given", field.name)))
            }
            Ok(_) => None,
        };
        if let Some((rule, message)) = problem {
            bad.push(*id);
            problems.push(Problem::error(module, rule, &[*id], message));
        }
        values.push(
            given
                .ok()
                .flatten()
                .or_else(|| default(field.kind, field.default)),
        );
    }
    (Args::from_values(&values), bad)
}

pub(super) fn default(kind: Kind, default: Default) -> Option<Parsed> {
    let position = |names: &[&str], name: &str| {
        names
            .iter()
            .position(|n| *n == name)
            .and_then(|i| u8::try_from(i).ok())
    };
    match (kind, default) {
        (Kind::LayerPattern, Default::Int(n)) => Some(Parsed::Pattern(LayerPattern::Every(n))),
        (_, Default::Int(i)) => Some(Parsed::Int(i)),
        (_, Default::Flag(b)) => Some(Parsed::Flag(b)),
        (_, Default::Decimal(d)) => Some(Parsed::Decimal(Decimal(d))),
        (Kind::Choice(names), Default::Choice(name)) => position(names, name).map(Parsed::Choice),
        (Kind::Set(names), Default::Set(list)) => {
            let bits = list.split(',').filter_map(|name| position(names, name));
            Some(Parsed::Set(bits.fold(0, |set, bit| set | 1 << bit)))
        }
        _ => None,
    }
}

/// One module's arguments with everything that follows from them, before the rules have been asked.
pub(super) struct Draft<'a> {
    pub(super) module: usize,
    pub(super) place: &'a Place<'a>,
    pub(super) ends: Ends,
    pub(super) a: Args,
    pub(super) tp: u64,
    pub(super) pp: u64,
    pub(super) cp: u64,
    pub(super) ep: u64,
    pub(super) etp: u64,
    /// Ranks of one copy of the model.
    pub(super) copy: u64,
    pub(super) world_size: u64,
    pub(super) rank_offset: u64,
    pub(super) dp: u64,
    pub(super) edp: u64,
    pub(super) activation: Activation,
    pub(super) ffn_hidden_size: u64,
    pub(super) kv_channels: u64,
    pub(super) num_query_groups: u64,
    pub(super) padded_vocab_size: u64,
    pub(super) mtp_num_layers: u64,
    pub(super) global_batch_size: u64,
    pub(super) num_microbatches: u64,
}

impl<'a> Draft<'a> {
    fn new(place: &'a Place<'a>, ends: Ends, a: Args, span: Option<&Span>) -> Self {
        let tp = a.tensor_model_parallel_size;
        let pp = a.pipeline_model_parallel_size;
        let cp = a.context_parallel_size;
        let ep = a.expert_model_parallel_size;
        let etp = a
            .expert_tensor_parallel_size
            .unwrap_or_else(|| span.map_or(tp, |span| span.default_etp(tp)));
        let copy = tp.saturating_mul(pp).saturating_mul(cp);
        // Rules over the world look at the ranks of this module.
        let world_size = match span {
            Some(span) if span.ranks > 0 => span.ranks,
            _ => a
                .world_size
                .unwrap_or_else(|| copy.saturating_mul(a.data_parallel_size.unwrap_or(1))),
        };
        let dp = (world_size / copy).max(1);
        let expert_copy = etp.saturating_mul(ep).saturating_mul(pp);
        let global_batch_size = a.global_batch_size.unwrap_or_else(|| place.samples(&a, dp));
        let multiple = a.make_vocab_size_divisible_by.saturating_mul(tp);
        let padded = a
            .vocab_size
            .map_or(1, |v| v.div_ceil(multiple).saturating_mul(multiple));
        Self {
            module: place.module,
            place,
            ends,
            tp,
            pp,
            cp,
            ep,
            etp,
            copy,
            world_size,
            rank_offset: span.map_or(0, |span| span.offset),
            dp,
            edp: (world_size / expert_copy).max(1),
            activation: activation(&a),
            ffn_hidden_size: a.ffn_hidden_size.unwrap_or_else(|| default_ffn(&a)),
            kv_channels: a
                .kv_channels
                .unwrap_or_else(|| (a.hidden_size / a.num_attention_heads).max(1)),
            num_query_groups: if a.group_query_attention {
                a.num_query_groups
            } else {
                a.num_attention_heads
            },
            padded_vocab_size: a.padded_vocab_size.unwrap_or(padded),
            mtp_num_layers: a.mtp_num_layers.unwrap_or(0),
            global_batch_size,
            num_microbatches: (global_batch_size / place.samples(&a, dp)).max(1),
            a,
        }
    }

    fn finish(mut self, name: String, stages: StageLayout) -> Module {
        self.ends.count_items(&mut self.a);
        let a = &self.a;
        let moe = a.num_experts.map(|num_experts| Moe {
            num_experts,
            topk: a.moe_router_topk,
            ffn_hidden_size: a.moe_ffn_hidden_size.unwrap_or(self.ffn_hidden_size),
            shared: a.moe_shared_expert_intermediate_size.unwrap_or(0),
            layer_freq: a.moe_layer_freq.clone(),
            load_imbalance: a.expert_load_imbalance,
        });
        Module {
            name,
            rank_offset: self.rank_offset,
            tp: self.tp,
            pp: self.pp,
            cp: self.cp,
            ep: self.ep,
            etp: self.etp,
            dp: self.dp,
            edp: self.edp,
            sequence_parallel: a.sequence_parallel && self.tp > 1,
            ffn_hidden_size: self.ffn_hidden_size,
            activation: self.activation,
            kv_channels: self.kv_channels,
            num_query_groups: self.num_query_groups,
            vocab_size: a.vocab_size,
            padded_vocab_size: self.padded_vocab_size,
            max_position_embeddings: a.max_position_embeddings.unwrap_or(a.seq_length),
            ends: self.ends,
            boundary: Boundary::default(),
            moe,
            mtp_num_layers: self.mtp_num_layers,
            global_batch_size: self.global_batch_size,
            num_microbatches: self.num_microbatches,
            stages,
            whole_sequences: self.place.colocated && !self.ends.is_language(),
            precision: match (a.bf16, a.fp16) {
                (true, _) => Precision::Bf16,
                (false, true) => Precision::Fp16,
                (false, false) => Precision::Fp32,
            },
            args: self.a,
        }
    }

    /// Reports an error about `fields`; what it returns takes the changes that would mend it.
    pub(super) fn error<'p>(
        &self,
        problems: &'p mut Vec<Problem>,
        rule: &'static str,
        fields: &[FieldId],
        message: String,
    ) -> &'p mut Problem {
        problems.push_mut(Problem::error(self.module, rule, fields, message))
    }

    /// Sizes near the current TP that the test accepts.
    pub(super) fn near_tp(&self, test: &dyn Fn(u64) -> bool) -> Vec<u64> {
        near_matches(self.tp, self.a.num_attention_heads.max(self.tp), 3, &|tp| {
            self.a.num_attention_heads.is_multiple_of(tp) && test(tp)
        })
    }

    /// Whether the ranks hold a whole number of copies of the model.
    pub(super) fn has_whole_copies(&self) -> bool {
        self.world_size.is_multiple_of(self.copy)
    }

    /// Whether context-parallel ranks split sequences: an encoder on the language model's own ranks has whole
    /// ones on each of them.
    pub(super) fn splits_sequences(&self) -> bool {
        self.cp > 1 && (self.ends.is_language() || !self.place.colocated)
    }

    /// Whether full recompute is asked for.
    pub(super) fn full_recompute(&self) -> bool {
        self.a.recompute_granularity == Some(RecomputeGranularity::Full)
    }

    /// Whether selective recompute is asked for.
    pub(super) fn selective_recompute(&self) -> bool {
        self.a.recompute_granularity == Some(RecomputeGranularity::Selective)
    }

    /// Whether selective recompute is asked for, of this module too.
    pub(super) fn recomputes(&self, module: RecomputeModule) -> bool {
        self.selective_recompute() && self.a.recompute_modules.contains(module)
    }

    /// Whether some way of asking for virtual stages is used.
    pub(super) fn interleaved(&self) -> bool {
        let several = |n: Option<u64>| n.is_some_and(|n| n > 1);
        several(self.a.virtual_pipeline_model_parallel_size)
            || self.a.num_layers_per_virtual_pipeline_stage.is_some()
            || several(self.a.num_virtual_stages_per_pipeline_rank)
    }

    /// Whether the optimizer is Adam.
    pub(super) fn adam(&self) -> bool {
        self.a.optimizer == OptimizerKind::Adam
    }
}

fn activation(a: &Args) -> Activation {
    match (a.swiglu, a.quick_geglu, a.geglu, a.squared_relu) {
        (true, ..) => Activation::SwiGlu,
        (_, true, ..) => Activation::QuickGeGlu,
        (_, _, true, _) => Activation::GeGlu,
        (.., true) => Activation::SquaredRelu,
        _ => Activation::Gelu,
    }
}

/// Megatron-LM's width of an MLP that was given none (`validate_args`): 4·h, or with `SwiGLU` 8/3·h
/// rounded down to a multiple of 64.
fn default_ffn(a: &Args) -> u64 {
    let four = a.hidden_size.saturating_mul(4);
    if a.swiglu {
        (four.saturating_mul(2) / 3 / 64 * 64).max(64)
    } else {
        four
    }
}

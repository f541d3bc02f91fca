//! What a module gets in and gives out: the front end of an encoder, its tokens, and the projector
//! towards the language model.

use super::choices::{AttentionVariant, FrontEnd, PositionEmbedding, ProjectorKind};
use super::fields::{Args, FieldId};
use super::job::Module;
use super::parse::{Parsed, parse};
use super::raw::RawJob;
use super::spans::Span;
use crate::parallel::mimo::LANGUAGE_MODULE;
use crate::units::multiply;
use crate::value::Value;

/// Both ends of a module.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ends {
    /// What it starts with.
    pub(crate) front_end: FrontEnd,
    /// Rows of an encoder's position table; 0 without one.
    pub(crate) position_rows: u64,
    /// Tokens that one item, such as an image, has in the layers.
    pub(crate) tokens: u64,
    /// What it ends with, when it feeds the language model.
    pub(crate) projector: Option<Projector>,
}

/// The layers between an encoder and the language model.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Projector {
    /// Width of what it gets.
    pub(crate) input: u64,
    /// Width between its two layers; `None` when it has one layer.
    pub(crate) hidden: Option<u64>,
    /// Width of what it puts out.
    pub(crate) output: u64,
}

/// What other modules need to know about the language model.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Language {
    /// Its hidden size.
    pub(super) hidden_size: Option<u64>,
    /// Samples of a micro batch over all its data-parallel ranks.
    pub(super) samples: Option<u64>,
}

impl Language {
    /// The language model of a job of several modules, as far as it can be read.
    pub(super) fn of(raw: &RawJob, spans: &[Option<Span>]) -> Self {
        let index = raw
            .modules
            .iter()
            .position(|module| module.name == LANGUAGE_MODULE);
        let Some(index) = index else {
            return Self::default();
        };
        if raw.modules.len() < 2 {
            return Self::default();
        }
        let number = |field: FieldId| number(raw, index, field);
        let size = |field: FieldId| number(field).unwrap_or(1);
        let copy = multiply(
            multiply(
                size(FieldId::tensor_model_parallel_size),
                size(FieldId::pipeline_model_parallel_size),
            ),
            size(FieldId::context_parallel_size),
        );
        let ranks = spans
            .get(index)
            .and_then(Option::as_ref)
            .map(|span| span.ranks);
        let dp = ranks
            .filter(|ranks| *ranks > 0)
            .map(|ranks| (ranks / copy).max(1));
        Self {
            hidden_size: number(FieldId::hidden_size),
            samples: dp.map(|dp| multiply(dp, size(FieldId::micro_batch_size))),
        }
    }
}

/// A module among its siblings.
#[derive(Clone, Copy, Debug)]
pub(super) struct Place<'a> {
    /// Its place in the list of modules.
    pub(super) module: usize,
    /// Its name.
    pub(super) name: &'a str,
    /// The language model of the job.
    pub(super) language: &'a Language,
    /// The sequence length that the module itself states.
    pub(super) own_seq_length: Option<u64>,
    /// The micro batch that the module itself states.
    pub(super) own_micro_batch_size: Option<u64>,
    /// Whether all modules share all ranks.
    pub(super) colocated: bool,
    /// Whether the module says which layers have linear attention.
    pub(super) has_linear_freq: bool,
}

impl<'a> Place<'a> {
    /// The place of module `module`.
    pub(super) fn new(name: &'a str, raw: &RawJob, module: usize, language: &'a Language) -> Self {
        let own = |field: FieldId| {
            let value = raw.modules.get(module)?.settings.get(field)?;
            whole(field, value)
        };
        Self {
            module,
            name,
            language,
            own_seq_length: own(FieldId::seq_length),
            own_micro_batch_size: own(FieldId::micro_batch_size),
            colocated: raw.colocates(),
            has_linear_freq: raw
                .get(module, FieldId::linear_attention_freq)
                .is_some_and(|freq| *freq != Value::Null),
        }
    }

    /// Samples of the language model's micro batch, for modules that follow it.
    pub(super) fn followed_samples(&self) -> Option<u64> {
        self.language
            .samples
            .filter(|_| self.name != LANGUAGE_MODULE)
    }

    /// Samples of a micro batch over all data-parallel ranks.
    pub(super) fn samples(&self, a: &Args, dp: u64) -> u64 {
        self.followed_samples()
            .unwrap_or_else(|| multiply(a.micro_batch_size, dp))
            .max(1)
    }

    /// Fills in what follows from the module's place: the tokens of an item, and its ranks' share of the
    /// language model's micro batch (`encoder_mbs` in `examples/mimo/training/data.py`).
    pub(super) fn adapt(&self, a: &mut Args, span: Option<&Span>) -> Ends {
        let ends = Ends::new(a, self.name, self.language);
        a.seq_length = ends.tokens;
        let copy = multiply(
            multiply(a.tensor_model_parallel_size, a.pipeline_model_parallel_size),
            a.context_parallel_size,
        );
        let ranks = span.map_or(0, |span| span.ranks);
        if let (Some(samples), None, true) = (
            self.followed_samples(),
            self.own_micro_batch_size,
            ranks >= copy,
        ) {
            a.micro_batch_size = samples.div_ceil(ranks / copy);
        }
        ends
    }
}

/// Whether the tokens of a module's items follow from its images or sounds.
pub(super) fn knows_tokens(raw: &RawJob, module: usize) -> bool {
    let Some(front_end) = raw.get(module, FieldId::front_end) else {
        return false;
    };
    let given = |field| number(raw, module, field).is_some();
    match parse(FieldId::front_end.field(), front_end) {
        Ok(Some(Parsed::Choice(index))) => match FrontEnd::at(index) {
            Some(FrontEnd::Patches) => given(FieldId::img_h),
            Some(FrontEnd::Audio) => given(FieldId::num_position_embeddings),
            _ => false,
        },
        _ => false,
    }
}

/// The whole number that counts for a field of a module, where one can be read.
pub(super) fn number(raw: &RawJob, module: usize, field: FieldId) -> Option<u64> {
    whole(field, raw.get(module, field)?)
}

fn whole(field: FieldId, value: &Value) -> Option<u64> {
    match parse(field.field(), value) {
        Ok(Some(Parsed::Int(n))) => Some(n),
        _ => None,
    }
}

impl Ends {
    /// The ends of a module of this name.
    pub(super) fn new(a: &Args, name: &str, language: &Language) -> Self {
        let front_end = a.front_end.unwrap_or(if name == LANGUAGE_MODULE {
            FrontEnd::Tokens
        } else {
            FrontEnd::Features
        });
        let tokens = tokens(a, front_end).unwrap_or(a.seq_length);
        let learned = a.position_embedding_type == PositionEmbedding::LearnedAbsolute;
        let position_rows = match (front_end, a.num_position_embeddings) {
            (FrontEnd::Tokens, _) => 0,
            (_, Some(rows)) => rows,
            (FrontEnd::Patches | FrontEnd::Audio, None) if learned => tokens,
            _ => 0,
        };
        Self {
            front_end,
            position_rows,
            tokens,
            projector: projector(a, language),
        }
    }

    /// Has the micro batch count the items of the fullest one.
    pub(super) fn count_items(&self, a: &mut Args) {
        if !self.is_language() {
            let items = a.items_per_sample.scale_up(a.micro_batch_size);
            a.micro_batch_size = a.token_imbalance.scale_up(items).max(1);
        }
    }

    /// Whether the module has a word embedding and an output layer.
    #[must_use]
    pub fn is_language(&self) -> bool {
        self.front_end == FrontEnd::Tokens
    }
}

/// Tokens of one item where the front end says so.
///
/// `CLIPViTModel` counts the patches of the image and the class tokens. `WhisperEncoder` halves the
/// frames of the spectrum and has a position for each.
pub(super) fn tokens(a: &Args, front_end: FrontEnd) -> Option<u64> {
    match front_end {
        FrontEnd::Patches => {
            let height = a.img_h?;
            let width = a.img_w.unwrap_or(height);
            let patches = multiply(height / a.patch_dim, width / a.patch_dim);
            Some(patches.saturating_add(a.class_token_len).max(1))
        }
        FrontEnd::Audio => a.num_position_embeddings.filter(|rows| *rows > 0),
        FrontEnd::Tokens | FrontEnd::Features => None,
    }
}

fn projector(a: &Args, language: &Language) -> Option<Projector> {
    let merged = multiply(a.spatial_merge_size, a.spatial_merge_size);
    let output = a
        .projector_output_size
        .or(language.hidden_size)
        .unwrap_or(a.hidden_size);
    let hidden = match a.projector {
        ProjectorKind::None => return None,
        ProjectorKind::Affine => None,
        ProjectorKind::Mlp => Some(a.projector_hidden_size.unwrap_or(output)),
    };
    Some(Projector {
        input: a
            .projector_input_size
            .unwrap_or_else(|| multiply(a.hidden_size, merged)),
        hidden,
        output,
    })
}

/// Whether layer `index` (from 0) has linear attention (`get_linear_attention_pattern`).
pub(super) fn is_linear(a: &Args, index: u64) -> bool {
    use super::pattern::LayerPattern;
    let gated_delta_net = matches!(
        a.experimental_attention_variant,
        Some(AttentionVariant::GatedDeltaNet | AttentionVariant::Gdn)
    );
    gated_delta_net
        && match &a.linear_attention_freq {
            LayerPattern::Every(n) => !(index.saturating_add(1)).is_multiple_of((*n).max(1)),
            LayerPattern::List(_) => a.linear_attention_freq.is_moe(index),
        }
}

/// What passes between a module and others on each of its ranks, and where it stands in their pipeline.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Boundary {
    /// Bytes of a micro batch that the first stage gets from other modules on other ranks.
    pub(crate) received: u64,
    /// Bytes of a micro batch that the last stage sends to the language model.
    pub(crate) sent: u64,
    /// Pipeline stages of other modules before its first.
    pub(crate) stages_before: u64,
    /// Pipeline stages of the language model after its last.
    pub(crate) stages_after: u64,
}

/// Joins encoders to the language model: their outputs arrive at its first stage, and their stages come before
/// it in one pipeline as long as the longest path (`compute_total_pipeline_stages`).
pub(super) fn connect(modules: &mut [Module]) {
    let Some(language) = modules.iter().find(|m| m.name == LANGUAGE_MODULE) else {
        return;
    };
    let (first, ranks, pp, dp) = (
        language.rank_offset,
        language.ranks(),
        language.pp,
        language.dp,
    );
    let apart = |m: &Module| {
        m.name != LANGUAGE_MODULE
            && (m.rank_offset >= first.saturating_add(ranks)
                || first >= m.rank_offset.saturating_add(m.ranks()))
    };
    let before = modules.iter().filter(|m| apart(m)).map(|m| m.pp).max();
    let before = before.unwrap_or(0);
    let mut received = 0u64;
    for m in modules.iter_mut().filter(|m| apart(m)) {
        let sent = m.output_bytes();
        // What replicas of the encoder send is dealt out to the replicas of the language model.
        let share = u128::from(sent) * u128::from(m.dp) / u128::from(dp.max(1));
        received = received.saturating_add(u64::try_from(share).unwrap_or(u64::MAX));
        m.boundary.sent = sent;
        // A shorter path starts as early as the longest: more of its micro batches wait.
        m.boundary.stages_after = pp + before - m.pp;
    }
    for m in modules.iter_mut().filter(|m| m.name == LANGUAGE_MODULE) {
        m.boundary.received = received;
        m.boundary.stages_before = before;
    }
}

impl Module {
    /// Bytes of a micro batch that the module puts out on each of its ranks.
    fn output_bytes(&self) -> u64 {
        let a = &self.args;
        let class = if self.ends.front_end == FrontEnd::Patches {
            a.class_token_len
        } else {
            0
        };
        let merge = multiply(a.spatial_merge_size, a.spatial_merge_size);
        let tokens = (self.ends.tokens.saturating_sub(class).max(1) / merge.max(1)).max(1);
        let width = match self.ends.projector {
            Some(projector) => projector.output,
            None => multiply(a.hidden_size, merge),
        };
        multiply(
            multiply(multiply(tokens, a.micro_batch_size), width),
            self.precision.bytes(),
        )
    }
}

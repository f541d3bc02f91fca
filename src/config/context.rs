//! A module among the other modules of its job: what it inherits from them.

use super::choices::FrontEnd;
use super::fields::{Args, FieldId};
use super::hybrid_pattern::KnownPatterns;
use super::layers::KnownLayers;
use super::modality::ModuleIo;
use super::parse::{Parsed, parse};
use super::rank_ranges::RankRange;
use super::raw::RawJob;
use crate::parallel::mimo::LANGUAGE_MODULE;
use crate::parallel::stages::PipelineLayout;
use crate::value::Value;

/// What other modules need to know about the language model of a job of several modules.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct LanguageModel {
    /// Its hidden size; none where it cannot be read, or the job has one module.
    pub(super) hidden_size: Option<u64>,
    /// Samples of a micro batch over all its data-parallel ranks; none where its ranks are not known.
    pub(super) samples: Option<u64>,
}

impl LanguageModel {
    /// The language model of a job of several modules, as far as it can be read.
    pub(super) fn of(raw: &RawJob, ranges: &[Option<RankRange>]) -> Self {
        let mut modules = raw.modules.iter();
        match modules.position(|module| module.name == LANGUAGE_MODULE) {
            Some(index) => Self::at(index, ranges, |field| raw.number(index, field)),
            None => Self::default(),
        }
    }

    /// The language model at this index of the modules, whose fields have these numbers.
    pub(super) fn at(index: usize, ranges: &[Option<RankRange>], number: impl Fn(FieldId) -> Option<u64>) -> Self {
        if ranges.len() < 2 {
            return Self::default();
        }
        let size = |field: FieldId| number(field).unwrap_or(1);
        let copy = size(FieldId::tensor_model_parallel_size)
            .saturating_mul(size(FieldId::pipeline_model_parallel_size))
            .saturating_mul(size(FieldId::context_parallel_size));
        let range = ranges.get(index).and_then(Option::as_ref);
        let ranks = range.map(|range| range.ranks).filter(|ranks| *ranks > 0);
        let dp = ranks.map(|ranks| (ranks / copy).max(1));
        Self {
            hidden_size: number(FieldId::hidden_size),
            samples: dp.map(|dp| dp.saturating_mul(samples(number))),
        }
    }
}

/// Samples of a micro batch of a module whose fields have these numbers: those that are packed into it where it has a
/// budget of tokens.
fn samples(number: impl Fn(FieldId) -> Option<u64>) -> u64 {
    let cp = number(FieldId::context_parallel_size).unwrap_or(1);
    let Some(budget) = number(FieldId::max_seqlen_per_dp_cp_rank) else {
        return number(FieldId::micro_batch_size).unwrap_or(1);
    };
    let lengths = [
        FieldId::mean_sample_length,
        FieldId::longest_sample_length,
        FieldId::seq_length,
    ];
    let sample = lengths.into_iter().find_map(&number).unwrap_or(1);
    (budget.saturating_mul(cp) / sample.max(1)).max(1)
}

/// A module among the others of its job.
#[derive(Clone, Copy, Debug)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "independent facts about a module, each named where it is read"
)]
pub(super) struct ModuleContext<'a> {
    /// Its index in the list of modules.
    pub(super) module: usize,
    /// Its name.
    pub(super) name: &'a str,
    /// The language model of the job.
    pub(super) language: &'a LanguageModel,
    /// The sequence length that the module itself states.
    pub(super) own_seq_length: Option<u64>,
    /// The micro batch that the module itself states.
    pub(super) own_micro_batch_size: Option<u64>,
    /// The number of layers that the module itself states.
    pub(super) own_num_layers: Option<u64>,
    /// The number of MTP depths that the module itself states.
    pub(super) own_mtp_num_layers: Option<u64>,
    /// Whether all modules share all ranks.
    pub(super) colocated: bool,
    /// Whether the module says which layers have linear attention.
    pub(super) has_linear_freq: bool,
    /// Whether the module says how large a micro batch is.
    pub(super) states_micro_batch: bool,
    /// Whether the module says whether rotary embedding is fused.
    pub(super) states_rope_fusion: bool,
    /// The custom pipeline layout, where its text was read before.
    pub(super) pipeline_layout: Option<&'a PipelineLayout>,
    /// Patterns of hybrid models that were read before.
    pub(super) patterns: Option<&'a KnownPatterns>,
    /// The layers of a job that mostly has the same.
    pub(super) layers: Option<&'a KnownLayers>,
}

impl<'a> ModuleContext<'a> {
    /// The context of the module at index `module`.
    pub(super) fn new(name: &'a str, raw: &RawJob, module: usize, language: &'a LanguageModel) -> Self {
        let own = |field: FieldId| {
            let value = raw.modules.get(module)?.settings.get(field)?;
            match parse(field.field(), value) {
                Ok(Some(Parsed::Int(n))) => Some(n),
                _ => None,
            }
        };
        let given = |field| raw.get(module, field).is_some_and(|v| *v != Value::Null);
        let stated = |field: FieldId| raw.number(module, field);
        Self {
            module,
            name,
            language,
            own_num_layers: stated(FieldId::num_layers),
            own_mtp_num_layers: stated(FieldId::mtp_num_layers),
            own_seq_length: own(FieldId::seq_length),
            own_micro_batch_size: own(FieldId::micro_batch_size),
            colocated: raw.colocates(),
            has_linear_freq: given(FieldId::linear_attention_freq),
            states_micro_batch: given(FieldId::micro_batch_size),
            states_rope_fusion: given(FieldId::apply_rope_fusion),
            pipeline_layout: None,
            patterns: None,
            layers: None,
        }
    }

    /// Samples of the language model's micro batch, for every module but the language model itself.
    pub(super) fn followed_samples(&self) -> Option<u64> {
        self.language.samples.filter(|_| self.name != LANGUAGE_MODULE)
    }

    /// Samples of a micro batch over all data-parallel ranks; at least 1.
    pub(super) fn samples(&self, a: &Args, dp: u64) -> u64 {
        self.followed_samples()
            .unwrap_or_else(|| a.micro_batch_size.saturating_mul(dp))
            .max(1)
    }

    /// Fills in the arguments that follow from the other modules: the tokens of an item, and the share that the
    /// module's ranks have of the language model's micro batch (`encoder_mbs` in `examples/mimo/training/data.py`).
    pub(super) fn complete(&self, a: &mut Args, range: Option<&RankRange>) -> ModuleIo {
        let front_end = if self.name == LANGUAGE_MODULE {
            FrontEnd::Tokens
        } else {
            FrontEnd::Features
        };
        let io = ModuleIo::new(a, front_end, self.language.hidden_size);
        a.seq_length = io.tokens;
        let copy = a
            .tensor_model_parallel_size
            .saturating_mul(a.pipeline_model_parallel_size)
            .saturating_mul(a.context_parallel_size);
        let ranks = range.map_or(0, |range| range.ranks);
        if let Some(samples) = self.followed_samples()
            && self.own_micro_batch_size.is_none()
            && ranks >= copy
        {
            a.micro_batch_size = samples.div_ceil(ranks / copy);
        }
        io
    }
}

/// Whether the tokens of a module's items follow from its images or sounds, so that it needs no sequence length.
pub(super) fn knows_item_tokens(raw: &RawJob, module: usize) -> bool {
    let Some(front_end) = raw.get(module, FieldId::front_end) else {
        return false;
    };
    let Ok(Some(Parsed::Choice(index))) = parse(FieldId::front_end.field(), front_end) else {
        return false;
    };
    let sizes: &[FieldId] = match FrontEnd::at(index) {
        Some(FrontEnd::Patches) => &[FieldId::img_h, FieldId::image_tokens_per_sample],
        Some(FrontEnd::Audio) => &[FieldId::num_position_embeddings, FieldId::audio_tokens_per_sample],
        _ => return false,
    };
    let mut sizes = sizes.iter();
    sizes.any(|size| raw.number(module, *size).is_some())
}

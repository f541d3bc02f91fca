//! A job whose fields are read once, for the checks of many jobs that differ from it in few fields.

use super::context::{LanguageModel, ModuleContext};
use super::draft::Draft;
use super::fields::{Args, FieldId};
use super::gpus::GpuMemory;
use super::hybrid_pattern::KnownPatterns;
use super::job::{Config, Module};
use super::layers::KnownLayers;
use super::module_links::connect;
use super::not_modelled;
use super::parse::{Parsed, default_value};
use super::problem::Problem;
use super::rank_ranges::{RankRange, mimo_input, ranges_of};
use super::raw::RawJob;
use super::rules::Refusals;
use super::{KnownModules, check, rules};
use crate::parallel::mimo::{Field, LANGUAGE_MODULE, MimoInput};
use crate::parallel::stages::{PipelineLayout, StageLayout};
use crate::value::Value;

/// A job whose language model has fields that are read once.
#[derive(Clone, Debug)]
pub struct Prepared {
    raw: RawJob,
    args: Args,
    /// The custom pipeline layout; `None` where there is none, or its text is wrong.
    pipeline_layout: Option<PipelineLayout>,
    /// The patterns that jobs of a hybrid model have.
    patterns: KnownPatterns,
    /// The layers, which most jobs share.
    layers: KnownLayers,
    gpu_memory: Option<GpuMemory>,
    /// The index of the language model.
    language: usize,
    /// The parallelism that the modules of a job state; none where it lists no modules.
    modules: MimoInput,
}

impl Prepared {
    /// Reads a job; `None` where it has no language model, or fields that cannot be read.
    #[must_use]
    pub fn new(raw: &RawJob) -> Option<Self> {
        let mut problems = Vec::new();
        check::report_unknown_keys(raw, &mut problems);
        check::report_values_of_the_job(raw, &mut problems);
        let mut names = raw.modules.iter().map(|module| module.name.as_str());
        let language = match names.len() {
            0 => 0,
            _ => names.position(|name| name == LANGUAGE_MODULE)?,
        };
        let (args, _) = check::read_args(raw, language, &mut problems);
        if problems.iter().any(Problem::is_error) {
            return None;
        }
        let layout = args.pipeline_model_parallel_layout.as_deref();
        let default = LanguageModel::default();
        let context = ModuleContext::new(LANGUAGE_MODULE, raw, language, &default);
        Some(Self {
            pipeline_layout: layout.and_then(|layout| layout.parse().ok()),
            patterns: KnownPatterns::default(),
            layers: Draft::new(&context, args.clone(), None).into_known_layers(),
            language,
            modules: mimo_input(raw),
            args,
            gpu_memory: check::gpu_memory(raw, &mut problems),
            raw: raw.clone(),
        })
    }

    /// The arguments of the language model.
    #[must_use]
    pub fn args(&self) -> &Args {
        &self.args
    }

    /// Reads the patterns of hybrid models that the jobs to check have.
    pub fn read_patterns<'t>(&mut self, texts: impl Iterator<Item = &'t str>) {
        self.patterns = KnownPatterns::new(texts);
    }

    /// Sets a field of arguments; `None` stands for its default.
    pub fn set(args: &mut Args, field: FieldId, value: Option<Parsed>) {
        args.set(field, value.or_else(|| default_value(field.field())));
    }

    /// The language model of the job, with its pipeline layout as far as these arguments have the same.
    fn context<'a>(&'a self, args: &Args, language: &'a LanguageModel) -> ModuleContext<'a> {
        let same = args.pipeline_model_parallel_layout == self.args.pipeline_model_parallel_layout;
        ModuleContext {
            pipeline_layout: self.pipeline_layout.as_ref().filter(|_| same),
            patterns: Some(&self.patterns),
            layers: Some(&self.layers),
            ..ModuleContext::new(LANGUAGE_MODULE, &self.raw, self.language, language)
        }
    }

    /// The rank range of every module, where the language model has these arguments.
    fn ranges(&self, args: &Args, problems: &mut Vec<Problem>) -> Vec<Option<RankRange>> {
        if self.modules.modules.is_empty() {
            return vec![None];
        }
        let mut input = self.modules.clone();
        let etp = if input.modules.len() > 1 {
            1
        } else {
            args.tensor_model_parallel_size
        };
        if let Some(language) = input.modules.get_mut(self.language) {
            for (field, size) in [
                (Field::TensorModelParallelSize, Some(args.tensor_model_parallel_size)),
                (
                    Field::PipelineModelParallelSize,
                    Some(args.pipeline_model_parallel_size),
                ),
                (Field::ContextParallelSize, Some(args.context_parallel_size)),
                (Field::ExpertModelParallelSize, Some(args.expert_model_parallel_size)),
                (
                    Field::ExpertTensorParallelSize,
                    Some(args.expert_tensor_parallel_size.unwrap_or(etp)),
                ),
                (Field::DataParallelSize, args.data_parallel_size),
            ] {
                language.set(field, size.map_or(Value::Null, |size| Value::Int(size.into())));
            }
        }
        ranges_of(&input, self.raw.colocates(), problems)
    }

    /// The hidden size and the samples of the language model with these arguments, by which other modules are checked.
    fn language(&self, args: &Args, ranges: &[Option<RankRange>]) -> LanguageModel {
        LanguageModel::at(self.language, ranges, |field| match field {
            FieldId::tensor_model_parallel_size => Some(args.tensor_model_parallel_size),
            FieldId::pipeline_model_parallel_size => Some(args.pipeline_model_parallel_size),
            FieldId::context_parallel_size => Some(args.context_parallel_size),
            FieldId::micro_batch_size => Some(args.micro_batch_size),
            other => self.raw.number(self.language, other),
        })
    }

    /// Checks the job with other arguments of its language model, as [`validate`](super::validate) does. `split` is the
    /// split of the layers into stages, where it is known from a job with the same. Rules that are not among the
    /// `refusals` are known to be kept. Modules beside the language model are taken from those that are `known`.
    ///
    /// # Errors
    /// The first rule that keeps the job from training.
    pub fn check(
        &self,
        args: Args,
        split: Option<&StageLayout>,
        refusals: &Refusals,
        known: &mut KnownModules,
    ) -> Result<Config, &'static str> {
        let mut problems = Vec::new();
        let ranges = self.ranges(&args, &mut problems);
        refusal(&problems)?;
        let language = self.language(&args, &ranges);
        let mut args = Some(args);
        let mut modules = Vec::with_capacity(ranges.len());
        let mut world_size = 1;
        for (index, range) in ranges.iter().enumerate() {
            let range = range.as_ref();
            let (end, module) = if let Some(args) = args.take_if(|_| index == self.language) {
                self.check_language((args, range, &language), split, refusals)?
            } else {
                let check = || check::check_module(&self.raw, index, range, &language);
                let (end, module, problems) = known.module(index, &language, range, check);
                refusal(&problems)?;
                (end, module.ok_or("modules")?)
            };
            world_size = world_size.max(end);
            modules.push(module);
        }
        connect(&mut modules);
        Ok(Config {
            world_size,
            gpu_memory: self.gpu_memory,
            not_modelled: not_modelled::marks(&self.raw.not_modelled, &modules),
            // Such jobs are refused above.
            refused_by: None,
            refused_at_launch: Vec::new(),
            modules,
        })
    }

    /// Checks the language model, and finds the rank behind its last one.
    fn check_language(
        &self,
        (args, range, language): (Args, Option<&RankRange>, &LanguageModel),
        split: Option<&StageLayout>,
        refusals: &Refusals,
    ) -> Result<(u64, Module), &'static str> {
        let context = self.context(&args, language);
        let draft = Draft::new(&context, args, range);
        if let Some(rule) = refusals.first(&draft) {
            return Err(rule);
        }
        let stages = match split {
            Some(split) => rules::stages_of(&draft, split.clone()),
            None => rules::stages(&draft),
        };
        let stages = stages.map_err(|problems| {
            let first = problems.iter().find(|p| p.keeps_from_training());
            first.or(problems.first()).map_or("stages", |problem| problem.rule)
        })?;
        let end = draft.rank_offset.saturating_add(draft.world_size);
        Ok((end, draft.into_module(LANGUAGE_MODULE.to_owned(), stages)))
    }

    /// The first of some rules that keep the language model from training with other arguments, in the order of all rules.
    #[must_use]
    pub fn broken(&self, args: Args, refusals: &Refusals) -> Option<&'static str> {
        // Arguments that are not chosen yet may keep modules from having their ranks.
        let ranges = self.ranges(&args, &mut Vec::new());
        let language = self.language(&args, &ranges);
        let context = self.context(&args, &language);
        let range = ranges.get(self.language).and_then(Option::as_ref);
        let draft = Draft::new(&context, args, range);
        if let Some(rule) = refusals.first(&draft) {
            return Some(rule);
        }
        if refusals.of_stages().is_empty() {
            return None;
        }
        let problems = rules::stages(&draft).err()?;
        let refusing = problems.iter().filter(|p| p.keeps_from_training());
        refusing
            .map(|problem| problem.rule)
            .find(|rule| refusals.of_stages().contains(rule))
    }
}

/// The first of these problems that keeps a job from training, as an error with its rule.
fn refusal(problems: &[Problem]) -> Result<(), &'static str> {
    match problems.iter().find(|problem| problem.keeps_from_training()) {
        Some(problem) => Err(problem.rule),
        None => Ok(()),
    }
}

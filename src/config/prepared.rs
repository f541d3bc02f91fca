//! A job whose fields are read once, for the checks of many jobs that differ from it in few fields.

use super::context::{LanguageModel, ModuleContext};
use super::draft::Draft;
use super::fields::{Args, FieldId};
use super::job::Config;
use super::layers::Layers;
use super::module_links::connect;
use super::not_modelled;
use super::parse::{Parsed, default_value};
use super::problem::Problem;
use super::raw::RawJob;
use super::rules::Refusals;
use super::{check, rules};
use crate::parallel::mimo::LANGUAGE_MODULE;
use crate::parallel::stages::{PipelineLayout, StageLayout};
use crate::units::Bytes;

/// A job of one model whose fields are read once.
#[derive(Clone, Debug)]
pub struct Prepared {
    raw: RawJob,
    args: Args,
    /// The custom pipeline layout; `None` where there is none, or its text is wrong.
    pipeline_layout: Option<PipelineLayout>,
    /// The layers, which most jobs share.
    layers: Layers,
    gpu_memory: Option<Bytes>,
}

impl Prepared {
    /// Reads a job; `None` where it has modules, whose sizes other fields follow, or fields that cannot be read.
    #[must_use]
    pub fn new(raw: &RawJob) -> Option<Self> {
        let mut problems = Vec::new();
        check::report_unknown_keys(raw, &mut problems);
        let (args, _) = check::read_args(raw, 0, &mut problems);
        let unreadable = problems.iter().any(Problem::is_error);
        if !raw.modules.is_empty() || unreadable {
            return None;
        }
        let layout = args.pipeline_model_parallel_layout.as_deref();
        let language = LanguageModel::default();
        let context = ModuleContext::new(LANGUAGE_MODULE, raw, 0, &language);
        Some(Self {
            pipeline_layout: layout.and_then(|layout| layout.parse().ok()),
            layers: Draft::new(&context, args.clone(), None).layers,
            args,
            gpu_memory: check::gpu_memory(raw, &mut problems),
            raw: raw.clone(),
        })
    }

    /// The arguments of the job.
    #[must_use]
    pub fn args(&self) -> &Args {
        &self.args
    }

    /// Sets a field of arguments; `None` stands for its default.
    pub fn set(args: &mut Args, field: FieldId, value: Option<Parsed>) {
        args.set(field, value.or_else(|| default_value(field.field())));
    }

    /// The only module of the job, with its pipeline layout as far as these arguments have the same.
    fn context<'a>(&'a self, args: &Args, language: &'a LanguageModel) -> ModuleContext<'a> {
        let same = args.pipeline_model_parallel_layout == self.args.pipeline_model_parallel_layout;
        ModuleContext {
            pipeline_layout: self.pipeline_layout.as_ref().filter(|_| same),
            layers: Some(&self.layers),
            ..ModuleContext::new(LANGUAGE_MODULE, &self.raw, 0, language)
        }
    }

    /// Checks the job with other arguments, as [`validate`](super::validate) does. `split` is the split of the layers
    /// into stages, where it is known from a job with the same. Rules that are not among the `refusals` are known to be
    /// kept.
    ///
    /// # Errors
    /// The first rule that keeps the job from training.
    pub fn check(&self, args: Args, split: Option<&StageLayout>, refusals: &Refusals) -> Result<Config, &'static str> {
        let language = LanguageModel::default();
        let context = self.context(&args, &language);
        let draft = Draft::new(&context, args, None);
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
        let world_size = draft.rank_offset.saturating_add(draft.world_size).max(1);
        let module = draft.into_module(LANGUAGE_MODULE.to_owned(), stages);
        let mut modules = vec![module];
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

    /// The first of some rules that keep the job from training with other arguments, in the order of all rules.
    #[must_use]
    pub fn broken(&self, args: Args, refusals: &Refusals) -> Option<&'static str> {
        let language = LanguageModel::default();
        let context = self.context(&args, &language);
        let draft = Draft::new(&context, args, None);
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

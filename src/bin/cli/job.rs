//! Jobs as arguments: a file, the standard input, a link or a preset, with what the command line adds.

use std::fs;
use std::io::{ErrorKind, Read};

use clap::builder::{PossibleValue, TypedValueParser};
use clap::{Args, ValueHint};
use megatron_memory::config::field::Group;
use megatron_memory::config::fields::FieldId;
use megatron_memory::config::gpus::Gpu;
use megatron_memory::config::raw::RawJob;
use megatron_memory::formats::detect::Format;
use megatron_memory::formats::hub::known;
use megatron_memory::formats::import::{Import, Question};
use megatron_memory::formats::import_text::{ImportOptions, import_text};
use megatron_memory::formats::out_of_memory::{self, OutOfMemory};
use megatron_memory::formats::share_url;
use megatron_memory::formats::state::{PresetRef, Setup, ShareState};
use megatron_memory::presets::{self, PRESETS, jobs};
use megatron_memory::report::diagnosis::message;
use megatron_memory::value::Value;

use super::exit::Failure;
use super::names::{GpuParser, did_you_mean, one_of, setting, variable};
use super::output;

/// What all commands say about a job beside where it is.
#[derive(Clone, Debug, Args)]
pub(crate) struct JobOptions {
    /// The model, where a text only names one: a preset, or the path of a config.json
    #[arg(long, value_name = "PRESET|FILE", value_hint = ValueHint::FilePath)]
    model: Option<String>,
    /// The number of GPUs, in place of what the text says
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    gpus: Option<u64>,
    /// The type of the GPUs, such as h100-80gb or "NVIDIA H200"
    #[arg(long, value_name = "GPU", value_parser = GpuParser, hide_possible_values = true)]
    gpu: Option<&'static Gpu>,
    /// An argument of Megatron-LM, in place of what the text says
    #[arg(long, value_name = "ARGUMENT=VALUE", value_parser = setting)]
    set: Vec<(FieldId, String)>,
    /// A variable that the script reads
    #[arg(long, value_name = "NAME=VALUE", value_parser = variable)]
    var: Vec<(String, String)>,
    /// The format of the text, where it should not be recognized from the text itself
    #[arg(long, value_name = "FORMAT", value_parser = formats(), hide_possible_values = true)]
    from: Option<Format>,
}

/// A job as an argument.
#[derive(Clone, Debug, Args)]
pub(crate) struct JobArgument {
    /// The job: a file of any kind that the page imports, - for the standard input, a link, or a preset
    #[arg(value_name = "JOB", allow_hyphen_values = true, value_hint = ValueHint::FilePath)]
    pub(crate) place: String,
    #[command(flatten)]
    pub(crate) options: JobOptions,
}

/// A job, and what became of the text that it comes from.
#[derive(Debug)]
pub(crate) struct Loaded {
    /// The job.
    pub(crate) share: ShareState,
    /// The import of the text; `None` for presets.
    pub(crate) import: Option<Import>,
    /// The out-of-memory errors in the text.
    pub(crate) errors: Vec<OutOfMemory>,
}

impl JobArgument {
    /// Reads the job.
    ///
    /// # Errors
    /// When it cannot be read.
    pub(crate) fn load(&self) -> Result<Loaded, Failure> {
        self.options
            .load(&self.place)
            .map_err(|failure| failure.at(&self.place))
    }
}

impl JobOptions {
    /// Reads the job at a place.
    ///
    /// # Errors
    /// When it cannot be read; the message does not name the place.
    pub(crate) fn load(&self, place: &str) -> Result<Loaded, Failure> {
        let mut loaded = match preset(place) {
            Some(share) => Loaded {
                share,
                import: None,
                errors: Vec::new(),
            },
            None => self.import(&text(place)?)?,
        };
        self.change(&mut loaded.share.setup.job);
        out_of_memory::take_capacity(&loaded.errors, &mut loaded.share.setup.job);
        Ok(loaded)
    }

    fn import(&self, text: &str) -> Result<Loaded, Failure> {
        let options = ImportOptions {
            format: self.from,
            variables: self.var.clone(),
            gpus: self.gpus,
            model: self.model.as_deref().map(model).transpose()?,
            fields: self.of_encoders(),
            ..ImportOptions::default()
        };
        let import = import_text(text, &options)
            .map_err(|error| Failure::unreadable(message::without_job(text, &error)))?
            .import;
        if share_url::recognizes(text) {
            // A link that was cut short is one of another job.
            for notice in share_url::decode(text).1 {
                output::tell(format_args!("{notice}\n"));
            }
        }
        Ok(Loaded {
            share: import.state.clone(),
            import: Some(import),
            errors: out_of_memory::read(text),
        })
    }

    /// The settings of encoders, which answer what a text leaves open about its images: without an answer there is no
    /// module that could have them.
    fn of_encoders(&self) -> Vec<(FieldId, Value)> {
        let of_encoders = self.set.iter().filter(|(id, _)| id.field().group == Group::Encoder);
        of_encoders
            .map(|(id, value)| (*id, Value::Text(value.clone())))
            .collect()
    }

    /// Puts the options' settings into the job.
    fn change(&self, job: &mut RawJob) {
        let mut put = |field: FieldId, value: Value| {
            for module in 0..job.module_count() {
                job.put(module, field, value.clone());
            }
        };
        if let Some(gpus) = self.gpus {
            put(FieldId::world_size, Value::Int(gpus.into()));
        }
        if let Some(gpu) = self.gpu {
            put(FieldId::gpu, Value::Text(gpu.id.to_owned()));
            put(FieldId::gpu_memory_mib, Value::Null);
        }
        for (field, value) in &self.set {
            put(*field, Value::Text(value.clone()));
        }
    }
}

impl Loaded {
    /// Checks that the text leaves no question open.
    ///
    /// # Errors
    /// When it does: the message has every question with the option that answers it.
    pub(crate) fn complete(&self) -> Result<(), Failure> {
        let questions = self.open_questions();
        if questions.is_empty() {
            return Ok(());
        }
        let questions = output::listed(&questions);
        Err(Failure::unreadable(format!(
            "The text leaves questions open:{questions}"
        )))
    }

    /// Questions without whose answers the job is incomplete, one line each.
    pub(crate) fn open_questions(&self) -> Vec<String> {
        let shared = &self.share.setup.job.shared;
        let questions = self.import.iter().flat_map(|import| &import.questions);
        // What `--set` gives is no question any more.
        let is_set = |question: &&Question| match question {
            Question::Field { field, .. } => shared.get(*field).is_some(),
            _ => false,
        };
        questions
            .filter(|question| !is_set(question))
            .filter_map(open)
            .collect()
    }
}

/// A question in words, with the option that answers it; `None` where the job is complete without an answer.
fn open(question: &Question) -> Option<String> {
    match question {
        Question::Variable { keys, .. } if keys.is_empty() => None,
        Question::Variable { name, keys, .. } => Some(format!("${name}, for {}: --var {name}=VALUE", keys.join(", "))),
        Question::Branch { taken: Some(_), .. } => None,
        Question::Branch { line, .. } => Some(format!(
            "the branch on line {line} depends on variables that are not set: --var NAME=VALUE"
        )),
        Question::Gpus => Some("how many GPUs: --gpus N".to_owned()),
        Question::Model { name } => {
            let preset = known::proposed(name).map_or("PRESET", |(id, _)| id);
            Some(format!("the model {name}: --model {preset} or --model config.json"))
        }
        Question::Field { field, choices } => {
            let name = field.field().name;
            // A choice with a label is the value of other models.
            let of_this_model = choices.iter().filter(|choice| choice.label.is_empty());
            let usual: Vec<String> = of_this_model.map(|choice| choice.value.to_string()).collect();
            let usual = match usual.as_slice() {
                [] => String::new(),
                usual => format!(", often {}", usual.join(", ")),
            };
            Some(format!("the text does not give {name}: --set {name}=N{usual}"))
        }
    }
}

/// The preset with a name, as a job.
fn preset(name: &str) -> Option<ShareState> {
    let (preset, _) = PresetRef::read(name)?;
    let setup = Setup {
        preset: Some(preset),
        ..Setup::default()
    };
    Some(ShareState {
        setup: setup.start(),
        ..ShareState::default()
    })
}

/// The text at a place.
///
/// # Errors
/// When it cannot be read; the message does not name the place.
fn text(place: &str) -> Result<String, Failure> {
    if share_url::recognizes(place) {
        return Ok(place.to_owned());
    }
    let mut bytes = Vec::new();
    let read = if place == "-" {
        std::io::stdin().read_to_end(&mut bytes).map(|_| bytes)
    } else {
        fs::read(place)
    };
    let bytes = read.map_err(|error| {
        match error.kind() {
            ErrorKind::NotFound => {}
            ErrorKind::IsADirectory => return Failure::unreadable("this is a folder; name a file in it"),
            _ => return Failure::unreadable(error.to_string()),
        }
        let known = PRESETS.iter().map(|preset| preset.id);
        let meant = did_you_mean(place, known.chain(jobs::JOBS.iter().map(|job| job.id)));
        let mark = if meant.is_empty() { ";" } else { "" };
        Failure::unreadable(format!(
            "there is no such file or preset{meant}{mark} `megatron-memory presets` lists presets"
        ))
    })?;
    String::from_utf8(bytes).map_err(|_| Failure::unreadable("this is no text"))
}

/// A model as the import takes it: the name of a preset, or the text of a `config.json`.
fn model(place: &str) -> Result<String, Failure> {
    let id = presets::by_id(place).map(|preset| preset.id);
    match id.or_else(|| jobs::by_id(place).map(|job| job.id)) {
        Some(id) => Ok(id.to_owned()),
        None => text(place).map_err(|failure| failure.at(place)),
    }
}

fn formats() -> impl TypedValueParser<Value = Format> {
    one_of(
        Format::all().map(|format| PossibleValue::new(format.id())),
        Format::by_id,
    )
}

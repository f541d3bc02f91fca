//! Texts of others, read as jobs in the worker: launch scripts, Python, YAML, configurations of Hugging Face and logs.
//! Their readers are no part of the page, which reads its own links and job documents by itself.

use serde::de::{DeserializeOwned, Error as _};
use serde::ser::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use megatron_memory::formats::detect::Format;
use megatron_memory::formats::import::{Question, Row, import_own};
use megatron_memory::formats::import_text::{ImportOptions, ImportTextError, ImportedText, import_text};
use megatron_memory::formats::out_of_memory::{self, OutOfMemory};
use megatron_memory::formats::report::KeyStatus;
use megatron_memory::formats::state::ShareState;
use megatron_memory::formats::training_log::{self, LogMeasurements};
use megatron_memory::report::diagnosis::message;

/// Data that a message carries as JSON text. Settings are plain data, whose reader asks the format what comes next; the
/// binary format of messages does not say.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct AsJson<T>(pub T);

impl<T: Serialize> Serialize for AsJson<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let text = serde_json::to_string(&self.0).map_err(S::Error::custom)?;
        serializer.serialize_str(&text)
    }
}

impl<'de, T: DeserializeOwned> Deserialize<'de> for AsJson<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        serde_json::from_str(&text).map(Self).map_err(D::Error::custom)
    }
}

/// A text that has been read as a job.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Reading {
    /// What the text was understood as, in a sentence, and how many of its keys became what.
    pub summary: String,
    /// The job; for links and job documents also the pinned jobs and the chosen tab.
    pub state: AsJson<ShareState>,
    /// A row for every key.
    pub report: Vec<Row>,
    /// Questions whose answers the text does not hold.
    pub questions: Vec<Question>,
    /// What a training log measured; `None` where the text has no measurements.
    pub measured: Option<LogMeasurements>,
    /// The out-of-memory errors that the text quotes.
    pub out_of_memory: Vec<OutOfMemory>,
}

impl Reading {
    fn new(imported: ImportedText) -> Self {
        Self {
            summary: summary(&imported),
            state: AsJson(imported.import.state),
            report: imported.import.report,
            questions: imported.import.questions,
            measured: None,
            out_of_memory: Vec::new(),
        }
    }

    /// Reads a link or a job document of the calculator, which takes no worker; `None` for any other text.
    #[must_use]
    pub fn of_own(text: &str) -> Option<Result<Self, String>> {
        let imported = import_own(text)?;
        let read = |import| Self::new(ImportedText { import, changes: None });
        Some(imported.map(read).map_err(|error| error.to_string()))
    }

    /// Reads any text, with what its reader has answered.
    ///
    /// # Errors
    /// Why it cannot be imported.
    pub fn of_text(text: &str, options: &ImportOptions) -> Result<Self, String> {
        let mut reading = match import_text(text, options) {
            Ok(imported) => Self::new(imported),
            Err(error) => Self::of_messages(text, options, &error).ok_or_else(|| message::without_job(text, &error))?,
        };
        reading.measured = measurements(text);
        reading.out_of_memory = out_of_memory::read(text);
        out_of_memory::take_capacity(&reading.out_of_memory, &mut reading.state.0.setup.job);
        Ok(reading)
    }

    /// A text with nothing but out-of-memory errors: they are explained by the job of the page, which stays as it is.
    fn of_messages(text: &str, options: &ImportOptions, error: &ImportTextError) -> Option<Self> {
        let mut sentences = message::of_text_without_job(text, error)?;
        let setup = options.onto.clone()?;
        sentences
            .push("Apply explains it by the job of this page, on a GPU with the memory of the message.".to_owned());
        let state = ShareState {
            setup,
            ..ShareState::default()
        };
        Some(Self {
            summary: sentences.join(" "),
            state: AsJson(state),
            report: Vec::new(),
            questions: Vec::new(),
            measured: None,
            out_of_memory: Vec::new(),
        })
    }
}

/// What a training log measured; `None` for a text without measurements.
#[must_use]
pub fn measurements(text: &str) -> Option<LogMeasurements> {
    let measured = training_log::read(text).measured;
    (!measured.is_empty()).then_some(measured)
}

/// What a text was understood as, in a sentence, and how many keys became what.
fn summary(read: &ImportedText) -> String {
    let ImportedText { import, changes } = read;
    let counts = KeyStatus::ALL.iter().copied().filter_map(|status| {
        let count = import.report.iter().filter(|row| row.status == status).count();
        (count > 0).then(|| format!("{count} {}", status.label()))
    });
    let counts: Vec<String> = counts.collect();
    let format = import.format.label();
    let kind = match import.format {
        Format::ShareLink | Format::OwnJson => format.to_owned(),
        Format::HfConfig | Format::HubModel if changes.is_none() => format!(
            "{format} ({}); parallelism, batch and precision stay{}",
            import.dialect,
            conflicts(&import.report)
        ),
        _ if let Some(changes) = changes => {
            let unknown = import.questions.iter().find_map(|question| match question {
                Question::Model { name } => Some(name),
                _ => None,
            });
            let model = unknown.map_or("without a model".to_owned(), |name| {
                format!("for {name}, of which nothing is known yet")
            });
            let count = settings(changes.len());
            let but = conflicts(&import.report);
            format!("{format} {model}: Apply changes {count} of your job, and the rest stays{but}")
        }
        _ => format!("{format}, with the defaults of {}", import.dialect),
    };
    match counts.as_slice() {
        [] => format!("This is {kind}."),
        counts => format!("This is {kind}. Keys: {}.", counts.join(", ")),
    }
}

/// How many settings of the page's job cannot stay.
fn conflicts(report: &[Row]) -> String {
    let conflicting = |row: &&Row| row.status == KeyStatus::Conflicting && row.line.is_none();
    match report.iter().filter(conflicting).count() {
        0 => String::new(),
        count => format!(", but for {} that cannot apply, see below", settings(count)),
    }
}

fn settings(count: usize) -> String {
    match count {
        0 => "no setting".to_owned(),
        1 => "1 setting".to_owned(),
        count => format!("{count} settings"),
    }
}

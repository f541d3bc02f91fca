//! The state of the import dialog: the text, the reader's answers to its questions, and the job that both make.

use megatron_memory::config::fields::FieldId;
use megatron_memory::formats::import::Question;
use megatron_memory::formats::import_text::ImportOptions;
use megatron_memory::formats::state::ShareState;
use megatron_memory::value::Value;
use search_worker::{AsJson, Reading, Request};

/// The message for a number of GPUs that is none.
const NO_GPUS: &str = "A whole number above zero.";
/// What is said of a text that the reader stopped reading.
const STOPPED: &str = "Reading was stopped. Change the text, or choose the file again, to read it.";

/// The state of the import dialog. It outlives the dialog, so that what was typed is still there when it opens again.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct ImportSession {
    /// What the page shows: the job that the text changes, the pinned job and the tab.
    page: ShareState,
    text: String,
    /// The name of the file that the text is from; `None` where it was typed.
    file: Option<String>,
    options: ImportOptions,
    /// The open questions, and those that were answered: an answer can be changed.
    questions: Vec<Question>,
    /// How many texts there were, not counting what was typed into one. Questions of different texts are different
    /// questions.
    generation: u32,
    /// Why what was typed as the number of GPUs is none.
    wrong_gpus: bool,
    /// The number of the text with its answers: it grows with each change of either.
    version: u32,
    /// The version that was read last.
    read_version: u32,
    /// What was read last, or why it cannot be imported; `None` where there is no text.
    imported: Option<Result<Reading, String>>,
}

/// A key that tells the questions of a text apart.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) enum QuestionKey {
    /// A variable, by its name.
    Variable(String),
    /// A branch, by its line.
    Branch(u32),
    /// The number of GPUs.
    Gpus,
    /// A model, by its name.
    Model(String),
    /// A field that the text does not give.
    Field(FieldId),
}

impl QuestionKey {
    fn of(question: &Question) -> Self {
        match question {
            Question::Variable { name, .. } => Self::Variable(name.clone()),
            Question::Branch { line, .. } => Self::Branch(*line),
            Question::Gpus => Self::Gpus,
            Question::Model { name } => Self::Model(name.clone()),
            Question::Field { field, .. } => Self::Field(*field),
        }
    }
}

impl ImportSession {
    /// Opens the dialog on a page that shows this.
    pub(super) fn open(&mut self, page: ShareState) {
        self.options.onto = Some(page.setup.clone());
        self.page = page;
        self.wrong_gpus = false;
        self.read();
    }

    /// Takes what the reader typed as the text.
    pub(super) fn type_text(&mut self, text: String) {
        self.text = text;
        self.file = None;
        // The lines may be others now.
        self.options.branches.clear();
        self.read();
    }

    /// Takes another text, from a file.
    pub(super) fn take_file(&mut self, text: &str, name: String) {
        self.replace_text(text, Some(name));
    }

    /// Drops the text that was taken from a file.
    pub(super) fn forget_file(&mut self) {
        self.replace_text("", None);
    }

    fn replace_text(&mut self, text: &str, file: Option<String>) {
        text.clone_into(&mut self.text);
        // What is still read of the text before is of no use.
        self.read_version = self.version;
        self.imported = None;
        self.file = file;
        self.generation += 1;
        self.questions.clear();
        self.wrong_gpus = false;
        self.options = ImportOptions {
            onto: self.options.onto.take(),
            ..ImportOptions::default()
        };
        self.read();
    }

    /// Answers what a variable is; an empty answer takes it back.
    pub(super) fn set_variable(&mut self, name: &str, value: String) {
        self.options.variables.retain(|(known, _)| known != name);
        if !value.is_empty() {
            self.options.variables.push((name.to_owned(), value));
        }
        self.read();
    }

    /// Answers which side of the branch on a line is taken.
    pub(super) fn set_branch(&mut self, line: u32, side: usize) {
        self.options.branches.retain(|(known, _)| *known != line);
        self.options.branches.push((line, side));
        self.read();
    }

    /// Answers how many GPUs there are.
    pub(super) fn set_gpus(&mut self, typed: &str) {
        let typed = typed.trim();
        self.options.gpus = typed.parse().ok().filter(|gpus| *gpus > 0);
        self.wrong_gpus = !typed.is_empty() && self.options.gpus.is_none();
        self.read();
    }

    /// Answers what a field is that the text does not give; an empty answer takes it back.
    pub(super) fn set_field(&mut self, field: FieldId, typed: &str) {
        let typed = typed.trim();
        self.options.fields.retain(|(known, _)| *known != field);
        if !typed.is_empty() {
            self.options.fields.push((field, Value::Text(typed.to_owned())));
        }
        self.read();
    }

    /// Answers what the model is that the text only names: a `config.json`, or the id of a preset.
    pub(super) fn set_model(&mut self, model: String) {
        self.options.model = Some(model);
        self.read();
    }

    /// What is to be read next.
    fn read(&mut self) {
        self.version += 1;
        if self.text.trim().is_empty() {
            self.imported = None;
            self.read_version = self.version;
        } else if let Some(own) = Reading::of_own(&self.text) {
            self.take_reading(self.version, own);
        }
    }

    /// The number of the text with its answers.
    pub(super) fn version(&self) -> u32 {
        self.version
    }

    /// Whether the text, with its answers as they are now, is still to be read.
    pub(super) fn is_reading(&self) -> bool {
        self.read_version != self.version
    }

    /// What a worker is asked for it.
    pub(super) fn request(&self) -> Request {
        Request::Read {
            text: self.text.clone(),
            options: AsJson(self.options.clone()),
        }
    }

    /// Gives the text up that is being read.
    pub(crate) fn stop_reading(&mut self) {
        self.take_reading(self.version, Err(STOPPED.to_owned()));
    }

    /// Takes what was read of a version. Where it is no longer the newest, it is shown until that has been read.
    pub(super) fn take_reading(&mut self, version: u32, imported: Result<Reading, String>) {
        // The text may be gone by now.
        if version <= self.read_version {
            return;
        }
        self.read_version = version;
        let open = imported.iter().flat_map(|read| &read.questions);
        let options = &self.options;
        // Questions keep their place, so that nobody who is typing an answer loses the field.
        self.questions.retain(|known| {
            let same = |asked: &Question| QuestionKey::of(asked) == QuestionKey::of(known);
            is_answered(known, options) || open.clone().any(same)
        });
        for known in &mut self.questions {
            if let Question::Variable { keys, .. } = known {
                keys.clear();
            }
        }
        for question in open {
            let key = QuestionKey::of(question);
            let mut known = self.questions.iter_mut();
            match known.find(|known| QuestionKey::of(known) == key) {
                Some(known) => known.clone_from(question),
                None => self.questions.push(question.clone()),
            }
        }
        self.imported = Some(imported);
    }

    /// What the field for the text holds: nothing while the text is from a file, which may be long.
    pub(super) fn typed_text(&self) -> &str {
        match self.file {
            Some(_) => "",
            None => &self.text,
        }
    }

    /// The name of the file that the text is from, and the text's bytes.
    pub(super) fn file(&self) -> Option<(&str, usize)> {
        Some((self.file.as_deref()?, self.text.len()))
    }

    /// The keys of the questions, in the order in which they came up, each with the number of its text.
    pub(super) fn question_keys(&self) -> Vec<(u32, QuestionKey)> {
        let keys = self.questions.iter().map(QuestionKey::of);
        keys.map(|key| (self.generation, key)).collect()
    }

    /// The question with this key.
    pub(super) fn question(&self, key: &QuestionKey) -> Option<&Question> {
        let mut questions = self.questions.iter();
        questions.find(|question| QuestionKey::of(question) == *key)
    }

    /// The answers, and everything else that the reader says about the text.
    pub(super) fn options(&self) -> &ImportOptions {
        &self.options
    }

    /// Why the typed number of GPUs is none; empty where nothing is wrong.
    pub(super) fn gpus_error(&self) -> &'static str {
        if self.wrong_gpus { NO_GPUS } else { "" }
    }

    /// What was read last; `None` where there is no text or it cannot be imported.
    pub(super) fn imported(&self) -> Option<&Reading> {
        self.imported.as_ref()?.as_ref().ok()
    }

    /// Why the text cannot be imported; empty where it can.
    pub(super) fn error(&self) -> &str {
        match &self.imported {
            Some(Err(error)) => error,
            _ => "",
        }
    }

    /// The names of the variables without which settings of the text have no value.
    pub(super) fn missing_variables(&self) -> impl Iterator<Item = &str> {
        self.questions.iter().filter_map(|asked| match asked {
            Question::Variable { name, keys, .. } if !keys.is_empty() => Some(name.as_str()),
            _ => None,
        })
    }

    /// The page with the imported job; `None` while variables are missing, or the text is still to be read. The pinned job and the tab stay, unless the
    /// text has its own.
    pub(super) fn applied(&self) -> Option<ShareState> {
        let state = &self.imported()?.state.0;
        if self.is_reading() || self.missing_variables().next().is_some() {
            return None;
        }
        let mut state = state.clone();
        if state.pinned.is_empty() {
            state.pinned.clone_from(&self.page.pinned);
        }
        state.view.tab = state.view.tab.or_else(|| self.page.view.tab.clone());
        Some(state)
    }
}

fn is_answered(question: &Question, options: &ImportOptions) -> bool {
    match question {
        Question::Variable { name, .. } => options.variables.iter().any(|(known, _)| known == name),
        Question::Branch { line, .. } => options.branches.iter().any(|(known, _)| known == line),
        Question::Gpus => options.gpus.is_some(),
        Question::Model { .. } => options.model.is_some(),
        Question::Field { field, .. } => options.fields.iter().any(|(known, _)| known == field),
    }
}

#[cfg(test)]
mod tests {
    use super::{FieldId, ImportSession, QuestionKey, Value};
    use megatron_memory::formats::share_url;
    use search_worker::Reading;
    use wasm_bindgen_test::wasm_bindgen_test;

    /// Reads what is to be read, as the worker does.
    fn read(session: &mut ImportSession) {
        if session.is_reading() {
            let reading = Reading::of_text(&session.text, &session.options);
            session.take_reading(session.version(), reading);
        }
    }

    const SCRIPT: &str = "torchrun --nproc_per_node 8 pretrain_gpt.py --num-layers 32 --hidden-size 4096 --num-attention-heads 32 \
        --seq-length 4096 --vocab-size 32000 --micro-batch-size $MBS --global-batch-size ${GBS} --save $OUT";

    fn opened() -> ImportSession {
        let mut session = ImportSession::default();
        session.open(share_url::visit("#v1;m=llama3-8b@1;tp=2;vs;m=mistral-7b@1").state);
        session
    }

    #[wasm_bindgen_test(unsupported = test)]
    fn a_message_alone_is_of_the_job_of_the_page() {
        let mut session = opened();
        let of_page = session.page.clone();
        session.type_text(
            "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 3.84 GiB. GPU 0 has a total capacity of 79.19 GiB of \
             which 3.79 GiB is free."
                .to_owned(),
        );
        read(&mut session);
        assert_eq!(session.error(), "");
        let reading = session.imported().unwrap();
        assert_eq!(reading.out_of_memory.len(), 1);
        assert!(
            reading.summary.contains("3.84 GiB were asked for"),
            "{}",
            reading.summary
        );
        let mut expected = of_page.clone();
        expected.setup.job.put(0, FieldId::gpu_memory_mib, Value::Int(81_090));
        assert_eq!(session.applied(), Some(expected));
    }

    #[wasm_bindgen_test(unsupported = test)]
    fn nothing_is_applied_before_there_is_a_job() {
        let mut session = opened();
        assert_eq!(session.applied(), None);
        session.type_text("hello world".to_owned());
        read(&mut session);
        assert!(session.error().starts_with("This is neither"), "{}", session.error());
        assert_eq!(session.applied(), None);
        session.type_text(" ".to_owned());
        read(&mut session);
        assert_eq!(session.error(), "");
    }

    #[wasm_bindgen_test(unsupported = test)]
    fn what_is_read_counts_only_for_the_text_that_it_is_of() {
        let mut session = opened();
        session.type_text(SCRIPT.to_owned());
        let (version, reading) = (session.version(), Reading::of_text(SCRIPT, &session.options));
        session.type_text("hello world".to_owned());
        session.take_reading(version, reading.clone());
        assert!(session.is_reading() && session.imported().is_some());
        assert_eq!(session.applied(), None);
        session.type_text(String::new());
        session.take_reading(version, reading);
        assert_eq!(session.imported(), None);
        // A link is read at once.
        session.type_text("#v1;m=llama3-8b@1;tp=4".to_owned());
        assert!(!session.is_reading() && session.applied().is_some());
        session.type_text(SCRIPT.to_owned());
        session.stop_reading();
        assert!(session.error().starts_with("Reading was stopped."));
    }

    #[wasm_bindgen_test(unsupported = test)]
    fn variables_that_settings_need_hold_the_job_back() {
        let mut session = opened();
        session.type_text(SCRIPT.to_owned());
        read(&mut session);
        assert_eq!(session.missing_variables().collect::<Vec<_>>(), ["MBS", "GBS"]);
        session.set_variable("MBS", "2".to_owned());
        read(&mut session);
        assert_eq!(session.applied(), None);
        session.set_variable("GBS", "64".to_owned());
        read(&mut session);
        let page = session.applied().unwrap();
        let value = |id| page.setup.job.shared.get(id).cloned();
        assert_eq!(value(FieldId::micro_batch_size), Some(Value::Int(2)));
        assert_eq!(value(FieldId::global_batch_size), Some(Value::Int(64)));
        // The pinned job of the page stays.
        assert_eq!(page.pinned.len(), 1);
        // An answer can be changed, and taken back.
        let asked = QuestionKey::Variable("MBS".to_owned());
        assert!(session.question(&asked).is_some());
        session.set_variable("MBS", String::new());
        read(&mut session);
        assert_eq!(session.applied(), None);
    }

    #[wasm_bindgen_test(unsupported = test)]
    fn another_text_is_asked_anew() {
        let mut session = opened();
        session.type_text("pretrain_gpt.py --num-layers 4 --hidden-size 512".to_owned());
        read(&mut session);
        session.set_gpus("many");
        read(&mut session);
        assert_eq!(session.gpus_error(), "A whole number above zero.");
        session.set_gpus("16");
        read(&mut session);
        assert_eq!(session.gpus_error(), "");
        let keys = session.question_keys();
        session.take_file("pretrain_gpt.py --num-layers 8 --hidden-size 512", "job.sh".to_owned());
        read(&mut session);
        assert_eq!(session.file(), Some(("job.sh", 48)));
        assert_eq!(session.options().gpus, None);
        assert!(session.question_keys().iter().all(|key| !keys.contains(key)));
        session.forget_file();
        assert_eq!((session.file(), session.imported()), (None, None));
    }
}

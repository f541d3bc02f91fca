//! Bringing a job in: a text, what it was understood as, what it leaves open, and what became of each of its keys.

use super::hub::{Becomes, Hub};
use super::{Effect, alarm, button, labelled, option, title};
use crate::exchange::import::{Answers, read};
use crate::formats::detect::Format;
use crate::formats::import::{Import as Read, Question, Row};
use crate::formats::report::Fate;
use crate::formats::share_url;
use crate::formats::state::ShareState;
use crate::presets::PRESETS;
use crate::report::amount::grouped;
use crate::report::markup::{Markup, tag};

/// The most rows of the report that are shown.
const MOST_ROWS: usize = 400;

/// The dialog.
#[derive(Default)]
pub struct Import {
    /// What the page shows.
    page: ShareState,
    text: String,
    /// The file that the text is from.
    file: Option<String>,
    answers: Answers,
    /// The open questions, and those that were answered: an answer can be changed.
    asked: Vec<Question>,
    /// How many texts there were, not counting what was typed into one.
    texts: u32,
    /// What cannot be an answer, by place.
    wrong: Option<(String, &'static str)>,
    hub: Hub,
    /// What was made of the text; none of nothing.
    read: Option<Result<Read, String>>,
}

impl Import {
    pub(super) fn new(link: &str) -> Self {
        let page = share_url::visit(link).0;
        let answers = Answers {
            onto: Some(page.setup.job.clone()),
            ..Answers::default()
        };
        Self {
            page,
            answers,
            ..Self::default()
        }
    }

    pub(super) fn act(&mut self, place: &str, value: &str) -> Option<Effect> {
        match place.split_once(':').unwrap_or((place, "")) {
            ("text", _) => {
                value.clone_into(&mut self.text);
                self.file = None;
                self.hub.forget();
                // The lines may be others now.
                self.answers.branches.clear();
            }
            ("file", name) => self.take(value, Some(name)),
            ("forget", _) => self.take("", None),
            ("variable", name) => {
                self.answers.variables.retain(|(known, _)| known != name);
                if !value.is_empty() {
                    let answer = (name.to_owned(), value.to_owned());
                    self.answers.variables.push(answer);
                }
            }
            ("branch", line) => {
                if let (Ok(line), Ok(side)) = (line.parse(), value.parse()) {
                    self.answers.branches.retain(|(known, _)| *known != line);
                    self.answers.branches.push((line, side));
                }
            }
            ("gpus", _) => {
                self.answers.gpus = value.trim().parse().ok().filter(|gpus| *gpus > 0);
                let wrong = !value.trim().is_empty() && self.answers.gpus.is_none();
                self.wrong = wrong.then(|| (place.to_owned(), "A whole number above zero."));
            }
            ("hub", _) => {
                self.hub.type_in(value);
                return None;
            }
            ("ask", _) => return self.hub.ask(),
            ("ask-model", name) => return self.hub.ask_model(name),
            ("fetched", address) => {
                let request = self.hub.answered(address)?;
                match request.becomes {
                    Becomes::Text => {
                        self.take(value, Some(&format!("{} on the Hub", request.name)));
                    }
                    Becomes::Model => self.answers.model = Some(value.to_owned()),
                }
            }
            ("refused", address) => {
                self.hub.refuse(address, value);
                return None;
            }
            ("model" | "preset", _) => self.answers.model = Some(value.to_owned()),
            ("apply", _) => {
                let read = self.read.as_ref()?.as_ref().ok()?;
                return Some(Effect::Open(share_url::encode(
                    &self.onto_page(&read.state),
                )));
            }
            _ => return None,
        }
        self.read_again();
        None
    }

    /// The page with another job. What it is compared with and the tab stay, unless the text has its own.
    fn onto_page(&self, read: &ShareState) -> ShareState {
        let mut state = read.clone();
        state.compare = state.compare.or_else(|| self.page.compare.clone());
        state.view.tab = state.view.tab.or_else(|| self.page.view.tab.clone());
        state
    }

    fn take(&mut self, text: &str, file: Option<&str>) {
        text.clone_into(&mut self.text);
        self.file = file.map(str::to_owned);
        self.texts += 1;
        self.asked.clear();
        self.hub.forget();
        self.wrong = None;
        self.answers = Answers {
            onto: self.answers.onto.take(),
            ..Answers::default()
        };
    }

    fn read_again(&mut self) {
        if self.text.trim().is_empty() {
            self.read = None;
            return;
        }
        let read = read(&self.text, &self.answers).map_err(|failure| failure.message);
        let answers = &self.answers;
        self.asked.retain(|question| is_answered(question, answers));
        for question in read.iter().flat_map(|read| &read.questions) {
            if !self.asked.iter().any(|asked| same(asked, question)) {
                self.asked.push(question.clone());
            }
        }
        self.read = Some(read);
    }

    pub(super) fn draw(&self) -> Vec<Markup> {
        let read = self.read.as_ref();
        let error = read.and_then(|read| read.as_ref().err());
        let read = read.and_then(|read| read.as_ref().ok());
        let intro = "A config.json, a launch script, flags, YAML, overrides, a recipe, a saved job or a link. Nothing in it is run, and \
                     nothing leaves this page.";
        vec![
            title("Import a job"),
            tag("p").text(intro),
            self.source(),
            alarm(match self.hub.refused.as_str() {
                "" => error.map_or("", String::as_str),
                refused => refused,
            }),
            tag("p")
                .with("role", "status")
                .class("exchange-format")
                .text(read.map_or(String::new(), found)),
            tag("div")
                .class("exchange-questions")
                // Other texts have other answers.
                .with("data-key", self.texts.to_string())
                .children(self.questions()),
            tag("div")
                .class("exchange-report")
                .children(read.into_iter().flat_map(report)),
            tag("div")
                .class("exchange-actions")
                .child(button("apply", "Apply", read.is_some()).class("share"))
                .child(button("close", "Cancel", true)),
        ]
    }

    /// Where the text comes from.
    fn source(&self) -> Markup {
        let text = tag("textarea")
            .with("data-at", "text")
            .with("rows", "8")
            .with("spellcheck", "false")
            .with("autofocus", "");
        let file = tag("input").with("type", "file").with("data-at", "file");
        let from = self.file.as_ref().map(|file| {
            let size = grouped(u64::try_from(self.text.len()).unwrap_or(u64::MAX));
            tag("p")
                .child(tag("span").text(format!("Read from {file}, {size} bytes. ")))
                .child(button("forget", "Forget it", true))
        });
        tag("div")
            .class("exchange-source")
            .child(labelled(
                "Paste it here, or drop a file anywhere on the page",
                text,
            ))
            .child(labelled("Or choose a file", file))
            .child(self.hub.draw())
            .child(tag("div").children(from))
    }

    fn questions(&self) -> Vec<Markup> {
        let asked = self.asked.iter().map(|question| self.question(question));
        asked.collect()
    }

    fn question(&self, question: &Question) -> Markup {
        let input = |place: String| {
            tag("input")
                .with("data-at", place)
                .with("autocomplete", "off")
        };
        match question {
            Question::Variable {
                name,
                lines,
                default,
            } => {
                let lines: Vec<String> = lines.iter().take(5).map(u32::to_string).collect();
                let label = format!("${name}, read on line {}", lines.join(", "));
                let input = input(format!("variable:{name}"));
                labelled(
                    &label,
                    match default {
                        Some(default) => input.with("placeholder", default.clone()),
                        None => input,
                    },
                )
            }
            Question::Branch { line, labels, .. } => {
                let answer = self
                    .answers
                    .branches
                    .iter()
                    .find(|(known, _)| known == line);
                let taken = match (answer, question) {
                    (Some((_, side)), _) => Some(*side),
                    (None, Question::Branch { taken, .. }) => *taken,
                    _ => None,
                };
                let taken = taken.map_or(String::new(), |side| side.to_string());
                let sides = labels
                    .iter()
                    .enumerate()
                    .map(|(side, label)| option(&side.to_string(), label, &taken));
                let menu = tag("select").with("data-at", format!("branch:{line}"));
                labelled(&format!("The branch on line {line}"), menu.children(sides))
            }
            Question::Gpus => {
                let input = input("gpus".to_owned()).with("inputmode", "numeric");
                let field = labelled("How many GPUs", input);
                match &self.wrong {
                    Some((place, why)) if place == "gpus" => field.child(alarm(why)),
                    _ => field,
                }
            }
            Question::Model { name } => {
                let chosen = self.answers.model.as_deref().unwrap_or_default();
                let presets = PRESETS
                    .iter()
                    .map(|preset| option(preset.id, preset.name, chosen));
                let none = option("", "", chosen);
                let menu = tag("select")
                    .with("data-at", "preset")
                    .child(none)
                    .children(presets);
                let text = tag("textarea")
                    .with("data-at", "model")
                    .with("rows", "3")
                    .with("spellcheck", "false");
                tag("div")
                    .child(labelled(&format!("The model {name}: a preset"), menu))
                    .child(labelled("or its config.json", text))
                    .children(self.hub.offer_model(name))
            }
        }
    }
}

fn is_answered(question: &Question, answers: &Answers) -> bool {
    match question {
        Question::Variable { name, .. } => answers.variables.iter().any(|(known, _)| known == name),
        Question::Branch { line, .. } => answers.branches.iter().any(|(known, _)| known == line),
        Question::Gpus => answers.gpus.is_some(),
        Question::Model { .. } => answers.model.is_some(),
    }
}

/// Whether two questions have the same answer.
fn same(a: &Question, b: &Question) -> bool {
    match (a, b) {
        (Question::Variable { name, .. }, Question::Variable { name: other, .. }) => name == other,
        (Question::Branch { line, .. }, Question::Branch { line: other, .. }) => line == other,
        (a, b) => a == b,
    }
}

/// What a text was understood as.
fn found(read: &Read) -> String {
    let counts = Fate::ALL.into_iter().filter_map(|fate| {
        let count = read.report.iter().filter(|row| row.fate == fate).count();
        (count > 0).then(|| format!("{count} {}", fate.label()))
    });
    let counts: Vec<String> = counts.collect();
    let format = read.format.label();
    let kind = match read.format {
        Format::ShareLink | Format::OwnJson => format.to_owned(),
        Format::HfConfig => format!(
            "{format} ({}); parallelism, batch and precision stay",
            read.dialect
        ),
        _ => format!("{format}, with the defaults of {}", read.dialect),
    };
    match counts.as_slice() {
        [] => format!("This is {kind}."),
        counts => format!("This is {kind}. Keys: {}.", counts.join(", ")),
    }
}

/// What became of every key.
fn report(read: &Read) -> Vec<Markup> {
    if read.report.is_empty() {
        return Vec::new();
    }
    let heads = ["Line", "Key", "Value", "Became", "Field", "Why"];
    let head = heads.map(|head| tag("th").with("scope", "col").text(head));
    let rows = read.report.iter().take(MOST_ROWS).map(row);
    let table = tag("table")
        .child(
            tag("caption")
                .class("unseen")
                .text("What became of every key"),
        )
        .child(tag("thead").child(tag("tr").children(head)))
        .child(tag("tbody").children(rows));
    let scroll = tag("div")
        .class("exchange-table")
        .with("tabindex", "0")
        .with("role", "region")
        .with("aria-label", "Report")
        .child(table);
    let more = read.report.len().saturating_sub(MOST_ROWS);
    let more = (more > 0).then(|| tag("p").text(format!("And {more} more.")));
    [scroll].into_iter().chain(more).collect()
}

fn row(row: &Row) -> Markup {
    let line = row.line.map_or(String::new(), |line| line.to_string());
    let field = row.field.map_or("", |id| id.field().presentation().label);
    let cells = [
        line.as_str(),
        &row.key,
        &row.value,
        row.fate.label(),
        field,
        &row.note,
    ];
    tag("tr")
        .class(format!("fate-{}", row.fate.id()))
        .children(cells.map(|text| tag("td").text(text.to_owned())))
}

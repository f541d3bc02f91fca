//! Bringing a job in: a text, what it was understood as, what it leaves open, and what became of each of its keys.

use super::hub::{Becomes, Hub};
use super::{Effect, alarm, button, labelled, option, title};
use crate::formats::detect::Format;
use crate::formats::import::{Question, Row};
use crate::formats::import_text::{ImportOptions, ImportedText, import_text};
use crate::formats::report::KeyStatus;
use crate::formats::share_url;
use crate::formats::state::ShareState;
use crate::presets::{self, PRESETS};
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
    /// What the field for the text starts with: what was in it when the dialog was closed.
    kept: String,
    /// The file that the text is from.
    file: Option<String>,
    answers: ImportOptions,
    /// The open questions, and those that were answered: an answer can be changed.
    asked: Vec<Question>,
    /// How many texts there were, not counting what was typed into one.
    texts: u32,
    /// What cannot be an answer, by place.
    wrong: Option<(String, &'static str)>,
    hub: Hub,
    /// What was made of the text; none of nothing.
    read: Option<Result<ImportedText, String>>,
}

impl Import {
    pub(super) fn new(link: &str) -> Self {
        let mut dialog = Self::default();
        dialog.meet(link);
        dialog
    }

    /// Is opened on a page with this link; what was typed before is still there.
    fn meet(&mut self, link: &str) {
        self.page = share_url::visit(link).0;
        self.answers.onto = Some(self.page.setup.clone());
        self.kept = match self.file {
            Some(_) => String::new(),
            None => self.text.clone(),
        };
        self.hub.forget();
        self.wrong = None;
    }

    pub(super) fn act(&mut self, place: &str, value: &str) -> Option<Effect> {
        match place.split_once(':').unwrap_or((place, "")) {
            ("page", _) => self.meet(value),
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
                if self.waits().next().is_some() {
                    return None;
                }
                let state = self.onto_page(&read.import.state);
                return Some(Effect::Open(share_url::encode(&state)));
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
        self.kept.clear();
        self.asked.clear();
        self.hub.forget();
        self.wrong = None;
        self.answers = ImportOptions {
            onto: self.answers.onto.take(),
            ..ImportOptions::default()
        };
    }

    fn read_again(&mut self) {
        if self.text.trim().is_empty() {
            self.read = None;
            return;
        }
        let read = import_text(&self.text, &self.answers).map_err(|error| error.to_string());
        let answers = &self.answers;
        let open = read.iter().flat_map(|read| &read.import.questions);
        // In place, so that nobody who is typing an answer loses the field.
        self.asked.retain(|asked| {
            is_answered(asked, answers) || open.clone().any(|question| same(asked, question))
        });
        for asked in &mut self.asked {
            if let Question::Variable { keys, .. } = asked {
                keys.clear();
            }
        }
        for question in open {
            let known = self.asked.iter_mut().find(|asked| same(asked, question));
            match known {
                Some(asked) => asked.clone_from(question),
                None => self.asked.push(question.clone()),
            }
        }
        self.read = Some(read);
    }

    /// The variables without which settings of the text have no value.
    fn waits(&self) -> impl Iterator<Item = &str> {
        self.asked.iter().filter_map(|asked| match asked {
            Question::Variable { name, keys, .. } if !keys.is_empty() => Some(name.as_str()),
            _ => None,
        })
    }

    /// The button that brings the job in. It can be reached and says why where nothing happens yet.
    fn apply(&self, usable: bool) -> [Markup; 2] {
        let names: Vec<String> = self.waits().map(|name| format!("${name}")).collect();
        let apply = button("apply", "Apply", usable).class("share");
        let why = tag("span").with("id", "exchange-why");
        if !usable || names.is_empty() {
            return [apply, why];
        }
        let words = format!("Apply waits for {}.", names.join(" and "));
        let apply = apply
            .with("aria-disabled", "true")
            .with("aria-describedby", "exchange-why");
        [apply, why.text(words)]
    }

    pub(super) fn draw(&self) -> Vec<Markup> {
        let read = self.read.as_ref();
        let error = read.and_then(|read| read.as_ref().err());
        let read = read.and_then(|read| read.as_ref().ok());
        let [apply, why] = self.apply(read.is_some());
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
                .child(apply)
                .child(button("close", "Cancel", true))
                .child(why),
        ]
    }

    /// Where the text comes from.
    fn source(&self) -> Markup {
        let text = tag("textarea")
            .with("data-at", "text")
            .with("rows", "8")
            .with("spellcheck", "false")
            .with("autofocus", "")
            .text(self.kept.clone());
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
        let asked = self.asked.iter().enumerate();
        let asked = asked.map(|(at, question)| self.question(at, question));
        asked.collect()
    }

    fn question(&self, at: usize, question: &Question) -> Markup {
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
                keys,
            } => {
                let lines: Vec<String> = lines.iter().take(5).map(u32::to_string).collect();
                let label = format!("${name}, read on line {}", lines.join(", "));
                let given = self.answers.variables.iter();
                let given = given.clone().find(|(known, _)| known == name);
                let given = given.map_or(String::new(), |(_, value)| value.clone());
                let input = input(format!("variable:{name}")).with("value", given);
                let input = match default {
                    Some(default) => input.with("placeholder", default.clone()),
                    None => input,
                };
                needed(at, &label, input, keys)
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
                let given = self.answers.gpus;
                let input = input("gpus".to_owned()).with("inputmode", "numeric").with(
                    "value",
                    given.map_or(String::new(), |gpus| gpus.to_string()),
                );
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
                let is_text = presets::by_id(chosen).is_none();
                let text = text.text(if is_text { chosen } else { "" }.to_owned());
                tag("div")
                    .child(labelled(&format!("The model {name}: a preset"), menu))
                    .child(labelled("or its config.json", text))
                    .children(self.hub.offer_model(name))
            }
        }
    }
}

fn is_answered(question: &Question, answers: &ImportOptions) -> bool {
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

/// A field for a variable, with the keys that need a value from it.
fn needed(at: usize, label: &str, input: Markup, keys: &[String]) -> Markup {
    let id = format!("exchange-need-{at}");
    let hint = tag("p").class("exchange-error").with("id", id.clone());
    let (input, hint) = if keys.is_empty() {
        (input, hint.with("hidden", ""))
    } else {
        let words = format!("{} needs a value from it.", keys.join(", "));
        let input = input
            .with("aria-invalid", "true")
            .with("aria-describedby", id);
        (input, hint.text(words))
    };
    tag("div").child(labelled(label, input)).child(hint)
}

/// What a text was understood as.
fn found(read: &ImportedText) -> String {
    let ImportedText {
        import: read,
        changes,
    } = read;
    let counts = KeyStatus::ALL.iter().copied().filter_map(|status| {
        let count = read
            .report
            .iter()
            .filter(|row| row.status == status)
            .count();
        (count > 0).then(|| format!("{count} {}", status.label()))
    });
    let counts: Vec<String> = counts.collect();
    let format = read.format.label();
    let kind = match read.format {
        Format::ShareLink | Format::OwnJson => format.to_owned(),
        Format::HfConfig => format!(
            "{format} ({}); parallelism, batch and precision stay{}",
            read.dialect,
            but_for(&read.report)
        ),
        _ if let Some(changes) = changes => {
            let unknown = read.questions.iter().find_map(|question| match question {
                Question::Model { name } => Some(name),
                _ => None,
            });
            let model = unknown.map_or("without a model".to_owned(), |name| {
                format!("for {name}, of which nothing is known yet")
            });
            let count = settings(changes.len());
            let but = but_for(&read.report);
            format!("{format} {model}: Apply changes {count} of your job, and the rest stays{but}")
        }
        _ => format!("{format}, with the defaults of {}", read.dialect),
    };
    match counts.as_slice() {
        [] => format!("This is {kind}."),
        counts => format!("This is {kind}. Keys: {}.", counts.join(", ")),
    }
}

/// What of the page's job gives way.
fn but_for(report: &[Row]) -> String {
    let gone = |row: &&Row| row.status == KeyStatus::Conflicting && row.line.is_none();
    match report.iter().filter(gone).count() {
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

/// What became of every key.
fn report(read: &ImportedText) -> Vec<Markup> {
    let read = &read.import;
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
        row.status.label(),
        field,
        &row.note,
    ];
    tag("tr")
        .class(format!("fate-{}", row.status.id()))
        .children(cells.map(|text| tag("td").text(text.to_owned())))
}

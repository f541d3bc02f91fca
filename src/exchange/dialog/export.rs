//! Taking the job out: a format, its text or picture, and ways to keep it.

use super::{Effect, alarm, button, menu, option, title};
use crate::config::check;
use crate::exchange::data::{map, or_null, text as value};
use crate::exchange::export::export_text;
use crate::exchange::picture::svg;
use crate::export::{EXPORTS, ExportFormat, LinkForm, pictures, rank_map};
use crate::formats::share_url;
use crate::formats::state::Setup;
use crate::report::markup::{Markup, tag};
use crate::report::rank_map::Coloring;
use crate::value::Value;

/// What an embed can show, and what that is called.
const VIEWS: [(&str, &str); 5] = [
    ("compact", "a few inputs and the result"),
    ("bar", "a bar"),
    ("table", "a table"),
    ("timeline", "a timeline"),
    ("full", "everything"),
];

/// The dialog.
pub struct Export {
    page: String,
    link: String,
    setup: Setup,
    /// A format, a dressing of the link, or `svg:` and a chart.
    format: String,
    /// The module that formats for one model are about.
    module: Option<String>,
    view: &'static str,
    /// What the colors of the ranks say.
    coloring: Coloring,
    made: Result<String, String>,
    /// What keeps the job from running.
    problems: Vec<String>,
}

impl Export {
    pub(super) fn new(page: String, link: &str) -> Self {
        let state = share_url::visit(link).0;
        let checked = check(&state.setup.job);
        let problems = checked.errors().map(|problem| problem.message.clone());
        let mut dialog = Self {
            problems: problems.collect(),
            link: share_url::encode(&state),
            setup: state.setup,
            page,
            format: "megatron_args".to_owned(),
            module: None,
            view: "compact",
            coloring: Coloring::Memory,
            made: Ok(String::new()),
        };
        dialog.make();
        dialog
    }

    pub(super) fn act(&mut self, place: &str, value: &str) -> Option<Effect> {
        match place {
            "format" => value.clone_into(&mut self.format),
            "module" => self.module = Some(value.to_owned()).filter(|name| !name.is_empty()),
            "view" => {
                let known = VIEWS.iter().find(|(view, _)| *view == value);
                self.view = known.map_or(self.view, |(view, _)| *view);
            }
            "color" => {
                let known = Coloring::ALL.into_iter().find(|one| one.id() == value);
                self.coloring = known.unwrap_or(self.coloring);
            }
            "copy" => return self.made.clone().ok().map(Effect::Copy),
            "download" => {
                let text = self.made.clone().ok()?;
                return Some(Effect::Download {
                    name: self.file(self.extension()),
                    text,
                });
            }
            "picture" => {
                let text = self.made.clone().ok()?;
                return Some(Effect::Picture {
                    name: self.file("png"),
                    text,
                });
            }
            _ => return None,
        }
        self.make();
        None
    }

    fn make(&mut self) {
        let job = value(&self.link);
        let made = if let Some(chart) = self.chart() {
            let options = map([("color", value(self.coloring.id()))]);
            svg(&job, chart, &options)
        } else {
            let options = map([
                ("page", value(&self.page)),
                ("module", or_null(self.module.as_ref(), value)),
                ("view", value(self.view)),
            ]);
            export_text(&job, &self.format, &options)
        };
        self.made = match made {
            Ok(Value::Text(text)) => Ok(text),
            Ok(_) => Ok(String::new()),
            Err(failure) => Err(failure.message),
        };
    }

    /// What is to be known about a format.
    fn note(&self) -> &'static str {
        match self.format.as_str() {
            "link_pinned" => {
                "It leads to the calculator as it is now, so that its numbers stay: for papers and reports. The host \
                 must keep a copy of every version, as it was built, in a folder v/ with the version's name."
            }
            "one_gpu" => {
                "One GPU stands in for one rank, so that the estimate can be measured without the cluster."
            }
            "csv" => "Bytes at the heaviest moment of every stage.",
            _ => "",
        }
    }

    fn chart(&self) -> Option<&str> {
        self.format.strip_prefix("svg:")
    }

    fn extension(&self) -> &'static str {
        ExportFormat::by_id(&self.format).map_or("svg", ExportFormat::extension)
    }

    /// A file's name: the preset's, and for a picture what it shows.
    fn file(&self, extension: &str) -> String {
        let preset = self.setup.preset.as_ref();
        let name = preset.map_or("job", |preset| preset.id.as_str());
        match self.chart() {
            Some(chart) => format!("{name}-{chart}.{extension}"),
            None => format!("{name}.{extension}"),
        }
    }

    pub(super) fn draw(&self) -> Vec<Markup> {
        let (made, error) = match &self.made {
            Ok(text) => (Some(text), ""),
            Err(error) => (None, error.as_str()),
        };
        let shown = made.map(|text| match self.chart() {
            Some(_) => tag("img")
                .with("src", data_address(text))
                .with("alt", "The picture"),
            None => tag("pre")
                .with("tabindex", "0")
                .with("role", "region")
                .with("aria-label", "The text")
                .text(text.clone()),
        });
        let is_picture = self.chart().is_some();
        let picture = is_picture.then(|| button("picture", "Download PNG", made.is_some()));
        let download = if is_picture {
            "Download SVG"
        } else {
            "Download"
        };
        vec![
            title("Export this job"),
            tag("div")
                .class("exchange-source")
                .child(self.formats())
                .children(self.choices()),
            tag("p").text(self.note()),
            alarm(error),
            self.warning(),
            tag("div").class("exchange-result").children(shown),
            tag("div")
                .class("exchange-actions")
                .child(button("copy", "Copy", made.is_some()).class("share"))
                .child(button("download", download, made.is_some()))
                .children(picture)
                .child(button("close", "Close", true))
                .child(
                    tag("span")
                        .with("role", "status")
                        .with("id", "exchange-said"),
                ),
        ]
    }

    /// What is wrong with a job that a format can say all the same.
    fn warning(&self) -> Markup {
        let warning = tag("div").class("exchange-error");
        if self.made.is_err() || self.problems.is_empty() {
            return warning.with("hidden", "");
        }
        let problems = self.problems.iter();
        let problems = problems.map(|problem| tag("li").text(problem.clone()));
        warning
            .child(tag("p").text("Megatron refuses this job as it is:"))
            .child(tag("ul").children(problems))
    }

    fn formats(&self) -> Markup {
        let group = |label: &'static str, options: Vec<Markup>| {
            tag("optgroup").with("label", label).children(options)
        };
        let chosen = self.format.as_str();
        let texts = EXPORTS.iter().map(|e| option(e.id, e.label, chosen));
        let links = LinkForm::ALL.map(|form| option(form.id(), form.label(), chosen));
        let charts =
            pictures::names().map(|(name, title)| option(&format!("svg:{name}"), title, chosen));
        let menu = tag("select")
            .with("data-at", "format")
            .with("autofocus", "")
            .child(group("The job", texts.collect()))
            .child(group("A link to it", links.into()))
            .child(group("A picture", charts.collect()));
        super::labelled("As", menu)
    }

    /// What a format leaves to choose.
    fn choices(&self) -> Vec<Markup> {
        let export = EXPORTS.iter().find(|export| export.id == self.format);
        let modules = &self.setup.job.modules;
        if export.is_some_and(crate::export::Export::is_of_one_model) && !modules.is_empty() {
            let names = modules
                .iter()
                .map(|module| (module.name.as_str(), module.name.as_str()));
            let chosen = self.module.as_deref().unwrap_or_default();
            return vec![menu(
                "module",
                "Module",
                [("", "")].into_iter().chain(names),
                chosen,
            )];
        }
        if matches!(self.format.as_str(), "embed" | "element") {
            return vec![menu("view", "Shows", VIEWS, self.view)];
        }
        if self.chart() == Some(rank_map::ID) {
            let colorings = Coloring::ALL.map(|one| (one.id(), one.label()));
            return vec![menu("color", "Colors", colorings, self.coloring.id())];
        }
        Vec::new()
    }
}

/// A picture as an address, for which no request is made.
fn data_address(svg: &str) -> String {
    let mut address = String::from("data:image/svg+xml,");
    for byte in svg.bytes() {
        match byte {
            b'%' | b'#' | b'"' | b'\n' | 0x80.. => {
                let digit = |nibble: u8| char::from_digit(nibble.into(), 16).unwrap_or('0');
                address.extend(['%', digit(byte >> 4), digit(byte & 15)]);
            }
            byte => address.push(byte.into()),
        }
    }
    address
}

//! The formats that a job can be exported in, and what each leaves to choose.

use leptos::prelude::*;

use crate::browser;
use crate::dialogs::parts::{Labelled, Menu};
use megatron_memory::export::{
    ChartOptions, EXPORTS, EmbedView, ExportFormat, ExportOptions, LinkForm, chart_file, export_text, pictures,
    rank_map,
};
use megatron_memory::formats::state::ShareState;
use megatron_memory::report::amount::Unit;
use megatron_memory::report::rank_map::Coloring;

/// The prefix of a chart's name among the formats.
const CHART: &str = "svg:";

/// The reader's choices.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Selection {
    /// The id of an [`ExportFormat`], or `svg:` and the name of a chart.
    format: String,
    /// The module that a format for one model shows; empty where none is chosen.
    module: String,
    view: EmbedView,
    coloring: Coloring,
}

/// Megatron-LM's arguments.
impl Default for Selection {
    fn default() -> Self {
        Self {
            format: "megatron_args".to_owned(),
            module: String::new(),
            view: EmbedView::default(),
            coloring: Coloring::Memory,
        }
    }
}

impl Selection {
    /// The name of the chosen chart; `None` where the format is no chart.
    pub(super) fn chart(&self) -> Option<&str> {
        self.format.strip_prefix(CHART)
    }

    /// Whether the format is a picture.
    pub(super) fn is_picture(&self) -> bool {
        self.chart().is_some()
    }

    fn export_format(&self) -> Option<ExportFormat> {
        ExportFormat::by_id(&self.format)
    }

    /// How the file's name ends.
    pub(super) fn extension(&self) -> &'static str {
        self.export_format().map_or("svg", ExportFormat::extension)
    }

    /// The text of the job in this format, with amounts for people in a unit.
    ///
    /// # Errors
    /// Why the format cannot say what the job is.
    pub(super) fn make(&self, share: &ShareState, unit: Unit) -> Result<String, String> {
        if let Some(chart) = self.chart() {
            let page = browser::address("");
            let options = ChartOptions {
                coloring: self.coloring,
                unit,
                page: &page,
                ..ChartOptions::default()
            };
            return chart_file(share, chart, &options).map_err(|error| error.to_string());
        }
        let Some(format) = self.export_format() else {
            return Err(format!("There is no format {}.", self.format));
        };
        let options = ExportOptions {
            page: browser::address(""),
            module: Some(self.module.clone()).filter(|name| !name.is_empty()),
            label: None,
            view: self.view,
            unit,
        };
        export_text(share, format, &options).map_err(|error| error.to_string())
    }

    /// What is to be known about the format.
    pub(super) fn note(&self) -> &'static str {
        match self.format.as_str() {
            "link_pinned" => {
                "It leads to the calculator as it is now, so that its numbers stay: for papers and reports. The host \
                 must keep a copy of every version, as it was built, in a folder v/ with the version's name."
            }
            "one_gpu" => "One GPU stands in for one rank, so that the estimate can be measured without the cluster.",
            "csv" => "Bytes at the heaviest moment of every stage.",
            _ => "",
        }
    }
}

/// The menu of all formats.
#[component]
pub(super) fn FormatMenu(selection: RwSignal<Selection>) -> impl IntoView {
    let chosen = Memo::new(move |_| selection.read().format.clone());
    let option = move |id: String, label: &'static str| {
        let value = id.clone();
        view! {
            <option value=value selected=move || *chosen.read() == id>
                {label}
            </option>
        }
    };
    let files = EXPORTS
        .iter()
        .map(move |export| option(export.id.to_owned(), export.label));
    let links = LinkForm::ALL.into_iter();
    let links = links.map(move |form| option(form.id().to_owned(), form.label()));
    let charts = pictures::names().map(move |(name, title)| option(format!("{CHART}{name}"), title));
    view! {
        <Labelled label="As">
            <select
                name="format"
                autofocus
                on:change:target=move |event| {
                    selection.update(|selection| selection.format = event.target().value());
                }
            >
                <optgroup label="The job">{files.collect_view()}</optgroup>
                <optgroup label="A link to it">{links.collect_view()}</optgroup>
                <optgroup label="A picture">{charts.collect_view()}</optgroup>
            </select>
        </Labelled>
    }
}

/// What a format leaves to choose.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Choice {
    Module,
    View,
    Coloring,
    Nothing,
}

/// The menu of what the chosen format leaves to choose.
#[component]
pub(super) fn Choices(
    selection: RwSignal<Selection>,
    /// The names of the job's modules; empty for a job of one model.
    modules: Vec<String>,
) -> impl IntoView {
    let several = !modules.is_empty();
    let choice = Memo::new(move |_| {
        let selection = selection.read();
        match selection.export_format() {
            Some(ExportFormat::File(export)) if export.is_of_one_model() && several => Choice::Module,
            Some(ExportFormat::Link(form)) if form.is_embed() => Choice::View,
            None if selection.chart() == Some(rank_map::ID) => Choice::Coloring,
            _ => Choice::Nothing,
        }
    });
    move || match choice.get() {
        Choice::Module => {
            let names = modules.iter().map(|name| (name.clone(), name.clone()));
            let options = [(String::new(), String::new())].into_iter().chain(names);
            view! {
                <Menu
                    name="module"
                    label="Module"
                    options=options.collect()
                    chosen=Signal::derive(move || selection.read().module.clone())
                    choose=move |name| selection.update(|selection| selection.module = name)
                />
            }
            .into_any()
        }
        Choice::View => {
            let options = EmbedView::ALL.map(|view| (view.id().to_owned(), view.label().to_owned()));
            view! {
                <Menu
                    name="view"
                    label="Shows"
                    options=options.into()
                    chosen=Signal::derive(move || selection.read().view.id().to_owned())
                    choose=move |id| {
                        if let Some(view) = EmbedView::by_id(&id) {
                            selection.update(|selection| selection.view = view);
                        }
                    }
                />
            }
            .into_any()
        }
        Choice::Coloring => {
            let options = Coloring::ALL.map(|one| (one.id().to_owned(), one.label().to_owned()));
            view! {
                <Menu
                    name="color"
                    label="Colors"
                    options=options.into()
                    chosen=Signal::derive(move || selection.read().coloring.id().to_owned())
                    choose=move |id| {
                        if let Some(coloring) = Coloring::ALL.into_iter().find(|one| one.id() == id) {
                            selection.update(|selection| selection.coloring = coloring);
                        }
                    }
                />
            }
            .into_any()
        }
        Choice::Nothing => ().into_any(),
    }
}

//! Which layouts of the job fit: what varies, how far the search is, and what it found.

mod columns;
mod found;
mod words;

use self::found::Found;
use super::{Effect, alarm, button, labelled, menu, title};
use crate::exchange::data::{map, text as value};
use crate::exchange::search::{failure, options as write_options, slice};
use crate::formats::share_url;
use crate::formats::state::{Setup, ShareState};
use crate::report::amount::grouped;
use crate::report::markup::{Markup, tag};
use crate::search::{Axis, Dimension, Keep, Options, Slice, Space, Split};
use crate::value::Value;

/// Names of the ways to split layers, with what they are called.
const SPLITS: [(&str, &str, Split); 2] = [
    ("as_given", "as in the job", Split::AsGiven),
    (
        "rest_in_last_stage",
        "evenly, or the last stage has fewer",
        Split::RestInLastStage,
    ),
];

/// How far a search is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    /// It has not begun.
    Before,
    /// It goes on.
    Running,
    /// The reader stopped it.
    Stopped,
    /// All is done.
    Done,
}

/// The dialog.
pub struct Search {
    /// What the page shows.
    page: ShareState,
    options: Options,
    /// Bounds that are no sizes, as they were typed.
    unread: Vec<(Axis, String)>,
    keep: Keep,
    space: Result<Space, String>,
    phase: Phase,
    found: Found,
    /// What went wrong on the way.
    error: String,
}

impl Search {
    pub(super) fn new(link: &str) -> Self {
        let page = share_url::visit(link).0;
        let options = Options::usual(&page.setup.job);
        let mut dialog = Self {
            page,
            options,
            unread: Vec::new(),
            keep: Keep::Fitting,
            space: Err(String::new()),
            phase: Phase::Before,
            found: Found::default(),
            error: String::new(),
        };
        dialog.begin_again();
        dialog
    }

    /// Forgets what was found: it belongs to other options.
    fn begin_again(&mut self) {
        let space = Space::new(&self.page.setup.job, &self.options);
        self.space = space.map_err(|why| failure(&why).message);
        self.phase = Phase::Before;
        self.found = Found::default();
        self.error.clear();
    }

    pub(super) fn act(&mut self, place: &str, typed: &str) -> Option<Effect> {
        let running = self.phase == Phase::Running;
        match place.split_once(':').unwrap_or((place, "")) {
            ("vary", name) => {
                let axis = Axis::by_name(name)?;
                if self.options.vary.contains(&axis) {
                    self.options.vary.retain(|varied| *varied != axis);
                } else {
                    self.options.vary.push(axis);
                }
            }
            ("most", name) => {
                let axis = Axis::by_name(name)?;
                self.options.at_most.retain(|(of, _)| *of != axis);
                self.unread.retain(|(of, _)| *of != axis);
                match typed.trim() {
                    "" => {}
                    typed => match typed.parse() {
                        Ok(most) if most > 0 => self.options.at_most.push((axis, most)),
                        _ => self.unread.push((axis, typed.to_owned())),
                    },
                }
            }
            ("split", _) => {
                let known = SPLITS.iter().find(|(name, ..)| *name == typed);
                self.options.split = known.map_or(Split::AsGiven, |(.., split)| *split);
            }
            ("keep", _) => {
                self.keep = match self.keep {
                    Keep::Fitting => Keep::Legal,
                    Keep::Legal => Keep::Fitting,
                }
            }
            ("start", _) => {
                let space = self.space.as_ref().ok()?;
                let total = space.total().to_string();
                self.begin_again();
                self.phase = Phase::Running;
                return Some(Effect::Search {
                    job: self.task(),
                    total,
                });
            }
            ("stop", _) if running => {
                self.phase = Phase::Stopped;
                return Some(Effect::Stop);
            }
            ("failed", _) if running => {
                self.phase = Phase::Stopped;
                typed.clone_into(&mut self.error);
                return Some(Effect::Stop);
            }
            (act, detail) => return self.act_on_found(act, detail, typed),
        }
        self.begin_again();
        running.then_some(Effect::Stop)
    }

    /// What follows from doing something with what was found.
    fn act_on_found(&mut self, act: &str, detail: &str, typed: &str) -> Option<Effect> {
        let space = self.space.as_ref().ok()?;
        let columns = columns::of(space, &self.found.slice);
        match act {
            "sort" => self.found.sort(space, &columns, detail),
            "filter" => self.found.filter(space, typed),
            "room" => self.found.leave_free(space, typed),
            "scroll" => self.found.scroll(typed),
            "apply" => {
                let share = ShareState {
                    setup: self.setup(detail)?,
                    ..self.page.clone()
                };
                return Some(open(share));
            }
            "pin" => {
                let share = ShareState {
                    compare: Some(self.setup(detail)?),
                    ..self.page.clone()
                };
                return Some(open(share));
            }
            "copy" => return Some(Effect::Copy(self.found.written(space, &columns, "\t"))),
            "download" => {
                return Some(Effect::Download {
                    name: "layouts.csv".to_owned(),
                    text: self.found.written(space, &columns, ","),
                });
            }
            _ => {}
        }
        None
    }

    /// The job and the options, for those who search.
    fn task(&self) -> Value {
        let page = ShareState {
            setup: self.page.setup.clone(),
            ..ShareState::default()
        };
        map([
            ("job", value(share_url::encode(&page))),
            ("options", write_options(&self.options, self.keep)),
        ])
    }

    /// A candidate as a job over the page's preset.
    fn setup(&self, index: &str) -> Option<Setup> {
        let space = self.space.as_ref().ok()?;
        let index = index.parse().ok().filter(|index| *index < space.total())?;
        Some(Setup {
            preset: self.page.setup.preset.clone(),
            job: space.job(index),
        })
    }

    /// Takes in what a part of the search found, or what would make the nearest layout fit.
    pub(super) fn take(&mut self, written: &Value) -> Option<Effect> {
        let space = self.space.as_ref().ok()?;
        if let (Phase::Done, Some(remedy)) = (self.phase, written.get("remedy")) {
            self.found.learn(remedy);
        }
        if self.phase != Phase::Running {
            return None;
        }
        let part = slice(space, written)?;
        self.found.take(space, &part);
        if self.found.slice.looked_at < space.total() {
            return None;
        }
        self.phase = Phase::Done;
        let closest = self.found.slice.closest?;
        let nothing = self.found.slice.candidates.is_empty();
        nothing.then(|| Effect::Explain(closest.index.to_string()))
    }

    pub(super) fn draw(&self) -> Vec<Markup> {
        let mut drawn = vec![title("Find layouts")];
        let space = match &self.space {
            Ok(space) => space,
            Err(error) => {
                drawn.push(alarm(error));
                // Letting something else vary may help; several modules are beyond that.
                if self.page.setup.job.modules.is_empty() {
                    drawn.push(self.controls(None));
                }
                drawn.push(
                    tag("div")
                        .class("exchange-actions")
                        .child(button("close", "Close", true)),
                );
                return drawn;
            }
        };
        drawn.push(tag("p").text(about(space)));
        drawn.push(self.controls(Some(space)));
        drawn.push(tag("p").class("layouts-space").text(size(space)));
        drawn.push(self.actions());
        drawn.push(alarm(&self.error));
        drawn.push(self.progress(space));
        if self.phase != Phase::Before {
            drawn.push(words::left_out(&self.found.slice));
            let columns = columns::of(space, &self.found.slice);
            drawn.extend(self.found.draw(space, &columns, self.phase == Phase::Done));
        }
        drawn
    }

    fn controls(&self, space: Option<&Space>) -> Markup {
        let moe = space.is_none_or(Space::has_experts);
        let axes = Axis::ALL
            .into_iter()
            .filter(|axis| moe || !matches!(axis, Axis::Expert | Axis::ExpertTensor));
        let chosen = SPLITS
            .iter()
            .find(|(.., split)| *split == self.options.split);
        let chosen = chosen.map_or("", |(name, ..)| name);
        let splits = SPLITS.iter().map(|(name, label, _)| (*name, *label));
        let fitting = space.and_then(Space::gpu_memory).map(|_| {
            check(
                "keep",
                "List only what fits on the GPU",
                self.keep == Keep::Fitting,
            )
        });
        tag("fieldset")
            .class("layouts-axes")
            .child(tag("legend").text("What may vary"))
            .children(axes.map(|axis| self.axis(axis)))
            .child(menu("split", "Layers of the stages", splits, chosen))
            .children(fitting)
    }

    fn axis(&self, axis: Axis) -> Markup {
        let name = axis.field().field().name;
        let label = match axis {
            Axis::Recompute => "Recompute",
            _ => axis.field().presentation().label,
        };
        let varies = self.options.vary.contains(&axis);
        let bound = (varies && axis != Axis::Recompute).then(|| {
            let bound = self.options.at_most.iter().find(|(of, _)| *of == axis);
            let unread = self.unread.iter().find(|(of, _)| *of == axis);
            let bound = bound.map(|(_, most)| most.to_string());
            let typed = bound.or(unread.map(|(_, typed)| typed.clone()));
            let wrong = format!("wrong-{name}");
            let input = tag("input")
                .with("data-at", format!("most:{name}"))
                .with("inputmode", "numeric")
                .with("autocomplete", "off")
                .with("aria-label", format!("{label}, at most"))
                .with("aria-describedby", wrong.clone())
                .with(
                    "aria-invalid",
                    if unread.is_some() { "true" } else { "false" },
                )
                .with("value", typed.unwrap_or_default());
            let said = unread.map_or("", |_| "is no size, and bounds nothing");
            let said = tag("span")
                .class("exchange-error")
                .with("id", wrong)
                .with("role", "status")
                .text(said);
            tag("label")
                .class("layouts-bound")
                .child(tag("span").text("at most"))
                .child(input)
                .child(said)
        });
        tag("div")
            .class("layouts-axis")
            .child(check(&format!("vary:{name}"), label, varies))
            .children(bound)
    }

    fn actions(&self) -> Markup {
        let running = self.phase == Phase::Running;
        let start = if running {
            button("stop", "Cancel", true)
        } else {
            button("start", "Search", true).class("share")
        };
        tag("div")
            .class("exchange-actions")
            .child(start)
            .child(button("copy", "Copy table", self.found.any()))
            .child(button("download", "Download CSV", self.found.any()))
            .child(button("close", "Close", true))
            .child(
                tag("span")
                    .with("role", "status")
                    .with("id", "exchange-said"),
            )
    }

    /// How far it is. What is read out changes when it ends, not with every number.
    fn progress(&self, space: &Space) -> Markup {
        let slice = &self.found.slice;
        let share = u128::from(slice.looked_at) * 1000 / u128::from(space.total().max(1));
        let bar = tag("progress")
            .with("max", "1000")
            .with("value", share.to_string())
            .with("aria-label", "Progress");
        let bar = (self.phase == Phase::Running).then_some(bar);
        let said = match self.phase {
            Phase::Before => String::new(),
            Phase::Running => "Searching.".to_owned(),
            Phase::Stopped => "Stopped.".to_owned(),
            Phase::Done => format!("Done: {}.", counts(slice, space)),
        };
        let now = matches!(self.phase, Phase::Running | Phase::Stopped).then(|| {
            let looked = (grouped(slice.looked_at), grouped(space.total()));
            let now = format!(
                "{} of {} combinations: {}.",
                looked.0,
                looked.1,
                counts(slice, space)
            );
            tag("p").class("layouts-now").text(now)
        });
        tag("div")
            .class("layouts-progress")
            .child(tag("p").with("role", "status").text(said))
            .children(now)
            .children(bar)
    }
}

fn open(share: ShareState) -> Effect {
    let mut share = share;
    // The stage that was chosen may not be there any more.
    share.view.stage = None;
    Effect::Open(share_url::encode(&share))
}

fn check(place: &str, label: &str, on: bool) -> Markup {
    let input = tag("input")
        .with("type", "checkbox")
        .with("data-at", place.to_owned())
        .mark("checked", on);
    tag("label")
        .class("layouts-check")
        .child(input)
        .child(tag("span").text(label.to_owned()))
}

fn about(space: &Space) -> String {
    format!(
        "Every combination of the sizes below, on {} GPUs with a global batch of {}. All else stays as it is, and each \
         combination is checked and estimated like the job itself.",
        grouped(space.world_size()),
        grouped(space.global_batch_size())
    )
}

/// The size of the space, as the product that it is.
fn size(space: &Space) -> String {
    let factor = |d: &Dimension| {
        let (count, within) = (d.values.len(), d.within());
        let values = if count == 1 { "value" } else { "values" };
        let symbol = d.axis.symbol();
        if within == count {
            format!("{count} {values} of {symbol}")
        } else {
            format!("{count} {values} of {symbol} ({within} within your bound)")
        }
    };
    let factors: Vec<String> = space.dimensions().iter().map(factor).collect();
    let total = grouped(space.total());
    match factors.as_slice() {
        [] => "Nothing varies: 1 combination.".to_owned(),
        factors => format!("{} = {total} combinations.", factors.join(" × ")),
    }
}

fn counts(slice: &Slice, space: &Space) -> String {
    let (legal, fitting) = (slice.legal, slice.legal - slice.too_large.min(slice.legal));
    match space.gpu_memory() {
        Some(_) => format!("{} legal, {} fit", grouped(legal), grouped(fitting)),
        None => format!("{} legal", grouped(legal)),
    }
}

/// An input under its label.
fn small(place: &str, label: &str, typed: &str) -> Markup {
    let input = tag("input")
        .with("data-at", place.to_owned())
        .with("autocomplete", "off")
        .with("value", typed.to_owned());
    labelled(label, input)
}

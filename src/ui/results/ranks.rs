//! The map of all ranks, and everything about the chosen one.

use super::super::shown::{Gesture, Piece, shown, shown_at_width};
use super::panel::panel;
use super::view::View;
use crate::parallel::groups::process_groups::ProcessGroup;
use crate::report::amount::Scale;
use crate::report::markup::{Markup, tag};
use crate::report::rank_details::{sentence, tables};
use crate::report::rank_map::{Cells, Coloring, Picture};
use crate::report::ranks::{RankPlace, places};
use crate::report::target::Target;
use leptos::prelude::*;

/// The panel of the ranks.
pub(super) fn ranks(view: View) -> Piece {
    let map = Map {
        view,
        width: RwSignal::new(640),
        coloring: RwSignal::new(Coloring::default()),
        rank: RwSignal::new(None),
        group: RwSignal::new((0, ProcessGroup::Tp)),
    };
    let hands = move |gesture: Gesture<'_>| map.act(gesture);
    let inside = vec![
        shown("ranks-head", move || map.head(), hands),
        shown_at_width("ranks-picture", map.width, move || map.picture(), hands),
        shown("ranks-details", move || map.details(), hands),
    ];
    panel("panel ranks", "ranks-title", inside)
}

/// What the panel shows.
#[derive(Clone, Copy)]
struct Map {
    view: View,
    /// Room for the picture in pixels.
    width: RwSignal<i32>,
    coloring: RwSignal<Coloring>,
    /// The chosen rank; none for the worst.
    rank: RwSignal<Option<u64>>,
    /// The chosen group, and of which of the rank's modules it is.
    group: RwSignal<(usize, ProcessGroup)>,
}

/// What the map is about at the moment.
struct Now {
    places: Vec<RankPlace>,
    rank: u64,
    said: String,
}

impl Map {
    /// The rank that is looked at, and what it is.
    fn now(&self) -> Option<Now> {
        let outcome = self.view.state.outcome.get()?;
        let (config, estimate) = (&outcome.config, &outcome.estimate);
        let wish = self.view.rank.get().or(self.rank.get());
        let rank = wish.filter(|rank| *rank < config.world_size());
        let rank = rank.unwrap_or(estimate.worst_rank.rank);
        let places = places(config, estimate, rank);
        let scale = Scale::coarse(self.view.state.unit.get());
        let said = sentence(config, estimate, &places, rank, scale);
        Some(Now { places, rank, said })
    }

    fn head(&self) -> Vec<Markup> {
        let coloring = self.coloring.get();
        let choices = Coloring::ALL.into_iter().enumerate().map(|(i, choice)| {
            let pressed = if choice == coloring { "true" } else { "false" };
            tag("button")
                .with("type", "button")
                .with("data-at", format!("color.{i}"))
                .with("aria-pressed", pressed)
                .text(choice.label())
        });
        let outcome = self.view.state.outcome.get();
        let note = outcome.map(|o| match o.config.world_size() {
            1 => String::from("1 rank"),
            n => format!("{n} ranks"),
        });
        vec![
            tag("header")
                .class("panel-head")
                .child(tag("h2").with("id", "ranks-title").text("Ranks"))
                .child(tag("p").class("panel-note").text(note.unwrap_or_default()))
                .child(
                    tag("div")
                        .class("choices")
                        .with("role", "group")
                        .with("aria-label", "Color by")
                        .children(choices),
                ),
        ]
    }

    fn cells(&self) -> Option<Cells> {
        let outcome = self.view.state.outcome.get()?;
        // Room for the outline on both sides.
        let width = u64::try_from(self.width.get() - 4).unwrap_or(0).max(64);
        Some(Cells::new(outcome.config.world_size(), width))
    }

    fn picture(&self) -> Vec<Markup> {
        let (Some(now), Some(cells)) = (self.now(), self.cells()) else {
            return Vec::new();
        };
        let Some(outcome) = self.view.state.outcome.get() else {
            return Vec::new();
        };
        let (of, kind) = self.group.get();
        let place = now.places.get(of).or(now.places.first());
        let group = place.map(|place| place.members(kind)).unwrap_or_default();
        let picture = Picture {
            config: &outcome.config,
            estimate: &outcome.estimate,
            cells,
            coloring: self.coloring.get(),
            rank: now.rank,
            group: &group,
            scale: Scale::coarse(self.view.state.unit.get()),
        };
        vec![
            picture.draw(&now.said),
            tag("div").class("legend").child(picture.legend()),
            // The map says the same of itself to those who walk it with keys.
            tag("p").class("readout").text(now.said),
        ]
    }

    fn details(&self) -> Vec<Markup> {
        let (Some(now), Some(outcome)) = (self.now(), self.view.state.outcome.get()) else {
            return Vec::new();
        };
        let scale = Scale::fine(self.view.state.unit.get());
        let group = self.group.get();
        vec![tag("div").class("rank-modules").children(tables(
            &outcome.config,
            &outcome.estimate,
            &now.places,
            group,
            scale,
        ))]
    }

    fn act(&self, gesture: Gesture<'_>) -> bool {
        match gesture {
            Gesture::Point(place) => {
                if let Some(rank) = self.rank_at(place) {
                    self.view.rank.set(Some(rank));
                }
            }
            Gesture::Leave if self.view.rank.get_untracked().is_some() => self.view.rank.set(None),
            Gesture::Choose(place) => self.choose(place),
            Gesture::Press(place, key) if place.starts_with("map") => return self.press(key),
            _ => {}
        }
        false
    }

    /// The rank of the cell in `map@12,3`.
    fn rank_at(&self, place: &str) -> Option<u64> {
        let (column, row) = place.strip_prefix("map@")?.split_once(',')?;
        let cells = untrack(|| self.cells())?;
        cells.rank_at(column.parse().ok()?, row.parse().ok()?)
    }

    fn choose(&self, place: &str) {
        if let Some(rank) = self.rank_at(place) {
            return self.select(rank);
        }
        let mut words = place.splitn(3, '.');
        let (what, index) = (words.next(), words.next().and_then(|n| n.parse().ok()));
        match (what, index, words.next()) {
            (Some("color"), Some(index), _) => {
                if let Some(coloring) = Coloring::ALL.get(index) {
                    self.coloring.set(*coloring);
                }
            }
            (Some("group"), Some(index), Some(name)) => {
                if let Some(group) = ProcessGroup::from_name(name) {
                    self.group.set((index, group));
                }
            }
            _ => {}
        }
    }

    /// Chooses a rank, and its stage everywhere else.
    fn select(&self, rank: u64) {
        self.view.rank.set(None);
        self.rank.set(Some(rank));
        let now = untrack(|| self.now());
        if let Some(place) = now.as_ref().and_then(|now| now.places.first()) {
            self.view.choose(&Target::stage(place.stage));
        }
    }

    fn press(&self, key: &str) -> bool {
        let (Some(now), Some(cells)) = (untrack(|| self.now()), untrack(|| self.cells())) else {
            return false;
        };
        let (rank, last) = (now.rank, cells.world - 1);
        let row = cells.columns * cells.each;
        let to = match key {
            "ArrowLeft" => rank.saturating_sub(1),
            "ArrowRight" => rank + 1,
            "ArrowUp" => rank.checked_sub(row).unwrap_or(rank),
            "ArrowDown" if rank + row <= last => rank + row,
            "ArrowDown" => rank,
            "PageUp" => rank.saturating_sub(row * 8),
            "PageDown" => rank + row * 8,
            "Home" => 0,
            "End" => last,
            _ => return false,
        };
        self.select(to.min(last));
        true
    }
}

//! The points of a plot, computed between frames.

use leptos::prelude::*;

use crate::parts::when_idle;
use crate::state::State;
use megatron_memory::config::fields::FieldId;
use megatron_memory::config::validate;
use megatron_memory::fit::Sweep;
use megatron_memory::formats::state::{PresetRef, Setup};
use megatron_memory::report::caption::job_words;
use megatron_memory::report::curves::{Curve, MOST_CURVES};

/// The lines of a setting, and whether they are there. They are worked out anew when the reader pauses after a change;
/// the earlier ones stay until then.
pub(super) fn curves_of(id: FieldId, has_pinned: bool) -> (RwSignal<Vec<Curve>>, RwSignal<bool>) {
    let state = expect_context::<State>();
    let (curves, is_done) = (RwSignal::new(Vec::new()), RwSignal::new(false));
    let track = move || {
        state.setup.track();
        state.form.module.track();
        if has_pinned {
            state.pinned.track();
        }
    };
    let start = move || {
        let mut open = Vec::new();
        if has_pinned {
            let pinned = state.pinned.read();
            let shown = pinned.len().min(MOST_CURVES - 1);
            // Lines are worked out from the last one to the first.
            for (number, pinned) in pinned.iter().take(shown).enumerate().rev() {
                let number = number + 1;
                let role = if shown > 1 {
                    format!("Pinned {number}")
                } else {
                    String::from("Pinned")
                };
                open.extend(curve(pinned, &role, state.form.module.get(), id, None));
            }
        }
        let derived = state.derived_value(id);
        open.extend(curve(&state.setup.get(), "", state.form.module.get(), id, derived));
        (open, Vec::new())
    };
    when_idle(track, start, move |(open, done): &mut (Vec<Curve>, Vec<Curve>)| {
        let Some(curve) = open.last_mut() else {
            if *curves.read_untracked() != *done {
                curves.set(core::mem::take(done));
            }
            is_done.set(true);
            return true;
        };
        if curve.sweep.step() {
            // A pinned job that runs with no value has no line.
            let has_points = |curve: &Curve| !curve.sweep.points.is_empty() || done.is_empty();
            let line = open.pop().filter(has_points);
            done.extend(line);
        }
        false
    });
    (curves, is_done)
}

/// A line that has no points yet.
fn curve(setup: &Setup, role: &str, module: usize, id: FieldId, derived: Option<u64>) -> Option<Curve> {
    let sweep = Sweep::new(&setup.job, module, id, derived)?;
    let model = setup.preset.as_ref().and_then(PresetRef::label);
    let config = validate(&setup.job).config;
    let job = config.map_or_else(
        || model.unwrap_or("Own model").to_owned(),
        |config| job_words(&config, model),
    );
    let name = if role.is_empty() { job } else { format!("{role}: {job}") };
    Some(Curve { name, sweep })
}

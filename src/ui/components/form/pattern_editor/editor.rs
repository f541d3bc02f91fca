//! The pattern as the parts of the editor see it.

use core::ops::Range;

use leptos::prelude::*;

use super::edit::{Edit, LayerPosition, PatternPart};
use super::rows::{StageRow, chunks_without_borders, stage_rows};
use crate::state::State;
use megatron_memory::config::fields::FieldId;
use megatron_memory::config::hybrid_pattern::{HybridPattern, LayerSymbol};
use megatron_memory::value::Value;

/// The field that the editor edits.
pub(super) const FIELD: FieldId = FieldId::hybrid_layer_pattern;

/// The pattern as the parts of the editor see it. A handle: copies share the same signals.
#[derive(Clone, Copy)]
pub(super) struct Editor {
    pub(super) state: State,
    /// The pattern of the edited module, or the last one that could be read; `None` where the field is empty.
    pub(super) pattern: Memo<Option<HybridPattern>>,
    /// Whether the text of the field is no pattern, so that `pattern` is an earlier one.
    pub(super) unreadable: Memo<bool>,
    /// The kinds of all layers.
    pub(super) layers: Memo<Layers>,
    /// The layers by pipeline chunk, and those of an MTP depth.
    pub(super) rows: Memo<Vec<StageRow>>,
    /// The layer that was last focused. Another edit may have removed it since.
    pub(super) focused: RwSignal<LayerPosition>,
    /// The layer that keys and palette edit: the one that was last focused, or else the last of its part.
    pub(super) current: Memo<LayerPosition>,
}

impl Editor {
    pub(super) fn new(state: State) -> Self {
        let text = Memo::new(move |_| match state.value(FIELD) {
            None | Some(Value::Null) => None,
            Some(Value::Text(text)) => Some(text),
            Some(value) => Some(value.to_string()),
        });
        let last_read = Memo::new(move |last: Option<&(usize, Option<HybridPattern>)>| {
            let module = state.form.module.get();
            let read = text.read().as_ref().map(|text| text.parse());
            let pattern = match (read, last) {
                (Some(Ok(pattern)), _) => Some(pattern),
                (Some(Err(_)), Some((last_module, last))) if *last_module == module => last.clone(),
                _ => None,
            };
            (module, pattern)
        });
        let pattern = Memo::new(move |_| last_read.get().1);
        let unreadable = Memo::new(move |_| {
            let text = text.read();
            let read = text.as_ref().map(|text| text.parse::<HybridPattern>());
            read.is_some_and(|read| read.is_err())
        });
        let layers = Memo::new(move |_| Layers::of(pattern.read().as_ref()));
        let rows = Memo::new(move |_| {
            let pattern = pattern.read();
            let pp = state.number(FieldId::pipeline_model_parallel_size);
            let pp = pp.unwrap_or(1);
            let rows = pattern.as_ref().map(|pattern| {
                let split = chunks_without_borders(state, pattern, pp);
                stage_rows(pattern, split, pp)
            });
            rows.unwrap_or_default()
        });
        let focused = RwSignal::new(LayerPosition::FIRST);
        let current = Memo::new(move |_| layers.read().nearest(focused.get()));
        Self {
            state,
            pattern,
            unreadable,
            layers,
            rows,
            focused,
            current,
        }
    }

    /// Makes a change to the pattern, in one step to undo, and says what has changed. `false` where it is refused.
    pub(super) fn apply(self, edit: Edit) -> bool {
        let pattern = self.pattern.get_untracked();
        let Some(pattern) = pattern else {
            return false;
        };
        match edit.apply(&pattern) {
            Ok(edited) => {
                self.state.set(FIELD, Value::Text(edited.pattern.to_string()));
                if let Some(current) = edited.current {
                    self.focused.set(current);
                }
                self.state.toasts.announce(edited.message);
                true
            }
            Err(refusal) => {
                self.state.toasts.tell(refusal.to_string());
                false
            }
        }
    }

    /// The layers of the row that a layer is in.
    pub(super) fn row_of(self, layer: LayerPosition) -> Option<Range<usize>> {
        let rows = self.rows.read();
        let mut rows = rows.iter();
        let row = rows.find(|row| row.part == layer.part && row.layers.contains(&layer.index));
        row.map(|row| row.layers.clone())
    }

    /// Whether there is a `|` behind the current layer.
    pub(super) fn ends_segment(self) -> bool {
        let pattern = self.pattern.read();
        let last = self.layers.read().decoder.len();
        let current = self.current.get();
        let segments = pattern.as_ref().map(HybridPattern::segments);
        let mut end = 0;
        let mut ends = segments.unwrap_or_default().iter().map(|segment| {
            end += segment.len();
            end
        });
        let behind = current.index + 1;
        current.part == PatternPart::Decoder && behind < last && ends.any(|end| end == behind)
    }

    /// The current layer, and its kind.
    pub(super) fn current_symbol(self) -> (LayerPosition, Option<LayerSymbol>) {
        // `current` follows from `layers`: an effect that reads a memo after what follows from it misses changes.
        let layers = self.layers.read();
        let current = self.current.get();
        (current, layers.symbol(current))
    }

    /// The kind of a layer.
    pub(super) fn symbol(self, layer: LayerPosition) -> Option<LayerSymbol> {
        self.layers.read().symbol(layer)
    }
}

/// The kinds of the layers of a pattern.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Layers {
    pub(super) decoder: Vec<LayerSymbol>,
    /// The layers of one MTP depth.
    pub(super) mtp: Vec<LayerSymbol>,
}

impl Layers {
    pub(super) fn of(pattern: Option<&HybridPattern>) -> Self {
        pattern.map_or_else(Self::default, |pattern| Self {
            decoder: pattern.layers().collect(),
            mtp: pattern.mtp().to_vec(),
        })
    }

    pub(super) fn part(&self, part: PatternPart) -> &[LayerSymbol] {
        match part {
            PatternPart::Decoder => &self.decoder,
            PatternPart::Mtp => &self.mtp,
        }
    }

    pub(super) fn symbol(&self, layer: LayerPosition) -> Option<LayerSymbol> {
        self.part(layer.part).get(layer.index).copied()
    }

    /// The layer itself where it exists, or else the last of its part, or of the decoder.
    pub(super) fn nearest(&self, layer: LayerPosition) -> LayerPosition {
        let part = match layer.part {
            PatternPart::Mtp if self.mtp.is_empty() => PatternPart::Decoder,
            part => part,
        };
        let last = self.part(part).len().saturating_sub(1);
        let index = if part == layer.part {
            layer.index.min(last)
        } else {
            last
        };
        LayerPosition { part, index }
    }

    /// All layers in the order of the cells.
    pub(super) fn all(&self) -> impl Iterator<Item = LayerPosition> {
        let of = |part, count| (0..count).map(move |index| LayerPosition { part, index });
        of(PatternPart::Decoder, self.decoder.len()).chain(of(PatternPart::Mtp, self.mtp.len()))
    }
}

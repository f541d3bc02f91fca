//! Where the rows of the table stand, in pixels and in the count of screen readers: all layouts are equally high, and so
//! are the lines that part their groups.

use megatron_memory::search::{GroupStart, LayoutTable};

/// The height of the row of a layout in pixels, as in the style sheet.
const ROW: usize = 44;
/// The same in a narrow window, where each layout is a card.
const CARD: usize = 232;
/// The height of the line before a group, in any window.
const LINE: usize = 44;

/// The rows of the table.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Rows {
    /// How many layouts there are.
    pub(super) layouts: usize,
    /// The groups with a line before them, in their order.
    pub(super) groups: Vec<GroupStart>,
}

/// The height of a layout in pixels.
pub(super) fn layout_height(is_narrow: bool) -> usize {
    if is_narrow { CARD } else { ROW }
}

impl Rows {
    pub(super) fn of(table: &LayoutTable) -> Self {
        Self {
            layouts: table.len(),
            groups: table.groups(),
        }
    }

    /// The first layout in sight where so many pixels are scrolled out of sight, with layouts of this height.
    pub(super) fn at(&self, pixels: usize, height: usize) -> usize {
        // Of the layout behind a line, the line is a part.
        let lines = self.groups.iter().zip(1..);
        let passed = lines.take_while(|(group, lines)| group.place * height + lines * LINE <= pixels);
        (pixels - passed.count() * LINE) / height
    }

    /// The pixels above a layout and the line before it.
    pub(super) fn above(&self, place: usize, height: usize) -> usize {
        place * height + self.lines(|start| start < place) * LINE
    }

    /// The pixels below the layout before this place.
    pub(super) fn below(&self, place: usize, height: usize) -> usize {
        self.layouts.saturating_sub(place) * height + self.lines(|start| start >= place) * LINE
    }

    /// The group that begins with a layout.
    pub(super) fn group(&self, place: usize) -> Option<GroupStart> {
        self.groups.iter().copied().find(|group| group.place == place)
    }

    /// How many rows there are, with the head.
    pub(super) fn count(&self) -> usize {
        1 + self.layouts + self.groups.len()
    }

    /// The number of a layout's row, counted from 1 with the head.
    pub(super) fn number(&self, place: usize) -> usize {
        2 + place + self.lines(|start| start <= place)
    }

    fn lines(&self, counts: impl Fn(usize) -> bool) -> usize {
        self.groups.iter().filter(|group| counts(group.place)).count()
    }
}

#[cfg(test)]
mod tests {
    use megatron_memory::search::{GroupStart, Room};
    use wasm_bindgen_test::wasm_bindgen_test;

    use super::{CARD, LINE, ROW, Rows};

    #[wasm_bindgen_test(unsupported = test)]
    fn every_row_stands_where_those_before_it_end() {
        let group = |room, place| GroupStart { room, place };
        for groups in [
            vec![],
            vec![group(Room::Little, 0)],
            vec![group(Room::Little, 3), group(Room::Tight, 4), group(Room::Missing, 9)],
        ] {
            let rows = Rows { layouts: 12, groups };
            for height in [ROW, CARD] {
                let (mut pixels, mut number) = (0, 1);
                let all = rows.below(0, height);
                for place in 0..rows.layouts {
                    assert_eq!(rows.above(place, height), pixels);
                    assert_eq!(rows.above(place, height) + rows.below(place, height), all);
                    let line = rows.group(place).map_or(0, |_| LINE);
                    number += 1 + usize::from(line > 0);
                    assert_eq!(rows.number(place), number);
                    for within in [pixels, pixels + line, pixels + line + height - 1] {
                        assert_eq!(rows.at(within, height), place, "{within} of {rows:?}");
                    }
                    pixels += line + height;
                }
                assert_eq!((rows.below(rows.layouts, height), pixels), (0, all));
                assert_eq!(rows.count(), number);
            }
        }
    }
}

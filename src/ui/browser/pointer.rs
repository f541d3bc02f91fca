//! The cell of a grid or the column of a table that the pointer is over, and whether a mouse moves it.

use wasm_bindgen::JsCast;
use web_sys::{Element, Event, HtmlTableCellElement, MouseEvent, PointerEvent};

/// Whether a mouse moves the pointer. A finger points at nothing before it taps, and leaves nothing when it is lifted.
pub(crate) fn is_mouse(event: &PointerEvent) -> bool {
    event.pointer_type() == "mouse"
}

/// The column and row that the pointer is in, where the element that handles the event is divided into `columns` and
/// `rows` of equal size.
pub(crate) fn pointer_cell(event: &MouseEvent, columns: u32, rows: u32) -> Option<(u32, u32)> {
    let element: Element = event.current_target()?.dyn_into().ok()?;
    let bounds = element.get_bounding_client_rect();
    Some((
        cell(event.client_x(), bounds.left(), bounds.width(), columns),
        cell(event.client_y(), bounds.top(), bounds.height(), rows),
    ))
}

/// Which of `cells` equal parts of a length a coordinate is in; the nearest one where it is outside.
#[allow(
    clippy::float_arithmetic,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "browsers measure in fractions of pixels, and a conversion from a float stops at the ends of its type"
)]
fn cell(at: i32, start: f64, length: f64, cells: u32) -> u32 {
    let cell = (f64::from(at) - start) * f64::from(cells) / length.max(1.0);
    (cell as u32).min(cells.saturating_sub(1))
}

/// The number, within its row, of the table cell that an event happened in.
pub(crate) fn table_column(event: &Event) -> Option<usize> {
    let target: Element = event.target()?.dyn_into().ok()?;
    let cell = target.closest("td, th").ok().flatten()?;
    let cell: HtmlTableCellElement = cell.dyn_into().ok()?;
    usize::try_from(cell.cell_index()).ok()
}

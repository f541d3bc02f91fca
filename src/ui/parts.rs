//! Parts that many components of the page are made of.

mod button;
mod copy_button;
mod deferred;
mod dialog;
mod file_button;
mod panel;
mod table;

pub use button::{ActionButton, OpenButton};
pub use copy_button::CopyButton;
pub use deferred::{Deferred, deferred_memo, when_idle};
pub use dialog::Dialog;
pub use file_button::FileButton;
pub use panel::{Panel, PanelHead};
pub use table::{MoreHeadings, ScrollBox, Table, text_cells};

//! Parts that many components of the page are made of.

mod button;
mod copy_button;
mod deferred;
mod dialog;
mod file_button;
mod in_turn;
mod near_first;
mod panel;
mod signal_on_change;
mod table;
mod tabs;
mod toolbar;
mod unsubscribe;

pub use button::{ActionButton, OpenButton};
pub use copy_button::CopyButton;
pub use deferred::{Deferred, InSight, deferred_signal, next_task, when_idle};
pub use dialog::Dialog;
pub use file_button::FileButton;
pub use in_turn::{InTurn, Turns};
pub use near_first::{NearFirst, Part};
pub use panel::{Panel, PanelHead};
pub use signal_on_change::signal_on_change;
pub use table::{MoreHeadings, ScrollBox, Table, text_cells};
pub use tabs::TabList;
pub use toolbar::Toolbar;
pub use unsubscribe::passing_memo;

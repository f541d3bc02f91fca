//! The components of the page, one file a component or a panel of them.

pub mod footer;
pub mod form;
pub mod header;
pub mod help_dialog;
pub mod lay_out;
mod modal;
mod module_list;
mod preset_picker;
pub mod settings_pane;
pub mod toasts;

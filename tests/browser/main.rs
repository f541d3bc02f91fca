//! Tests of the built page, `dist/`, in a real browser: what a visitor sees, types and is told.
//!
//! `cargo xtask test` builds the page first. Alone, after a build:
//! `cargo test --package browser-tests`.
//!
//! | What is tested | Where |
//! | --- | --- |
//! | typing, pasting, stepping, resetting, undo, search for a field | `form` |
//! | problems: where they stand, in how many words, with which ways out | `form`, `wording`, `verdict` |
//! | verdict, free memory, units | `verdict` |
//! | buckets, groups, their colors to eyes without green cones; explanations | `groups`, `peaks` |
//! | what is pointed at, focused or tapped | `readout`, `wording` |
//! | the table; the tab key; clipboard, storage, network or a second tab; dark, still and forced colors | `surroundings` |
//! | comparison, plots, plans, other GPUs, logs | `form`, `dialogs`, `plans` |
//! | what newcomers come for, in how many actions; the height and the words of the first view | `tasks` |
//! | making a job fit, layouts, methods | `fit`, `search`, `methods` |
//! | links, history, broken links | `link` |
//! | import, export, the Hub | `dialogs` |
//! | several modules, ranks, patterns | `modules`, `pattern` |
//! | axe, reflow, fingers, long words in both directions, paper | `accessibility` |
//! | loading, no scripts, no wasm, panics, the report | `loading`, `first_view` |
//! | embeds, any folder of any host, Firefox | `embed`, `files`, `firefox` |
//! | generated pages | `evidence`, `recipes`, `docs`, `site` |
//! | memory of the page itself | `heap` |

use browser::{page, server, site, webdriver};

mod accessibility;
mod dialogs;
mod docs;
mod embed;
mod evidence;
mod fewest_gpus;
mod files;
mod firefox;
mod first_view;
mod fit;
mod form;
mod groups;
mod heap;
mod link;
mod loading;
mod methods;
mod modules;
mod offline;
mod pattern;
mod peaks;
mod plans;
mod readout;
mod recipes;
mod search;
mod surroundings;
mod tasks;
mod verdict;
mod wording;

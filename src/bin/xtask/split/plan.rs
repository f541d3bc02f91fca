//! Which functions the second part has.

use std::collections::{BTreeMap, BTreeSet};

use walrus::{ExportItem, ImportKind, Module};

use super::border::{calls, pointers};

/// The functions of the second part, by number: those whose names speak of one of the paths of `later`, and those
/// that only they call.
///
/// What the module exports or imports stays in any case. What stands in the table may be called by anybody, so that it
/// goes only by its name.
pub(super) fn second_part(module: &Module, later: &[&str]) -> BTreeSet<usize> {
    let fixed = fixed(module);
    let named = module.funcs.iter_local().filter_map(|(id, _)| {
        let name = module.funcs.get(id).name.as_deref()?;
        speaks_of(name, later).then_some(id.index())
    });
    let mut second: BTreeSet<usize> = named.filter(|id| !fixed.contains(id)).collect();
    let mut callers: BTreeMap<usize, BTreeSet<usize>> = BTreeMap::new();
    for (caller, called) in calls(module).filter(|(caller, called)| caller != called) {
        callers.entry(called).or_default().insert(caller);
    }
    callers.retain(|called, _| !fixed.contains(called));
    for (_, function) in pointers(module) {
        callers.remove(&function.index());
    }
    loop {
        let before = second.len();
        for (called, callers) in &callers {
            if callers.is_subset(&second) {
                second.insert(*called);
            }
        }
        if second.len() == before {
            return second;
        }
    }
}

/// Whether a function's name speaks of one of these paths: it is in there, belongs to a type from there, or is code that
/// was made for one, such as a list of them or an iterator with a closure from there.
fn speaks_of(name: &str, later: &[&str]) -> bool {
    let name = plain(name);
    let in_path = |c: char| c.is_ascii_alphanumeric() || c == '_';
    later.iter().any(|path| {
        let mut found = name.match_indices(path);
        found.any(|(at, _)| {
            let (before, after) = (name.get(..at), name.get(at + path.len()..));
            !before.is_some_and(|before| before.ends_with(in_path))
                && !after.is_some_and(|after| after.starts_with(in_path))
        })
    })
}

/// `crate[0123456789abcdef]::x` as `crate::x`, and methods `<crate::X>::y` as `crate::X::y`.
fn plain(name: &str) -> String {
    let mut text = String::new();
    for (at, piece) in name.split('[').enumerate() {
        let after = piece
            .split_once("]::")
            .filter(|(hash, _)| hash.bytes().all(|b| b.is_ascii_hexdigit()));
        match after {
            Some((_, after)) if at > 0 => text.extend(["::", after]),
            _ => text.extend([if at > 0 { "[" } else { "" }, piece]),
        }
    }
    text.replace(">::", "::")
}

/// What the first part must have: imports, exports, and what runs at the start.
fn fixed(module: &Module) -> BTreeSet<usize> {
    let exported = module
        .exports
        .iter()
        .filter_map(|export| match export.item {
            ExportItem::Function(id) => Some(id),
            _ => None,
        });
    let imported = module
        .imports
        .iter()
        .filter_map(|import| match import.kind {
            ImportKind::Function(id) => Some(id),
            _ => None,
        });
    let all = exported.chain(imported).chain(module.start);
    all.map(|id| id.index()).collect()
}

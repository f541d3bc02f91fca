//! How large a group of files of one room may be that import each other in a circle.
//!
//! A file imports another where a `use`, or a path in its code, leads to something that the other file defines. What a
//! path leads to is found as the compiler finds it: through modules, and through the `pub use` of a module to the file
//! that the name comes from. So a file that only declares its children with `mod` and re-exports their names imports
//! none of them, while one that also calls them does. Tests within a file do not count.

use std::collections::{BTreeMap, BTreeSet};

use super::rust_files;

/// Files of one room that may import each other in a circle.
const MOST: usize = 8;

/// Packages of the workspace that have rooms of their own: `crate` in them leads to the room.
const PACKAGES: [&str; 3] = ["api", "search_worker", "ui"];

/// A path of names from the root of the library, or of a package behind its name.
type Path = Vec<String>;

/// One file: what it imports, and which names it re-exports from where.
#[derive(Default)]
struct File {
    imports: Vec<Path>,
    exports: BTreeMap<String, Path>,
}

#[test]
fn circles_of_imports_are_small() {
    let files = files();
    let imports: BTreeMap<&Path, BTreeSet<&Path>> = files
        .iter()
        .map(|(path, file)| (path, targets(&files, path, file)))
        .collect();
    assert!(
        imports.values().map(BTreeSet::len).sum::<usize>() > 2000,
        "the imports are not read"
    );
    let mut largest: BTreeMap<&str, Vec<String>> = BTreeMap::new();
    for path in files.keys() {
        let circle: Vec<String> = circle(&imports, path).iter().map(|file| file.join("/")).collect();
        let known = largest.entry(&path[0]).or_default();
        if circle.len() > known.len() {
            *known = circle;
        }
    }
    for (room, circle) in largest {
        assert!(
            circle.len() <= MOST,
            "{} files of {room} import each other: {circle:#?}",
            circle.len()
        );
    }
}

/// All files of the library, the page, its worker and the JavaScript API.
fn files() -> BTreeMap<Path, File> {
    let entries = [
        "src/lib.rs",
        "src/api/main.rs",
        "src/search_worker/main.rs",
        "src/ui/main.rs",
        "src/ui/light_embed.rs",
    ];
    let binary = |path: &str| path.starts_with("src/bin/") || entries.contains(&path);
    let texts = rust_files("src").into_iter().filter(|(path, _)| !binary(path));
    texts
        .map(|(path, text)| {
            let below = path.trim_start_matches("src/").trim_end_matches(".rs");
            let mut path: Path = below.split('/').map(str::to_owned).collect();
            // The root of a package.
            path.pop_if(|name| matches!(name.as_str(), "lib" | "main"));
            let file = read(&path, &code(&text));
            (path, file)
        })
        .collect()
}

/// A file's text without comments, the tests at its end, and the modules that visibilities such as `pub(in path)` name.
fn code(text: &str) -> String {
    let text = text.split("#[cfg(test)]\nmod ").next().unwrap();
    let mut parts = text.split("pub(in ");
    let first = parts.next().unwrap().to_owned();
    let text = parts.fold(first, |text, part| text + "pub(" + &part[part.find(')').unwrap()..]);
    let lines = text.lines().map(|line| {
        if line.trim_start().starts_with("//") {
            ""
        } else {
            line.split(" // ").next().unwrap()
        }
    });
    lines.collect::<Vec<_>>().join("\n")
}

fn read(path: &Path, code: &str) -> File {
    let mut file = File::default();
    let mut children = BTreeSet::new();
    let mut rest = String::new();
    let mut uses = Vec::new();
    for statement in code.split_inclusive(';') {
        let start = statement.rfind('\n').map_or(0, |last| last + 1);
        let start = statement
            .find("use ")
            .filter(|at| is_item(statement, *at))
            .map_or(start, |at| line_start(statement, at));
        let (before, item) = statement.split_at(start);
        let (is_public, item) = visibility(item);
        if let Some(name) = item.strip_prefix("mod ") {
            children.insert(name.trim_end_matches(';').trim().to_owned());
            rest.push_str(before);
        } else if let Some(tree) = item.strip_prefix("use ") {
            uses.push((is_public, tree.trim_end_matches(';').to_owned()));
            rest.push_str(before);
        } else {
            rest.push_str(statement);
        }
    }
    for (is_public, tree) in uses {
        for imported in leaves(&tree) {
            let (imported, alias) = imported.split_once(" as ").unwrap_or((&imported, ""));
            let Some(target) = absolute(path, &children, imported) else {
                continue;
            };
            // Names of the file's own children that others get from here.
            if is_public && target.len() > path.len() && target.starts_with(path) {
                let name = if alias.is_empty() {
                    target.last().unwrap().clone()
                } else {
                    alias.trim().to_owned()
                };
                file.exports.insert(name, target);
            } else {
                file.imports.push(target);
            }
        }
    }
    let paths = rest.split(|c: char| !(c.is_alphanumeric() || c == '_' || c == ':'));
    let paths = paths.filter(|word| word.contains("::"));
    file.imports
        .extend(paths.filter_map(|word| absolute(path, &children, word)));
    file
}

/// Whether the word at a place stands at the start of its line, apart from a visibility.
fn is_item(text: &str, at: usize) -> bool {
    let (_, item) = visibility(&text[line_start(text, at)..]);
    item.starts_with("use ")
}

fn line_start(text: &str, at: usize) -> usize {
    text[..at].rfind('\n').map_or(0, |end| end + 1)
}

/// Whether an item is visible outside of its file, and the item behind its visibility.
fn visibility(item: &str) -> (bool, &str) {
    let item = item.trim_start();
    let Some(behind) = item.strip_prefix("pub") else {
        return (false, item);
    };
    let behind = match behind.strip_prefix('(').and_then(|scope| scope.split_once(')')) {
        Some((_, behind)) => behind,
        None => behind,
    };
    (true, behind.trim_start())
}

/// The paths of a tree such as `a::{b, c::{d, e}}`.
fn leaves(tree: &str) -> Vec<String> {
    let tree = tree.trim();
    let Some((prefix, group)) = tree.split_once('{') else {
        return vec![tree.to_owned()];
    };
    let group = group.rsplit_once('}').map_or(group, |(group, _)| group);
    let mut depth = 0;
    let parts = group.split(|c: char| {
        depth += i32::from(c == '{') - i32::from(c == '}');
        c == ',' && depth == 0
    });
    let parts: Vec<&str> = parts.map(str::trim).filter(|part| !part.is_empty()).collect();
    parts
        .into_iter()
        .flat_map(|part| leaves(&format!("{prefix}{part}")))
        .collect()
}

/// A path of the file at `from` as a path from the root; `None` where it starts with another crate or a local name.
fn absolute(from: &Path, children: &BTreeSet<String>, path: &str) -> Option<Path> {
    let mut names = path
        .split("::")
        .map(str::trim)
        .filter(|name| !name.is_empty())
        .peekable();
    let first = *names.peek()?;
    let mut base = match first {
        "crate" => {
            let room = from.iter().take(1).filter(|room| PACKAGES.contains(&room.as_str()));
            room.cloned().collect()
        }
        "megatron_memory" => Path::new(),
        "super" | "self" => from.clone(),
        child if children.contains(child) => from.clone(),
        _ => return None,
    };
    if matches!(first, "crate" | "megatron_memory" | "self") {
        names.next();
    }
    while names.next_if_eq(&"super").is_some() {
        base.pop();
    }
    base.extend(names.filter(|name| *name != "self").map(str::to_owned));
    Some(base)
}

/// The files of the same room that a file imports.
fn targets<'f>(files: &'f BTreeMap<Path, File>, path: &Path, file: &File) -> BTreeSet<&'f Path> {
    let defined = file.imports.iter().filter_map(|import| defining(files, import, 0));
    defined
        .filter(|target| *target != path && target[0] == path[0])
        .collect()
}

/// The file that defines what a path leads to.
fn defining<'f>(files: &'f BTreeMap<Path, File>, path: &Path, depth: usize) -> Option<&'f Path> {
    let mut at = 0;
    while files.contains_key(&path[..=at.min(path.len() - 1)].to_vec()) && at < path.len() {
        at += 1;
    }
    let (file, content) = files.get_key_value(&path[..at].to_vec())?;
    let exported = path
        .get(at)
        .and_then(|name| content.exports.get(name))
        .filter(|_| depth < 8);
    match exported {
        Some(target) => defining(files, &[target, &path[at + 1..]].concat(), depth + 1),
        None => Some(file),
    }
}

/// The files that a file imports, directly or through others, and that import it in turn; the file is one of them.
fn circle<'f>(imports: &BTreeMap<&'f Path, BTreeSet<&'f Path>>, file: &'f Path) -> Vec<&'f Path> {
    let reached = reach(imports, file);
    reached
        .into_iter()
        .filter(|other| reach(imports, other).contains(file))
        .collect()
}

fn reach<'f>(imports: &BTreeMap<&'f Path, BTreeSet<&'f Path>>, from: &'f Path) -> BTreeSet<&'f Path> {
    let mut reached = BTreeSet::from([from]);
    let mut open = vec![from];
    while let Some(file) = open.pop() {
        open.extend(imports[file].iter().filter(|next| reached.insert(next)));
    }
    reached
}

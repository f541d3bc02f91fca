//! Commands that are written as lists: the `argv` of a process as JSON or Python print it, and the containers of
//! Kubernetes manifests. They become the command line that they amount to.

use crate::formats::node::{Data, Node};
use crate::formats::{python_literal, yaml};

/// How deep the containers of a manifest are looked for.
const MAX_DEPTH: usize = 24;

/// The command line in a list of words or in a manifest; `None` where the text is neither.
pub(super) fn command(text: &str) -> Option<String> {
    let trimmed = text.trim();
    if trimmed.starts_with('[') && trimmed.ends_with(']') {
        let before = text.len() - text.trim_start().len();
        let lines = text.get(..before)?.matches('\n').count();
        let words = words(&python_literal::parse_whole(trimmed))?;
        let has_flag = words.iter().any(|(word, _)| word.contains("--"));
        return has_flag.then(|| {
            let mut line = CommandLine::default();
            for (word, at) in words {
                line.put(&quoted(&word), at.saturating_add(u32::try_from(lines).unwrap_or(0)));
            }
            line.text
        });
    }
    let has = |key: &str| text.lines().any(|line| line.starts_with(key));
    if !has("apiVersion:") || !has("kind:") {
        return None;
    }
    let mut manifest = Manifest::default();
    for document in documents(text) {
        manifest.read(&yaml::parse(&document).ok()?.root, 1, 0);
    }
    manifest.command_line()
}

/// The documents of a YAML file, each on the lines that it has in the file.
fn documents(text: &str) -> Vec<String> {
    let mut documents = vec![String::new()];
    for (number, line) in text.lines().enumerate() {
        if line.trim_end() == "---" {
            documents.push("\n".repeat(number + 1));
        } else if let Some(document) = documents.last_mut() {
            document.push_str(line);
            document.push('\n');
        }
    }
    documents.retain(|document| !document.trim().is_empty());
    documents
}

/// The words of a list of plain values, with their lines.
fn words(node: &Node) -> Option<Vec<(String, u32)>> {
    let Data::List(items) = &node.data else {
        return None;
    };
    let word = |item: &Node| match &item.data {
        Data::Text(text) => Some((text.clone(), item.line)),
        Data::Int(_) | Data::Float(_) => Some((item.to_value().to_string(), item.line)),
        _ => None,
    };
    items.iter().map(word).collect()
}

/// The commands that the pods of a manifest run.
#[derive(Default)]
struct Manifest {
    /// Pods with GPUs.
    pods: u64,
    /// GPUs of each pod.
    gpus: u64,
    /// The words of the longest command, with their lines.
    command: Vec<(String, u32)>,
    /// The environment of the container with that command.
    environment: Vec<(String, String)>,
}

impl Manifest {
    /// Reads the containers below a node, of which there are `pods` copies.
    fn read(&mut self, node: &Node, pods: u64, depth: usize) {
        if depth > MAX_DEPTH {
            return;
        }
        if let Data::List(items) = &node.data {
            for item in items {
                self.read(item, pods, depth + 1);
            }
        }
        let count = |key: &str| match node.get(key).map(|node| &node.data) {
            Some(Data::Int(count)) => u64::try_from(*count).unwrap_or(1),
            _ => 1,
        };
        let pods = pods
            .saturating_mul(count("replicas"))
            .saturating_mul(count("parallelism"));
        let list = |key: &str| node.get(key).and_then(words).unwrap_or_default();
        let mut command = list("command");
        command.extend(list("args"));
        if length(&command) > length(&self.command) {
            self.command = command;
            self.environment = environment(node.get("env"));
        }
        if let Some(gpus) = node.get("resources").and_then(gpus) {
            self.pods = self.pods.saturating_add(pods);
            self.gpus = self.gpus.max(gpus);
        }
        for entry in node.entries() {
            self.read(&entry.node, pods, depth + 1);
        }
    }

    fn command_line(self) -> Option<String> {
        if self.command.is_empty() {
            return None;
        }
        let mut line = CommandLine::default();
        if !self.environment.is_empty() {
            let pairs = self.environment.iter();
            let pairs: Vec<String> = pairs.map(|(name, value)| format!("{name}={}", quoted(value))).collect();
            line.text = format!("export {}; ", pairs.join(" "));
        }
        let first = self.command.first().map_or(1, |(_, at)| *at);
        line.skip_to(first);
        if self.gpus > 0 {
            let Self { pods, gpus, .. } = self;
            let launcher = format!("srun --nodes={pods} --gpus-per-node={gpus} ");
            line.text.push_str(&launcher);
        }
        for (word, at) in &self.command {
            line.put(&expanded(word), *at);
        }
        Some(line.text)
    }
}

/// The characters of a command.
fn length(words: &[(String, u32)]) -> usize {
    words.iter().map(|(word, _)| word.len()).sum()
}

/// The variables of a container's `env` that have a value there.
fn environment(node: Option<&Node>) -> Vec<(String, String)> {
    let Some(Data::List(items)) = node.map(|node| &node.data) else {
        return Vec::new();
    };
    let pair = |item: &Node| {
        let Data::Text(name) = &item.get("name")?.data else {
            return None;
        };
        let value = match &item.get("value")?.data {
            Data::Text(value) => value.clone(),
            other => other.to_value().to_string(),
        };
        is_name(name).then(|| (name.clone(), value))
    };
    items.iter().filter_map(pair).collect()
}

/// The GPUs that `resources` asks for.
fn gpus(resources: &Node) -> Option<u64> {
    let groups = ["limits", "requests"].into_iter();
    let mut entries = groups.filter_map(|group| resources.get(group)).flat_map(Node::entries);
    entries.find_map(|entry| {
        let is_gpu = entry.key.ends_with("/gpu");
        let count = match &entry.node.data {
            Data::Int(count) => u64::try_from(*count).ok(),
            Data::Text(count) => count.parse().ok(),
            _ => None,
        };
        count.filter(|count| is_gpu && *count > 0)
    })
}

/// A command line under construction, whose words stand on lines of the pasted text.
#[derive(Default)]
struct CommandLine {
    text: String,
    /// Whether a word was written.
    started: bool,
    /// The line of the end of the text, counted from 0.
    line: u32,
}

impl CommandLine {
    /// Appends a word on its line. A word that has passed its line stands where the text ends.
    fn put(&mut self, word: &str, line: u32) {
        self.skip_to(line);
        self.text.push_str(word);
        self.text.push(' ');
        self.started = true;
        let lines = word.matches('\n').count();
        self.line = self.line.saturating_add(u32::try_from(lines).unwrap_or(0));
    }

    /// Goes on to a line, counted from 1.
    fn skip_to(&mut self, line: u32) {
        let end = if self.started { "\\\n" } else { "\n" };
        while self.line.saturating_add(1) < line {
            self.text.push_str(end);
            self.line += 1;
        }
    }
}

/// A word as a shell reads it back.
fn quoted(word: &str) -> String {
    let plain = |b: u8| b.is_ascii_alphanumeric() || b"-_=./:,@%+".contains(&b);
    if !word.is_empty() && word.bytes().all(plain) {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', r"'\''"))
}

/// A word of a manifest as a shell reads it back, in which `$(NAME)` is a variable of the container.
fn expanded(word: &str) -> String {
    let Some((before, rest)) = word.split_once("$(") else {
        return quoted(word);
    };
    match rest.split_once(')') {
        Some((name, after)) if is_name(name) && before.len() + after.len() < 1_000 => {
            let after = if after.is_empty() {
                String::new()
            } else {
                expanded(after)
            };
            let before = if before.is_empty() {
                String::new()
            } else {
                quoted(before)
            };
            format!("{before}\"${{{name}}}\"{after}")
        }
        _ => quoted(word),
    }
}

fn is_name(name: &str) -> bool {
    name.starts_with(|c: char| c == '_' || c.is_ascii_alphabetic())
        && name.bytes().all(|b| b == b'_' || b.is_ascii_alphanumeric())
}

//! The text around messages: marks of ranks in front of lines, and the job of a thread without messages and prose.

use super::message;

/// The prefixes that launchers put in front of each line: `[rank3]: `, `(Actor pid=17, ip=10.0.0.2) `, `[default0]:`.
pub(super) fn prefix(line: &str) -> &str {
    let mut rest = line;
    loop {
        let trimmed = rest.trim_start();
        let close = match trimmed.chars().next() {
            Some('[') => ']',
            Some('(') if trimmed.contains("pid=") => ')',
            _ => break,
        };
        let Some((inside, after)) = trimmed.split_once(close) else {
            break;
        };
        let is_mark =
            inside.contains("rank") || inside.contains("pid=") || inside.contains("default") || is_number(inside);
        if !is_mark {
            break;
        }
        rest = after.strip_prefix(':').unwrap_or(after);
        rest = rest.strip_prefix(' ').unwrap_or(rest);
    }
    line.get(..line.len() - rest.len()).unwrap_or_default()
}

fn is_number(mark: &str) -> bool {
    let digits = mark.trim_start_matches(['[', '(']);
    !digits.is_empty() && digits.len() <= 6 && digits.bytes().all(|byte| byte.is_ascii_digit())
}

/// A line without what launchers put in front of it.
pub(super) fn content(line: &str) -> &str {
    line.get(prefix(line).len()..).unwrap_or(line)
}

/// The rank in a line's marks.
pub(super) fn rank(prefix: &str) -> Option<u64> {
    let named = prefix
        .split_once("rank")
        .map(|(_, rest)| rest.trim_start_matches(['=', ':', ' ']));
    let rest = named
        .or_else(|| prefix.trim_start().strip_prefix("[default"))
        .or_else(|| prefix.trim_start().strip_prefix('['))?;
    let end = rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len());
    rest.get(..end)?.parse().ok()
}

/// A text without the messages in it, their tracebacks and the prose of a thread, on the same lines; `None` where it
/// has no message.
pub(in crate::formats) fn without_messages(text: &str) -> Option<String> {
    let lines: Vec<&str> = text.lines().collect();
    let mut drop = vec![false; lines.len()];
    let mut mark = |range: core::ops::Range<usize>| {
        for dropped in drop.iter_mut().skip(range.start).take(range.len()) {
            *dropped = true;
        }
    };
    let mut at = 0;
    let mut found = false;
    let mut traceback: Option<usize> = None;
    while let Some(line) = lines.get(at) {
        if content(line)
            .trim_start()
            .starts_with("Traceback (most recent call last)")
        {
            traceback.get_or_insert(at);
        }
        let Some(message) = message::find(&lines, at) else {
            at += 1;
            continue;
        };
        found = true;
        // A traceback reaches up to its message, unless there is code of another kind between.
        let start = traceback.take().filter(|start| at - start <= 500).unwrap_or(at);
        mark(start..message.end.max(at + 1));
        at = message.end.max(at + 1);
    }
    if !found {
        return None;
    }
    let has_fences = lines
        .iter()
        .any(|line| line.trim_start().starts_with("```") || line.trim_start().starts_with("~~~"));
    let mut out = String::with_capacity(text.len());
    let mut continued = false;
    for (line, dropped) in lines.iter().zip(drop) {
        let is_part = !dropped && prefix(line).is_empty() && (has_fences || continued || !is_prose(line));
        if is_part {
            out.push_str(line);
        }
        continued = is_part && line.trim_end().ends_with('\\');
        out.push('\n');
    }
    Some(out)
}

/// Signs that scripts, YAML and Python have and sentences do not.
const SIGNS: [&str; 9] = ["--", "=", "$", "\\", "{", "}", "`", "|", ": "];
/// Words that begin commands.
const COMMANDS: [&str; 16] = [
    "#",
    "export",
    "python",
    "python3",
    "torchrun",
    "srun",
    "sbatch",
    "bash",
    "sh",
    "megatron",
    "swift",
    "deepspeed",
    "cd",
    "source",
    "ray",
    "set",
];

/// Whether a line is a sentence of a thread: several words, none of the signs of a script.
fn is_prose(line: &str) -> bool {
    let words: Vec<&str> = line.split_whitespace().collect();
    let Some(first) = words.first() else {
        return false;
    };
    let alphabetic = words
        .iter()
        .filter(|word| word.chars().any(char::is_alphabetic))
        .count();
    let is_sentence =
        alphabetic >= 3 && (first.starts_with(char::is_alphabetic) || first.starts_with(['"', '(', '>', '*']));
    let is_quiet = SIGNS.iter().all(|sign| !line.contains(sign));
    let ends_like_one = line.trim_end().ends_with(['.', '?', '!', ':', ',']);
    is_sentence
        && !COMMANDS.contains(first)
        && (is_quiet || ends_like_one && !line.contains("--") && !line.contains('$'))
}

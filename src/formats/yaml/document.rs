//! The parser's events to plain data with lines.

use std::borrow::Cow;
use std::collections::BTreeSet;

use saphyr_parser::{Event, Parser, ScalarStyle, Span, StrInput, Tag};

use super::alias::Anchors;
use super::{MAX_DEPTH, MAX_NOTES, MAX_VALUES, Yaml, YamlError, YamlErrorKind, YamlNote, YamlNoteKind, scalar, tag};
use crate::formats::node::{Data, Entry, Node};

type Result<T> = core::result::Result<T, YamlError>;

/// Reads the first document of a text.
pub(super) fn read(text: &str) -> Result<Yaml> {
    let lines = text.bytes().filter(|&byte| byte == b'\n').count() + 1;
    let mut reader = Reader {
        text,
        parser: Parser::new_from_str(text),
        last_line: u32::try_from(lines).unwrap_or(u32::MAX),
        depth: 0,
        values: 0,
        anchors: Anchors::default(),
        notes: Vec::new(),
    };
    let root = reader.first_document()?;
    reader.note_more_documents();
    Ok(Yaml {
        root,
        notes: reader.notes,
    })
}

/// The anchor and the tag in front of a value.
struct Properties<'t> {
    /// The parser's number of the anchor; zero for none.
    anchor: usize,
    tag: Option<Cow<'t, Tag>>,
}

struct Reader<'t> {
    text: &'t str,
    parser: Parser<'t, StrInput<'t>>,
    /// Number of the text's last line: the parser counts one more behind a line end at the end.
    last_line: u32,
    /// How many lists and maps are open.
    depth: usize,
    /// How many values were read, those of aliases included.
    values: usize,
    anchors: Anchors,
    notes: Vec<YamlNote>,
}

impl<'t> Reader<'t> {
    fn first_document(&mut self) -> Result<Node> {
        loop {
            let (event, line) = self.next()?;
            match event {
                Event::StreamStart | Event::DocumentStart(_) | Event::Nothing => {}
                Event::StreamEnd => {
                    let data = Data::Null;
                    return Ok(Node { line: 1, data });
                }
                _ => {
                    let root = self.node(event, line)?;
                    // What follows the value must end the document, or it is an error of this document.
                    self.next()?;
                    return Ok(root);
                }
            }
        }
    }

    /// Notes that there are more documents, unless nothing stands in them.
    fn note_more_documents(&mut self) {
        let Some(Ok((Event::DocumentStart(_), span))) = self.parser.next_event() else {
            return;
        };
        let content = self.parser.next_event();
        let empty =
            matches!(&content, Some(Ok((Event::Scalar(text, ScalarStyle::Plain, 0, None), _))) if text.is_empty());
        if !empty {
            let line = self.line(span);
            self.note(line, YamlNoteKind::MoreDocuments);
        }
    }

    /// The next event and the line that it starts on.
    fn next(&mut self) -> Result<(Event<'t>, u32)> {
        match self.parser.next_event() {
            Some(Ok((event, span))) => Ok((event, self.line(span))),
            Some(Err(error)) => Err(YamlError {
                line: self.line(Span::empty(*error.marker())),
                kind: YamlErrorKind::of_parser(self.text, &error),
            }),
            None => Ok((Event::StreamEnd, self.last_line)),
        }
    }

    fn line(&self, span: Span) -> u32 {
        let line = u32::try_from(span.start.line()).unwrap_or(u32::MAX);
        line.clamp(1, self.last_line)
    }

    /// The value that starts with an event.
    fn node(&mut self, event: Event<'t>, line: u32) -> Result<Node> {
        let data = match event {
            Event::Alias(anchor) => self.alias(anchor, line)?,
            Event::Scalar(text, style, anchor, tag) => {
                self.count(1, line)?;
                let data = self.scalar(&text, style, tag.as_deref(), line);
                self.keep(anchor, data, line)?
            }
            Event::SequenceStart(anchor, tag) => {
                let properties = Properties { anchor, tag };
                self.collection(properties, line, Self::list)?
            }
            Event::MappingStart(anchor, tag) => {
                let properties = Properties { anchor, tag };
                self.collection(properties, line, Self::map)?
            }
            _ => {
                let kind = YamlErrorKind::Syntax("a value is missing".to_owned());
                return Err(YamlError { line, kind });
            }
        };
        Ok(Node { line, data })
    }

    fn scalar(&mut self, text: &str, style: ScalarStyle, tag: Option<&Tag>, line: u32) -> Data {
        if let Some(tag) = tag.map(tag::written) {
            if let Some(data) = tag::scalar(&tag, text) {
                return data;
            }
            self.note(line, YamlNoteKind::Tag(tag));
        }
        if style != ScalarStyle::Plain {
            return Data::Text(text.to_owned());
        }
        let (data, text_for_python) = scalar::resolve(text);
        if text_for_python {
            self.note(line, YamlNoteKind::TextForPython(text.to_owned()));
        }
        data
    }

    /// A copy of an anchored value. It is counted before it is copied, so that nothing can grow first.
    fn alias(&mut self, anchor: usize, line: u32) -> Result<Data> {
        let size = self.anchors.size(anchor, self.depth);
        let size = size.map_err(|kind| YamlError { line, kind })?;
        self.count(size.values, line)?;
        Ok(self.anchors.copy(anchor))
    }

    /// Keeps a value that has an anchor for its aliases; the copy counts too.
    fn keep(&mut self, anchor: usize, data: Data, line: u32) -> Result<Data> {
        if anchor != 0 {
            let size = self.anchors.keep(anchor, &data);
            self.count(size.values, line)?;
        }
        Ok(data)
    }

    /// A list or a map whose first event was taken; `read` reads what is inside.
    fn collection(
        &mut self,
        properties: Properties,
        line: u32,
        read: impl FnOnce(&mut Self) -> Result<Data>,
    ) -> Result<Data> {
        self.count(1, line)?;
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            let kind = YamlErrorKind::TooDeep;
            return Err(YamlError { line, kind });
        }
        let tag = properties.tag.map(|tag| tag::written(&tag));
        if let Some(tag) = tag.filter(|tag| !tag::is_plain_collection(tag)) {
            self.note(line, YamlNoteKind::Tag(tag));
        }
        let data = read(self)?;
        self.depth -= 1;
        self.keep(properties.anchor, data, line)
    }

    fn list(&mut self) -> Result<Data> {
        let mut items = Vec::new();
        loop {
            match self.next()? {
                (Event::SequenceEnd, _) => return Ok(Data::List(items)),
                (event, line) => items.push(self.node(event, line)?),
            }
        }
    }

    fn map(&mut self) -> Result<Data> {
        let mut entries = Vec::new();
        let mut merged = Vec::new();
        loop {
            let (event, line) = self.next()?;
            if event == Event::MappingEnd {
                return Ok(Data::Map(with_merged(entries, merged)));
            }
            let is_merge_key = matches!(&event, Event::Scalar(text, ScalarStyle::Plain, _, None) if text == "<<");
            let key = self.key(event, line)?;
            let (event, value_line) = self.next()?;
            let node = self.node(event, value_line)?;
            if is_merge_key {
                merged.push(node);
            } else {
                entries.push(Entry { key, line, node });
            }
        }
    }

    /// A key as text, as it is written.
    fn key(&mut self, event: Event<'t>, line: u32) -> Result<String> {
        match event {
            Event::Scalar(text, _, anchor, _) => {
                let text = text.into_owned();
                self.keep(anchor, Data::Text(text.clone()), line)?;
                Ok(text)
            }
            Event::Alias(anchor) => match self.alias(anchor, line)? {
                Data::Text(text) => Ok(text),
                Data::List(_) | Data::Map(_) => Err(complex_key(line)),
                other => Ok(other.to_value().to_string()),
            },
            _ => Err(complex_key(line)),
        }
    }

    fn count(&mut self, values: usize, line: u32) -> Result<()> {
        self.values = self.values.saturating_add(values);
        if self.values > MAX_VALUES {
            let kind = YamlErrorKind::TooMany;
            return Err(YamlError { line, kind });
        }
        Ok(())
    }

    fn note(&mut self, line: u32, kind: YamlNoteKind) {
        if self.notes.len() < MAX_NOTES {
            self.notes.push(YamlNote { line, kind });
        }
    }
}

fn complex_key(line: u32) -> YamlError {
    let kind = YamlErrorKind::ComplexKey;
    YamlError { line, kind }
}

/// The entries of a map behind those of its merge keys (`<<`). The map's own keys count before merged ones, and of
/// several merged maps the first counts; in a [`Data::Map`] it is the last of equal keys that counts.
fn with_merged(own: Vec<Entry>, merged: Vec<Node>) -> Vec<Entry> {
    if merged.is_empty() {
        return own;
    }
    let own_keys: BTreeSet<&str> = own.iter().map(|entry| entry.key.as_str()).collect();
    let mut entries = Vec::new();
    for node in merged.into_iter().rev() {
        append_merged(&mut entries, node);
    }
    entries.retain(|entry: &Entry| !own_keys.contains(entry.key.as_str()));
    drop(own_keys);
    entries.extend(own);
    entries
}

/// Appends the entries of a merged map, or of a list of maps from the last to the first.
fn append_merged(entries: &mut Vec<Entry>, node: Node) {
    match node.data {
        Data::Map(mut merged) => entries.append(&mut merged),
        Data::List(items) => {
            for item in items.into_iter().rev() {
                append_merged(entries, item);
            }
        }
        _ => {}
    }
}

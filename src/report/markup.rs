//! SVG elements as data, which print as XML.

use core::fmt;
use std::borrow::Cow;

/// The text of an element or attribute, borrowed where it is a constant of the program.
pub type Text = Cow<'static, str>;

/// An element.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Markup {
    /// The element's name.
    pub tag: &'static str,
    /// The element's attributes.
    pub attributes: Vec<(&'static str, Text)>,
    /// The element's text, which is used where it has no children.
    pub text: Text,
    /// The elements inside.
    pub children: Vec<Markup>,
}

/// An empty element.
#[must_use]
pub fn tag(tag: &'static str) -> Markup {
    Markup {
        tag,
        ..Markup::default()
    }
}

impl Markup {
    /// The element with one more attribute.
    #[must_use]
    pub fn with(self, name: &'static str, value: impl Into<Text>) -> Self {
        self.attribute(name, value.into())
    }

    fn attribute(mut self, name: &'static str, value: Text) -> Self {
        self.attributes.push((name, value));
        self
    }

    /// The element with an attribute that is there or not, such as `hidden`.
    #[must_use]
    pub fn mark(self, name: &'static str, on: bool) -> Self {
        if on { self.with(name, "") } else { self }
    }

    /// The element with this class, where it is not empty.
    #[must_use]
    pub fn class(self, class: impl Into<Text>) -> Self {
        self.classed(class.into())
    }

    fn classed(self, class: Text) -> Self {
        if class.is_empty() {
            self
        } else {
            self.attribute("class", class)
        }
    }

    /// The element with this text.
    #[must_use]
    pub fn text(mut self, text: impl Into<Text>) -> Self {
        self.text = text.into();
        self
    }

    /// The element with one more child.
    #[must_use]
    pub fn child(mut self, child: Self) -> Self {
        self.children.push(child);
        self
    }

    /// The element with more children.
    #[must_use]
    pub fn children(mut self, children: impl IntoIterator<Item = Self>) -> Self {
        self.children.extend(children);
        self
    }

    fn write(&self, f: &mut fmt::Formatter<'_>, depth: usize) -> fmt::Result {
        write!(f, "{:1$}<{2}", "", depth * 2, self.tag)?;
        for (name, value) in &self.attributes {
            write!(f, " {name}=\"")?;
            escape(f, value)?;
            f.write_str("\"")?;
        }
        if self.children.is_empty() {
            if self.text.is_empty() {
                return f.write_str("/>\n");
            }
            f.write_str(">")?;
            escape(f, &self.text)?;
            return writeln!(f, "</{}>", self.tag);
        }
        f.write_str(">\n")?;
        for child in &self.children {
            child.write(f, depth + 1)?;
        }
        writeln!(f, "{:1$}</{2}>", "", depth * 2, self.tag)
    }
}

/// The element as XML, an element a line.
impl fmt::Display for Markup {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.write(f, 0)
    }
}

fn escape(f: &mut fmt::Formatter<'_>, text: &str) -> fmt::Result {
    use fmt::Write;
    for c in text.chars() {
        match c {
            '&' => f.write_str("&amp;")?,
            '<' => f.write_str("&lt;")?,
            '>' => f.write_str("&gt;")?,
            '"' => f.write_str("&quot;")?,
            // Not allowed in XML at all.
            c if c.is_control() => f.write_str(" ")?,
            c => f.write_char(c)?,
        }
    }
    Ok(())
}

//! A picture without a canvas: shapes with a meaning, in abstract pixels.
//!
//! Coordinates are whole hundredths, so that a picture is the same everywhere, to the last digit. A
//! scene cannot measure text; it assumes [`CHARACTER`] for each one.

use core::fmt;
use core::ops::{Add, AddAssign, Sub};

use super::markup::Text;
use super::target::Target;
use crate::memory::bucket::Bucket;
use crate::parallel::groups::View;

/// A length in hundredths of an abstract pixel.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Px(
    /// The number of hundredths.
    pub i32,
);

/// The assumed width of a character.
pub const CHARACTER: Px = Px(670);

impl Px {
    /// Nothing.
    pub const ZERO: Self = Self(0);

    /// Whole pixels.
    #[must_use]
    pub const fn of(pixels: i32) -> Self {
        Self(pixels.saturating_mul(100))
    }

    /// This length times `part / whole`, rounded to nearest; all of it when `whole` is 0.
    #[must_use]
    pub fn share(self, part: u128, whole: u128) -> Self {
        let (length, whole) = (u128::from(self.0.unsigned_abs()), whole.max(1));
        let part = part.min(u128::MAX >> 40);
        let share = (length * part + whole / 2) / whole;
        Self(i32::try_from(share).unwrap_or(i32::MAX))
    }

    /// The length divided by a count, at least by one.
    #[must_use]
    pub fn over(self, count: usize) -> Self {
        let count = i32::try_from(count.max(1)).unwrap_or(i32::MAX);
        Self(self.0 / count)
    }

    /// The length times a count.
    #[must_use]
    pub fn times(self, count: usize) -> Self {
        Self(
            self.0
                .saturating_mul(i32::try_from(count).unwrap_or(i32::MAX)),
        )
    }

    /// Appends the length in pixels with as few decimals as it needs, such as `12.5`. A picture has thousands of lengths,
    /// and is drawn while somebody types.
    pub fn write(self, text: &mut String) {
        if self.0 < 0 {
            text.push('-');
        }
        let (whole, hundredths) = (self.0.unsigned_abs() / 100, self.0.unsigned_abs() % 100);
        write_digits(whole, text);
        if hundredths > 0 {
            text.push('.');
            write_digits(hundredths / 10, text);
        }
        if hundredths % 10 > 0 {
            write_digits(hundredths % 10, text);
        }
    }

    /// The assumed width of a text.
    #[must_use]
    pub fn of_text(text: &str) -> Self {
        CHARACTER.times(text.chars().count())
    }

    /// The room to leave for words: in other languages, or in other fonts, they take up to two fifths more.
    #[must_use]
    pub fn for_words(text: &str) -> Self {
        Self::of_text(text).times(7).over(5)
    }
}

fn write_digits(number: u32, text: &mut String) {
    if number > 9 {
        write_digits(number / 10, text);
    }
    text.extend(char::from_digit(number % 10, 10));
}

/// As [`Px::write`] does.
impl From<Px> for Text {
    fn from(length: Px) -> Self {
        let mut text = String::new();
        length.write(&mut text);
        text.into()
    }
}

/// As [`Px::write`] does.
impl fmt::Display for Px {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&Text::from(*self))
    }
}

impl Add for Px {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self(self.0.saturating_add(other.0))
    }
}

impl AddAssign for Px {
    fn add_assign(&mut self, other: Self) {
        *self = *self + other;
    }
}

impl Sub for Px {
    type Output = Self;

    fn sub(self, other: Self) -> Self {
        Self(self.0.saturating_sub(other.0))
    }
}

/// What a shape means; styles give it a color.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Class {
    /// Memory of a bucket.
    Bucket(Bucket),
    /// Memory that is in no bucket.
    Other,
    /// Memory that stays free.
    Free,
    /// What is not predicted but allowed for.
    Band,
    /// The line of the fullest moment.
    Peak,
    /// The line of the GPU's memory.
    Gpu,
    /// The name of that line.
    GpuLabel,
    /// A line of the grid.
    Grid,
    /// A number on an axis.
    Tick,
    /// The name of a mark.
    Label,
    /// The number of a mark.
    Value,
    /// A text on top of a bucket's color.
    Inside,
    /// What catches the pointer around a mark.
    Reach,
    /// A stage that fits.
    Stage,
    /// A stage that leaves little room.
    StageTight,
    /// A stage that does not fit.
    StageOver,
    /// A row of a breakdown.
    Row,
    /// A sign on a stage that does not fit.
    Alarm,
}

impl Class {
    /// Style classes, separated by blanks.
    #[must_use]
    pub fn names(self) -> Text {
        Text::Borrowed(match self {
            Self::Bucket(bucket) => return ["bucket bucket-", bucket.id()].concat().into(),
            Self::Other => "bucket bucket-other",
            Self::Free => "free",
            Self::Band => "band",
            Self::Peak => "peak",
            Self::Gpu => "gpu",
            Self::GpuLabel => "gpu-label",
            Self::Grid => "grid",
            Self::Tick => "tick",
            Self::Label => "label",
            Self::Value => "value",
            Self::Inside => "inside",
            Self::Reach => "reach",
            Self::Stage => "stage",
            Self::StageTight => "stage tight",
            Self::StageOver => "stage over",
            Self::Row => "row",
            Self::Alarm => "alarm",
        })
    }

    /// Whether the shape carries a texture besides its color: routed experts share their dense
    /// counterpart's hue and must not be told apart by lightness alone.
    #[must_use]
    pub const fn textured(self) -> bool {
        match self {
            Self::Bucket(bucket) => matches!(bucket.state(), Some((_, View::Expert))),
            _ => false,
        }
    }
}

/// A bucket's class, or that of memory in no bucket.
impl From<Option<Bucket>> for Class {
    fn from(bucket: Option<Bucket>) -> Self {
        bucket.map_or(Self::Other, Self::Bucket)
    }
}

/// Which end of a text is at its place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Anchor {
    /// Its start.
    Start,
    /// Its middle.
    Middle,
    /// Its end.
    End,
}

impl Anchor {
    /// SVG's name for it.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Start => "start",
            Self::Middle => "middle",
            Self::End => "end",
        }
    }
}

/// A shape.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Shape {
    /// A rectangle.
    Rect {
        /// Left edge.
        x: Px,
        /// Top edge.
        y: Px,
        /// Width.
        width: Px,
        /// Height.
        height: Px,
    },
    /// What lies between two outlines, each from left to right.
    Area {
        /// Corners, all the way round.
        corners: Vec<(Px, Px)>,
    },
    /// A straight line.
    Line {
        /// Where it starts: x and y.
        from: (Px, Px),
        /// Where it ends.
        to: (Px, Px),
    },
    /// A text on one line.
    Text {
        /// The anchored end.
        x: Px,
        /// Its base line.
        y: Px,
        /// Which end is anchored.
        anchor: Anchor,
        /// The text.
        text: String,
    },
}

impl Shape {
    /// Whether a place lies within a rectangle; in nothing else.
    #[must_use]
    pub fn holds(&self, (at_x, at_y): (Px, Px)) -> bool {
        match self {
            Self::Rect {
                x,
                y,
                width,
                height,
            } => (*x..*x + *width).contains(&at_x) && (*y..*y + *height).contains(&at_y),
            _ => false,
        }
    }
}

/// A shape with its meaning.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Drawing {
    /// What it means.
    pub class: Class,
    /// What it looks like.
    pub shape: Shape,
    /// What it is about, when it can light up by itself.
    pub target: Option<Target>,
}

impl Drawing {
    /// A rectangle.
    #[must_use]
    pub fn rect(class: Class, (x, y): (Px, Px), (width, height): (Px, Px)) -> Self {
        Self {
            class,
            shape: Shape::Rect {
                x,
                y,
                width,
                height,
            },
            target: None,
        }
    }

    /// An area with these corners, all the way round.
    #[must_use]
    pub fn area(class: Class, corners: Vec<(Px, Px)>) -> Self {
        Self {
            class,
            shape: Shape::Area { corners },
            target: None,
        }
    }

    /// A straight line.
    #[must_use]
    pub fn line(class: Class, from: (Px, Px), to: (Px, Px)) -> Self {
        Self {
            class,
            shape: Shape::Line { from, to },
            target: None,
        }
    }

    /// A text.
    #[must_use]
    pub fn text(class: Class, (x, y): (Px, Px), anchor: Anchor, text: impl Into<String>) -> Self {
        let text = text.into();
        Self {
            class,
            shape: Shape::Text { x, y, anchor, text },
            target: None,
        }
    }

    /// The same, about something.
    #[must_use]
    pub fn about(mut self, target: Target) -> Self {
        self.target = Some(target);
        self
    }
}

/// What can be reached with the keyboard and chosen: a bar or a row with everything on it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mark {
    /// What it means.
    pub class: Class,
    /// What it is about, and what choosing it leads to.
    pub target: Target,
    /// Its data in words.
    pub label: String,
    /// Whether it is the chosen one.
    pub chosen: bool,
    /// What it is drawn with.
    pub drawings: Vec<Drawing>,
}

/// A picture.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Scene {
    /// A name, unique among the pictures of a page.
    pub id: &'static str,
    /// Width of the picture.
    pub width: Px,
    /// Height of the picture.
    pub height: Px,
    /// What it shows.
    pub title: String,
    /// Its message in words.
    pub description: String,
    /// What lies behind the marks.
    pub behind: Vec<Drawing>,
    /// What can be reached and chosen, in reading order.
    pub marks: Vec<Mark>,
    /// What lies before the marks.
    pub before: Vec<Drawing>,
}

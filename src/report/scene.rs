//! Scenes: pictures as data. A scene has shapes with semantic classes, in pixels of its own coordinate system; the page
//! and the SVG export draw them.
//!
//! Coordinates are whole hundredths of a pixel, so that a picture is the same everywhere, to the last digit. A
//! scene cannot measure text; it assumes that every character is [`CHARACTER`] wide.

use core::fmt;
use core::ops::{Add, AddAssign, Sub};

use super::grouping::BucketGroup;
use super::markup::Text;
use super::target::Target;
use super::verdict::Verdict;
use crate::memory::bucket::Bucket;
use crate::parallel::groups::View;

/// A length in hundredths of a pixel.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Px(
    /// The number of hundredths.
    pub i32,
);

/// The assumed width of a character.
pub const CHARACTER: Px = Px(670);

impl Px {
    /// The length 0.
    pub const ZERO: Self = Self(0);

    /// A length of whole pixels.
    #[must_use]
    pub const fn of(pixels: i32) -> Self {
        Self(pixels.saturating_mul(100))
    }

    /// This length times `part / whole`, rounded to nearest; a `whole` of 0 counts as 1.
    #[must_use]
    pub fn share(self, part: u128, whole: u128) -> Self {
        let (length, whole) = (u128::from(self.0.unsigned_abs()), whole.max(1));
        let part = part.min(u128::MAX >> 40);
        let share = (length * part + whole / 2) / whole;
        Self(i32::try_from(share).unwrap_or(i32::MAX))
    }

    /// The length divided by a count; a count of 0 counts as 1.
    #[must_use]
    pub fn over(self, count: usize) -> Self {
        let count = i32::try_from(count.max(1)).unwrap_or(i32::MAX);
        Self(self.0 / count)
    }

    /// The length times a count.
    #[must_use]
    pub fn times(self, count: usize) -> Self {
        Self(self.0.saturating_mul(i32::try_from(count).unwrap_or(i32::MAX)))
    }

    /// Appends the length in pixels with as few decimals as it needs, such as `12.5`. Written without the formatting
    /// machinery, since a picture has thousands of lengths and is drawn at every keystroke.
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

    /// The width to leave for words: 7/5 of the assumed width, since other fonts are up to that much wider.
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

/// The semantic class of a shape, for which style sheets have colors.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Class {
    /// Memory of a bucket.
    Bucket(Bucket),
    /// Memory of a group of buckets.
    Group(BucketGroup),
    /// Memory that is in no bucket.
    Other,
    /// Memory that stays free.
    Free,
    /// The overheads beyond the prediction.
    Band,
    /// The bracket around the range of memory that the device shows.
    DeviceRange,
    /// The line of the peak.
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
    /// An invisible shape that catches the pointer around a mark.
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
    /// The title of a card.
    Heading,
    /// The number of a card.
    Headline,
    /// The verdict of a card.
    Verdict(Verdict),
    /// The line of a job in a plot, by its number; up to 6 look different.
    Curve(usize),
    /// The mark of a value on such a line.
    Dot(usize),
}

impl Class {
    /// The classes in style sheets, separated by spaces.
    #[must_use]
    pub fn names(self) -> Text {
        Text::Borrowed(match self {
            Self::Bucket(bucket) => return ["bucket bucket-", bucket.id()].concat().into(),
            Self::Group(group) => return ["bucket group-", group.id()].concat().into(),
            Self::Other => "bucket bucket-other",
            Self::Free => "free",
            Self::Band => "band",
            Self::DeviceRange => "device-range",
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
            Self::Heading => "heading",
            Self::Headline => "headline",
            Self::Verdict(verdict) => {
                return ["verdict verdict-", verdict.style()].concat().into();
            }
            Self::Curve(number) => return format!("curve curve-{}", number % 6).into(),
            Self::Dot(number) => return format!("dot dot-{}", number % 6).into(),
        })
    }

    /// Whether the shape has a texture besides its color. Buckets of routed experts do: they share the hue of
    /// their dense counterparts, and lightness alone would not tell them apart. Of the activations, which share a hue
    /// too, every other bucket does.
    #[must_use]
    pub const fn textured(self) -> bool {
        match self {
            Self::Bucket(Bucket::ActivationsResidual | Bucket::ActivationsMlp | Bucket::ActivationsOutput) => true,
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

/// The part of a text that is at its x coordinate.
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
    /// A polygon, such as the area between two curves.
    Area {
        /// The corners in order, around the polygon.
        corners: Vec<(Px, Px)>,
    },
    /// A straight line.
    Line {
        /// The start: x and y.
        from: (Px, Px),
        /// The end: x and y.
        to: (Px, Px),
    },
    /// A text on one line.
    Text {
        /// The x coordinate of the anchor.
        x: Px,
        /// The y coordinate of the base line.
        y: Px,
        /// The part of the text that is at `x`.
        anchor: Anchor,
        /// The text.
        text: String,
    },
}

impl Shape {
    /// Whether a point lies within a rectangle; false for other shapes.
    #[must_use]
    pub fn holds(&self, (at_x, at_y): (Px, Px)) -> bool {
        match self {
            Self::Rect { x, y, width, height } => {
                (*x..*x + *width).contains(&at_x) && (*y..*y + *height).contains(&at_y)
            }
            _ => false,
        }
    }
}

/// A shape with its class and target.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Drawing {
    /// The semantic class.
    pub class: Class,
    /// The shape.
    pub shape: Shape,
    /// The target that the drawing shows; `None` for drawings that are only highlighted with their whole mark.
    pub target: Option<Target>,
}

impl Drawing {
    /// A rectangle.
    #[must_use]
    pub fn rect(class: Class, (x, y): (Px, Px), (width, height): (Px, Px)) -> Self {
        Self {
            class,
            shape: Shape::Rect { x, y, width, height },
            target: None,
        }
    }

    /// A polygon with these corners in order.
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

    /// The drawing at another place.
    #[must_use]
    pub fn moved(mut self, right: Px, down: Px) -> Self {
        let moved = |(x, y): (Px, Px)| (x + right, y + down);
        match &mut self.shape {
            Shape::Rect { x, y, .. } | Shape::Text { x, y, .. } => (*x, *y) = moved((*x, *y)),
            Shape::Area { corners } => {
                for corner in corners {
                    *corner = moved(*corner);
                }
            }
            Shape::Line { from, to } => (*from, *to) = (moved(*from), moved(*to)),
        }
        self
    }

    /// The drawing with a target.
    #[must_use]
    pub fn about(mut self, target: Target) -> Self {
        self.target = Some(target);
        self
    }
}

/// A part of a picture that can be focused and chosen: a bar or a row with all its drawings.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mark {
    /// The semantic class.
    pub class: Class,
    /// The target that the mark shows, which choosing it selects.
    pub target: Target,
    /// The mark's data in words.
    pub label: String,
    /// Whether the mark is the chosen one.
    pub chosen: bool,
    /// The mark's drawings.
    pub drawings: Vec<Drawing>,
}

/// A picture.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Scene {
    /// The scene's id, unique among the pictures of a page.
    pub id: &'static str,
    /// Width of the picture.
    pub width: Px,
    /// Height of the picture.
    pub height: Px,
    /// What the picture shows, as a title.
    pub title: String,
    /// The picture's main numbers in a sentence.
    pub description: String,
    /// Drawings behind the marks.
    pub behind: Vec<Drawing>,
    /// The marks in reading order.
    pub marks: Vec<Mark>,
    /// Drawings in front of the marks.
    pub before: Vec<Drawing>,
}

/// The height of a note below a scene.
const NOTE: Px = Px::of(20);

impl Scene {
    /// The scene with a line of text below it. Where the line has no room, only its description has the whole text.
    #[must_use]
    pub fn with_note(mut self, note: &str) -> Self {
        let mut shown = note.to_owned();
        while Px::of_text(&shown) > self.width && shown.pop().is_some() {}
        let base = (Px::ZERO, self.height + NOTE - Px::of(6));
        let drawing = Drawing::text(Class::Alarm, base, Anchor::Start, shown);
        self.before.push(drawing);
        self.height += NOTE;
        self.description = format!("{note}. {}", self.description);
        self
    }
}

//! The shapes of many marks in one element for each meaning, so that a picture of hundreds of shapes follows a keystroke
//! with a dozen changes.
//!
//! It takes marks that catch the pointer with a [`Class::Reach`]: what the pointer is on follows from where it is in there.

use crate::export::svg::{and_more, shape, textured, write_outline};
use crate::report::markup::{Markup, tag};
use crate::report::scene::{Class, Drawing, Mark, Px, Shape};
use crate::report::target::Target;

/// Into how many columns and rows a reach is divided, to tell where the pointer is.
const CELLS: u16 = 999;

/// The class of what is lit, after others.
pub(super) const LIT: &str = " lit";

/// What lies over the reaches of a picture: first the shapes, then the texts.
#[derive(Default)]
pub(super) struct Layers {
    shapes: Vec<Layer>,
    texts: Vec<Markup>,
}

/// All shapes of a meaning.
struct Layer {
    class: Class,
    lit: &'static str,
    path: String,
}

/// The element of a mark's reach, at the place `i`; none for a mark that catches the pointer with all that it shows.
pub(super) fn reach(mark: &Mark, i: usize) -> Option<Markup> {
    let drawing = mark.drawings.first()?;
    let cells = CELLS.to_string();
    (drawing.class == Class::Reach).then(|| {
        shape(drawing, "")
            .with("data-at", i.to_string())
            .with("data-cells", [&cells, " ", &cells].concat())
    })
}

/// What the drawing at a cell of a mark's reach, such as `12,3`, is about.
pub(super) fn part<'a>(mark: &'a Mark, cell: &str) -> Option<&'a Target> {
    let Shape::Rect {
        x,
        y,
        width,
        height,
    } = mark.drawings.first()?.shape
    else {
        return None;
    };
    let (column, row) = cell.split_once(',')?;
    let middle = |start: Px, length: Px, cell: &str| {
        let cell: u128 = cell.parse().ok()?;
        Some(start + length.share(2 * cell + 1, 2 * u128::from(CELLS)))
    };
    let place = (middle(x, width, column)?, middle(y, height, row)?);
    let mut drawings = mark.drawings.iter().filter(|d| d.shape.holds(place));
    drawings.find_map(|drawing| drawing.target.as_ref())
}

impl Layers {
    /// Adds what a mark has besides its reach; `lit` is the class of a drawing that is lit.
    pub(super) fn add(
        &mut self,
        mark: &Mark,
        class: String,
        lit: &dyn Fn(&Drawing) -> &'static str,
    ) {
        let mut texts = tag("g").class(class);
        for drawing in mark.drawings.iter().skip(1) {
            if matches!(drawing.shape, Shape::Text { .. }) {
                texts = texts.child(shape(drawing, ""));
            } else {
                self.write(drawing, lit(drawing));
            }
        }
        self.texts.push(texts);
    }

    fn write(&mut self, drawing: &Drawing, lit: &'static str) {
        let class = drawing.class;
        let mut layers = self.shapes.iter_mut();
        if let Some(layer) = layers.find(|layer| layer.class == class && layer.lit == lit) {
            return write_outline(&drawing.shape, &mut layer.path);
        }
        let mut path = String::new();
        write_outline(&drawing.shape, &mut path);
        self.shapes.push(Layer { class, lit, path });
    }

    /// The elements, with the texture of the picture `id` over what is textured.
    pub(super) fn elements(self, id: &str) -> [Markup; 2] {
        let silent = || tag("g").with("aria-hidden", "true");
        let textures = ["", LIT].into_iter().filter_map(|lit| {
            let over = self.shapes.iter();
            let over = over.filter(|layer| layer.lit == lit && layer.class.textured());
            let path: String = over.map(|layer| layer.path.as_str()).collect();
            (!path.is_empty()).then(|| textured(id, path, lit))
        });
        let textures: Vec<Markup> = textures.collect();
        let shapes = self.shapes.into_iter().map(|layer| {
            tag("path")
                .class(and_more(layer.class.names(), layer.lit))
                .with("d", layer.path)
        });
        [
            silent().children(shapes).children(textures),
            silent().children(self.texts),
        ]
    }
}

//! Pictures as pixels.

use gloo::file::{Blob, ObjectUrl};
use wasm_bindgen::prelude::Closure;
use wasm_bindgen::{JsCast, JsValue};
use wasm_bindgen_futures::JsFuture;
use web_sys::{CanvasRenderingContext2d, HtmlCanvasElement, HtmlImageElement};

use super::{document, files};

/// Pixels of the file for each pixel of the picture: screens with small pixels show two for one.
const SCALE: u32 = 2;

/// Saves an SVG file as a PNG file.
pub(crate) async fn save_png(name: String, svg: String) -> Result<(), JsValue> {
    let blob = Blob::new_with_options(svg.as_str(), Some("image/svg+xml"));
    let url = ObjectUrl::from(blob);
    let image = HtmlImageElement::new()?;
    image.set_src(&url);
    JsFuture::from(image.decode()).await?;
    let element = document().ok_or(JsValue::NULL)?.create_element("canvas")?;
    let canvas: HtmlCanvasElement = element.unchecked_into();
    canvas.set_width(SCALE * image.natural_width());
    canvas.set_height(SCALE * image.natural_height());
    let context = canvas.get_context("2d")?.ok_or(JsValue::NULL)?;
    let context: CanvasRenderingContext2d = context.unchecked_into();
    context.draw_image_with_html_image_element_and_dw_and_dh(
        &image,
        0.0,
        0.0,
        canvas.width().into(),
        canvas.height().into(),
    )?;
    let save = Closure::once_into_js(move |blob: web_sys::Blob| files::save(&name, blob.into()));
    canvas.to_blob_with_type(save.unchecked_ref(), "image/png")
}

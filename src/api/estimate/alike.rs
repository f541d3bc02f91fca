//! One JavaScript object for equal parts of several pipeline stages.

use serde::Serialize;
use wasm_bindgen::prelude::*;

use crate::to_js;
use megatron_memory::memory::overhead::Overhead;
use megatron_memory::memory::parameters::Parameters;
use megatron_memory::memory::peak::PeakMoment;

/// The JavaScript objects of parts that stages may have in common, each made once: making them takes most of the time of a
/// result.
#[derive(Debug, Default)]
pub(super) struct Alike {
    pub(super) parameters: Objects<Parameters>,
    pub(super) moments: Objects<PeakMoment>,
    pub(super) overheads: Objects<Overhead>,
}

/// Values with the objects that they were converted to.
#[derive(Debug)]
pub(super) struct Objects<T>(Vec<(T, Object)>);

impl<T> Default for Objects<T> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

/// A JavaScript object as a part of a result.
#[derive(Clone, Debug, Serialize)]
pub(super) struct Object(#[serde(with = "serde_wasm_bindgen::preserve")] JsValue);

impl<T: Clone + PartialEq> Objects<T> {
    /// The object of a value: that of an equal one before, or what `convert` makes of it.
    pub(super) fn of<'v, S: Serialize>(
        &mut self,
        value: &'v T,
        convert: impl FnOnce(&'v T) -> S,
    ) -> Result<Object, JsValue> {
        // Neighbouring stages are most alike.
        if let Some((_, object)) = self.0.iter().rev().find(|(of, _)| of == value) {
            return Ok(object.clone());
        }
        let object = Object(to_js(&convert(value))?);
        self.0.push((value.clone(), object.clone()));
        Ok(object)
    }
}

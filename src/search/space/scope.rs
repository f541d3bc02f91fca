//! The settings that a space does not vary, with the values that all of its layouts have.

use super::Space;
use crate::config::check;
use crate::config::job::Module;
use crate::memory::savings::choice_of;
use crate::search::axis::{Axis, Pick};
use crate::search::fields::number;
use crate::search::training::Training;

impl Space {
    /// The arguments that could vary and do not, each with the value that it has in all layouts. Sizes of experts are
    /// left out where the model has none.
    #[must_use]
    pub fn left_alone(&self) -> Vec<(Axis, String)> {
        let config = check(&self.given).config;
        let m = config.as_ref().and_then(|config| config.modules().get(self.module));
        let varies = |axis: &Axis| self.dimensions.iter().any(|dimension| dimension.axis == *axis);
        let has = |axis: &Axis| self.experts || !matches!(axis, Axis::Expert | Axis::ExpertTensor);
        let alone = Axis::ALL.into_iter().filter(|axis| !varies(axis) && has(axis));
        alone.map(|axis| (axis, self.own_value(axis, m))).collect()
    }

    /// The value that the job has of an argument, where `m` is its language model; `None` where Megatron refuses the
    /// job's own layout.
    fn own_value(&self, axis: Axis, m: Option<&Module>) -> String {
        let size = |axis: Axis| number(&self.given, self.module, axis.field()).unwrap_or(1);
        let of_model = |value: fn(&Module) -> String| m.map_or_else(|| "as in the job".to_owned(), value);
        match axis {
            Axis::Gpus => self.world_size.to_string(),
            Axis::Pipeline | Axis::Tensor | Axis::Context | Axis::Expert | Axis::MicroBatch => size(axis).to_string(),
            Axis::ExpertTensor => m
                .map_or_else(|| size(axis), |m| m.derived().expert_tensor_parallel_size)
                .to_string(),
            Axis::Virtual => of_model(|m| m.derived().virtual_pipeline_model_parallel_size.to_string()),
            Axis::Recompute => of_model(|m| choice_of(m).label()),
            Axis::Training => of_model(|m| {
                let own = Training::each(m).into_iter().next();
                own.map_or_else(String::new, |own| Pick::Training(own).label())
            }),
        }
    }
}

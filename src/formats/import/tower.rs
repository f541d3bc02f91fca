//! An encoder of images or sounds beside a language model, before it is a module of the job.

use crate::config::fields::FieldId;
use crate::config::raw::Settings;
use crate::value::Value;

/// The key of a model's file under which its vision tower is, and of the mark while the tower is left out.
pub(in crate::formats) const CONFIG: &str = "vision_config";

/// The key of a model's file under which its audio tower is, and of the mark while the tower is left out.
pub(in crate::formats) const AUDIO: &str = "audio_config";

/// The key of a model's file under which the part is that has the language model and the towers, where another part
/// speaks.
pub(in crate::formats) const THINKER: &str = "thinker_config";

/// The mark of a configuration of Megatron-Bridge while the tower is left out.
pub(in crate::formats) const CLASS: &str = "model._target_";

/// The field that tells how much a tower has to do, where neither the text nor its model says how large images are.
pub(in crate::formats) const TOKENS: FieldId = FieldId::image_tokens_per_sample;

/// The field that tells how much an audio tower has to do, where nobody says how long sounds are.
pub(in crate::formats) const AUDIO_TOKENS: FieldId = FieldId::audio_tokens_per_sample;

/// An encoder of images or sounds, called a tower in models of the Hub.
#[derive(Clone, Debug, PartialEq)]
pub struct Tower {
    /// The fields of the module.
    pub(in crate::formats) settings: Settings,
    /// The width of what it gives to the language model.
    pub(in crate::formats) output: Option<Value>,
    /// How many of the tower's layers the backward pass recomputes.
    pub(in crate::formats) recompute: Recompute,
    /// Whether the language model is not trained.
    pub(in crate::formats) language_frozen: bool,
    /// The field that the text does not give.
    pub(in crate::formats) asks: Option<FieldId>,
    /// The key of the mark that the job has while the tower is left out.
    pub(in crate::formats) mark: &'static str,
    /// Other keys, without their sections, that say something about the tower.
    pub(in crate::formats) honoured: &'static [&'static str],
}

/// Whether and how a framework builds a tower.
pub(in crate::formats) enum Outcome {
    /// It is built.
    Built(Tower),
    /// The framework builds the language model alone.
    LeftOut,
    /// The framework builds it in a way that is not followed.
    NotFollowed,
    /// The framework builds none.
    NotBuilt,
}

/// How many layers of a tower the backward pass recomputes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::formats) enum Recompute {
    /// As many as of the language model.
    LikeLanguageModel,
    /// All, one at a time.
    Full,
    /// None.
    Nothing,
}

/// The parts of a tower that are not trained.
#[derive(Clone, Copy, Debug)]
pub(in crate::formats) struct Frozen {
    pub(in crate::formats) layers: bool,
    pub(in crate::formats) projector: bool,
}

impl Frozen {
    pub(in crate::formats) const NOTHING: Self = Self {
        layers: false,
        projector: false,
    };
    pub(in crate::formats) const WHOLE: Self = Self {
        layers: true,
        projector: true,
    };
}

impl Tower {
    /// Says which of its parts are not trained.
    pub(in crate::formats) fn freeze(&mut self, frozen: Frozen) {
        self.settings.set(FieldId::frozen, Value::Bool(frozen.layers));
        let id = FieldId::projector_frozen;
        self.settings.set(id, Value::Bool(frozen.projector));
    }

    /// Gives it the width of a language model where its file says none.
    pub(in crate::formats) fn joins(&mut self, language: &Settings) {
        if self.output.is_none() {
            self.output = language.get(FieldId::hidden_size).cloned();
        }
    }

    /// Makes it the module of Hugging Face, which knows nothing of tensor parallelism.
    pub(in crate::formats) fn is_of_hugging_face(&mut self, recompute: Recompute) {
        self.settings.set(FieldId::replicated, Value::Bool(true));
        self.recompute = recompute;
    }

    /// Whether it has gated layers and no table of positions. Megatron-Bridge has no layers of its own for that.
    pub(in crate::formats) fn is_qwen2_5(&self) -> bool {
        self.settings.get(FieldId::swiglu) == Some(&Value::Bool(true))
    }

    /// Whether features of several of its layers go into the language model. Such models of Qwen's make the positions
    /// of images themselves.
    pub(in crate::formats) fn has_deepstack(&self) -> bool {
        let count = self.settings.get(FieldId::deepstack_projectors);
        count.is_some_and(|count| *count != Value::Int(0))
    }

    /// Whether it encodes sounds.
    pub(in crate::formats) fn is_audio(&self) -> bool {
        self.settings.get(FieldId::front_end) == Some(&Value::Text(String::from("audio")))
    }

    /// The field about its images or sounds that still has no value, and so is asked for.
    pub(super) fn open(&self) -> Option<FieldId> {
        self.asks.filter(|id| self.settings.get(*id).is_none())
    }

    /// Sets a field that the user gives, unless it is about the items of another tower.
    pub(in crate::formats) fn answer(&mut self, id: FieldId, value: &Value) {
        let of_others = if self.is_audio() { TOKENS } else { AUDIO_TOKENS };
        if id != of_others {
            self.settings.set(id, value.clone());
        }
    }
}

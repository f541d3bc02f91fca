//! The ways to train a job that a search can vary.

use crate::config::choices::{AdapterType, ShardingStrategy};
use crate::config::fields::FieldId;
use crate::config::job::Module;
use crate::memory::methods::TrainingMethod;
use crate::value::Value;

/// A way to train.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Training {
    /// The job's own, which is none of the others: both adapters and Megatron FSDP, or PyTorch's FSDP2.
    AsGiven,
    /// All weights, with distributed data parallelism.
    Full,
    /// These adapters alone, with distributed data parallelism.
    Adapters(AdapterType),
    /// All weights, with Megatron FSDP that splits this over data-parallel ranks.
    Fsdp(ShardingStrategy),
}

impl Training {
    /// The ways to train a module, its own first. The adapters are `LoRA` where it has none.
    pub(super) fn each(m: &Module) -> Vec<Self> {
        let a = m.args();
        let own = match TrainingMethod::of(m) {
            None => Self::AsGiven,
            Some(TrainingMethod::Full) => Self::Full,
            Some(TrainingMethod::Adapters) => Self::Adapters(a.peft_type),
            Some(TrainingMethod::Fsdp) => Self::Fsdp(a.data_parallel_sharding_strategy),
        };
        let adapters = match a.peft_type {
            AdapterType::None => AdapterType::Lora,
            own => own,
        };
        let strategies = ShardingStrategy::ALL.iter().copied().map(Self::Fsdp);
        let others = [Self::Full, Self::Adapters(adapters)];
        let others = others.into_iter().chain(strategies);
        let others = others.filter(|other| *other != own);
        [own].into_iter().chain(others).collect()
    }

    /// The settings that select the way; null stands for a default.
    #[must_use]
    pub fn settings(self) -> Vec<(FieldId, Value)> {
        let text = |name: &str| Value::Text(name.to_owned());
        let (adapters, strategy) = match self {
            Self::AsGiven => return Vec::new(),
            Self::Full => (Value::Null, None),
            Self::Adapters(adapters) => (text(adapters.name()), None),
            Self::Fsdp(strategy) => (Value::Null, Some(strategy)),
        };
        let fsdp = strategy.map_or(Value::Null, |_| Value::Bool(true));
        let strategy = strategy.map(|strategy| text(strategy.name()));
        let strategy = strategy.map(|name| (FieldId::data_parallel_sharding_strategy, name));
        let settings = [
            (FieldId::peft_type, adapters),
            (FieldId::use_torch_fsdp2, Value::Null),
            (FieldId::use_megatron_fsdp, fsdp),
        ];
        settings.into_iter().chain(strategy).collect()
    }

    /// The way in words.
    #[must_use]
    pub fn label(self) -> String {
        match self {
            Self::AsGiven => "as in the job".to_owned(),
            Self::Full => "in full".to_owned(),
            Self::Adapters(adapters) => format!("{} adapters alone", adapters.name()),
            Self::Fsdp(strategy) => format!("in full, Megatron FSDP {}", strategy.name()),
        }
    }
}

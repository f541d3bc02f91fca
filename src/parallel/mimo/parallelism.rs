//! The parallel sizes and the first rank of one module.

use strum::{EnumCount, VariantArray};

use crate::parallel::groups::{ModelParallel, RankGrids, RankOrder};
use crate::python::{Exception, PythonError};
use crate::variants::all;

/// What can be set for a module, in the order of the framework's class.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, strum::IntoStaticStr, EnumCount, VariantArray)]
#[strum(serialize_all = "snake_case")]
#[expect(missing_docs, reason = "each variant is the argument of its name")]
pub enum Field {
    TensorModelParallelSize,
    PipelineModelParallelSize,
    ContextParallelSize,
    ExpertModelParallelSize,
    ExpertTensorParallelSize,
    DataParallelSize,
    RankOffset,
}

impl Field {
    /// Every field.
    pub const ALL: [Self; <Self as EnumCount>::COUNT] = all(Self::VARIANTS);

    /// Megatron's argument name.
    #[must_use]
    pub fn name(self) -> &'static str {
        self.into()
    }

    /// The key in a component spec.
    #[must_use]
    pub fn key(self) -> &'static str {
        match self {
            Self::TensorModelParallelSize => "tp",
            Self::PipelineModelParallelSize => "pp",
            Self::ContextParallelSize => "cp",
            Self::ExpertModelParallelSize => "ep",
            Self::ExpertTensorParallelSize => "etp",
            Self::DataParallelSize => "dp",
            Self::RankOffset => "rank_offset",
        }
    }
}

/// The parallelism of one module, not necessarily valid.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ModuleParallelism {
    /// TP
    pub tensor_model_parallel_size: i128,
    /// PP
    pub pipeline_model_parallel_size: i128,
    /// CP
    pub context_parallel_size: i128,
    /// EP
    pub expert_model_parallel_size: i128,
    /// ETP
    pub expert_tensor_parallel_size: i128,
    /// DP; `None` until it is derived from the number of ranks.
    pub data_parallel_size: Option<i128>,
    /// The module's first rank.
    pub rank_offset: i128,
}

impl Default for ModuleParallelism {
    fn default() -> Self {
        Self {
            tensor_model_parallel_size: 1,
            pipeline_model_parallel_size: 1,
            context_parallel_size: 1,
            expert_model_parallel_size: 1,
            expert_tensor_parallel_size: 1,
            data_parallel_size: None,
            rank_offset: 0,
        }
    }
}

impl ModuleParallelism {
    /// The value of a field.
    #[must_use]
    pub fn get(&self, field: Field) -> Option<i128> {
        Some(match field {
            Field::TensorModelParallelSize => self.tensor_model_parallel_size,
            Field::PipelineModelParallelSize => self.pipeline_model_parallel_size,
            Field::ContextParallelSize => self.context_parallel_size,
            Field::ExpertModelParallelSize => self.expert_model_parallel_size,
            Field::ExpertTensorParallelSize => self.expert_tensor_parallel_size,
            Field::DataParallelSize => return self.data_parallel_size,
            Field::RankOffset => self.rank_offset,
        })
    }

    /// Sets a field.
    pub fn set(&mut self, field: Field, value: i128) {
        match field {
            Field::TensorModelParallelSize => self.tensor_model_parallel_size = value,
            Field::PipelineModelParallelSize => self.pipeline_model_parallel_size = value,
            Field::ContextParallelSize => self.context_parallel_size = value,
            Field::ExpertModelParallelSize => self.expert_model_parallel_size = value,
            Field::ExpertTensorParallelSize => self.expert_tensor_parallel_size = value,
            Field::DataParallelSize => self.data_parallel_size = Some(value),
            Field::RankOffset => self.rank_offset = value,
        }
    }

    /// TP * CP * PP; EP and ETP split the same ranks again and do not count. The framework calls it
    /// `total_model_parallel_size` too.
    ///
    /// # Errors
    ///
    /// When the product does not fit 128 bits.
    pub fn dense_model_parallel_size(&self) -> Result<i128, PythonError> {
        product(&[
            self.tensor_model_parallel_size,
            self.context_parallel_size,
            self.pipeline_model_parallel_size,
        ])
    }

    /// The number of ranks: TP * CP * PP * DP.
    ///
    /// # Errors
    ///
    /// When DP is not set, or the product does not fit 128 bits.
    pub fn total_ranks(&self) -> Result<i128, PythonError> {
        let dp = self.set_data_parallel_size("total_ranks")?;
        product(&[self.dense_model_parallel_size()?, dp])
    }

    /// EDP: the number of ranks over ETP * EP * PP.
    ///
    /// # Errors
    ///
    /// When DP is not set, the division leaves a rest or is by zero, or a product does not fit 128 bits.
    pub fn expert_data_parallel_size(&self) -> Result<i128, PythonError> {
        self.set_data_parallel_size("expert_data_parallel_size")?;
        let span = product(&[
            self.expert_tensor_parallel_size,
            self.expert_model_parallel_size,
            self.pipeline_model_parallel_size,
        ])?;
        match divide(self.total_ranks()?, span)? {
            (quotient, 0) => Ok(quotient),
            _ => Err(Exception::ValueError.with(
                "total_ranks must be divisible by expert_tensor_parallel_size * expert_model_parallel_size * \
                 pipeline_model_parallel_size.",
            )),
        }
    }

    /// Both views of the module's ranks, as `build_hypercomm_grids` makes them.
    ///
    /// # Errors
    ///
    /// When DP is not set, a size is not positive, ETP * EP * PP does not divide the ranks, or ranks do not
    /// fit 64 bits.
    pub fn rank_grids(&self) -> Result<RankGrids, PythonError> {
        let size = |field: Field| {
            let size = u64::try_from(self.get(field).unwrap_or_default());
            size.map_err(|_| Exception::OverflowError.with(format!("{} does not fit 64 bits", field.name())))
        };
        let model = ModelParallel {
            tp: size(Field::TensorModelParallelSize)?,
            cp: size(Field::ContextParallelSize)?,
            pp: size(Field::PipelineModelParallelSize)?,
            ep: size(Field::ExpertModelParallelSize)?,
            etp: size(Field::ExpertTensorParallelSize)?,
        };
        let ranks = u64::try_from(self.total_ranks()?).map_err(|_| too_large())?;
        RankGrids::new(&model, ranks, RankOrder::PpLast, size(Field::RankOffset)?)
    }

    fn set_data_parallel_size(&self, before: &str) -> Result<i128, PythonError> {
        let unset = || format!("data_parallel_size must be set before accessing {before}.");
        self.data_parallel_size
            .ok_or_else(|| Exception::ValueError.with(unset()))
    }
}

/// The product of all factors.
pub(super) fn product(factors: &[i128]) -> Result<i128, PythonError> {
    let mut product = 1_i128;
    for factor in factors {
        product = product.checked_mul(*factor).ok_or_else(too_large)?;
    }
    Ok(product)
}

/// Quotient and rest of Python's `//` and `%`, which round down.
pub(super) fn divide(dividend: i128, divisor: i128) -> Result<(i128, i128), PythonError> {
    if divisor == 0 {
        return Err(Exception::ZeroDivisionError.with("integer modulo by zero"));
    }
    let truncated = dividend.checked_div(divisor).zip(dividend.checked_rem(divisor));
    let (quotient, rest) = truncated.ok_or_else(too_large)?;
    let rounds_up = rest != 0 && (rest < 0) != (divisor < 0);
    Ok(if rounds_up {
        (quotient - 1, rest + divisor)
    } else {
        (quotient, rest)
    })
}

pub(super) fn too_large() -> PythonError {
    Exception::OverflowError.with("sizes are too large to multiply")
}

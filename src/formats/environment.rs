//! Environment variables of the training processes that change memory: PyTorch reads them.
//!
//! `PYTORCH_CUDA_ALLOC_CONF` (from PyTorch 2.9 on also `PYTORCH_ALLOC_CONF`) is a list of `option:value`;
//! `CUBLAS_WORKSPACE_CONFIG` is a list of `:size:count`, sizes in KiB (PyTorch,
//! `aten/src/ATen/cuda/CublasHandlePool.cpp`, `parseChosenWorkspaceSize`).

use crate::config::canonical::{Meaning, meaning};
use crate::config::choices::CudaGraphImpl;
use crate::config::fields::FieldId;
use crate::config::parse::Parsed;
use crate::config::raw::Settings;
use crate::value::Value;

/// The field that an environment variable sets, with its value; `None` where the variable does not change memory.
#[must_use]
pub fn field(variable: &str, text: &str) -> Option<(FieldId, Value)> {
    match variable {
        "PYTORCH_CUDA_ALLOC_CONF" | "PYTORCH_ALLOC_CONF" => {
            let mut options = text.split(',').filter_map(|option| option.split_once(':'));
            let (_, value) = options.find(|(name, _)| name.trim() == "expandable_segments")?;
            let extends = value.trim().eq_ignore_ascii_case("true");
            Some((FieldId::expandable_segments, Value::Bool(extends)))
        }
        "CUBLAS_WORKSPACE_CONFIG" => {
            let kib = workspace(text)?;
            Some((FieldId::cublas_workspace_kib, Value::Int(kib.into())))
        }
        _ => None,
    }
}

/// The sum in KiB of a list of `:size:count`, such as `:4096:2:16:8`.
fn workspace(text: &str) -> Option<u64> {
    let numbers = text.trim().strip_prefix(':')?.split(':');
    let numbers: Option<Vec<u64>> = numbers.map(|number| number.parse().ok()).collect();
    numbers?.chunks(2).try_fold(0_u64, |sum, pair| match pair {
        [size, count] => sum.checked_add(size.checked_mul(*count)?),
        _ => None,
    })
}

/// The implementation that captures CUDA graphs; `None` where none are captured.
#[must_use]
pub fn captures(settings: &Settings) -> Option<CudaGraphImpl> {
    let id = FieldId::cuda_graph_impl;
    match meaning(id, settings.get(id)) {
        Meaning::Is(Parsed::Choice(index)) => CudaGraphImpl::at(index),
        _ => None,
    }
}

/// The environment variables that express these settings, each with its value.
#[must_use]
pub fn variables(settings: &Settings) -> Vec<(&'static str, String)> {
    let means = |id| meaning(id, settings.get(id));
    let mut variables = Vec::new();
    if means(FieldId::expandable_segments) == Meaning::Is(Parsed::Flag(true)) {
        let value = "expandable_segments:True".to_owned();
        variables.push(("PYTORCH_CUDA_ALLOC_CONF", value));
        // `TECudaGraphHelper` refuses the two together without it.
        if captures(settings) == Some(CudaGraphImpl::TransformerEngine) {
            variables.push(("NCCL_GRAPH_REGISTER", "0".to_owned()));
        }
    }
    if let Meaning::Is(Parsed::Int(kib)) = means(FieldId::cublas_workspace_kib) {
        let value = match (kib / 4096, kib % 4096) {
            (blocks, 0) => format!(":4096:{blocks}"),
            (0, rest) => format!(":{rest}:1"),
            (blocks, rest) => format!(":4096:{blocks}:{rest}:1"),
        };
        variables.push(("CUBLAS_WORKSPACE_CONFIG", value));
    }
    variables
}

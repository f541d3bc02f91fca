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

/// The fields that an environment variable sets, with their values; none where the variable does not change memory.
#[must_use]
pub fn fields(variable: &str, text: &str) -> Vec<(FieldId, Value)> {
    match variable {
        "PYTORCH_CUDA_ALLOC_CONF" | "PYTORCH_ALLOC_CONF" => {
            let options = text.split(',').filter_map(|option| option.split_once(':'));
            let read = options.filter_map(|(name, value)| of_allocator(name.trim(), value.trim()));
            read.collect()
        }
        "CUBLAS_WORKSPACE_CONFIG" => {
            let kib = workspace(text).map(|kib| (FieldId::cublas_workspace_kib, Value::Int(kib.into())));
            kib.into_iter().collect()
        }
        _ => Vec::new(),
    }
}

/// The field that an option of the allocator sets.
fn of_allocator(option: &str, value: &str) -> Option<(FieldId, Value)> {
    match option {
        "expandable_segments" => {
            let extends = value.eq_ignore_ascii_case("true");
            Some((FieldId::expandable_segments, Value::Bool(extends)))
        }
        "max_split_size_mb" => {
            let mib: u64 = value.parse().ok()?;
            Some((FieldId::max_split_size_mb, Value::Int(mib.into())))
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
    let expands = means(FieldId::expandable_segments) == Meaning::Is(Parsed::Flag(true));
    let mut of_allocator: Vec<String> = Vec::new();
    if expands {
        of_allocator.push("expandable_segments:True".to_owned());
    }
    if let Meaning::Is(Parsed::Int(mib)) = means(FieldId::max_split_size_mb) {
        of_allocator.push(format!("max_split_size_mb:{mib}"));
    }
    if !of_allocator.is_empty() {
        variables.push(("PYTORCH_CUDA_ALLOC_CONF", of_allocator.join(",")));
    }
    // `TECudaGraphHelper` refuses the two together without it.
    if expands && captures(settings) == Some(CudaGraphImpl::TransformerEngine) {
        variables.push(("NCCL_GRAPH_REGISTER", "0".to_owned()));
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

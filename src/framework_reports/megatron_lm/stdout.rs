//! The output of the estimator.

use super::super::BILLION;
use super::super::python::{OperationError, PyValue, fixed};

/// Standard output of a run.
pub(super) struct Stdout {
    /// Whether the run was asked for the lines that only a verbose run prints.
    pub(super) is_verbose: bool,
    pub(super) text: String,
}

/// The format of a number of billions.
#[derive(Clone, Copy)]
pub(super) enum Billions {
    /// `{: .2f}`: two decimals, with a blank in the place of the sign.
    Spaced,
    /// `{:.2f}`
    TwoDecimals,
    /// `{:.4f}`
    FourDecimals,
}

impl Stdout {
    pub(super) fn quiet() -> Self {
        Self {
            is_verbose: false,
            text: String::new(),
        }
    }

    pub(super) fn verbose() -> Self {
        Self {
            is_verbose: true,
            text: String::new(),
        }
    }

    pub(super) fn line(&mut self, line: &str) {
        self.text += line;
        self.text.push('\n');
    }

    /// In a verbose run, prints a number of parameters in billions.
    pub(super) fn billions(&mut self, what: &str, number: PyValue<'_>, format: Billions) -> Result<(), OperationError> {
        if !self.is_verbose {
            return Ok(());
        }
        let billions = (number / BILLION).value()?.float()?;
        let digits = match format {
            Billions::Spaced | Billions::TwoDecimals => 2,
            Billions::FourDecimals => 4,
        };
        let mut billions = fixed(billions, digits);
        if let Billions::Spaced = format
            && !billions.starts_with('-')
        {
            billions.insert(0, ' ');
        }
        self.line(&format!("{what} in billions: {billions}"));
        Ok(())
    }
}

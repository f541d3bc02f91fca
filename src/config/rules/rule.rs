//! One rule, and what it says of a module that breaks it.

use crate::config::choices::CudaGraphImpl;
use crate::config::draft::Draft;
use crate::config::field::Kind;
use crate::config::fields::FieldId as F;
use crate::config::nearby::{near_multiples, or_list};
use crate::config::problem::Problem;
use crate::value::Value;

/// Something that Megatron refuses or a planner should know.
pub(super) struct Rule {
    /// The rule's stable name; rules of one concern may share it.
    pub(super) name: &'static str,
    /// Returns the violation where a module breaks the rule.
    pub(super) check: fn(&Draft<'_>) -> Option<Problem>,
    /// Whether all its violations are warnings.
    pub(super) only_warns: bool,
}

/// Declares `RULES`, the rules of one concern, a row each and in the order in which their problems are shown. A row
/// starts with `error`, or with `warning` where the rule never refuses a job, and with the rule's name. Three shapes
/// follow:
///
/// - `if CONDITION => [FIELDS], MESSAGE, [FIXES];` says what a setting excludes or needs. The condition is that of a
///   broken rule, a fix is `field = value`, and the best one comes first. Names may be bound before it, as in
///   `let layers = a.recompute_num_layers?, if ...`; where a `?` finds nothing the rule is kept.
/// - `: NUMBER => TEXT, STEP => TEXT, [FIELDS], or(ALTERNATIVES);` says that a number must be a multiple of another. The
///   number is an `Option`, with nothing where the rule does not apply; `{}` in the texts stands for the numbers.
/// - `by(FUNCTION);` leaves the check to a function.
///
/// In expressions the first name at the head of the table is the draft, the second its arguments.
macro_rules! rules {
    (|$d:ident, $a:ident| $(
        $severity:ident $name:literal
        $(by($function:expr))?
        $(
            $(let $bound:pat = $value:expr,)*
            if $condition:expr => [$($field:ident),+], $message:expr, [$($fix:ident = $to:expr),*]
        )?
        $(: $number:expr => $what:literal, $step:expr => $of:literal, [$($sized:ident),+], or($alternatives:expr))?
        ;
    )+) => {
        /// The rules of this concern.
        pub(super) const RULES: &[$crate::config::rules::rule::Rule] = &[$({
            #[allow(unused_variables, reason = "a row may need no argument")]
            const CHECK: fn(&Draft<'_>) -> Option<$crate::config::problem::Problem> = {
                $($function)?
                $(|$d| {
                    let $a = &$d.args;
                    $(let $bound = $value;)*
                    if $condition {
                        let fields = [$($crate::config::fields::FieldId::$field),+];
                        let violation = $crate::config::problem::Problem::$severity(&fields, $message);
                        Some(violation$(.fix($crate::config::fields::FieldId::$fix, $to))*)
                    } else {
                        None
                    }
                })?
                $(|$d| {
                    let $a = &$d.args;
                    let (number, step): (u64, u64) = ($number?, $step);
                    if number.is_multiple_of(step) {
                        return None;
                    }
                    let alternatives: fn(&Draft<'_>, u64, u64) -> Alternatives = $alternatives;
                    let message = format!(concat!($what, " must be a multiple of ", $of), number, step);
                    let fields = [$($crate::config::fields::FieldId::$sized),+];
                    Some(alternatives($d, number, step).offer(&fields, &message))
                })?
            };
            $crate::config::rules::rule::Rule::$severity($name, CHECK)
        }),+];
    };
}
pub(super) use rules;

impl Rule {
    /// A rule that refuses jobs, though some of its violations may be warnings.
    pub(super) const fn error(name: &'static str, check: fn(&Draft<'_>) -> Option<Problem>) -> Self {
        Self {
            name,
            check,
            only_warns: false,
        }
    }

    /// A rule that only warns. Where nobody reads warnings it is not checked.
    pub(super) const fn warning(name: &'static str, check: fn(&Draft<'_>) -> Option<Problem>) -> Self {
        Self {
            only_warns: true,
            ..Self::error(name, check)
        }
    }
}

/// The value that a fix sets its field to.
#[derive(Clone, Copy)]
pub(super) enum FixValue {
    /// The default.
    Default,
    /// Off.
    Off,
    /// On.
    On,
    /// A number.
    Number(u64),
    /// A name out of the field's list, or several separated by commas.
    Name(&'static str),
}

impl From<FixValue> for Value {
    fn from(value: FixValue) -> Self {
        match value {
            FixValue::Default => Self::Null,
            FixValue::Off => Self::Bool(false),
            FixValue::On => Self::Bool(true),
            FixValue::Number(number) => Self::Int(number.into()),
            FixValue::Name(name) => Self::Text(name.to_owned()),
        }
    }
}

/// Values of one field that would remove a violation.
pub(super) struct Alternatives {
    /// What a message calls the field; empty where the message is about no other field.
    name: &'static str,
    field: F,
    values: Vec<u64>,
}

impl Alternatives {
    /// These values of a field that messages call `name`.
    pub(super) fn of(name: &'static str, field: F, values: Vec<u64>) -> Self {
        Self { name, field, values }
    }

    /// These tensor-parallel sizes.
    pub(super) fn of_tp(values: Vec<u64>) -> Self {
        Self::of("TP", F::tensor_model_parallel_size, values)
    }

    /// The parallel sizes `near` without 1, or where there are none, multiples of `step` near `n` for the field that
    /// the ranks split.
    pub(super) fn sizes(size: F, near: &[u64], split: F, n: u64, step: u64) -> Self {
        let values: Vec<u64> = near.iter().copied().filter(|size| *size > 1).collect();
        if values.is_empty() {
            Self::of(split.field().name, split, near_multiples(n, step))
        } else {
            Self::of(size.field().name, size, values)
        }
    }

    /// TP sizes with which ranks split the field `split`, whose value is `n`, into multiples of `step` / TP; or where
    /// there are none, values for `split`.
    pub(super) fn tp(d: &Draft<'_>, split: F, n: u64, step: u64) -> Self {
        let others = (step / d.tp).max(1);
        let near = d.near_tp(&|tp| n.is_multiple_of(tp.saturating_mul(others)));
        Self::sizes(F::tensor_model_parallel_size, &near, split, n, step)
    }

    /// The violation with these values as fixes, and the message with a sentence about them behind it.
    pub(super) fn offer(self, fields: &[F], message: &str) -> Problem {
        let Self { name, field, values } = self;
        let space = if name.is_empty() { "" } else { " " };
        let message = format!("{message}; {name}{space}{} would work", or_list(&values));
        Problem::error(fields, message).fix_each(field, &values)
    }
}

/// A setting that a kind of layer is not known with: whether the job has it, its field, and the value that leaves it out.
pub(super) type Excluded = (bool, F, FixValue);

/// The FSDP of a job, if it has one, as a setting that a kind of layer is not known with.
pub(super) fn any_fsdp(d: &Draft<'_>) -> Excluded {
    let (megatron, torch) = (d.args.use_megatron_fsdp, d.args.use_torch_fsdp2);
    let field = if megatron {
        F::use_megatron_fsdp
    } else {
        F::use_torch_fsdp2
    };
    (megatron || torch, field, FixValue::Off)
}

/// The settings that give a layer another mixer than plain attention or another MLP than a dense one. Kinds of layers
/// that Megatron-Bridge builds only with those two exclude them.
pub(super) fn beyond_attention_and_mlp(d: &Draft<'_>) -> [Excluded; 4] {
    let a = &d.args;
    let variant = a.experimental_attention_variant.is_some();
    [
        (d.has_experts(), F::num_experts, FixValue::Default),
        (a.multi_latent_attention, F::multi_latent_attention, FixValue::Off),
        (variant, F::experimental_attention_variant, FixValue::Default),
        (d.hybrid.is_some(), F::hybrid_layer_pattern, FixValue::Default),
    ]
}

/// Fine-grained offloading and CUDA graphs, which run only where a layer's own code names them.
pub(super) fn offloading_and_graphs(d: &Draft<'_>) -> [Excluded; 2] {
    let offloads = d.args.fine_grained_activation_offloading;
    let captures = d.args.cuda_graph_impl != CudaGraphImpl::None;
    [
        (offloads, F::fine_grained_activation_offloading, FixValue::Off),
        (captures, F::cuda_graph_impl, FixValue::Name("none")),
    ]
}

/// The problem with the first of these settings that a job has beside `flag`, the field that asks for the kind of layer.
/// `message` makes a sentence of the name of the setting's field.
pub(super) fn first_excluded(
    flag: F,
    excluded: impl IntoIterator<Item = Excluded>,
    message: impl FnOnce(&str) -> String,
) -> Option<Problem> {
    let (_, field, fix) = excluded.into_iter().find(|(is_set, ..)| *is_set)?;
    let problem = Problem::error(&[flag, field], message(field.field().name));
    let without = match flag.field().kind {
        Kind::Flag => FixValue::Off,
        Kind::Int { .. }
        | Kind::Decimal { .. }
        | Kind::Choice(_)
        | Kind::Set(_)
        | Kind::LayerPattern
        | Kind::Text { .. } => FixValue::Default,
    };
    Some(problem.fix(field, fix).fix(flag, without))
}

//! Weights, main gradients, main parameters and optimizer moments: which of them a parameter has, how
//! many bytes each takes, and over how many ranks it is split.

use super::bucket::{Bucket, ByBucket, State};
use super::fsdp;
use super::parameters::{Count, Parameters};
use super::state_rule::{AppliesTo, GradientCopy, StateRule};
use super::torch_fsdp2;
use crate::config::choices::{Fp8Recipe, MainGradsDtype, MainParamsDtype, MomentDtype, OptimizerKind, SoftwareFact};
use crate::config::field::Decimal;
use crate::config::fields::Args;
use crate::config::job::{Module, Precision};
use crate::model::quantization::quantizes_parameters;
use crate::model::tensor::Component;
use crate::model::trained;
use crate::parallel::groups::View;
use crate::source::Source;
use crate::units::Bytes;

/// The rules of every state for one module.
#[derive(Clone, Debug)]
pub struct StateRules {
    dense: [StateRule; 5],
    expert: [StateRule; 5],
    trained: [bool; Component::COUNT],
    /// Whether fixed sinusoidal position embeddings are the only parameters that are not trained.
    all_trained: bool,
}

impl StateRules {
    /// The rules that follow from a module's precision and optimizer.
    #[must_use]
    pub fn new(m: &Module) -> Self {
        let may = |component: Component| component != Component::FixedPositions;
        Self {
            dense: rules_of(m, View::Dense, m.dense_shard()),
            expert: rules_of(m, View::Expert, m.expert_shard()),
            trained: Component::ALL.map(|component| trained(m, component)),
            all_trained: Component::ALL.into_iter().all(|c| trained(m, c) || !may(c)),
        }
    }

    /// The rule of one bucket.
    #[must_use]
    pub fn rule(&self, bucket: Bucket) -> StateRule {
        let state = bucket.state();
        state.map_or(StateRule::NONE, |(state, view)| self.of(state, view))
    }

    /// The rule of one state of the parameters of one view.
    #[must_use]
    pub fn of(&self, state: State, view: View) -> StateRule {
        let rules = match view {
            View::Dense => &self.dense,
            View::Expert => &self.expert,
        };
        let rule = rules.get(state as usize).copied();
        rule.unwrap_or(StateRule::NONE)
    }

    /// Whether parameters of a component have the state of a bucket: frozen ones have only weights.
    #[must_use]
    pub fn has(&self, bucket: Bucket, component: Component) -> bool {
        let weights = matches!(bucket.state(), Some((State::Weights, _)));
        weights || self.is_trained(component)
    }

    fn is_trained(&self, component: Component) -> bool {
        self.trained.get(component as usize).copied().unwrap_or(true)
    }

    /// Bytes that the parameters of a component, counted where their weights are, would need in addition if they were
    /// trained; 0 where they are, and in buckets of other states.
    #[must_use]
    pub fn saved_in_states(&self, bucket: Bucket, component: Component, count: Count) -> Bytes {
        let Some((State::Weights, view)) = bucket.state() else {
            return Bytes::ZERO;
        };
        if self.is_trained(component) || component == Component::FixedPositions {
            return Bytes::ZERO;
        }
        let others = State::ALL.into_iter().filter(|of| *of != State::Weights);
        others.map(|of| self.of(of, view).bytes_of(count)).sum()
    }

    /// Bytes that the frozen parameters among these would need in addition if they were trained.
    #[must_use]
    pub fn saved_by_freezing(&self, held: &Parameters) -> Bytes {
        if self.all_trained {
            return Bytes::ZERO;
        }
        // Positions that are made of sines are never trained.
        let could = |component| component != Component::FixedPositions;
        let all = |bucket| self.bytes_where(bucket, held, &could);
        Bucket::ALL
            .into_iter()
            .filter(|bucket| !matches!(bucket.state(), None | Some((State::Weights, _))))
            .map(|bucket| {
                let trained = |component| self.has(bucket, component);
                all(bucket).saturating_sub(self.bytes_where(bucket, held, &trained))
            })
            .sum()
    }

    fn bytes_where(&self, bucket: Bucket, held: &Parameters, has: &dyn Fn(Component) -> bool) -> Bytes {
        let mut sum = Count::default();
        for (component, _, sharding, count) in held.iter() {
            if bucket.holds(sharding) && has(component) {
                sum.add(count, 1);
            }
        }
        self.rule(bucket).bytes_of(sum)
    }

    /// How many of these parameters there are and how many are trained, counted once for the rules of all buckets.
    #[must_use]
    pub fn count(&self, parameters: &Parameters) -> TrainedCounts {
        let mut held = TrainedCounts::default();
        for (component, _, sharding, count) in parameters.iter() {
            let view = sharding.view() as usize;
            let trained = self.is_trained(component).then_some(&mut held.trained);
            for into in [Some(&mut held.all), trained].into_iter().flatten() {
                if let Some(into) = into.get_mut(view) {
                    into.add(count, 1);
                }
            }
        }
        held
    }

    /// How a copy of the optimizer step is held, and of how many parameters.
    pub(crate) fn copied(&self, copy: &StepCopy, held: &TrainedCounts, view: View) -> (StateRule, Count) {
        let mut rule = self.of(copy.state, view);
        rule.bytes = copy.bytes;
        rule.bytes_in_fp32 = copy.bytes;
        let mut count = held.trained(view);
        count.elements = (copy.elements)(&count);
        (rule, count)
    }

    /// Bytes of every bucket of states for these parameters, and nothing in the other buckets.
    #[must_use]
    pub fn memory(&self, held: &TrainedCounts) -> ByBucket {
        Bucket::ALL.map(|bucket| match bucket.state() {
            Some((State::Weights, view)) => self.rule(bucket).bytes_of(held.all(view)),
            Some((_, view)) => self.rule(bucket).bytes_of(held.trained(view)),
            None => Bytes::ZERO,
        })
    }
}

/// How many parameters a rank has and how many of them are trained, dense ones and routed experts apart.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TrainedCounts {
    all: [Count; 2],
    trained: [Count; 2],
}

impl TrainedCounts {
    /// All parameters of one view.
    #[must_use]
    pub fn all(&self, view: View) -> Count {
        self.all.get(view as usize).copied().unwrap_or_default()
    }

    /// The trained parameters of a view.
    #[must_use]
    pub fn trained(&self, view: View) -> Count {
        self.trained.get(view as usize).copied().unwrap_or_default()
    }
}

/// The rules of one view, whose optimizer states so many ranks share.
fn rules_of(m: &Module, view: View, shard: u64) -> [StateRule; 5] {
    let of_fsdp = fsdp::state_rules(m, view, |shard| rules(m, shard));
    let of_fsdp = of_fsdp.or_else(|| torch_fsdp2::state_rules(m, |shard| rules(m, shard)));
    of_fsdp.unwrap_or_else(|| rules(m, shard))
}

/// Weights, main grads, main params, `exp_avg`, `exp_avg_sq`, in this order.
fn rules(m: &Module, shard: u64) -> [StateRule; 5] {
    let (a, width) = (&m.args, m.precision.bytes());
    let whole = |bytes| StateRule {
        applies_to: AppliesTo::All,
        bytes,
        fp8_saving: 0,
        bytes_in_fp32: 4,
        shard: 1,
        on_gpu: Decimal::ONE,
    };
    let in_fp8 = quantizes_parameters(m);
    let weights = StateRule {
        fp8_saving: if in_fp8 { width - 1 } else { 0 },
        ..whole(width)
    };
    let on_gpu = if a.optimizer_cpu_offload {
        Decimal(Decimal::ONE.0 - a.optimizer_offload_fraction.0.min(Decimal::ONE.0))
    } else {
        Decimal::ONE
    };
    let sharded = |bytes| StateRule {
        applies_to: AppliesTo::All,
        bytes,
        fp8_saving: 0,
        bytes_in_fp32: bytes,
        shard,
        on_gpu,
    };
    // Parameters in fp32 are their own main parameters. Megatron's own main parameters stay on the GPU
    // even if their moments do not; `HybridDeviceOptimizer` keeps fp32 copies of those that stay; and
    // Transformer Engine's Adam only the 16 bits that bf16 parameters lack (`store_param_remainders`).
    let main_params = match m.precision {
        Precision::Fp32 => StateRule::NONE,
        Precision::Bf16 | Precision::Fp16 if !optimizer_holds_main_params(a) => StateRule {
            on_gpu: Decimal::ONE,
            ..sharded(4)
        },
        Precision::Bf16 | Precision::Fp16 if a.optimizer_cpu_offload => sharded(4),
        Precision::Bf16 if a.main_params_dtype == MainParamsDtype::Fp32 => sharded(2),
        Precision::Bf16 | Precision::Fp16 => sharded(a.main_params_dtype.bytes()),
    };
    let main_params = StateRule {
        bytes_in_fp32: 0,
        ..main_params
    };
    // `HybridDeviceOptimizer` does not pass the chosen dtypes on.
    let chosen = a.use_precision_aware_optimizer && !a.optimizer_cpu_offload;
    let moment = |dtype_bytes| if chosen { dtype_bytes } else { 4 };
    let exp_avg = match a.optimizer {
        OptimizerKind::Sgd if a.sgd_momentum.0 == 0 => StateRule::NONE,
        _ => sharded(moment(a.exp_avg_dtype.bytes())),
    };
    let second = sharded(moment(a.exp_avg_sq_dtype.bytes()));
    let exp_avg_sq = match a.optimizer {
        OptimizerKind::Adam => second,
        OptimizerKind::Muon | OptimizerKind::DistMuon => StateRule {
            applies_to: AppliesTo::AllButMuonMatrices,
            ..second
        },
        OptimizerKind::Sgd | OptimizerKind::Lion => StateRule::NONE,
    };
    [weights, whole(main_grad_bytes(m)), main_params, exp_avg, exp_avg_sq]
}

/// Whether a state is made by the optimizer's first step: moments, and main parameters that the optimizer holds
/// (`FusedAdam.initialize_state` of Transformer Engine).
pub(crate) fn made_by_first_step(m: &Module, state: State) -> bool {
    match state {
        State::Weights | State::MainGrads => false,
        State::MainParams => optimizer_holds_main_params(&m.args) && !m.args.optimizer_cpu_offload,
        State::ExpAvg | State::ExpAvgSq => true,
    }
}

/// Whether a state is on the host from before the first forward pass of an iteration until its gradients are reduced,
/// and on the GPU for the optimizer step and until the next iteration (`OptimizerStateOffloader` of Megatron-LM's dev
/// branch, at 0fcbc3db; called in `train_step`, and before `finalize_model_grads`).
pub(crate) fn offloaded_in_passes(m: &Module, state: State) -> bool {
    let of_step = matches!(state, State::MainParams | State::ExpAvg | State::ExpAvgSq);
    m.args.offload_optimizer_states && of_step
}

/// Whether the precision-aware optimizer holds the main parameters, and not Megatron: with an fp8 recipe
/// other than delayed scaling it does not, even if training is not in fp8
/// (`use_precision_aware_optimizer_no_fp8_or_ds_fp8`).
fn optimizer_holds_main_params(a: &Args) -> bool {
    a.use_precision_aware_optimizer
        && (a.main_params_dtype != MainParamsDtype::Fp32
            || a.fp8_recipe == Fp8Recipe::Delayed
            || a.optimizer_cpu_offload)
}

/// A temporary copy that the optimizer step makes.
pub(crate) struct StepCopy {
    /// The copy's name in the lines of an estimate.
    pub(crate) what: &'static str,
    /// Bytes of each element.
    bytes: u64,
    /// The state whose shards are copied.
    state: State,
    /// The parameters whose shards are copied.
    elements: fn(&Count) -> u64,
    /// A citation of the code that makes the copy.
    pub(crate) source: Source,
}

/// Gradients, whose copies stay until the next step's gradients are zeroed, and what is there while the step runs:
/// moments in fp32, for Adam; or the square roots of second moments, for `PyTorch`'s `AdamW`; or else the main
/// parameters in 16 bits, of which all weights in fp8 are made at once. These are smaller than copies of moments, which
/// are gone by then.
pub(crate) fn step_copies(m: &Module) -> [StepCopy; 2] {
    let moments = StepCopy {
        what: "moments copied to fp32",
        bytes: moment_copy_bytes(m),
        state: State::ExpAvg,
        elements: |count| count.elements,
        source: Source::MomentCopies,
    };
    let rounded = StepCopy {
        what: "main parameters rounded for fp8",
        bytes: weight_copy_bytes(m),
        state: State::MainParams,
        elements: |count| count.quantized,
        source: Source::Fp8Cast,
    };
    let of_fsdp = fsdp::gradient_copy(m).or_else(|| torch_fsdp2::gradient_copy(m));
    let copy = of_fsdp.unwrap_or_else(|| GradientCopy {
        bytes: gradient_copy_bytes(m),
        elements: |count| count.elements - count.in_fp32,
    });
    let gradients = StepCopy {
        what: "gradients copied to fp32",
        bytes: copy.bytes,
        state: State::MainParams,
        elements: copy.elements,
        source: Source::GradientCopies,
    };
    let roots = StepCopy {
        what: "square roots of second moments",
        bytes: if is_torch_adamw(m) { 4 } else { 0 },
        state: State::ExpAvgSq,
        elements: |count| count.elements,
        source: Source::TorchAdamw,
    };
    let during = [moments, roots].into_iter().find(|copy| copy.bytes > 0);
    [gradients, during.unwrap_or(rounded)]
}

/// Bytes of fp32 copies that the optimizer step makes of gradients in 2 bytes, for each element of its shard.
#[must_use]
pub(crate) fn gradient_copy_bytes(m: &Module) -> u64 {
    let half = main_grad_bytes(m) == 2 && m.precision != Precision::Fp32;
    if half && !optimizer_holds_main_params(&m.args) {
        4
    } else {
        0
    }
}

/// Bytes of fp32 copies of moments in less than 4 bytes that the optimizer step needs while it runs, for each
/// element of its shard; moments in bf16 are updated as they are.
fn moment_copy_bytes(m: &Module) -> u64 {
    let a = &m.args;
    let copied = |dtype| matches!(dtype, MomentDtype::Fp16 | MomentDtype::Fp8);
    let aware = a.use_precision_aware_optimizer && a.optimizer == OptimizerKind::Adam;
    let moments = u64::from(copied(a.exp_avg_dtype)) + u64::from(copied(a.exp_avg_sq_dtype));
    if aware { 4 * moments } else { 0 }
}

/// Whether the optimizer is `PyTorch`'s `AdamW`, whose multi-tensor step (`_multi_tensor_adamw`) makes the square roots
/// of all second moments before it updates any parameter.
fn is_torch_adamw(m: &Module) -> bool {
    let a = &m.args;
    let on_gpu = a.optimizer == OptimizerKind::Adam && !a.optimizer_cpu_offload;
    on_gpu && SoftwareFact::TorchAdamW.holds(a)
}

/// Bytes of main parameters as weights in fp8 are made of them. Those in mxfp8 are gathered in bf16, in the gradient
/// buffer.
fn weight_copy_bytes(m: &Module) -> u64 {
    let a = &m.args;
    let cast = quantizes_parameters(m)
        && a.use_distributed_optimizer
        && (a.fp8_recipe != Fp8Recipe::Mxfp8 || a.fp4_format.is_some())
        && !optimizer_holds_main_params(a);
    if cast { m.precision.bytes() } else { 0 }
}

/// Bytes of one main gradient. bf16 training accumulates in fp32 unless told otherwise; fp16 training
/// keeps gradients in fp16 unless told otherwise (`validate_args`).
pub(super) fn main_grad_bytes(m: &Module) -> u64 {
    let a = &m.args;
    let fp32 = match m.precision {
        Precision::Fp32 => true,
        Precision::Fp16 => a.accumulate_allreduce_grads_in_fp32,
        Precision::Bf16 => !a.grad_reduce_in_bf16 && a.main_grads_dtype == MainGradsDtype::Fp32,
    };
    if fp32 { 4 } else { 2 }
}

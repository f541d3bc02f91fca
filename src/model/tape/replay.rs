//! Plays a tape forwards and backwards and finds the moment at which most is alive.
//!
//! A tensor lives as long as something refers to it: a Python variable until its last use, autograd until
//! the backward pass of the operation that saved it, a gradient until it was used.

mod player;

pub use super::usage::{TRANSIENT, USES, Usage};

use super::recompute::Plan;
use super::{ActivationTensor, Tape, TensorId};
use crate::order::sort_by_key;
use player::Player;

/// Elements of the smallest tensor that Transformer Engine offloads with its layer (`_check_if_offload`).
pub const LARGE: u64 = 256 * 1024;

/// The heaviest moment of a pass over one tape.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct High {
    /// What is alive then.
    pub usage: Usage,
    /// The operation at work.
    pub op: usize,
    /// Whether the operation runs a second time, for recompute.
    pub again: bool,
    /// Which moment of the pass it is, for playing it once more.
    pub moment: usize,
}

/// A tape reduced to what a schedule needs to know.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Reduced {
    /// What is kept between the passes, the input included where it is.
    pub kept: Usage,
    /// Whether it is kept.
    pub keeps_input: bool,
    /// Bytes that are moved to the host between the passes.
    pub moved: u64,
    /// Of what is kept, the tensors that are large enough to go to the host with the whole layer.
    pub large: Usage,
    /// The forward pass, from a state in which the input is alive, which counts here.
    pub forward: High,
    /// The forward pass when autograd keeps nothing of it.
    pub without_autograd: High,
    /// The backward pass, from a state in which all that is kept and the output's gradient are alive.
    pub backward: High,
    /// The same when the caller holds on to the output's gradient.
    pub backward_held: High,
}

/// Something alive at a moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Alive {
    /// The tensor, or the one that it is the gradient of.
    pub tensor: ActivationTensor,
    /// Whether it is the gradient.
    pub gradient: bool,
    /// Which use its bytes count for.
    pub usage: usize,
    /// What the allocator set aside.
    pub bytes: u64,
}

/// One of the passes that [`Reduced`] has a heaviest moment of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PassKind {
    Forward,
    WithoutAutograd,
    Backward,
    BackwardHeld,
}

/// Reduces a tape under a plan.
pub(crate) fn reduce(tape: &Tape, plan: &Plan) -> Reduced {
    let mut player = Player::new(tape, plan, None);
    // A forward pass without autograd keeps nothing.
    let bare = Plan::default();
    Reduced {
        kept: kept(tape, plan, 0),
        large: kept(tape, plan, LARGE),
        keeps_input: tape
            .input
            .is_some_and(|input| plan.keeps.iter().any(|kept| kept.tensor == input)),
        moved: plan.moved_bytes(tape),
        forward: player.play(PassKind::Forward),
        without_autograd: Player::new(tape, &bare, None).play(PassKind::WithoutAutograd),
        backward: player.play(PassKind::Backward),
        backward_held: player.play(PassKind::BackwardHeld),
    }
}

/// Everything alive at one moment of one pass.
pub(crate) fn alive_at(tape: &Tape, plan: &Plan, pass: PassKind, moment: usize) -> Vec<Alive> {
    let bare = Plan::default();
    let plan = if pass == PassKind::WithoutAutograd {
        &bare
    } else {
        plan
    };
    let mut player = Player::new(tape, plan, Some(moment));
    player.play(pass);
    player.captured
}

/// The tensors that a plan keeps, each once.
pub(crate) fn kept_tensors(plan: &Plan) -> Vec<TensorId> {
    let mut ids: Vec<TensorId> = plan.keeps.iter().map(|kept| kept.tensor).collect();
    sort_by_key(&mut ids, |id| *id);
    ids.dedup();
    ids
}

/// What a plan keeps in tensors of so many elements and more.
fn kept(tape: &Tape, plan: &Plan, least: u64) -> Usage {
    let mut usage = Usage::default();
    for id in kept_tensors(plan) {
        let tensor = tape.get(id);
        if let Some(tensor) = tensor.filter(|tensor| tensor.shape.elements() >= least) {
            usage.add_to(tensor.family as usize, tensor.allocated());
        }
    }
    usage
}

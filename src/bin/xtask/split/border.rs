//! The calls that lead from one part to the other, and the slots of the table through which they go.

use std::collections::{BTreeMap, BTreeSet};

use walrus::ir::{Call, CallIndirect, Const, Instr, InstrSeq, Value};
use walrus::ir::{Visitor, VisitorMut, dfs_in_order, dfs_pre_order_mut};
use walrus::{ConstExpr, ElementItems, ElementKind, FunctionId, Module, TableId, TypeId};

use super::super::Error;

/// What both parts must agree on. Functions go by their numbers, which are the same however often a module is read.
pub(super) struct Border {
    /// The functions of the second part.
    pub(super) second: BTreeSet<usize>,
    /// Which slots of the table are added for which functions, those of the first part before those of the second.
    pub(super) added: Vec<(u32, usize)>,
    /// One slot of each function that has any.
    slots: BTreeMap<usize, u32>,
}

impl Border {
    /// The border of a module whose second part has these functions.
    pub(super) fn of(module: &Module, second: BTreeSet<usize>) -> Result<Self, Error> {
        let pointers = pointers(module).map(|(slot, function)| (function.index(), slot));
        let mut slots: BTreeMap<usize, u32> = pointers.collect();
        let crossed = calls(module)
            .map(|(caller, called)| (second.contains(&caller), second.contains(&called), called))
            .filter(|(from, to, called)| from != to && !slots.contains_key(called))
            .map(|(_, to, called)| (to, called));
        let crossed: BTreeSet<(bool, usize)> = crossed.collect();
        let end = u32::try_from(module.tables.get(table(module)?).initial)?;
        let added: Vec<(u32, usize)> = (end..)
            .zip(crossed)
            .map(|(slot, (_, called))| (slot, called))
            .collect();
        slots.extend(added.iter().map(|(slot, called)| (*called, *slot)));
        Ok(Self {
            second,
            added,
            slots,
        })
    }

    /// Makes every call from one part to the other one through the table.
    pub(super) fn redirect(&self, module: &mut Module) -> Result<(), Error> {
        let table = table(module)?;
        let types = module.funcs.iter().map(|f| (f.id().index(), f.ty()));
        let types: BTreeMap<usize, TypeId> = types.collect();
        for (caller, function) in module.funcs.iter_local_mut() {
            let from = self.second.contains(&caller.index());
            let slot = |called: FunctionId| {
                let called = called.index();
                let crosses = self.second.contains(&called) != from;
                let slot = crosses.then(|| self.slots.get(&called)).flatten()?;
                Some((*slot, *types.get(&called)?))
            };
            let mut through = Through { table, slot };
            dfs_pre_order_mut(&mut through, function, function.entry_block());
        }
        Ok(())
    }
}

/// Rewrites the calls of a function for which `slot` knows a slot, and the type of what is there.
struct Through<F> {
    table: TableId,
    slot: F,
}

impl<F: Fn(FunctionId) -> Option<(u32, TypeId)>> VisitorMut for Through<F> {
    fn start_instr_seq_mut(&mut self, sequence: &mut InstrSeq) {
        let calls = core::mem::take(&mut sequence.instrs);
        for (instruction, at) in calls {
            let slot = match &instruction {
                Instr::Call(Call { func }) => (self.slot)(*func),
                _ => None,
            };
            let Some((slot, ty)) = slot else {
                sequence.instrs.push((instruction, at));
                continue;
            };
            let value = Value::I32(slot.cast_signed());
            let call = CallIndirect {
                ty,
                table: self.table,
            };
            sequence.instrs.push((Const { value }.into(), at));
            sequence.instrs.push((call.into(), at));
        }
    }
}

/// The table of functions.
pub(super) fn table(module: &Module) -> Result<TableId, Error> {
    let table = module.tables.main_function_table()?;
    Ok(table.ok_or("the module has no table of functions")?)
}

/// What stands in the table of functions, and where.
pub(super) fn pointers(module: &Module) -> impl Iterator<Item = (u32, FunctionId)> {
    module.elements.iter().flat_map(|segment| {
        let (start, functions) = match (&segment.kind, &segment.items) {
            (
                ElementKind::Active {
                    offset: ConstExpr::Value(Value::I32(start)),
                    ..
                },
                ElementItems::Functions(functions),
            ) => (start.cast_unsigned(), functions.as_slice()),
            _ => (0, [].as_slice()),
        };
        (start..).zip(functions.iter().copied())
    })
}

/// Every call of a function by another, by their numbers.
pub(super) fn calls(module: &Module) -> impl Iterator<Item = (usize, usize)> {
    module.funcs.iter_local().flat_map(|(caller, function)| {
        let mut called = Called(Vec::new());
        dfs_in_order(&mut called, function, function.entry_block());
        let called = called.0.into_iter();
        called.map(move |called| (caller.index(), called.index()))
    })
}

struct Called(Vec<FunctionId>);

impl Visitor<'_> for Called {
    fn visit_function_id(&mut self, id: &FunctionId) {
        self.0.push(*id);
    }
}

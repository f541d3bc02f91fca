//! The two parts, each made from the whole by taking the other's away.

use std::collections::BTreeMap;

use walrus::ir::Value;
use walrus::{ConstExpr, Data, Element, ElementItems, ElementKind, Export, ExportItem};
use walrus::{FunctionBuilder, FunctionId, Global, GlobalKind, Memory, Module, Table, passes};

use super::super::Error;
use super::border::{Border, pointers, table};

/// The name of the first part in the imports of the second.
const FIRST: &str = "./first";

/// The second part: the functions of that side, with everything else imported.
pub(super) fn second(mut module: Module, border: &Border) -> Result<Module, Error> {
    border.redirect(&mut module)?;
    let mut slots: BTreeMap<u32, FunctionId> = pointers(&module).collect();
    slots.extend(added(&module, border));
    slots.retain(|_, function| border.second.contains(&function.index()));
    let shared = shared(&module);
    empty(&mut module);
    for (name, item) in shared {
        import(&mut module, &name, item);
    }
    let slots: Vec<(u32, FunctionId)> = slots.into_iter().collect();
    for run in slots.chunk_by(|(slot, _), (next, _)| slot + 1 == *next) {
        fill(&mut module, run)?;
    }
    widen(&mut module, border)?;
    passes::gc::run(&mut module);
    Ok(module)
}

/// The first part: the whole without the functions of the other side, exporting what `second` imports.
pub(super) fn first(mut module: Module, border: &Border, second: &Module) -> Result<Module, Error> {
    border.redirect(&mut module)?;
    let missing = missing(&mut module);
    for segment in module.elements.iter_mut() {
        if let ElementItems::Functions(functions) = &mut segment.items {
            for function in functions {
                if border.second.contains(&function.index()) {
                    *function = missing;
                }
            }
        }
    }
    let mut slots: Vec<(u32, FunctionId)> = added(&module, border).collect();
    slots.retain(|(_, function)| !border.second.contains(&function.index()));
    fill(&mut module, &slots)?;
    widen(&mut module, border)?;
    for (name, item) in shared(&module) {
        if second.imports.find(FIRST, &name).is_some() {
            module.exports.add(&name, item);
        }
    }
    passes::gc::run(&mut module);
    Ok(module)
}

/// What the parts can share, under names of their own: those that the module exports are not ours to rely on.
fn shared(module: &Module) -> Vec<(String, ExportItem)> {
    let memories = module.memories.iter().map(Memory::id).map(ExportItem::from);
    let tables = module.tables.iter().map(Table::id).map(ExportItem::from);
    let globals = module.globals.iter().map(Global::id).map(ExportItem::from);
    let all = memories.chain(tables).chain(globals).enumerate();
    all.map(|(number, item)| (format!("shared{number}"), item))
        .collect()
}

/// Makes something that a module has one that it imports.
fn import(module: &mut Module, name: &str, item: ExportItem) {
    match item {
        ExportItem::Memory(id) => {
            let import = module.imports.add(FIRST, name, id);
            let memory = module.memories.get_mut(id);
            memory.import = Some(import);
            memory.data_segments.clear();
        }
        ExportItem::Table(id) => {
            let import = module.imports.add(FIRST, name, id);
            let table = module.tables.get_mut(id);
            table.import = Some(import);
            table.init = None;
            table.elem_segments.clear();
        }
        ExportItem::Global(id) => {
            let import = module.imports.add(FIRST, name, id);
            module.globals.get_mut(id).kind = GlobalKind::Import(import);
        }
        ExportItem::Function(_) | ExportItem::Tag(_) => {}
    }
}

/// Takes away what a module does on its own account, and what it shows.
fn empty(module: &mut Module) {
    module.start = None;
    for id in module.exports.iter().map(Export::id).collect::<Vec<_>>() {
        module.exports.delete(id);
    }
    for id in module.data.iter().map(Data::id).collect::<Vec<_>>() {
        module.data.delete(id);
    }
    for id in module.elements.iter().map(Element::id).collect::<Vec<_>>() {
        module.elements.delete(id);
    }
    for id in module.customs.iter().map(|(id, _)| id).collect::<Vec<_>>() {
        module.customs.delete(id);
    }
}

/// The functions in the slots that the border adds.
fn added(module: &Module, border: &Border) -> impl Iterator<Item = (u32, FunctionId)> {
    let functions = module
        .funcs
        .iter()
        .map(|function| (function.id().index(), function.id()));
    let functions: BTreeMap<usize, FunctionId> = functions.collect();
    border
        .added
        .iter()
        .filter_map(move |(slot, number)| Some((*slot, *functions.get(number)?)))
}

/// Puts functions into neighboring slots of the table.
fn fill(module: &mut Module, slots: &[(u32, FunctionId)]) -> Result<(), Error> {
    let Some((start, _)) = slots.first() else {
        return Ok(());
    };
    let table = table(module)?;
    let kind = ElementKind::Active {
        table,
        offset: ConstExpr::Value(Value::I32(start.cast_signed())),
    };
    let functions = slots.iter().map(|(_, function)| *function).collect();
    let segment = module
        .elements
        .add(kind, ElementItems::Functions(functions));
    module.tables.get_mut(table).elem_segments.insert(segment);
    Ok(())
}

/// Gives the table room for what the border adds.
fn widen(module: &mut Module, border: &Border) -> Result<(), Error> {
    let id = table(module)?;
    let table = module.tables.get_mut(id);
    let more = u64::try_from(border.added.len())?;
    table.initial += more;
    table.maximum = table.maximum.map(|maximum| maximum + more);
    Ok(())
}

/// A function that stands for those of the second part as long as that is not there.
fn missing(module: &mut Module) -> FunctionId {
    let mut missing = FunctionBuilder::new(&mut module.types, &[], &[]);
    missing.func_body().unreachable();
    missing.finish(Vec::new(), &mut module.funcs)
}

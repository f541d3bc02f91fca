//! Cuts a linked module in two, so that a reader who only looks loads only what that takes.
//!
//! The first part is the module as it was, without some functions; the second holds those, and nothing else. Memory,
//! data, globals and the function table stay with the first, which exports them for the second to import. A call from
//! one part to the other goes through the table, as calls through function pointers always do: the caller names a slot,
//! and the part that has the function fills it.
//!
//! So the first part runs alone as long as nothing needs the second. What does need it ends in a trap: until the second
//! part is there, its slots hold a function that does nothing else. `src/web/parts.js` sees to it that this
//! happens before there is anything to lose, and then starts anew with both.
//!
//! Where the cut runs is a matter of size alone. Both parts together do what the whole did, so that a list of names
//! which no longer fits the sources costs bytes, never results.

mod border;
mod later;
mod parts;
mod plan;

use walrus::{Module, ModuleConfig};

use super::Error;
use border::Border;
pub(crate) use later::OF_EMBED;

/// A module in two.
pub(crate) struct Parts {
    /// What starts.
    pub(crate) first: Vec<u8>,
    /// What is added to it later: it imports memory, table and globals from `first` as from a module `./first`.
    pub(crate) second: Vec<u8>,
}

/// Cuts a module that still has its names; the parts have none. Functions whose names speak of one of the paths of
/// `later` go to the second part, together with what only they call.
pub(crate) fn split(module: &[u8], later: &[&str]) -> Result<Parts, Error> {
    let whole = read(module)?;
    let border = Border::of(&whole, plan::second_part(&whole, later))?;
    let mut second = parts::second(read(module)?, &border)?;
    let mut first = parts::first(read(module)?, &border, &second)?;
    Ok(Parts {
        first: first.emit_wasm(),
        second: second.emit_wasm(),
    })
}

fn read(module: &[u8]) -> Result<Module, Error> {
    let mut config = ModuleConfig::new();
    config.generate_name_section(false);
    config.generate_producers_section(false);
    Ok(config.parse(module)?)
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use walrus::ir::{BinaryOp, Value};
    use walrus::{ConstExpr, ElementItems, ElementKind, FunctionBuilder, FunctionId};
    use walrus::{Module, RefType, TableId, ValType};

    use super::split;

    /// Adds a function that returns a number and what some functions return, added up.
    fn sum(module: &mut Module, name: &str, number: i32, others: &[FunctionId]) -> FunctionId {
        let mut function = FunctionBuilder::new(&mut module.types, &[], &[ValType::I32]);
        function.name(name.to_owned());
        let mut body = function.func_body();
        body.i32_const(number);
        for other in others {
            body.call(*other).binop(BinaryOp::I32Add);
        }
        function.finish(Vec::new(), &mut module.funcs)
    }

    /// Adds a function that calls what a slot of a table points to, and exports it.
    fn point(module: &mut Module, name: &str, table: TableId, slot: i32) {
        let ty = module.types.add(&[], &[ValType::I32]);
        let mut function = FunctionBuilder::new(&mut module.types, &[], &[ValType::I32]);
        function
            .func_body()
            .i32_const(slot)
            .call_indirect(ty, table);
        let function = function.finish(Vec::new(), &mut module.funcs);
        module.exports.add(name, function);
    }

    /// A module that exports two sums and two calls through pointers, and has a memory.
    fn whole() -> Vec<u8> {
        let mut module = Module::default();
        let memory = module.memories.add_local(false, false, 1, None, None);
        module.exports.add("memory", memory);
        let often = sum(&mut module, "k[0123456789abcdef]::often", 1, &[]);
        let helper = sum(&mut module, "k[0123456789abcdef]::helper", 20, &[]);
        let rare = "<k[0123456789abcdef]::x::Y>::rare";
        let rare = sum(&mut module, rare, 300, &[often, helper]);
        let made_for = "<Iter<<k[0123456789abcdef]::x::Y>::rare::{closure#0}> as Next>::next";
        let made_for = sum(&mut module, made_for, 4_000, &[helper, rare]);
        let alike = sum(&mut module, "k::x::Yes", 50_000, &[]);
        for (name, called) in [("easy", [often, alike]), ("hard", [alike, rare])] {
            let sum = sum(&mut module, name, 0, &called);
            module.exports.add(name, sum);
        }
        let table = module.tables.add_local(false, 3, Some(3), RefType::FUNCREF);
        let offset = ConstExpr::Value(Value::I32(1));
        let pointers = ElementItems::Functions(vec![alike, made_for]);
        let kind = ElementKind::Active { table, offset };
        let segment = module.elements.add(kind, pointers);
        module.tables.get_mut(table).elem_segments.insert(segment);
        point(&mut module, "easy_pointer", table, 1);
        point(&mut module, "hard_pointer", table, 2);
        module.emit_wasm()
    }

    /// What each exported function of the first part returns, alone and after the second has been added.
    fn run(first: &[u8], second: &[u8]) -> String {
        const SCRIPT: &str = "const [first, second] = process.argv.slice(1).map((bytes) => \
            new WebAssembly.Module(Uint8Array.from(JSON.parse(bytes)))); \
            const { exports } = new WebAssembly.Instance(first); \
            const all = () => ['easy', 'hard', 'easy_pointer', 'hard_pointer'].map((name) => { \
                try { return exports[name](); } catch (error) { return error.constructor.name; } }).join(' '); \
            const alone = all(); \
            new WebAssembly.Instance(second, { './first': exports }); \
            console.log(`${alone}; ${all()}`);";
        let mut node = Command::new("node");
        let output = node
            .args(["-e", SCRIPT, &format!("{first:?}"), &format!("{second:?}")])
            .output()
            .unwrap();
        assert!(
            output.status.success(),
            "{}",
            String::from_utf8_lossy(&output.stderr)
        );
        String::from_utf8(output.stdout).unwrap().trim().to_owned()
    }

    /// How many functions a part has of its own.
    fn count(part: &[u8]) -> usize {
        Module::from_buffer(part)
            .unwrap()
            .funcs
            .iter_local()
            .count()
    }

    #[test]
    fn both_parts_do_together_what_the_whole_did() {
        let whole = whole();
        let parts = split(&whole, &["x::Y"]).unwrap();
        assert_eq!(
            run(&parts.first, &parts.second),
            "50001 RuntimeError 50000 RuntimeError; 50001 50321 50000 4341"
        );
        // The two that are named, and the one that only they call. In the first stands something in their place.
        assert_eq!((count(&whole), count(&parts.second)), (9, 3));
        assert_eq!(count(&parts.first), 9 - 3 + 1);
    }

    #[test]
    fn with_nothing_named_the_first_part_is_the_whole() {
        let parts = split(&whole(), &["x::Z", "k::rare"]).unwrap();
        assert_eq!(count(&parts.second), 0);
        let all = "50001 50321 50000 4341";
        assert_eq!(run(&parts.first, &parts.second), format!("{all}; {all}"));
    }
}

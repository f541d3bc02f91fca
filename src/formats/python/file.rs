//! The functions and the constants at the top of a Python file.

use std::collections::BTreeMap;

use super::expressions::{Parameter, definition, imported, local};

/// One statement with its line and its depth of indentation.
pub(super) struct Statement {
    pub(super) text: String,
    pub(super) line: u32,
    pub(super) indent: usize,
}

/// A function at the top of the file.
pub(super) struct Function {
    pub(super) name: String,
    pub(super) line: u32,
    /// The parameters, with the values that they have by default.
    pub(super) parameters: Vec<Parameter>,
    pub(super) body: Vec<Statement>,
}

/// What the file has at its top.
pub(super) struct File {
    /// Where names that the file imports come from: `package.module.name` by the name in the file.
    pub(super) imports: BTreeMap<String, String>,
    pub(super) functions: Vec<Function>,
    pub(super) constants: BTreeMap<String, String>,
}

impl File {
    pub(super) fn new(statements: Vec<(String, u32)>) -> Self {
        let mut file = Self {
            imports: BTreeMap::new(),
            functions: Vec::new(),
            constants: BTreeMap::new(),
        };
        let mut is_inside = false;
        for (whole, line) in statements {
            let text = whole.trim();
            if text.is_empty() {
                continue;
            }
            let indent = whole.len() - whole.trim_start().len();
            if indent > 0 {
                if let Some(function) = file.functions.last_mut().filter(|_| is_inside) {
                    function.body.push(Statement {
                        text: text.to_owned(),
                        line,
                        indent,
                    });
                }
                continue;
            }
            is_inside = false;
            if let Some((name, parameters)) = definition(text) {
                is_inside = true;
                file.functions.push(Function {
                    name,
                    line,
                    parameters,
                    body: Vec::new(),
                });
            } else if let Some((module, names)) = imported(text) {
                for (name, original) in names {
                    file.imports.insert(name, format!("{module}.{original}"));
                }
            } else if let Some((name, value)) = local(text) {
                file.constants.insert(name.to_owned(), value.to_owned());
            }
        }
        file
    }

    pub(super) fn find(&self, name: &str) -> Option<&Function> {
        self.functions.iter().find(|function| function.name == name)
    }
}

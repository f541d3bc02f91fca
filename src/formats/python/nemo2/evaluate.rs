//! Follows the statements of functions.

use std::collections::BTreeMap;

use super::factories;
use super::objects::{Configured, LIST, Object};
use crate::formats::python::blocks::{self, Blocks, Known, Values};
use crate::formats::python::expressions::{call, is_literal, is_path, joined, named, parts, split_outside};
use crate::formats::python::file::{File, Function, Statement};

/// How deep functions call each other, and expressions are nested.
const MAX_DEPTH: usize = 24;
/// The most objects that one recipe configures.
const MAX_OBJECTS: usize = 2_000;

/// The names that a function knows.
type Locals = BTreeMap<String, Object>;

/// The objects that a recipe has configured so far.
pub(super) struct Evaluation<'f> {
    file: &'f File,
    pub(super) objects: Vec<Configured>,
    /// The line of the statement that is followed.
    pub(super) line: u32,
}

impl<'f> Evaluation<'f> {
    pub(super) const fn new(file: &'f File) -> Self {
        Self {
            file,
            objects: Vec::new(),
            line: 0,
        }
    }

    /// Follows a function with arguments and returns what it returns.
    pub(super) fn function(&mut self, function: &Function, arguments: &Locals, depth: usize) -> Option<Object> {
        if depth > MAX_DEPTH {
            return None;
        }
        let mut locals = Locals::new();
        for (name, default) in &function.parameters {
            let object = match (arguments.get(name), default) {
                (Some(object), _) => object.clone(),
                (None, Some(default)) => {
                    self.line = function.line;
                    self.evaluate(default, &Locals::new(), depth)
                }
                (None, None) => Object::Open(name.clone()),
            };
            locals.insert(name.clone(), object);
        }
        let mut blocks = Blocks::default();
        for statement in &function.body {
            let Statement { text, line, .. } = statement;
            // A condition that is not known counts as true.
            let follows = blocks.follows(statement, |condition| {
                self.line = *line;
                self.condition(condition, &locals, depth).unwrap_or(true)
            });
            if !follows {
                continue;
            }
            self.line = *line;
            if let Some(value) = text.strip_prefix("return ") {
                return Some(self.evaluate(value, &locals, depth));
            }
            self.statement(text, &mut locals, depth);
        }
        None
    }

    /// Follows an assignment or a call.
    fn statement(&mut self, text: &str, locals: &mut Locals, depth: usize) {
        let assignment = text
            .split_once('=')
            .filter(|(_, value)| !value.starts_with('='))
            .map(|(target, value)| (target.split(':').next().unwrap_or_default().trim(), value));
        let Some((target, value)) = assignment.filter(|(target, _)| is_path(target)) else {
            self.evaluate(text, locals, depth);
            return;
        };
        let value = self.evaluate(value, locals, depth);
        let Some((owner, field)) = target.rsplit_once('.') else {
            locals.insert(target.to_owned(), value);
            return;
        };
        let line = self.line;
        if let Object::Configured(index) = self.evaluate(owner, locals, depth)
            && let Some(object) = self.objects.get_mut(index)
        {
            object.set(field, value, line);
        }
    }

    /// Whether a condition holds; `None` where that is not known.
    fn condition(&mut self, condition: &str, locals: &Locals, depth: usize) -> Option<bool> {
        let mut scope = Scope {
            evaluation: self,
            locals,
            depth,
        };
        blocks::condition(&mut scope, condition)
    }

    /// The value of an expression.
    pub(super) fn evaluate(&mut self, expression: &str, locals: &Locals, depth: usize) -> Object {
        let expression = expression.trim();
        let open = || Object::Open(expression.to_owned());
        if depth > MAX_DEPTH || self.objects.len() > MAX_OBJECTS {
            return open();
        }
        let depth = depth + 1;
        if let Some((value, rest)) = split_outside(expression, " if ")
            && let Some((condition, other)) = split_outside(rest, " else ")
        {
            return match self.condition(condition, locals, depth) {
                Some(true) => self.evaluate(value, locals, depth),
                Some(false) => self.evaluate(other, locals, depth),
                None => open(),
            };
        }
        let operators = [" or ", " and ", " == ", " != ", " is ", " in "];
        let is_condition = operators
            .iter()
            .any(|operator| split_outside(expression, operator).is_some());
        if is_condition || expression.starts_with("not ") {
            return match self.condition(expression, locals, depth) {
                Some(true) => Object::plain("True"),
                Some(false) => Object::plain("False"),
                None => open(),
            };
        }
        if let Some(text) = joined(expression) {
            return Object::Plain(text);
        }
        if is_literal(expression) {
            return Object::plain(expression);
        }
        let brackets = expression.strip_prefix('[').and_then(|list| list.strip_suffix(']'));
        if let Some(items) = brackets {
            let items = parts(items).into_iter().enumerate();
            let items = items.map(|(at, item)| (at.to_string(), item)).collect();
            return self.configure(LIST, items, locals, depth);
        }
        if is_path(expression) {
            return self.path(expression, locals, depth);
        }
        if let Some((name, arguments)) = call(expression) {
            return self.call(name, parts(arguments), locals, depth);
        }
        // `PEFT_STR2CLS[peft_scheme.lower()]`: classes of adapters by their names.
        if let Some((table, key)) = expression.strip_suffix(']').and_then(|rest| rest.split_once('[')) {
            let key = self.evaluate(key, locals, depth);
            return match (table, key.text()) {
                ("PEFT_STR2CLS", Some("lora")) => Object::Open("LoRA".to_owned()),
                ("PEFT_STR2CLS", Some("dora")) => Object::Open("DoRA".to_owned()),
                _ => open(),
            };
        }
        open()
    }

    /// The value of a name or of an attribute.
    fn path(&mut self, path: &str, locals: &Locals, depth: usize) -> Object {
        let mut names = path.split('.');
        let first = names.next().unwrap_or_default();
        let open = Object::Open(path.to_owned());
        let mut object = match locals.get(first) {
            Some(object) => object.clone(),
            None => match self.file.constants.get(first) {
                Some(value) => self.evaluate(value, &Locals::new(), depth),
                // A function or a class.
                None => return open,
            },
        };
        for name in names {
            match self.field(&object, name) {
                Some((field, _)) => object = field,
                None => return open,
            }
        }
        object
    }

    /// The value of a call.
    fn call(&mut self, name: &str, arguments: Vec<String>, locals: &Locals, depth: usize) -> Object {
        let own = self.file.functions.iter().find(|known| known.name == name);
        if let Some(function) = own {
            let given = self.arguments(function, &arguments, locals, depth);
            let returned = self.function(function, &given, depth);
            return returned.unwrap_or_else(|| Object::plain("None"));
        }
        if let Some((owner, method)) = name.rsplit_once('.')
            && let Some(first) = arguments.first().or(Some(&String::new()))
        {
            match method {
                "lower" => {
                    if let Object::Plain(text) = self.evaluate(owner, locals, depth) {
                        return Object::Plain(text.to_lowercase());
                    }
                }
                "append" => {
                    let item = self.evaluate(first, locals, depth);
                    self.append(owner, &[item], locals, depth);
                    return Object::plain("None");
                }
                "extend" => {
                    let list = self.evaluate(first, locals, depth);
                    let items = self.items(&list);
                    self.append(owner, &items, locals, depth);
                    return Object::plain("None");
                }
                _ => {}
            }
        }
        if matches!(name, "run.Config" | "run.Partial" | "Config" | "Partial") {
            let mut arguments = arguments.into_iter();
            let first = arguments.next().unwrap_or_default();
            let class = match self.evaluate(&first, locals, depth) {
                Object::Open(class) => class,
                _ => first,
            };
            let fields = fields(arguments);
            return self.configure(&class, fields, locals, depth);
        }
        let last = name.rsplit('.').next().unwrap_or_default();
        if last.starts_with(char::is_uppercase) {
            let fields = fields(arguments.into_iter());
            return self.configure(last, fields, locals, depth);
        }
        let module = self.file.imports.get(name);
        let name = module.map_or(name, String::as_str);
        let known = factories::find(name);
        match known {
            Some(factory) => {
                let names = factory.parameters();
                let mut given = Locals::new();
                for (position, argument) in arguments.iter().enumerate() {
                    let (name, value) = match named(argument) {
                        Some((name, value)) => (Some(name), value),
                        None => (names.get(position).copied(), argument.as_str()),
                    };
                    let value = self.evaluate(value, locals, depth);
                    if let Some(name) = name {
                        given.insert(name.to_owned(), value);
                    }
                }
                factory.make(self, &given)
            }
            None => Object::Open(name.to_owned()),
        }
    }

    /// The arguments of a call by the names of the function's parameters.
    fn arguments(&mut self, function: &Function, arguments: &[String], locals: &Locals, depth: usize) -> Locals {
        let mut given = Locals::new();
        for (position, argument) in arguments.iter().enumerate() {
            let (name, value) = if let Some((name, value)) = named(argument) {
                (Some(name), value)
            } else {
                let parameter = function.parameters.get(position);
                (parameter.map(|(name, _)| name.as_str()), argument.as_str())
            };
            let value = self.evaluate(value, locals, depth);
            if let Some(name) = name {
                given.insert(name.to_owned(), value);
            }
        }
        given
    }

    /// Makes an object of a class with the values of expressions as its fields.
    fn configure(&mut self, class: &str, fields: Vec<(String, String)>, locals: &Locals, depth: usize) -> Object {
        let line = self.line;
        let fields = fields.into_iter();
        let fields: Vec<(String, Object, u32)> = fields
            .map(|(name, value)| {
                let value = self.evaluate(&value, locals, depth);
                (name, value, line)
            })
            .collect();
        self.add(class, fields)
    }

    /// Adds an object.
    pub(super) fn add(&mut self, class: &str, fields: Vec<(String, Object, u32)>) -> Object {
        let class = class.rsplit('.').next().unwrap_or_default().to_owned();
        self.objects.push(Configured { class, fields });
        Object::Configured(self.objects.len() - 1)
    }

    /// A field of an object, with the line that set it.
    pub(super) fn field(&self, object: &Object, name: &str) -> Option<(Object, u32)> {
        let Object::Configured(index) = object else {
            return None;
        };
        let (field, line) = self.objects.get(*index)?.field(name)?;
        Some((field.clone(), line))
    }

    /// The items of a list.
    fn items(&self, list: &Object) -> Vec<Object> {
        match list {
            Object::Configured(index) => {
                let fields = self.objects.get(*index).map(|object| &object.fields);
                let items = fields.into_iter().flatten();
                items.map(|(_, item, _)| item.clone()).collect()
            }
            _ => Vec::new(),
        }
    }

    /// Appends items to the list that an expression stands for. An empty list is a plain value until then.
    fn append(&mut self, list: &str, items: &[Object], locals: &Locals, depth: usize) {
        let line = self.line;
        let known = match self.evaluate(list, locals, depth) {
            Object::Configured(index) => index,
            Object::Plain(text) if text == "[]" => {
                let Object::Configured(index) = self.add(LIST, Vec::new()) else {
                    return;
                };
                if let Some((owner, field)) = list.rsplit_once('.')
                    && let Object::Configured(owner) = self.evaluate(owner, locals, depth)
                    && let Some(owner) = self.objects.get_mut(owner)
                {
                    owner.set(field, Object::Configured(index), line);
                }
                index
            }
            _ => return,
        };
        if let Some(list) = self.objects.get_mut(known) {
            for item in items {
                let name = list.fields.len().to_string();
                list.set(&name, item.clone(), line);
            }
        }
    }

    /// The settings of an object and of the objects in it, as `key=value` with lines; and functions of other files that
    /// make one of them.
    pub(super) fn leaves(
        &self,
        object: &Object,
        path: &str,
        line: u32,
        pairs: &mut Vec<(String, u32)>,
        elsewhere: &mut Vec<(String, String, u32)>,
    ) {
        match object {
            Object::Plain(value) => pairs.push((format!("{path}={value}"), line)),
            Object::Open(name) => elsewhere.push((path.to_owned(), name.clone(), line)),
            Object::Configured(index) => {
                let Some(object) = self.objects.get(*index) else {
                    return;
                };
                if object.class != LIST {
                    pairs.push((format!("{path}._class={}", object.class), line));
                }
                for (name, field, line) in &object.fields {
                    // Callbacks are told by their classes.
                    let class = match field {
                        Object::Configured(item) if object.class == LIST => {
                            self.objects.get(*item).map(|item| item.class.as_str())
                        }
                        _ => None,
                    };
                    let name = class.unwrap_or(name);
                    self.leaves(field, &format!("{path}.{name}"), *line, pairs, elsewhere);
                }
            }
        }
    }
}

/// The values that expressions have at one place of a function.
struct Scope<'e, 'f> {
    evaluation: &'e mut Evaluation<'f>,
    locals: &'e Locals,
    depth: usize,
}

impl Values for Scope<'_, '_> {
    fn known(&mut self, expression: &str) -> Known {
        match self.evaluation.evaluate(expression, self.locals, self.depth) {
            Object::Plain(value) => Known::Plain(value.trim_matches(['"', '\'']).to_owned()),
            Object::Configured(index) => {
                let is_true = |object: &Configured| object.class != LIST || !object.fields.is_empty();
                let object = self.evaluation.objects.get(index);
                object.map_or(Known::Open, |object| Known::Object {
                    is_true: is_true(object),
                })
            }
            Object::Open(_) => Known::Open,
        }
    }

    fn has_field(&mut self, object: &str, field: &str) -> Option<bool> {
        let object = self.evaluation.evaluate(object, self.locals, self.depth);
        let is_known = matches!(object, Object::Configured(_));
        is_known.then(|| self.evaluation.field(&object, field).is_some())
    }
}

/// The arguments of a class: by their names, or by their positions.
fn fields(arguments: impl Iterator<Item = String>) -> Vec<(String, String)> {
    arguments
        .enumerate()
        .map(|(position, argument)| match named(&argument) {
            Some((name, value)) => (name.to_owned(), value.to_owned()),
            None => (position.to_string(), argument),
        })
        .collect()
}

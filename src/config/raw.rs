//! A job as it arrives: plain values by field, nothing checked yet, nothing lost.

use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::adapters::{PeftSetting, read_peft};
use super::field::Scope;
use super::fields::FieldId;
use super::not_modelled::{Feature, NotModelled};
use super::parse::{Parsed, parse};
use crate::value::Value;

/// Raw values by field. A missing entry means "the default", `Value::Null` means "explicitly nothing".
///
/// In the order of the fields: a sorted list, since there are few of them.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Settings(Vec<(FieldId, Value)>);

impl Settings {
    /// The raw value of a field, where one was given.
    #[must_use]
    pub fn get(&self, field: FieldId) -> Option<&Value> {
        let at = self.place(field).ok()?;
        self.0.get(at).map(|(_, value)| value)
    }

    /// Where the field is, or where it would have to be.
    fn place(&self, field: FieldId) -> Result<usize, usize> {
        self.0.binary_search_by_key(&field, |(id, _)| *id)
    }

    /// Sets a field's raw value.
    pub fn set(&mut self, field: FieldId, value: Value) {
        match self.place(field) {
            Ok(at) => {
                if let Some((_, old)) = self.0.get_mut(at) {
                    *old = value;
                }
            }
            Err(at) => self.0.insert(at, (field, value)),
        }
    }

    /// Sets the fields of adapters from a map of Megatron-Bridge's names. Returns entries that no field has.
    pub fn set_peft(&mut self, peft: &Value) -> Vec<(String, Value)> {
        let mut others = Vec::new();
        for (key, setting) in read_peft(peft) {
            match setting {
                PeftSetting::Field(field, value) => self.set(field, value),
                PeftSetting::Ignored => {}
                PeftSetting::Unknown => {
                    let value = peft.get(&key).cloned().unwrap_or_default();
                    others.push((["peft.", &key].concat(), value));
                }
            }
        }
        others
    }

    /// Goes back to the default.
    pub fn unset(&mut self, field: FieldId) {
        if let Ok(at) = self.place(field) {
            self.0.remove(at);
        }
    }

    /// The given fields in declaration order.
    pub fn iter(&self) -> impl Iterator<Item = (FieldId, &Value)> {
        self.0.iter().map(|(id, value)| (*id, value))
    }

    /// The given fields by name.
    fn named(&self) -> Vec<(String, Value)> {
        let named = |(id, value): (FieldId, &Value)| (id.field().name.to_owned(), value.clone());
        self.iter().map(named).collect()
    }

    /// Takes over every entry of `other`.
    pub fn overlay(&mut self, other: &Self) {
        for (field, value) in &other.0 {
            self.set(*field, value.clone());
        }
    }
}

impl FromIterator<(FieldId, Value)> for Settings {
    fn from_iter<I: IntoIterator<Item = (FieldId, Value)>>(entries: I) -> Self {
        let mut settings = Self::default();
        for (field, value) in entries {
            settings.set(field, value);
        }
        settings
    }
}

/// One module of a job.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RawModule {
    /// The module's name; a job must have one called `language`.
    pub name: String,
    /// First rank of the module's span.
    pub rank_offset: Option<Value>,
    /// The module's own values, over the shared ones.
    pub settings: Settings,
}

/// A job: shared values, and modules where there is more than one model.
///
/// A job without modules is one module called `language` with the shared values.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RawJob {
    /// Values of the job and of every module that does not set its own.
    pub shared: Settings,
    /// The modules in order; empty for a plain job.
    pub modules: Vec<RawModule>,
    /// Keys that no field has, with the values they came with.
    pub unknown: Vec<(String, Value)>,
    /// What changes the job's memory and is not modelled. With a mark, the estimate is that of another job.
    pub not_modelled: Vec<NotModelled>,
}

/// Writes the public JSON form.
impl Serialize for RawJob {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.to_value().serialize(serializer)
    }
}

/// Reads the public JSON form.
impl<'de> Deserialize<'de> for RawJob {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        match Value::deserialize(deserializer)? {
            job @ Value::Map(_) => Ok(Self::from_value(&job)),
            _ => Err(D::Error::custom("a job is an object with Megatron's arguments")),
        }
    }
}

impl RawJob {
    /// Reads the public JSON form: a flat map of field names, with `modules` for several modules.
    /// Keys that no field has are kept as [`RawJob::add_other`] says.
    #[must_use]
    pub fn from_value(value: &Value) -> Self {
        let mut job = Self::default();
        let Value::Map(entries) = value else {
            return job;
        };
        for (key, value) in entries {
            match (key.as_str(), value) {
                ("modules", Value::List(modules)) if !modules.is_empty() => {
                    for module in modules {
                        let (module, others) = RawModule::from_value(module);
                        for (key, value) in others {
                            job.add_other(key, value);
                        }
                        job.modules.push(module);
                    }
                }
                ("peft", value) => {
                    let others = job.shared.set_peft(value);
                    for (key, value) in others {
                        job.add_other(key, value);
                    }
                }
                (key, value) => match FieldId::by_name(key) {
                    Some(field) => job.shared.set(field, value.clone()),
                    None => job.add_other(key.to_owned(), value.clone()),
                },
            }
        }
        job.share();
        job
    }

    /// The job in its public JSON form, which [`RawJob::from_value`] reads.
    #[must_use]
    pub fn to_value(&self) -> Value {
        let mut entries = self.shared.named();
        entries.extend(self.unknown.iter().cloned());
        let modules = self.modules.iter().map(RawModule::to_value);
        let modules: Vec<Value> = modules.collect();
        if !modules.is_empty() {
            entries.push(("modules".to_owned(), Value::List(modules)));
        }
        if !self.not_modelled.is_empty() {
            let marks = self.not_modelled.iter().map(NotModelled::to_value);
            entries.push(("not_modelled".to_owned(), Value::List(marks.collect())));
        }
        Value::Map(entries)
    }

    /// Keeps a key that no field has. The list `not_modelled` and keys of [features](Feature) that are not modelled
    /// become marks, unless the feature is off; all others are unknown.
    pub fn add_other(&mut self, key: String, value: Value) {
        match (key.as_str(), Feature::of_key(&key)) {
            ("not_modelled", _) => self.not_modelled.extend(NotModelled::from_value(&value)),
            (_, Some(feature)) if feature.is_off(&value) => {}
            (_, Some(feature)) => self.mark(NotModelled::new(&key, feature.reason)),
            _ => self.unknown.push((key, value)),
        }
    }

    /// Adds a mark, unless the job has one for this key.
    pub fn mark(&mut self, mark: NotModelled) {
        if self.not_modelled.iter().all(|known| known.key != mark.key) {
            self.not_modelled.push(mark);
        }
    }

    /// Removes the mark of a key: the estimate counts as that of the job again.
    pub fn unmark(&mut self, key: &str) {
        self.not_modelled.retain(|mark| mark.key != key);
    }

    /// Moves what has one value for the whole job out of the modules, but for values that contradict each other.
    fn share(&mut self) {
        let Self { shared, modules, .. } = self;
        for module in modules {
            module.settings.0.retain(|(field, value)| {
                if field.field().scope == Scope::Module {
                    return true;
                }
                if shared.get(*field).is_none() {
                    shared.set(*field, value.clone());
                }
                shared.get(*field) != Some(value)
            });
        }
    }

    /// Whether a pattern says what the layers of module `module` are.
    #[must_use]
    pub fn is_hybrid(&self, module: usize) -> bool {
        self.get(module, FieldId::hybrid_layer_pattern)
            .is_some_and(|value| !matches!(value, Value::Null))
    }

    /// The raw value that counts for a field of module `module`.
    #[must_use]
    pub fn get(&self, module: usize, field: FieldId) -> Option<&Value> {
        let own = match field.field().scope {
            Scope::Module => self.modules.get(module).and_then(|m| m.settings.get(field)),
            Scope::Job => None,
        };
        own.or_else(|| self.shared.get(field))
    }

    /// All fields in their order, each with the raw value that counts for it in module `module`.
    pub(super) fn values(&self, module: usize) -> impl Iterator<Item = (FieldId, Option<&Value>)> {
        // Settings are in the order of fields.
        let own = self.modules.get(module).map_or(&[][..], |m| &m.settings.0);
        let (mut own, mut shared) = (own.iter().peekable(), self.shared.0.iter().peekable());
        FieldId::ALL.iter().map(move |field| {
            let own = own.next_if(|(id, _)| id == field);
            let own = own.filter(|_| field.field().scope == Scope::Module);
            let shared = shared.next_if(|(id, _)| id == field);
            (*field, own.or(shared).map(|(_, value)| value))
        })
    }

    /// The whole number that counts for a field of module `module`, where one was given that the field can take.
    #[must_use]
    pub fn number(&self, module: usize, field: FieldId) -> Option<u64> {
        match parse(field.field(), self.get(module, field)?) {
            Ok(Some(Parsed::Int(n))) => Some(n),
            _ => None,
        }
    }

    /// Whether all modules share all ranks.
    #[must_use]
    pub fn colocates(&self) -> bool {
        let field = FieldId::colocate_modules;
        let given = self.shared.get(field);
        given.is_some_and(|value| parse(field.field(), value) == Ok(Some(Parsed::Flag(true))))
    }

    /// Sets the value that counts for a field of module `module`.
    pub fn put(&mut self, module: usize, field: FieldId, value: Value) {
        self.place(module, field).set(field, value);
    }

    /// Where the value that counts for a field of module `module` belongs: with the module, or with the
    /// job where the field has one value for all or there are no modules.
    pub fn place(&mut self, module: usize, field: FieldId) -> &mut Settings {
        if field.field().scope == Scope::Job {
            for module in &mut self.modules {
                module.settings.unset(field);
            }
        }
        match self.modules.get_mut(module) {
            Some(own) if field.field().scope == Scope::Module => &mut own.settings,
            _ => &mut self.shared,
        }
    }

    /// The own values of the module with a name; none where there is no such module.
    #[must_use]
    pub fn settings_of(&self, name: &str) -> Settings {
        let mut modules = self.modules.iter();
        let module = modules.find(|module| module.name == name);
        module.map(|m| m.settings.clone()).unwrap_or_default()
    }

    /// How many modules the job has; at least one.
    #[must_use]
    pub fn module_count(&self) -> usize {
        self.modules.len().max(1)
    }
}

impl RawModule {
    /// Reads a module. The second result are the keys that no field has.
    fn from_value(value: &Value) -> (Self, Vec<(String, Value)>) {
        let (mut module, mut others) = (Self::default(), Vec::new());
        let Value::Map(entries) = value else {
            return (module, others);
        };
        for (key, value) in entries {
            match (key.as_str(), value) {
                ("name", Value::Text(name)) => module.name.clone_from(name),
                ("rank_offset", offset) => module.rank_offset = Some(offset.clone()),
                ("peft", value) => others.extend(module.settings.set_peft(value)),
                (key, value) => match FieldId::by_name(key) {
                    Some(field) => module.settings.set(field, value.clone()),
                    None => others.push((key.to_owned(), value.clone())),
                },
            }
        }
        (module, others)
    }

    fn to_value(&self) -> Value {
        let mut entries = vec![("name".to_owned(), Value::Text(self.name.clone()))];
        let offset = self.rank_offset.iter();
        entries.extend(offset.map(|offset| ("rank_offset".to_owned(), offset.clone())));
        entries.extend(self.settings.named());
        Value::Map(entries)
    }
}

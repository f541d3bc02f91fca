//! A field's raw value as the text of its control, and when two raw values mean the same.

use megatron_memory::config::field::{Default, Field, Kind};
use megatron_memory::config::parse::{Parsed, parse};
use megatron_memory::value::Value;

/// The text that stands for a raw value in a control: what was typed, as it was typed.
pub(crate) fn shown(field: &Field, value: Option<&Value>) -> String {
    match value {
        None => shown(field, Some(&default(field))),
        Some(Value::Null) => String::new(),
        Some(Value::Text(text)) => text.clone(),
        Some(value) => match parse(field, value) {
            Ok(Some(Parsed::Pattern(pattern))) => pattern.to_string(),
            Ok(Some(Parsed::Set(bits))) => names(field, bits),
            _ => value.to_string(),
        },
    }
}

/// What a missing value means, as a raw value; null where nothing or something derived is meant.
pub(crate) fn default(field: &Field) -> Value {
    match field.default {
        Default::Required | Default::Derived(_) => Value::Null,
        Default::Int(i) => Value::Int(i.into()),
        Default::Flag(on) => Value::Bool(on),
        Default::Choice(name) | Default::Set(name) => Value::Text(name.to_owned()),
        Default::Decimal(_) => Value::Text(field.default.to_string()),
    }
}

/// The raw value in its plainest form, where it is valid: `128k` becomes 131072.
pub(crate) fn canonical(field: &Field, value: &Value) -> Option<Value> {
    Some(match parse(field, value).ok()? {
        None => Value::Null,
        Some(Parsed::Int(i)) => Value::Int(i.into()),
        Some(Parsed::Flag(on)) => Value::Bool(on),
        Some(Parsed::Choice(index)) => {
            let Kind::Choice(names) = field.kind else {
                return None;
            };
            Value::Text((*names.get(usize::from(index))?).to_owned())
        }
        Some(Parsed::Set(bits)) => Value::Text(names(field, bits)),
        Some(Parsed::Decimal(decimal)) => Value::Text(decimal.to_string()),
        Some(Parsed::Text(text)) => Value::Text(text),
        // A pattern stays as it was written: the short forms say more than the list.
        Some(Parsed::Pattern(_)) => match value {
            Value::Text(text) => Value::Text(text.trim().to_owned()),
            value => value.clone(),
        },
    })
}

/// Whether two raw values mean the same to this field.
pub(crate) fn same(field: &Field, a: Option<&Value>, b: Option<&Value>) -> bool {
    if a == b {
        return true;
    }
    let default = default(field);
    let (a, b) = (a.unwrap_or(&default), b.unwrap_or(&default));
    match (parse(field, a), parse(field, b)) {
        (Ok(a), Ok(b)) => a == b,
        _ => a == b,
    }
}

/// Whether a flag is on, or a name is in a set.
pub(crate) fn has(field: &Field, value: Option<&Value>, index: usize) -> bool {
    let default = default(field);
    match parse(field, value.unwrap_or(&default)) {
        Ok(Some(Parsed::Flag(on))) => on,
        Ok(Some(Parsed::Set(bits))) => bits >> index & 1 == 1,
        Ok(Some(Parsed::Choice(chosen))) => usize::from(chosen) == index,
        _ => false,
    }
}

/// The set with one name put in or taken out.
pub(crate) fn toggled(field: &Field, value: Option<&Value>, index: usize) -> Value {
    let default = default(field);
    let bits = match parse(field, value.unwrap_or(&default)) {
        Ok(Some(Parsed::Set(bits))) => bits,
        _ => 0,
    };
    Value::Text(names(field, bits ^ 1 << index))
}

fn names(field: &Field, bits: u32) -> String {
    let Kind::Set(names) = field.kind else {
        return String::new();
    };
    let chosen = names.iter().enumerate().filter(|(index, _)| bits >> index & 1 == 1);
    let chosen: Vec<&str> = chosen.map(|(_, name)| *name).collect();
    chosen.join(",")
}

#[cfg(test)]
mod tests {
    use super::{canonical, same, shown};
    use megatron_memory::config::fields::FieldId;
    use megatron_memory::value::Value;
    use wasm_bindgen_test::wasm_bindgen_test;

    fn text(text: &str) -> Value {
        Value::Text(text.to_owned())
    }

    #[wasm_bindgen_test(unsupported = test)]
    fn typed_numbers_become_plain_only_where_they_are_valid() {
        let field = FieldId::seq_length.field();
        for (typed, plain) in [
            ("128k", Some(131_072)),
            ("1M", Some(1_048_576)),
            ("4_096", Some(4096)),
            ("4,096", Some(4096)),
            (" 4096 ", Some(4096)),
            ("1e6", Some(1_000_000)),
            ("1e", None),
            ("", None),
            ("0", None),
        ] {
            assert_eq!(canonical(field, &text(typed)), plain.map(Value::Int), "{typed}");
            assert_eq!(shown(field, Some(&text(typed))), typed);
        }
    }

    #[wasm_bindgen_test(unsupported = test)]
    fn a_missing_value_means_the_default() {
        let field = FieldId::tensor_model_parallel_size.field();
        assert!(same(field, None, Some(&Value::Int(1))));
        assert!(same(field, Some(&text(" 1 ")), None));
        assert!(!same(field, Some(&text("2")), None));
        assert_eq!(shown(field, None), "1");
        let modules = FieldId::recompute_modules.field();
        assert!(same(modules, None, Some(&text("core_attn"))));
        assert!(!same(modules, None, Some(&text(""))));
    }
}

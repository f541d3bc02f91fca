//! The list of what is not modelled in a link: keys separated by commas. Where a key does not say its reason, the name
//! of a feature or the reason itself follows after a colon.

use super::{notation, text};
use crate::config::not_modelled::{Feature, NotModelled};

/// The value of the token, percent-encoded.
pub(super) fn write(marks: &[NotModelled]) -> String {
    if marks.is_empty() {
        return notation::NULL.to_owned();
    }
    let mut value = String::new();
    for mark in marks {
        if !value.is_empty() {
            value.push(',');
        }
        text::encode_item(&mut value, &mark.key);
        if NotModelled::of_key(&mark.key) != *mark {
            value.push(':');
            let mut features = Feature::ALL.iter();
            let feature = features.find(|feature| feature.reason == mark.reason);
            text::encode_item(&mut value, feature.map_or(&mark.reason, |feature| feature.id));
        }
    }
    value
}

/// Reads the value of the token.
pub(super) fn read(value: &str) -> Vec<NotModelled> {
    if value == notation::NULL {
        return Vec::new();
    }
    let mark = |item: &str| {
        let (key, reason) = match item.split_once(':') {
            Some((key, reason)) => (key, text::decode(reason)),
            None => (item, String::new()),
        };
        let key = text::decode(key);
        match (Feature::by_id(&reason), reason.is_empty()) {
            (Some(feature), _) => NotModelled::new(&key, feature.reason),
            (None, true) => NotModelled::of_key(&key),
            (None, false) => NotModelled::new(&key, reason),
        }
    };
    let items = value.split(',').filter(|item| !item.is_empty());
    items.map(mark).collect()
}

//! Sentences with gaps. `format!` puts code into every place that it stands in, and there are hundreds of
//! messages: here a place only says what goes into the gaps.

/// What fills the gaps of a sentence, in order.
#[derive(Debug, Default)]
pub(crate) struct Gaps(Vec<String>);

impl Gaps {
    /// The next gap gets a text.
    pub(crate) fn text(&mut self, text: &str) -> &mut Self {
        self.0.push(text.to_owned());
        self
    }

    /// The next gap gets a number.
    pub(crate) fn number(&mut self, number: i128) -> &mut Self {
        self.0.push(number.to_string());
        self
    }

    /// The sentence with every `{}` filled.
    pub(crate) fn fill(&self, sentence: &str) -> String {
        let mut filled = String::new();
        let mut gaps = self.0.iter();
        for (at, piece) in sentence.split('{').enumerate() {
            if at == 0 {
                filled.push_str(piece);
            } else {
                filled.push_str(gaps.next().map_or("", String::as_str));
                filled.push_str(piece.strip_prefix('}').unwrap_or(piece));
            }
        }
        filled
    }
}

#[cfg(test)]
mod tests {
    use super::Gaps;

    #[test]
    fn gaps_are_filled_in_order() {
        let mut gaps = Gaps::default();
        gaps.text("tp").number(3).number(-8);
        assert_eq!(gaps.fill("{} {} must divide {}"), "tp 3 must divide -8");
        assert_eq!(gaps.fill("none"), "none");
    }
}

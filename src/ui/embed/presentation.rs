//! The options in the query of an embed's address: `?view=bar&fields=tp,pp&readonly=1`.

use megatron_memory::config::fields::FieldId;
use megatron_memory::formats::share_url::unescape;

/// The most inputs beside a small result.
const FEW: usize = 6;
/// The most inputs at all.
const MANY: usize = 64;

/// The view of the calculator that is shown.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum EmbedView {
    /// The whole form beside all results.
    Full,
    /// A few inputs and the headline.
    #[default]
    Compact,
    /// The headline and its bar.
    Bar,
    /// Every stage with its buckets.
    Table,
    /// The heaviest stage over one step.
    Timeline,
    /// What other values of some fields would come to.
    Sweep,
}

impl EmbedView {
    const ALL: [Self; 6] = [
        Self::Full,
        Self::Compact,
        Self::Bar,
        Self::Table,
        Self::Timeline,
        Self::Sweep,
    ];

    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Full => "full",
            Self::Compact => "compact",
            Self::Bar => "bar",
            Self::Table => "table",
            Self::Timeline => "timeline",
            Self::Sweep => "sweep",
        }
    }
}

/// How an embed looks. The job itself is in the fragment.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Presentation {
    /// The view.
    pub(super) view: EmbedView,
    /// The fields that stay inputs, in the order of the address.
    pub(super) fields: Vec<FieldId>,
    /// Whether nothing can be changed.
    pub(super) readonly: bool,
}

impl Presentation {
    /// Reads the query, with its `?`. What it does not know it leaves out: the page around may have its own.
    pub(super) fn from_query(query: &str) -> Self {
        let pairs = query.trim_start_matches('?').split('&');
        let mut presentation = Self::default();
        let mut named = None;
        for (name, value) in pairs.map(|pair| pair.split_once('=').unwrap_or((pair, ""))) {
            match name {
                "view" => {
                    let known = EmbedView::ALL.into_iter().find(|view| view.name() == value);
                    presentation.view = known.unwrap_or_default();
                }
                "fields" => named = Some(fields(value)),
                "readonly" => presentation.readonly = !matches!(value, "0" | "false"),
                _ => {}
            }
        }
        presentation.fields = named.unwrap_or_else(|| match presentation.view {
            EmbedView::Compact => fields("tp,pp,cp,ep,mbs,rc"),
            EmbedView::Sweep => fields("tp,pp,mbs"),
            _ => Vec::new(),
        });
        let most = if presentation.view == EmbedView::Full {
            MANY
        } else {
            FEW
        };
        presentation.fields.truncate(most);
        presentation
    }
}

/// Fields by their link keys or Megatron's names, each once.
fn fields(list: &str) -> Vec<FieldId> {
    let mut fields = Vec::new();
    for name in unescape(list).split([',', '+']) {
        let field = FieldId::by_key(name).or_else(|| FieldId::by_name(name));
        if let Some(field) = field.filter(|field| !fields.contains(field)) {
            fields.push(field);
        }
    }
    fields
}

#[cfg(test)]
mod tests {
    use super::{EmbedView, Presentation};
    use megatron_memory::config::fields::FieldId;
    use wasm_bindgen_test::wasm_bindgen_test;

    #[wasm_bindgen_test(unsupported = test)]
    fn the_query_says_what_is_shown() {
        let read = Presentation::from_query("?view=bar&fields=tp%2Cpp,tp,nonsense&readonly=1&theme=auto");
        assert_eq!(read.view, EmbedView::Bar);
        let (tp, pp) = (
            FieldId::tensor_model_parallel_size,
            FieldId::pipeline_model_parallel_size,
        );
        assert_eq!(read.fields, [tp, pp]);
        assert!(read.readonly);
    }

    #[wasm_bindgen_test(unsupported = test)]
    fn without_a_query_a_few_inputs_are_shown() {
        let read = Presentation::from_query("");
        assert_eq!(read.view, EmbedView::Compact);
        assert!(read.fields.contains(&FieldId::tensor_model_parallel_size));
        assert!(!read.readonly);
        assert_eq!(Presentation::from_query("?view=<b>&x=y&=&&readonly=0"), read);
    }

    #[wasm_bindgen_test(unsupported = test)]
    fn small_views_have_six_inputs_at_most() {
        let names: Vec<&str> = FieldId::ALL.iter().map(|id| id.field().key).collect();
        let all = names.join(",");
        let count = |view: &str| {
            Presentation::from_query(&format!("?view={view}&fields={all}"))
                .fields
                .len()
        };
        assert_eq!((count("compact"), count("table"), count("full")), (6, 6, 64));
    }
}

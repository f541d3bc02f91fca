//! A number as a product of factors.

use leptos::prelude::*;

use crate::parts::Table;
use megatron_memory::report::explain::{Explanation, Factor, How};

/// The formula in symbols, with values and as a result, and what each symbol stands for.
#[component]
pub(super) fn Formula(
    /// The explanation of a product; nothing is shown for a sum.
    explanation: ReadSignal<Explanation>,
) -> impl IntoView {
    move || {
        let explanation = explanation.read();
        let How::Product {
            symbols,
            values,
            legend,
        } = &explanation.how
        else {
            return None;
        };
        let symbol_rows = legend.iter().map(symbol_row).collect_view();
        Some(view! {
            <div class="formula">
                <p>{symbols.clone()}</p>
                <p>{format!("= {values}")}</p>
                <p>{format!("= {}", explanation.exact)}</p>
            </div>
            <Table attr:class="symbols" attr:aria-label="Symbols">
                {symbol_rows}
            </Table>
        })
    }
}

fn symbol_row(factor: &Factor) -> impl IntoView + use<> {
    view! {
        <tr>
            <th scope="row">{factor.symbol.clone()}</th>
            <td class="number">{factor.value.clone()}</td>
            <td>{factor.meaning.clone()}</td>
        </tr>
    }
}

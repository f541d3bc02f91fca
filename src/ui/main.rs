//! The entry point of the page: what `index.html` loads, and `embed.html` for the whole calculator.

fn main() {
    ui::start_page();
}

//! The entry point of small embeds: what `embed.html` loads for every view but the whole calculator.

fn main() {
    ui::start_light_embed();
}

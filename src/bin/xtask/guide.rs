//! The guide: what is counted and read, and how to use the calculator elsewhere. It is written as Markdown, so that it
//! can be read beside the sources too, and becomes a page when the calculator is built.

use pulldown_cmark::{Event, Options, Parser, Tag, TagEnd, html};

use super::html::framed;

const TITLE: &str = "Guide";
const DESCRIPTION: &str =
    "What the calculator of Megatron's GPU memory counts and reads, and how to embed, host, call and cite it.";
const TEXT: &str = include_str!("guide/page.md");

/// The whole page.
pub(crate) fn html() -> String {
    let mut events: Vec<Event<'_>> = Parser::new_ext(TEXT, Options::ENABLE_TABLES).collect();
    name_headings(&mut events);
    let mut text = String::new();
    html::push_html(&mut text, events.into_iter());
    // A table may be wider than a phone.
    let text = text
        .replace(
            "<table>",
            "<div class=\"table-scroll\" tabindex=\"0\" role=\"group\" aria-label=\"Table\"><table>",
        )
        .replace("</table>", "</table></div>")
        .replace("<pre>", "<pre tabindex=\"0\">");
    framed(TITLE, DESCRIPTION, &format!("<div class=\"guide\">\n{text}</div>\n"))
}

/// Gives every heading the name by which links find it, as sites that show Markdown do.
fn name_headings(events: &mut [Event<'_>]) {
    let mut words = String::new();
    for event in events.iter_mut().rev() {
        match event {
            Event::End(TagEnd::Heading(_)) => words.clear(),
            Event::Text(text) | Event::Code(text) => words.insert_str(0, text),
            Event::Start(Tag::Heading { id, .. }) => *id = Some(name(&words).into()),
            _ => {}
        }
    }
}

fn name(heading: &str) -> String {
    let lower = heading.to_lowercase();
    let kept = lower.chars().filter(|c| c.is_alphanumeric() || matches!(c, ' ' | '-'));
    kept.map(|c| if c == ' ' { '-' } else { c }).collect()
}

#[cfg(test)]
mod tests {
    use super::html;

    #[test]
    fn headings_have_names_and_tables_scroll() {
        let page = html();
        assert!(page.contains("<h2 id=\"how-accurate-it-is\">How accurate it is</h2>"));
        assert!(page.contains("<div class=\"table-scroll\""));
        assert!(!page.contains("<!-- main -->"));
    }

    /// Links of the README into the guide.
    #[test]
    fn links_to_its_headings_have_an_end() {
        let page = html();
        let readme = include_str!("../../../README.md");
        let mut links = 0;
        for part in readme.split("src/bin/xtask/guide/page.md#").skip(1) {
            let name = part.split(')').next().unwrap();
            assert!(page.contains(&format!("id=\"{name}\"")), "{name}");
            links += 1;
        }
        assert!(links > 0);
    }
}

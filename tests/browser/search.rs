//! The layout search in the built page: what it does to the page while it runs, and what can be done with its table.

use std::{thread, time::Duration};

use serde_json::json;

use super::page::Page;

const LLAMA: &str = "v1;m=llama3-8b@1;gpus=64;tp=2;cp=1;gbs=256";
/// A model of few layers, whose layouts are soon asked about, with some ten thousands of them.
const MANY: &str = "v1;m=mixtral-8x7b@1;L=16;E=64;gpus=1024;tp=1;pp=1;vpp=null;cp=1;ep=1;gbs=4096;gpu=h200";
const DIALOG: &str = "dialog.modal";
const TOTAL: &str = "[data-testid=total]";
/// The part of the page that says how far it is.
const PROGRESS: &str = "dialog.modal .layouts-progress";

/// The page with the search open.
fn open(fragment: &str) -> Page {
    let page = Page::open(fragment);
    page.until("document.querySelector('[data-testid=verdict]').innerText");
    show(&page);
    page
}

fn show(page: &Page) {
    page.until("document.querySelector('[data-testid=search-layouts]')");
    page.click("[data-testid=search-layouts]");
    page.until(&format!("document.querySelector('{DIALOG}[open] h2')"));
}

fn at(place: &str) -> String {
    format!("{DIALOG} [name=\"{place}\"]")
}

/// Whether a size varies.
fn vary(page: &Page, name: &str) {
    page.click(&at(&format!("vary:{name}")));
}

fn until_done(page: &Page) {
    page.until(&format!(
        "document.querySelector('{PROGRESS}').innerText.includes('Done')"
    ));
    // The last rows and the picture come a frame later.
    page.until(&format!("!document.querySelector('{DIALOG} [aria-busy=true]')"));
}

fn search(page: &Page) {
    page.click(&at("start"));
    until_done(page);
}

/// Text of the cells of a column that are drawn, counted from 1 behind the buttons and the rank of a row.
fn column(page: &Page, number: usize) -> Vec<String> {
    let child = number + 2;
    let rows = format!("{DIALOG} tbody tr:not(.layouts-gap) td:nth-child({child})");
    let cells = page.eval(&format!(
        "Array.from(document.querySelectorAll('{rows}'), (cell) => cell.innerText)"
    ));
    let cells = cells.as_array().unwrap().iter();
    cells.map(|cell| cell.as_str().unwrap().to_owned()).collect()
}

fn numbers(page: &Page, number: usize) -> Vec<f64> {
    let cells = column(page, number);
    cells.iter().map(|cell| cell.parse().unwrap()).collect()
}

#[test]
fn a_layout_is_found_and_applied_in_one_step_that_undo_takes_back() {
    let page = Page::open(LLAMA);
    page.until(&format!("document.querySelector('{TOTAL}').innerText"));
    page.requests();
    show(&page);
    // The dialog is part of the application, and workers start with the search.
    assert_eq!(page.requests(), Vec::<String>::new());
    let said = page.text(DIALOG);
    assert!(
        said.contains("7 values of PP × 7 values of TP (4 within your limit) = 49 combinations."),
        "{said}"
    );
    let before = page.fragment();
    let entries = page.eval("history.length").as_u64().unwrap();
    search(&page);
    let status = page.text(&format!("{PROGRESS} [role=status]"));
    assert!(status.starts_with("Done: "), "{status}");
    // The layout of the page is marked, and has its place among the others.
    assert_eq!(page.count(&format!("{DIALOG} tbody tr.own[aria-current=true]")), 1);
    let own = page.text(&format!("{DIALOG} .layouts-own"));
    assert!(own.starts_with("Your layout, PP 1, TP 2: number "), "{own}");
    page.click(&format!("{DIALOG} tbody [aria-label=\"Apply PP 4, TP 2\"]"));
    page.until(&format!("!document.querySelector('{DIALOG}').open"));
    page.until(&format!("location.hash === '#{}'", before.replace("tp=2", "tp=2;pp=4")));
    assert_eq!(page.eval("history.length"), json!(entries + 1));
    // What was found is still there, and the applied layout is the page's own.
    show(&page);
    page.until(&format!(
        "document.querySelector('{DIALOG} .layouts-own')?.innerText.startsWith('Your layout, PP 4, TP 2')"
    ));
    page.click(&format!("{DIALOG} .layouts-why summary"));
    assert!(page.count(&format!("{DIALOG} .layouts-why li")) > 0);
    page.press("\u{E00C}");
    page.until(&format!("!document.querySelector('{DIALOG}').open"));
    page.click("[data-testid=undo]");
    page.until(&format!("location.hash === '#{before}'"));
    assert_eq!(page.complaints(), Vec::<String>::new());
}

#[test]
fn what_layouts_trade_is_drawn_pointed_at_and_applied() {
    let page = open(LLAMA);
    search(&page);
    page.click(&at("about-layouts"));
    let points = format!("{DIALOG} .tradeoff-points");
    page.until(&format!("document.querySelector('{points} [role=option]')"));
    let best = page.count(&format!("{points} [role=option]"));
    let rows = page.eval(&format!(
        "parseInt(document.querySelector('{DIALOG} .layouts-rows').innerText)"
    ));
    assert!(best > 1 && best < rows.as_u64().unwrap(), "{best} of {rows}");
    // From left to right the bubble grows and the peak falls: what is above and to the right is beaten.
    let places = format!(
        "[...document.querySelectorAll('{points} [role=option]')].map((c) => [+c.getAttribute('cx'), +c.getAttribute('cy')])"
    );
    let falls = "((all) => all.slice(1).every(([x, y], i) => x >= all[i][0] && y >= all[i][1]))";
    assert_eq!(page.eval(&format!("{falls}({places})")), json!(true));
    assert!(page.shows(&format!("{points} .tradeoff-own")));

    // Arrow keys go along them, and the sentence says all measures.
    page.eval(&format!("(document.querySelector('{points}').focus(), 0)"));
    page.press("\u{E014}\u{E014}");
    let chosen = format!("{points} [role=option][aria-selected=true]");
    page.until(&format!("document.querySelector('{chosen}')"));
    let second = page.eval(&format!(
        "[...document.querySelectorAll('{points} [role=option]')].findIndex((o) => o.ariaSelected === 'true')"
    ));
    assert_eq!(second, json!(1));
    let named = page.eval(&format!("document.querySelector('{chosen}').ariaLabel"));
    let said = page.text(&format!("{DIALOG} .tradeoff .readout"));
    assert_eq!(json!(said), named);
    for words in ["peak ", "bubble ", "recomputed", "over the network"] {
        assert!(said.contains(words), "{said}");
    }
    assert_eq!(
        page.eval(&format!(
            "document.querySelector('{points}').getAttribute('aria-activedescendant') === document.querySelector('{chosen}').id"
        )),
        json!(true)
    );
    // Other measures, another picture.
    let before = page.eval(&places);
    page.eval(&format!(
        "((menu) => {{ menu.value = 'network_bytes'; menu.dispatchEvent(new Event('change', {{ bubbles: true }})); }})\
         (document.querySelector('{}'))",
        at("tradeoff-up")
    ));
    page.until(&format!("JSON.stringify({places}) !== '{before}'"));
    // What a mouse points at is told, and a click chooses it.
    page.click(&format!("{points} [role=option]:last-of-type"));
    let said = page.text(&format!("{DIALOG} .tradeoff .readout"));
    for width in [1280, 360] {
        page.viewport(width, 800);
        let inside = page.eval(&format!(
            "document.querySelector('{points} svg').getBoundingClientRect().right <= innerWidth"
        ));
        assert_eq!(inside, json!(true), "{width}");
    }
    page.eval(&format!(
        "document.querySelector('{DIALOG} .tradeoff').scrollIntoView()"
    ));
    page.screenshot("tradeoff-360");
    page.viewport(1280, 900);
    page.media("prefers-color-scheme", "dark");
    page.eval(&format!(
        "document.querySelector('{DIALOG} .tradeoff').scrollIntoView()"
    ));
    page.screenshot("tradeoff-dark");
    page.click(&at("tradeoff-apply"));
    page.until(&format!("!document.querySelector('{DIALOG}').open"));
    let sizes = said.split(": peak").next().unwrap().to_owned();
    for size in sizes.split(", ") {
        let (key, value) = size.split_once(' ').unwrap();
        assert_eq!(page.value(&format!("#field-{}", key.to_lowercase())), value, "{sizes}");
    }
    assert_eq!(page.complaints(), Vec::<String>::new());
}

/// The table comes first, within its dialog: what is to be known about it is folded up.
#[test]
fn the_table_is_what_one_sees_when_a_search_is_done() {
    let page = open(LLAMA);
    search(&page);
    for (width, height) in [(1440, 900), (1280, 720), (390, 844)] {
        page.viewport(width, height);
        let [top, bottom, most] = ["table.top", "table.bottom", "dialog.bottom"].map(|edge| {
            let edge = page.eval(&format!(
                "(({{ table, dialog }}) => {edge})({{ table: document.querySelector('{DIALOG} .layouts-table').getBoundingClientRect(), \
                 dialog: document.querySelector('{DIALOG}').getBoundingClientRect() }})"
            ));
            edge.as_f64().unwrap()
        });
        assert!(
            top < f64::from(height) * 0.5 && bottom <= most,
            "{top} to {bottom} of {most} at {width}"
        );
        assert!(bottom - top > 180.0, "{top} to {bottom} at {width}");
    }
    assert_eq!(page.count(&format!("{DIALOG} .tradeoff")), 0);
    page.click(&at("about-layouts"));
    page.until(&format!("document.querySelector('{DIALOG} .tradeoff')"));
    assert_eq!(page.complaints(), Vec::<String>::new());
}

/// Layouts that cannot be told apart share a rank, and those with little memory free stand behind a line that says so.
#[test]
fn ranks_are_shared_and_a_line_parts_what_leaves_little_memory_free() {
    let page = open("v1;m=llama3-8b@1;gpus=16;tp=2;cp=1;gbs=64;gpu=a100-40gb");
    for name in ["micro_batch_size", "recompute_granularity"] {
        vary(&page, name);
    }
    search(&page);
    let rank = |row: &str| {
        let rank = page.text(&format!("{row} td:nth-child(2)"));
        let is_tie = rank.ends_with(", a tie");
        let number: u64 = rank.trim_end_matches(", a tie").parse().unwrap();
        (number, is_tie)
    };
    let row = |number: u64| format!("{DIALOG} tbody tr[aria-rowindex=\"{number}\"]");
    assert_eq!(rank(&row(2)).0, 1);
    let mut ranks: Vec<(u64, bool)> = (2..8).map(|number| rank(&row(number))).collect();
    ranks.push((u64::MAX, false));
    assert!(ranks.is_sorted_by_key(|(number, _)| *number), "{ranks:?}");
    for pair in ranks.windows(2) {
        assert!(pair[0].0 < pair[1].0 || (pair[0].1 && pair[1].1), "{ranks:?}");
    }
    let table = format!("document.querySelector('{DIALOG} .layouts-table')");
    let line = format!("{DIALOG} .layouts-line");
    // Scrolls on until the first line is in the page, and stays there: its row is drawn anew wherever the table is scrolled
    // to, and may be gone a moment later.
    let find_line = || {
        page.eval(&format!("({table}).scrollTop = 0"));
        page.until(&format!(
            "((line) => line ? (line.scrollIntoView({{ block: 'center' }}), true) : (({table}).scrollTop += 200, null))\
             (document.querySelector('{line}'))"
        ));
    };
    find_line();
    assert!(
        page.text(&line)
            .starts_with("Less than 5.0 GiB free: slower than predicted")
    );
    let number = page.eval(&format!("+document.querySelector('{line}').ariaRowIndex"));
    let number = number.as_u64().unwrap();
    let step = |number| page.text(&format!("{} td[data-label=Step]", row(number)));
    assert!(step(number + 1).ends_with(" s or more"), "{}", step(number + 1));
    assert!(step(number - 1).ends_with(" s"), "{}", step(number - 1));
    // Rows stand where their numbers say: the first row after the head and its line after line.
    let stand = |height: u64| {
        let places = page.eval(&format!(
            "((table) => {{ const top = table.querySelector('tbody').getBoundingClientRect().top; \
             return [...table.querySelectorAll('tbody tr[aria-rowindex]:not(.layouts-line)')].map((row) => \
             [+row.ariaRowIndex, Math.round(row.getBoundingClientRect().top - top)]); }})({table})"
        ));
        for place in places.as_array().unwrap() {
            let (at, top) = (place[0].as_u64().unwrap(), place[1].as_u64().unwrap());
            let lines = u64::from(at > number);
            if at < number + 2 {
                assert_eq!(top, (at - 2 - lines) * height + 44 * lines, "{place}");
            }
        }
    };
    stand(44);
    page.screenshot("layouts-line");
    assert_eq!(page.barriers(), Vec::<String>::new());
    page.viewport(390, 844);
    find_line();
    stand(232);
    let inside = page.eval(&format!(
        "[...document.querySelectorAll('{DIALOG} tbody tr[aria-rowindex]')].flatMap((row) => [...row.cells]).every((cell) => {{ \
         const [a, b] = [cell, cell.closest('tr')].map((e) => e.getBoundingClientRect()); \
         return a.bottom <= b.bottom + 1 && a.right <= b.right + 1; }})"
    ));
    page.screenshot("layouts-line-cards");
    assert_eq!(inside, json!(true));
    assert_eq!(page.barriers(), Vec::<String>::new());
    // By another column layouts of all groups stand mixed.
    page.viewport(1280, 900);
    page.click(&at("sort:peak_bytes"));
    page.until(&format!("!document.querySelector('{line}')"));
    assert_eq!(page.complaints(), Vec::<String>::new());
}

/// On a phone each layout is a card: nothing has to be scrolled sideways to be read.
#[test]
fn a_phone_shows_layouts_as_cards() {
    let page = Page::blank();
    page.viewport(390, 844);
    page.load(LLAMA);
    show(&page);
    search(&page);
    let table = format!("document.querySelector('{DIALOG} .layouts-table')");
    assert_eq!(
        page.eval(&format!("{table}.scrollWidth <= {table}.clientWidth")),
        json!(true)
    );
    let cells = format!("[...document.querySelector('{DIALOG} tbody tr:not(.layouts-gap)').cells]");
    let inside = page.eval(&format!(
        "{cells}.every((cell) => {{ const [a, b] = [cell, cell.closest('tr')].map((e) => e.getBoundingClientRect()); \
         return a.bottom <= b.bottom + 1 && a.right <= b.right + 1; }})"
    ));
    assert_eq!(inside, json!(true));
    assert_eq!(page.barriers(), Vec::<String>::new());
    page.screenshot("layouts-cards");
}

/// The buttons of a row are in view beside all its columns, on a phone too.
#[test]
fn what_can_be_done_with_a_layout_is_always_in_view() {
    let page = open(LLAMA);
    search(&page);
    for (width, height) in [(1440, 900), (360, 640)] {
        page.viewport(width, height);
        let inside = page.eval(&format!(
            "((table, button) => {{ table.scrollLeft = 1e4; table.scrollIntoView(); \
             const [box, own] = [table.getBoundingClientRect(), button.getBoundingClientRect()]; \
             return own.left >= box.left && own.right <= box.right && box.right <= innerWidth; }})\
             (document.querySelector('{DIALOG} .layouts-table'), document.querySelector('{DIALOG} tbody button'))"
        ));
        assert_eq!(inside, json!(true), "{width}");
    }
}

#[test]
fn a_job_that_cannot_run_as_it_is_gets_layouts_that_can() {
    let page = open(&LLAMA.replace("tp=2", "tp=3"));
    page.until(&format!(
        "document.querySelector('{DIALOG}').innerText.includes(' = 49 combinations.')"
    ));
    search(&page);
    page.click(&format!("{DIALOG} tbody [aria-label=\"Apply PP 4, TP 2\"]"));
    page.until("document.getElementById('field-tp').value === '2'");
    assert!(!page.shows("[data-testid=stale]"));
    show(&page);
    // What varies is folded away beside what was found.
    page.click(&format!("{DIALOG} .layouts-options summary"));
    let border = || {
        page.eval(&format!(
            "getComputedStyle(document.querySelector('{}')).borderColor",
            at("most:pipeline_model_parallel_size")
        ))
    };
    let fine = border();
    page.fill(&at("most:pipeline_model_parallel_size"), "abc");
    page.press("\u{E004}");
    page.until(&format!(
        "document.querySelector('{DIALOG}').innerText.includes('is not a size')"
    ));
    assert_eq!(page.value(&at("most:pipeline_model_parallel_size")), "abc");
    assert_ne!(border(), fine);
}

/// The numbers of the page are dimmed then, but not those of the layouts.
#[test]
fn layouts_for_a_job_that_cannot_run_are_those_of_the_search() {
    let page = open("v1;m=qwen3-235b-a22b@1;gpus=64");
    assert!(page.shows("[data-testid=stale]"));
    search(&page);
    page.click(&at("about-layouts"));
    let picture = format!("document.querySelector('{DIALOG} .tradeoff .picture')");
    page.until(&picture);
    assert_eq!(page.eval(&format!("getComputedStyle({picture}).opacity")), json!("1"));
    assert!(page.shows(&format!("{DIALOG} .tradeoff-key .tradeoff-best")));
    assert!(!page.shows(&format!("{DIALOG} .tradeoff-key .tradeoff-own")));
}

#[test]
fn a_layout_is_compared_with_the_job() {
    let page = open(LLAMA);
    search(&page);
    page.click(&format!("{DIALOG} tbody [aria-label=\"Compare PP 2, TP 4\"]"));
    page.until("document.querySelector('.compare dl')");
    assert_eq!(page.fragment(), format!("{LLAMA};vs;tp=4;pp=2"));
}

#[test]
fn the_table_is_sorted_and_filtered_by_keyboard() {
    let page = open(LLAMA);
    search(&page);
    let first = column(&page, 3);
    page.eval(&format!(
        "document.querySelector('{} ').focus()",
        at("sort:peak_bytes").replace('"', "\\\"")
    ));
    let sorted = |page: &Page| {
        let heads = format!("[...document.querySelectorAll('{DIALOG} [aria-sort]')]");
        page.eval(&format!(
            "{heads}.flatMap((head) => [head.firstElementChild.name, head.ariaSort])"
        ))
    };
    assert_eq!(sorted(&page), json!(["sort:rank", "ascending"]));
    page.press("\u{E007}");
    assert_eq!(sorted(&page), json!(["sort:peak_bytes", "ascending"]));
    assert!(numbers(&page, 3).is_sorted());
    // The focus stays where it was.
    page.press("\u{E007}");
    assert_eq!(sorted(&page), json!(["sort:peak_bytes", "descending"]));
    assert!(numbers(&page, 3).is_sorted_by(|a, b| a >= b));
    page.press("\u{E007}");
    assert_eq!(sorted(&page), json!(["sort:rank", "ascending"]));
    assert_eq!(column(&page, 3), first);
    page.press("\u{E007}");
    page.click(&at("sort:rank"));
    assert_eq!(sorted(&page), json!(["sort:rank", "ascending"]));
    assert_eq!(column(&page, 3), first);
    page.fill(&at("filter"), "tp4");
    assert!(column(&page, 2).iter().all(|tp| tp == "4") && !column(&page, 2).is_empty());
    // Both are as they were when the dialog opens again.
    page.press("\u{E00C}");
    page.until(&format!("!document.querySelector('{DIALOG}').open"));
    show(&page);
    page.until(&format!(
        "document.querySelector('{DIALOG} tbody tr:not(.layouts-gap)')"
    ));
    let typed = format!("document.querySelector('{DIALOG} [name=filter]').value");
    assert_eq!(page.eval(&typed), json!("tp4"));
    assert!(column(&page, 2).iter().all(|tp| tp == "4"));
    page.fill(&at("filter"), "tp3");
    assert_eq!(column(&page, 2), Vec::<String>::new());
    assert_eq!(page.complaints(), Vec::<String>::new());
}

#[test]
fn what_is_nearest_to_fitting_is_named_with_what_would_help() {
    let page = open("v1;m=llama3-70b@1;gpus=8;gbs=8;mem=16000");
    search(&page);
    page.until(&format!(
        "document.querySelector('{DIALOG} .layouts-none').innerText.includes('would fit on')"
    ));
    let said = page.text(&format!("{DIALOG} .layouts-none"));
    assert!(said.starts_with("Nothing fits. Nearest is PP "), "{said}");
    assert_eq!(page.complaints(), Vec::<String>::new());
}

/// Tens of thousands of layouts: the search stops when it is told to, and all layouts scroll although few rows are
/// drawn.
#[test]
fn a_search_can_be_stopped_and_draws_only_the_rows_in_sight() {
    let page = open(MANY);
    for name in [
        "virtual_pipeline_model_parallel_size",
        "context_parallel_size",
        "micro_batch_size",
    ] {
        vary(&page, name);
    }
    page.click(&at("start"));
    let looked = || {
        let now = page.eval(&format!(
            "parseInt(document.querySelector('{DIALOG} .layouts-now')?.innerText.replaceAll(',', ''))"
        ));
        now.as_u64().unwrap_or(0)
    };
    page.until(&format!(
        "document.querySelector('{DIALOG} progress') && parseInt(document.querySelector('{DIALOG} .layouts-now').innerText) > 0"
    ));
    let early = looked();
    page.until(&format!(
        "parseInt(document.querySelector('{DIALOG} .layouts-now').innerText.replaceAll(',', '')) > {early}"
    ));
    page.click(&at("stop"));
    page.until(&format!(
        "document.querySelector('{PROGRESS}').innerText.includes('Stopped.')"
    ));
    let stopped = looked();
    thread::sleep(Duration::from_millis(500));
    assert_eq!(looked(), stopped);
    page.click(&at("start"));
    page.until_within(
        Duration::from_mins(2),
        &format!("document.querySelector('{PROGRESS}').innerText.includes('Done')"),
    );
    let rows = page.eval(&format!(
        "parseInt(document.querySelector('{DIALOG} .layouts-rows').innerText.replaceAll(',', ''))"
    ));
    assert!(rows.as_u64() > Some(10_000), "{rows}");
    assert!(page.count(&format!("{DIALOG} tbody tr")) < 50);
    // Two seconds of scrolling, more than a screen in every frame.
    let table = format!("document.querySelector('{DIALOG} .layouts-table')");
    page.eval(&format!(
        "window.frames_ = [], ({table}).scrollIntoView(), (function step(last) {{ requestAnimationFrame((now) => {{ \
         if (last) frames_.push(now - last); ({table}).scrollTop += 600; if (frames_.length < 120) step(now); }}); }})()"
    ));
    page.until("frames_.length >= 120");
    // What is in the middle is a row, not the space that others will take.
    let row = page.eval(&format!(
        "((box) => document.elementFromPoint(box.left + 40, box.top + box.height / 2).closest('tr').ariaRowIndex)\
         (({table}).getBoundingClientRect())"
    ));
    assert!(row.as_str().unwrap().parse::<u64>().unwrap() > 1_000, "{row}");
    page.eval(&format!("({table}).scrollTop = 1e9"));
    page.until(&format!(
        "((all) => all.querySelector(`tbody tr[aria-rowindex=\"${{all.ariaRowCount}}\"]`))\
         (document.querySelector('{DIALOG} table[aria-rowcount]'))"
    ));
    page.click(&at("sort:peak_bytes"));
    page.click(&at("sort:peak_bytes"));
    page.fill(&at("filter"), "tp4");
    assert_eq!(page.complaints(), Vec::<String>::new());
}

#[test]
fn everybody_can_use_it() {
    let page = open(LLAMA);
    for name in ["virtual_pipeline_model_parallel_size", "recompute_granularity"] {
        vary(&page, name);
    }
    search(&page);
    assert_eq!(page.barriers(), Vec::<String>::new());
    page.screenshot("layouts");
    page.media("prefers-color-scheme", "dark");
    assert_eq!(page.barriers(), Vec::<String>::new());
    page.screenshot("layouts-dark");
    page.viewport(360, 640);
    let wide = page.eval(&format!(
        "((dialog) => dialog.scrollWidth - dialog.clientWidth)(document.querySelector('{DIALOG}'))"
    ));
    assert_eq!(wide, json!(0));
    page.screenshot("layouts-phone");
}

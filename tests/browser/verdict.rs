//! What the headline says: the basis of its numbers, and that a job that cannot run has none.

use serde_json::json;

use super::page::Page;

/// 235B parameters in TP 4, PP 16, CP 2: a copy of the model takes 128 GPUs.
const ILLEGAL: &str = "v1;m=qwen3-235b-a22b@2;gpus=64";
const VERDICT: &str = "[data-testid=verdict]";
const TOTAL: &str = "[data-testid=total]";

/// The visible amounts of memory on the page, without those of its menus and fields.
const AMOUNTS: &str = r"
    Array.from(document.querySelectorAll('.summary, .results-pane'), (part) => part.innerText)
      .flatMap((text) => text.match(/\d[\d.,]*\s*(GiB|GB)\b/g) ?? [])";

fn embed(view: &str, fragment: &str) -> Page {
    let page = Page::blank();
    page.visit(&Page::address(&format!("embed.html?view={view}#{fragment}")));
    page.until(&format!("document.querySelector('{VERDICT}')?.innerText"));
    page
}

#[test]
fn an_illegal_link_shows_no_number_but_why_and_the_ways_out() {
    let page = Page::open(ILLEGAL);
    assert_eq!(page.text(VERDICT), "Cannot run");
    assert_eq!(page.eval(AMOUNTS), json!([]));
    assert!(!page.shows(TOTAL));
    assert!(page.text("[data-testid=stale]").contains("128 GPUs"));
    assert!(page.text(".results").contains("No result: the job cannot run."));
    assert_eq!(
        page.eval("getComputedStyle(document.querySelector('[data-testid=verdict]')).color"),
        page.eval(
            "(() => { const p = document.body.appendChild(document.createElement('p')); p.style.color = 'var(--bad)'; \
             return getComputedStyle(p).color; })()"
        )
    );
    assert_eq!(page.barriers(), Vec::<String>::new());
    page.click("[data-testid=find-layouts]");
    page.until("document.querySelector('dialog.modal[open]')?.textContent.includes('64')");
    assert_eq!(page.complaints(), Vec::<String>::new());

    // A way out leads to a job that runs.
    let page = Page::open(ILLEGAL);
    page.click(".ways-out .fix");
    page.until(&format!("document.querySelector('{TOTAL}').checkVisibility()"));
    assert_ne!(page.text(VERDICT), "Cannot run");
}

#[test]
fn an_illegal_link_shows_no_number_in_any_embed() {
    for view in ["full", "compact", "bar", "table", "timeline", "sweep"] {
        let page = embed(view, &format!("{ILLEGAL};tp=8"));
        assert_eq!(page.text(VERDICT), "Cannot run", "{view}");
        assert_eq!(page.eval(AMOUNTS), json!([]), "{view}");
        assert!(page.text("[data-testid=stale]").contains("GPUs"), "{view}");
        assert_eq!(
            page.eval("JSON.parse(document.documentElement.dataset.result).totals"),
            json!({ "valid": false, "stages": [] }),
            "{view}"
        );
        assert_eq!(page.complaints(), Vec::<String>::new(), "{view}");
    }
}

#[test]
fn older_numbers_stay_only_for_the_same_model() {
    let page = Page::open("v1;m=llama3-8b@1;tp=2");
    let total = page.text(TOTAL);
    let type_into = |field: &str, value: &str, problem: bool| {
        page.fill(field, value);
        page.until(&format!(
            "document.documentElement.hasAttribute('data-stale') === {problem}"
        ));
    };
    type_into("#field-tp", "3", true);
    assert_eq!(page.text(VERDICT), "Cannot run");
    assert_eq!(page.text(TOTAL), total);
    assert!(
        page.text("[data-testid=headroom]")
            .contains("the last settings that could run")
    );
    type_into("#field-tp", "2", false);

    // The same with a setting of the model: such numbers would be of another one.
    page.click("#field-tp");
    page.eval("document.querySelector('.form section button').click()");
    page.until("document.getElementById('field-L')");
    type_into("#field-h", "0", true);
    assert_eq!(page.eval(AMOUNTS), json!([]));
    type_into("#field-h", "4096", false);
    assert_eq!(page.text(TOTAL), total);

    // A link that comes later is another job, even to the same model. On the way to the address bar the field is left.
    page.eval("(document.activeElement.blur(), 0)");
    page.eval("(location.hash = '#v1;m=llama3-8b@1;tp=3', 0)");
    page.until("document.documentElement.hasAttribute('data-stale')");
    assert_eq!(page.eval(AMOUNTS), json!([]));
    page.eval("history.back()");
    page.until("!document.documentElement.hasAttribute('data-stale')");
    assert_eq!(page.text(TOTAL), total);
}

#[test]
fn a_comparison_with_a_job_that_cannot_run_has_no_numbers() {
    let page = Page::open(&format!("{ILLEGAL};vs;gpus=128"));
    let compared = "document.querySelector('.compare')?.innerText";
    page.until(&format!("{compared}.includes('cannot run')"));
    assert!(!page.shows(".compare table"));
    // The pinned job has numbers in its own column, and the job on the page has none.
    page.until("document.querySelector('.plans tbody td')");
    let cells = "[...document.querySelectorAll('.plans tbody tr')].slice(1, 3).map((tr) => tr.cells[1].textContent)";
    assert_eq!(page.eval(cells), json!(["–", "–"]));
    let page = Page::open("v1;m=llama3-8b@1;vs;tp=3");
    page.until(&format!("{compared}.includes('The pinned job cannot run.')"));
    assert!(!page.shows(".compare table"));
}

#[test]
fn free_memory_is_on_the_basis_of_the_verdict() {
    for (fragment, verdict, headroom) in [
        ("v1;m=deepseek-v3@2", "Fits", " free"),
        ("v1;m=llama3-8b@1", "Does not fit", "over by "),
    ] {
        let page = Page::open(fragment);
        assert_eq!(page.text(VERDICT), verdict);
        let number = |text: &str| text.trim().parse::<f64>().unwrap();
        let device = page.text("[data-testid=device]");
        let gpu = device.trim().strip_prefix("peak of ").unwrap();
        let shown = page.text(".missing");
        let range = shown.strip_prefix("nvidia-smi will show ").unwrap();
        let (low, high) = range.split_once(" GiB").unwrap().0.split_once(" to ").unwrap();
        let (low, high, gpu) = (number(low), number(high), number(gpu));
        let said = page.text("[data-testid=headroom]");
        let (amounts, _) = said.trim_start_matches("over by ").split_once(" GiB").unwrap();
        let (least, most) = amounts.split_once(" to ").unwrap();
        assert!(said.contains(headroom), "{said}");
        let [near, far] = if low > gpu {
            [low - gpu, high - gpu]
        } else {
            [gpu - high, gpu - low]
        };
        assert!((number(least) - near).abs() < 0.11, "{said} {device}");
        assert!((number(most) - far).abs() < 0.11, "{said} {device}");
        // The picture says so too, and the reader learns once what is behind the name of the GPU.
        assert!(page.text(".headline-bar").contains(" on the device"));
        assert_eq!(page.count(".headline-bar .device-range"), 3);
        page.click("[aria-label='About these numbers']");
        assert!(page.text(".details").contains("80 GB as sold, 79.6 GiB"));
        // How uncertain the number is stands there too.
        assert_eq!(page.count(".details a[href='./evidence.html']"), 1);
        let embedded = embed("bar", fragment);
        assert_eq!(embedded.text("[data-testid=device]"), device);
        assert_eq!(embedded.text("[data-testid=headroom]"), said);
    }
}

#[test]
fn the_unit_reaches_every_export() {
    let page = Page::open("v1;m=llama3-8b@1;tp=2");
    page.eval("[...document.querySelectorAll('.header button')].find((b) => b.innerText === 'GB').click()");
    page.until("document.querySelector('.total').innerText.includes(' GB')");
    let total = page.text(TOTAL);
    page.click("[data-testid=export]");
    for format in [
        "markdown",
        "link_summary",
        "svg:stage_bars",
        "svg:bucket_bar",
        "svg:rank_map",
    ] {
        page.until("document.querySelector('dialog select[name=format]')");
        page.eval(&format!(
            "(() => {{ const menu = document.querySelector('dialog select[name=format]'); menu.value = '{format}'; \
             menu.dispatchEvent(new Event('change', {{ bubbles: true }})); }})()"
        ));
        let text = "(document.querySelector('.modal-result pre')?.innerText \
             ?? decodeURIComponent(document.querySelector('.modal-result img')?.src ?? ''))";
        let starts = match format {
            "markdown" => "| GB |",
            "link_summary" => "GPU memory",
            _ => "<svg",
        };
        page.until(&format!("{text}.includes('{starts}')"));
        let text = page.eval(text);
        let text = text.as_str().unwrap();
        assert!(text.contains("GB") && !text.contains("GiB"), "{format}: {text}");
        if format == "link_summary" {
            assert!(text.contains(&format!("{total} GB allocated")), "{text}");
        }
    }
}

/// Llama 3 8B with Megatron FSDP, which the estimate does not follow.
const MARKED: &str = "v1;m=llama3-8b@1;nm=lora_rank,perform_rl_step";

#[test]
fn a_mark_stands_in_place_of_the_verdict_until_it_is_removed() {
    let page = Page::open(MARKED);
    let verdict = |page: &Page| page.text(VERDICT);
    assert_eq!(verdict(&page), "Estimate of another job:");
    assert_eq!(
        page.text("[data-testid=headroom]"),
        "lora_rank and perform_rl_step are not modelled"
    );
    assert!(
        page.text("[data-testid=not-modelled]")
            .contains("lora_rank is not modelled: ")
    );
    assert_eq!(page.barriers(), Vec::<String>::new());
    page.until("document.querySelector('[data-testid=not-modelled] button')");
    page.click("[data-testid=not-modelled] button");
    page.until("!location.hash.includes('lora_rank')");
    page.until("document.getElementById('spoken').innerText.includes('lora_rank no longer marks this job')");
    assert_eq!(page.text("[data-testid=headroom]"), "perform_rl_step is not modelled");
    page.click("[data-testid=not-modelled] button");
    page.until(&format!(
        "document.querySelector('{VERDICT}').innerText === 'Does not fit'"
    ));
    assert_eq!(page.count("[data-testid=not-modelled]"), 0);
    page.click("[data-testid=undo]");
    page.until("location.hash.includes('perform_rl_step')");
    assert_eq!(verdict(&page), "Estimate of another job:");
    assert_eq!(page.complaints(), Vec::<String>::new());
}

#[test]
fn a_mark_is_shown_in_embeds_beside_a_pinned_job_and_in_the_search() {
    for view in ["full", "compact", "bar", "table", "timeline", "sweep"] {
        let page = embed(view, MARKED);
        assert_eq!(page.text(VERDICT), "Estimate of another job:", "{view}");
        assert!(
            page.text("[data-testid=not-modelled]")
                .contains("lora_rank is not modelled: "),
            "{view}"
        );
        let totals = page.eval("JSON.parse(document.documentElement.dataset.result).totals");
        assert_eq!(totals["verdict"], "not_this_job", "{view}");
        assert_eq!(
            totals["not_modelled"],
            json!(["lora_rank", "perform_rl_step"]),
            "{view}"
        );
    }
    let page = Page::open("v1;m=llama3-8b@1;tp=2;vs;nm=lora_rank");
    page.until("document.querySelector('.compare table')");
    let compared = page.text(".compare");
    assert!(
        compared.contains("Pinned: estimate of another job, lora_rank is not modelled"),
        "{compared}"
    );
    let page = Page::open(&format!("{MARKED};gpus=64"));
    page.click("[data-testid=search-layouts]");
    page.until("document.querySelector('dialog.modal[open]')?.innerText.includes('lora_rank is not modelled')");
}

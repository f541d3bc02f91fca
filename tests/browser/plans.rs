//! Plans side by side: jobs that are kept in this browser, and jobs that are pinned, which the link holds.

use serde_json::json;

use super::form::catch_files;
use super::page::Page;

const SMALL: &str = "v1;m=llama3-8b@1;gpus=8;tp=1;pp=1;cp=1;gbs=64;sp=0";

#[test]
fn one_link_holds_several_pinned_jobs() {
    let page = Page::open(SMALL);
    page.show("Compare");
    let pin = "[name=pin-plan]";
    let columns = |page: &Page| {
        page.eval("[...document.querySelectorAll('.plans thead th')].slice(2).map((th) => th.firstChild.data)")
    };
    page.fill("#field-tp", "2");
    page.click(pin);
    page.fill("#field-tp", "4");
    page.click(pin);
    page.fill("#field-tp", "8");
    page.until("document.querySelectorAll('.plans thead th').length === 4");
    assert_eq!(columns(&page), json!(["Pinned 1", "Pinned 2"]));
    let cells = "[...document.querySelectorAll('.plans tbody tr')]
        .filter((tr) => tr.cells[0].textContent === 'Tensor parallel (TP)')
        .flatMap((tr) => [...tr.cells].slice(1).map((cell) => cell.textContent))";
    page.until(&format!("({cells}).join() === '8,4,2'"));
    // The comparison is with the job that was pinned last.
    assert!(page.text(".compare dl").contains("4 → 8"));
    page.until("location.hash.includes(';vs;tp=4;vs;tp=2')");
    let link = page.fragment();

    let other = Page::open(&link);
    other.until(&format!("({cells}).join() === '8,4,2'"));
    assert_eq!(other.fragment(), link);
    other.click("[aria-label='Unpin Pinned 1']");
    other.until("location.hash.includes('vs;tp=2') && !location.hash.includes('tp=4')");
    other.click("[data-testid=undo]");
    other.until(&format!("location.hash === '#{link}'"));
    other.click("[aria-label='Open Pinned 2']");
    other.until("document.getElementById('field-tp').value === '2'");
    other.eval("history.back()");
    other.until(&format!("location.hash === '#{link}' && ({cells}).join() === '8,4,2'"));
    // All of them leave at once, and one step brings them back.
    other.click("[data-testid=compare]");
    other.until("!location.hash.includes('vs')");
    other.click("[data-testid=undo]");
    other.until(&format!("location.hash === '#{link}'"));
    assert_eq!(other.complaints(), Vec::<String>::new());

    // A kept plan is pinned by the link to all, under its name.
    page.fill("[name=plan-name]", "Eight ways");
    page.click("[name=keep-plan]");
    page.fill("#field-tp", "1");
    page.click("[name=link-plans]");
    page.until("location.hash.includes(';vs;tp=8;vs;tp=4;vs;tp=2')");
    assert_eq!(columns(&page), json!(["Eight ways", "Pinned 2", "Pinned 3"]));
    // There is an end to it, and it is told.
    for mbs in 2..12 {
        page.fill("#field-mbs", &mbs.to_string());
        page.click(pin);
    }
    page.until("document.querySelector('.notice')?.innerText.includes('8 jobs are pinned already')");
    assert_eq!(page.fragment().matches(";vs").count(), 8);
    assert_eq!(page.complaints(), Vec::<String>::new());
}

#[test]
fn plans_are_kept_compared_and_carried_in_a_file() {
    let page = Page::open(SMALL);
    page.show("Compare");
    let keep = |name: &str| {
        page.fill("[name=plan-name]", name);
        page.click("[name=keep-plan]");
        page.until(&format!(
            "[...document.querySelectorAll('.plans thead th')].some((th) => th.innerText.startsWith('{name}'))"
        ));
    };
    keep("As it was");
    page.fill("#field-tp", "4");
    keep("Four ways");
    page.fill("#field-tp", "8");
    let row = |name: &str| {
        page.eval(&format!(
            "[...document.querySelectorAll('.plans tbody tr')].filter((tr) => tr.cells[0].innerText === '{name}')
                .flatMap((tr) => [...tr.cells].slice(1).map((cell) => cell.innerText))"
        ))
    };
    page.until("[...document.querySelectorAll('.plans td')].some((td) => td.innerText === '8')");
    assert_eq!(row("Tensor parallel (TP)"), json!(["8", "1", "4"]));
    let allocated = row("Allocated");
    assert!(
        allocated[0]
            .as_str()
            .unwrap()
            .starts_with(&page.text("[data-testid=total]"))
    );
    assert_ne!(allocated[0], allocated[1]);
    // What does not differ is no row.
    assert_eq!(row("Layers"), json!([]));
    page.eval("document.querySelector('.plans').scrollIntoView()");
    page.screenshot("plans");
    catch_files(&page);
    page.click("[name=plans-file]");
    page.until("saved.length === 1");
    let file = page.eval("saved[0][1].text()");
    page.click("[aria-label='Remove As it was']");
    page.click("[aria-label='Open Four ways']");
    page.until("document.getElementById('field-tp').value === '4'");
    page.until("document.querySelectorAll('.plans thead th').length === 3");
    // Another visit has them still, and another browser has them from the file.
    page.load("v1;m=llama3-8b@1;tab=compare");
    assert_eq!(page.count(".plans thead th"), 3);
    let other = Page::open(&format!("{SMALL};tab=compare"));
    assert_eq!(other.count(".plans thead th"), 0);
    other.eval(&format!(
        "(() => {{ const data = new DataTransfer(); data.items.add(new File([{file}], 'plans.json'));
            const input = document.querySelector('[name=plans-open]'); input.files = data.files;
            input.dispatchEvent(new Event('change', {{ bubbles: true }})); }})()"
    ));
    other.until("document.querySelectorAll('.plans thead th').length === 4");
    assert_eq!(other.complaints(), Vec::<String>::new());
    assert_eq!(page.complaints(), Vec::<String>::new());
}

//! The memory of the page itself: nothing that is made for one edit outlives the next.

use super::page::Page;

/// Defines `edit(times)`, which types into fields of several sections in turn and gives the size of the wasm memory in
/// bytes afterwards. Every fifth value is refused, so that problems come and go too. The module is the page's own one:
/// started again, it answers with the exports that it has.
const EDIT: &str = "\
    window.edit = async (times) => { \
      const { default: start } = await import(document.querySelector('link[rel=modulepreload]').href); \
      const { memory } = await start(); \
      const values = { mbs: ['1', '2', '0', '4', '2'], seq: ['4096', '8192', '1e', '2048', '4k'], tp: ['1', '2', '3', '4', '8'] }; \
      const keys = Object.keys(values); \
      for (let i = 0; i < times; i++) { \
        const key = keys[i % 3]; \
        const field = document.getElementById(`field-${key}`); \
        field.value = values[key][Math.floor(i / 3) % 5]; \
        field.dispatchEvent(new Event('input', { bubbles: true })); \
        await new Promise((done) => setTimeout(done)); \
      } \
      await new Promise((done) => setTimeout(done, 500)); \
      return memory.buffer.byteLength; \
    }";

#[test]
fn two_thousand_edits_leave_the_heap_where_two_hundred_did() {
    let page = Page::open("");
    page.eval(&format!("(() => {{ {EDIT} }})()"));
    // A plot is worked out anew after the edits; undo keeps two hundred steps.
    page.click("#row-tp .plot-tip");
    page.until("document.querySelector('.plot .sweep button')");
    let hundred = || page.eval("edit(100)").as_u64().unwrap();
    let sizes: Vec<u64> = (0..20).map(|_| hundred()).collect();
    // The memory grows by pages of 64 KiB. A few come with the holes between what stays; whatever leaked with every
    // edit would come to more.
    assert!(
        sizes[19] <= sizes[1] + 4 * 65_536,
        "after every hundred edits: {sizes:?}"
    );
    assert_eq!(page.complaints(), Vec::<String>::new());
}

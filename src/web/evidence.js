// Fills the tables of the page with measured runs when they are opened, and filters their rows. Without scripts the page has
// all rows: with scripts what stands in a noscript element is text.
const groups = [...document.querySelectorAll("details.group")];
const form = document.querySelector(".filters");
const choices = [...form.querySelectorAll("select")];

/** The rows of each filtered table, with their text in small letters. */
const rowsOf = new Map();

/** Puts the table of a group into the page. */
const fill = (group) => {
  const text = group.querySelector("noscript");
  if (!text) return;
  const template = document.createElement("template");
  template.innerHTML = text.textContent;
  text.replaceWith(template.content);
  const rows = [...group.querySelectorAll("tr[data-measure]")];
  rowsOf.set(
    group,
    rows.map((row) => [row, row.textContent.toLowerCase()]),
  );
};

for (const group of groups) {
  group.addEventListener("toggle", () => group.open && fill(group));
}

const filter = () => {
  const words = form.querySelector("input").value.toLowerCase().split(/\s+/).filter(Boolean);
  const chosen = choices.filter(({ value }) => value);
  const filtered = words.length + chosen.length > 0;
  let [shown, all] = [0, 0];
  for (const group of groups) {
    fill(group);
    const rows = rowsOf.get(group);
    let left = 0;
    for (const [row, text] of rows) {
      const fits = chosen.every(({ id, value }) => row.dataset[id] === value) && words.every((word) => text.includes(word));
      row.hidden = !fits;
      left += fits;
    }
    if (rows.length > 0) {
      group.hidden = left === 0;
      group.open = filtered && left > 0;
    }
    shown += left;
    all += rows.length;
  }
  form.querySelector("output").textContent = `${shown} of ${all}`;
};

form.addEventListener("input", filter);
form.addEventListener("submit", (event) => event.preventDefault());
form.hidden = false;

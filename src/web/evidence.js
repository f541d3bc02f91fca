// Filters the rows of the page with measured runs, which is complete without this.
const form = document.querySelector(".filters");
const rows = [...document.querySelectorAll("tr[data-measure]")];
const texts = rows.map((row) => row.textContent.toLowerCase());
const choices = [...form.querySelectorAll("select")];

const filter = () => {
  const words = form.querySelector("input").value.toLowerCase().split(/\s+/);
  let shown = 0;
  rows.forEach((row, i) => {
    const chosen = choices.every(({ id, value }) => !value || row.dataset[id] === value);
    row.hidden = !(chosen && words.every((word) => texts[i].includes(word)));
    shown += !row.hidden;
  });
  form.querySelector("output").textContent = `${shown} of ${rows.length}`;
};

form.addEventListener("input", filter);
form.addEventListener("submit", (event) => event.preventDefault());
form.hidden = false;
filter();

import init, { estimate, importText, svg } from "./megatron_memory.js";

const element = (id) => document.getElementById(id);

await init();

function show() {
  try {
    const { job, link } = importText(element("flags").value, { gpus: Number(element("gpus").value) });
    const { stages, worst_stage } = estimate(job);
    const gib = Number(stages[worst_stage].memory.total) / 2 ** 30;
    element("answer").value = `${gib.toFixed(1)} GiB on stage ${worst_stage}, the fullest.`;
    element("link").href = `../${link}`;
    element("picture").src = URL.createObjectURL(new Blob([svg(job, "stage_bars")], { type: "image/svg+xml" }));
  } catch (error) {
    element("answer").value = error.message;
  }
}

document.addEventListener("input", show);
show();

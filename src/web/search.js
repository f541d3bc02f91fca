// The layout search runs in workers, so that the page stays free: each asks about one share of the combinations after
// another. Stopping ends them at once, whatever they do.
const version = new URL(import.meta.url).search;

/** Shares that are handed out: many, since some take much longer than others. */
const SHARES = 256n;
/** More at once would take the machine away from its user. */
const WORKERS = 4;

let workers = [];
let ask;

const stop = () => {
  for (const worker of workers) worker.terminate();
  workers = [];
};

/** Searches `total` combinations; `found` gets a report for every part, `failed` a reason. */
const start = ({ job, options }, total, found, failed) => {
  stop();
  const all = BigInt(total);
  const share = all / SHARES + 1n;
  let next = 0n;
  ask = (worker, range) => worker.postMessage([job, { ...options, ...range }]);
  const more = (worker) => next < all && ask(worker, { from: next, until: (next += share) });
  const cores = navigator.hardwareConcurrency ?? 2;
  const count = Math.max(1, Math.min(WORKERS, cores - 1));
  workers = Array.from({ length: count }, () => new Worker(new URL(`./search-worker.js${version}`, import.meta.url), { type: "module" }));
  for (const worker of workers) {
    worker.onerror = ({ message }) => failed(`The search could not be started (${message}).`);
    worker.onmessage = ({ data: [report, error] }) => {
      if (error) return failed(`The search stopped: ${error}.`);
      if (report.next === null) more(worker);
      found(report);
    };
    more(worker);
  }
};

/** Asks what would make a combination fit; the report has it as `remedy`. */
const explain = (index) => ask(workers[0], { from: 0, until: 0, explain: BigInt(index) });

export const search = { start, stop, explain };

// The types of the JavaScript API as a program uses them, read by TypeScript at its strictest: `cargo xtask test types`.
import init, {
  buildLayout, compareLog, decodeLink, encodeLink, estimate, exportText, importText, initSync, megatronBridgeReport, megatronLmReport,
  parseComponentSpec, presets, fit, limits, rankGroups, rankInfo, search, svg, validate, version,
} from "megatron-memory";
import type {
  ConfigError, Estimate, Exact, ExportFormat, ImportError, Job, Layouts, Limits, Link, Fit, MeasuredRank, Preset, RankError,
} from "megatron-memory";

const bytes = (amount: Exact): number => Number(amount);

export async function main(script: string): Promise<string> {
  await init();
  await init({ module_or_path: new URL("megatron_memory_bg.wasm", import.meta.url) });
  initSync({ module: new ArrayBuffer(8) });
  const { job, report, questions, preset } = importText(script, { variables: { TP: "4" }, branches: { 7: 0 }, gpus: 64 });
  for (const { line, key, fate, note } of report) if (fate === "unknown") console.log(line ?? 0, key.length, note);
  for (const question of questions) if (question.kind === "variable") console.log(question.lines[0], question.default);
  const plain: Job = { num_layers: 2, hidden_size: "1k", modules: [{ name: "vision", num_layers: 1 }] };
  const result: Estimate = estimate({ ...plain, ...job }, { rank: 5, timeline: 100, ledger: true, methods: true, reserved: true });
  const seconds: number = result.time === null ? NaN : result.time.parts[result.time.bottleneck] / result.time.step_seconds;
  console.log(seconds, result.time_reason);
  const stage = result.stages[result.worst_stage];
  const total: number = bytes(stage?.memory["total"] ?? 0) + bytes(result.rank?.peak_bytes ?? 0n);
  const held: Exact = result.reserved?.high_bytes ?? 0;
  console.log(result.reserved?.holes_moment ?? "", held);
  for (const { settings, saves_bytes } of result.ledger ?? []) console.log(Object.keys(settings), saves_bytes ?? 0);
  for (const { stages, name } of result.modules) console.log(name, stages[0]?.timeline?.points[0]?.moment.pass);
  try {
    estimate(plain);
  } catch (error) {
    for (const { fields, fixes, repair } of (error as ConfigError).problems) console.log(fields, fixes[0]?.value, repair?.label);
  }
  const format: ExportFormat = "bridge";
  const text: string = exportText(job, format, { preset, module: "language" });
  const hash: string = encodeLink(job, { compare: { job: plain }, view: { tab: null, stage: { module: 0, pp_rank: 1 } } });
  const link: Link = decodeLink(hash);
  const measured: MeasuredRank | null | undefined = compareLog(hash, script)[0]?.report;
  const kept: Exact | undefined = estimate(hash, { rank: 0 }).rank?.steady_bytes ?? measured?.allocated_bytes;
  const again: string = encodeLink(link.job, link);
  const all: Preset[] = presets();
  const parameters = all.map((one) => (one.kind === "model" ? one.parameters : one.source));
  const picture: string = svg(hash, "stage_bars", { width: 600, unit: "GB", stage: { module: 0, pp_rank: 0 } });
  const { offers, closest }: Fit = fit(job, { preset });
  for (const { change, cost, settings, device_bytes } of offers) console.log(change, cost, Object.keys(settings), bytes(device_bytes[1]));
  const { longest_sequence, fewest_gpus }: Limits = limits(hash);
  console.log(closest?.link ?? "", longest_sequence?.value ?? 0, fewest_gpus?.link);
  let from: Exact | null = 0;
  while (from !== null) {
    const { candidates, next, refused }: Layouts = search(job, { vary: ["tensor_model_parallel_size"], at_most: { tensor_model_parallel_size: 8 }, from });
    for (const { settings, headroom_bytes } of candidates) estimate({ ...job, ...settings, world_size: bytes(headroom_bytes ?? 0) });
    console.log(refused[0]?.rule);
    from = next;
  }
  const groups: number[][] = rankGroups(job, "language", "dense", ["tp", "dp"]);
  const { coordinates, modules } = rankInfo(job, 3);
  const tp: number = coordinates.dense.tp + modules.length + (parseComponentSpec("vision=tp=2").result.data_parallel_size ?? 0);
  const ranks = Object.values(buildLayout(["language=tp=2"], 8)).map((module) => module.rank_offset);
  const weights = megatronLmReport({}, null).weight_and_optimizer_bytes;
  const counted = megatronBridgeReport({ model: {}, train: {} }).total_parameters;
  const problems: string[] = validate(plain).map((problem) => problem.message);
  return [text, again, parameters, picture, groups, tp, ranks, weights, counted, problems, version(), total, kept].join();
}

/** What is no use of it. */
export function wrong(job: Job, error: ImportError, of_rank: RankError): void {
  // @ts-expect-error: there is no such option
  estimate(job, { ranks: 5 });
  // @ts-expect-error: it is wanted or not
  estimate(job, { reserved: "all" });
  // @ts-expect-error: a job is no list
  validate([job]);
  // @ts-expect-error: it has this name and no other
  const rank: "ConfigError" = of_rank.name;
  // @ts-expect-error: a name is no number
  estimate(job, { rank: "first" });
  // @ts-expect-error: there is no such format
  exportText(job, "excel");
  // @ts-expect-error: a link is no number
  const text: number = encodeLink(job);
  // @ts-expect-error: bytes may be a BigInt
  const most: number = estimate(job).stages[0]?.peak_bytes ?? 0;
  // @ts-expect-error: there is no such view
  rankGroups(job, "language", "sparse", "tp");
  // @ts-expect-error: it has this name and no other
  const name: "ConfigError" = error.name;
  console.log(text, most, name, rank);
}

import type { Exact, Job } from "./megatron_memory.js";

/** Formats that are told apart by themselves. */
export type ImportFormat =
  | "link" | "json" | "hf_config" | "megatron_args" | "script" | "model_args" | "bridge_yaml" | "bridge_python"
  | "verl_yaml" | "megatron_yaml" | "swift" | "swift_yaml" | "overrides";

export interface ImportOptions {
  /** The format, where it is not to be recognized. */
  format?: ImportFormat;
  /** Answers to questions about variables, by name. */
  variables?: Record<string, string>;
  /** Answers to questions about branches: positions by line. */
  branches?: Record<number, number>;
  /** The number of GPUs. */
  gpus?: number;
  /** The `config.json` of a model that the text only names, as text, or the id of a preset. */
  model?: string;
  /**
   * A job, or a link to one, that the text changes. A `config.json` replaces its model, and of its parallelism, batch and
   * precision stays what the model can be trained with. A text that says nothing of a model sets single settings in it.
   * Of other texts it only lends the GPU, where they name none.
   */
  onto?: Job | string;
}

/** What became of a key of an imported text. */
export interface ImportRow {
  key: string;
  value: string;
  /** Counted from 1; `null` for what the text does not have. */
  line: number | null;
  fate: "mapped" | "defaulted" | "derived" | "ignored" | "not_modelled" | "conflicting" | "unknown" | "missing";
  /** The argument that it decides. */
  field: string | null;
  note: string;
}

/** What an imported text leaves open. */
export type ImportQuestion =
  /** `keys` are those that have no value without an answer, or with the one that was given: their rows are `missing`. */
  | { kind: "variable"; name: string; lines: number[]; default: string | null; keys: string[] }
  | { kind: "branch"; line: number; labels: string[]; taken: number | null }
  | { kind: "gpus" }
  | { kind: "model"; name: string };

export interface Import {
  format: ImportFormat;
  format_label: string;
  /** What gave the format away, as the end of a sentence that starts with "because". */
  reason: string | null;
  /** Whose defaults hold, such as `Megatron-LM`. */
  dialect: string;
  job: Job;
  /** The preset that a link or file starts from, such as `deepseek-v3@1`. */
  preset: string | null;
  /** The arguments of `onto` that a text without a model changes; `null` where the text is a job of its own. */
  changes: string[] | null;
  /** The link of the job, from its `#` on. */
  link: string;
  /** A row for every key of the text, then the defaults that fill what it leaves out. */
  report: ImportRow[];
  questions: ImportQuestion[];
}

export type ExportFormat =
  | "json" | "megatron_args" | "model_args" | "bridge" | "bridge_recipe" | "one_gpu" | "csv"
  | "markdown" | "link" | "link_pinned" | "link_markdown" | "link_summary" | "embed" | "element";

export interface ExportOptions {
  /** The preset that the job starts from, such as `deepseek-v3@1`; links and JSON then say what differs. */
  preset?: string | null;
  /** The module that a format for one model shows, by name. */
  module?: string;
  /** The calculator's address, for links. */
  page?: string;
  /** What links are called. */
  label?: string;
  /** What an embed shows. */
  view?: "full" | "compact" | "bar" | "table" | "timeline";
}

/** The stage of a module, counted from 0. */
export interface StagePlace {
  module: number;
  pp_rank: number;
}

export interface LinkOptions {
  /** The preset that the job starts from, such as `deepseek-v3@1`: the link then says what differs. */
  preset?: string | null;
  /** A job to compare with. */
  compare?: { job: Job; preset?: string | null } | null;
  /** What is shown. */
  view?: { tab?: string | null; stage?: StagePlace | null } | null;
}

/** What a link says; as options of `encodeLink` it gives the same link again. */
export interface Link {
  /** The whole job, with the preset's values. */
  job: Job;
  preset: string | null;
  compare: { job: Job; preset: string | null } | null;
  view: { tab: string | null; stage: StagePlace | null } | null;
  /** What in the link was not used, or not as it stands. */
  notices: string[];
}

export interface ModelPreset {
  kind: "model";
  id: string;
  version: number;
  name: string;
  organization: string;
  family: string;
  /** As published. */
  parameters: Exact;
  active_parameters: Exact | null;
  /** The model, and a job that it is known to run as. */
  job: Job;
}

/** A job of several modules. */
export interface ModulesPreset {
  kind: "modules";
  id: string;
  version: number;
  name: string;
  source: string;
  job: Job;
}

export type Preset = ModelPreset | ModulesPreset;

export type ChartName = "bucket_bar" | "stage_bars" | "buckets" | "components" | "timeline" | "rank_map" | (string & {});

export interface SvgOptions {
  preset?: string | null;
  /** In pixels, from 200 to 4000; 720 unless told. */
  width?: number;
  unit?: "GiB" | "GB";
  /** The stage that the chart is about; the fullest unless told. */
  stage?: StagePlace;
  /** What the colors of the map of ranks say; `memory` unless told. */
  color?: "module" | "stage" | "memory";
}

/** What `importText` throws. */
export interface ImportError extends Error {
  name: "ImportError";
}

/** What `exportText` throws where a format has no word for a job. */
export interface ExportError extends Error {
  name: "ExportError";
}

/** What `decodeLink` throws. */
export interface LinkError extends Error {
  name: "LinkError";
}

/** What a search can vary. */
export type SearchAxis =
  | "pipeline_model_parallel_size" | "virtual_pipeline_model_parallel_size" | "tensor_model_parallel_size"
  | "context_parallel_size" | "expert_model_parallel_size" | "expert_tensor_parallel_size" | "micro_batch_size"
  | "recompute_granularity";

export interface SearchOptions {
  /** The preset that the job starts from. */
  preset?: string | null;
  /** What varies; unless told TP, PP, with experts EP, and what else of these the job splits by. GPUs, global batch and all else stay as in the job. */
  vary?: SearchAxis[];
  /** The most that a size may be; TP at most the GPUs of a node unless told. */
  at_most?: Partial<Record<SearchAxis, number>>;
  /** Layers of stages: as the job says, or evenly with fewer in the last stage where that does not come out even. */
  split?: "as_given" | "rest_in_last_stage";
  /** Which layouts are listed: all that Megatron runs, or those that fit the GPU. */
  keep?: "legal" | "fitting";
  /** The number of the first combination, from 0. */
  from?: number | bigint;
  /** The number of the first combination that is left out; all unless told. */
  until?: number | bigint;
  /** The most jobs to ask about, 1000 unless told; the result says where to go on. */
  steps?: number;
  /** The number of a combination of which the result says what would make it fit. */
  explain?: number | bigint;
}

/** A layout that Megatron runs. */
export interface Layout {
  /** Its number among the combinations. */
  index: Exact;
  /** What it changes in the job; `null` goes back to a default. `{ ...job, ...settings }` is the layout as a job. */
  settings: Job;
  /** What `estimate` says for that job: the peak of the stage that needs most. */
  peak_bytes: Exact;
  /** The least that the device shows for it: with the allocator's gaps, the CUDA context and CUDA graphs. It fits where the GPU
   *  has as much. */
  device_bytes: Exact;
  /** What PyTorch leaves of the GPU, negative where it has too little; `null` where none was chosen. */
  headroom_bytes: Exact | null;
  worst_stage: number;
  /** TP · PP · CP. */
  gpus_per_copy: number;
  /** Chunks of layers on each pipeline rank; they follow from the pipeline layout where the job has one. */
  virtual_pipeline_model_parallel_size: number;
  data_parallel_size: number;
  expert_data_parallel_size: number;
  num_microbatches: number;
  /** Time in which a stage waits over time in which it works, in millionths: (PP - 1) / (VPP · micro batches), from arXiv
   *  2104.04473. */
  pipeline_bubble_ppm: number;
  /** Matrix products of the worst stage that run a second time, in millionths of those of its forward pass. */
  recomputed_ppm: number;
  /** The same as floating-point operations of one GPU in one iteration. */
  recomputed_flops: Exact;
}

/** What `search` found in a part of all combinations. */
export interface Layouts {
  /** All combinations: the product of the numbers of values. */
  total: Exact;
  /** Where to go on, as `from`; `null` at the end. */
  next: Exact | null;
  /** Combinations that this part dealt with: `legal` and those of `refused` and `out_of_bounds`. */
  looked_at: Exact;
  /** Those that Megatron runs, within the bounds. */
  legal: Exact;
  /** Of these, those that need more than the GPU has. */
  too_large: Exact;
  vary: { name: SearchAxis; symbol: string; values: Array<number | string> }[];
  /** Combinations that Megatron refuses, by the name of the first rule that they break. */
  refused: { rule: string; combinations: Exact }[];
  /** Combinations above a bound of `at_most`. */
  out_of_bounds: { name: SearchAxis; combinations: Exact }[];
  /** In the order of their numbers. */
  candidates: Layout[];
  /** Of those that are too large, the one that needs least. */
  closest: Layout | null;
  /** With `explain`: what would have to be recomputed or offloaded, and the smallest GPU that would hold it as it is. */
  remedy?: { index: Exact; recompute: string | null; gpu: string | null } | null;
}

/** What `search` throws where there is nothing to search. */
export interface SearchError extends Error {
  name: "SearchError";
}

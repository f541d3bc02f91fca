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
  /** A job, or a link to one: a `config.json` replaces its model, and its parallelism, batch and precision stay. */
  onto?: Job | string;
}

/** What became of a key of an imported text. */
export interface ImportRow {
  key: string;
  value: string;
  /** Counted from 1; `null` for what the text does not have. */
  line: number | null;
  fate: "mapped" | "defaulted" | "derived" | "ignored" | "not_modelled" | "conflicting" | "unknown";
  /** The argument that it decides. */
  field: string | null;
  note: string;
}

/** What an imported text leaves open. */
export type ImportQuestion =
  | { kind: "variable"; name: string; lines: number[]; default: string | null }
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

export type ChartName = "bucket_bar" | "stage_bars" | "buckets" | "components" | (string & {});

export interface SvgOptions {
  preset?: string | null;
  /** In pixels, from 200 to 4000; 720 unless told. */
  width?: number;
  unit?: "GiB" | "GB";
  /** The stage that the chart is about; the fullest unless told. */
  stage?: StagePlace;
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

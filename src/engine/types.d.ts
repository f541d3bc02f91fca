/** A whole number: a JavaScript number up to 2^53 - 1, a BigInt beyond, so that none is rounded. */
export type Exact = number | bigint;

/** A job: Megatron-LM's argument names in snake case. Unknown keys give a warning. */
export interface Job {
  num_layers?: number | string;
  hidden_size?: number | string;
  [argument: string]: unknown;
}

/** Parameters that one rank holds, or that a whole model has. */
export interface Parameters {
  total: Exact;
  /** Split over tensor-parallel ranks. */
  tp_sharded: Exact;
  /** In full on every tensor-parallel rank. */
  replicated: Exact;
  /** Routed experts. */
  expert: Exact;
  /** By component, such as `attention` or `mtp_routed_experts`. */
  components: Record<string, Exact>;
}

export interface ModelParameters extends Parameters {
  /** Parameters that one token meets. */
  active: Exact;
}

export interface Chunk {
  vp_stage: number;
  /** Decoder layers, counted over the whole model from 0. */
  layers: number[];
  parameters: Parameters;
  /** What one live micro batch keeps in it from its forward to its backward pass. */
  kept_bytes: Exact;
}

export interface Stage {
  pp_rank: number;
  chunks: Chunk[];
  /** Bytes by bucket at the heaviest moment, and their `total`. */
  memory: Record<string, Exact>;
  /** What stays between optimizer steps: `torch.cuda.memory_allocated`. */
  steady_bytes: Exact;
  /** The heaviest moment: `torch.cuda.max_memory_allocated`. The same as `memory.total`. */
  peak_bytes: Exact;
  peak_moment: Moment;
  /** Micro batches of each chunk that are alive at the heaviest moment of the forward and backward passes. */
  in_flight: number[];
  /** What the device shows on top: never part of the prediction. */
  allowances: Allowances;
  /** With the option `timeline`; with `rank`, only on the stages of that rank. */
  timeline?: Timeline;
}

/** What a rank does at some moment. */
export interface Moment {
  /** All of it in words. */
  description: string;
  pass: "forward pass" | "backward pass" | "recompute in the backward pass" | "optimizer step";
  /** The part of the schedule; `null` in the optimizer step. */
  phase: "warm-up" | "steady" | "cool-down" | null;
  /** The step of the schedule, counted from 0. */
  step: Exact | null;
  chunk: number;
  microbatch: number;
  /** What is at work, such as `MoE layer`. */
  part: string;
  /** The decoder layer, counted over the whole model from 0. */
  layer: number | null;
  operation: string;
}

/** Memory over the passes of one iteration. */
export interface Timeline {
  steps: Exact;
  /** At most as many points as asked for, each the heaviest step of an equal share of them. */
  points: { step: Exact; memory: Record<string, Exact>; moment: Moment; in_flight: number[] }[];
  /** Bytes by bucket in the optimizer step that follows, and their `total`. */
  optimizer_step: Record<string, Exact>;
}

/** A band above a peak: what the allocator reserves, CUDA context, NCCL, CUDA graphs. */
export interface Allowances {
  low_bytes: Exact;
  high_bytes: Exact;
  parts: { what: string; low_bytes: Exact; high_bytes: Exact; /** The argument that sets it. */ field: string; source: string }[];
}

/** What one way of recomputing or offloading would save. */
export interface Saving {
  choice: string;
  /** The arguments that make it; `null` means the default. */
  settings: Record<string, unknown>;
  /** Whether the job has it. */
  current: boolean;
  /** Less than the job's own peak on that stage; negative where it gets worse. All numbers are `null` where it is refused. */
  saves_bytes: number | null;
  peak_bytes: Exact | null;
  /** The rank that needs most then. */
  worst_rank_bytes: Exact | null;
  /** What runs a second time, on one GPU in one iteration, and in millionths of a forward pass. */
  recomputed_flops: Exact | null;
  recomputed_ppm: Exact | null;
  /** Why Megatron refuses it for this job. */
  refused: string | null;
}

/** What `estimate` reports besides. A job may have the same keys. */
export interface EstimateOptions {
  /** A global rank to report on. */
  rank?: number;
  /** Timelines of one point a step, at most 4096, or of at most so many points. */
  timeline?: boolean | number;
  /** What each way of recomputing would save, on the rank's first stage or on the one that needs most. */
  ledger?: boolean;
}

/** What one rank needs. Modules may share ranks: each has a stage on it. Workspaces of cuBLAS are there once. */
export interface RankReport {
  rank: Exact;
  memory: Record<string, Exact>;
  steady_bytes: Exact;
  peak_bytes: Exact;
  stages: (Omit<Stage, "chunks"> & { module: string })[];
}

export interface Derived {
  world_size: Exact;
  data_parallel_size: Exact;
  expert_data_parallel_size: Exact;
  expert_tensor_parallel_size: Exact;
  virtual_pipeline_model_parallel_size: Exact;
  padded_vocab_size: Exact;
  num_microbatches: Exact;
  global_batch_size: Exact;
  ffn_hidden_size: Exact;
  kv_channels: Exact;
  experts_per_rank: Exact;
  sequence_parallel: boolean;
}

export interface ModuleEstimate {
  name: string;
  rank_offset: Exact;
  ranks: Exact;
  derived: Derived;
  parameters: ModelParameters;
  stages: Stage[];
  reports: Reports;
}

/** What `estimate` returns; the top level repeats the first module. */
export interface Estimate {
  derived: Derived;
  parameters: ModelParameters;
  stages: Stage[];
  reports: Reports;
  /** Pipeline rank of the stage that needs most memory. */
  worst_stage: number;
  /** Index of its module. */
  worst_module: number;
  /** The rank that needs most, the modules that run on it, and its bytes by bucket with their `total`. */
  worst_rank: { rank: Exact; modules: string[]; memory: Record<string, Exact> };
  /** With the option `rank`, where a module has that rank. */
  rank: RankReport | null;
  /** With the option `ledger`. */
  ledger: Saving[] | null;
  modules: ModuleEstimate[];
  warnings: string[];
  assumptions: string[];
}

export interface Problem {
  /** Index of the module it is about. */
  module: number;
  /** Every argument involved. */
  fields: string[];
  severity: "error" | "warning";
  /** A stable name of the rule. */
  rule: string;
  message: string;
  /** Changes that would mend it, best first; `null` means the default. */
  fixes: { field: string; value: unknown }[];
  /** Changes that belong together and mend it: one click. `module` is `null` for what the whole job shares. */
  repair: { label: string; changes: { module: number | null; field: string; value: unknown }[] } | null;
}

/** What `estimate` throws for a job that Megatron would refuse. */
export interface ConfigError extends Error {
  name: "ConfigError";
  problems: Problem[];
}

/** One module's parallelism, under Megatron's names. */
export interface ModuleParallelism {
  tensor_model_parallel_size: number;
  pipeline_model_parallel_size: number;
  context_parallel_size: number;
  expert_model_parallel_size: number;
  expert_tensor_parallel_size: number;
  /** `null` until it is derived from the world size. */
  data_parallel_size: number | null;
  rank_offset: number;
}

export interface ComponentSpec {
  name: string;
  result: ModuleParallelism;
}

/** What a rank is to one of its modules. */
export interface ModuleOfRank {
  module: string;
  coordinates: {
    dense: { tp: number; cp: number; dp: number; pp: number };
    expert: { expt_tp: number; ep: number; expt_dp: number; pp: number };
  };
  /** Members of its process groups, by Megatron's names; groups of more than 4096 ranks are left out. */
  groups: Record<string, Exact[]>;
  seeds: { base: Exact; tensor_parallel: Exact; expert_parallel: Exact };
  /** Bytes by bucket, and their `total`. */
  memory: Record<string, Exact>;
}

/** What one rank is: its first module, and the memory of all its modules. */
export interface RankInfo extends ModuleOfRank {
  rank: Exact;
  /** Every module that runs on it, each with its own part of the memory. */
  modules: ModuleOfRank[];
}

/** An exception that ends one of the frameworks' estimators. */
export interface PythonException {
  /** Its class, such as `ZeroDivisionError`. */
  type: string;
  message: string;
}

/** What Megatron-LM's own estimator computes and prints; a formula that fails there is an `error`. */
export interface MegatronLmReport {
  weight_and_optimizer_bytes: number | { error: PythonException };
  activation_bytes: number | { error: PythonException };
  activation_bytes_without_sp: number | { error: PythonException };
  /** Weights and optimizer, activations, and both, in units of 1024 * 1024 bytes. */
  report_mb: [number, number, number] | null | { error: PythonException };
  report_verbose_stdout: string;
}

export interface MegatronBridgeInput {
  /** Megatron-Bridge's model configuration. */
  model: Record<string, unknown>;
  train: Record<string, unknown>;
  num_microbatches?: number | null;
  include_activation?: boolean;
}

export interface MegatronBridgeComponent {
  name: string;
  parameter_count: number;
  parameter_count_per_gpu: number;
  bytes_per_parameter: number;
  memory_bytes: number;
  memory_mb: number;
  memory_gb: number;
}

/** What Megatron-Bridge's own estimator computes and prints. */
export interface MegatronBridgeReport {
  components: MegatronBridgeComponent[];
  activation: MegatronBridgeComponent | null;
  total_parameters: number;
  weight_and_optimizer_bytes: number;
  total_memory_bytes: number;
  total_memory_mb: number;
  total_memory_gb: number;
  assumptions: string[];
  formatted_mb: string;
  formatted_gb: string;
  report_error?: PythonException;
  report_verbose_stdout: string;
}

/** Why a report differs from the estimate. */
export interface Difference {
  id: string;
  frameworks: ("Megatron-LM" | "Megatron-Bridge")[];
  text: string;
  /** What it takes off the report on the fullest stage, or adds to it, where that can be said. */
  less_bytes: Exact | null;
  more_bytes: Exact | null;
}

/** The frameworks' own reports of a job, and why they differ from the estimate. */
export interface Reports {
  megatron_lm: MegatronLmReport;
  /** Where the estimator fails, `error` stands in place of its fields. */
  megatron_bridge: MegatronBridgeReport | { error: PythonException; report_error?: PythonException; report_verbose_stdout: string };
  differences: Difference[];
}

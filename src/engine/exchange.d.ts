
// Importing and exporting: a second module, loaded at the first call. `megatron_memory_exchange.js` has the same functions
// without promises.
import type {
  ChartName, ExportFormat, ExportOptions, Import, ImportOptions, Link, LinkOptions, Layouts, Preset,
  SearchOptions, SvgOptions,
} from "./megatron_memory_exchange.js";
export type {
  ChartName, ExportError, ExportFormat, ExportOptions, Import, ImportError, ImportFormat, ImportOptions, ImportQuestion,
  ImportRow, Layout, Layouts, Link, LinkError, LinkOptions, ModelPreset, ModulesPreset, Preset, SearchAxis, SearchError,
  SearchOptions, StagePlace, SvgOptions,
} from "./megatron_memory_exchange.js";

/** Reads any text that holds a job: a `config.json`, a launch script, flags, YAML, overrides, a recipe in Python, JSON, a
 *  link. Nothing in it is run. Rejects with an `ImportError` where the text holds none. */
export function importText(text: string, options?: ImportOptions): Promise<Import>;

/** A job, or the job of a link, as text. Rejects with an `ExportError` where the format has no word for the job, with a
 *  `ConfigError` where it shows a result and the job has none. */
export function exportText(job: Job | string, format: ExportFormat, options?: ExportOptions): Promise<string>;

/** The link of a job, from its `#` on. Equal jobs have equal links. */
export function encodeLink(job: Job, options?: LinkOptions): Promise<string>;

/** What a link says; an address with one will do. Rejects with a `LinkError` where it is none. */
export function decodeLink(link: string): Promise<Link>;

/** Every preset. */
export function presets(): Promise<Preset[]>;

/** A chart of a job, or of the job of a link, as the text of an SVG file that needs nothing else. */
export function svg(job: Job | string, chart: ChartName, options?: SvgOptions): Promise<string>;

/** A part of the layouts of a job: which combinations of parallel sizes Megatron runs, and what they need. Goes through
 *  them in order; pass `next` as `from` to go on. Rejects with a `ConfigError` for a job whose problems are not its layout. */
export function search(job: Job | string, options?: SearchOptions): Promise<Layouts>;

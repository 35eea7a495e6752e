import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import { systemErrorCode, UserError } from '../errors/user_error.js';
import { renderDiagnostic, renderPlace, type Diagnostic } from './diagnostic.js';
import { ConfigurationDocument, type ValuePath } from './document.js';
import { checkEnvironment } from './environment.js';
import { diagnose } from './issues.js';
import { configurationSchema, nodeConfiguration, type NodeConfiguration } from './node.js';
import { resolvePaths } from './paths.js';
import { checkPorts } from './ports.js';
import { visibleParts } from './visible.js';

/** A valid configuration, with every path absolute, and where each value stood in its file. */
export interface LoadedConfiguration {
  node: NodeConfiguration;
  /** Directory of the file; `.sheaf/` is kept here. */
  directory: string;
  /** The place of a value, rendered with a caret, for errors that show up later. */
  place(path: ValuePath): string;
}

/**
 * Reads, parses and checks a configuration file.
 * @throws UserError with every fault found, each with its place.
 */
export async function loadConfiguration(file: string): Promise<LoadedConfiguration> {
  const text = await readText(file);
  const document = new ConfigurationDocument(file, text);
  const { node, faults } = parseDocument(document);
  const visible = node ?? visibleParts(document.value(), directoryOf(file));
  faults.push(...(await checkEnvironment(visible, document)));
  if (!node || faults.length > 0) throw faultError(file, text, faults);
  return loaded(node, document);
}

/**
 * Parses and checks the text alone, without touching the file system; `file` names it in errors
 * and says what relative paths are relative to.
 * @throws UserError with every fault found, each with its place.
 */
export function parseConfiguration(text: string, file: string): LoadedConfiguration {
  const document = new ConfigurationDocument(file, text);
  const { node, faults } = parseDocument(document);
  if (!node) throw faultError(file, text, faults);
  return loaded(node, document);
}

/**
 * What a gateway with this file would run into at the moment, rendered: ports that are taken. Not
 * a fault of the file, and none at all when its own gateway is running.
 */
export async function configurationWarnings(file: string): Promise<string[]> {
  const text = await readText(file);
  const document = new ConfigurationDocument(file, text);
  const warnings = await checkPorts(visibleParts(document.value(), directoryOf(file)), document);
  return warnings.map((warning) => renderDiagnostic(file, text, warning, 'warning'));
}

async function readText(file: string): Promise<string> {
  try {
    return await readFile(file, 'utf8');
  } catch (error) {
    const code = systemErrorCode(error);
    if (code === 'EISDIR') {
      const usual = join(file, 'sheaf.yaml');
      const hint = existsSync(usual) ? `name the file in it: ${usual}` : 'name the configuration file in it, or write one with `sheaf init`';
      throw new UserError('CONFIG_NOT_FOUND', `${file} is a directory, not a configuration file`, { hint, cause: error });
    }
    const hint = code === 'ENOENT' ? 'name another file, or write one with `sheaf init`' : 'check the file and its permissions';
    throw new UserError('CONFIG_NOT_FOUND', `cannot read ${file} (${code ?? 'unknown error'})`, { hint, cause: error });
  }
}

/** The configuration when the file is in order, else what is wrong with it. */
function parseDocument(document: ConfigurationDocument): { node?: NodeConfiguration; faults: Diagnostic[] } {
  const syntaxErrors = document.syntaxErrors();
  if (syntaxErrors.length > 0) return { faults: syntaxErrors };
  const parsed = nodeConfiguration.safeParse(document.value());
  if (!parsed.success) return { faults: diagnose(document, configurationSchema(), parsed.error.issues) };
  return { node: resolvePaths(parsed.data, directoryOf(document.file)), faults: [] };
}

function loaded(node: NodeConfiguration, document: ConfigurationDocument): LoadedConfiguration {
  return {
    node,
    directory: directoryOf(document.file),
    place: (path) => renderPlace(document.file, document.text, document.locateValue(path)),
  };
}

function directoryOf(file: string): string {
  return dirname(resolve(file));
}

function faultError(file: string, text: string, faults: Diagnostic[]): UserError {
  const inOrder = [...faults].sort((left, right) => left.range.start - right.range.start);
  const first = inOrder[0];
  if (first === undefined) throw new Error('no fault to report');
  return new ConfigurationError(first, inOrder.map((fault) => renderDiagnostic(file, text, fault)).join('\n\n'), faults.length);
}

/** All the faults of one file; rendered one after the other. */
class ConfigurationError extends UserError {
  readonly #rendered: string;
  readonly #count: number;

  constructor(first: Diagnostic, rendered: string, count: number) {
    super(first.code, first.message, first.hint === undefined ? {} : { hint: first.hint });
    this.#rendered = rendered;
    this.#count = count;
  }

  override render(): string {
    return this.#count === 1 ? this.#rendered : `${this.#rendered}\n\n${this.#count} errors`;
  }
}

import { readFile } from 'node:fs/promises';
import { dirname, resolve } from 'node:path';
import { systemErrorCode, UserError } from '../errors/user_error.js';
import { renderDiagnostic, renderPlace, type Diagnostic } from './diagnostic.js';
import { ConfigurationDocument, type ValuePath } from './document.js';
import { checkEnvironment } from './environment.js';
import { diagnose } from './issues.js';
import { configurationSchema, nodeConfiguration, type NodeConfiguration } from './node.js';
import { resolvePaths } from './paths.js';

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
  const text = await readFile(file, 'utf8').catch((error: unknown): never => {
    throw new UserError('CONFIG_NOT_FOUND', `cannot read ${file} (${systemErrorCode(error) ?? 'unknown error'})`, {
      hint: systemErrorCode(error) === 'ENOENT' ? 'name another file, or write one with `sheaf init`' : 'check the file and its permissions',
      cause: error,
    });
  });
  const loaded = parseConfiguration(text, file);
  const document = new ConfigurationDocument(file, text);
  const faults = await checkEnvironment(loaded.node, document);
  if (faults.length > 0) throw faultError(file, text, faults);
  return loaded;
}

/**
 * Parses and checks the text alone, without touching the file system; `file` names it in errors
 * and says what relative paths are relative to.
 * @throws UserError with every fault found, each with its place.
 */
export function parseConfiguration(text: string, file: string): LoadedConfiguration {
  const document = new ConfigurationDocument(file, text);
  const syntaxErrors = document.syntaxErrors();
  if (syntaxErrors.length > 0) throw faultError(file, text, syntaxErrors);
  const parsed = nodeConfiguration.safeParse(document.value());
  if (!parsed.success) throw faultError(file, text, diagnose(document, configurationSchema(), parsed.error.issues));
  const directory = dirname(resolve(file));
  return {
    node: resolvePaths(parsed.data, directory),
    directory,
    place: (path) => renderPlace(file, text, document.locateValue(path)),
  };
}

function faultError(file: string, text: string, faults: Diagnostic[]): UserError {
  const first = faults[0];
  if (first === undefined) throw new Error('no fault to report');
  return new ConfigurationError(first, faults.map((fault) => renderDiagnostic(file, text, fault)).join('\n\n'), faults.length);
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

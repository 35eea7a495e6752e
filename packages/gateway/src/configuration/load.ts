import { createHash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import { systemErrorCode, UserError } from '../errors/user_error.js';
import { renderDiagnostic, type Diagnostic } from '../values/diagnostic.js';
import { ConfigurationDocument } from '../values/document.js';
import { checkEnvironment } from './environment.js';
import { diagnose } from './issues.js';
import { loadNodes } from './load_nodes.js';
import { onlyNodeName, type LoadedConfiguration } from '../schema/loaded.js';
import { jsonSchema, schemaOf, type DescribedNodes } from '../schema/node.js';
import type { RegistryOptions } from '../schema/registry.js';
import { checkNodes } from './nodes.js';
import type { ParsedNode } from './parsed_node.js';
import { resolveEdgePaths, resolvePaths, resolveTunnelPaths } from './paths.js';
import { checkPorts } from './ports.js';
import { checkRegistry, loadRegistry } from './registry.js';
import { visibleNodes } from './visible.js';

/** What of a configuration has to be true on this machine */
export interface LoadOptions {
  /** Whether the files that the named node reads have to be here. By default, those of all nodes have to. */
  filesOf?(name: string): boolean;
  /** A document that stands for the text of the file, with a name for errors */
  instead?: { text: string; name: string } | undefined;
}

/** What a document without faults says */
interface ParsedFile {
  nodes: ParsedNode[];
  registry: RegistryOptions | undefined;
}

/**
 * Reads, parses and checks a configuration file.
 * @throws UserError with every fault found, each with its place.
 */
export async function loadConfiguration(
  file: string,
  { filesOf = () => true, instead }: LoadOptions = {},
): Promise<LoadedConfiguration> {
  const text = instead?.text ?? (await readConfiguration(file));
  // Its paths start at the directory of the file all the same.
  const document = new ConfigurationDocument(instead ? join(dirname(file), instead.name) : file, text);
  const { parsed, faults } = parseDocument(document);
  const visible = visibleNodes(document.value(), directoryOf(file)).filter(({ name }) => filesOf(name));
  faults.push(...(await Promise.all(visible.map((node) => checkEnvironment(node, document)))).flat());
  if (!parsed || faults.length > 0) throw faultError(document.file, text, faults);
  return loaded(parsed, document);
}

/**
 * Parses and checks the text alone, without touching the file system. `file` is its name in errors, and relative paths
 * start at its directory.
 * @throws UserError with every fault found, each with its place.
 */
export function parseConfiguration(text: string, file: string): LoadedConfiguration {
  const document = new ConfigurationDocument(file, text);
  const { parsed, faults } = parseDocument(document);
  if (!parsed) throw faultError(file, text, faults);
  return loaded(parsed, document);
}

/**
 * Returns rendered warnings about ports that the nodes of this file would find taken at the moment. These are no faults
 * of the file: its own nodes take these ports when they run.
 */
export async function configurationWarnings(file: string): Promise<string[]> {
  const text = await readConfiguration(file);
  const document = new ConfigurationDocument(file, text);
  const visible = visibleNodes(document.value(), directoryOf(file));
  const warnings = await Promise.all(visible.map((node) => checkPorts(node, document)));
  return warnings.flat().map((warning) => renderDiagnostic(file, text, warning, 'warning'));
}

/** Returns the text of a configuration file. @throws UserError */
export async function readConfiguration(file: string): Promise<string> {
  try {
    return await readFile(file, 'utf8');
  } catch (error) {
    const code = systemErrorCode(error);
    if (code === 'EISDIR') {
      const usual = join(file, 'sheaf.yaml');
      const hint = existsSync(usual)
        ? `name the file in it: ${usual}`
        : 'name the configuration file in it, or write one with `sheaf init`';
      throw new UserError('CONFIG_NOT_FOUND', `${file} is a directory, not a configuration file`, {
        hint,
        cause: error,
      });
    }
    const hint =
      code === 'ENOENT' ? 'name another file, or write one with `sheaf init`' : 'check the file and its permissions';
    throw new UserError('CONFIG_NOT_FOUND', `cannot read ${file} (${code ?? 'unknown error'})`, { hint, cause: error });
  }
}

/** Returns what the file says if it has no fault, otherwise the faults. */
function parseDocument(document: ConfigurationDocument): { parsed?: ParsedFile; faults: Diagnostic[] } {
  const syntaxErrors = document.syntaxErrors();
  if (syntaxErrors.length > 0) return { faults: syntaxErrors };
  const schema = schemaOf(document.value());
  const result = schema.safeParse(document.value());
  if (!result.success) return { faults: diagnose(document, jsonSchema(schema), result.error.issues) };
  const { registry, ...described } = result.data as { registry?: RegistryOptions };
  const nodes = nodesOf(described as DescribedNodes, directoryOf(document.file));
  const faults = [
    ...checkNodes(nodes, registry !== undefined, document),
    ...(registry ? checkRegistry(registry, nodes, document) : []),
  ];
  return faults.length > 0 ? { faults } : { parsed: { nodes, registry }, faults };
}

function nodesOf(file: DescribedNodes, directory: string): ParsedNode[] {
  if (!('nodes' in file)) return [{ name: onlyNodeName, role: 'gateway', at: [], node: resolvePaths(file, directory) }];
  return Object.entries(file.nodes).map(([name, node]): ParsedNode => {
    const { role } = node;
    const at = ['nodes', name];
    switch (role) {
      case 'edge':
        return { name, role, at, node: resolveEdgePaths(node, directory) };
      case 'tunnel':
        return { name, role, at, node: resolveTunnelPaths(node, directory) };
      case 'backend':
        return { name, role, at, node: resolvePaths(node, directory) };
      case 'gateway':
        return { name, role, at, node: resolvePaths(node, directory) };
    }
  });
}

function loaded({ nodes, registry }: ParsedFile, document: ConfigurationDocument): LoadedConfiguration {
  const directory = directoryOf(document.file);
  const loadedRegistry = registry && loadRegistry(registry, nodes, directory);
  return {
    nodes: loadNodes(nodes, directory, loadedRegistry, document),
    directory,
    version: createHash('sha256').update(document.text).digest('hex'),
    named: nodes.some(({ at }) => at.length > 0),
    registry: loadedRegistry,
  };
}

function directoryOf(file: string): string {
  return dirname(resolve(file));
}

function faultError(file: string, text: string, faults: Diagnostic[]): UserError {
  const inOrder = [...faults].sort((left, right) => left.range.start - right.range.start);
  const first = inOrder[0];
  if (first === undefined) throw new Error('no fault to report');
  return new ConfigurationError(
    first,
    inOrder.map((fault) => renderDiagnostic(file, text, fault)).join('\n\n'),
    faults.length,
  );
}

/** Holds all faults of one file, and renders them one after the other. */
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

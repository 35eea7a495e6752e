import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { closest, UserError } from '@sheaf/gateway';
import { parseDocument } from 'yaml';
import { artefactSchema, type Artefact } from './artefact.js';

/** Directory of the artefacts: a folder for each paper, and a file for each artefact */
export const artefactDirectory = join(import.meta.dirname, '..', '..', '..', 'evidence');

const extension = '.yaml';

/** Reads all artefacts, in the order of papers and numbers. @throws UserError with file, place and reason */
export async function readCatalogue(directory: string = artefactDirectory): Promise<Artefact[]> {
  const names = (await readdir(directory, { recursive: true })).filter((name) => name.endsWith(extension));
  const inOrder = names.sort((left, right) => left.localeCompare(right, 'en', { numeric: true }));
  return Promise.all(inOrder.map((name) => readArtefact(directory, name)));
}

async function readArtefact(directory: string, name: string): Promise<Artefact> {
  const file = join(directory, name);
  const document = parseDocument(await readFile(file, 'utf8'));
  const [syntax] = document.errors;
  if (syntax) throw new UserError('BENCH_FAILED', `${file}: ${syntax.message}`);
  const parsed = artefactSchema.safeParse(document.toJS());
  if (parsed.success) return { ...parsed.data, id: name.slice(0, -extension.length) };
  const [issue] = parsed.error.issues;
  throw new UserError('BENCH_FAILED', `${file}: ${issue?.path.join('.') ?? ''}: ${issue?.message ?? 'not understood'}`);
}

/**
 * Selects artefacts by their ids. The folder of a paper selects all of its artefacts. @throws UserError when none has
 * the name
 */
export function chooseArtefacts(catalogue: readonly Artefact[], wanted: readonly string[]): Artefact[] {
  if (wanted.length === 0) return [...catalogue];
  const matches = (id: string, name: string): boolean => id === name || id.startsWith(`${name}/`);
  for (const name of wanted) {
    if (catalogue.some(({ id }) => matches(id, name))) continue;
    const near = closest(
      name,
      catalogue.map(({ id }) => id),
    );
    throw new UserError('USAGE', `there is no artefact '${name}'`, {
      hint: `${near ? `did you mean '${near}'? ` : ''}\`sheaf evidence list\` shows all`,
    });
  }
  return catalogue.filter(({ id }) => wanted.some((name) => matches(id, name)));
}

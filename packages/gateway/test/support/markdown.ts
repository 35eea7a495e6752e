import { readFile } from 'node:fs/promises';

/** The fenced YAML blocks of a Markdown file that are whole configurations: those with `listen:` or `nodes:`. */
export async function configurationsIn(file: string | URL): Promise<string[]> {
  const text = await readFile(file, 'utf8');
  return [...text.matchAll(/^```yaml\n([\s\S]*?)^```$/gm)]
    .map((match) => match[1] ?? '')
    .filter((block) => /^(listen|nodes):/m.test(block));
}

// Prints the sources of the addon for binding.gyp: those of `binding/` and of every folder that
// layers.json lets it stand on. The laboratory (`sim/`) is not among them.
import { readFileSync, readdirSync } from 'node:fs';

const layers = JSON.parse(readFileSync(new URL('layers.json', import.meta.url), 'utf8'));
const folders = new Set(['binding']);
for (const folder of folders) {
  for (const below of layers[folder]) folders.add(below);
}

const sources = [...folders].flatMap((folder) =>
  readdirSync(new URL(`src/${folder}/`, import.meta.url), { recursive: true })
    .filter((file) => file.endsWith('.cc'))
    .map((file) => `src/${folder}/${file}`),
);
console.log(sources.sort().join(' '));

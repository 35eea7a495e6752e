// Prints the sources of the addon for binding.gyp: those of `binding/` and of every folder that
// layers.json lets it stand on. The laboratory (`sim/`) is not among them. With --together it writes files into
// build/together that each include several sources of a folder, and prints these: headers are then read once for all
// of them, as CMakeLists.txt does it.
import { existsSync, mkdirSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs';

/** As many as in CMakeLists.txt, so that benchmarks measure what ships */
const filesTogether = 8;

const layers = JSON.parse(readFileSync(new URL('layers.json', import.meta.url), 'utf8'));
const folders = new Set(['binding']);
for (const folder of folders) {
  for (const below of layers[folder]) folders.add(below);
}

const sourcesOf = (folder) =>
  readdirSync(new URL(`src/${folder}/`, import.meta.url), { recursive: true })
    .filter((file) => file.endsWith('.cc'))
    .map((file) => `${folder}/${file}`)
    .sort();

const directory = new URL('build/together/', import.meta.url);

/** Writes the files of a folder that include its sources. Returns their paths. */
function together(folder) {
  const sources = sourcesOf(folder);
  mkdirSync(directory, { recursive: true });
  return Array.from({ length: Math.ceil(sources.length / filesTogether) }, (_, index) => {
    const name = `${folder}_${index}.cc`;
    const included = sources.slice(index * filesTogether, (index + 1) * filesTogether);
    const text = included.map((source) => `#include "${source}"\n`).join('');
    const file = new URL(name, directory);
    // What is the same stays as it is, or the compiler would run again.
    if (!existsSync(file) || readFileSync(file, 'utf8') !== text) writeFileSync(file, text);
    return `build/together/${name}`;
  });
}

/** Writes those of all folders. CMake links what they became, so none stays that a folder has no sources for any more. */
function allTogether() {
  const written = [...folders].flatMap(together);
  for (const file of readdirSync(directory))
    if (!written.includes(`build/together/${file}`)) rmSync(new URL(file, directory));
  return written;
}

const wanted = process.argv.includes('--together')
  ? allTogether()
  : [...folders].flatMap(sourcesOf).map((source) => `src/${source}`);
console.log(wanted.sort().join(' '));

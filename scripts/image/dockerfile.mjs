// Reads Dockerfiles as far as `sheaf deploy` writes them.

/**
 * Returns the stages of a Dockerfile: `{ base, name, steps: [{ instruction, rest }] }`. Comments are left out, and continued
 * lines are one step. @throws Error on what is no instruction
 */
export function readStages(text) {
  const lines = text
    .replaceAll(/^\s*#.*\n/gm, '')
    .replaceAll(/\s*\\\n\s*/g, ' ')
    .split('\n')
    .filter((line) => line.trim() !== '');
  const stages = [];
  for (const line of lines) {
    const match = /^([A-Z]+)\s+(.*)$/.exec(line);
    if (match === null) throw new Error(`this is no instruction: ${line}`);
    const [, instruction, rest] = match;
    if (instruction === 'FROM') {
      const [, base, name] = /^(\S+)(?: AS (\S+))?$/.exec(rest) ?? [];
      stages.push({ base, name, steps: [] });
    } else {
      const stage = stages.at(-1);
      if (stage === undefined) throw new Error(`this stands before the first FROM: ${line}`);
      stage.steps.push({ instruction, rest });
    }
  }
  return stages;
}

/** Returns what COPY copies: `{ from, sources, target }`; `from` names an earlier stage. */
export function readCopy(rest) {
  const [, from, paths] = /^(?:--from=(\S+)\s+)?(.*)$/.exec(rest);
  const words = paths.split(/\s+/);
  return { from, sources: words.slice(0, -1), target: words.at(-1) };
}

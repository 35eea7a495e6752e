import { join } from 'node:path';
import { z } from 'zod';
import { median } from '../../measure/statistics.js';
import {
  CONTROLLERS,
  linkSets,
  linkText,
  SCHEDULERS,
  simulateGoodput,
  type LinkSpecification,
} from '../../paths/simulated_paths.js';
import { buildNativeBench } from '../../process/cmake.js';
import { cellsAt } from './cells.js';
import { finishParts } from './parts.js';
import { armsOf, programSources, parseSettings, runnerModule, type Runner } from './runner.js';

const optionsSchema = z.strictObject({
  /** Simulated duration of a run */
  seconds: z.number().int().min(1),
});

const settingsSchema = z.strictObject({ scheduler: z.enum(SCHEDULERS), controller: z.enum(CONTROLLERS) });
type Settings = z.output<typeof settingsSchema>;

/** A part of the work: an arm over the links of a cell, or a controller over one link alone */
interface Part extends Settings {
  name: string;
  arm?: string;
  links: LinkSpecification[];
}

const namesOf = (links: readonly LinkSpecification[]): string => links.map(linkText).join(' + ');
const singleName = (controller: string, link: LinkSpecification): string => `${controller} alone: ${linkText(link)}`;

/** Simulates downloads over one to four paths in virtual time, and over each of their links alone. */
export const pathsSimulation: Runner = {
  name: 'paths-simulation',
  realTime: false,
  seeded: true,
  sources: [runnerModule('paths_simulation.ts'), ...programSources, 'packages/native/bench/paths_bench.cc'],
  settings: (setup, arm) => parseSettings(setup, arm, { options: optionsSchema, settings: settingsSchema }),
  async run(setup, context) {
    const { seconds } = optionsSchema.parse(setup.options);
    const program = await buildNativeBench('paths_bench', context.progress);
    const arms = armsOf(setup, settingsSchema);
    const finished = await finishParts(
      partsOf(arms),
      { file: join(context.directory, 'goodput.jsonl'), schema: z.number(), ...context },
      (part) => simulateGoodput(program, part, { ...context, seconds }),
    );
    const alone = new Map(finished.map(({ part: { name }, runs }) => [name, median(runs)]));
    return {
      cells: finished.flatMap(({ part: { arm, controller, links }, runs }) => {
        if (arm === undefined) return [];
        const singles = links.map((link) => alone.get(singleName(controller, link)) ?? NaN);
        // A stopped run has no result, so values that are missing do not matter.
        return cellsAt({ arm, at: { links: namesOf(links) } }, runs, {
          goodput_mbps: (goodput) => goodput,
          of_sum: (goodput) => goodput / singles.reduce((sum, value) => sum + value, 0),
          of_best: (goodput) => goodput / Math.max(...singles),
        });
      }),
      versions: {},
      skipped: [],
    };
  },
};

function partsOf(arms: readonly (Settings & { arm: string })[]): Part[] {
  const sets = linkSets();
  const links = new Map(sets.flat().map((link) => [linkText(link), link]));
  const controllers = [...new Set(arms.map(({ controller }) => controller))];
  const singles = controllers.flatMap((controller) =>
    [...links.values()].map((link): Part => ({
      name: singleName(controller, link),
      scheduler: 'ecf',
      controller,
      links: [link],
    })),
  );
  const cells = sets.flatMap((set) =>
    arms.map((arm): Part => ({ ...arm, name: `${arm.arm}, ${namesOf(set)}`, links: set })),
  );
  return [...singles, ...cells];
}
